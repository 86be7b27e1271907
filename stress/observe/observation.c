/* SPDX-License-Identifier: MIT */
/*
 * The end of observations.
 */
#include <stdlib.h>
#include <string.h>

#include "stress/observe/observation.h"

void hq_observations_clear(struct hq_observations *observations)
{
	free(observations->samples);
	free(observations->hist);
	free(observations->events);
	free(observations->stats);
	free(observations->details);
	free(observations->faults);
	memset(observations, 0, sizeof(*observations));
}
