/* SPDX-License-Identifier: MIT */
/*
 * The cached tracker. A check reads the coarse clock and one word; once a period the first thread
 * to notice takes the total anew, while the others go by the last one and never wait. The clock is
 * what it costs: at a block it is read every so often only, since a request has read it before.
 * What a thread counts for itself needs no locked addition.
 */
#include "stress/workload/heap.h"
#include "stress/workload/tracker.h"

#define LASTING     20u /* periods, by mistake */
#define CLOCK_EVERY 16u /* blocks of a thread */

static uint64_t sum_of(const struct hq_tracker *tracker)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < HQ_TRACKER_CELLS; i++)
		sum += hq_load_relaxed(&tracker->cells[i].bytes);
	return (int64_t)sum > 0 ? sum : 0;
}

static void take_total(struct hq_tracker *tracker, uint64_t now_ns)
{
	const uint32_t before = hq_fetch_add_relaxed(&tracker->totals, 1);
	const uint64_t sum = sum_of(tracker);
	uint64_t date_ns = now_ns;

	if (tracker->settings.mistake == HQ_TRACKER_UNLOCKED) {
		/* The scheduler's part in it: now and then somebody is put off here. */
		if (before % 3 == 1)
			hq_host_sleep_ns(tracker->settings.period_ns / 2 * 3);
		date_ns = hq_tracker_clock_ns();
	}
	hq_store_relaxed(&tracker->total_bytes, sum);
	hq_store_relaxed(&tracker->taken_ns, now_ns);
	/* Pairs with the acquire in cached_figure: the total is not older than its date. */
	hq_store_release(&tracker->total_ns, date_ns);
}

static __attribute__((noinline)) void renew(struct hq_tracker *tracker, uint64_t now_ns)
{
	const bool waits = tracker->settings.mistake != HQ_TRACKER_UNLOCKED;
	uint32_t nobody = 0;

	if (!waits) {
		take_total(tracker, now_ns);
		return;
	}
	/* Pairs with the release below: what the last one has stored is there. */
	if (!hq_cas_acq_rel(&tracker->totalling, &nobody, 1))
		return;
	/* Somebody may have done it since the clock was read. */
	if (hq_load_relaxed(&tracker->total_ns) < now_ns)
		take_total(tracker, now_ns);
	hq_store_release(&tracker->totalling, 0);
}

static uint64_t cached_figure(struct hq_tracker *tracker, uint32_t thread)
{
	const uint64_t now_ns = hq_tracker_clock_ns();
	uint64_t period_ns = tracker->settings.period_ns;

	(void)thread;
	if (tracker->settings.mistake == HQ_TRACKER_LASTING)
		period_ns *= LASTING;
	/* Pairs with the release in take_total. */
	if (now_ns >= hq_load_acquire(&tracker->total_ns) + period_ns)
		renew(tracker, now_ns);
	return hq_load_relaxed(&tracker->total_bytes);
}

static bool cached_charge(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes)
{
	struct hq_tracker_cell *const own = &tracker->cells[thread];
	const uint64_t total = own->charges++ % CLOCK_EVERY == 0
				       ? cached_figure(tracker, thread)
				       : hq_load_relaxed(&tracker->total_bytes);

	if (total + bytes > tracker->settings.hard_bytes)
		return false;
	hq_count_own(&own->bytes, bytes);
	return true;
}

/* Alone below 0 where others' blocks are freed; only the sum means something. */
static void cached_discharge(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes)
{
	hq_count_own(&tracker->cells[thread].bytes, -bytes);
}

const struct hq_tracker_kind hq_tracker_cached = {
	.figure = cached_figure,
	.charge = cached_charge,
	.discharge = cached_discharge,
};
