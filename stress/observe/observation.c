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
	return hq_call_advice_argument((enum hq_call)fault->call) >= 0 &&
	       (fault->args[2] == MADV_DONTNEED || fault->args[2] == MADV_FREE);
}

bool hq_fault_is_purge_of_range(const struct hq_fault *fault)
{
	return hq_fault_is_purge(fault) && hq_call_has_length((enum hq_call)fault->call);
}

const struct hq_hist *hq_latency_seen(const struct hq_observations *observations,
				      enum hq_latency call, enum hq_band band)
{
	if (band != HQ_BAND_ALL)
		return call < HQ_LATENCY_SIZED ? observations->bands[call][band] : NULL;
	return observations->hist ? &observations->hist[call] : NULL;
}

const struct hq_hist *hq_latency_seen_in(const struct hq_observations *observations,
					 enum hq_latency call, enum hq_band band,
					 enum hq_window window)
{
	if (window == HQ_WINDOW_ALL)
		return hq_latency_seen(observations, call, band);
	const struct hq_latencies *apart = &observations->apart[window];

	if (band != HQ_BAND_ALL)
		return call < HQ_LATENCY_SIZED ? apart->bands[call][band] : NULL;
	return apart->hist ? &apart->hist[call] : NULL;
}

bool hq_latency_was_faulted(const struct hq_observations *observations)
{
	const struct hq_hist *hist = observations->apart[HQ_WINDOW_FAULTED].hist;

	for (int call = 0; hist && call < HQ_LATENCY_COUNT; call++)
		if (hq_hist_count(&hist[call]) > 0)
			return true;
	return false;
}

static void free_bands(struct hq_hist *(*bands)[HQ_BAND_COUNT])
{
	for (int call = 0; call < HQ_LATENCY_SIZED; call++)
		for (int band = 0; band < HQ_BAND_COUNT; band++)
			free(bands[call][band]);
}

void hq_observations_clear(struct hq_observations *observations)
{
	free(observations->samples);
	free(observations->hist);
	free_bands(observations->bands);
	for (int window = 0; window < HQ_WINDOW_COUNT; window++) {
		free(observations->apart[window].hist);
		free_bands(observations->apart[window].bands);
	}
	free(observations->parts);
	free(observations->events);
	free(observations->stats);
	free(observations->details);
	free(observations->faults);
	memset(observations, 0, sizeof(*observations));
}
