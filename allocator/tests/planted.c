/* SPDX-License-Identifier: MIT */
/*
 * A program with planted errors, for the tools that are to find them in bedrock's blocks.
 *
 *	planted all|clean|NAME BYTES...
 *
 * One function per error, so that its name in the stack of a report says which was found; they
 * are named in the table at the end. Built with PLANTED_PREFIXED it calls bedrock by its own names,
 * otherwise by those of the C library. What must be reported, and with which block, is in
 * ci/planted.py.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PLANTED_PREFIXED
#include "allocator/bedrock/bedrock.h"
#define MALLOC       bedrock_malloc
#define CALLOC       bedrock_calloc
#define REALLOC      bedrock_realloc
#define REALLOCARRAY bedrock_reallocarray
#define ALIGNED      bedrock_aligned_alloc
#define PVALLOC      bedrock_pvalloc
#define FREE         bedrock_free
#else
#include <malloc.h>
#define MALLOC       malloc
#define CALLOC       calloc
#define REALLOC      realloc
#define REALLOCARRAY reallocarray
#define ALIGNED      aligned_alloc
#define PVALLOC      pvalloc
#define FREE         free
#endif

#define PLANT static __attribute__((noinline)) void

static volatile int sink;

/* Sizes come from the command line and pointers through here, so that the compiler knows nothing.
 */
static __attribute__((noinline)) char *opaque(void *block)
{
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

PLANT plant_use_after_free(size_t bytes)
{
	char *block = opaque(MALLOC(bytes));

	memset(block, 1, bytes);
	FREE(block);
	/* Others come and go; the freed block must not be theirs yet. */
	for (size_t i = 0; i < 20 && i * bytes < 16000000; i++)
		FREE(opaque(MALLOC(bytes)));
	sink = opaque(block)[bytes / 2];
}

PLANT plant_overflow(size_t bytes)
{
	char *block = opaque(MALLOC(bytes));

	opaque(block)[bytes] = 1;
	FREE(block);
}

PLANT plant_overflow_aligned(size_t bytes)
{
	char *block = opaque(ALIGNED(64, bytes));

	opaque(block)[bytes] = 1;
	FREE(block);
}

PLANT plant_uninitialised(size_t bytes)
{
	char *block = opaque(MALLOC(bytes));

	if (block[bytes / 2] == 1)
		sink = 1;
	FREE(block);
}

PLANT plant_double_free(size_t bytes)
{
	char *block = opaque(MALLOC(bytes));

	FREE(block);
	FREE(opaque(block));
}

PLANT plant_free_inside(size_t bytes)
{
	char *block = opaque(MALLOC(bytes));

	FREE(opaque(block + 16));
	FREE(block);
}

PLANT plant_use_after_realloc(size_t bytes)
{
	char *block = opaque(MALLOC(bytes));
	char *moved = opaque(REALLOC(block, bytes + 1));

	opaque(block)[0] = 1;
	FREE(moved);
}

PLANT plant_realloc_of_freed(size_t bytes)
{
	char *block = opaque(MALLOC(bytes));

	FREE(block);
	FREE(REALLOC(opaque(block), bytes * 2));
}

PLANT plant_leak(size_t bytes)
{
	memset(opaque(MALLOC(bytes)), 1, bytes);
}

/* Two families of functions that do not belong together. */
PLANT plant_mismatch(size_t bytes)
{
#ifdef PLANTED_PREFIXED
	free(opaque(MALLOC(bytes)));
#else
	(void)bytes;
#endif
}

static char *volatile kept[8];
static size_t kept_count;

static void check(int is_true)
{
	if (!is_true)
		abort();
}

/* Every call, and nothing wrong with any of them. What is kept to the end is no leak. */
PLANT plant_nothing(size_t bytes)
{
	char *zero = opaque(CALLOC(3, bytes));
	char *page = opaque(PVALLOC(bytes));
	char *line = opaque(ALIGNED(64, bytes));

	for (size_t i = 0; i < 3 * bytes; i++)
		check(zero[i] == 0);
	check((uintptr_t)page % 4096 == 0 && (uintptr_t)line % 64 == 0);
	memset(page, 1, bytes);
	memset(line, 2, bytes);
	zero = opaque(REALLOC(zero, 5 * bytes));
	check(zero[0] == 0 && zero[3 * bytes - 1] == 0);
	zero = opaque(REALLOCARRAY(zero, 7, bytes));
	zero = opaque(REALLOC(zero, bytes / 2));
	check(zero[bytes / 2 - 1] == 0);
	FREE(opaque(REALLOC(NULL, bytes)));
	FREE(opaque(MALLOC(0)));
	FREE(zero);
	FREE(page);
	FREE(line);
	FREE(NULL);
	for (int i = 0; i < 1000; i++)
		FREE(memset(opaque(MALLOC(bytes)), 3, bytes));
	char **last = (char **)(void *)opaque(MALLOC(2 * sizeof(char *)));

	kept[kept_count++ % 8] = (char *)last;
	last[0] = opaque(MALLOC(bytes));
	/* Of the C library's malloc, and known from here alone. */
	last[1] = strdup("known");
}

static const struct {
	const char *name;
	void (*plant)(size_t bytes);
} plants[] = {
	{ "clean", plant_nothing },
	{ "double_free", plant_double_free },
	{ "free_inside", plant_free_inside },
	{ "leak", plant_leak },
	{ "mismatch", plant_mismatch },
	{ "overflow", plant_overflow },
	{ "overflow_aligned", plant_overflow_aligned },
	{ "realloc_of_freed", plant_realloc_of_freed },
	{ "uninitialised", plant_uninitialised },
	{ "use_after_free", plant_use_after_free },
	{ "use_after_realloc", plant_use_after_realloc },
};

static int plant(const char *name, size_t bytes)
{
	int planted = 0;

	for (size_t i = 0; i < sizeof(plants) / sizeof(plants[0]); i++) {
		if (strcmp(name, "all") != 0 && strcmp(name, plants[i].name) != 0)
			continue;
		plants[i].plant(bytes);
		planted++;
	}
	return planted;
}

int main(int argc, char **argv)
{
	int planted = 0;

	for (int i = 2; i < argc; i++)
		planted += plant(argv[1], strtoul(argv[i], NULL, 10));
	return planted ? 0 : 2;
}
