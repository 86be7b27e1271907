/* SPDX-License-Identifier: MIT */
/*
 * The last words of a process that misused its heap.
 */
#include "allocator/bedrock/misuse.h"

#include <stdlib.h>

#include "allocator/bedrock/text.h"

static void bedrock_misuse_add_address(struct bedrock_text *text, const void *address)
{
	char digits[2 * sizeof(uintptr_t)];
	size_t first = sizeof(digits);
	uintptr_t rest = (uintptr_t)address;

	do {
		digits[--first] = "0123456789abcdef"[rest & 15];
		rest >>= 4;
	} while (rest);
	bedrock_text_add(text, "0x");
	bedrock_text_add_bytes(text, digits + first, sizeof(digits) - first);
}

static void bedrock_misuse_begin(struct bedrock_text *text, const char *call, const void *address)
{
	bedrock_text_init(text, NULL, NULL);
	bedrock_text_add(text, "bedrock: ");
	bedrock_text_add(text, call);
	bedrock_text_add(text, " of ");
	bedrock_misuse_add_address(text, address);
}

static _Noreturn void bedrock_misuse_end(struct bedrock_text *text)
{
	bedrock_text_add(text, "\n");
	bedrock_text_flush(text);
	abort();
}

void bedrock_misuse_no_block(const char *call, const void *address)
{
	struct bedrock_text text;

	bedrock_misuse_begin(&text, call, address);
	bedrock_text_add(&text, ", which is no block: freed before, or never one");
	bedrock_misuse_end(&text);
}

void bedrock_misuse_free_block(const char *call, const void *address, const void *start,
			       size_t bytes)
{
	struct bedrock_text text;

	bedrock_misuse_begin(&text, call, address);
	if (address == start) {
		bedrock_text_add(&text, ", which is free already: a block of ");
	} else {
		bedrock_text_add(&text, ", which is inside of the free block ");
		bedrock_misuse_add_address(&text, start);
		bedrock_text_add(&text, " of ");
	}
	bedrock_text_add_number(&text, bytes);
	bedrock_text_add(&text, " bytes");
	bedrock_misuse_end(&text);
}

void bedrock_misuse_inside(const char *call, const void *address, const void *start, size_t bytes)
{
	struct bedrock_text text;

	bedrock_misuse_begin(&text, call, address);
	bedrock_text_add(&text, ", which is inside of the block ");
	bedrock_misuse_add_address(&text, start);
	bedrock_text_add(&text, " of ");
	bedrock_text_add_number(&text, bytes);
	bedrock_text_add(&text, " bytes");
	bedrock_misuse_end(&text);
}

void bedrock_misuse_foreign(const char *call, const void *address)
{
	struct bedrock_text text;

	bedrock_misuse_begin(&text, call, address);
	bedrock_text_add(&text, ", which is not from here");
	bedrock_misuse_end(&text);
}

void bedrock_misuse_link(const void *block, const void *slab, size_t block_bytes, uintptr_t held)
{
	struct bedrock_text text;

	bedrock_misuse_begin(&text, "broken link", block);
	bedrock_text_add(&text, ", a free block of ");
	bedrock_text_add_number(&text, block_bytes);
	bedrock_text_add(&text, " bytes in the slab ");
	bedrock_misuse_add_address(&text, slab);
	bedrock_text_add(&text, ": it held ");
	bedrock_misuse_add_address(&text, (const void *)held);
	bedrock_text_add(&text, "; written to after it was freed, or overrun");
	bedrock_misuse_end(&text);
}

void bedrock_misuse_excess(const void *slab, size_t block_bytes)
{
	struct bedrock_text text;

	bedrock_text_init(&text, NULL, NULL);
	bedrock_text_add(&text, "bedrock: the slab ");
	bedrock_misuse_add_address(&text, slab);
	bedrock_text_add(&text, " of blocks of ");
	bedrock_text_add_number(&text, block_bytes);
	bedrock_text_add(&text, " bytes gets back more than it gave: one was freed twice");
	bedrock_misuse_end(&text);
}

void bedrock_misuse_list(size_t block_bytes)
{
	struct bedrock_text text;

	bedrock_text_init(&text, NULL, NULL);
	bedrock_text_add(&text, "bedrock: a list of free blocks of ");
	bedrock_text_add_number(&text, block_bytes);
	bedrock_text_add(&text, " bytes ends early: one was written to after it was freed, or "
				"overrun");
	bedrock_misuse_end(&text);
}

void bedrock_misuse_given_twice(const void *block)
{
	struct bedrock_text text;

	bedrock_misuse_begin(&text, "second giving", block);
	bedrock_text_add(&text, ", which is in use: the heap is broken");
	bedrock_misuse_end(&text);
}
