/* SPDX-License-Identifier: MIT */
/*
 * Many refused calls are no retry: one free may give back hundreds of ranges, each refused once.
 * Only a call with the same first two arguments counts as the same, and none of process_madvise,
 * whose ranges are in memory.
 */
#include "stress/host/retry.h"

#include <stddef.h>

#include "stress/host/system.h"

void hq_retry_init(struct hq_retry *retry, const struct hq_plane *plane)
{
	*retry = (struct hq_retry){ .plane = plane->rule_count > 0 ? plane : NULL };
}

/* The newest slot of this thread; ids are used again. */
static const struct hq_plane_thread *find_slot(const struct hq_plane *plane, uint32_t claimed)
{
	const uint32_t tid = (uint32_t)hq_system_thread_id();

	for (uint32_t i = claimed; i > 0; i--) {
		const struct hq_plane_thread *const slot = &plane->threads[i - 1];

		if (hq_load_relaxed(&slot->tid) == tid && hq_load_relaxed(&slot->exited) == 0)
			return slot;
	}
	return NULL;
}

static void look_for_slot(struct hq_retry *retry)
{
	uint32_t claimed = hq_load_relaxed(&retry->plane->claimed);

	claimed = claimed < HQ_PLANE_THREADS ? claimed : HQ_PLANE_THREADS;
	if (claimed == retry->slots_seen)
		return;
	retry->slots_seen = claimed;
	retry->slot = find_slot(retry->plane, claimed);
}

void hq_retry_forget(struct hq_retry *retry)
{
	retry->slot = NULL;
	retry->slots_seen = 0;
}

void hq_retry_begin(struct hq_retry *retry)
{
	if (retry->plane == NULL)
		return;
	if (retry->slot == NULL)
		look_for_slot(retry);
	if (retry->slot != NULL)
		retry->before = hq_load_relaxed(&retry->slot->ring.head);
}

static const struct hq_fault *fault_at(const struct hq_retry *retry, uint64_t n)
{
	return &retry->slot->faults[n % HQ_PLANE_FAULTS];
}

static bool is_same(const struct hq_fault *one, const struct hq_fault *other)
{
	return one->call == other->call && one->call != HQ_CALL_PROCESS_MADVISE &&
	       one->args[0] == other->args[0] && one->args[1] == other->args[1] &&
	       other->result < 0;
}

/* How often the fault was met from there on. */
static uint64_t count_same(const struct hq_retry *retry, uint64_t from, uint64_t end)
{
	const struct hq_fault *const fault = fault_at(retry, from);
	uint64_t count = 0;

	for (uint64_t n = from; n < end; n++)
		count += is_same(fault, fault_at(retry, n));
	return count;
}

static void find_worst(const struct hq_retry *retry, uint64_t end, struct hq_retry_seen *seen)
{
	uint64_t from = retry->before;

	/* What is older was written over. */
	if (end - from > HQ_PLANE_FAULTS)
		from = end - HQ_PLANE_FAULTS;
	*seen = (struct hq_retry_seen){ .repeats = 0 };
	for (; end - from > seen->repeats; from++) {
		const uint64_t count = count_same(retry, from, end);

		if (count > seen->repeats)
			*seen = (struct hq_retry_seen){ .repeats = count,
							.call = fault_at(retry, from)->call };
	}
}

bool hq_retry_end(struct hq_retry *retry, uint64_t took_ns, struct hq_retry_seen *seen)
{
	uint64_t end;

	if (retry->slot == NULL)
		return false;
	/* Pairs with the release of whoever decides: the records are whole. */
	end = hq_load_acquire(&retry->slot->ring.head);
	if (end - retry->before < HQ_RETRY_FEW)
		return false;
	find_worst(retry, end, seen);
	if (seen->repeats < HQ_RETRY_FEW)
		return false;
	if (seen->repeats <= retry->most &&
	    (took_ns < HQ_RETRY_LONG_NS || took_ns <= retry->longest_ns))
		return false;
	retry->most = seen->repeats > retry->most ? seen->repeats : retry->most;
	retry->longest_ns = took_ns > retry->longest_ns ? took_ns : retry->longest_ns;
	return true;
}
