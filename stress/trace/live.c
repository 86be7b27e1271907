/* SPDX-License-Identifier: MIT */
/*
 * The table of live blocks. What is taken out leaves no mark: those behind move up.
 */
#include "stress/trace/live.h"

#include <errno.h>
#include <stdlib.h>

#define ROOM_MIN 1024u

static uint64_t home_of(const struct hq_live *live, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ull >> 20) & (live->room - 1);
}

static uint64_t next_of(const struct hq_live *live, uint64_t slot)
{
	return (slot + 1) & (live->room - 1);
}

static void place(struct hq_live *live, uint64_t key, struct hq_live_block block)
{
	uint64_t slot = home_of(live, key);

	while (live->slots[slot].key != 0)
		slot = next_of(live, slot);
	live->slots[slot] = (struct hq_live_slot){ .key = key, .block = block };
}

static int grow(struct hq_live *live)
{
	const struct hq_live old = *live;

	live->room = old.room ? 2 * old.room : ROOM_MIN;
	live->slots = calloc(live->room, sizeof(*live->slots));
	if (!live->slots) {
		*live = old;
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < old.room; i++)
		if (old.slots[i].key != 0)
			place(live, old.slots[i].key, old.slots[i].block);
	free(old.slots);
	return 0;
}

int hq_live_add(struct hq_live *live, uint64_t key, struct hq_live_block block)
{
	/* At most half full, so that there is always an empty slot near. */
	if (2 * live->count >= live->room && grow(live))
		return -ENOMEM;
	place(live, key, block);
	live->count++;
	return 0;
}

/* Whoever was pushed on by the one that is gone, moves up into its slot. */
static void close_gap(struct hq_live *live, uint64_t gap)
{
	uint64_t slot = gap;

	while (live->slots[slot = next_of(live, slot)].key != 0) {
		const uint64_t home = home_of(live, live->slots[slot].key);
		const uint64_t mask = live->room - 1;

		if (((slot - home) & mask) < ((slot - gap) & mask))
			continue;
		live->slots[gap] = live->slots[slot];
		gap = slot;
	}
	live->slots[gap].key = 0;
}

bool hq_live_take(struct hq_live *live, uint64_t key, struct hq_live_block *block)
{
	if (live->room == 0 || key == 0)
		return false;
	for (uint64_t slot = home_of(live, key); live->slots[slot].key != 0;
	     slot = next_of(live, slot)) {
		if (live->slots[slot].key != key)
			continue;
		*block = live->slots[slot].block;
		live->count--;
		close_gap(live, slot);
		return true;
	}
	return false;
}

uint64_t hq_live_any(const struct hq_live *live, uint16_t space, uint64_t *from)
{
	for (; *from < live->room; (*from)++) {
		const uint64_t key = live->slots[*from].key;

		if (key != 0 && key >> HQ_LIVE_SPACE_SHIFT == space)
			return key;
	}
	return 0;
}

void hq_live_clear(struct hq_live *live)
{
	free(live->slots);
	*live = (struct hq_live){ .slots = NULL };
}
