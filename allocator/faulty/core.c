/* SPDX-License-Identifier: MIT */
/*
 * From size to place and back: which of the three kinds serves a request, and whose an address is.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

struct faulty_heap faulty_heap = {
	.decay_ns = FAULTY_DECAY_NS,
	.pages_lock = PTHREAD_MUTEX_INITIALIZER,
	.huge_lock = PTHREAD_MUTEX_INITIALIZER,
	.class_locks = { [0 ... FAULTY_CLASSES - 1] = PTHREAD_MUTEX_INITIALIZER },
};

static void *take_small(size_t size, size_t alignment)
{
	unsigned class = faulty_class_of(size < alignment ? alignment : size);

	while (faulty_class_size(class) % alignment != 0)
		class ++;
	return faulty_cache_take(class);
}

static void *take_large(size_t size, bool *zero)
{
	size_t units = (size + FAULTY_UNIT - 1) / FAULTY_UNIT;
	struct faulty_run *run;

	if (units > 1 && size % FAULTY_UNIT != 0 && faulty_strikes(FAULTY_RUN_SHORT))
		units--;
	run = faulty_pages_take(units, FAULTY_LARGE);
	if (run == NULL)
		return NULL;
	*zero = run->zero;
	faulty_add(&faulty_heap.statistics.allocated_bytes, run->length * FAULTY_UNIT);
	return faulty_run_start(run);
}

static void give_large(struct faulty_run *run)
{
	faulty_add(&faulty_heap.statistics.allocated_bytes, -(uint64_t)(run->length * FAULTY_UNIT));
	faulty_pages_give(run);
}

void *faulty_block_take(size_t size, size_t alignment, bool *zero)
{
	*zero = false;
	if (size <= FAULTY_SMALL_MAX && alignment <= FAULTY_SMALL_MAX)
		return take_small(size, alignment);
	if (size <= FAULTY_LARGE_MAX && alignment <= FAULTY_UNIT)
		return take_large(size, zero);
	*zero = true;
	return alignment <= FAULTY_ALIGNED_MAX ? faulty_huge_take(size, alignment) : NULL;
}

bool faulty_block_begins(const void *address)
{
	struct faulty_region *const region = faulty_region_of(address);
	struct faulty_run *run;

	if (region->kind == FAULTY_KIND_HUGE)
		return region->block == address;
	run = faulty_run_of(region, address);
	if (run->use == FAULTY_LARGE)
		return faulty_run_start(run) == address;
	return run->use == FAULTY_SMALL &&
	       ((const char *)address - faulty_run_start(run)) %
			       (ptrdiff_t)faulty_class_size(run->class) ==
		       0;
}

void faulty_block_give(void *block)
{
	struct faulty_region *const region = faulty_region_of(block);
	struct faulty_run *run;

	/* A block that a bug has moved has no place to go to. */
	if (!faulty_block_begins(block))
		return;
	if (region->kind == FAULTY_KIND_HUGE) {
		faulty_huge_give(region);
		return;
	}
	run = faulty_run_of(region, block);
	if (run->use == FAULTY_LARGE)
		give_large(run);
	else
		faulty_cache_give(run->class, block);
}

/* From the address to the end of the block that it lies in. */
size_t faulty_block_size(const void *block)
{
	struct faulty_region *const region = faulty_region_of(block);
	struct faulty_run *run;
	size_t offset;

	if (region->kind == FAULTY_KIND_HUGE)
		return region->usable - (size_t)((const char *)block - (char *)region->block);
	run = faulty_run_of(region, block);
	offset = (size_t)((const char *)block - faulty_run_start(run));
	if (run->use != FAULTY_SMALL)
		return run->length * FAULTY_UNIT - offset;
	return faulty_class_size(run->class) - offset % faulty_class_size(run->class);
}

/* With write and _exit alone: nothing that allocates. */
static void refuse(const char *word, const char *nearest)
{
	char text[256] = "faulty: there is no bug '";

	strcat(text, word);
	strcat(text, "'; did you mean '");
	strcat(text, nearest);
	strcat(text, "'?\n");
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(2);
	_exit(2);
}

__attribute__((constructor)) void faulty_start(void)
{
	const char *const names = getenv("FAULTY"), *const path = getenv("FAULTY_COUNT");
	const char *const decay_ms = getenv("FAULTY_DECAY_MS");
	const char *const spared = getenv("FAULTY_SPARED");
	const char *nearest;
	char word[64];

	if (faulty_load(&faulty_heap.has_key))
		return;
	if (path != NULL)
		faulty_count_into(path);
	if (spared != NULL)
		faulty_spare_first((uint32_t)strtoul(spared, NULL, 10));
	if (names != NULL && faulty_choose(names, word, &nearest) != 0)
		refuse(word, nearest);
	faulty_limit_start();
	faulty_cpu_start();
	if (decay_ms != NULL)
		faulty_heap.decay_ns = strtoull(decay_ms, NULL, 10) * 1000000u;
	pthread_atfork(faulty_fork_prepare, faulty_fork_parent, faulty_fork_child);
	if (pthread_key_create(&faulty_heap.key, faulty_cache_ends) == 0)
		faulty_store(&faulty_heap.has_key, true);
}
