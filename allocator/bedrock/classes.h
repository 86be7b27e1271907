/* SPDX-License-Identifier: MIT */
/*
 * Size classes: which block size serves a request.
 *
 * Class 0 is no class. Classes 1..80 are block sizes from 16 B to 64 KiB: every 16 bytes up to
 * 256, then eight steps per doubling, so that at most 12.5 % of a block above 128 bytes is lost
 * to rounding. The tables are constants: they hold before any constructor has run.
 */
#ifndef BEDROCK_CLASSES_H
#define BEDROCK_CLASSES_H

#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/debug.h"

#define BEDROCK_CLASS_NONE  0u
#define BEDROCK_CLASS_COUNT 81u
/* What the page map says of the first page of a large run; a bin index that is always empty. */
#define BEDROCK_CLASS_LARGE       BEDROCK_CLASS_COUNT
#define BEDROCK_SMALL_MAX_BYTES   65536u
#define BEDROCK_BLOCK_ALIGN_BYTES 16u

#define BEDROCK_TINY_MAX_BYTES 1024u
#define BEDROCK_TINY_SHIFT     4
#define BEDROCK_MEDIUM_SHIFT   7

extern const uint8_t bedrock_class_of_tiny[];
extern const uint8_t bedrock_class_of_medium[];
extern const uint32_t bedrock_class_bytes_table[BEDROCK_CLASS_COUNT];

/* The smallest class whose blocks hold `bytes` <= BEDROCK_SMALL_MAX_BYTES. */
static inline unsigned bedrock_class_for(size_t bytes)
{
	if (bedrock_likely(bytes <= BEDROCK_TINY_MAX_BYTES))
		return bedrock_class_of_tiny[(bytes + 15) >> BEDROCK_TINY_SHIFT];
	return bedrock_class_of_medium[(bytes + 127) >> BEDROCK_MEDIUM_SHIFT];
}

static inline size_t bedrock_class_bytes(unsigned class_index)
{
	return bedrock_class_bytes_table[class_index];
}

/* The smallest class for `bytes` whose every block is aligned, or BEDROCK_CLASS_NONE. */
unsigned bedrock_class_for_aligned(size_t bytes, size_t align_bytes);

/* How many pages a slab of this class has. */
unsigned bedrock_class_slab_pages(unsigned class_index);

/* How many blocks one magazine of a thread cache may hold at most. */
unsigned bedrock_class_magazine_max(unsigned class_index);

#endif
