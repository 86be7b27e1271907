/* SPDX-License-Identifier: MIT */
/*
 * Whose malloc serves this process: the file that holds the function in the end, and what that
 * allocator says of its version. Only functions that return constants are asked: at this time no
 * allocator has been initialised, and none must be by us.
 */
#include <dlfcn.h>

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

/* "2.1.2" from 212: mimalloc's own encoding up to version 9. */
static void print_mimalloc(int version, char *text)
{
	text[0] = (char)('0' + version / 100 % 10);
	text[1] = '.';
	text[2] = (char)('0' + version / 10 % 10);
	text[3] = '.';
	text[4] = (char)('0' + version % 10);
	text[5] = '\0';
}

/* Those that only some other allocator answers come before glibc, which is always there. */
static void report_version(char *text, size_t size, void *provider)
{
	Dl_info malloc_info, version_info;
	void *function;

	if (!dladdr(provider, &malloc_info))
		return;
	if ((function = dlsym(RTLD_DEFAULT, "mi_version")) != NULL)
		print_mimalloc(((int (*)(void))function)(), text);
	else if ((function = dlsym(RTLD_DEFAULT, "tc_version")) != NULL)
		copy_text(
			text, size,
			((const char *(*)(int *, int *, const char **))function)(NULL, NULL, NULL));
	else if ((function = dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) != NULL)
		copy_text(text, size, ((const char *(*)(void))function)());
	/* Whoever answered must be the one who serves malloc. */
	if (!function || !dladdr(function, &version_info) ||
	    version_info.dli_fbase != malloc_info.dli_fbase)
		text[0] = '\0';
}

void hq_provider_report(struct hq_wire_status *status)
{
	void *provider = dlsym(RTLD_DEFAULT, "malloc");
	struct search search = { .address = (uint64_t)(uintptr_t)provider, .status = status };

	if (!provider)
		return;
	hq_maps_visit(visit, &search);
	report_version(status->version, sizeof(status->version), provider);
}
