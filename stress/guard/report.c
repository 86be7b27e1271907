/* SPDX-License-Identifier: MIT */
/*
 * What the guard writes into the wire: events, each into an entry that its thread claimed; calls,
 * some at a time; and when the program's first process leaves, what it has not freed.
 */
#include "injectors/syscall/raw.h"
#include "stress/guard/guard.h"

/* Naming a place reads the whole list of mappings, and a report shows the first few events. */
#define SITES_NAMED 64u

void hq_guard_event(struct hq_event event, uint64_t caller)
{
	struct hq_guard_log *log = &hq_guard.wire->guard;
	const uint32_t index = hq_fetch_add_relaxed(&log->claimed, 1);

	if (index >= HQ_GUARD_EVENTS) {
		/* So that it never wraps, whatever comes. */
		hq_fetch_add_relaxed(&log->claimed, -1u);
		hq_store_relaxed(&log->overrun, 1);
		return;
	}
	event.time_ns = hq_raw_now_ns();
	event.worker = HQ_EVENT_GUARD;
	event.op = (uint64_t)hq_raw1(SYS_gettid, 0);
	if (index < SITES_NAMED)
		hq_guard_site(caller, event.site);
	log->entries[index].event = event;
	/* Pairs with the acquire of the controller: the event is written. */
	hq_store_release(&log->entries[index].whole, 1);
}

void hq_guard_count_calls(void)
{
	hq_fetch_add_relaxed(&hq_guard.wire->guard.calls, hq_guard_self.calls);
	hq_guard_self.calls = 0;
}

__attribute__((constructor)) static void start(void)
{
	hq_guard_ready();
}

__attribute__((destructor)) static void leave(void)
{
	struct hq_guard_log *log;
	uint64_t count, bytes;

	if (!hq_guard.watches)
		return;
	hq_guard_count_calls();
	log = &hq_guard.wire->guard;
	if (hq_load_relaxed(&log->process) != (uint32_t)hq_raw1(SYS_getpid, 0))
		return;
	hq_blocks_count(&hq_guard.blocks, &count, &bytes);
	hq_store_relaxed(&log->left_count, count);
	hq_store_relaxed(&log->left_bytes, bytes);
	/* Pairs with the acquire of the controller: the sums are written. */
	hq_store_release(&log->left_known, 1);
}
