/* SPDX-License-Identifier: MIT */
/*
 * Rings of mappings, linked through the headers of the mappings.
 */
#include "allocator/bedrock/ring.h"

void bedrock_ring_add(struct bedrock_huge_ring *ring, struct bedrock_chunk *chunk)
{
	struct bedrock_chunk *first = ring->first;

	chunk->huge.next = first ? first : chunk;
	chunk->huge.prev = first ? first->huge.prev : chunk;
	chunk->huge.prev->huge.next = chunk;
	chunk->huge.next->huge.prev = chunk;
	ring->first = chunk;
	ring->count++;
	bedrock_count_owned(&ring->bytes, (int64_t)chunk->huge.mapped_bytes);
}

void bedrock_ring_remove(struct bedrock_huge_ring *ring, struct bedrock_chunk *chunk)
{
	chunk->huge.next->huge.prev = chunk->huge.prev;
	chunk->huge.prev->huge.next = chunk->huge.next;
	if (ring->first == chunk)
		ring->first = chunk->huge.next == chunk ? NULL : chunk->huge.next;
	ring->count--;
	bedrock_count_owned(&ring->bytes, -(int64_t)chunk->huge.mapped_bytes);
}

static size_t bedrock_size_distance(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * What it costs to make a mapping fit. What a larger one has too much is lost when it is trimmed,
 * what a smaller one has too little is faulted in when it is lengthened: both cost the same.
 * What may be left to spare costs as good as nothing.
 */
static size_t bedrock_ring_misfit(size_t mapped_bytes, size_t bytes, size_t room_bytes)
{
	if (mapped_bytes >= bytes && mapped_bytes - bytes <= room_bytes)
		return (mapped_bytes - bytes) / BEDROCK_PAGE_BYTES;
	return bedrock_size_distance(mapped_bytes, bytes);
}

struct bedrock_chunk *bedrock_ring_take(struct bedrock_huge_ring *ring, size_t bytes,
					size_t room_bytes)
{
	struct bedrock_chunk *best = NULL;
	struct bedrock_chunk *chunk = ring->first;

	for (uint32_t i = 0; i < ring->count; i++, chunk = chunk->huge.next) {
		size_t mapped_bytes = chunk->huge.mapped_bytes;

		if (mapped_bytes / 2 > bytes || mapped_bytes < bytes / 2)
			continue;
		if (!best ||
		    bedrock_ring_misfit(mapped_bytes, bytes, room_bytes) <
			    bedrock_ring_misfit(best->huge.mapped_bytes, bytes, room_bytes))
			best = chunk;
	}
	if (best)
		bedrock_ring_remove(ring, best);
	return best;
}
