/* SPDX-License-Identifier: MIT */
/*
 * Machines that are not at hand: more arenas than CPUs, and a kernel with pages of 64 KiB. And
 * one that has refused for a while: it must end up where one does that never has.
 *
 * Random sequences with faults run against the model on each; the rest looks at single figures.
 */
#include <criterion/criterion.h>

#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/shrink.h"

#define CALLS       20000
#define ARENAS      24
#define LARGE_PAGE  65536
#define MIB         ((size_t)1 << 20)
#define BLOCK_COUNT 400
/* A child that hangs ends by itself. */
#define CHILD_SECONDS 60

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

/* What is refused, or lied about, for most of a life, and under which options. */
struct hardship {
	const char *name;
	struct fault *fault;
	int error;
	bool lies;
	/* Refused as well, so that the first matters. */
	struct fault *besides;
	/* madvise: only this advice, or 0 for any. */
	int advice;
	uint64_t limit_bytes;
	int64_t muzzy_decay_ms;
};

struct figures {
	uint64_t own_bytes;
	uint64_t kernel_bytes;
};

static uint64_t kernel_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long total = 0;
	unsigned long resident = 0;

	if (!file || fscanf(file, "%lu %lu", &total, &resident) != 2)
		_exit(2);
	fclose(file);
	return resident * (uint64_t)getpagesize();
}

static void begin(const struct hardship *hardship)
{
	hardship->fault->error = hardship->error;
	hardship->fault->lies = hardship->lies;
	if (hardship->advice)
		faults.madvise.advice = hardship->advice;
	if (hardship->besides)
		hardship->besides->error = ENOMEM;
}

static void end(const struct hardship *hardship)
{
	hardship->fault->error = 0;
	hardship->fault->lies = false;
	if (hardship->besides)
		hardship->besides->error = 0;
}

/* Blocks of all kinds come, change and go; a quarter of the last ones stays. */
static void work(unsigned round)
{
	static char *blocks[BLOCK_COUNT];

	for (int i = 0; i < BLOCK_COUNT; i++) {
		size_t bytes = i % 40 ? 100000 : 4 * MIB;
		char *block = i % 3 ? bedrock_malloc(bytes) : bedrock_memalign(65536, bytes);

		cr_assert(block);
		blocks[i] = memset(block, 1, bytes);
		if (i % 40 == 0)
			blocks[i] = bedrock_realloc(blocks[i], i % 80 ? 3 * MIB : 6 * MIB);
		cr_assert(blocks[i]);
	}
	for (int i = 0; i < BLOCK_COUNT; i++) {
		if (round < 2 || i % 4)
			bedrock_free(blocks[i]);
	}
	/* Twice, as pages are due when they were dirty at two looks. */
	for (int look = 0; look < 3; look++) {
		usleep(15000);
		bedrock_decay_all(&bedrock_heap, bedrock_os_now_ns());
	}
	bedrock_purge();
}

static struct figures live_with(const struct hardship *hardship, bool is_hard)
{
	bedrock_heap.options.dirty_decay_ms = 20;
	bedrock_heap.options.muzzy_decay_ms = hardship->muzzy_decay_ms;
	if (hardship->limit_bytes)
		bedrock_limit_memory(hardship->limit_bytes, 0);
	if (is_hard)
		begin(hardship);
	for (unsigned round = 0; round < 3; round++)
		work(round);
	end(hardship);
	bedrock_purge();
	return (struct figures){ bedrock_resident(), kernel_bytes() };
}

/* Each way of living starts from nothing, in a process of its own, and tells its figures. */
static struct figures live_in_child(const struct hardship *hardship, bool is_hard)
{
	struct figures figures = { .own_bytes = 0 };
	int ends[2];
	int status;

	cr_assert_eq(pipe(ends), 0);
	pid_t child = fork();

	if (child == 0) {
		alarm(CHILD_SECONDS);
		figures = live_with(hardship, is_hard);
		_exit(write(ends[1], &figures, sizeof(figures)) != sizeof(figures) ||
		      (is_hard && !hardship->fault->hit));
	}
	cr_assert_gt(child, 0);
	/* Or a child that dies early is waited for in vain. */
	close(ends[1]);
	cr_assert_eq(read(ends[0], &figures, sizeof(figures)), (ssize_t)sizeof(figures));
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0, "%s: the fault did not fire", hardship->name);
	close(ends[0]);
	return figures;
}

static void compare(const struct hardship *hardship)
{
	struct figures clean = live_in_child(hardship, false);
	struct figures after = live_in_child(hardship, true);

	cr_expect_leq(after.own_bytes, clean.own_bytes + clean.own_bytes / 10,
		      "%s: %zu KiB, not %zu", hardship->name, (size_t)after.own_bytes >> 10,
		      (size_t)clean.own_bytes >> 10);
	cr_expect_leq(after.kernel_bytes, clean.kernel_bytes + clean.kernel_bytes / 10,
		      "%s: the kernel holds %zu KiB, not %zu", hardship->name,
		      (size_t)after.kernel_bytes >> 10, (size_t)clean.kernel_bytes >> 10);
}

/* One for each row of the failure table that holds memory back. */
static const struct hardship hardships[] = {
	{ "madvise EAGAIN", &faults.madvise, .error = EAGAIN },
	{ "madvise ENOMEM", &faults.madvise, .error = ENOMEM },
	{ "madvise EINVAL", &faults.madvise, .error = EINVAL },
	{ "madvise ENOSYS", &faults.madvise, .error = ENOSYS },
	{ "madvise EPERM", &faults.madvise, .error = EPERM },
	{ "MADV_FREE unknown", &faults.madvise, .error = EINVAL, .advice = MADV_FREE,
	  .muzzy_decay_ms = 20 },
	{ "MADV_FREE refused", &faults.madvise, .error = EAGAIN, .advice = MADV_FREE,
	  .muzzy_decay_ms = 20 },
	{ "munmap", &faults.munmap, .error = ENOMEM },
	{ "munmap and madvise", &faults.munmap, .error = ENOMEM, .besides = &faults.madvise },
	{ "mremap", &faults.mremap, .error = ENOMEM },
	{ "mremap and munmap", &faults.mremap, .error = ENOMEM, .besides = &faults.munmap },
	{ "mincore under a limit", &faults.mincore, .error = EAGAIN, .limit_bytes = 1024 * MIB },
	{ "madvise lies under a limit", &faults.madvise, .lies = true, .limit_bytes = 1024 * MIB },
};

Test(machines, resident_memory_after_faults_is_that_of_a_life_without)
{
	for (size_t i = 0; i < sizeof(hardships) / sizeof(hardships[0]); i++)
		compare(&hardships[i]);
}
