/* SPDX-License-Identifier: MIT */
/*
 * Aligned mappings.
 *
 * The kernel is first asked for the place just below the last mapping, which costs one call and
 * leaves no gaps. Only if that place is taken do we map more than needed and trim both ends.
 */
#include "allocator/bedrock/space.h"

#include <errno.h>
#include <stdbool.h>

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/os.h"

void bedrock_space_init(struct bedrock_space *space)
{
	bedrock_lock_init(&space->lock, BEDROCK_RANK_SPACE);
}

static bool bedrock_space_is_aligned(const void *address)
{
	return ((uintptr_t)address & (BEDROCK_CHUNK_BYTES - 1)) == 0;
}

static int bedrock_space_take(struct bedrock_space *space, void *address, size_t bytes, void **out)
{
	bedrock_add_relaxed(&space->mapped_bytes, bytes);
	bedrock_store_relaxed(&space->hint, (uintptr_t)address);
	*out = address;
	return 0;
}

/* Map too much and trim. The trimmed ends were never touched. */
static int bedrock_space_map_trimmed(struct bedrock_space *space, size_t bytes, void **out)
{
	size_t slack_bytes = BEDROCK_CHUNK_BYTES - bedrock_os_page_bytes();
	void *raw;
	int rc = bedrock_os_map(NULL, bytes + slack_bytes, &raw);

	if (rc)
		return rc;
	uintptr_t start = (uintptr_t)raw;
	uintptr_t aligned = (start + BEDROCK_CHUNK_BYTES - 1) & ~(BEDROCK_CHUNK_BYTES - 1);
	size_t head_bytes = aligned - start;
	size_t tail_bytes = slack_bytes - head_bytes;

	if (head_bytes > 0)
		bedrock_space_discard(space, raw, head_bytes, 0);
	if (tail_bytes > 0)
		bedrock_space_discard(space, (char *)aligned + bytes, tail_bytes, 0);
	return bedrock_space_take(space, (void *)aligned, bytes, out);
}

int bedrock_space_map(struct bedrock_space *space, size_t bytes, void **out)
{
	uintptr_t below = bedrock_load_relaxed(&space->hint);
	void *address;

	if (bytes > PTRDIFF_MAX - 2 * BEDROCK_CHUNK_BYTES)
		return -ENOMEM;
	if (below <= bytes + BEDROCK_CHUNK_BYTES)
		return bedrock_space_map_trimmed(space, bytes, out);
	uintptr_t hint = (below - bytes) & ~(BEDROCK_CHUNK_BYTES - 1);
	int rc = bedrock_os_map((void *)hint, bytes, &address);

	if (rc)
		return rc;
	if (bedrock_space_is_aligned(address))
		return bedrock_space_take(space, address, bytes, out);
	bedrock_space_discard(space, address, bytes, 0);
	return bedrock_space_map_trimmed(space, bytes, out);
}

int bedrock_space_unmap(struct bedrock_space *space, void *address, size_t bytes)
{
	int rc = bedrock_os_unmap(address, bytes);

	if (rc) {
		bedrock_add_relaxed(&space->unmap_failures, 1);
		return rc;
	}
	bedrock_sub_relaxed(&space->mapped_bytes, bytes);
	return 0;
}

void bedrock_space_discard(struct bedrock_space *space, void *address, size_t bytes,
			   size_t owed_bytes)
{
	if (bedrock_os_unmap(address, bytes) == 0) {
		bedrock_sub_relaxed(&space->owed_bytes, owed_bytes);
		bedrock_limit_uncharge(&space->limit, owed_bytes);
		return;
	}
	bedrock_add_relaxed(&space->unmap_failures, 1);
	bedrock_lock_take(&space->lock);
	if (space->leftover_count < BEDROCK_LEFTOVERS_MAX) {
		space->leftovers[space->leftover_count++] = (struct bedrock_leftover){
			.address = address,
			.bytes = bytes,
			.owed_bytes = owed_bytes,
		};
		bedrock_add_relaxed(&space->leftover_bytes, bytes);
	} else {
		bedrock_add_relaxed(&space->lost_bytes, bytes);
	}
	bedrock_lock_give(&space->lock);
}

bool bedrock_space_can_remember(struct bedrock_space *space)
{
	bedrock_lock_take(&space->lock);
	bool has_room = space->leftover_count < BEDROCK_LEFTOVERS_MAX;

	bedrock_lock_give(&space->lock);
	return has_room;
}

uint64_t bedrock_space_mapped_bytes(struct bedrock_space *space)
{
	return bedrock_load_relaxed(&space->mapped_bytes) +
	       bedrock_load_relaxed(&space->leftover_bytes) +
	       bedrock_load_relaxed(&space->lost_bytes);
}

static bool bedrock_space_pop_leftover(struct bedrock_space *space, struct bedrock_leftover *out)
{
	bedrock_lock_take(&space->lock);
	bool is_found = space->leftover_count > 0;

	if (is_found) {
		*out = space->leftovers[--space->leftover_count];
		bedrock_sub_relaxed(&space->leftover_bytes, out->bytes);
	}
	bedrock_lock_give(&space->lock);
	return is_found;
}

void bedrock_space_retry(struct bedrock_space *space)
{
	struct bedrock_leftover leftover;

	for (uint32_t i = 0; i < BEDROCK_LEFTOVERS_MAX; i++) {
		uint64_t failures = bedrock_load_relaxed(&space->unmap_failures);

		if (!bedrock_space_pop_leftover(space, &leftover))
			return;
		bedrock_space_discard(space, leftover.address, leftover.bytes, leftover.owed_bytes);
		if (bedrock_load_relaxed(&space->unmap_failures) != failures)
			return;
	}
}
