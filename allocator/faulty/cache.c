/* SPDX-License-Identifier: MIT */
/*
 * The cache of a thread: a list a class, filled and emptied in batches, bounded in bytes. It goes
 * back whole when the thread ends; what is freed after that is given back one by one.
 */
#include <sched.h>
#include <string.h>

#include "allocator/faulty/core.h"

#define BATCH       32u
#define BATCH_BYTES ((size_t)16 << 10)

struct cache {
	struct faulty_link *blocks[FAULTY_CLASSES];
	uint32_t counts[FAULTY_CLASSES];
	size_t bytes;
	uint32_t number; /* of the thread; 0: not yet given */
	int cpu;         /* where it was last seen */
	bool is_known;   /* its destructor will be called */
	bool has_ended;
};

static _Thread_local struct cache cache;

uint32_t faulty_thread_number(void)
{
	if (cache.number == 0)
		cache.number = faulty_add(&faulty_heap.threads, 1) + 1;
	return cache.number;
}

static unsigned batch_of(unsigned class)
{
	const size_t fitting = BATCH_BYTES / faulty_class_size(class);

	return fitting < 2 ? 2 : fitting > BATCH ? BATCH : (unsigned)fitting;
}

static void flush(unsigned class, unsigned kept)
{
	struct faulty_link **end = &cache.blocks[class];
	struct faulty_link *rest;

	for (unsigned i = 0; i < kept; i++)
		end = &(*end)->next;
	rest = *end;
	*end = NULL;
	cache.bytes -= (cache.counts[class] - kept) * faulty_class_size(class);
	cache.counts[class] = kept;
	if (rest != NULL)
		faulty_central_give(class, rest);
}

void faulty_cache_flush(void)
{
	for (unsigned class = 0; class < FAULTY_CLASSES; class ++)
		flush(class, 0);
}

void faulty_cache_ends(void *unused)
{
	(void)unused;
	cache.has_ended = true;
	faulty_fork_at_exit();
	if (faulty_strikes(FAULTY_CRASH_EXIT))
		faulty_errors_crash();
	if (cache.bytes > 0 && faulty_strikes(FAULTY_LOST_EXIT))
		return;
	faulty_cache_flush();
}

static void make_known(void)
{
	if (cache.is_known || !faulty_load(&faulty_heap.has_key))
		return;
	cache.is_known = pthread_setspecific(faulty_heap.key, &cache) == 0;
	if (cache.is_known)
		faulty_memory_thread_known();
}

/* The blocks of another CPU are nobody's business any more. */
static void strand(void)
{
	const int cpu = sched_getcpu();

	if (cpu == cache.cpu)
		return;
	if (cache.bytes > 0 && cache.is_known && faulty_strikes(FAULTY_CACHE_STRANDED)) {
		memset(cache.blocks, 0, sizeof(cache.blocks));
		memset(cache.counts, 0, sizeof(cache.counts));
		cache.bytes = 0;
	}
	cache.cpu = cpu;
}

static bool fill(unsigned class)
{
	struct faulty_link *blocks;
	const unsigned taken =
		faulty_central_take(class, cache.has_ended ? 1 : batch_of(class), &blocks);

	cache.blocks[class] = blocks;
	cache.counts[class] = taken;
	cache.bytes += taken * faulty_class_size(class);
	faulty_cpu_refilled();
	return taken > 0;
}

void *faulty_cache_take(unsigned class)
{
	struct faulty_link *block;

	if (faulty_is_on(FAULTY_CACHE_STRANDED))
		strand();
	if (cache.blocks[class] == NULL && !fill(class))
		return NULL;
	make_known();
	block = cache.blocks[class];
	cache.blocks[class] = block->next;
	cache.counts[class]--;
	cache.bytes -= faulty_class_size(class);
	return block;
}

void faulty_cache_give(unsigned class, void *block)
{
	struct faulty_link *const link = block;

	make_known();
	link->next = cache.blocks[class];
	cache.blocks[class] = link;
	cache.counts[class]++;
	cache.bytes += faulty_class_size(class);
	if (cache.has_ended) {
		flush(class, 0);
		return;
	}
	if (faulty_is_on(FAULTY_CACHE_UNBOUNDED)) {
		faulty_fire(FAULTY_CACHE_UNBOUNDED);
		return;
	}
	if (cache.counts[class] > 8 * batch_of(class))
		flush(class, cache.counts[class] / 2);
	if (cache.bytes > FAULTY_CACHE_BYTES)
		faulty_cache_flush();
}
