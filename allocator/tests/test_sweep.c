/* SPDX-License-Identifier: MIT */
/*
 * The n-th call fails, for n = 1, 2, ... until no such call is left to fail.
 *
 * Each n is a process of its own that starts without any memory, so that every call site of the
 * short life below is hit: once, and from then on for good. Whatever is refused, the process must
 * not crash, content must hold, and once the fault is over everything must be served and given
 * back. The sweep ends at the first n whose fault did not fire, and must have come past some.
 *
 * Metadata is taken from pieces that are mapped seldom. So that each time it is taken is the one
 * that is refused, the first piece is made longer and longer, and no second one is given.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"

#define MIB             ((size_t)1 << 20)
#define SWEEP_MOST      500
#define SWEEP_BLOCKS    24
#define SWEEP_NOT_FIRED 7

TestSuite(sweep, .timeout = 120);

static const size_t sizes[] = {
	24, 900, 7000, 50000, 90000, 700000, 2 * MIB + 5000, 4 * MIB,
};

static int hold(unsigned char *block, size_t bytes, int stamp)
{
	return block[0] == stamp && block[bytes / 2] == stamp && block[bytes - 1] == stamp;
}

/* Allocate, grow, check and free; NULL is an answer. -> 0, or what went wrong. */
static int live(int is_faultless)
{
	unsigned char *blocks[SWEEP_BLOCKS];
	size_t bytes[SWEEP_BLOCKS];

	for (int i = 0; i < SWEEP_BLOCKS; i++) {
		bytes[i] = sizes[i % 8] + (size_t)i;
		blocks[i] = bedrock_calloc(1, bytes[i]);
		if (!blocks[i] && is_faultless)
			return 1;
		if (blocks[i] && !hold(blocks[i], bytes[i], 0))
			return 2;
		if (blocks[i])
			memset(blocks[i], i + 1, bytes[i]);
	}
	for (int i = 0; i < SWEEP_BLOCKS; i += 3) {
		unsigned char *grown = bedrock_realloc(blocks[i], bytes[i] * 2);

		if (grown && blocks[i] && !hold(grown, bytes[i], i + 1))
			return 3;
		if (grown && !blocks[i])
			memset(grown, i + 1, bytes[i]);
		blocks[i] = grown ? grown : blocks[i];
	}
	for (int i = 0; i < SWEEP_BLOCKS; i++) {
		if (blocks[i] && !hold(blocks[i], bytes[i], i + 1))
			return 4;
		bedrock_free(blocks[i]);
	}
	bedrock_purge();
	return 0;
}

static void *live_in_thread(void *argument)
{
	(void)argument;
	return (void *)(intptr_t)live(0);
}

static int live_twice(void)
{
	pthread_t thread;
	void *result = NULL;
	int rc = live(0);

	if (rc)
		return rc;
	if (pthread_create(&thread, NULL, live_in_thread, NULL))
		return 5;
	pthread_join(thread, &result);
	return (int)(intptr_t)result;
}

/* The life of one process: with the fault, and then without. */
static int sweep_child(struct fault *fault, int error, unsigned first, unsigned most)
{
	struct bedrock_stats stats;

	alarm(60);
	fault_install();
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.meta.left_bytes = 0;
	fault->first = first;
	fault->most = most;
	fault->error = error;
	int rc = live_twice();

	if (rc)
		return rc;
	bool has_fired = fault->hit > 0;

	fault->error = 0;
	/* Metadata is asked for again only after some requests. */
	for (int i = 0; i < 3 && rc == 0; i++)
		rc = live(1);
	bedrock_stats_read(&stats);
	if (rc == 0 && stats.allocated_bytes != 0)
		rc = 6;
	return rc == 0 && !has_fired ? SWEEP_NOT_FIRED : rc;
}

static void sweep(struct fault *fault, int error, unsigned most, unsigned least_calls)
{
	for (unsigned first = 1; first < SWEEP_MOST; first++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0)
			_exit(sweep_child(fault, error, first, most));
		cr_assert_gt(child, 0);
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert(WIFEXITED(status), "call %u: status 0x%x", first, status);
		if (WEXITSTATUS(status) == SWEEP_NOT_FIRED) {
			cr_assert_gt(first, least_calls);
			return;
		}
		cr_assert_eq(WEXITSTATUS(status), 0, "call %u: error %d", first,
			     WEXITSTATUS(status));
	}
	cr_assert_fail("no end of calls");
}

Test(sweep, each_mmap_refused_once)
{
	sweep(&faults.mmap, ENOMEM, 1, 10);
}

Test(sweep, each_mmap_refused_from_then_on)
{
	sweep(&faults.mmap, ENOMEM, 0, 10);
}

Test(sweep, each_munmap_refused_once)
{
	sweep(&faults.munmap, ENOMEM, 1, 10);
}

Test(sweep, each_munmap_refused_from_then_on)
{
	sweep(&faults.munmap, ENOMEM, 0, 10);
}

Test(sweep, each_mremap_refused_once)
{
	sweep(&faults.mremap, ENOMEM, 1, 2);
}

Test(sweep, each_mremap_refused_from_then_on)
{
	sweep(&faults.mremap, ENOMEM, 0, 2);
}

Test(sweep, each_madvise_refused_once)
{
	sweep(&faults.madvise, EAGAIN, 1, 2);
}

Test(sweep, each_madvise_refused_from_then_on)
{
	sweep(&faults.madvise, EINVAL, 0, 2);
}

#define META_THREADS    8
#define META_ARENAS     4
#define META_STEP       2048u
#define META_PIECE      ((size_t)256 << 10)
#define META_MOST_BYTES MIB

static pthread_barrier_t meta_barrier;

/* All threads are alive at once, so that none inherits the cache of another. */
static void *live_beside_others(void *argument)
{
	unsigned char *blocks[40];
	intptr_t result = 0;

	(void)argument;
	for (int i = 0; i < 40; i++) {
		size_t bytes = (size_t)1 << (4 + i % 14);

		blocks[i] = bedrock_calloc(1, bytes);
		if (!blocks[i] || !hold(blocks[i], bytes, 0))
			result = 8;
		else
			memset(blocks[i], i + 1, bytes);
	}
	pthread_barrier_wait(&meta_barrier);
	for (int i = 0; i < 40; i++) {
		if (blocks[i] && !hold(blocks[i], (size_t)1 << (4 + i % 14), i + 1))
			result = 9;
		bedrock_free(blocks[i]);
	}
	return (void *)result;
}

static int live_in_threads(void)
{
	pthread_t threads[META_THREADS];
	int rc = 0;

	pthread_barrier_init(&meta_barrier, NULL, META_THREADS);
	for (int i = 0; i < META_THREADS; i++) {
		if (pthread_create(&threads[i], NULL, live_beside_others, NULL))
			_exit(5);
	}
	for (int i = 0; i < META_THREADS; i++) {
		void *result = NULL;

		pthread_join(threads[i], &result);
		rc = result ? (int)(intptr_t)result : rc;
	}
	pthread_barrier_destroy(&meta_barrier);
	return rc;
}

static int meta_child(size_t left_bytes, unsigned most)
{
	static char piece[META_MOST_BYTES] __attribute__((aligned(64)));
	struct bedrock_stats stats;

	alarm(60);
	fault_install();
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	bedrock_store_relaxed(&bedrock_heap.arena_count, META_ARENAS);
	bedrock_heap.meta.at = piece;
	bedrock_heap.meta.left_bytes = left_bytes;
	faults.mmap.bytes = META_PIECE;
	faults.mmap.most = most;
	faults.mmap.error = ENOMEM;
	int rc = live_in_threads();
	bool has_fired = faults.mmap.hit > 0;

	faults.mmap.error = 0;
	for (int i = 0; i < 3 && rc == 0; i++)
		rc = live_in_threads();
	bedrock_purge();
	bedrock_stats_read(&stats);
	if (rc == 0 && stats.allocated_bytes != 0)
		rc = 6;
	return rc == 0 && !has_fired ? SWEEP_NOT_FIRED : rc;
}

static void sweep_meta(unsigned most)
{
	for (size_t left = 0; left < META_MOST_BYTES; left += META_STEP) {
		int status = 0;
		pid_t child = fork();

		if (child == 0)
			_exit(meta_child(left, most));
		cr_assert_gt(child, 0);
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_assert(WIFEXITED(status), "%zu bytes: status 0x%x", left, status);
		if (WEXITSTATUS(status) == SWEEP_NOT_FIRED) {
			cr_assert_gt(left, META_THREADS * sizeof(struct bedrock_cache));
			return;
		}
		cr_assert_eq(WEXITSTATUS(status), 0, "%zu bytes: error %d", left,
			     WEXITSTATUS(status));
	}
	cr_assert_fail("no end of metadata");
}

Test(sweep, each_piece_of_metadata_refused_once)
{
	sweep_meta(1);
}

Test(sweep, each_piece_of_metadata_refused_from_then_on)
{
	sweep_meta(0);
}
