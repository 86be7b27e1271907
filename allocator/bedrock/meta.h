/* SPDX-License-Identifier: MIT */
/*
 * Memory for the allocator's own structures.
 *
 * Arenas and thread caches come from here. They are never given back (caches are recycled by
 * their owner), so this is a bump allocator. The first pieces come from static memory: the
 * first threads of a process work even if the very first mmap is refused.
 */
#ifndef BEDROCK_META_H
#define BEDROCK_META_H

#include <stddef.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/limit.h"
#include "allocator/bedrock/lock.h"

#define BEDROCK_META_STATIC_BYTES ((size_t)48 << 10)

/*
 * lock covers all but the atomics; [at, at + left_bytes) is unused and zero. Of what was mapped,
 * the pages before `at` are charged; the static piece is not from here and is not charged.
 */
struct bedrock_meta {
	struct bedrock_lock lock;
	char *at;
	size_t left_bytes;
	/* mmap was refused: this many requests fail before it is asked again. */
	uint32_t holiday;
	_Atomic(uint64_t) mapped_bytes;
	_Atomic(uint64_t) charged_bytes;
	/* Where that is charged, or NULL. */
	struct bedrock_limit *limit;
	char first[BEDROCK_META_STATIC_BYTES] __attribute__((aligned(64)));
};

void bedrock_meta_init(struct bedrock_meta *meta);

/* Zeroed memory on a cache line of its own, or NULL. */
void *bedrock_meta_alloc(struct bedrock_meta *meta, size_t bytes);

#endif
