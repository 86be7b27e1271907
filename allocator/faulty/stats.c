/* SPDX-License-Identifier: MIT */
/*
 * What the allocator says of itself, for tools and debuggers.
 */
#include <stdio.h>

#include "allocator/faulty/core.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int faulty_statistics_print(char *text, size_t size);

EXPORT int faulty_statistics_print(char *text, size_t size)
{
	struct faulty_statistics *const s = &faulty_heap.statistics;

	return snprintf(text, size,
			"mapped %llu, dirty %llu, purged %llu bytes; %llu purges, refused: %llu "
			"purges, %llu maps, %llu unmaps\n",
			(unsigned long long)faulty_load(&s->mapped_bytes),
			(unsigned long long)faulty_load(&s->dirty_bytes),
			(unsigned long long)faulty_load(&s->purged_bytes),
			(unsigned long long)faulty_load(&s->purges),
			(unsigned long long)faulty_load(&s->refused_purges),
			(unsigned long long)faulty_load(&s->refused_maps),
			(unsigned long long)faulty_load(&s->refused_unmaps));
}
