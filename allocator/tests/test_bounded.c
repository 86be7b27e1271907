/* SPDX-License-Identifier: MIT */
/*
 * No refusal makes a loop: whatever the kernel refuses for ever, with EAGAIN as well, each request
 * ends after a few calls, and each pass over what is unused after a few more.
 *
 * Every step is made once while everything of one kind is refused, and the calls of that kind are
 * counted, step by step. The steps before it have left free memory of all kinds behind.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"

#define MIB ((size_t)1 << 20)
/* Of one request, which is tried once more after all that could help has been given back. */
#define REQUEST_CALLS 4u
/* Of a pass in each arena, and besides for what is kept of huge blocks. */
#define PASS_CALLS      4u
#define PASS_HUGE_CALLS (BEDROCK_HUGE_KEPT_MAX + 2)

/* The huge block that is resized. */
#define HUGE 7

static char *held[64];

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.dirty_decay_ms = 0;
	fault_install();
}

TestSuite(bounded, .init = setup, .timeout = 60);

/* Half of what is taken here goes, so that no chunk is free as a whole. */
static void leave_much_unused(void)
{
	static const size_t sizes[] = { 500, 30000, 250000, 3 * MIB };

	for (int i = 0; i < 64; i++) {
		held[i] = bedrock_malloc(sizes[i % 4] + (size_t)i);
		cr_assert(held[i]);
		memset(held[i], 1, sizes[i % 4]);
	}
	for (int i = 0; i < 64; i++) {
		if (i % 8 >= 4)
			continue;
		bedrock_free(held[i]);
		held[i] = NULL;
	}
}

static void step_malloc_small(void)
{
	bedrock_free(bedrock_malloc(700));
}

static void step_calloc_large(void)
{
	bedrock_free(bedrock_calloc(1, 900000));
}

static void step_malloc_huge(void)
{
	bedrock_free(bedrock_malloc(40 * MIB));
}

static void step_aligned(void)
{
	bedrock_free(bedrock_aligned_alloc(16 * MIB, 3 * MIB));
}

static void step_grow(void)
{
	char *grown = bedrock_realloc(held[HUGE], 50 * MIB);

	held[HUGE] = grown ? grown : held[HUGE];
}

static void step_shrink(void)
{
	char *shrunk = bedrock_realloc(held[HUGE], 3 * MIB);

	held[HUGE] = shrunk ? shrunk : held[HUGE];
}

static void step_free_huge(void)
{
	bedrock_free(held[HUGE]);
	held[HUGE] = NULL;
}

static void step_decay(void)
{
	bedrock_decay_all(&bedrock_heap, bedrock_os_now_ns());
}

static void step_purge(void)
{
	bedrock_purge();
}

static const struct step {
	const char *name;
	void (*go)(void);
	bool is_pass;
} steps[] = {
	{ "malloc of a small block", step_malloc_small, false },
	{ "calloc of a large block", step_calloc_large, false },
	{ "malloc of a huge block", step_malloc_huge, false },
	{ "aligned_alloc", step_aligned, false },
	{ "realloc to more", step_grow, false },
	{ "realloc to less", step_shrink, false },
	{ "free of a huge block", step_free_huge, false },
	{ "decay", step_decay, true },
	{ "purge", step_purge, true },
	{ "purge again", step_purge, true },
};

static unsigned allowed_calls(const struct step *step)
{
	if (!step->is_pass)
		return REQUEST_CALLS;
	return PASS_CALLS * bedrock_load_relaxed(&bedrock_heap.arena_count) + PASS_HUGE_CALLS;
}

static void take_steps(struct fault *fault, const char *name)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		fault->seen = 0;
		steps[i].go();
		cr_expect_leq(fault->seen, allowed_calls(&steps[i]), "%s, %s: %u calls", name,
			      steps[i].name, fault->seen);
	}
	for (int i = 0; i < 64; i++) {
		bedrock_free(held[i]);
		held[i] = NULL;
	}
}

/* Every step once; `fault` is refused with each errno in turn. */
static void check_calls_of(struct fault *fault, const char *name, const int *errors)
{
	for (; *errors; errors++) {
		fault->error = 0;
		leave_much_unused();
		fault->error = *errors;
		take_steps(fault, name);
	}
	cr_assert_gt(fault->hit, 0);
}

Test(bounded, calls_of_mmap)
{
	check_calls_of(&faults.mmap, "mmap", (const int[]){ ENOMEM, EAGAIN, 0 });
}

Test(bounded, calls_of_munmap)
{
	check_calls_of(&faults.munmap, "munmap", (const int[]){ ENOMEM, EAGAIN, EINTR, 0 });
}

Test(bounded, calls_of_mremap)
{
	check_calls_of(&faults.mremap, "mremap", (const int[]){ ENOMEM, EAGAIN, EFAULT, 0 });
}

Test(bounded, calls_of_madvise)
{
	check_calls_of(&faults.madvise, "madvise", (const int[]){ EAGAIN, ENOMEM, EINTR, 0 });
}

Test(bounded, calls_of_mincore_under_a_limit)
{
	bedrock_limit_memory(1024 * MIB, 0);
	check_calls_of(&faults.mincore, "mincore", (const int[]){ EAGAIN, ENOMEM, 0 });
}

Test(bounded, calls_of_madvise_when_munmap_is_refused_as_well)
{
	faults.munmap.error = ENOMEM;
	check_calls_of(&faults.madvise, "madvise", (const int[]){ EAGAIN, ENOMEM, 0 });
	cr_assert_gt(faults.munmap.hit, 0);
}

Test(bounded, calls_of_pthread_create)
{
	bedrock_heap.options.is_background_thread = true;
	bedrock_heap.options.dirty_decay_ms = 500;
	bedrock_store_relaxed(&bedrock_heap.is_constructed, true);
	faults.thread.error = EAGAIN;
	for (int i = 0; i < 20; i++) {
		leave_much_unused();
		take_steps(&faults.thread, "pthread_create");
	}
	cr_assert_gt(faults.thread.hit, 0);
	cr_assert_leq(faults.thread.hit, 4, "%u tries, a second and more apart", faults.thread.hit);
}
