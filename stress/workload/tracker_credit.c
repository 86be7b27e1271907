/* SPDX-License-Identifier: MIT */
/*
 * The credit tracker: memory is charged before it is used, a batch at a time, so that most blocks
 * are paid for by a word of their own thread. What is charged is never beyond the limit, and what
 * is used never beyond what is charged.
 */
#include "stress/workload/tracker.h"

/* Takes `bytes` off what is left below the limit, or nothing. */
static bool charge_all(struct hq_tracker *tracker, uint64_t bytes)
{
	const uint64_t hard_bytes = tracker->settings.hard_bytes;
	uint64_t charged = hq_load_relaxed(&tracker->charged_bytes);

	do {
		if (charged > hard_bytes || bytes > hard_bytes - charged)
			return false;
	} while (!hq_cas_weak_relaxed(&tracker->charged_bytes, &charged, charged + bytes));
	return true;
}

/* Paid afterwards, once it comes to a batch; looked at is only whether all have gone too far. */
static bool charge_late(struct hq_tracker *tracker, struct hq_tracker_cell *own, uint64_t bytes)
{
	const uint64_t debt = bytes - hq_load_relaxed(&own->bytes);

	if (debt < tracker->settings.batch_bytes) {
		hq_store_relaxed(&own->bytes, -debt);
		return true;
	}
	if (hq_load_relaxed(&tracker->charged_bytes) > tracker->settings.hard_bytes)
		return false;
	hq_fetch_add_relaxed(&tracker->charged_bytes, debt);
	hq_store_relaxed(&own->bytes, 0);
	return true;
}

static __attribute__((noinline)) bool charge_batch(struct hq_tracker *tracker,
						   struct hq_tracker_cell *own, uint64_t bytes)
{
	const uint64_t credit = hq_load_relaxed(&own->bytes);
	const uint64_t least = bytes - credit;
	uint64_t more = least + tracker->settings.batch_bytes;

	if (tracker->settings.mistake == HQ_TRACKER_LATE)
		return charge_late(tracker, own, bytes);
	if (!charge_all(tracker, more)) {
		more = least;
		if (!charge_all(tracker, more))
			return false;
	}
	hq_store_relaxed(&own->bytes, credit + more - bytes);
	return true;
}

static uint64_t credit_figure(struct hq_tracker *tracker, uint32_t thread)
{
	(void)thread;
	return hq_load_relaxed(&tracker->charged_bytes);
}

static bool credit_charge(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes)
{
	struct hq_tracker_cell *const own = &tracker->cells[thread];
	const uint64_t credit = hq_load_relaxed(&own->bytes);

	/* Below 0 are debts, which there are by mistake only. */
	if ((int64_t)credit < (int64_t)bytes)
		return charge_batch(tracker, own, bytes);
	hq_store_relaxed(&own->bytes, credit - bytes);
	return true;
}

static void credit_discharge(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes)
{
	struct hq_tracker_cell *const own = &tracker->cells[thread];
	const uint64_t batch_bytes = tracker->settings.batch_bytes;
	uint64_t credit = hq_load_relaxed(&own->bytes) + bytes;

	if ((int64_t)credit > (int64_t)(2 * batch_bytes)) {
		hq_fetch_add_relaxed(&tracker->charged_bytes, batch_bytes - credit);
		credit = batch_bytes;
	}
	hq_store_relaxed(&own->bytes, credit);
}

const struct hq_tracker_kind hq_tracker_credit = {
	.figure = credit_figure,
	.charge = credit_charge,
	.discharge = credit_discharge,
};
