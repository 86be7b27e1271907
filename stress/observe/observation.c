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

void hq_observations_clear(struct hq_observations *observations)
{
	free(observations->samples);
	free(observations->hist);
	free(observations->parts);
	free(observations->events);
	free(observations->stats);
	free(observations->details);
	free(observations->faults);
	memset(observations, 0, sizeof(*observations));
}
