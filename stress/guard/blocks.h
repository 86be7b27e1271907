/* SPDX-License-Identifier: MIT */
/*
 * Which memory of a program belongs to live blocks: two bits for every 8 bytes of its addresses, in
 * leaves that are made when a block first needs them. No lock, no table of blocks: the bits say
 * where a block begins, what it covers and where it ends, so its size is known when it is freed.
 *
 *   first   a block begins in these 8 bytes, and goes on
 *   inside  a block covers them, begins before and goes on
 *   last    a block ends in them; it may begin there as well
 *
 * A block of up to 8 bytes looks like the end of a larger one: a program that frees the last 8
 * bytes of a block is not found out.
 *
 * Order of use: a block is left before it is freed, and entered after it was allocated, so what is
 * entered is always a part of what is live, and an overlap is real whatever other threads do. A
 * block's size is read from bits that are its own alone.
 *
 * It does not copy anything between processes: a forked child goes on with its own bits.
 */
#ifndef HQ_STRESS_GUARD_BLOCKS_H
#define HQ_STRESS_GUARD_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/atomic.h"

#define HQ_BLOCKS_UNIT 8u

/* Of a larger block only so much is covered: the bits of a block of many GiB would be many MiB. */
#define HQ_BLOCKS_COVERED (64ull << 20)

#if defined(__aarch64__)
#define HQ_BLOCKS_ADDRESS_BITS 48
#else
#define HQ_BLOCKS_ADDRESS_BITS 47
#endif

/* Addresses that one leaf serves. Fewer and larger leaves would be huge pages. */
#define HQ_BLOCKS_LEAF_BITS 25
#define HQ_BLOCKS_LEAVES    (1u << (HQ_BLOCKS_ADDRESS_BITS - HQ_BLOCKS_LEAF_BITS))

struct hq_blocks_leaf;

/*
 * All zero: nothing is live. Most pages of the list are never touched, so it takes addresses (32
 * MiB) and hardly any memory.
 */
struct hq_blocks {
	_Atomic(struct hq_blocks_leaf *) leaves[HQ_BLOCKS_LEAVES];
	_Atomic(struct hq_blocks_leaf *) newest; /* the leaves that exist, linked */
};

enum hq_blocks_answer {
	HQ_BLOCKS_ENTERED,
	HQ_BLOCKS_OVERLAP,   /* entered all the same */
	HQ_BLOCKS_UNWATCHED, /* there was no memory for its bits: nothing is known of it */
};

/* A block of 0 bytes counts as one of 1. On an overlap, the offset of the first shared byte. */
enum hq_blocks_answer hq_blocks_enter(struct hq_blocks *blocks, uint64_t address, uint64_t size,
				      uint64_t *shared_offset);

/* Size of the block that begins there, rounded up to the unit; 0 if none does. */
uint64_t hq_blocks_size(struct hq_blocks *blocks, uint64_t address);

/* Takes a block out: its size as above, 0 if none begins there. */
uint64_t hq_blocks_leave(struct hq_blocks *blocks, uint64_t address);

/* Does a live block cover the first or the last byte? Their offset if so. */
bool hq_blocks_touch(struct hq_blocks *blocks, uint64_t address, uint64_t size, uint64_t *offset);

/*
 * For evidence: where the block begins that covers an address; 0: none does, or its start is too
 * far away. Of two blocks that share the address, the one that begins first.
 */
uint64_t hq_blocks_holder(struct hq_blocks *blocks, uint64_t address);

/* Where the nearest live block begins that ends below the address, at most `reach` bytes away; 0.
 */
uint64_t hq_blocks_before(struct hq_blocks *blocks, uint64_t address, uint64_t reach);

/* Where the nearest live block begins from the address on; 0 if none does within `reach` bytes. */
uint64_t hq_blocks_behind(struct hq_blocks *blocks, uint64_t address, uint64_t reach);

/* How many blocks are live, and how many bytes they cover. */
void hq_blocks_count(struct hq_blocks *blocks, uint64_t *count, uint64_t *bytes);

#endif
