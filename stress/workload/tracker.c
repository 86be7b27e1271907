/* SPDX-License-Identifier: MIT */
/*
 * What all trackers have in common: choosing a form, and what is refused at which figure.
 */
#include "stress/workload/tracker.h"

#include <time.h>

const char *const hq_tracker_forms[] = { "striped", "cached", "credit", NULL };

void hq_tracker_start(struct hq_tracker *tracker, const struct hq_tracker_settings *settings)
{
	static const struct hq_tracker_kind *const kinds[] = {
		[HQ_TRACKER_STRIPED] = &hq_tracker_striped,
		[HQ_TRACKER_CACHED] = &hq_tracker_cached,
		[HQ_TRACKER_CREDIT] = &hq_tracker_credit,
	};

	tracker->settings = *settings;
	tracker->kind = kinds[settings->form];
}

double hq_tracker_refusal(const struct hq_tracker_settings *settings, uint64_t figure_bytes)
{
	if (figure_bytes >= settings->hard_bytes)
		return 1;
	if (figure_bytes <= settings->soft_bytes)
		return 0;
	return (double)(figure_bytes - settings->soft_bytes) /
	       (double)(settings->hard_bytes - settings->soft_bytes);
}

uint64_t hq_tracker_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t hq_tracker_taken_ns(const struct hq_tracker *tracker)
{
	return hq_load_relaxed(&tracker->taken_ns);
}

uint64_t hq_tracker_stale_ns(const struct hq_tracker_settings *settings)
{
	return settings->form == HQ_TRACKER_CACHED ? settings->period_ns : 0;
}

uint64_t hq_tracker_stranded_bytes(const struct hq_tracker_settings *settings)
{
	return settings->form == HQ_TRACKER_CREDIT ? 2 * settings->batch_bytes : 0;
}
