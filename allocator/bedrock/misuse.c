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

void bedrock_misuse_given_twice(const void *block)
{
	struct bedrock_text text;

	bedrock_misuse_begin(&text, "second giving", block);
	bedrock_text_add(&text, ", which is in use: the heap is broken");
	bedrock_misuse_end(&text);
}
