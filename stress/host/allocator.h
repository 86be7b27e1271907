/* SPDX-License-Identifier: MIT */
/*
 * The allocator under test, as a table of functions. Every call goes through this table and its
 * members are volatile, so that the compiler cannot know that it calls calloc, and cannot remove a
 * test of what calloc returned. Unit tests put functions with planted bugs into it.
 */
#ifndef HQ_STRESS_HOST_ALLOCATOR_H
#define HQ_STRESS_HOST_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hq_allocator {
	void *(*volatile malloc)(size_t size);
	void *(*volatile calloc)(size_t count, size_t size);
	void *(*volatile realloc)(void *address, size_t size);
	void (*volatile free)(void *address);
	/* These are NULL when the object that provides malloc does not provide them. */
	int (*volatile posix_memalign)(void **address, size_t alignment, size_t size);
	void *(*volatile aligned_alloc)(size_t alignment, size_t size);
	void *(*volatile reallocarray)(void *address, size_t count, size_t size);
	size_t (*volatile usable_size)(void *address);
	/* The arena that serves the calling thread, and their number; NULL: it cannot be asked. */
	bool (*arena)(const struct hq_allocator *allocator, uint32_t *index, uint32_t *count);
	void *arena_source;
};

/*
 * Fills in the allocator of this process, the path of the object it comes from, and what it says of
 * its version ("" if it says nothing).
 */
void hq_allocator_find(struct hq_allocator *allocator, char *provider, size_t provider_size,
		       char *version, size_t version_size);

/* The function of that name in the object that is loaded at `base`, or NULL. */
void *hq_allocator_symbol(const void *base, const char *name);

/*
 * Fills in the functions of those names, NULL-terminated, that the object that provides malloc has.
 * False, and nothing is to be used, unless it has them all. May allocate.
 */
bool hq_allocator_functions(const char *const *names, void **functions);

#endif
