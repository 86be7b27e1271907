/* SPDX-License-Identifier: MIT */
/*
 * The shadow of live memory: one bit for every 8 bytes of user address space, set while a block
 * that the host holds covers them. A new block that meets a set bit overlaps a live one.
 *
 * Order of use: clear before free is called, set after an allocation has returned. The shadow is
 * then always a subset of what is live, so that an overlap is real, whatever other threads do.
 * Blocks smaller than 8 bytes own their whole 8 bytes: C requires that of any allocator.
 *
 *   shadow  contains  a sparse table of leaves; a leaf holds the bits of 16 MiB of addresses
 *   batch   contains  leaves, ever more of them: where an allocator scatters its blocks over a wide
 *                     space, the leaves must not be the mappings that it is judged by
 */
#ifndef HQ_STRESS_HOST_SHADOW_H
#define HQ_STRESS_HOST_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__aarch64__)
#define HQ_SHADOW_ADDRESS_BITS 48
#else
#define HQ_SHADOW_ADDRESS_BITS 47
#endif

/* Bytes that a bit stands for. */
#define HQ_SHADOW_GRANULE 8u

struct hq_shadow_leaf;
struct hq_shadow_batch;

struct hq_shadow {
	_Atomic(struct hq_shadow_leaf *) *leaves;
	_Atomic(struct hq_shadow_batch *) batch; /* that new leaves come from; NULL: none yet */
	_Atomic uint64_t unchecked; /* blocks outside the table, or without memory for their leaf */
};

/* 0 or -ENOMEM. */
int hq_shadow_init(struct hq_shadow *shadow);

/*
 * Enters a block. Returns false if it overlaps a live one, with the offset of the first shared
 * byte; the block is entered all the same.
 */
bool hq_shadow_set(struct hq_shadow *shadow, const void *address, uint64_t size,
		   uint64_t *shared_offset);
void hq_shadow_clear(struct hq_shadow *shadow, const void *address, uint64_t size);

/*
 * The first live byte at or behind `from` and below `end`, or the last one below `from` and not
 * below `end`, as far as whole granules tell. False: there is none.
 */
bool hq_shadow_next(const struct hq_shadow *shadow, uint64_t from, uint64_t end, uint64_t *found);
bool hq_shadow_last(const struct hq_shadow *shadow, uint64_t from, uint64_t end, uint64_t *found);

#endif
