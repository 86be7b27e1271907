/* SPDX-License-Identifier: MIT */
/*
 * Which code is listened to: every executable file mapping, except
 *
 *   the dynamic loader    its mappings are no allocations, and after an exec it runs without us
 *   this library          or re-issued calls would trap for ever
 *   sanitizer runtimes    their shadow memory is not the allocator under test
 *   our host's own text   if the target is our host: its shared state is not under test either
 *   fixed addresses       a filter outlives an exec; code linked below 4 GiB would match the next
 *                         program's code before that program has a handler
 *
 * Libraries that are opened later are not covered.
 */
#include <errno.h>

#include "stress/preload/preload.h"

#define FIXED_ADDRESSES_END (1ull << 32)

struct search {
	struct hq_filter_range *ranges;
	int count; /* or -errno */
	uint64_t loader_inode;
	bool excludes_program;
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

/* A loader that was started by hand (`ld.so program`) has no entry in the auxiliary vector. */
static bool is_foreign(const char *path)
{
	static const char *const names[] = { "libasan.",      "libtsan.",  "libubsan.",
					     "liblsan.",      "libmsan.",  "libhwasan.",
					     "libclang_rt.", "ld-linux", "ld.so" };
	const char *name = base_name(path);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (starts_with(name, names[i]))
			return true;
	return false;
}

static bool holds(const struct hq_map *map, uint64_t address)
{
	return map->start <= address && address < map->end;
}

static bool is_listened_to(const struct search *search, const struct hq_map *map)
{
	if (!map->executable || map->path[0] != '/' || map->start < FIXED_ADDRESSES_END)
		return false;
	if (map->inode == search->loader_inode || is_foreign(map->path))
		return false;
	if (search->excludes_program && holds(map, hq_preload.program_entry))
		return false;
	return !holds(map, (uint64_t)(uintptr_t)hq_ranges_find);
}

static bool visit(const struct hq_map *map, void *context)
{
	struct search *search = context;

	if (hq_preload.loader_base != 0 && map->start == hq_preload.loader_base)
		search->loader_inode = map->inode;
	if (!is_listened_to(search, map))
		return true;
	if (search->count == HQ_FILTER_RANGES) {
		search->count = -E2BIG;
		return false;
	}
	search->ranges[search->count++] =
		(struct hq_filter_range){ .start = map->start, .end = map->end };
	return true;
}

int hq_ranges_find(struct hq_filter_range ranges[HQ_FILTER_RANGES])
{
	struct search search = {
		.ranges = ranges,
		.loader_inode = UINT64_MAX,
		.excludes_program = hq_preload.wire->config.is_host,
	};
	const int ret = hq_maps_visit(visit, &search);

	return ret ? ret : search.count;
}
