/* SPDX-License-Identifier: MIT */
/*
 * Chunk headers: how they begin, and whether they are sound.
 */
#include "allocator/bedrock/chunk.h"

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/link.h"

void bedrock_chunk_init(struct bedrock_chunk *chunk, struct bedrock_arena *arena)
{
	struct bedrock_range header = { .first = 0, .count = BEDROCK_CHUNK_HEADER_PAGES };

	chunk->arena = arena;
	chunk->longest_free = BEDROCK_RUN_PAGES_MAX;
	bedrock_bitmap_set(&chunk->used, header);
	bedrock_bitmap_set(&chunk->touched, header);
	bedrock_bitmap_set(&chunk->charged, bedrock_chunk_whole_os_pages(header));
}

static bool bedrock_chunk_words_are_valid(const struct bedrock_chunk *chunk, uint32_t word)
{
	uint64_t used = chunk->used.words[word];
	uint64_t dirty = chunk->rest[BEDROCK_REST_DIRTY].words[word];
	uint64_t muzzy = chunk->rest[BEDROCK_REST_MUZZY].words[word];

	if ((used & dirty) || (used & muzzy) || (dirty & muzzy))
		return false;
	if (chunk->aged[BEDROCK_REST_DIRTY].words[word] & ~dirty)
		return false;
	if (chunk->aged[BEDROCK_REST_MUZZY].words[word] & ~muzzy)
		return false;
	if ((used | dirty | muzzy) & ~chunk->charged.words[word])
		return false;
	return ((dirty | muzzy) & ~chunk->touched.words[word]) == 0;
}

bool bedrock_chunk_is_valid(const struct bedrock_chunk *chunk)
{
	struct bedrock_range whole = { .first = 0, .count = BEDROCK_CHUNK_PAGES };

	for (uint32_t word = 0; word < BEDROCK_BITMAP_WORDS; word++) {
		if (!bedrock_chunk_words_are_valid(chunk, word))
			return false;
	}
	if (bedrock_bitmap_count(&chunk->used, whole) !=
	    chunk->used_count + BEDROCK_CHUNK_HEADER_PAGES)
		return false;
	return bedrock_bitmap_longest_clear(&chunk->used).count == chunk->longest_free;
}

bool bedrock_slab_is_valid(const struct bedrock_run *run)
{
	uint32_t length = 0;

	for (void *block = run->free; block && length <= run->free_count; length++)
		block = bedrock_link_next(block);
	if (length != run->free_count || run->carved_count > run->capacity)
		return false;
	if (run->free_count > run->carved_count)
		return false;
	if (run->free_count > 0)
		return run->listed == BEDROCK_SLAB_PARTIAL;
	return run->listed ==
	       (run->carved_count < run->capacity ? BEDROCK_SLAB_CARVING : BEDROCK_SLAB_UNLISTED);
}
