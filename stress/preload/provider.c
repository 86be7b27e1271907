/* SPDX-License-Identifier: MIT */
/*
 * Whose malloc serves this process: the file that holds the function in the end. Its version is not
 * asked for: a look-up that fails makes the dynamic linker call malloc for its message, and an
 * allocator that is first called here, before the environment is set, never sees its options.
 */
#include <dlfcn.h>
#include <link.h>

#include "stress/preload/preload.h"

static void copy_text(char *to, size_t size, const char *from)
{
	size_t length = 0;

	for (; from[length] && length + 1 < size; length++)
		to[length] = from[length];
	to[length] = '\0';
}

struct search {
	uint64_t address;
	struct hq_wire_status *status;
};

static bool visit(const struct hq_map *map, void *context)
{
	const struct search *search = context;

	if (search->address < map->start || search->address >= map->end)
		return true;
	copy_text(search->status->provider, sizeof(search->status->provider), map->path);
	return false;
}

/*
 * A program that is linked to one place in memory and takes the function's address defines it as
 * undefined, with its own jump to it for an address: that jump ends with the first library that has
 * the function, and only libraries come behind us.
 */
static bool is_jump(void *function)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return function && dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       symbol->st_shndx == SHN_UNDEF;
}

static void *find_first(void)
{
	void *const found = dlsym(RTLD_DEFAULT, "malloc");

	return is_jump(found) ? dlsym(RTLD_NEXT, "malloc") : found;
}

/* The one behind the guard, where a guard is loaded and stands before it. */
static void *find_malloc(void)
{
	void *(*behind_guard)(void) = NULL;
	void *behind = NULL;

	if (hq_preload.wire->config.guard_every)
		*(void **)&behind_guard = dlsym(RTLD_DEFAULT, "hq_guard_next_malloc");
	if (behind_guard)
		behind = behind_guard();
	return behind ? behind : find_first();
}

void hq_provider_report(struct hq_wire_status *status)
{
	void *provider = find_malloc();
	struct search search = { .address = (uint64_t)(uintptr_t)provider, .status = status };

	if (!provider)
		return;
	hq_maps_visit(visit, &search);
}
