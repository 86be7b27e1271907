/* SPDX-License-Identifier: MIT */
/*
 * realloc: the old block is left before the call and what must be kept of it is remembered as a
 * digest of its two ends; the new one is entered afterwards and compared. When the call fails, the
 * old block has to be there as it was.
 */
#include <errno.h>
#include <string.h>

#include "stress/guard/watch.h"

#define DIGEST_BYTES 256u /* of either end of what realloc has to keep */

static uint64_t mix(uint64_t digest, const uint8_t *from, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += 8) {
		uint64_t word = 0;

		memcpy(&word, from + at, size - at < 8 ? size - at : 8);
		digest = (digest ^ word) * 0x9e3779b97f4a7c15ull;
		digest ^= digest >> 32;
	}
	return digest;
}

static uint64_t digest_of(const uint8_t *block, uint64_t size)
{
	const uint64_t part = size < DIGEST_BYTES ? size : DIGEST_BYTES;

	return mix(mix(size, block, part), block + size - part, part);
}

/* A block before realloc, and what has to be there afterwards. */
struct kept {
	uint64_t size; /* as it was entered; 0: nothing is known of it */
	uint64_t bytes, digest;
};

static struct kept take_out(void *block, size_t size, uint64_t caller)
{
	struct kept kept = { .size = hq_guard_leave(block, caller) };

	if (!kept.size)
		return kept;
	kept.bytes = hq_guard_sure_size(block, kept.size, caller);
	kept.bytes = kept.bytes < size ? kept.bytes : size;
	kept.digest = digest_of(block, kept.bytes);
	return kept;
}

static void check_kept(const struct kept *kept, const void *block, uint64_t caller)
{
	struct hq_event event;
	uint64_t digest;

	if (!kept->size || (digest = digest_of(block, kept->bytes)) == kept->digest)
		return;
	event = hq_guard_event_of(HQ_EVENT_REALLOC, block, kept->bytes);
	event.expected = kept->digest;
	event.got = digest;
	hq_guard_event(event, caller, 0);
}

/* The old block is still there, as it was. */
static void put_back(const struct kept *kept, void *block, uint64_t caller)
{
	uint64_t offset;

	if (!kept->size)
		return;
	check_kept(kept, block, caller);
	hq_blocks_enter(&hq_guard.blocks, (uintptr_t)block, kept->size, &offset);
}

/* Whether no bytes are a block or NULL is for the allocator to say, but a block needs its tail. */
static void *realloc_to_nothing(void *block, uint64_t caller)
{
	struct hq_guard_call call;
	void *rest = hq_guard.next.realloc(block, 0);

	if (!rest || !hq_guard.tails)
		return rest;
	hq_guard.next.free(rest);
	call = hq_guard_begin(0, 1, caller);
	rest = hq_guard.next.malloc(call.ask);
	return hq_guard_end(&call, rest, rest ? 0 : errno);
}

static void *move_from_arena(void *block, size_t size, uint64_t caller)
{
	struct hq_guard_call call = hq_guard_begin(size, hq_guard_promised(size), caller);
	void *moved = hq_guard.next.malloc(call.ask);
	const size_t room = hq_between_arena_room(block);

	moved = hq_guard_end(&call, moved, moved ? 0 : errno);
	if (moved)
		memcpy(moved, block, size < room ? size : room);
	return moved;
}

void *hq_guard_realloc(void *block, size_t size, uint64_t caller)
{
	struct hq_guard_call call;
	struct kept kept = { .size = 0 };
	void *moved;

	if (HQ_GUARD_UNLIKELY(hq_between_arena_owns(block)))
		return move_from_arena(block, size, caller);
	if (!hq_guard.watches)
		return hq_guard.next.realloc(block, size);
	if (block)
		kept = take_out(block, size, caller);
	/* What the allocator would do with such a block is not its fault. */
	if (block && !kept.size && hq_guard_is_no_block(block, caller))
		block = NULL;
	if (block && size == 0 && hq_guard.tails)
		return realloc_to_nothing(block, caller);
	call = hq_guard_begin(size, hq_guard_promised(size), caller);
	moved = hq_guard.next.realloc(block, call.ask);
	if (!moved && size != 0)
		put_back(&kept, block, caller);
	moved = hq_guard_end(&call, moved, moved ? 0 : errno);
	if (moved && size != 0)
		check_kept(&kept, moved, caller);
	return moved;
}
