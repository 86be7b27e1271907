/* SPDX-License-Identifier: MIT */
/*
 * Runs of units: first fit, split on the way out, merged with both neighbours on the way in.
 * Everything here is under the pages lock, except where the address alone says enough.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "allocator/faulty/core.h"

#define HOLD_NS 200000

struct faulty_region *faulty_region_of(const void *address)
{
	return (struct faulty_region *)((uintptr_t)address & -(uintptr_t)FAULTY_REGION);
}

struct faulty_region *faulty_region_of_run(const struct faulty_run *run)
{
	return faulty_region_of(run);
}

struct faulty_run *faulty_run_of(struct faulty_region *region, const void *address)
{
	const size_t unit = ((uintptr_t)address - (uintptr_t)region) / FAULTY_UNIT;

	return &region->runs[region->runs[unit].first];
}

static size_t index_of(const struct faulty_run *run)
{
	return (size_t)(run - faulty_region_of_run(run)->runs);
}

char *faulty_run_start(const struct faulty_run *run)
{
	return (char *)faulty_region_of_run(run) + index_of(run) * FAULTY_UNIT;
}

/* The address space on both sides stays reserved: it costs nothing, and trimming costs mappings. */
struct faulty_region *faulty_region_map(size_t bytes, enum faulty_kind kind)
{
	char *const map = faulty_os_map(bytes + FAULTY_REGION);
	struct faulty_region *region;

	if (map == NULL)
		return NULL;
	region = faulty_region_of(map + FAULTY_REGION - 1);
	region->kind = kind;
	region->map = map;
	region->map_bytes = bytes + FAULTY_REGION;
	return region;
}

/* Tells the units of a run where it begins. The ends suffice for free ones: only they are met. */
static void set_units(struct faulty_run *run)
{
	struct faulty_region *const region = faulty_region_of_run(run);
	const size_t first = index_of(run);

	for (size_t i = 0; i < run->length; i++)
		region->runs[first + i].first = (uint16_t)first;
}

static void count_dirty(const struct faulty_run *run, bool comes)
{
	faulty_heap.dirty_units += comes ? run->dirty : -(size_t)run->dirty;
	faulty_store(&faulty_heap.statistics.dirty_bytes, faulty_heap.dirty_units * FAULTY_UNIT);
}

static struct faulty_region *add_region(void)
{
	struct faulty_region *const region = faulty_region_map(FAULTY_REGION, FAULTY_KIND_RUNS);
	const size_t header = (sizeof(*region) + FAULTY_UNIT - 1) / FAULTY_UNIT;

	if (region == NULL)
		return NULL;
	region->runs[0] = (struct faulty_run){ .length = (uint16_t)header, .use = FAULTY_BUSY };
	set_units(&region->runs[0]);
	region->runs[header] = (struct faulty_run){ .first = (uint16_t)header,
						    .length = (uint16_t)(FAULTY_UNITS - header),
						    .zero = true };
	set_units(&region->runs[header]);
	region->free_units = (uint32_t)(FAULTY_UNITS - header);
	faulty_heap.header_units += header;
	region->next = faulty_heap.regions;
	faulty_heap.regions = region;
	return region;
}

static struct faulty_run *find_in(struct faulty_region *region, size_t units)
{
	for (size_t i = 0; i < FAULTY_UNITS; i += region->runs[i].length) {
		if (region->runs[i].use == FAULTY_FREE && region->runs[i].length >= units)
			return &region->runs[i];
	}
	return NULL;
}

static struct faulty_run *find(size_t units)
{
	struct faulty_region *region;

	for (region = faulty_heap.regions; region != NULL; region = region->next) {
		struct faulty_run *const run =
			region->free_units >= units ? find_in(region, units) : NULL;

		if (run != NULL)
			return run;
	}
	region = add_region();
	return region != NULL ? find_in(region, units) : NULL;
}

/* The rest becomes a free run of its own, as old as the whole was, and with all that was dirty. */
static void split(struct faulty_run *run, size_t units)
{
	struct faulty_run *const rest = run + units;

	if (run->length == units)
		return;
	*rest = *run;
	rest->length = (uint16_t)(run->length - units);
	run->length = (uint16_t)units;
	if (rest->dirty > rest->length)
		rest->dirty = rest->length;
	set_units(rest);
	count_dirty(rest, true);
}

static void take_out(struct faulty_run *run, size_t units, enum faulty_use use)
{
	count_dirty(run, false);
	split(run, units);
	run->use = (uint8_t)use;
	run->dirty = 0;
	run->owner = faulty_thread_number();
	faulty_heap.active_units += units;
	set_units(run);
	faulty_region_of_run(run)->free_units -= (uint32_t)units;
}

/* Time for a fork to come while the lock is held; rare in life, and likely here. */
static void hold_for_a_fork(void)
{
	const struct timespec hold = { .tv_nsec = HOLD_NS };

	if (faulty_is_on(FAULTY_FORK_UNPREPARED))
		nanosleep(&hold, NULL);
}

/* A dirty run is charged already. */
static struct faulty_run *find_allowed(size_t units)
{
	struct faulty_run *const run = find(units);

	if (run == NULL || faulty_limit_allows(run->dirty ? 0 : units * FAULTY_UNIT))
		return run;
	return NULL;
}

struct faulty_run *faulty_pages_take(size_t units, enum faulty_use use)
{
	struct faulty_run *run;

	pthread_mutex_lock(&faulty_heap.pages_lock);
	hold_for_a_fork();
	run = find_allowed(units);
	if (run == NULL && faulty_heap.limit_bytes != 0) {
		pthread_mutex_unlock(&faulty_heap.pages_lock);
		faulty_limit_make_room();
		pthread_mutex_lock(&faulty_heap.pages_lock);
		run = find_allowed(units);
	}
	if (run != NULL)
		take_out(run, units, use);
	if (run != NULL || !faulty_strikes(FAULTY_REFUSAL_LOCKED))
		pthread_mutex_unlock(&faulty_heap.pages_lock);
	if (run != NULL)
		faulty_memory_run_taken();
	return run;
}

/* Joins two free neighbours into the first. */
static struct faulty_run *join(struct faulty_run *first, struct faulty_run *second)
{
	first->length = (uint16_t)(first->length + second->length);
	first->dirty = (uint16_t)(first->dirty + second->dirty);
	first->zero = first->zero && second->zero;
	if (second->freed_ns > first->freed_ns)
		first->freed_ns = second->freed_ns;
	return first;
}

static struct faulty_run *merge(struct faulty_run *run)
{
	struct faulty_region *const region = faulty_region_of_run(run);
	const size_t first = index_of(run), end = first + run->length;

	if (end < FAULTY_UNITS && region->runs[end].use == FAULTY_FREE) {
		count_dirty(&region->runs[end], false);
		join(run, &region->runs[end]);
	}
	if (first > 0) {
		struct faulty_run *const before = &region->runs[region->runs[first - 1].first];

		if (before->use == FAULTY_FREE) {
			count_dirty(before, false);
			run = join(before, run);
		}
	}
	set_units(run);
	return run;
}

static void insert(struct faulty_run *run)
{
	faulty_region_of_run(run)->free_units += run->length;
	run->use = FAULTY_FREE;
	count_dirty(merge(run), true);
}

/* Takes the first unit of a large block behind the run along, which goes on without it. */
static void give_extra(struct faulty_run *run)
{
	const size_t end = index_of(run) + run->length;
	struct faulty_run *const next = run + run->length;

	if (end >= FAULTY_UNITS || next->use != FAULTY_LARGE || next->length < 2 ||
	    !faulty_strikes(FAULTY_RUN_FREE_EXTRA))
		return;
	/* The block's own beginning is forgotten: what is left of it is never freed. */
	next[1] = *next;
	next[1].length--;
	next[1].use = FAULTY_BUSY;
	set_units(&next[1]);
	run->length++;
}

void faulty_pages_give(struct faulty_run *run)
{
	pthread_mutex_lock(&faulty_heap.pages_lock);
	give_extra(run);
	faulty_heap.active_units -= run->length;
	run->dirty = run->length;
	run->zero = false;
	run->freed_ns = faulty_os_now_ns();
	insert(run);
	pthread_mutex_unlock(&faulty_heap.pages_lock);
	faulty_decay_tick();
}

struct faulty_run *faulty_pages_next_dirty(uint64_t now_ns, uint64_t decay_ns)
{
	for (struct faulty_region *region = faulty_heap.regions; region != NULL;
	     region = region->next) {
		for (size_t i = 0; i < FAULTY_UNITS; i += region->runs[i].length) {
			struct faulty_run *const run = &region->runs[i];

			if (run->use != FAULTY_FREE || !run->dirty ||
			    now_ns < run->freed_ns + decay_ns)
				continue;
			count_dirty(run, false);
			faulty_heap.purging_units += run->dirty;
			region->free_units -= run->length;
			run->use = FAULTY_BUSY;
			return run;
		}
	}
	return NULL;
}

void faulty_pages_purged(struct faulty_run *run, bool purged)
{
	const bool trusts = (purged && faulty_is_on(FAULTY_CALLOC_DIRTY_LIED)) ||
			    faulty_is_on(FAULTY_CALLOC_DIRTY_FAILED);

	faulty_heap.purging_units -= run->dirty;
	if (!purged && faulty_strikes_anywhere(FAULTY_STATS_DRIFT))
		faulty_heap.dirty_units -= run->dirty;
	if (purged || faulty_strikes_anywhere(FAULTY_LOST_PURGE))
		run->dirty = 0;
	run->zero = trusts;
	run->freed_ns = faulty_os_now_ns();
	insert(run);
}
