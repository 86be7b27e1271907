/* SPDX-License-Identifier: MIT */
/*
 * The mapping of one huge block. Private to huge.c and guarded.c; a chunk here is the header of
 * such a mapping, and whoever calls is the only one who has it.
 */
#ifndef BEDROCK_HUGE_MAP_H
#define BEDROCK_HUGE_MAP_H

#include "allocator/bedrock/huge.h"

/* Charge bytes to the memory limit and to huge->charged_bytes -> 0 or -EDQUOT; and the reverse. */
int bedrock_huge_charge(struct bedrock_huge *huge, size_t bytes);
void bedrock_huge_uncharge(struct bedrock_huge *huge, size_t bytes);

/* Charge all of a mapping that may have been purged, or had a gap. -> 0 or -EDQUOT */
int bedrock_huge_charge_whole(struct bedrock_huge *huge, struct bedrock_chunk *chunk);

/* How long the mapping of a block becomes that ends at `end_bytes`. */
size_t bedrock_huge_length(const struct bedrock_huge *huge, size_t end_bytes);

/* From the start of the mapping to a block of that alignment. */
size_t bedrock_huge_offset(size_t align_bytes);

/*
 * Make a mapping of `bytes`, charged and advised, whose block begins `offset_bytes` into it; or,
 * for an alignment above a chunk, one chunk into it. -> 0, -ENOMEM or -EDQUOT
 */
int bedrock_huge_map(struct bedrock_huge *huge, size_t bytes, size_t offset_bytes,
		     struct bedrock_chunk **out);
int bedrock_huge_map_over_aligned(struct bedrock_huge *huge, size_t bytes, size_t align_bytes,
				  struct bedrock_chunk **out);

/*
 * Cut a mapping down to `bytes`, if that is worth a call. What munmap refuses is left; only where
 * too much was already, the mapping stays longer.
 */
void bedrock_huge_trim(struct bedrock_huge *huge, struct bedrock_chunk *chunk, size_t bytes);

/* Unmap a part that nobody needs, or remember it with what is owed for it. */
void bedrock_huge_discard(struct bedrock_huge *huge, void *address, size_t bytes,
			  size_t owed_bytes);

/* Empty and remember a part that munmap has refused, of which so much is charged. */
void bedrock_huge_leave(struct bedrock_huge *huge, void *address, size_t bytes,
			size_t charged_bytes);

/* Give pages back to the kernel. -> 0 or -errno; under a limit, -EIO if they are still there. */
int bedrock_huge_give_pages(struct bedrock_huge *huge, void *start, size_t bytes);

/* Give the pages of a whole mapping back, but for the header, and uncharge what is gone. */
void bedrock_huge_purge(struct bedrock_huge *huge, struct bedrock_chunk *chunk);

#endif
