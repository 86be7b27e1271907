/* SPDX-License-Identifier: MIT */
/*
 * Machines that are not at hand: more arenas than CPUs, and a kernel with pages of 64 KiB. And
 * one that has refused for a while: it must end up where one does that never has.
 *
 * Random sequences with faults run against the model on each; the rest looks at single figures.
 */
#include <criterion/criterion.h>

#include "allocator/bedrock/heap.h"
#include "allocator/tests/shrink.h"

#define CALLS       20000
#define ARENAS      24
#define LARGE_PAGE  65536
#define MIB         ((size_t)1 << 20)
#define BLOCK_COUNT 400

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	fault_install();
}

TestSuite(machines, .init = setup, .timeout = 120);

static void have_many_arenas(void)
{
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	bedrock_store_relaxed(&bedrock_heap.arena_count, ARENAS);
}

static void have_large_pages(void)
{
	faults.page_bytes = LARGE_PAGE;
	bedrock_heap.os_page_bytes = LARGE_PAGE;
}

/* Some sequences, in order and with threads beside each other, in which every fault fires. */
static void run_sequences(void)
{
	static struct model_call calls[CALLS];
	struct model_sum sum = { .calls = 0 };
	struct shrink shrink = { .tries = 1 };

	cr_assert_eq(shrink_init(&shrink, &model_api_bedrock, 0), 0);
	for (uint64_t seed = 0; seed < 6; seed++) {
		model_draw(calls, CALLS, seed);
		shrink.is_in_order = seed % 2;
		cr_assert_not(shrink_fails(&shrink, calls, CALLS), "seed %llu: %s",
			      (unsigned long long)seed, shrink.outcome->reason);
		model_sum_add(&sum, shrink.outcome, CALLS);
	}
	const char *lacking = model_sum_lacks(&sum, false);

	cr_assert_null(lacking, "no %s was ever refused", lacking);
	shrink_end(&shrink);
}

Test(machines, sequences_hold_with_24_arenas)
{
	have_many_arenas();
	run_sequences();
}

Test(machines, sequences_hold_with_pages_of_64_kib)
{
	have_large_pages();
	run_sequences();
}

Test(machines, sequences_hold_with_24_arenas_and_pages_of_64_kib)
{
	have_many_arenas();
	have_large_pages();
	run_sequences();
}

static void *allocate_once(void *argument)
{
	(void)argument;
	return bedrock_malloc(5000);
}

Test(machines, threads_spread_over_24_arenas_and_all_is_given_back)
{
	pthread_t threads[2 * ARENAS];
	struct bedrock_stats stats;
	unsigned arenas = 0;

	have_many_arenas();
	for (int i = 0; i < 2 * ARENAS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, allocate_once, NULL), 0);
	for (int i = 0; i < 2 * ARENAS; i++) {
		void *block = NULL;

		pthread_join(threads[i], &block);
		cr_assert(block);
		bedrock_free(block);
	}
	for (uint32_t i = 0; i < ARENAS; i++)
		arenas += bedrock_heap_arena_at(&bedrock_heap, i) != NULL;
	cr_assert_gt(arenas, ARENAS / 2);
	bedrock_purge();
	bedrock_stats_read(&stats);
	cr_assert_eq(stats.allocated_bytes, 0);
	cr_assert_eq(stats.dirty_bytes, 0);
}

Test(machines, pages_of_64_kib_are_advised_whole_and_align_valloc)
{
	static void *blocks[BLOCK_COUNT];

	have_large_pages();
	void *page = bedrock_valloc(100);

	cr_assert_eq((uintptr_t)page % LARGE_PAGE, 0);
	cr_assert_geq(bedrock_malloc_usable_size(bedrock_pvalloc(1)), LARGE_PAGE);
	for (int i = 0; i < BLOCK_COUNT; i++)
		blocks[i] = bedrock_malloc(100000);
	for (int i = 0; i < BLOCK_COUNT; i += 2)
		bedrock_free(blocks[i]);
	bedrock_purge();
	cr_assert_gt(faults.advised_bytes, 0);
	cr_assert_eq(faults.advised_bytes % LARGE_PAGE, 0);
}

/* The figure that stands for resident memory, when a working set of a quarter has been left. */
static uint64_t live_with(int purge_error, int unmap_error)
{
	static void *blocks[BLOCK_COUNT];

	faults.madvise.error = purge_error;
	faults.munmap.error = unmap_error;
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < BLOCK_COUNT; i++) {
			size_t bytes = i % 20 ? 100000 : 3 * MIB;

			blocks[i] = bedrock_malloc(bytes);
			cr_assert(blocks[i]);
			memset(blocks[i], 1, bytes);
		}
		for (int i = 0; i < BLOCK_COUNT; i++) {
			if (round < 3 || i % 4)
				bedrock_free(blocks[i]);
		}
		bedrock_purge();
	}
	faults.madvise.error = 0;
	faults.munmap.error = 0;
	bedrock_purge();
	return bedrock_resident();
}

/* Each way of living starts from nothing, in a process of its own, and tells its figure. */
static uint64_t live_in_child(int purge_error, int unmap_error)
{
	uint64_t resident = 0;
	int ends[2];
	int status;

	cr_assert_eq(pipe(ends), 0);
	pid_t child = fork();

	if (child == 0) {
		resident = live_with(purge_error, unmap_error);
		_exit(write(ends[1], &resident, sizeof(resident)) != sizeof(resident) ||
		      ((purge_error && !faults.madvise.hit) ||
		       (unmap_error && !faults.munmap.hit)));
	}
	cr_assert_gt(child, 0);
	/* Or a child that dies early is waited for in vain. */
	close(ends[1]);
	cr_assert_eq(read(ends[0], &resident, sizeof(resident)), (ssize_t)sizeof(resident));
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0, "the fault did not fire");
	close(ends[0]);
	return resident;
}

Test(machines, resident_memory_after_faults_is_that_of_a_life_without)
{
	static const struct {
		int purge_error;
		int unmap_error;
	} faulty[] = {
		{ EAGAIN, 0 }, { ENOMEM, 0 }, { EINVAL, 0 }, { 0, ENOMEM }, { EAGAIN, ENOMEM }
	};
	uint64_t honest = live_in_child(0, 0);

	for (unsigned i = 0; i < sizeof(faulty) / sizeof(faulty[0]); i++) {
		uint64_t resident = live_in_child(faulty[i].purge_error, faulty[i].unmap_error);

		cr_assert_leq(resident, honest + honest / 10, "%zu MiB, not %zu (case %u)",
			      (size_t)resident / MIB, (size_t)honest / MIB, i);
	}
}
