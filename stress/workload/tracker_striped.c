/* SPDX-License-Identifier: MIT */
/*
 * The striped tracker: counters on cache lines of their own, added up by whoever asks. A check is
 * as dear as there are stripes, and each block costs two locked additions.
 */
#include "stress/workload/tracker.h"

static uint64_t striped_figure(struct hq_tracker *tracker, uint32_t thread)
{
	uint64_t sum = 0;

	(void)thread;
	for (uint32_t i = 0; i < HQ_TRACKER_CELLS; i++)
		sum += hq_load_relaxed(&tracker->cells[i].bytes);
	/* A block that was subtracted before it was seen to be added. */
	return (int64_t)sum > 0 ? sum : 0;
}

static bool striped_charge(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes)
{
	if (striped_figure(tracker, thread) + bytes > tracker->settings.hard_bytes)
		return false;
	hq_fetch_add_relaxed(&tracker->cells[thread].bytes, bytes);
	return true;
}

static void striped_discharge(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes)
{
	hq_fetch_add_relaxed(&tracker->cells[thread].bytes, -bytes);
}

const struct hq_tracker_kind hq_tracker_striped = {
	.figure = striped_figure,
	.charge = striped_charge,
	.discharge = striped_discharge,
};
