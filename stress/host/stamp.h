/* SPDX-License-Identifier: MIT */
/*
 * Stamps: the content that a block must keep. Word i of a block is key + i * step, and the key
 * derives from (seed, id), so that two blocks never look alike, a shifted copy differs everywhere,
 * and filling or verifying runs at the speed of memory. The last bytes of an odd size are stamped
 * as well.
 */
#ifndef HQ_STRESS_HOST_STAMP_H
#define HQ_STRESS_HOST_STAMP_H

#include <stdbool.h>
#include <stdint.h>

/* The first byte that is not what it should be. */
struct hq_damage {
	uint64_t offset;
	uint8_t expected;
	uint8_t got;
};

uint64_t hq_stamp_key(uint64_t seed, uint64_t id);
void hq_stamp_fill(void *address, uint64_t size, uint64_t key);

/* Both return true when every byte is right and fill in *damage otherwise. */
bool hq_stamp_verify(const void *address, uint64_t size, uint64_t key, struct hq_damage *damage);
bool hq_stamp_is_zero(const void *address, uint64_t size, struct hq_damage *damage);

#endif
