/* SPDX-License-Identifier: MIT */
/*
 * Who provides malloc in this process, and which version of it. A run that meant to test one
 * allocator and tested another would be worse than none, so the host looks and the controller
 * compares. All of this happens before the host is ready; dlsym may allocate.
 */
#include "stress/host/allocator.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/host/arena.h"

/* Our preloaded library may stand in front of the allocator without being one. */
#define IN_FRONT "libheapquake-"

static const void *base_of(const void *symbol)
{
	Dl_info info;

	return symbol != NULL && dladdr(symbol, &info) != 0 ? info.dli_fbase : NULL;
}

static bool stands_in_front(const char *path)
{
	const char *const slash = strrchr(path, '/');

	return strncmp(slash != NULL ? slash + 1 : path, IN_FRONT, strlen(IN_FRONT)) == 0;
}

/* malloc of the object at `path`, or NULL if it has none of its own. */
static void *own_malloc(const char *path, Dl_info *info)
{
	void *const object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	void *symbol;

	if (object == NULL)
		return NULL;
	symbol = dlsym(object, "malloc");
	dlclose(object);
	if (symbol == NULL || dladdr(symbol, info) == 0 || strcmp(info->dli_fname, path) != 0)
		return NULL;
	return symbol;
}

/* The malloc that really allocates: the first in search order behind our own library. */
static void *find_malloc(Dl_info *info)
{
	struct link_map *map = NULL;
	void *const self = dlopen(NULL, RTLD_LAZY);
	void *symbol = NULL;

	if (dladdr((void *)malloc, info) != 0 && !stands_in_front(info->dli_fname))
		return (void *)malloc;
	if (self == NULL || dlinfo(self, RTLD_DI_LINKMAP, &map) != 0)
		return NULL;
	for (; map != NULL && symbol == NULL; map = map->l_next) {
		if (map->l_name[0] != '\0' && !stands_in_front(map->l_name))
			symbol = own_malloc(map->l_name, info);
	}
	return symbol;
}

void *hq_allocator_symbol(const void *base, const char *name)
{
	void *const symbol = dlsym(RTLD_DEFAULT, name);

	return base_of(symbol) == base ? symbol : NULL;
}

static bool version_jemalloc(const void *base, char *version, size_t size)
{
	int (*const mallctl)(const char *, void *, size_t *, void *, size_t) =
		(int (*)(const char *, void *, size_t *, void *, size_t))hq_allocator_symbol(
			base, "mallctl");
	const char *text = NULL;
	size_t length = sizeof(text);

	if (mallctl == NULL || mallctl("version", &text, &length, NULL, 0) != 0 || text == NULL)
		return false;
	snprintf(version, size, "jemalloc %s", text);
	return true;
}

static bool version_tcmalloc(const void *base, char *version, size_t size)
{
	const char *(*const tc_version)(int *, int *, const char **) =
		(const char *(*)(int *, int *, const char **))hq_allocator_symbol(base,
										  "tc_version");

	if (tc_version == NULL)
		return false;
	snprintf(version, size, "%s", tc_version(NULL, NULL, NULL));
	return true;
}

/* Three digits once (209 is 2.0.9), two for each of the lower parts later (30403 is 3.4.3). */
static bool version_mimalloc(const void *base, char *version, size_t size)
{
	int (*const mi_version)(void) = (int (*)(void))hq_allocator_symbol(base, "mi_version");

	if (mi_version == NULL)
		return false;
	const int number = mi_version();
	const int radix = number < 1000 ? 10 : 100;

	snprintf(version, size, "mimalloc %d.%d.%d", number / (radix * radix),
		 number / radix % radix, number % radix);
	return true;
}

static bool version_bedrock(const void *base, char *version, size_t size)
{
	const char *(*const bedrock_version)(void) =
		(const char *(*)(void))hq_allocator_symbol(base, "bedrock_version");

	if (bedrock_version == NULL)
		return false;
	snprintf(version, size, "bedrock %s", bedrock_version());
	return true;
}

static bool version_glibc(const void *base, char *version, size_t size)
{
	if (base_of((void *)gnu_get_libc_version) != base)
		return false;
	snprintf(version, size, "glibc %s", gnu_get_libc_version());
	return true;
}

static bool (*const versions[])(const void *, char *, size_t) = {
	version_bedrock, version_glibc, version_jemalloc, version_mimalloc, version_tcmalloc,
};

static void find_version(const void *base, char *version, size_t size)
{
	version[0] = '\0';
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (versions[i](base, version, size))
			return;
	}
}

/* A block of one allocator must not be shown to another's function. */
static bool belongs(const void *function, const void *base)
{
	const void *const of = base_of(function);

	return of == base || of == base_of((void *)malloc);
}

void hq_allocator_find(struct hq_allocator *allocator, char *provider, size_t provider_size,
		       char *version, size_t version_size)
{
	Dl_info info = { .dli_fname = "" };
	const void *const base = base_of(find_malloc(&info));

	*allocator = (struct hq_allocator){
		.malloc = malloc, .calloc = calloc, .realloc = realloc, .free = free
	};
	if (belongs((void *)posix_memalign, base))
		allocator->posix_memalign = posix_memalign;
	if (belongs((void *)aligned_alloc, base))
		allocator->aligned_alloc = aligned_alloc;
	if (belongs((void *)reallocarray, base))
		allocator->reallocarray = reallocarray;
	if (belongs((void *)malloc_usable_size, base))
		allocator->usable_size = malloc_usable_size;
	snprintf(provider, provider_size, "%s", info.dli_fname);
	hq_arena_find(allocator, base);
	find_version(base, version, version_size);
}

bool hq_allocator_functions(const char *const *names, void **functions)
{
	Dl_info info;
	const void *const base = base_of(find_malloc(&info));

	for (size_t i = 0; names[i] != NULL; i++) {
		functions[i] = hq_allocator_symbol(base, names[i]);
		if (functions[i] == NULL)
			return false;
	}
	return true;
}
