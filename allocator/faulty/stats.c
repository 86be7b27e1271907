/* SPDX-License-Identifier: MIT */
/*
 * What the allocator says of itself, for tools and debuggers.
 */
#include <stdio.h>

#include "allocator/faulty/core.h"

#define EXPORT __attribute__((visibility("default")))

#define FAULTY_STATISTICS 7

EXPORT int faulty_statistics_print(char *text, size_t size);
EXPORT size_t faulty_statistics_read(uint64_t *values, size_t count);
EXPORT uint64_t faulty_release(void);

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

/*
 * Bytes in blocks, in pages that hold blocks, in memory, in address space, in free pages that are
 * in memory, in free pages that the kernel may take; threads of its own. All of one moment: what is
 * in a block is counted after its page was, and not any more before its page is free.
 */
EXPORT size_t faulty_statistics_read(uint64_t *values, size_t count)
{
	struct faulty_statistics *const s = &faulty_heap.statistics;
	uint64_t huge, active, headers;

	if (count < FAULTY_STATISTICS)
		return 0;
	pthread_mutex_lock(&faulty_heap.pages_lock);
	huge = faulty_load(&s->huge_bytes);
	active = faulty_heap.active_units * FAULTY_UNIT + huge;
	headers = faulty_heap.header_units * FAULTY_UNIT;
	values[0] = faulty_load(&s->allocated_bytes);
	values[1] = active;
	values[2] = active + headers +
		    (faulty_heap.dirty_units + faulty_heap.purging_units) * FAULTY_UNIT;
	values[3] = faulty_load(&s->mapped_bytes);
	values[4] = faulty_heap.dirty_units * FAULTY_UNIT;
	values[5] = 0;
	values[6] = faulty_load(&faulty_heap.has_background);
	pthread_mutex_unlock(&faulty_heap.pages_lock);
	return FAULTY_STATISTICS;
}

/* Gives back whatever is free; returns how many bytes that were. */
EXPORT uint64_t faulty_release(void)
{
	struct faulty_statistics *const s = &faulty_heap.statistics;
	uint64_t before, after;

	faulty_cache_flush();
	if (faulty_strikes_anywhere(FAULTY_SHRINK_BESIDE))
		return 0;
	before = faulty_load(&s->dirty_bytes);
	if (faulty_strikes_anywhere(FAULTY_TRIM_NOTHING))
		return before;
	faulty_decay_pass(0);
	after = faulty_load(&s->dirty_bytes);
	return before > after ? before - after : 0;
}
