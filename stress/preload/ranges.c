/* SPDX-License-Identifier: MIT */
/*
 * Which code is listened to: every executable file mapping, except
 *
 *   the dynamic loader    its mappings are no allocations, and after an exec it runs without us
 *   this library          or re-issued calls would trap for ever
 *   sanitizer runtimes    their shadow memory is not the allocator under test (guarded only: they
 *                         block all signals around the C library's thread start)
 *   our host's own text   if the target is our host: its shared state is not under test either
 *   fixed addresses       a filter outlives an exec; code linked below 4 GiB would match the next
 *                         program's code before that program has a handler
 *
 * Libraries that are opened later are not covered.
 */
#include <errno.h>

#include "stress/preload/preload.h"

#define FIXED_ADDRESSES_END (1ull << 32)

enum use { USE_NONE, USE_GUARD, USE_ALL };

struct search {
	struct hq_ranges *ranges;
	uint64_t loader_inode;
	bool excludes_program;
	int error;
};

static const char *base_name(const char *path)
{
	const char *name = path;

	for (const char *c = path; *c; c++)
		if (*c == '/')
			name = c + 1;
	return name;
}

static bool starts_with(const char *text, const char *prefix)
{
	while (*prefix)
		if (*text++ != *prefix++)
			return false;
	return true;
}

static bool is_one_of(const char *path, const char *const *prefixes)
{
	const char *name = base_name(path);

	for (; *prefixes; prefixes++)
		if (starts_with(name, *prefixes))
			return true;
	return false;
}

/* The guard's own calls of the kernel are no calls of the allocator. */
static bool is_guard(const struct hq_map *map)
{
	static const char *const names[] = { "libheapquake-guard.", NULL };

	return is_one_of(map->path, names);
}

/* A loader that was started by hand (`ld.so program`) has no entry in the auxiliary vector. */
static bool is_loader(const struct search *search, const struct hq_map *map)
{
	static const char *const names[] = { "ld-linux", "ld.so", NULL };

	return map->inode == search->loader_inode || is_one_of(map->path, names);
}

static bool is_sanitizer(const struct hq_map *map)
{
	static const char *const names[] = { "libasan.", "libclang_rt.", "libhwasan.", "liblsan.",
					     "libmsan.", "libtsan.",     "libubsan.",  NULL };

	return is_one_of(map->path, names);
}

static bool holds(const struct hq_map *map, uint64_t address)
{
	return map->start <= address && address < map->end;
}

static enum use use_of(const struct search *search, const struct hq_map *map)
{
	if (!map->executable || map->path[0] != '/' || map->start < FIXED_ADDRESSES_END)
		return USE_NONE;
	if (is_guard(map) || is_loader(search, map) ||
	    holds(map, (uint64_t)(uintptr_t)hq_ranges_find))
		return USE_NONE;
	if (search->excludes_program && holds(map, hq_preload.program_entry))
		return USE_GUARD;
	return is_sanitizer(map) ? USE_GUARD : USE_ALL;
}

static bool add(struct hq_filter_range *ranges, size_t *count, const struct hq_map *map)
{
	if (*count == HQ_FILTER_RANGES)
		return false;
	ranges[(*count)++] = (struct hq_filter_range){ .start = map->start, .end = map->end };
	return true;
}

static bool visit(const struct hq_map *map, void *context)
{
	struct search *search = context;
	struct hq_ranges *ranges = search->ranges;
	bool has_room = true;

	if (hq_preload.loader_base != 0 && map->start == hq_preload.loader_base)
		search->loader_inode = map->inode;
	switch (use_of(search, map)) {
	case USE_ALL:
		has_room = add(ranges->all, &ranges->all_count, map);
		break;
	case USE_GUARD:
		has_room = add(ranges->guard, &ranges->guard_count, map);
		break;
	case USE_NONE:
		break;
	}
	if (!has_room)
		search->error = -E2BIG;
	return has_room;
}

int hq_ranges_find(struct hq_ranges *ranges)
{
	struct search search = {
		.ranges = ranges,
		.loader_inode = UINT64_MAX,
		.excludes_program = hq_preload.wire->config.is_host,
	};
	int ret;

	ranges->all_count = ranges->guard_count = 0;
	ret = hq_maps_visit(visit, &search);
	return ret ? ret : search.error;
}
