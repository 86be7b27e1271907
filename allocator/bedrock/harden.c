/* SPDX-License-Identifier: MIT */
/*
 * The hooks of hardening, and how they are switched on.
 */
#include "allocator/bedrock/harden.h"

#include <string.h>

#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/fast.h"
#include "allocator/bedrock/link.h"
#include "allocator/bedrock/live.h"

/* The gates of the debug library do the same, at every block. */
static inline bool bedrock_harden_is_checked(void)
{
	return BEDROCK_DEBUG < 3 && bedrock_heap.options.is_check_small;
}

/* Is it of no size class, so that it begins what it lies in? */
static bool bedrock_harden_is_whole(const void *block)
{
	unsigned class_index = bedrock_chunk_class_of(block);

	return class_index == BEDROCK_CLASS_NONE || class_index == BEDROCK_CLASS_LARGE;
}

static bool bedrock_harden_has_junk(enum bedrock_junk kind)
{
	return bedrock_heap.options.junk == BEDROCK_JUNK_TRUE ||
	       bedrock_heap.options.junk == (int64_t)kind;
}

/* What the program has given up is overwritten, before anybody else can have it. */
static void bedrock_harden_wipe(void *start, size_t bytes)
{
	if (bedrock_heap.options.is_zero_on_free)
		memset(start, 0, bytes);
	else if (bedrock_harden_has_junk(BEDROCK_JUNK_FREE))
		memset(start, BEDROCK_FREED_BYTE, bytes);
}

/* Blocks may be in the program's hands already. */
static bool bedrock_harden_is_late(struct bedrock_heap *heap)
{
	return bedrock_load_relaxed(&heap->space.mapped_bytes) > 0;
}

static void bedrock_harden_refuse_late(struct bedrock_options *options)
{
	if (!options->is_check_small && !options->is_protect_links)
		return;
	options->is_check_small = false;
	options->is_protect_links = false;
	bedrock_debug_warn("BEDROCK_CONF: read after the first allocation, "
			   "check_small and protect_links ignored",
			   "", 0, "");
}

void bedrock_harden_start(struct bedrock_heap *heap)
{
	struct bedrock_options *options = &heap->options;

	/* A tool that looks on does all this, and better. */
	if (heap->space.is_watched)
		return;
	if (bedrock_harden_is_late(heap))
		bedrock_harden_refuse_late(options);
	heap->is_careful = options->is_check_small || options->is_zero_on_free ||
			   options->junk != BEDROCK_JUNK_FALSE || options->guard_pages > 0;
	heap->is_closed = heap->is_careful || options->is_protect_links;
	if (options->is_protect_links)
		bedrock_link_protect();
	if (heap->is_closed)
		bedrock_cache_close();
}

/* A block that nobody has had yet goes back to where it is from. */
static void bedrock_harden_put_back(void *block)
{
	unsigned class_index = bedrock_chunk_class_of(block);

	if (bedrock_harden_is_whole(block))
		bedrock_large_free(block);
	else if (!bedrock_cache_free_own(block, class_index))
		bedrock_cache_free(block, class_index);
}

/*
 * The ordinary block is there already, and is served wherever a guarded one cannot be had: what the
 * kernel or a limit refuses to guard pages, no request ever notices.
 */
static void *bedrock_harden_exchange(void *block, size_t bytes)
{
	void *guarded = bedrock_guarded_alloc(&bedrock_heap.guarded, bytes);

	if (!guarded)
		return block;
	bedrock_harden_put_back(block);
	return guarded;
}

void *bedrock_harden_give(void *block, size_t bytes, bool is_filled)
{
	uint64_t guard_every = (uint64_t)bedrock_heap.options.guard_pages;

	if (!block)
		return NULL;
	if (guard_every > 0 && bedrock_guarded_is_due(guard_every))
		block = bedrock_harden_exchange(block, bytes);
	if (bedrock_harden_is_checked())
		bedrock_live_give(block);
	if (is_filled && bedrock_harden_has_junk(BEDROCK_JUNK_ALLOC))
		memset(block, BEDROCK_FRESH_BYTE, bedrock_fast_bytes(block));
	return block;
}

void bedrock_harden_free(void *block)
{
	if (bedrock_harden_is_checked())
		bedrock_live_take("free", block);
	/* Before anything is overwritten. */
	unsigned class_index = bedrock_chunk_class_of(block);

	if (bedrock_harden_is_whole(block))
		bedrock_large_expect("free", block);
	else if (!bedrock_slab_holds(class_index, block))
		bedrock_slab_refuse(block);
	bedrock_harden_wipe(block, bedrock_fast_bytes(block));
}

void bedrock_harden_ask(const char *call, const void *block)
{
	if (bedrock_harden_is_checked())
		bedrock_live_ask(call, block);
	if (bedrock_harden_is_whole(block))
		bedrock_large_expect(call, block);
}

void bedrock_harden_shorten(void *block, size_t bytes, size_t usable_bytes)
{
	if (bytes < usable_bytes)
		bedrock_harden_wipe((char *)block + bytes, usable_bytes - bytes);
}

void bedrock_harden_resize(void *block, size_t bytes, size_t usable_bytes)
{
	/* What it leaves when it moves may be somebody else's at once. */
	if (bedrock_harden_is_checked())
		bedrock_live_take("realloc", block);
	bedrock_harden_shorten(block, bytes, usable_bytes);
}

void bedrock_harden_resize_end(void *block, size_t old_bytes)
{
	size_t usable_bytes = bedrock_fast_bytes(block);

	if (bedrock_harden_is_checked())
		bedrock_live_give(block);
	if (usable_bytes > old_bytes && bedrock_harden_has_junk(BEDROCK_JUNK_ALLOC))
		memset((char *)block + old_bytes, BEDROCK_FRESH_BYTE, usable_bytes - old_bytes);
}
