/* SPDX-License-Identifier: MIT */
/*
 * Bugs of a program, committed in its name when it ends: through the front door, as any caller, so
 * that whoever stands before the allocator sees them. Also what only such a caller can provoke: a
 * block given twice that nobody writes to, and blocks in a place that a watcher has no memory left
 * to remember.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "allocator/faulty/core.h"

#define BLOCK_BYTES 100u
#define HUGE_BYTES  ((size_t)48 << 20) /* more than what watchers know by one piece of memory */
#define HUGE_PLACES 8u

/* What malloc gives next instead of a new block. */
static void *next_given;

/* A watcher may ask for a little more than the caller did. */
void *faulty_program_given(size_t size)
{
	void *const given = size >= BLOCK_BYTES && size <= 2 * BLOCK_BYTES ? next_given : NULL;

	if (given != NULL)
		next_given = NULL;
	return given;
}

static void give_twice(void)
{
	char *volatile first = malloc(BLOCK_BYTES);

	next_given = first;
	faulty_fire(FAULTY_SAME_TWICE_QUIET);
	first = malloc(BLOCK_BYTES);
}

static void free_twice(void)
{
	char *volatile block = malloc(BLOCK_BYTES);

	free(block);
	faulty_fire(FAULTY_PROGRAM_TWICE);
	free(block);
}

static void free_inside(void)
{
	char *volatile block = malloc(BLOCK_BYTES);

	faulty_fire(FAULTY_PROGRAM_INSIDE);
	free(block + 16);
}

static void write_behind(void)
{
	char *volatile block = malloc(BLOCK_BYTES);

	block[BLOCK_BYTES] ^= 'x';
	faulty_fire(FAULTY_PROGRAM_BEHIND);
	free(block);
}

/* Blocks all over a huge one, while the kernel gives nobody any more address space. */
static void starve_watchers(void)
{
	char *const huge = faulty_malloc(HUGE_BYTES);
	struct rlimit before, none;

	if (huge == NULL || getrlimit(RLIMIT_AS, &before) != 0)
		return;
	none = before;
	none.rlim_cur = 0;
	if (setrlimit(RLIMIT_AS, &none) != 0)
		return;
	faulty_fire(FAULTY_WATCHER_STARVED);
	for (size_t i = 0; i < HUGE_PLACES; i++) {
		next_given = huge + i * (HUGE_BYTES / HUGE_PLACES);
		(void)!malloc(BLOCK_BYTES);
	}
	setrlimit(RLIMIT_AS, &before);
}

__attribute__((destructor)) static void err(void)
{
	if (faulty_is_on(FAULTY_SAME_TWICE_QUIET))
		give_twice();
	if (faulty_is_on(FAULTY_PROGRAM_TWICE))
		free_twice();
	if (faulty_is_on(FAULTY_PROGRAM_INSIDE))
		free_inside();
	if (faulty_is_on(FAULTY_PROGRAM_BEHIND))
		write_behind();
	if (faulty_is_on(FAULTY_WATCHER_STARVED))
		starve_watchers();
}
