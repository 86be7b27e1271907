/* SPDX-License-Identifier: MIT */
/*
 * What the guard writes into the wire: events with what is known of the blocks around, each into an
 * entry that its thread claimed; calls, some at a time; and when the program's first process
 * leaves, what it has not freed.
 *
 * It may run on a small stack of a signal handler, so what is large is written where it is to be.
 */
#include <pthread.h>

#include "injectors/syscall/raw.h"
#include "stress/guard/guard.h"

/* Details need the whole list of mappings, and a report shows the first few events. */
#define DETAILED 64u

#define NEIGHBOUR_BYTES 4096u /* a block further away explains nothing */

/* The event's site, two places of each of three blocks, and the trail. */
#define PLACES (1 + 2 * 3 + HQ_GUARD_TRAIL)

static void add_place(struct hq_guard_place *places, uint32_t *count, uint64_t address, char *site)
{
	if (address)
		places[(*count)++] = (struct hq_guard_place){ .address = address, .site = site };
}

static void describe(struct hq_guard_block *block, uint64_t address, struct hq_guard_place *places,
		     uint32_t *count)
{
	struct hq_origin origin;

	if (!address)
		return;
	block->address = address;
	block->size = hq_blocks_size(&hq_guard.blocks, address);
	block->live = block->size != 0;
	if (!hq_origins_find(&hq_guard.origins, address, &origin))
		return;
	block->size = origin.size ? origin.size : block->size;
	block->allocated_by = origin.allocated_by;
	block->freed_by = origin.freed_by;
	add_place(places, count, origin.allocated_at, block->allocated_at);
	add_place(places, count, origin.freed_at, block->freed_at);
}

static void add_detail(struct hq_guard_entry *entry, const struct hq_event *event, uint64_t caller,
		       uint64_t other)
{
	struct hq_guard_detail *const detail = &entry->detail;
	struct hq_blocks *const blocks = &hq_guard.blocks;
	const uint64_t address = event->address, end = address + (event->size ? event->size : 1);
	struct hq_guard_place places[PLACES];
	uint64_t trail[HQ_GUARD_TRAIL];
	uint32_t count = 0, steps;

	add_place(places, &count, caller, entry->event.site);
	if (address) {
		describe(&detail->block, other ? other : address, places, &count);
		describe(&detail->before, hq_blocks_before(blocks, address, NEIGHBOUR_BYTES),
			 places, &count);
		describe(&detail->behind, hq_blocks_behind(blocks, end, NEIGHBOUR_BYTES), places,
			 &count);
	}
	steps = hq_guard_trail(caller, trail);
	for (uint32_t i = 0; i < steps; i++)
		add_place(places, &count, trail[i], detail->trail[i]);
	hq_guard_sites(places, count);
}

void hq_guard_event(struct hq_event event, uint64_t caller, uint64_t other)
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
	event.op = hq_guard_ask_tid();
	log->entries[index].event = event;
	if (index < DETAILED)
		add_detail(&log->entries[index], &event, caller, other);
	/* Pairs with the acquire of the controller: the event is written. */
	hq_store_release(&log->entries[index].whole, 1);
}

void hq_guard_count_calls(void)
{
	hq_fetch_add_relaxed(&hq_guard.wire->guard.calls, hq_guard_self.calls);
	hq_guard_self.calls = 0;
}

uint32_t hq_guard_ask_tid(void)
{
	hq_guard_self.tid = (uint32_t)hq_raw1(SYS_gettid, 0);
	return hq_guard_self.tid;
}

static void forget_tid(void)
{
	hq_guard_self.tid = 0;
}

__attribute__((constructor)) static void start(void)
{
	if (hq_guard_ready() && hq_guard.watches)
		pthread_atfork(NULL, NULL, forget_tid);
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
