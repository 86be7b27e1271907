/* SPDX-License-Identifier: MIT */
/*
 * Every legal failure of what gives memory back while a program runs: the advice, what looks after
 * it, and the thread that would do it.
 *
 * Each test refuses one of them, checks that the fault fired, that nobody storms the kernel and
 * that nothing is lost; then, with the fault ended, that memory goes back again.
 */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/living.h"

#define MIB ((size_t)1 << 20)

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.dirty_decay_ms = 20;
	fault_install();
}

TestSuite(purges, .init = setup, .timeout = 60);

/* A refusal of madvise: no storm, nothing lost, and purging resumes when it ends. */
static void check_refused_madvise(int error, unsigned every)
{
	size_t start_bytes = resident_bytes();

	faults.madvise.error = error;
	faults.madvise.every = every;
	/* One block stays per chunk, so that chunks cannot simply be unmapped. */
	static void *pins[64];

	for (int i = 0; i < 40; i++) {
		pins[i] = bedrock_malloc(600000);
		make_dirty(8, 250000);
	}
	stay_alive(300);
	cr_assert_gt(faults.madvise.hit, 0);
	cr_assert_lt(faults.madvise.hit, 400, "%u refused calls in 0.3 s", faults.madvise.hit);
	cr_assert_gt(stats_now().failed_purge_calls, 0);
	faults.madvise.error = 0;
	stay_alive(2600);
	cr_assert_leq(stats_now().dirty_bytes, 4 * MIB, "%zu dirty",
		      (size_t)stats_now().dirty_bytes);
	/* The pins may sit on pages that were written before. */
	cr_assert_leq(resident_bytes(), start_bytes + 40 * 600000 + 12 * MIB);
	for (int i = 0; i < 40; i++)
		bedrock_free(pins[i]);
}

Test(purges, madvise_always_eagain_backs_off_and_resumes)
{
	check_refused_madvise(EAGAIN, 1);
}

Test(purges, madvise_always_enomem_backs_off_and_resumes)
{
	check_refused_madvise(ENOMEM, 1);
}

Test(purges, madvise_always_einval_backs_off_and_resumes)
{
	check_refused_madvise(EINVAL, 1);
}

Test(purges, madvise_always_enosys_backs_off_and_resumes)
{
	check_refused_madvise(ENOSYS, 1);
}

Test(purges, madvise_always_eperm_backs_off_and_resumes)
{
	check_refused_madvise(EPERM, 1);
}

Test(purges, madvise_eagain_half_of_the_time_still_purges)
{
	check_refused_madvise(EAGAIN, 2);
}

Test(purges, madvise_free_einval_falls_back_to_dontneed_and_is_tried_again)
{
	bedrock_heap.options.muzzy_decay_ms = 100000;
	faults.madvise.error = EINVAL;
	faults.madvise.advice = MADV_FREE;
	static void *pin;

	pin = bedrock_malloc(100000);
	make_dirty(20, 100000);
	stay_alive(100);
	cr_assert_eq(faults.madvise.hit, 1, "%u probes in a tenth of a second", faults.madvise.hit);
	cr_assert_eq(stats_now().muzzy_bytes, 0);
	cr_assert_gt(stats_now().purge_calls, 0);
	faults.madvise.error = 0;
	stay_alive(2100);
	make_dirty(20, 100000);
	stay_alive(100);
	cr_assert_gt(stats_now().muzzy_bytes, 0, "MADV_FREE is used again");
	bedrock_free(pin);
}

Test(purges, madvise_dontneed_that_lies_never_makes_calloc_dirty)
{
	const size_t sizes[] = { 32, 5000, 70000, 300000, 1500000, 3000000 };

	bedrock_heap.options.dirty_decay_ms = 0;
	faults.madvise.lies = true;
	faults.munmap.error = ENOMEM;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 6; i++) {
			unsigned char *block = bedrock_calloc(1, sizes[i]);
			size_t at = 0;

			while (at < sizes[i] && block[at] == 0)
				at++;
			cr_assert_eq(at, sizes[i]);
			memset(block, 0xee, bedrock_malloc_usable_size(block));
			bedrock_free(block);
		}
		bedrock_purge();
	}
	cr_assert_gt(faults.madvise.hit, 0);
	cr_assert_gt(faults.munmap.hit, 0);
}

/* On another CPU the next block would come from another arena. */
static void stay_on_this_cpu(void)
{
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET((unsigned)sched_getcpu(), &here);
	sched_setaffinity(0, sizeof(here), &here);
}

Test(purges, madvise_is_believed_only_if_it_is_trusted)
{
	stay_on_this_cpu();
	for (int is_trusted = 0; is_trusted < 2; is_trusted++) {
		unsigned char *block = bedrock_malloc(MIB);

		bedrock_heap.space.is_purge_trusted = is_trusted;
		memset(block, 0xff, MIB);
		bedrock_free(block);
		faults.madvise.lies = true;
		bedrock_purge();
		cr_assert_gt(faults.madvise.hit, 0);
		faults.madvise.lies = false;
		unsigned char *again = bedrock_calloc(1, MIB);

		cr_assert_eq(again, block);
		cr_assert_eq(again[MIB / 2], is_trusted ? 0xff : 0);
		bedrock_free(again);
	}
}

Test(purges, madvise_free_refused_otherwise_leaves_pages_dirty_and_is_tried_again)
{
	bedrock_heap.options.muzzy_decay_ms = 100000;
	faults.madvise.error = EAGAIN;
	faults.madvise.advice = MADV_FREE;
	void *pin = bedrock_malloc(100000);

	make_dirty(20, 100000);
	stay_alive(100);
	cr_assert_gt(faults.madvise.hit, 0);
	cr_assert_eq(stats_now().muzzy_bytes, 0);
	cr_assert_gt(stats_now().dirty_bytes, 0);
	faults.madvise.error = 0;
	stay_alive(2600);
	cr_assert_gt(stats_now().muzzy_bytes, 0);
	bedrock_free(pin);
}

Test(purges, mincore_refused_after_a_purge_under_a_limit_leaves_pages_charged)
{
	bedrock_limit_memory(64 * MIB, 0);
	void *pin = bedrock_malloc(100000);

	make_dirty(20, 100000);
	uint64_t charged_bytes = bedrock_resident();

	faults.mincore.error = ENOMEM;
	bedrock_purge();
	cr_assert_gt(faults.mincore.hit, 0);
	cr_assert_geq(bedrock_resident() + MIB, charged_bytes, "but for credit");
	cr_assert_gt(stats_now().dirty_bytes, MIB);
	faults.mincore.error = 0;
	bedrock_purge();
	cr_assert_eq(stats_now().dirty_bytes, 0);
	cr_assert_lt(bedrock_resident() + MIB, charged_bytes);
	bedrock_free(pin);
}

Test(purges, pthread_create_refused_is_retried_with_back_off_and_decay_goes_on)
{
	bedrock_heap.options.is_background_thread = true;
	bedrock_store_relaxed(&bedrock_heap.is_constructed, true);
	faults.thread.error = EAGAIN;
	make_dirty(100, 100000);
	stay_alive(300);
	cr_assert_gt(faults.thread.hit, 0);
	cr_assert_leq(faults.thread.hit, 2, "%u tries in 0.3 s", faults.thread.hit);
	cr_assert_gt(stats_now().failed_thread_starts, 0);
	cr_assert_leq(stats_now().dirty_bytes, 4 * MIB);
}
