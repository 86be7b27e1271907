/* SPDX-License-Identifier: MIT */
/*
 * Blocks above the size classes: large ones are runs of pages, huge ones have mappings.
 */
#ifndef BEDROCK_LARGE_H
#define BEDROCK_LARGE_H

#include <stdbool.h>
#include <stddef.h>

/* A run may be this long; beyond it a chunk would hold too few of them. */
#define BEDROCK_LARGE_MAX_BYTES ((size_t)2 << 20)

/* What a large or huge block is wanted for. */
struct bedrock_large_request {
	size_t bytes;
	/* A power of two. */
	size_t align_bytes;
	bool is_zero_wanted;
	/* It was shorter before, and is likely to become longer. */
	bool is_growing;
};

/* -> a block, or NULL if there is no memory; errno is not touched. */
void *bedrock_large_alloc(const struct bedrock_large_request *request);

/* End the process if that is no large or huge block in use, though the page map takes it for one.
 */
void bedrock_large_expect(const char *call, const void *block);

/* Free a block that is not of a size class. */
void bedrock_large_free(void *block);

/* Change the size of a large or huge block without copying. -> the block, or NULL. */
void *bedrock_large_resize(void *block, size_t bytes);

/* How many bytes of a large or huge block may be used. */
size_t bedrock_large_usable_bytes(const void *block);

#endif
