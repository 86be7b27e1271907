/* SPDX-License-Identifier: MIT */
/*
 * Links inside of free blocks: how they are written, and what they are read as.
 *
 * As a rule they are plain pointers, which the fast paths follow. With `protect_links` no fast path
 * touches them. The upper 16 bits, where an address has nothing, then hold a sum of the others, and
 * the whole is mixed with a secret of the process and with its own address: what an overrun or a
 * late write leaves in the place of a link is read as something that is no address.
 *
 * Whether a link leads to where it may is judged by who follows it, since they know what may be
 * there: see slab.c and cache.c.
 */
#ifndef BEDROCK_LINK_H
#define BEDROCK_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/debug.h"

#define BEDROCK_LINK_SUM_MASK (UINT64_MAX << 48)

/* Written once, before there is any block. */
struct bedrock_link_key {
	uintptr_t secret;
	uintptr_t mask;
	bool is_on;
};

extern struct bedrock_link_key bedrock_link_key __attribute__((visibility("hidden")));

/* Choose a secret, and use it from now on. There must be no free block yet. */
void bedrock_link_protect(void);

/* Put the sum on top of an address, or take it off: what is left there is what is wrong with it. */
static inline uintptr_t bedrock_link_summed(uintptr_t word)
{
	uint64_t sum = (word & ~BEDROCK_LINK_SUM_MASK) * (bedrock_link_key.secret | 1);

	return word ^ (sum & BEDROCK_LINK_SUM_MASK);
}

/* What a free block links to; anything, if it was written to. */
static inline void *bedrock_link_next(const void *block)
{
	uintptr_t word = *(const uintptr_t *)block;

	if (bedrock_likely(!bedrock_link_key.is_on))
		return (void *)word;
	return (void *)bedrock_link_summed(word ^ bedrock_link_key.mask ^ (uintptr_t)block);
}

static inline void bedrock_link_set(void *block, const void *next)
{
	uintptr_t word = (uintptr_t)next;

	if (bedrock_unlikely(bedrock_link_key.is_on))
		word = bedrock_link_summed(word) ^ bedrock_link_key.mask ^ (uintptr_t)block;
	*(uintptr_t *)block = word;
}

/* Could this be the address of a block at all? No user address has more than 47 bits. */
static inline bool bedrock_link_is_plausible(const void *address)
{
	return address && ((uintptr_t)address & ~((UINT64_C(1) << 47) - 16)) == 0;
}

#endif
