/* SPDX-License-Identifier: MIT */
/*
 * Which block lies at an address, while a trace is built: a hash table with open addressing. A key
 * is an address with the number of its process above it.
 */
#ifndef HQ_STRESS_TRACE_LIVE_H
#define HQ_STRESS_TRACE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#define HQ_LIVE_SPACE_SHIFT 48u

struct hq_live_block {
	uint32_t number;
	uint64_t size;
};

struct hq_live_slot {
	uint64_t key; /* 0: empty */
	struct hq_live_block block;
};

/* All zero: empty. */
struct hq_live {
	struct hq_live_slot *slots;
	uint64_t room; /* a power of two, or 0 */
	uint64_t count;
};

/* The key must not be there yet, nor be 0. 0 or -ENOMEM. */
int hq_live_add(struct hq_live *live, uint64_t key, struct hq_live_block block);
/* Takes it out; false: it is not there. */
bool hq_live_take(struct hq_live *live, uint64_t key, struct hq_live_block *block);
/* Any key of a space; 0: there is none. *from is where the search goes on, 0 at first. */
uint64_t hq_live_any(const struct hq_live *live, uint16_t space, uint64_t *from);
void hq_live_clear(struct hq_live *live);

#endif
