/* SPDX-License-Identifier: MIT */
/*
 * The account of memory that may be resident, and the hard limit on it.
 *
 * Charged is what the kernel may hold in memory for us: pages that were handed out or written
 * to and that the kernel has not taken back since. A page is charged before anybody can touch
 * it, and uncharged after the kernel has taken it: when munmap or MADV_DONTNEED has succeeded,
 * the latter checked with mincore while there is a limit. Pages in MADV_FREE stay charged.
 * So at every moment
 *	resident pages of all our mappings <= charged_bytes <= hard_bytes
 * the second as long as the limit is not lowered below what is charged: nothing more is then
 * charged until enough was given back.
 *
 * Who charges often draws some credit on top, which is charged already but not yet used; none is
 * drawn within the last eighth below the limit. This module holds the figure and knows nothing of
 * pages; what to do when a charge is refused is decided in relief.h.
 */
#ifndef BEDROCK_LIMIT_H
#define BEDROCK_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"

/* How much credit is drawn at a time; nobody keeps more than twice this. */
#define BEDROCK_LIMIT_BATCH_BYTES ((uint64_t)256 << 10)
/* The share of the limit, as a divisor, within which every charge is exact. */
#define BEDROCK_LIMIT_NEAR_SHARE 8u

/* Valid as all zero: no limits. charged_bytes is written by read-modify-write only. */
struct bedrock_limit {
	_Atomic(uint64_t) charged_bytes;
	/* 0: none. */
	_Atomic(uint64_t) hard_bytes;
	/* Beyond this, unused memory and caches are given up early; 0: never. */
	_Atomic(uint64_t) soft_bytes;
	/* Charges that were refused. */
	_Atomic(uint64_t) refusals;
};

static inline bool bedrock_limit_is_set(const struct bedrock_limit *limit)
{
	return bedrock_load_relaxed(&limit->hard_bytes) != 0;
}

/* hard_bytes 0: no limits. soft_bytes 0: seven eighths of the hard one. */
void bedrock_limit_set(struct bedrock_limit *limit, uint64_t hard_bytes, uint64_t soft_bytes);

/* Charge exactly so much. -> 0, or -EDQUOT and nothing is charged. */
int bedrock_limit_charge(struct bedrock_limit *limit, uint64_t bytes);

/* The same, with up to a batch of credit on top where the limit is far. *drawn is the sum. */
int bedrock_limit_draw(struct bedrock_limit *limit, uint64_t bytes, uint64_t *drawn);

/* Give back what was charged. */
void bedrock_limit_uncharge(struct bedrock_limit *limit, uint64_t bytes);

/* Is the limit so near that nobody should sit on credit? */
bool bedrock_limit_is_near(const struct bedrock_limit *limit);

/* Could so much be charged just now? */
bool bedrock_limit_has_room(const struct bedrock_limit *limit, uint64_t bytes);

/* Is more charged than the soft limit allows? */
static inline bool bedrock_limit_is_pressed(const struct bedrock_limit *limit)
{
	uint64_t soft_bytes = bedrock_load_relaxed(&limit->soft_bytes);

	return soft_bytes != 0 && bedrock_load_relaxed(&limit->charged_bytes) > soft_bytes;
}

#endif
