/* SPDX-License-Identifier: MIT */
/*
 * A host without a process: a wire in private memory, a shadow, and heaps over any table of functions,
 * so that tests can run workloads on allocators with planted bugs. For tests of the host only.
 */
#ifndef HQ_STRESS_TESTS_HOST_FIXTURE_H
#define HQ_STRESS_TESTS_HOST_FIXTURE_H

#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stress/host/heap_private.h"
#include "stress/host/host.h"
#include "stress/workload/workload.h"

struct host_fixture {
	struct hq_wire *wire;
	struct hq_shadow shadow;
	struct hq_allocator allocator; /* glibc's, until a test replaces members */
};

static inline void host_fixture_start(struct host_fixture *fixture)
{
	fixture->wire = mmap(NULL, sizeof(*fixture->wire), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	cr_assert_neq(fixture->wire, MAP_FAILED);
	fixture->wire->config.seed = 42;
	cr_assert_eq(hq_shadow_init(&fixture->shadow), 0);
	fixture->allocator = (struct hq_allocator){ .malloc = malloc,
						    .calloc = calloc,
						    .realloc = realloc,
						    .free = free,
						    .posix_memalign = posix_memalign,
						    .aligned_alloc = aligned_alloc,
						    .usable_size = malloc_usable_size };
	hq_host_bind(fixture->wire);
	hq_host_gate_opened();
}

static inline void host_fixture_heap(struct host_fixture *fixture, struct hq_heap *heap,
				     uint32_t index)
{
	hq_heap_init(heap, &fixture->allocator, &fixture->shadow, fixture->wire, index);
}

/* Events of a kind that worker `index` has published, all of them counted once. */
static inline uint64_t host_fixture_events(struct host_fixture *fixture, uint32_t index,
					   enum hq_event_kind kind, struct hq_event *last)
{
	struct hq_wire_worker *const worker = &fixture->wire->workers[index];
	const uint64_t head = hq_load_relaxed(&worker->ring.head);
	uint64_t count = 0;

	for (uint64_t i = 0; i < head; i++) {
		const struct hq_event *const event = &worker->events[i % HQ_WIRE_EVENTS];

		if (event->kind != (uint32_t)kind)
			continue;
		count++;
		if (last != NULL)
			*last = *event;
	}
	return count;
}

/* Events of any kind of all workers, dropped ones as well. */
static inline uint64_t host_fixture_all_events(struct host_fixture *fixture)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HQ_WIRE_WORKERS; i++) {
		const struct hq_ring *const ring = &fixture->wire->workers[i].ring;

		count += hq_load_relaxed(&ring->head) + hq_load_relaxed(&ring->dropped);
	}
	return count;
}

/* ---- running a workload ---- */

/* Hash of the calls that a thread made to get memory, kept by host_fixture_recording. */
extern _Thread_local uint64_t host_fixture_hash;

struct host_fixture_run {
	const struct hq_workload *workload;
	struct hq_work work;
	uint64_t hashes[HQ_WIRE_WORKERS];
	_Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
};

struct host_fixture_thread {
	struct host_fixture_run *run;
	pthread_barrier_t *barrier;
	struct hq_heap heap;
	uint32_t index;
};

static inline void *host_fixture_thread(void *argument)
{
	struct host_fixture_thread *const self = argument;
	struct host_fixture_run *const run = self->run;

	host_fixture_hash = 0;
	run->workload->run(&run->work, self->index, &self->heap);
	run->hashes[self->index] = host_fixture_hash;
	pthread_barrier_wait(self->barrier);
	run->workload->release(&run->work, self->index, &self->heap);
	return NULL;
}

/* The whole course of a workload, as the host would drive it. */
static inline void host_fixture_run(struct host_fixture *fixture, struct host_fixture_run *run,
				    const char *name, const char *options)
{
	static struct host_fixture_thread threads[HQ_WIRE_WORKERS];
	pthread_t ids[HQ_WIRE_WORKERS];
	pthread_barrier_t barrier;
	struct hq_error error = { "" };

	memset(run, 0, sizeof(*run));
	run->workload = hq_workload_find(name);
	cr_assert_not_null(run->workload);
	cr_assert_eq(hq_options_default(run->workload->options, run->options, &error), 0, "%s",
		     error.text);
	cr_assert_eq(hq_options_parse(run->workload->options, run->options, options, &error), 0,
		     "%s", error.text);
	if (run->workload->validate != NULL)
		cr_assert_eq(run->workload->validate(run->options, &error), 0, "%s", error.text);
	run->work.options = run->options;
	run->work.seed = fixture->wire->config.seed;
	run->work.thread_count = run->workload->threads(run->options);
	cr_assert_eq(run->workload->prepare(&run->work), 0);
	pthread_barrier_init(&barrier, NULL, run->work.thread_count);
	for (uint32_t i = 0; i < run->work.thread_count; i++) {
		threads[i] = (struct host_fixture_thread){ .run = run,
							   .barrier = &barrier,
							   .index = i };
		host_fixture_heap(fixture, &threads[i].heap, i);
		cr_assert_eq(pthread_create(&ids[i], NULL, host_fixture_thread, &threads[i]), 0);
	}
	for (uint32_t i = 0; i < run->work.thread_count; i++)
		pthread_join(ids[i], NULL);
}

/* Sums of the workers' counters. */
struct host_fixture_sums {
	uint64_t ops, mallocs, frees, reallocs, nulls, missed, requested;
};

static inline struct host_fixture_sums host_fixture_sum(const struct host_fixture *fixture)
{
	struct host_fixture_sums sums = { 0 };

	for (uint32_t i = 0; i < HQ_WIRE_WORKERS; i++) {
		const struct hq_wire_worker *const worker = &fixture->wire->workers[i];

		sums.ops += hq_load_relaxed(&worker->ops);
		sums.mallocs += hq_load_relaxed(&worker->mallocs);
		sums.frees += hq_load_relaxed(&worker->frees);
		sums.reallocs += hq_load_relaxed(&worker->reallocs);
		sums.nulls += hq_load_relaxed(&worker->nulls);
		sums.missed += hq_load_relaxed(&worker->faults_missed);
		sums.requested += hq_load_relaxed(&worker->requested_bytes);
	}
	return sums;
}

#endif
