/* SPDX-License-Identifier: MIT */
/*
 * Huge blocks: a mapping each. What munmap refuses to take is emptied, remembered, and tried again
 * when the next one is freed.
 */
#include "allocator/faulty/core.h"

#define HEADER FAULTY_UNIT

/* What comes, or what goes as a negative number. */
static void count_huge(uint64_t bytes)
{
	faulty_add(&faulty_heap.statistics.huge_bytes, bytes);
	faulty_add(&faulty_heap.statistics.allocated_bytes, bytes);
}

static void *take(size_t usable, size_t alignment, bool is_nested)
{
	const size_t offset = alignment > HEADER ? alignment : HEADER;
	struct faulty_region *const region = faulty_region_map(offset + usable, FAULTY_KIND_HUGE);

	if (region == NULL)
		return NULL;
	region->block = (char *)region + offset;
	region->usable = usable;
	region->is_nested = is_nested;
	count_huge(usable);
	return region->block;
}

static size_t round_up(size_t size)
{
	return (size + FAULTY_ALIGNMENT - 1) & -FAULTY_ALIGNMENT;
}

void *faulty_huge_take(size_t size, size_t alignment)
{
	const size_t usable = round_up(size);
	void *block;

	if (size > PTRDIFF_MAX - FAULTY_REGION * 2 || !faulty_limit_charge_huge(usable))
		return NULL;
	block = take(usable, alignment, false);
	if (block == NULL)
		faulty_limit_discharge_huge(usable);
	return block;
}

void *faulty_huge_take_nested(size_t size, size_t alignment)
{
	if (size > PTRDIFF_MAX - FAULTY_REGION * 2)
		return NULL;
	return take(round_up(size), alignment, true);
}

static struct faulty_region *swap_refused(size_t index, struct faulty_region *region)
{
	struct faulty_region *before;

	pthread_mutex_lock(&faulty_heap.huge_lock);
	before = faulty_heap.refused[index];
	faulty_heap.refused[index] = region;
	pthread_mutex_unlock(&faulty_heap.huge_lock);
	return before;
}

static void remember(struct faulty_region *region)
{
	faulty_os_purge(region->block, region->usable);
	for (size_t i = 0; i < FAULTY_HUGE_REFUSED && region != NULL; i++)
		region = swap_refused(i, region);
	/* What finds no room stays mapped, empty but for its header. */
}

static void retry(void)
{
	for (size_t i = 0; i < FAULTY_HUGE_REFUSED; i++) {
		struct faulty_region *const region = swap_refused(i, NULL);

		if (region != NULL && faulty_os_unmap(region->map, region->map_bytes) != 0) {
			swap_refused(i, region);
			return;
		}
	}
}

static void give(struct faulty_region *region)
{
	count_huge(-(uint64_t)region->usable);
	if (faulty_strikes(FAULTY_SPACE_LEAK)) {
		faulty_os_purge(region->block, region->usable);
		return;
	}
	retry();
	if (faulty_os_unmap(region->map, region->map_bytes) != 0 &&
	    !faulty_strikes(FAULTY_LOST_UNMAP))
		remember(region);
}

void faulty_huge_give(struct faulty_region *region)
{
	const size_t charged = region->is_nested ? 0 : region->usable;

	give(region);
	faulty_limit_discharge_huge(charged);
}
