/* SPDX-License-Identifier: MIT */
/*
 * Blocks as slabs give them, for tests that want them all alike: as a chain.
 */
#ifndef BEDROCK_TESTS_CHAINS_H
#define BEDROCK_TESTS_CHAINS_H

#include "allocator/bedrock/slab.h"

static inline void *chain_of(struct bedrock_list list, unsigned class_index)
{
	char *block = list.head;

	if (!list.is_fresh)
		return list.head;
	for (uint32_t i = 1; i < list.count; i++, block += bedrock_class_bytes(class_index))
		*(char **)block = block + bedrock_class_bytes(class_index);
	*(char **)block = NULL;
	return list.head;
}

#endif
