/* SPDX-License-Identifier: MIT */
/*
 * Small blocks: size classes, spans of equal blocks, and the lists that all threads share. A span
 * whose blocks are all back is a free run again.
 */
#include <sched.h>
#include <time.h>

#include "allocator/faulty/core.h"

#define FINE_CLASSES  8u /* 16 to 128 in steps of 16; then four for each doubling */
#define SPAN_BLOCKS   8u /* at least */
#define RACE_PATIENCE 3u
#define LOCK_GAP_NS   200000

size_t faulty_class_size(unsigned class)
{
	if (class < FINE_CLASSES)
		return (class + 1u) * FAULTY_ALIGNMENT;
	const unsigned step = class - FINE_CLASSES;

	return ((size_t)128 << (step / 4)) / 4 * (5 + step % 4);
}

unsigned faulty_class_of(size_t size)
{
	unsigned class;

	if (size <= FINE_CLASSES * FAULTY_ALIGNMENT)
		return size == 0 ? 0 : (unsigned)((size - 1) / FAULTY_ALIGNMENT);
	class = FINE_CLASSES + 4 * (unsigned)(63 - __builtin_clzll(size - 1) - 7);
	while (faulty_class_size(class) < size)
		class ++;
	return class;
}

static void link_partial(struct faulty_run *span)
{
	struct faulty_run **const head = &faulty_heap.partial[span->class];

	span->listed = true;
	span->previous = NULL;
	span->next = *head;
	if (*head != NULL)
		(*head)->previous = span;
	*head = span;
}

static void unlink_partial(struct faulty_run *span)
{
	if (!span->listed)
		return;
	span->listed = false;
	if (span->previous != NULL)
		span->previous->next = span->next;
	else
		faulty_heap.partial[span->class] = span->next;
	if (span->next != NULL)
		span->next->previous = span->previous;
}

/* Time for another thread to come between two locks; rare in life, and certain here. */
static void widen_gap(void)
{
	const struct timespec gap = { .tv_nsec = LOCK_GAP_NS };

	nanosleep(&gap, NULL);
}

static struct faulty_run *add_span(unsigned class)
{
	if (faulty_is_on(FAULTY_DEADLOCK))
		widen_gap();
	const size_t size = faulty_class_size(class);
	const size_t units = (size * SPAN_BLOCKS + FAULTY_UNIT - 1) / FAULTY_UNIT;
	struct faulty_run *const span = faulty_pages_take(units, FAULTY_SMALL);
	struct faulty_link *blocks = NULL;
	char *start;

	if (span == NULL)
		return NULL;
	start = faulty_run_start(span);
	for (size_t i = units * FAULTY_UNIT / size; i > 0; i--) {
		struct faulty_link *const block = (void *)(start + (i - 1) * size);

		block->next = blocks;
		blocks = block;
	}
	span->blocks = blocks;
	span->class = (uint8_t) class;
	span->live = 0;
	link_partial(span);
	return span;
}

static struct faulty_link *take_one(struct faulty_run *span)
{
	struct faulty_link *const block = span->blocks;
	struct faulty_link *const next = block->next;

	if (faulty_is_on(FAULTY_CENTRAL_RACE))
		for (unsigned i = 0; i < RACE_PATIENCE; i++)
			sched_yield();
	span->blocks = next;
	span->live++;
	faulty_add(&faulty_heap.statistics.allocated_bytes, faulty_class_size(span->class));
	if (next == NULL)
		unlink_partial(span);
	return block;
}

static bool is_unlocked(void)
{
	return faulty_strikes(FAULTY_CENTRAL_RACE);
}

unsigned faulty_central_take(unsigned class, unsigned count, struct faulty_link **blocks)
{
	const bool unlocked = is_unlocked();
	unsigned taken = 0;

	*blocks = NULL;
	if (!unlocked)
		pthread_mutex_lock(&faulty_heap.class_locks[class]);
	while (taken < count) {
		struct faulty_run *span = faulty_heap.partial[class];
		struct faulty_link *block;

		if (span == NULL && (taken > 0 || (span = add_span(class)) == NULL))
			break;
		block = take_one(span);
		block->next = *blocks;
		*blocks = block;
		taken++;
	}
	if (!unlocked)
		pthread_mutex_unlock(&faulty_heap.class_locks[class]);
	return taken;
}

/* Returns the block's span when nothing in it is live any more. */
static struct faulty_run *give_one(struct faulty_link *block)
{
	struct faulty_run *const span = faulty_run_of(faulty_region_of(block), block);

	if (span->blocks == NULL && !faulty_strikes(FAULTY_SPAN_FORGOTTEN))
		link_partial(span);
	block->next = span->blocks;
	span->blocks = block;
	faulty_add(&faulty_heap.statistics.allocated_bytes,
		   -(uint64_t)faulty_class_size(span->class));
	if (--span->live > 0)
		return NULL;
	unlink_partial(span);
	return span;
}

/* Without a lock: what follows may purge, and may even allocate. */
static void give_spans(struct faulty_run *spans)
{
	while (spans != NULL) {
		struct faulty_run *const next = spans->next;

		faulty_pages_give(spans);
		spans = next;
	}
}

/* Takes the locks the other way round. */
static void lock_upside_down(unsigned class)
{
	pthread_mutex_lock(&faulty_heap.pages_lock);
	widen_gap();
	pthread_mutex_lock(&faulty_heap.class_locks[class]);
	pthread_mutex_unlock(&faulty_heap.pages_lock);
}

/* Returns the spans that are empty now, as a list. */
static struct faulty_run *give_all(struct faulty_link *blocks)
{
	struct faulty_run *empty = NULL;

	while (blocks != NULL) {
		struct faulty_link *const next = blocks->next;
		struct faulty_run *const span = give_one(blocks);

		if (span != NULL) {
			span->next = empty;
			empty = span;
		}
		blocks = next;
	}
	return empty;
}

void faulty_central_give(unsigned class, struct faulty_link *blocks)
{
	const bool unlocked = is_unlocked();
	struct faulty_run *empty;

	if (unlocked)
		sched_yield();
	else if (faulty_strikes(FAULTY_DEADLOCK))
		lock_upside_down(class);
	else
		pthread_mutex_lock(&faulty_heap.class_locks[class]);
	empty = give_all(blocks);
	if (!unlocked)
		pthread_mutex_unlock(&faulty_heap.class_locks[class]);
	give_spans(empty);
}
