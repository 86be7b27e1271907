/* SPDX-License-Identifier: MIT */
/*
 * A host without a process: a wire in private memory, a shadow, and heaps over any table of
 * functions, so that tests can run workloads on allocators with planted bugs. For tests of the host
 * only.
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
#include <unistd.h>

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

/* ---- allocators that record, and that refuse ---- */

/* Of the calls that a thread made to get memory; kept by the allocator of host_fixture_record. */
static _Thread_local uint64_t host_fixture_hash;

static inline void host_fixture_note(uint64_t call, uint64_t size)
{
	host_fixture_hash = (host_fixture_hash ^ call ^ size << 8) * 0x9e3779b97f4a7c15ull;
	host_fixture_hash ^= host_fixture_hash >> 29;
}

static inline void *host_fixture_noted_malloc(size_t size)
{
	host_fixture_note(1, size);
	return malloc(size);
}

static inline void *host_fixture_noted_calloc(size_t count, size_t size)
{
	host_fixture_note(2, count * size);
	return calloc(count, size);
}

static inline void *host_fixture_noted_realloc(void *address, size_t size)
{
	host_fixture_note(3, size);
	return realloc(address, size);
}

static inline int host_fixture_noted_memalign(void **address, size_t alignment, size_t size)
{
	host_fixture_note(4 + alignment * 16, size);
	return posix_memalign(address, alignment, size);
}

/* Each thread's requests are hashed in order. */
static inline void host_fixture_record(struct host_fixture *fixture)
{
	fixture->allocator.malloc = host_fixture_noted_malloc;
	fixture->allocator.calloc = host_fixture_noted_calloc;
	fixture->allocator.realloc = host_fixture_noted_realloc;
	fixture->allocator.posix_memalign = host_fixture_noted_memalign;
	fixture->allocator.aligned_alloc = NULL;
}

/* One request in `host_fixture_refuse_one_in` of each thread is refused. */
static uint64_t host_fixture_refuse_one_in __attribute__((unused)) = 10;

static inline bool host_fixture_refuses(void)
{
	static _Thread_local uint64_t state = 1;

	state = state * 6364136223846793005ull + 1442695040888963407ull;
	errno = ENOMEM;
	return (state >> 33) % host_fixture_refuse_one_in == 0;
}

static inline void *host_fixture_refusing_malloc(size_t size)
{
	return host_fixture_refuses() ? NULL : malloc(size);
}

static inline void *host_fixture_refusing_calloc(size_t count, size_t size)
{
	return host_fixture_refuses() ? NULL : calloc(count, size);
}

/* To nothing it takes no memory: a refusal could not be told from an answer. */
static inline void *host_fixture_refusing_realloc(void *address, size_t size)
{
	return size > 0 && host_fixture_refuses() ? NULL : realloc(address, size);
}

static inline int host_fixture_refusing_memalign(void **address, size_t alignment, size_t size)
{
	return host_fixture_refuses() ? ENOMEM : posix_memalign(address, alignment, size);
}

static inline void host_fixture_refuse(struct host_fixture *fixture, uint64_t one_in)
{
	host_fixture_refuse_one_in = one_in;
	fixture->allocator.malloc = host_fixture_refusing_malloc;
	fixture->allocator.calloc = host_fixture_refusing_calloc;
	fixture->allocator.realloc = host_fixture_refusing_realloc;
	fixture->allocator.posix_memalign = host_fixture_refusing_memalign;
	fixture->allocator.aligned_alloc = NULL;
}

/* ---- running a workload ---- */

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
		threads[i] =
			(struct host_fixture_thread){ .run = run, .barrier = &barrier, .index = i };
		host_fixture_heap(fixture, &threads[i].heap, i);
		cr_assert_eq(pthread_create(&ids[i], NULL, host_fixture_thread, &threads[i]), 0);
	}
	if (run->workload->beside != NULL)
		run->workload->beside(&run->work, &threads[0].heap);
	for (uint32_t i = 0; i < run->work.thread_count; i++)
		pthread_join(ids[i], NULL);
}

/* Sums of the workers' counters. */
struct host_fixture_sums {
	uint64_t ops, mallocs, frees, reallocs, nulls, missed;
	uint64_t requested; /* bytes still live */
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

/* Nothing is left over and no promise was broken. */
static inline void host_fixture_expect_clean(struct host_fixture *fixture)
{
	cr_expect_eq(host_fixture_all_events(fixture), 0, "%lu events",
		     host_fixture_all_events(fixture));
	cr_expect_eq(host_fixture_sum(fixture).requested, 0);
	cr_expect_eq(hq_load_relaxed(&fixture->shadow.unchecked), 0);
}

/* Two runs of one seed, on fresh wires: are the requests of every thread the same? */
static inline void host_fixture_expect_repeatable(const char *name, const char *options)
{
	static struct host_fixture_run runs[2];

	for (int i = 0; i < 2; i++) {
		struct host_fixture fixture;

		host_fixture_start(&fixture);
		host_fixture_record(&fixture);
		host_fixture_run(&fixture, &runs[i], name, options);
		host_fixture_expect_clean(&fixture);
	}
	cr_assert_neq(runs[0].hashes[0], 0);
	for (uint32_t i = 0; i < runs[0].work.thread_count; i++)
		cr_assert_eq(runs[0].hashes[i], runs[1].hashes[i], "thread %u", i);
}

/* The same through every allocation refused once in a while: nothing lost, nothing broken. */
static inline void host_fixture_expect_survives(const char *name, const char *options,
						uint64_t one_in)
{
	static struct host_fixture_run run;
	struct host_fixture fixture;

	host_fixture_start(&fixture);
	host_fixture_refuse(&fixture, one_in);
	host_fixture_run(&fixture, &run, name, options);
	host_fixture_expect_clean(&fixture);
	const struct host_fixture_sums sums = host_fixture_sum(&fixture);

	cr_expect_gt(sums.nulls, 0);
	cr_expect_gt(sums.missed, 0);
}

/* Told to end before it began, a workload ends, and frees what it has. */
static inline void host_fixture_expect_stops(const char *name, const char *options)
{
	static struct host_fixture_run run;
	struct host_fixture fixture;

	host_fixture_start(&fixture);
	hq_store_relaxed(&fixture.wire->finish, 1);
	host_fixture_run(&fixture, &run, name, options);
	host_fixture_expect_clean(&fixture);
}

static inline void *host_fixture_stop_soon(void *argument)
{
	struct host_fixture *const fixture = argument;

	usleep(30000);
	hq_store_relaxed(&fixture->wire->finish, 1);
	return NULL;
}

/* The same in the midst of work that would take much longer. */
static inline void host_fixture_expect_stops_midway(const char *name, const char *options)
{
	static struct host_fixture_run run;
	struct host_fixture fixture;
	pthread_t stopper;

	host_fixture_start(&fixture);
	cr_assert_eq(pthread_create(&stopper, NULL, host_fixture_stop_soon, &fixture), 0);
	host_fixture_run(&fixture, &run, name, options);
	pthread_join(stopper, NULL);
	host_fixture_expect_clean(&fixture);
}

/* The check between options of the workload refuses them. */
static inline void host_fixture_expect_refuses(const char *name, const char *options)
{
	static _Alignas(16) unsigned char values[HQ_OPTION_STRUCT_MAX];
	const struct hq_workload *const workload = hq_workload_find(name);
	struct hq_error error;

	cr_assert_eq(hq_options_default(workload->options, values, &error), 0);
	cr_assert_eq(hq_options_parse(workload->options, values, options, &error), 0);
	cr_assert_eq(workload->validate(values, &error), -EINVAL, "%s", options);
	cr_assert_neq(error.text[0], 0);
}

/* Operations whose latency was recorded. */
static inline uint64_t host_fixture_ops(const struct host_fixture *fixture)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HQ_WIRE_WORKERS; i++)
		count += hq_hist_count(&fixture->wire->workers[i].hist[HQ_LATENCY_OP]);
	return count;
}

#endif
