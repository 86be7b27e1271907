/* SPDX-License-Identifier: MIT */
/*
 * At the limit: what a refused request costs, that service resumes, callbacks, threads and fork.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/residence.h"
#include "allocator/tests/stress.h"

#define KIB         ((uint64_t)1 << 10)
#define MIB         ((uint64_t)1 << 20)
#define LIMIT_BYTES (16 * MIB)
#define BLOCKS_MAX  100000

static void *blocks[BLOCKS_MAX];
static unsigned block_count;

static void setup(void)
{
	residence_install();
	bedrock_limit_memory(LIMIT_BYTES, 0);
}

TestSuite(relief, .init = setup, .timeout = 60);

/* Take touched blocks until one is refused. */
static void fill(size_t bytes)
{
	while (block_count < BLOCKS_MAX) {
		void *block = bedrock_malloc(bytes);

		if (!block)
			return;
		memset(block, 1, bytes);
		blocks[block_count++] = block;
	}
	cr_assert_fail("the limit was never reached");
}

static void drain(unsigned keep_count)
{
	while (block_count > keep_count)
		bedrock_free(blocks[--block_count]);
}

Test(relief, limit_gives_null_and_enomem_and_is_used_to_the_full)
{
	fill(5000);
	cr_assert_eq(errno, ENOMEM);
	cr_assert_leq(bedrock_resident(), LIMIT_BYTES);
	cr_assert_leq(residence_bytes(), LIMIT_BYTES);
	cr_assert_geq(block_count * UINT64_C(5000), LIMIT_BYTES - LIMIT_BYTES / 8);
}

Test(relief, refused_requests_make_no_system_calls)
{
	fill(5000);
	unsigned before = residence.calls;

	for (int i = 0; i < 10000; i++) {
		cr_assert_null(bedrock_malloc(5000));
		cr_assert_null(bedrock_malloc(300000));
		cr_assert_null(bedrock_malloc(5000000));
	}
	cr_assert_leq(residence.calls - before, 100);
}

Test(relief, refused_requests_are_cheap_while_purges_are_refused)
{
	fill(5000);
	drain(block_count / 2);
	residence.error = EAGAIN;
	unsigned before = residence.calls;

	for (int i = 0; i < 10000; i++)
		cr_assert_null(bedrock_malloc(12 * MIB));
	/* Some milliseconds pass, and with each doubled pause another four refusals. */
	cr_assert_leq(residence.calls - before, 2000);
	residence.error = 0;
}

Test(relief, refused_requests_are_cheap_while_munmap_is_refused)
{
	bedrock_heap.options.is_background_thread = false;
	void *kept = bedrock_malloc(3 * MIB);

	fill(5000);
	residence.unmap_error = ENOMEM;
	bedrock_free(kept);
	bedrock_purge();
	cr_assert_eq(bedrock_heap.huge.stuck.count, 1);
	cr_assert_gt(residence.unmap_refusals, 0);
	fill(5000);
	uint64_t before_ns = bedrock_os_now_ns();
	unsigned before = residence.unmap_refusals;

	for (int i = 0; i < 10000; i++) {
		cr_assert_null(bedrock_malloc(300000));
		cr_assert_null(bedrock_malloc(12 * MIB));
	}
	/* One for each pause of 100 ms, by requests and by decay, and one more that had begun. */
	uint64_t pauses = (bedrock_os_now_ns() - before_ns) / 100000000 + 1;

	cr_assert_leq(residence.unmap_refusals - before, 2 * pauses + 2);
	residence.unmap_error = 0;
	bedrock_purge();
	cr_assert_eq(bedrock_heap.huge.stuck.count, 0);
}

Test(relief, service_resumes_as_soon_as_memory_is_freed)
{
	fill(5000);
	drain(block_count / 2);
	void *block = bedrock_malloc(4 * MIB);

	cr_assert_not_null(block);
	memset(block, 1, 4 * MIB);
	cr_assert_leq(residence_bytes(), LIMIT_BYTES);
	bedrock_free(block);
	drain(0);
	cr_assert_not_null(bedrock_malloc(12 * MIB));
}

Test(relief, service_resumes_when_purges_work_again)
{
	fill(5000);
	residence.error = EAGAIN;
	drain(0);
	cr_assert_null(bedrock_malloc(12 * MIB));
	cr_assert_leq(residence_bytes(), LIMIT_BYTES);
	residence.error = 0;
	void *block = NULL;

	for (int i = 0; i < 500 && !block; i++) {
		block = bedrock_malloc(12 * MIB);
		usleep(10000);
	}
	cr_assert_not_null(block);
}

Test(relief, more_than_the_limit_is_refused_without_any_effort)
{
	fill(5000);
	drain(block_count / 2);
	unsigned before = residence.calls;

	cr_assert_null(bedrock_malloc(LIMIT_BYTES + 1));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_leq(residence.calls - before, 1);
}

Test(relief, refused_growth_keeps_the_block)
{
	unsigned char *block = bedrock_malloc(6 * MIB);

	memset(block, 7, 6 * MIB);
	cr_assert_null(bedrock_realloc(block, LIMIT_BYTES));
	cr_assert_eq(errno, ENOMEM);
	cr_assert_eq(block[6 * MIB - 1], 7);
	block = bedrock_realloc(block, 13 * MIB);
	cr_assert_not_null(block);
	cr_assert_eq(block[6 * MIB - 1], 7);
	cr_assert_leq(residence_bytes(), LIMIT_BYTES);
}

Test(relief, lowered_limit_refuses_until_enough_is_freed)
{
	fill(5000);
	cr_assert_gt(bedrock_limit_memory(8 * MIB, 0), 8 * MIB);
	cr_assert_null(bedrock_malloc(5000));
	drain(block_count / 4);
	/* Served out of pages that are charged already; the others go in their time. */
	cr_assert_not_null(bedrock_malloc(300000));
	bedrock_purge();
	cr_assert_leq(bedrock_resident(), 8 * MIB);
	cr_assert_not_null(bedrock_malloc(300000));
	cr_assert_leq(bedrock_resident(), 8 * MIB);
	bedrock_limit_memory(0, 0);
	cr_assert_not_null(bedrock_malloc(64 * MIB));
}

/* What a callback saw and did. */
struct called {
	unsigned hard;
	unsigned soft;
	size_t wanted_bytes;
	bool is_refused_inside;
	bool is_deregistering;
	int off_rc;
};

static struct called called;

static void on_pressure(enum bedrock_pressure pressure, size_t wanted_bytes, void *argument)
{
	struct called *mine = argument;

	errno = EIO;
	if (pressure == BEDROCK_PRESSURE_SOFT) {
		mine->soft++;
		return;
	}
	mine->hard++;
	mine->wanted_bytes = wanted_bytes;
	/* Refused in here as well, and no callback is called for that. */
	mine->is_refused_inside = bedrock_malloc(8 * MIB) == NULL;
	drain(block_count / 2);
	if (mine->is_deregistering)
		mine->off_rc = bedrock_off_pressure(on_pressure, mine);
}

Test(relief, callback_frees_memory_and_the_request_succeeds)
{
	fill(5000);
	cr_assert_eq(bedrock_on_pressure(on_pressure, &called), 0);
	void *block = bedrock_malloc(7 * MIB);

	cr_assert_not_null(block);
	cr_assert_eq(called.hard, 1);
	cr_assert_eq(called.wanted_bytes, 7 * MIB);
	cr_assert(called.is_refused_inside);
	cr_assert_leq(bedrock_resident(), LIMIT_BYTES);
}

static void only_count(enum bedrock_pressure pressure, size_t wanted_bytes, void *argument)
{
	(void)pressure;
	(void)wanted_bytes;
	(*(unsigned *)argument)++;
}

Test(relief, useless_callbacks_are_not_called_for_every_refusal)
{
	unsigned calls = 0;

	bedrock_limit_memory(LIMIT_BYTES, LIMIT_BYTES);
	fill(5000);
	cr_assert_eq(bedrock_on_pressure(only_count, &calls), 0);
	for (int i = 0; i < 100000; i++)
		cr_assert_null(bedrock_malloc(5000));
	cr_assert_gt(calls, 0);
	cr_assert_lt(calls, 10000);
}

Test(relief, callback_may_take_itself_away)
{
	fill(5000);
	called.is_deregistering = true;
	called.off_rc = -1;
	cr_assert_eq(bedrock_on_pressure(on_pressure, &called), 0);
	cr_assert_not_null(bedrock_malloc(7 * MIB));
	cr_assert_eq(called.off_rc, 0);
	cr_assert_eq(bedrock_off_pressure(on_pressure, &called), ENOENT);
}

Test(relief, soft_limit_calls_and_free_keeps_errno)
{
	bedrock_limit_memory(LIMIT_BYTES, 4 * MIB);
	cr_assert_eq(bedrock_on_pressure(on_pressure, &called), 0);
	for (int i = 0; i < 100; i++)
		blocks[block_count++] = bedrock_malloc(100000);
	cr_assert_gt(called.soft, 0);
	usleep(150000);
	called.soft = 0;
	errno = 0;
	bedrock_free(blocks[--block_count]);
	cr_assert_eq(called.soft, 1);
	cr_assert_eq(errno, 0);
}

Test(relief, registration_is_checked)
{
	unsigned calls = 0;

	cr_assert_eq(bedrock_on_pressure(NULL, NULL), EINVAL);
	for (int i = 0; i < BEDROCK_PRESSURE_CALLBACKS_MAX; i++)
		cr_assert_eq(bedrock_on_pressure(only_count, &calls), 0);
	cr_assert_eq(bedrock_on_pressure(only_count, &calls), ENOMEM);
	cr_assert_eq(bedrock_off_pressure(only_count, &calls), 0);
	cr_assert_eq(bedrock_on_pressure(only_count, &calls), 0);
}

Test(relief, child_of_a_fork_has_the_limit_too)
{
	int status;

	fill(5000);
	drain(block_count - block_count / 8);
	pid_t child = fork();

	if (child == 0) {
		alarm(20);
		fill(5000);
		_exit(bedrock_resident() <= LIMIT_BYTES && errno == ENOMEM ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	fill(5000);
	cr_assert_leq(bedrock_resident(), LIMIT_BYTES);
}

#define HAMMERS      4
#define HAMMER_SLOTS 400
#define HAMMER_TURNS 30000

static _Atomic unsigned hammers_done;

static void *hammer(void *argument)
{
	struct stress_block slots[HAMMER_SLOTS] = { { NULL, 0, 0 } };
	uint64_t state = (uintptr_t)argument;

	for (int i = 0; i < HAMMER_TURNS; i++) {
		struct stress_block *slot = &slots[stress_random(&state) % HAMMER_SLOTS];

		bedrock_free(slot->start);
		slot->bytes = stress_size(&state);
		slot->start = bedrock_malloc(slot->bytes);
		if (slot->start)
			stress_fill(slot, state);
	}
	for (int i = 0; i < HAMMER_SLOTS; i++)
		bedrock_free(slots[i].start);
	hammers_done++;
	return NULL;
}

Test(relief, threads_at_the_limit_never_pass_it_as_the_kernel_counts)
{
	pthread_t threads[HAMMERS];
	uint64_t worst_bytes = 0;

	bedrock_limit_memory(8 * MIB, 0);
	for (uintptr_t i = 0; i < HAMMERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
	while (hammers_done < HAMMERS) {
		uint64_t resident_bytes = residence_bytes();

		worst_bytes = resident_bytes > worst_bytes ? resident_bytes : worst_bytes;
		usleep(1000);
	}
	for (int i = 0; i < HAMMERS; i++)
		pthread_join(threads[i], NULL);
	cr_assert_leq(worst_bytes, 8 * MIB);
	cr_assert_geq(worst_bytes, 6 * MIB);
	cr_assert_gt(bedrock_heap.space.limit.refusals, 0);
	bedrock_purge();
	cr_assert_not_null(bedrock_malloc(5 * MIB));
}
