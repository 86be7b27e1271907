/* SPDX-License-Identifier: MIT */
/*
 * Which allocators there are, where their libraries lie, and which version they are.
 *
 * A library is found by using it: this very program is started again with the library preloaded,
 * and says which file provides malloc. That covers whatever the dynamic linker covers (its cache,
 * LD_LIBRARY_PATH), and a library that cannot be preloaded, or provides no malloc, is found out
 * before a run depends on it. dlopen would not do: most allocators need more static thread-local
 * storage than a running process has left.
 */
#ifndef HQ_STRESS_PLAN_ALLOCATOR_H
#define HQ_STRESS_PLAN_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "injectors/error.h"

/* The word that makes this program answer a probe: see hq_allocator_answer_probe. */
#define HQ_ALLOCATOR_PROBE "probe-allocator"

/* Whatever a program brings along; nothing is preloaded. */
#define HQ_ALLOCATOR_OWN "own"

struct hq_allocator {
	char asked[256];   /* the name, or the path */
	char family[32];   /* name of the allocator that answered, "" for an unknown one */
	char library[256]; /* to preload; "" for glibc's own */
	char version[64];  /* as it says itself, from the first digit on; "" if it does not */
	char missing[200]; /* not "": it is not installed, and how to install it */
};

/* What was found so far, so that each library is probed once; begins zeroed but for `program`. */
#define HQ_ALLOCATORS_MAX 16
struct hq_allocators {
	const char *program; /* path of heapquake, beside which libbedrock.so lies */
	struct hq_allocator list[HQ_ALLOCATORS_MAX];
	size_t count;
};

/* Names of all supported ones, sorted, NULL-terminated; and how each is described. */
const char *const *hq_allocator_names(void);
bool hq_allocator_is_known(const char *name);
const char *hq_allocator_help(const char *name);

/* A known name, "all", or a path (anything with a '/'). 0 or -EINVAL with a suggestion. */
int hq_allocator_check_name(const char *name, struct hq_error *error);

/*
 * Finds it. 0 (also for one that is not installed: see `missing`), or -EINVAL with a sentence for
 * an unknown name or a library that does not do.
 */
int hq_allocator_locate(struct hq_allocators *allocators, const char *asked,
			struct hq_allocator *allocator, struct hq_error *error);

/* True if `version` begins the allocator's version, or that in its library's file name. */
bool hq_allocator_has_version(const struct hq_allocator *allocator, const char *version);

/* In the process started for a probe: prints who provides malloc and free, and the version. */
int hq_allocator_answer_probe(void);

#endif
