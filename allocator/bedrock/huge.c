/* SPDX-License-Identifier: MIT */
/*
 * Blocks with a mapping of their own, and the few free mappings kept for reuse.
 *
 * The first page of the mapping is a chunk header whose page map is all zero, which is how free
 * tells such a block. The block begins one page later, or further for a large alignment; for an
 * alignment of a chunk or more it begins exactly one chunk later. How mappings are made, charged
 * and shortened is in huge_map.c.
 */
#include "allocator/bedrock/huge.h"

#include <errno.h>

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/huge_map.h"
#include "allocator/bedrock/os.h"

/* After a refused move, this many growths copy instead of asking the kernel again. */
#define BEDROCK_HUGE_HOLIDAY 16u
/* So long a refused munmap is not repeated for the sake of requests. */
#define BEDROCK_HUGE_STUCK_NS UINT64_C(100000000)

void bedrock_huge_init(struct bedrock_huge *huge, struct bedrock_space *space)
{
	bedrock_lock_init(&huge->lock, BEDROCK_RANK_HUGE);
	huge->space = space;
}

/* Keep what cannot be unmapped as stuck, without its pages if the kernel takes those. */
static void bedrock_huge_strand(struct bedrock_huge *huge, struct bedrock_chunk *chunk)
{
	if (!chunk->huge.is_purged)
		bedrock_huge_purge(huge, chunk);
	bedrock_lock_take(&huge->lock);
	bedrock_ring_add(&huge->stuck, chunk);
	bedrock_lock_give(&huge->lock);
}

/* Unmap for good, or else strand it. */
static int bedrock_huge_unmap(struct bedrock_huge *huge, struct bedrock_chunk *chunk)
{
	size_t bytes = chunk->huge.mapped_bytes;
	size_t charged_bytes = chunk->huge.charged_bytes;
	int rc = bedrock_space_unmap(huge->space, chunk, bytes);

	if (!rc) {
		bedrock_huge_uncharge(huge, charged_bytes);
		return 0;
	}
	bedrock_store_relaxed(&huge->stuck_again_ns, bedrock_os_now_ns() + BEDROCK_HUGE_STUCK_NS);
	bedrock_huge_strand(huge, chunk);
	return rc;
}

/* A quarter of what is in use, or a little if that is more. */
static uint64_t bedrock_huge_keep_limit_bytes(const struct bedrock_huge *huge)
{
	uint64_t share_bytes = bedrock_load_relaxed(&huge->live_bytes) / 4;

	return share_bytes > BEDROCK_HUGE_KEPT_BYTES ? share_bytes : BEDROCK_HUGE_KEPT_BYTES;
}

static bool bedrock_huge_keeps_too_much(const struct bedrock_huge *huge)
{
	uint64_t bytes =
		bedrock_load_relaxed(&huge->kept.bytes) + bedrock_load_relaxed(&huge->spare_bytes);

	return huge->kept.count > BEDROCK_HUGE_KEPT_MAX ||
	       bytes > bedrock_huge_keep_limit_bytes(huge);
}

/*
 * How much more may be left to spare. Where much is in use it is better to keep whole mappings,
 * and close to a memory limit nothing is to spare.
 */
static size_t bedrock_huge_spare_room(const struct bedrock_huge *huge)
{
	uint64_t spare_bytes = bedrock_load_relaxed(&huge->spare_bytes);

	if (bedrock_limit_is_near(&huge->space->limit) ||
	    bedrock_huge_keep_limit_bytes(huge) > BEDROCK_HUGE_KEPT_BYTES ||
	    spare_bytes >= BEDROCK_HUGE_SPARE_BYTES)
		return 0;
	return BEDROCK_HUGE_SPARE_BYTES - spare_bytes;
}

/* Take a block off the ring: what it has to spare is its own, or decay's. The lock is held. */
static void bedrock_huge_end_spare(struct bedrock_huge *huge, struct bedrock_chunk *chunk)
{
	bedrock_ring_remove(&huge->spare, chunk);
	bedrock_count_owned(&huge->spare_bytes,
			    -(int64_t)(chunk->huge.mapped_bytes - chunk->huge.used_bytes));
	chunk->huge.has_spare = false;
}

/* The block in use gets all of its mapping: it is about to be freed, or changed in length. */
static void bedrock_huge_own_whole(struct bedrock_huge *huge, struct bedrock_chunk *chunk)
{
	bedrock_lock_take(&huge->lock);
	if (chunk->huge.has_spare)
		bedrock_huge_end_spare(huge, chunk);
	bedrock_lock_give(&huge->lock);
	bedrock_add_relaxed(&huge->live_bytes, chunk->huge.mapped_bytes - chunk->huge.used_bytes);
	chunk->huge.used_bytes = chunk->huge.mapped_bytes;
}

/* Leave the end of a reused mapping to spare, if there is room. -> was there? */
static bool bedrock_huge_spare(struct bedrock_huge *huge, struct bedrock_chunk *chunk, size_t bytes)
{
	size_t spare_bytes = chunk->huge.mapped_bytes - bytes;

	if (spare_bytes == 0)
		return true;
	bedrock_lock_take(&huge->lock);
	bool has_room = spare_bytes <= bedrock_huge_spare_room(huge);

	if (has_room) {
		chunk->huge.used_bytes = bytes;
		chunk->huge.freed_ns = bedrock_os_now_ns();
		chunk->huge.has_spare = true;
		bedrock_count_owned(&huge->spare_bytes, (int64_t)spare_bytes);
		bedrock_ring_add(&huge->spare, chunk);
	}
	bedrock_lock_give(&huge->lock);
	return has_room;
}

/* Take the oldest kept mapping if it is one too many, or was freed before `before_ns`. */
static struct bedrock_chunk *bedrock_huge_pop_kept(struct bedrock_huge *huge, uint64_t before_ns)
{
	struct bedrock_chunk *oldest = NULL;

	bedrock_lock_take(&huge->lock);
	if (huge->kept.first) {
		struct bedrock_chunk *last = huge->kept.first->huge.prev;

		if (bedrock_huge_keeps_too_much(huge) || last->huge.freed_ns < before_ns) {
			oldest = last;
			bedrock_ring_remove(&huge->kept, last);
		}
	}
	bedrock_lock_give(&huge->lock);
	return oldest;
}

static struct bedrock_chunk *bedrock_huge_pop_stuck(struct bedrock_huge *huge)
{
	struct bedrock_chunk *oldest = NULL;

	bedrock_lock_take(&huge->lock);
	if (huge->stuck.first) {
		oldest = huge->stuck.first->huge.prev;
		bedrock_ring_remove(&huge->stuck, oldest);
	}
	bedrock_lock_give(&huge->lock);
	return oldest;
}

/*
 * Cut off what the block has had to spare for longest, if since before `before_ns`. From under
 * the lock on, the end is ours alone, whatever becomes of the block meanwhile.
 */
static int bedrock_huge_cut_spare(struct bedrock_huge *huge, uint64_t before_ns, bool *is_done)
{
	char *end = NULL;
	size_t bytes = 0;

	bedrock_lock_take(&huge->lock);
	struct bedrock_chunk *oldest = huge->spare.first ? huge->spare.first->huge.prev : NULL;

	if (oldest && oldest->huge.freed_ns < before_ns) {
		bedrock_huge_end_spare(huge, oldest);
		end = (char *)oldest + oldest->huge.used_bytes;
		bytes = oldest->huge.mapped_bytes - oldest->huge.used_bytes;
		oldest->huge.mapped_bytes -= bytes;
		oldest->huge.charged_bytes -= bytes;
	}
	bedrock_lock_give(&huge->lock);
	*is_done = bytes == 0;
	if (*is_done)
		return 0;
	int rc = bedrock_space_unmap(huge->space, end, bytes);

	if (rc)
		bedrock_huge_leave(huge, end, bytes, bytes);
	else
		bedrock_huge_uncharge(huge, bytes);
	return rc;
}

/*
 * What munmap has not refused yet. Once it refuses, the rest is stranded without asking: a kernel
 * that cannot split a mapping takes its pages all the same. -> 0, or -errno of the refusal
 */
static int bedrock_huge_decay_fresh(struct bedrock_huge *huge, uint64_t before_ns)
{
	bool is_done = false;
	int rc = 0;

	while (!rc && !is_done)
		rc = bedrock_huge_cut_spare(huge, before_ns, &is_done);
	for (struct bedrock_chunk *chunk; (chunk = bedrock_huge_pop_kept(huge, before_ns));) {
		if (rc)
			bedrock_huge_strand(huge, chunk);
		else
			rc = bedrock_huge_unmap(huge, chunk);
	}
	return rc;
}

static void bedrock_huge_decay_stuck(struct bedrock_huge *huge)
{
	int rc = 0;

	for (struct bedrock_chunk *chunk; !rc && (chunk = bedrock_huge_pop_stuck(huge));)
		rc = bedrock_huge_unmap(huge, chunk);
}

void bedrock_huge_decay(struct bedrock_huge *huge, uint64_t before_ns)
{
	if (bedrock_huge_decay_fresh(huge, before_ns) == 0)
		bedrock_huge_decay_stuck(huge);
}

void bedrock_huge_relieve(struct bedrock_huge *huge)
{
	if (bedrock_huge_decay_fresh(huge, UINT64_MAX) == 0 &&
	    bedrock_os_now_ns() >= bedrock_load_relaxed(&huge->stuck_again_ns))
		bedrock_huge_decay_stuck(huge);
}

/* Keep a mapping, and evict others until the bounds hold, whatever munmap says to that. */
static void bedrock_huge_keep(struct bedrock_huge *huge, struct bedrock_chunk *chunk)
{
	chunk->huge.freed_ns = bedrock_os_now_ns();
	chunk->huge.is_purged = false;
	bedrock_lock_take(&huge->lock);
	bedrock_ring_add(&huge->kept, chunk);
	bool is_too_much = bedrock_huge_keeps_too_much(huge);

	bedrock_lock_give(&huge->lock);
	if (!is_too_much)
		return;
	while ((chunk = bedrock_huge_pop_kept(huge, 0)))
		bedrock_huge_unmap(huge, chunk);
}

void bedrock_huge_free(struct bedrock_huge *huge, void *block, bool is_kept)
{
	struct bedrock_chunk *chunk = bedrock_chunk_of(block);

	bedrock_huge_own_whole(huge, chunk);
	size_t bytes = chunk->huge.mapped_bytes;

	chunk->huge.offset_bytes = 0;
	bedrock_sub_relaxed(&huge->live_bytes, chunk->huge.charged_bytes);
	bedrock_sub_relaxed(&huge->live_count, 1);
	if (huge->oversize_bytes && bytes >= huge->oversize_bytes)
		is_kept = false;
	if (is_kept && bytes <= bedrock_huge_keep_limit_bytes(huge))
		bedrock_huge_keep(huge, chunk);
	else
		bedrock_huge_unmap(huge, chunk);
}

bool bedrock_huge_begins(const void *block)
{
	const struct bedrock_chunk *chunk = bedrock_chunk_of(block);

	return !chunk->arena && chunk->huge.offset_bytes > 0 &&
	       (const char *)chunk + chunk->huge.offset_bytes == block;
}

size_t bedrock_huge_usable_bytes(const void *block)
{
	const struct bedrock_chunk *chunk = bedrock_chunk_of(block);

	return chunk->huge.used_bytes - chunk->huge.offset_bytes;
}

/*
 * A move was refused. As a rule the kernel decides before it touches the target; the target is
 * then still ours, and untouched. In the rare other case it is gone.
 */
static void bedrock_huge_move_failed(struct bedrock_huge *huge, void *target, size_t target_bytes)
{
	bedrock_store_relaxed(&huge->move_holiday, BEDROCK_HUGE_HOLIDAY);
	if (bedrock_os_is_mapped(target))
		bedrock_huge_discard(huge, target, target_bytes, 0);
	else
		bedrock_sub_relaxed(&huge->space->mapped_bytes, target_bytes);
}

/* Move the mapping, pages and header included, to a longer one. */
static struct bedrock_chunk *bedrock_huge_move(struct bedrock_huge *huge,
					       struct bedrock_chunk *chunk, size_t bytes)
{
	size_t old_bytes = chunk->huge.mapped_bytes;
	uint32_t holiday = bedrock_load_relaxed(&huge->move_holiday);
	void *target;

	if (holiday > 0) {
		bedrock_store_relaxed(&huge->move_holiday, holiday - 1);
		return NULL;
	}
	if (bedrock_space_map(huge->space, bytes, &target))
		return NULL;
	if (bedrock_os_move(chunk, old_bytes, bytes, target)) {
		bedrock_huge_move_failed(huge, target, bytes);
		return NULL;
	}
	/* The header came along with its old length; the old range is unmapped. */
	bedrock_sub_relaxed(&huge->space->mapped_bytes, bytes);
	return target;
}

/* Make the mapping longer, where it stands or elsewhere. -> where, or NULL and it is as it was. */
static struct bedrock_chunk *bedrock_huge_lengthen(struct bedrock_huge *huge,
						   struct bedrock_chunk *chunk, size_t bytes)
{
	size_t old_bytes = chunk->huge.mapped_bytes;

	if (bedrock_huge_charge(huge, bytes - old_bytes))
		return NULL;
	if (bedrock_os_resize(chunk, old_bytes, bytes)) {
		chunk = bedrock_huge_move(huge, chunk, bytes);
		if (!chunk) {
			bedrock_huge_uncharge(huge, bytes - old_bytes);
			return NULL;
		}
	}
	chunk->huge.charged_bytes += bytes - old_bytes;
	bedrock_add_relaxed(&huge->space->mapped_bytes, bytes - old_bytes);
	chunk->huge.mapped_bytes = bytes;
	chunk->huge.used_bytes = bytes;
	return chunk;
}

static struct bedrock_chunk *bedrock_huge_reuse(struct bedrock_huge *huge, size_t bytes)
{
	bedrock_lock_take(&huge->lock);
	size_t room_bytes = bedrock_huge_spare_room(huge);
	struct bedrock_chunk *chunk = bedrock_ring_take(&huge->kept, bytes, room_bytes);

	if (!chunk)
		chunk = bedrock_ring_take(&huge->stuck, bytes, 0);
	bedrock_lock_give(&huge->lock);
	if (!chunk)
		return NULL;
	if (chunk->huge.mapped_bytes < bytes) {
		struct bedrock_chunk *longer = bedrock_huge_lengthen(huge, chunk, bytes);

		if (!longer) {
			bedrock_huge_unmap(huge, chunk);
			return NULL;
		}
		chunk = longer;
	}
	if (chunk->huge.is_purged || chunk->huge.mapped_bytes - bytes > room_bytes)
		bedrock_huge_trim(huge, chunk, bytes);
	if (bedrock_huge_charge_whole(huge, chunk)) {
		bedrock_huge_unmap(huge, chunk);
		return NULL;
	}
	chunk->huge.used_bytes = chunk->huge.mapped_bytes;
	if (!bedrock_huge_spare(huge, chunk, bytes))
		bedrock_huge_trim(huge, chunk, bytes);
	return chunk;
}

int bedrock_huge_alloc(struct bedrock_huge *huge, size_t bytes, size_t align_bytes, void **out,
		       bool *is_zero)
{
	size_t offset_bytes = bedrock_huge_offset(align_bytes);
	size_t limit_bytes = PTRDIFF_MAX - 4 * BEDROCK_CHUNK_BYTES;
	struct bedrock_chunk *chunk = NULL;
	int rc = 0;

	if (bytes > limit_bytes || align_bytes > limit_bytes - bytes)
		return -ENOMEM;
	size_t need_bytes = bedrock_huge_length(huge, offset_bytes + bytes);

	if (align_bytes <= BEDROCK_CHUNK_BYTES)
		chunk = bedrock_huge_reuse(huge, need_bytes);
	bool is_reused = chunk != NULL;

	*is_zero = !is_reused || (chunk->huge.is_purged && huge->space->is_purge_trusted);
	if (!chunk && align_bytes > BEDROCK_CHUNK_BYTES)
		rc = bedrock_huge_map_over_aligned(huge, need_bytes, align_bytes, &chunk);
	else if (!chunk)
		rc = bedrock_huge_map(huge, need_bytes, offset_bytes, &chunk);
	if (rc)
		return rc;
	chunk->huge.is_purged = false;
	chunk->huge.offset_bytes = offset_bytes;
	bedrock_add_relaxed(&huge->live_count, 1);
	/* What a reused mapping has to spare is charged, but not in use. */
	bedrock_add_relaxed(&huge->live_bytes,
			    is_reused ? chunk->huge.used_bytes : chunk->huge.charged_bytes);
	*out = (char *)chunk + offset_bytes;
	return 0;
}

static void *bedrock_huge_grow(struct bedrock_huge *huge, struct bedrock_chunk *chunk, size_t bytes)
{
	size_t more_bytes = bytes - chunk->huge.mapped_bytes;

	/* A move aligns to a chunk only; a stronger alignment would be lost. */
	if (chunk->huge.offset_bytes >= BEDROCK_CHUNK_BYTES)
		return NULL;
	chunk = bedrock_huge_lengthen(huge, chunk, bytes);
	if (!chunk)
		return NULL;
	bedrock_add_relaxed(&huge->live_bytes, more_bytes);
	return (char *)chunk + chunk->huge.offset_bytes;
}

void *bedrock_huge_resize(struct bedrock_huge *huge, void *block, size_t bytes)
{
	struct bedrock_chunk *chunk = bedrock_chunk_of(block);

	if (bytes > PTRDIFF_MAX - 4 * BEDROCK_CHUNK_BYTES)
		return NULL;
	bedrock_huge_own_whole(huge, chunk);
	size_t need_bytes = bedrock_huge_length(huge, chunk->huge.offset_bytes + bytes);
	size_t charged_bytes = chunk->huge.charged_bytes;

	if (need_bytes > chunk->huge.mapped_bytes)
		return bedrock_huge_grow(huge, chunk, need_bytes);
	bedrock_huge_trim(huge, chunk, need_bytes);
	bedrock_sub_relaxed(&huge->live_bytes, charged_bytes - chunk->huge.charged_bytes);
	return block;
}
