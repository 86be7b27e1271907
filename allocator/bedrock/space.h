/* SPDX-License-Identifier: MIT */
/*
 * Address space: mappings that begin at a multiple of the chunk size.
 *
 * Everything the allocator hands out lies in such a mapping, so that the header of any block is
 * found by masking its address. This module asks the kernel for them, gives them back, and
 * remembers the leftovers that the kernel refused to unmap.
 */
#ifndef BEDROCK_SPACE_H
#define BEDROCK_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/limit.h"
#include "allocator/bedrock/lock.h"
#include "allocator/bedrock/options.h"

#define BEDROCK_CHUNK_SHIFT   22
#define BEDROCK_CHUNK_BYTES   ((size_t)1 << BEDROCK_CHUNK_SHIFT)
#define BEDROCK_LEFTOVERS_MAX 64u

/*
 * A range that munmap refused. Never touched, or emptied, it costs address space only; owed_bytes
 * of it may be resident still, and are charged until it is gone.
 */
struct bedrock_leftover {
	void *address;
	size_t bytes;
	size_t owed_bytes;
};

/*
 * lock covers leftovers and leftover_count <= BEDROCK_LEFTOVERS_MAX. The atomics are
 * counters and a hint; nothing depends on their being exact.
 */
struct bedrock_space {
	struct bedrock_lock lock;
	uint32_t leftover_count;
	struct bedrock_leftover leftovers[BEDROCK_LEFTOVERS_MAX];
	/* Lowest mapping so far: the next one is asked for just below it. */
	_Atomic(uintptr_t) hint;
	_Atomic(uint64_t) mapped_bytes;
	_Atomic(uint64_t) unmap_failures;
	/* The sum over leftovers. */
	_Atomic(uint64_t) leftover_bytes;
	/* The sum of what leftovers and lost ranges owe. */
	_Atomic(uint64_t) owed_bytes;
	/* Leftovers beyond the table: unmapped by the end of the process only. */
	_Atomic(uint64_t) lost_bytes;
	/* Pages that the kernel says it has dropped are zero; set once. */
	bool is_purge_trusted;
	/* A tool looks on, and no thread has a cache: see watch.h. Decided once. */
	bool is_watched;
	/* Written with the options. */
	enum bedrock_thp thp;
	/* How much of it all may be resident. */
	struct bedrock_limit limit;
};

void bedrock_space_init(struct bedrock_space *space);

/* Map `bytes`, whole pages, beginning at a multiple of the chunk size; zero. -> 0 or -errno. */
int bedrock_space_map(struct bedrock_space *space, size_t bytes, void **out);

/* Unmap a mapping or the tail of one. -> 0, or -errno and the range is as it was. */
int bedrock_space_unmap(struct bedrock_space *space, void *address, size_t bytes);

/*
 * Unmap a range nobody will use again; if that fails, remember it and try again later. What of it
 * is in owed_bytes is uncharged once it is gone.
 */
void bedrock_space_discard(struct bedrock_space *space, void *address, size_t bytes,
			   size_t owed_bytes);

/* Can one more be remembered? Only likely so, as another thread may be about to. */
bool bedrock_space_can_remember(struct bedrock_space *space);

/* Everything that is mapped, leftovers included. */
uint64_t bedrock_space_mapped_bytes(struct bedrock_space *space);

/* Try the remembered leftovers again, until one fails. */
void bedrock_space_retry(struct bedrock_space *space);

#endif
