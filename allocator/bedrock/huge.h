/* SPDX-License-Identifier: MIT */
/*
 * Huge blocks: each has a mapping of its own.
 *
 * Freed ones are kept for a while, few and bounded in bytes, because a fresh mapping costs a
 * page fault for every page. For the same reason a block that reuses a longer mapping may have
 * the rest of it to spare for a while. A mapping that munmap refuses is kept beyond the bounds,
 * purged, offered for reuse and retried: it is never forgotten.
 */
#ifndef BEDROCK_HUGE_H
#define BEDROCK_HUGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/chunk.h"
#include "allocator/bedrock/lock.h"
#include "allocator/bedrock/ring.h"
#include "allocator/bedrock/space.h"

#define BEDROCK_HUGE_KEPT_MAX 16u
/* So much is kept in any case, more only as a share of what is in use. */
#define BEDROCK_HUGE_KEPT_BYTES ((uint64_t)64 << 20)
/* So much of that may be the spare ends of blocks in use, as long as few are in use. */
#define BEDROCK_HUGE_SPARE_BYTES ((uint64_t)16 << 20)

/*
 * lock covers the rings, and mapped_bytes of what is on them. Invariant:
 *	a ring holds `count` mappings whose mapped_bytes add up to `bytes`
 *	spare_bytes is the sum of mapped_bytes - used_bytes over the blocks in use,
 *	which is 0 for those that are not on the ring `spare`
 *	spare_bytes <= BEDROCK_HUGE_SPARE_BYTES
 *	after each free kept.count <= BEDROCK_HUGE_KEPT_MAX and
 *	kept.bytes + spare_bytes <= max(BEDROCK_HUGE_KEPT_BYTES, live_bytes / 4)
 */
struct bedrock_huge {
	struct bedrock_lock lock;
	struct bedrock_space *space;
	/* Nothing as large as this is kept; 0 stands for no such rule. */
	uint64_t oversize_bytes;
	struct bedrock_huge_ring kept;
	/* Those that munmap refused, and until when no request tries them again. */
	struct bedrock_huge_ring stuck;
	_Atomic(uint64_t) stuck_again_ns;
	/* Blocks in use whose mapping is longer than they need. */
	struct bedrock_huge_ring spare;
	_Atomic(uint64_t) spare_bytes;
	/* The charged_bytes of the mappings of blocks in use, less what they have to spare. */
	_Atomic(uint64_t) live_bytes;
	_Atomic(uint64_t) live_count;
	/* The sum of charged_bytes of all mappings, and of those that are being made. */
	_Atomic(uint64_t) charged_bytes;
	/* A mremap that moves was refused: how many growths copy before one is tried again. */
	_Atomic(uint32_t) move_holiday;
};

void bedrock_huge_init(struct bedrock_huge *huge, struct bedrock_space *space);

/* A block of its own mapping. -> 0, -EDQUOT or -ENOMEM. *is_zero: its memory is fresh from the
 * kernel. */
int bedrock_huge_alloc(struct bedrock_huge *huge, size_t bytes, size_t align_bytes, void **out,
		       bool *is_zero);

/* Free a block; keep its mapping if `is_kept` and the bounds allow. */
void bedrock_huge_free(struct bedrock_huge *huge, void *block, bool is_kept);

/*
 * Change the size of a block without copying it. -> the block, perhaps at another address, or
 * NULL and nothing has changed.
 */
void *bedrock_huge_resize(struct bedrock_huge *huge, void *block, size_t bytes);

/* What decay will give back in time. */
static inline uint64_t bedrock_huge_unused_bytes(const struct bedrock_huge *huge)
{
	return bedrock_load_relaxed(&huge->kept.bytes) + bedrock_load_relaxed(&huge->spare_bytes) +
	       bedrock_load_relaxed(&huge->stuck.bytes);
}

/*
 * Does a huge block in use begin here? For an address that the page map knows nothing of, in a
 * chunk of whatever kind.
 */
bool bedrock_huge_begins(const void *block);

/* How many bytes of the block may be used. */
size_t bedrock_huge_usable_bytes(const void *block);

/*
 * Unmap kept mappings that were freed before `before_ns`, and cut off what blocks had to spare
 * since before then; at last try those that were refused earlier. After the first refusal of munmap
 * what is due is given up page by page.
 */
void bedrock_huge_decay(struct bedrock_huge *huge, uint64_t before_ns);

/*
 * The same on behalf of a request that was refused, whatever the age. What munmap has just refused
 * is left alone for a while: a storm of refused requests costs no call for each.
 */
void bedrock_huge_relieve(struct bedrock_huge *huge);

#endif
