/* SPDX-License-Identifier: MIT */
/*
 * The model-based test itself: it finds what is wrong, and shrinks it to next to nothing.
 *
 * Bad allocators are made of the good one: each wraps one call and goes wrong once something has
 * come together. A random sequence must fail on it, for the reason planted, and what is left after
 * shrinking must be a handful of calls that fail again after a trip through a file.
 */
#include <criterion/criterion.h>
#include <signal.h>

#include "allocator/tests/shrink.h"

#define CALLS          4000
#define SHRINK_SECONDS 60

TestSuite(model, .timeout = 120);

/* What the bad calls remember; each run is a process of its own. */
static struct {
	_Atomic uintptr_t last;
	_Atomic unsigned frees;
	_Atomic unsigned aligned;
} planted;

static struct model_call calls[CALLS], scratch[CALLS];

/* Every block but the first of these sizes is the one before it once more. */
static void *malloc_twice(size_t bytes)
{
	if (bytes < 300 || bytes > 320)
		return bedrock_malloc(bytes);
	uintptr_t last = atomic_exchange(&planted.last, 0);

	if (last)
		return (void *)last;
	planted.last = (uintptr_t)bedrock_malloc(bytes);
	return (void *)(uintptr_t)planted.last;
}

/* Begins within the one before, once an aligned block was asked for. */
static void *malloc_overlapping(size_t bytes)
{
	if (bytes <= 256 || bytes > 288 || !planted.aligned)
		return bedrock_malloc(bytes);
	uintptr_t last = atomic_exchange(&planted.last, 0);

	if (last)
		return (void *)(last + 16);
	planted.last = (uintptr_t)bedrock_malloc(bytes);
	return (void *)(uintptr_t)planted.last;
}

static void *aligned_alloc_noting(size_t align_bytes, size_t bytes)
{
	planted.aligned++;
	return bedrock_aligned_alloc(align_bytes, bytes);
}

static void *aligned_alloc_askew(size_t align_bytes, size_t bytes)
{
	char *block = bedrock_aligned_alloc(align_bytes, bytes + 64);

	return block && align_bytes == 4096 ? block + 32 : block;
}

static void free_counting(void *block)
{
	planted.frees += block != NULL;
	bedrock_free(block);
}

/* Dirty after the second free. */
static void *calloc_dirty(size_t count, size_t item_bytes)
{
	unsigned char *block = bedrock_calloc(count, item_bytes);

	if (block && planted.frees >= 2 && count * item_bytes > 100)
		block[99] = 1;
	return block;
}

static void *realloc_losing(void *block, size_t bytes)
{
	unsigned char *grown = bedrock_realloc(block, bytes);

	if (grown && block && bytes > 2000)
		grown[7] ^= 1;
	return grown;
}

static void *malloc_null(size_t bytes)
{
	if (bytes % 64 != 63)
		return bedrock_malloc(bytes);
	errno = ENOMEM;
	return NULL;
}

/* Gives up for faults that are no reason to. */
static void *malloc_timid(size_t bytes)
{
	if (!faults.munmap.error && !faults.madvise.error && !faults.mincore.error)
		return bedrock_malloc(bytes);
	errno = ENOMEM;
	return NULL;
}

static void free_setting_errno(void *block)
{
	bedrock_free(block);
	errno = ENOMEM;
}

/* Keeps a block for good after the third. */
static void free_forgetting(void *block)
{
	if (++planted.frees % 4 != 0)
		bedrock_free(block);
}

static void free_crashing(void *block)
{
	if (block && planted.aligned) {
		/* A sanitizer would make a report of it. */
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	bedrock_free(block);
}

static void *malloc_hanging(size_t bytes)
{
	while (bytes >= 70 && bytes < 80)
		usleep(1000);
	return bedrock_malloc(bytes);
}

/* Write the calls to a file and read them back. */
static size_t through_file(struct model_call *out, const struct model_call *in, size_t count)
{
	FILE *file = tmpfile();

	cr_assert(file);
	model_write(file, in, count);
	rewind(file);
	long read_count = model_read(file, out, CALLS);

	fclose(file);
	cr_assert_eq(read_count, (long)count);
	cr_assert_eq(memcmp(out, in, count * sizeof(*in)), 0);
	return (size_t)read_count;
}

/* Find the bug planted in `api`, and shrink what has found it. */
static void find(const struct model_api *api, const char *reason, size_t most_calls)
{
	struct shrink shrink;

	cr_assert_eq(shrink_init(&shrink, api, SHRINK_SECONDS), 0);
	shrink.child_seconds = 2;
	model_draw(calls, CALLS, 5);
	cr_assert(shrink_fails(&shrink, calls, CALLS), "not found");
	size_t count = shrink_calls(&shrink, calls, CALLS, scratch);

	cr_assert_gt(count, 0, "did not fail again");
	cr_assert_leq(count, most_calls, "%zu calls are left: %s", count, shrink.outcome->reason);
	cr_assert(strstr(shrink.outcome->reason, reason), "found for another reason: %s",
		  shrink.outcome->reason);
	cr_assert(shrink_fails(&shrink, scratch, through_file(scratch, calls, count)));
	shrink_end(&shrink);
}

Test(model, a_block_handed_out_twice_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.malloc = malloc_twice;
	find(&api, "overlaps", 2);
}

Test(model, a_block_within_another_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.malloc = malloc_overlapping;
	api.aligned_alloc = aligned_alloc_noting;
	/* A build for debugging looks at what is freed before the model does, and aborts. */
	find(&api, BEDROCK_DEBUG < 3 ? "overlaps" : "signal 6", 3);
}

Test(model, a_block_out_of_alignment_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.aligned_alloc = aligned_alloc_askew;
	find(&api, "not aligned", 1);
}

Test(model, dirty_memory_of_calloc_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.calloc = calloc_dirty;
	api.free = free_counting;
	find(&api, "calloc", 5);
}

Test(model, content_lost_by_realloc_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.realloc = realloc_losing;
	find(&api, "realloc", 2);
}

Test(model, a_refusal_without_a_fault_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.malloc = malloc_null;
	find(&api, "refused without a fault", 1);
}

Test(model, a_refusal_under_a_fault_that_is_no_reason_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.malloc = malloc_timid;
	find(&api, "refused without a fault", 2);
}

Test(model, a_free_that_sets_errno_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.free = free_setting_errno;
	find(&api, "errno", 1);
}

Test(model, a_block_that_is_never_freed_is_found_at_the_end_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.free = free_forgetting;
	find(&api, "left allocated", 5);
}

Test(model, a_crash_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.free = free_crashing;
	api.aligned_alloc = aligned_alloc_noting;
	find(&api, "signal 11", 3);
}

Test(model, a_call_that_never_returns_is_found_and_shrunk)
{
	struct model_api api = model_api_bedrock;

	api.malloc = malloc_hanging;
	find(&api, "signal 14", 1);
}

Test(model, the_allocator_itself_passes_in_order_and_beside_each_other)
{
	struct shrink shrink;

	cr_assert_eq(shrink_init(&shrink, &model_api_bedrock, 0), 0);
	model_draw(calls, CALLS, 9);
	for (int i = 0; i < 2; i++) {
		shrink.is_in_order = i == 0;
		cr_assert_not(shrink_fails(&shrink, calls, CALLS), "%s", shrink.outcome->reason);
	}
	shrink_end(&shrink);
}

Test(model, a_fault_that_has_never_fired_in_so_many_calls_is_named)
{
	struct model_outcome outcome = { .refused = 1 };
	struct model_sum sum = { .calls = 0 };

	for (unsigned i = 0; i < MODEL_FAULT_COUNT; i++)
		outcome.fired[i] = i != MODEL_FAULT_MREMAP && i != MODEL_FAULT_THREAD;
	model_sum_add(&sum, &outcome, 120000);
	cr_assert_null(model_sum_lacks(&sum, true), "too few calls for the rare ones");
	model_sum_add(&sum, &outcome, 1880000);
	cr_assert_str_eq(model_sum_lacks(&sum, true), "mremap");
	outcome.fired[MODEL_FAULT_MREMAP] = 1;
	model_sum_add(&sum, &outcome, 18000000);
	cr_assert_str_eq(model_sum_lacks(&sum, true), "pthread_create");
	cr_assert_null(model_sum_lacks(&sum, false));
	sum.refused = 0;
	cr_assert_str_eq(model_sum_lacks(&sum, false), "request");
}

Test(model, the_same_seed_gives_the_same_calls_and_another_gives_others)
{
	model_draw(calls, CALLS, 3);
	model_draw(scratch, CALLS, 3);
	cr_assert_eq(memcmp(calls, scratch, sizeof(calls)), 0);
	model_draw(scratch, CALLS, 4);
	cr_assert_neq(memcmp(calls, scratch, sizeof(calls)), 0);
}

Test(model, a_sequence_contains_every_kind_of_call_and_weights_add_up)
{
	unsigned seen[MODEL_KIND_COUNT] = { 0 };
	unsigned sum = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		model_draw(calls, CALLS, seed);
		for (size_t i = 0; i < CALLS; i++)
			seen[calls[i].kind]++;
	}
	for (unsigned kind = 0; kind < MODEL_KIND_COUNT; kind++) {
		cr_assert_gt(seen[kind], 0, "%s", model_kinds[kind].name);
		sum += model_kinds[kind].weight;
	}
	cr_assert_eq(sum, 10000);
}

Test(model, lines_that_are_no_calls_are_refused)
{
	static const char *const bad[] = {
		"",
		"malloc",
		"malloc 0 0 100 0",
		"mallocate 0 0 100 0 0",
		"malloc 4 0 100 0 0",
		"malloc 0 128 100 0 0",
		"malloc x 0 100 0 0",
	};
	struct model_call call;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not(model_parse(bad[i], &call), "%s", bad[i]);
	cr_assert(model_parse("malloc 3 127 100 0 0", &call));
	cr_assert_eq(call.bytes, 100);
}
