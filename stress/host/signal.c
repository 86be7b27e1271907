/* SPDX-License-Identifier: MIT */
/*
 * A signal handler that uses the heap, in the threads that asked for it. It may interrupt its
 * thread in the middle of an allocation, so it calls the allocator directly: shadow, histograms and
 * the ring of events belong to the interrupted code. It only counts, and a block that it finds
 * changed counts as well.
 */
#include <errno.h>
#include <signal.h>

#include "stress/host/heap_private.h"

#define ID (1ull << 62) /* no worker's, no child's */

static const uint64_t sizes[] = { 24, 200, 3000 };

/* Of the thread; NULL: its signals do nothing. */
static _Thread_local struct hq_heap *heap_of_signals;

static void use_heap(struct hq_heap *heap, uint64_t number)
{
	struct hq_wire_worker *const worker = heap->worker;
	const uint64_t size = sizes[number % (sizeof(sizes) / sizeof(sizes[0]))];
	const uint64_t key = hq_stamp_key(heap->seed, ID + number);
	void *const block = heap->allocator->malloc(size);
	struct hq_damage damage;

	if (block == NULL) {
		hq_count_own(&worker->signal_nulls, 1);
		return;
	}
	hq_stamp_fill(block, size, key);
	if (!hq_stamp_verify(block, size, key, &damage))
		hq_count_own(&worker->signal_damaged, 1);
	heap->allocator->free(block);
}

static void on_signal(int number)
{
	struct hq_heap *const heap = heap_of_signals;
	const int kept = errno;

	(void)number;
	if (heap == NULL)
		return;
	hq_count_own(&heap->worker->signals_taken, 1);
	use_heap(heap, hq_load_relaxed(&heap->worker->signals_taken));
	hq_count_own(&heap->worker->signals_done, 1);
	errno = kept;
}

int hq_host_catch_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	return sigaction(SIGUSR1, &action, NULL) == 0 ? 0 : -errno;
}

void hq_heap_signals(struct hq_heap *heap, bool use)
{
	heap_of_signals = use ? heap : NULL;
}

uint64_t hq_heap_signals_taken(const struct hq_heap *heap)
{
	return hq_load_relaxed(&heap->worker->signals_taken);
}
