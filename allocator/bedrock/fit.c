/* SPDX-License-Identifier: MIT */
/*
 * First fit in the fullest chunk that has room; for what may grow, the emptiest.
 */
#include "allocator/bedrock/fit.h"

#include "allocator/bedrock/debug.h"

/* How many chunks of one bucket are tried: those of the first may be too short by a little. */
#define BEDROCK_BUCKET_TRIES 8u

uint32_t bedrock_fit_bucket(uint32_t page_count)
{
	if (page_count < 8)
		return page_count;
	uint32_t log = 31 - (uint32_t)__builtin_clz(page_count);

	return 8 + (log - 3) * 4 + (page_count >> (log - 2) & 3);
}

/* Where in the chunk the request fits, or BEDROCK_BITMAP_BITS. */
static uint32_t bedrock_fit_in_chunk(const struct bedrock_chunk *chunk,
				     const struct bedrock_pages_request *request)
{
	struct bedrock_bitmap taken;

	if (bedrock_likely(!request->is_frugal))
		return bedrock_bitmap_find_clear(&chunk->used, request->page_count,
						 request->align_pages);
	for (uint32_t word = 0; word < BEDROCK_BITMAP_WORDS; word++)
		taken.words[word] = chunk->used.words[word] | ~chunk->charged.words[word];
	return bedrock_bitmap_find_clear(&taken, request->page_count, request->align_pages);
}

/* A chunk of this bucket that can serve the request, and where. */
static struct bedrock_chunk *bedrock_fit_in_bucket(const struct bedrock_pages *pages,
						   uint32_t bucket,
						   const struct bedrock_pages_request *request,
						   uint32_t *first)
{
	struct bedrock_chunk *chunk = pages->buckets[bucket];

	for (uint32_t i = 0; chunk && i < BEDROCK_BUCKET_TRIES; i++) {
		if (chunk->longest_free >= request->page_count) {
			*first = bedrock_fit_in_chunk(chunk, request);
			if (*first != BEDROCK_BITMAP_BITS)
				return chunk;
		}
		chunk = chunk->bucket_next;
	}
	return NULL;
}

/* May the run that ends before this page grow as well? The map knows large ones by absence. */
static bool bedrock_fit_follows_large(const struct bedrock_chunk *chunk, uint32_t page)
{
	return page > BEDROCK_CHUNK_HEADER_PAGES &&
	       chunk->key_of[page - 1] >> BEDROCK_KEY_SHIFT == BEDROCK_CLASS_NONE;
}

/*
 * A place for a run that may grow, with as many free pages behind: at the start of the longest
 * stretch of an emptiest chunk, or in its middle, so as to leave the run before room as well. That
 * room is not reserved: others get it when there is none elsewhere.
 */
static struct bedrock_chunk *bedrock_fit_room(const struct bedrock_pages *pages,
					      const struct bedrock_pages_request *request,
					      uint32_t *first)
{
	if (!pages->bucket_bits)
		return NULL;
	uint32_t bucket = 63 - (uint32_t)__builtin_clzll(pages->bucket_bits);
	struct bedrock_chunk *chunk = pages->buckets[bucket];
	struct bedrock_range room = bedrock_bitmap_longest_clear(&chunk->used);
	uint32_t skip = bedrock_fit_follows_large(chunk, room.first) ? room.count / 2 : 0;

	*first = room.first + skip;
	return room.count - skip >= 2 * request->page_count ? chunk : NULL;
}

struct bedrock_chunk *bedrock_fit_find(const struct bedrock_pages *pages,
				       const struct bedrock_pages_request *request, uint32_t *first)
{
	if (request->is_growing)
		return bedrock_fit_room(pages, request, first);
	uint32_t bucket = bedrock_fit_bucket(request->page_count);
	uint64_t bits = pages->bucket_bits >> bucket << bucket;

	while (bits) {
		bucket = (uint32_t)__builtin_ctzll(bits);
		struct bedrock_chunk *chunk = bedrock_fit_in_bucket(pages, bucket, request, first);

		if (chunk)
			return chunk;
		bits &= bits - 1;
	}
	return NULL;
}
