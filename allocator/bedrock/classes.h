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

/*
 * Where every instruction counts, a class goes by its key, which times eight is the distance of its
 * hot magazine: a factor that an address can have, as that of a whole magazine is not.
 */
#define BEDROCK_KEY_SHIFT      1
#define BEDROCK_KEY_UNIT_BYTES 8u

/* Slots of 16 bytes from 0 to BEDROCK_TINY_MAX_BYTES. */
#define BEDROCK_TINY_SLOTS 65u

/* clang-format off */
/* Eight classes that each serve `step` table slots, the first slot after `base` first. */
#define BEDROCK_ROW(base, step, first, shift)                                                      \
	[(base) + 1 ... (base) + (step)] = (first) << (shift),                                     \
	[(base) + 1 + (step) ... (base) + 2 * (step)] = ((first) + 1) << (shift),                  \
	[(base) + 1 + 2 * (step) ... (base) + 3 * (step)] = ((first) + 2) << (shift),              \
	[(base) + 1 + 3 * (step) ... (base) + 4 * (step)] = ((first) + 3) << (shift),              \
	[(base) + 1 + 4 * (step) ... (base) + 5 * (step)] = ((first) + 4) << (shift),              \
	[(base) + 1 + 5 * (step) ... (base) + 6 * (step)] = ((first) + 5) << (shift),              \
	[(base) + 1 + 6 * (step) ... (base) + 7 * (step)] = ((first) + 6) << (shift),              \
	[(base) + 1 + 7 * (step) ... (base) + 8 * (step)] = ((first) + 7) << (shift)

/* Tiny classes by slot, shifted. A request of no bytes gets the smallest block. */
#define BEDROCK_TINY_ROWS(shift)                                                                   \
	[0] = 1 << (shift),                                                                        \
	BEDROCK_ROW(0, 1, 1, shift),                                                               \
	BEDROCK_ROW(8, 1, 9, shift),                                                               \
	BEDROCK_ROW(16, 2, 17, shift),                                                             \
	BEDROCK_ROW(32, 4, 25, shift)
/* clang-format on */

extern const uint8_t bedrock_class_of_tiny[BEDROCK_TINY_SLOTS];
extern const uint8_t bedrock_class_of_medium[];
extern const uint32_t bedrock_class_bytes_table[BEDROCK_CLASS_COUNT];
/* 2^32 over the bytes, rounded up: to tell without a division where blocks begin. */
extern const uint32_t bedrock_class_inverse_table[BEDROCK_CLASS_COUNT];

/* The slot of the table of tiny classes for `bytes` <= BEDROCK_TINY_MAX_BYTES. */
static inline size_t bedrock_class_slot(size_t bytes)
{
	return (bytes + 15) >> BEDROCK_TINY_SHIFT;
}

/* The smallest class whose blocks hold `bytes` <= BEDROCK_SMALL_MAX_BYTES. */
static inline unsigned bedrock_class_for(size_t bytes)
{
	if (bedrock_likely(bytes <= BEDROCK_TINY_MAX_BYTES))
		return bedrock_class_of_tiny[bedrock_class_slot(bytes)];
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
