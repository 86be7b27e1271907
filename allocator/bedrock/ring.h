/* SPDX-License-Identifier: MIT */
/*
 * Rings of mappings of huge blocks, newest first, and the choice of one of them.
 *
 * A ring is covered by the lock of whoever owns it, which is held for every function here.
 */
#ifndef BEDROCK_RING_H
#define BEDROCK_RING_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/chunk.h"

/* The mapped_bytes of `count` mappings add up to `bytes`. */
struct bedrock_huge_ring {
	struct bedrock_chunk *first;
	uint32_t count;
	/* Written under the lock, read by anybody. */
	_Atomic(uint64_t) bytes;
};

/* Put a mapping in first place. */
void bedrock_ring_add(struct bedrock_huge_ring *ring, struct bedrock_chunk *chunk);

void bedrock_ring_remove(struct bedrock_huge_ring *ring, struct bedrock_chunk *chunk);

/*
 * Take the mapping that fits a block best, within a factor of two, or NULL. What it is too long
 * by costs little up to `room_bytes`.
 */
struct bedrock_chunk *bedrock_ring_take(struct bedrock_huge_ring *ring, size_t bytes,
					size_t room_bytes);

#endif
