/* SPDX-License-Identifier: MIT */
/*
 * What is done to every block if somebody asks for it: looked up in the map of live blocks
 * (`check_small`), cleared or filled (`zero_on_free`, `junk`), linked with care (`protect_links`),
 * now and then exchanged for one between pages that nobody may touch (`guard_pages`).
 *
 * The fast paths know nothing of it. Where one of these options is set the front of every thread
 * stays empty: each call finds neither block nor room there, takes the slow path, and meets the
 * hooks below; its magazines are hidden in its cache. Where none is set a hook is one test in a
 * slow path.
 */
#ifndef BEDROCK_HARDEN_H
#define BEDROCK_HARDEN_H

#include "allocator/bedrock/heap.h"

/* In the place of a length: this block is not to be exchanged for a guarded one. */
#define BEDROCK_HARDEN_ORDINARY SIZE_MAX

/* Act on the options. What must know every block is refused if there are some already. */
void bedrock_harden_start(struct bedrock_heap *heap);

void *bedrock_harden_give(void *block, size_t bytes, bool is_filled);
void bedrock_harden_free(void *block);
void bedrock_harden_ask(const char *call, const void *block);
void bedrock_harden_shorten(void *block, size_t bytes, size_t usable_bytes);
void bedrock_harden_resize(void *block, size_t bytes, size_t usable_bytes);
void bedrock_harden_resize_end(void *block, size_t old_bytes);

/*
 * A block on its way out, which may be NULL, and how long it was asked to be; `filled` when nobody
 * counts on its content. -> the block, or a guarded one in its place
 */
static inline void *bedrock_harden_given(void *block, size_t bytes)
{
	if (bedrock_likely(!bedrock_heap.is_careful))
		return block;
	return bedrock_harden_give(block, bytes, false);
}

static inline void *bedrock_harden_filled(void *block, size_t bytes)
{
	if (bedrock_likely(!bedrock_heap.is_careful))
		return block;
	return bedrock_harden_give(block, bytes, true);
}

/* A block that comes back: from here on it is nobody's. */
static inline void bedrock_harden_freed(void *block)
{
	if (bedrock_unlikely(bedrock_heap.is_careful))
		bedrock_harden_free(block);
}

/* A block that something is asked about, by the program. */
static inline void bedrock_harden_asked(const char *call, const void *block)
{
	if (bedrock_unlikely(bedrock_heap.is_careful))
		bedrock_harden_ask(call, block);
}

/* A block that stays where it is: beyond `bytes` its content is not needed any more. */
static inline void bedrock_harden_shortened(void *block, size_t bytes, size_t usable_bytes)
{
	if (bedrock_unlikely(bedrock_heap.is_careful))
		bedrock_harden_shorten(block, bytes, usable_bytes);
}

/* A large block before it is resized, and what has become of it, wherever it is now. */
static inline void bedrock_harden_resizing(void *block, size_t bytes, size_t usable_bytes)
{
	if (bedrock_unlikely(bedrock_heap.is_careful))
		bedrock_harden_resize(block, bytes, usable_bytes);
}

static inline void bedrock_harden_resized(void *block, size_t old_bytes)
{
	if (bedrock_unlikely(bedrock_heap.is_careful))
		bedrock_harden_resize_end(block, old_bytes);
}

#endif
