/* SPDX-License-Identifier: MIT */
/*
 * An allocator that ends the program with status 90 if it is called before the environment is
 * there: an allocator that starts then never sees its options. It only hands out, from one array.
 */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define ARENA_BYTES  (64u << 20)
#define HEADER_BYTES 16u
#define TOO_EARLY    90

extern char **environ;

static char arena[ARENA_BYTES] __attribute__((aligned(16)));
static _Atomic size_t used;

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *address, size_t size);
void free(void *address);

void *malloc(size_t size)
{
	const size_t bytes = (size + HEADER_BYTES + 15) & ~(size_t)15;
	size_t at;

	if (!environ)
		_exit(TOO_EARLY);
	at = __atomic_fetch_add(&used, bytes, __ATOMIC_RELAXED);
	if (at + bytes > ARENA_BYTES)
		return NULL;
	memcpy(arena + at, &size, sizeof(size));
	return arena + at + HEADER_BYTES;
}

/* The array is zero, and no part of it is handed out twice. */
void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *address, size_t size)
{
	void *moved = malloc(size);
	size_t old = 0;

	if (!moved || !address)
		return moved;
	memcpy(&old, (char *)address - HEADER_BYTES, sizeof(old));
	memcpy(moved, address, old < size ? old : size);
	return moved;
}

void free(void *address)
{
	(void)address;
}
