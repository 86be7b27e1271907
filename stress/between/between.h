/* SPDX-License-Identifier: MIT */
/*
 * What libraries have in common that stand between a program and its allocator (guard, recorder):
 * finding the allocator behind, memory for calls that come before it is found, and the value of a
 * variable before the C library has an environment.
 *
 * Nothing here allocates or locks, and all of it works at the first call of the malloc family,
 * which comes from the dynamic loader.
 */
#ifndef HQ_STRESS_BETWEEN_BETWEEN_H
#define HQ_STRESS_BETWEEN_BETWEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HQ_BETWEEN_EXPORT              __attribute__((visibility("default")))
#define HQ_BETWEEN_LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define HQ_BETWEEN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* ---- next.c ---- */

/* The allocator's functions. */
struct hq_next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*usable_size)(void *);
	bool usable_is_its_own; /* malloc and malloc_usable_size come from one object */
};

/* Looking them up may itself allocate. */
void hq_next_find(struct hq_next *next);

/*
 * Do the program's own calls of malloc and free come here? A program with a malloc of its own calls
 * that one, and would be seen by halves.
 */
bool hq_next_stands_first(void);

/* ---- arena.c: blocks that are never given back, for calls that come too early ---- */

#define HQ_BETWEEN_ARENA_BYTES 65536u

extern char hq_between_arena[HQ_BETWEEN_ARENA_BYTES];

void *hq_between_arena_alloc(size_t alignment, size_t size);
/* How many bytes of the arena follow the address; at least the block's size. */
size_t hq_between_arena_room(const void *address);

static inline bool hq_between_arena_owns(const void *address)
{
	return (uintptr_t)address - (uintptr_t)hq_between_arena < HQ_BETWEEN_ARENA_BYTES;
}

/* ---- variable.c ---- */

/* The value of a variable, from the kernel's copy of the environment; false: there is none. */
bool hq_between_variable(const char *name, char *value, size_t size);

#endif
