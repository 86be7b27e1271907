/* SPDX-License-Identifier: MIT */
/*
 * Blocks under the eyes of a tool: given to the byte, held back when freed, let go at last.
 *
 * Whose a block is, the map of live blocks tells. What has been let go is hidden but for its first
 * word, which is a link of the heap's from then on.
 */
#include "allocator/bedrock/watch.h"

#include <string.h>

#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/chunk.h"
#include "allocator/bedrock/fast.h"
#include "allocator/bedrock/large.h"
#include "allocator/bedrock/live.h"

/* The last bytes of a block. */
struct bedrock_watch_tail {
	size_t asked_bytes;
	void *next;
};

_Static_assert(sizeof(struct bedrock_watch_tail) == BEDROCK_WATCH_TAIL_BYTES, "it is the tail");

void bedrock_watch_init(struct bedrock_watch *watch)
{
	bedrock_lock_init(&watch->lock, BEDROCK_RANK_WATCH);
}

static struct bedrock_watch_tail *bedrock_watch_tail_of(const void *block)
{
	char *end = (char *)block + bedrock_fast_bytes(block);

	return (struct bedrock_watch_tail *)(void *)(end - BEDROCK_WATCH_TAIL_BYTES);
}

static void bedrock_watch_write(const void *block, struct bedrock_watch_tail tail)
{
	struct bedrock_watch_tail *there = bedrock_watch_tail_of(block);

	bedrock_tell_shown(there, sizeof(*there));
	*there = tail;
	bedrock_tell_hidden(there, sizeof(*there));
}

static struct bedrock_watch_tail bedrock_watch_read(const void *block)
{
	struct bedrock_watch_tail *there = bedrock_watch_tail_of(block);

	bedrock_tell_shown(there, sizeof(*there));
	struct bedrock_watch_tail tail = *there;

	bedrock_tell_hidden(there, sizeof(*there));
	return tail;
}

static bool bedrock_watch_is_huge(const void *block)
{
	return bedrock_chunk_class_of(block) == BEDROCK_CLASS_NONE;
}

/* What the program keeps in the block keeps other blocks from being lost. */
static void bedrock_watch_add_root(const void *block, size_t bytes)
{
	uintptr_t chunk = (uintptr_t)block & ~(uintptr_t)(BEDROCK_CHUNK_BYTES - 1);

	if (bedrock_watch_is_huge(block))
		bedrock_tell_root(block, bytes);
	else if (!bedrock_live_knows(block))
		bedrock_tell_root((const void *)chunk, BEDROCK_CHUNK_BYTES);
}

void bedrock_watch_give(void *block, size_t bytes, bool is_zero)
{
	size_t whole_bytes = bedrock_fast_bytes(block);

	if (is_zero) {
		bedrock_tell_shown(block, bytes);
		memset(block, 0, bytes);
	}
	bedrock_tell_hidden((char *)block + bytes, whole_bytes - bytes);
	bedrock_watch_write(block, (struct bedrock_watch_tail){ .asked_bytes = bytes });
	bedrock_tell_given(block, bytes, is_zero);
	bedrock_watch_add_root(block, bytes);
	(void)bedrock_live_add(block);
}

bool bedrock_watch_expect(const void *block)
{
	bool is_block = bedrock_live_is_block(block);

	if (!is_block)
		bedrock_tell_misuse(block);
	return is_block;
}

size_t bedrock_watch_bytes(const void *block)
{
	return bedrock_watch_read(block).asked_bytes;
}

/* Give it to the heap. */
static void bedrock_watch_let_go(void *block)
{
	unsigned class_index = bedrock_chunk_class_of(block);

	if (class_index == BEDROCK_CLASS_NONE || class_index == BEDROCK_CLASS_LARGE) {
		bedrock_large_free(block);
		return;
	}
	bedrock_tell_shown(block, sizeof(void *));
	bedrock_cache_free(block, class_index);
}

/* Put it behind all others. */
static void bedrock_watch_hold(struct bedrock_watch *watch, void *block)
{
	bedrock_lock_take(&watch->lock);
	bedrock_watch_write(block, (struct bedrock_watch_tail){ .next = NULL });
	if (watch->oldest)
		bedrock_watch_write(watch->newest, (struct bedrock_watch_tail){ .next = block });
	else
		watch->oldest = block;
	watch->newest = block;
	watch->held_bytes += bedrock_fast_bytes(block);
	bedrock_lock_give(&watch->lock);
}

/* The oldest, or NULL if no more is held back than so much. */
static void *bedrock_watch_pop(struct bedrock_watch *watch, uint64_t keep_bytes)
{
	void *block = NULL;

	bedrock_lock_take(&watch->lock);
	if (watch->held_bytes > keep_bytes) {
		block = watch->oldest;
		watch->oldest = bedrock_watch_read(block).next;
		watch->held_bytes -= bedrock_fast_bytes(block);
	}
	bedrock_lock_give(&watch->lock);
	return block;
}

bool bedrock_watch_release(struct bedrock_watch *watch, uint64_t keep_bytes)
{
	bool had_any = false;
	void *block;

	while ((block = bedrock_watch_pop(watch, keep_bytes))) {
		had_any = true;
		bedrock_watch_let_go(block);
	}
	return had_any;
}

void bedrock_watch_free(struct bedrock_watch *watch, void *block)
{
	if (!bedrock_live_remove(block)) {
		bedrock_tell_misuse(block);
		return;
	}
	size_t whole_bytes = bedrock_fast_bytes(block);

	if (bedrock_watch_is_huge(block))
		bedrock_tell_no_root(block, bedrock_watch_bytes(block));
	bedrock_tell_freed(block);
	bedrock_tell_hidden(block, whole_bytes);
	if (whole_bytes > BEDROCK_WATCH_HELD_BYTES / 4) {
		bedrock_watch_let_go(block);
		return;
	}
	bedrock_watch_hold(watch, block);
	bedrock_watch_release(watch, BEDROCK_WATCH_HELD_BYTES);
}
