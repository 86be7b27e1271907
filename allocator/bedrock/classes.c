/* SPDX-License-Identifier: MIT */
/*
 * The tables of size classes and the shapes of slabs.
 *
 * Written as constants, with ranges, so that they need no initialisation and no locking. A slab
 * is 16 KiB for tiny blocks and grows only as far as it must for eight, four or two larger ones:
 * small slabs become empty sooner and give their pages back.
 */
#include "allocator/bedrock/classes.h"

#include "allocator/bedrock/chunk.h"

/* clang-format off */
const uint8_t bedrock_class_of_tiny[BEDROCK_TINY_SLOTS] = { BEDROCK_TINY_ROWS(0) };

/* Slots of 128 bytes up to 64 KiB; the first eight belong to the table above. */
const uint8_t bedrock_class_of_medium[513] = {
	BEDROCK_ROW(8, 1, 33, 0),
	BEDROCK_ROW(16, 2, 41, 0),
	BEDROCK_ROW(32, 4, 49, 0),
	BEDROCK_ROW(64, 8, 57, 0),
	BEDROCK_ROW(128, 16, 65, 0),
	BEDROCK_ROW(256, 32, 73, 0),
};

#define BEDROCK_EIGHT(base, step)                                                                  \
	(base) + (step), (base) + 2 * (step), (base) + 3 * (step), (base) + 4 * (step),            \
	(base) + 5 * (step), (base) + 6 * (step), (base) + 7 * (step), (base) + 8 * (step)

#define BEDROCK_EIGHT_INVERSE(base, step)                                                          \
	BEDROCK_INVERSE((base) + (step)), BEDROCK_INVERSE((base) + 2 * (step)),                    \
	BEDROCK_INVERSE((base) + 3 * (step)), BEDROCK_INVERSE((base) + 4 * (step)),                \
	BEDROCK_INVERSE((base) + 5 * (step)), BEDROCK_INVERSE((base) + 6 * (step)),                \
	BEDROCK_INVERSE((base) + 7 * (step)), BEDROCK_INVERSE((base) + 8 * (step))
#define BEDROCK_INVERSE(bytes) (UINT32_MAX / (bytes) + 1)

const uint32_t bedrock_class_inverse_table[BEDROCK_CLASS_COUNT] = {
	0,
	BEDROCK_EIGHT_INVERSE(0, 16),
	BEDROCK_EIGHT_INVERSE(128, 16),
	BEDROCK_EIGHT_INVERSE(256, 32),
	BEDROCK_EIGHT_INVERSE(512, 64),
	BEDROCK_EIGHT_INVERSE(1024, 128),
	BEDROCK_EIGHT_INVERSE(2048, 256),
	BEDROCK_EIGHT_INVERSE(4096, 512),
	BEDROCK_EIGHT_INVERSE(8192, 1024),
	BEDROCK_EIGHT_INVERSE(16384, 2048),
	BEDROCK_EIGHT_INVERSE(32768, 4096),
};

const uint32_t bedrock_class_bytes_table[BEDROCK_CLASS_COUNT] = {
	0,
	BEDROCK_EIGHT(0, 16),
	BEDROCK_EIGHT(128, 16),
	BEDROCK_EIGHT(256, 32),
	BEDROCK_EIGHT(512, 64),
	BEDROCK_EIGHT(1024, 128),
	BEDROCK_EIGHT(2048, 256),
	BEDROCK_EIGHT(4096, 512),
	BEDROCK_EIGHT(8192, 1024),
	BEDROCK_EIGHT(16384, 2048),
	BEDROCK_EIGHT(32768, 4096),
};

/* clang-format on */

unsigned bedrock_class_for_aligned(size_t bytes, size_t align_bytes)
{
	if (bytes > BEDROCK_SMALL_MAX_BYTES || align_bytes > BEDROCK_PAGE_BYTES)
		return BEDROCK_CLASS_NONE;
	size_t whole_bytes = (bytes + align_bytes - 1) & ~(align_bytes - 1);

	if (whole_bytes > BEDROCK_SMALL_MAX_BYTES)
		return BEDROCK_CLASS_NONE;
	/*
	 * A slab begins on a page, so a block is aligned when its size is a multiple. The class of
	 * a multiple is one: where classes lie closer than the alignment it is one of them, and
	 * where they do not, all of them are multiples.
	 */
	return bedrock_class_for(whole_bytes ? whole_bytes : align_bytes);
}

static unsigned bedrock_class_least_blocks(size_t block_bytes)
{
	if (block_bytes <= 8192)
		return 8;
	if (block_bytes <= 16384)
		return 4;
	return block_bytes <= 32768 ? 2 : 1;
}

unsigned bedrock_class_slab_pages(unsigned class_index)
{
	size_t block_bytes = bedrock_class_bytes(class_index);
	size_t least_bytes = block_bytes * bedrock_class_least_blocks(block_bytes);

	if (least_bytes < 4 * BEDROCK_PAGE_BYTES)
		least_bytes = 4 * BEDROCK_PAGE_BYTES;
	unsigned pages = (unsigned)((least_bytes + BEDROCK_PAGE_BYTES - 1) / BEDROCK_PAGE_BYTES);

	/* At most one sixteenth of the slab may be left over at its end. */
	while (pages * BEDROCK_PAGE_BYTES % block_bytes > pages * BEDROCK_PAGE_BYTES / 16)
		pages++;
	return pages;
}

unsigned bedrock_class_magazine_max(unsigned class_index)
{
	size_t blocks = BEDROCK_SMALL_MAX_BYTES / bedrock_class_bytes(class_index);

	return blocks > 512 ? 512 : (unsigned)blocks;
}
