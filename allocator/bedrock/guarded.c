/* SPDX-License-Identifier: MIT */
/*
 * Guarded blocks: the draw, their mappings, and the quarantine.
 */
#include "allocator/bedrock/guarded.h"

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/huge_map.h"
#include "allocator/bedrock/os.h"

/* So long a refused munmap is not repeated for the sake of requests. */
#define BEDROCK_GUARDED_AGAIN_NS UINT64_C(100000000)

/* How many blocks are left to the next guarded one, and the state of the draw, 0 before the first.
 */
static __thread uint64_t bedrock_guarded_left __attribute__((tls_model("initial-exec")));
static __thread uint64_t bedrock_guarded_random __attribute__((tls_model("initial-exec")));

/* 1 to 2 * every - 1, all equally likely: `every` on average. */
static uint64_t bedrock_guarded_draw(uint64_t every)
{
	uint64_t state = bedrock_guarded_random;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	bedrock_guarded_random = state;
	return 1 + (state >> 16) % (2 * every - 1);
}

bool bedrock_guarded_is_due(uint64_t every)
{
	if (bedrock_unlikely(bedrock_guarded_random == 0)) {
		/* Where a thread lies and when it began is chance enough; never 0. */
		bedrock_guarded_random =
			((uintptr_t)&bedrock_guarded_random ^ bedrock_os_now_ns()) | 1;
		bedrock_guarded_draw(every);
		bedrock_guarded_left = bedrock_guarded_draw(every);
	}
	if (--bedrock_guarded_left > 0)
		return false;
	bedrock_guarded_left = bedrock_guarded_draw(every);
	return true;
}

/* How much of its pages a block takes: what can be used of it. */
static size_t bedrock_guarded_usable_bytes(size_t bytes)
{
	size_t mask = BEDROCK_GUARDED_ALIGN_BYTES - 1;

	return bytes > 0 ? (bytes + mask) & ~mask : BEDROCK_GUARDED_ALIGN_BYTES;
}

static bool bedrock_guarded_has_room(struct bedrock_guarded *guarded)
{
	if (bedrock_load_relaxed(&guarded->live_count) >= BEDROCK_GUARDED_LIVE_MAX ||
	    bedrock_limit_is_near(&guarded->huge->space->limit))
		return false;
	bedrock_lock_take(&guarded->huge->lock);
	bool has_room = guarded->held.count <= BEDROCK_GUARDED_HELD_MAX;

	bedrock_lock_give(&guarded->huge->lock);
	return has_room;
}

static void bedrock_guarded_hold(struct bedrock_guarded *guarded, struct bedrock_chunk *chunk)
{
	bedrock_lock_take(&guarded->huge->lock);
	bedrock_ring_add(&guarded->held, chunk);
	bedrock_lock_give(&guarded->huge->lock);
}

/* Unmap a mapping without a block. What munmap refuses is emptied and held. -> 0 or -errno */
static int bedrock_guarded_drop(struct bedrock_guarded *guarded, struct bedrock_chunk *chunk)
{
	struct bedrock_huge *huge = guarded->huge;
	size_t charged_bytes = chunk->huge.charged_bytes;
	int rc = bedrock_space_unmap(huge->space, chunk, chunk->huge.mapped_bytes);

	if (!rc) {
		bedrock_huge_uncharge(huge, charged_bytes);
		return 0;
	}
	bedrock_store_relaxed(&guarded->again_ns, bedrock_os_now_ns() + BEDROCK_GUARDED_AGAIN_NS);
	if (!chunk->huge.is_purged)
		bedrock_huge_purge(huge, chunk);
	bedrock_guarded_hold(guarded, chunk);
	return rc;
}

/* Map the pages of a block of that length, and guard them. */
static struct bedrock_chunk *bedrock_guarded_map(struct bedrock_guarded *guarded, size_t bytes)
{
	size_t page_bytes = bedrock_os_page_bytes();
	size_t header_bytes = bedrock_huge_offset(1);
	size_t data_bytes = (bytes + page_bytes - 1) & ~(page_bytes - 1);
	size_t end_bytes = header_bytes + page_bytes + data_bytes;
	struct bedrock_chunk *chunk;

	if (bedrock_huge_map(guarded->huge, end_bytes + page_bytes, header_bytes, &chunk))
		return NULL;
	chunk->huge.is_guarded = true;
	if (bedrock_os_forbid((char *)chunk + header_bytes, page_bytes) ||
	    bedrock_os_forbid((char *)chunk + end_bytes, page_bytes)) {
		bedrock_guarded_drop(guarded, chunk);
		return NULL;
	}
	chunk->huge.used_bytes = end_bytes;
	return chunk;
}

void *bedrock_guarded_alloc(struct bedrock_guarded *guarded, size_t bytes)
{
	struct bedrock_huge *huge = guarded->huge;

	if (bytes > BEDROCK_GUARDED_MAX_BYTES || !bedrock_guarded_has_room(guarded))
		return NULL;
	size_t usable_bytes = bedrock_guarded_usable_bytes(bytes);
	struct bedrock_chunk *chunk = bedrock_guarded_map(guarded, usable_bytes);

	if (!chunk)
		return NULL;
	chunk->huge.offset_bytes = chunk->huge.used_bytes - usable_bytes;
	bedrock_add_relaxed(&guarded->live_count, 1);
	bedrock_add_relaxed(&huge->live_count, 1);
	bedrock_add_relaxed(&huge->live_bytes, chunk->huge.charged_bytes);
	return (char *)chunk + chunk->huge.offset_bytes;
}

void bedrock_guarded_free(struct bedrock_guarded *guarded, void *block)
{
	struct bedrock_huge *huge = guarded->huge;
	struct bedrock_chunk *chunk = bedrock_chunk_of(block);
	size_t header_bytes = bedrock_huge_offset(1);

	chunk->huge.offset_bytes = 0;
	bedrock_sub_relaxed(&guarded->live_count, 1);
	bedrock_sub_relaxed(&huge->live_count, 1);
	bedrock_sub_relaxed(&huge->live_bytes, chunk->huge.charged_bytes);
	if (bedrock_os_forbid((char *)chunk + header_bytes,
			      chunk->huge.mapped_bytes - header_bytes) == 0)
		bedrock_huge_purge(huge, chunk);
	/* Nobody must be able to write to what waits, and it must not take memory. */
	if (!chunk->huge.is_purged) {
		bedrock_guarded_drop(guarded, chunk);
		return;
	}
	bedrock_guarded_hold(guarded, chunk);
	bedrock_guarded_release(guarded, BEDROCK_GUARDED_HELD_MAX);
}

static struct bedrock_chunk *bedrock_guarded_pop(struct bedrock_guarded *guarded,
						 uint32_t keep_count)
{
	struct bedrock_chunk *oldest = NULL;

	bedrock_lock_take(&guarded->huge->lock);
	if (guarded->held.count > keep_count) {
		oldest = guarded->held.first->huge.prev;
		bedrock_ring_remove(&guarded->held, oldest);
	}
	bedrock_lock_give(&guarded->huge->lock);
	return oldest;
}

void bedrock_guarded_release(struct bedrock_guarded *guarded, uint32_t keep_count)
{
	int rc = 0;

	for (struct bedrock_chunk *chunk;
	     !rc && (chunk = bedrock_guarded_pop(guarded, keep_count));)
		rc = bedrock_guarded_drop(guarded, chunk);
}

void bedrock_guarded_relieve(struct bedrock_guarded *guarded)
{
	if (bedrock_os_now_ns() >= bedrock_load_relaxed(&guarded->again_ns))
		bedrock_guarded_release(guarded, 0);
}

bool bedrock_guarded_fits(const void *block, size_t bytes)
{
	return bytes <= BEDROCK_GUARDED_MAX_BYTES &&
	       bedrock_guarded_usable_bytes(bytes) == bedrock_huge_usable_bytes(block);
}
