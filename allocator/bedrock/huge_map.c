/* SPDX-License-Identifier: MIT */
/*
 * Mappings of huge blocks: how long they are, where in them the block begins, what they are charged
 * for, and giving pages back or parts of them away.
 *
 * Nothing here knows which mappings are kept; what threads share of it are the accounts, which are
 * atomic.
 */
#include "allocator/bedrock/huge_map.h"

#include <errno.h>

#include "allocator/bedrock/os.h"

/* What most kernels make of a huge page. If it is another size nothing but that is lost. */
#define BEDROCK_HUGE_PAGE_BYTES ((size_t)2 << 20)

int bedrock_huge_charge(struct bedrock_huge *huge, size_t bytes)
{
	int rc = bedrock_limit_charge(&huge->space->limit, bytes);

	if (!rc)
		bedrock_add_relaxed(&huge->charged_bytes, bytes);
	return rc;
}

void bedrock_huge_uncharge(struct bedrock_huge *huge, size_t bytes)
{
	bedrock_sub_relaxed(&huge->charged_bytes, bytes);
	bedrock_limit_uncharge(&huge->space->limit, bytes);
}

static size_t bedrock_huge_round(size_t bytes)
{
	size_t mask = bedrock_os_page_bytes() - 1;

	return (bytes + mask) & ~mask;
}

/*
 * How long the mapping of a block becomes that ends at `end_bytes`. A huge page at its end is
 * completed if that takes an eighth more at most, and if the memory limit is far.
 */
size_t bedrock_huge_length(const struct bedrock_huge *huge, size_t end_bytes)
{
	size_t bytes = bedrock_huge_round(end_bytes);
	size_t mask = BEDROCK_HUGE_PAGE_BYTES - 1;
	size_t whole_bytes = (bytes + mask) & ~mask;

	if (huge->space->thp != BEDROCK_THP_ALWAYS || whole_bytes - bytes > bytes / 8 ||
	    bedrock_limit_is_near(&huge->space->limit))
		return bytes;
	return whole_bytes;
}

/*
 * What munmap has refused is emptied and remembered. What of its charge stays resident stays
 * charged.
 */
void bedrock_huge_leave(struct bedrock_huge *huge, void *address, size_t bytes,
			size_t charged_bytes)
{
	size_t owed_bytes = 0;

	if (charged_bytes == 0 || bedrock_huge_give_pages(huge, address, bytes) == 0) {
		bedrock_huge_uncharge(huge, charged_bytes);
	} else {
		owed_bytes = charged_bytes;
		bedrock_add_relaxed(&huge->space->owed_bytes, charged_bytes);
		bedrock_sub_relaxed(&huge->charged_bytes, charged_bytes);
	}
	bedrock_huge_discard(huge, address, bytes, owed_bytes);
}

/*
 * Cut the mapping down, if that is worth a call. A tail that munmap refuses is left behind; the
 * mapping only stays longer where no more of those can be remembered.
 */
void bedrock_huge_trim(struct bedrock_huge *huge, struct bedrock_chunk *chunk, size_t bytes)
{
	char *tail = (char *)chunk + bytes;
	size_t tail_bytes = chunk->huge.mapped_bytes - bytes;
	/* Of a purged mapping the tail is charged no more. */
	size_t charged_bytes = chunk->huge.charged_bytes - bedrock_huge_round(BEDROCK_PAGE_BYTES);

	if (tail_bytes <= bytes / 8)
		return;
	if (charged_bytes > tail_bytes)
		charged_bytes = tail_bytes;
	if (bedrock_space_unmap(huge->space, tail, tail_bytes) == 0)
		bedrock_huge_uncharge(huge, charged_bytes);
	else if (bedrock_space_can_remember(huge->space))
		bedrock_huge_leave(huge, tail, tail_bytes, charged_bytes);
	else
		return;
	chunk->huge.mapped_bytes = bytes;
	chunk->huge.used_bytes = bytes;
	chunk->huge.charged_bytes -= charged_bytes;
}

/* Charge all of a mapping; it may have been purged, or had a gap that is now used. */
int bedrock_huge_charge_whole(struct bedrock_huge *huge, struct bedrock_chunk *chunk)
{
	int rc = bedrock_huge_charge(huge, chunk->huge.mapped_bytes - chunk->huge.charged_bytes);

	if (!rc)
		chunk->huge.charged_bytes = chunk->huge.mapped_bytes;
	return rc;
}

/*
 * Tell the kernel whether a fresh mapping may have huge pages. The gap before the block is not
 * charged, so that under a limit the header's page must not be a huge one.
 */
static void bedrock_huge_advise(const struct bedrock_huge *huge, struct bedrock_chunk *chunk,
				size_t offset_bytes)
{
	size_t bytes = chunk->huge.mapped_bytes;
	size_t gap_bytes = bytes - chunk->huge.charged_bytes;

	if (huge->space->thp == BEDROCK_THP_NEVER ||
	    (gap_bytes > 0 && bedrock_limit_is_set(&huge->space->limit)))
		bedrock_os_keep_small(chunk, bytes);
	else if (huge->space->thp == BEDROCK_THP_ALWAYS && gap_bytes == 0)
		bedrock_os_prefer_huge(chunk, bytes);
	else if (huge->space->thp == BEDROCK_THP_ALWAYS)
		bedrock_os_prefer_huge((char *)chunk + offset_bytes, bytes - offset_bytes);
}

/* The mapping of a block that begins `offset_bytes` into it, for an alignment up to a chunk. */
int bedrock_huge_map(struct bedrock_huge *huge, size_t bytes, size_t offset_bytes,
		     struct bedrock_chunk **out)
{
	size_t charged_bytes = bytes - offset_bytes + bedrock_huge_round(BEDROCK_PAGE_BYTES);
	void *address;
	int rc = bedrock_huge_charge(huge, charged_bytes);

	if (rc)
		return rc;
	rc = bedrock_space_map(huge->space, bytes, &address);
	if (rc) {
		bedrock_huge_uncharge(huge, charged_bytes);
		return rc;
	}
	struct bedrock_chunk *chunk = address;

	chunk->huge.mapped_bytes = bytes;
	chunk->huge.used_bytes = bytes;
	chunk->huge.charged_bytes = charged_bytes;
	bedrock_huge_advise(huge, chunk, offset_bytes);
	*out = chunk;
	return 0;
}

/* Unmap a part that nobody needs, or remember it. Unless it was touched, nothing is owed for it. */
void bedrock_huge_discard(struct bedrock_huge *huge, void *address, size_t bytes, size_t owed_bytes)
{
	if (bytes == 0)
		return;
	bedrock_space_discard(huge->space, address, bytes, owed_bytes);
	bedrock_sub_relaxed(&huge->space->mapped_bytes, bytes);
}

/* From the start of the mapping to the block; never so far that masking misses the header. */
size_t bedrock_huge_offset(size_t align_bytes)
{
	size_t least_bytes = bedrock_huge_round(BEDROCK_PAGE_BYTES);

	if (align_bytes <= least_bytes)
		return least_bytes;
	return align_bytes < BEDROCK_CHUNK_BYTES ? align_bytes : BEDROCK_CHUNK_BYTES;
}

/*
 * An alignment above the chunk size: the block must sit at a multiple of it, and the mapping
 * start one chunk before. Map with slack and cut both ends off.
 */
int bedrock_huge_map_over_aligned(struct bedrock_huge *huge, size_t bytes, size_t align_bytes,
				  struct bedrock_chunk **out)
{
	size_t charged_bytes = bytes - BEDROCK_CHUNK_BYTES + bedrock_huge_round(BEDROCK_PAGE_BYTES);
	void *raw;
	int rc = bedrock_huge_charge(huge, charged_bytes);

	if (rc)
		return rc;
	rc = bedrock_space_map(huge->space, bytes + align_bytes, &raw);
	if (rc) {
		bedrock_huge_uncharge(huge, charged_bytes);
		return rc;
	}
	uintptr_t first = (uintptr_t)raw + BEDROCK_CHUNK_BYTES;
	uintptr_t block = (first + align_bytes - 1) & ~(align_bytes - 1);
	struct bedrock_chunk *chunk = (struct bedrock_chunk *)(block - BEDROCK_CHUNK_BYTES);
	size_t head_bytes = (size_t)((char *)chunk - (char *)raw);

	bedrock_huge_discard(huge, raw, head_bytes, 0);
	bedrock_huge_discard(huge, (char *)chunk + bytes, align_bytes - head_bytes, 0);
	chunk->huge.mapped_bytes = bytes;
	chunk->huge.used_bytes = bytes;
	chunk->huge.charged_bytes = charged_bytes;
	bedrock_huge_advise(huge, chunk, BEDROCK_CHUNK_BYTES);
	*out = chunk;
	return 0;
}

/* Give pages back. Under a limit, that is believed of what is seen to be gone only. */
int bedrock_huge_give_pages(struct bedrock_huge *huge, void *start, size_t bytes)
{
	int rc = bedrock_os_purge(start, bytes);

	if (!rc && bedrock_limit_is_set(&huge->space->limit) &&
	    bedrock_os_is_resident(start, bytes))
		rc = -EIO;
	return rc;
}

/* Give the pages of a mapping back, but for the header. What is gone is charged no more. */
void bedrock_huge_purge(struct bedrock_huge *huge, struct bedrock_chunk *chunk)
{
	size_t header_bytes = bedrock_huge_round(BEDROCK_PAGE_BYTES);
	char *start = (char *)chunk + header_bytes;
	size_t bytes = chunk->huge.mapped_bytes - header_bytes;

	if (bedrock_huge_give_pages(huge, start, bytes))
		return;
	chunk->huge.is_purged = true;
	bedrock_huge_uncharge(huge, chunk->huge.charged_bytes - header_bytes);
	chunk->huge.charged_bytes = header_bytes;
}
