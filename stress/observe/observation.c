/* SPDX-License-Identifier: MIT */
/*
 * What is asked of a single fault, and the end of observations.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stress/observe/observation.h"

bool hq_fault_is_purge(const struct hq_fault *fault)
{
	return fault->call == HQ_CALL_MADVISE &&
	       (fault->args[2] == MADV_DONTNEED || fault->args[2] == MADV_FREE);
}

const struct hq_hist *hq_latency_seen(const struct hq_observations *observations,
				      enum hq_latency call, enum hq_band band)
{
	if (band != HQ_BAND_ALL)
		return call < HQ_LATENCY_SIZED ? observations->bands[call][band] : NULL;
	return observations->hist ? &observations->hist[call] : NULL;
}

void hq_observations_clear(struct hq_observations *observations)
{
	free(observations->samples);
	free(observations->hist);
	for (int call = 0; call < HQ_LATENCY_SIZED; call++)
		for (int band = 0; band < HQ_BAND_COUNT; band++)
			free(observations->bands[call][band]);
	free(observations->parts);
	free(observations->events);
	free(observations->stats);
	free(observations->details);
	free(observations->faults);
	memset(observations, 0, sizeof(*observations));
}
