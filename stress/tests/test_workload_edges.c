/* SPDX-License-Identifier: MIT */
/* The workload edges: nothing is found on a sound allocator, and each bug of the borders is. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_edges, .init = start);

static uint64_t events_of(enum hq_event_kind kind, struct hq_event *last)
{
	return host_fixture_events(&fixture, 0, kind, last);
}

/* Events of requests for nothing that were answered with ENOMEM. */
static uint64_t refusals_for_nothing(void)
{
	const struct hq_wire_worker *const worker = &fixture.wire->workers[0];
	const uint64_t head = hq_load_relaxed(&worker->ring.head);
	uint64_t count = 0;

	for (uint64_t i = 0; i < head; i++)
		count += worker->events[i % HQ_WIRE_EVENTS].kind == HQ_EVENT_ZERO &&
			 worker->events[i % HQ_WIRE_EVENTS].got == HQ_ZERO_REFUSED;
	return count;
}

/* One thread is enough for whatever does not depend on a second one. */
static void run_one(void)
{
	host_fixture_run(&fixture, &run, "edges", "threads=1 rounds=1");
}

Test(workload_edges, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	fixture.allocator.reallocarray = reallocarray;
	host_fixture_run(&fixture, &run, "edges", "threads=2 rounds=2");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).missed, 0);
	cr_assert_eq(host_fixture_sum(&fixture).nulls, 0, "a right refusal counted as a NULL");
}

Test(workload_edges, an_allocator_without_the_rarer_calls_is_not_asked_for_them)
{
	fixture.allocator.posix_memalign = NULL;
	fixture.allocator.aligned_alloc = NULL;
	fixture.allocator.usable_size = NULL;
	run_one();
	host_fixture_expect_clean(&fixture);
}

Test(workload_edges, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable("edges", "threads=3 rounds=1");
}

Test(workload_edges, refusals_of_ordinary_requests_are_survived)
{
	host_fixture_refuse(&fixture, 4);
	host_fixture_run(&fixture, &run, "edges", "threads=2 rounds=2");
	cr_assert_gt(host_fixture_sum(&fixture).missed, 0);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
	cr_assert_eq(events_of(HQ_EVENT_CONTENT, NULL) + events_of(HQ_EVENT_REALLOC, NULL), 0);
	cr_assert_eq(refusals_for_nothing(), events_of(HQ_EVENT_ZERO, NULL),
		     "a refusal was taken for an answer");
}

Test(workload_edges, it_stops_early_when_told)
{
	hq_store_relaxed(&fixture.wire->finish, 1);
	host_fixture_run(&fixture, &run, "edges", "threads=2 rounds=1M");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).ops, 0);
}

/* ---- bugs ---- */

static void *wrapping_calloc(size_t count, size_t size)
{
	return calloc(1, count * size);
}

Test(workload_edges, a_product_that_wraps_is_found)
{
	struct hq_event event;

	fixture.allocator.calloc = wrapping_calloc;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_WRAP, &event), 0);
	cr_assert_eq(event.asked, HQ_ASKED_CALLOC);
	cr_assert_gt((unsigned __int128)event.expected * event.size, (unsigned __int128)event.got);
}

static void *rounding_malloc(size_t size)
{
	return malloc(((size + 15) & ~(size_t)15) > PTRDIFF_MAX ? 16 : size + 15);
}

Test(workload_edges, a_size_beyond_the_limit_that_is_served_is_found)
{
	fixture.allocator.malloc = rounding_malloc;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_WRAP, NULL), 0);
}

static void *short_malloc(size_t size)
{
	return malloc((uint32_t)size);
}

Test(workload_edges, a_size_that_was_cut_to_32_bits_is_found)
{
	struct hq_event event;

	fixture.allocator.malloc = short_malloc;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_WRAP, &event), 0);
	cr_assert_lt(event.got, event.size);
}

static void *quiet_malloc(size_t size)
{
	void *const address = malloc(size);

	if (address == NULL)
		errno = 0;
	return address;
}

Test(workload_edges, a_refusal_without_an_errno_is_found)
{
	fixture.allocator.malloc = quiet_malloc;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_ERRNO_NULL, NULL), 0);
}

static int einval_memalign(void **address, size_t alignment, size_t size)
{
	return alignment > 1u << 30 ? EINVAL : posix_memalign(address, alignment, size);
}

static void *einval_aligned_alloc(size_t alignment, size_t size)
{
	if (alignment <= 1u << 30)
		return aligned_alloc(alignment, size);
	errno = EINVAL;
	return NULL;
}

Test(workload_edges, a_good_alignment_is_too_large_for_posix_memalign_and_not_wrong)
{
	struct hq_event event;

	fixture.allocator.posix_memalign = einval_memalign;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_ERRNO_NULL, &event), 0);
	cr_assert_eq(event.got, EINVAL);
}

Test(workload_edges, aligned_alloc_may_not_support_an_alignment)
{
	fixture.allocator.aligned_alloc = einval_aligned_alloc;
	run_one();
	host_fixture_expect_clean(&fixture);
}

static int garbage_memalign(void **address, size_t alignment, size_t size)
{
	const int code = posix_memalign(address, alignment, size);

	if (code != 0)
		*address = (void *)0x1234;
	return code;
}

static int nulling_memalign(void **address, size_t alignment, size_t size)
{
	const int code = posix_memalign(address, alignment, size);

	if (code != 0)
		*address = NULL;
	return code;
}

static int lenient_memalign(void **address, size_t alignment, size_t size)
{
	return posix_memalign(address, alignment < 4096 ? 4096 : alignment, size);
}

Test(workload_edges, a_pointer_that_a_refusal_sets_is_found)
{
	struct hq_event event;

	fixture.allocator.posix_memalign = garbage_memalign;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_REFUSE, &event), 0);
	cr_assert_eq(event.address, 0x1234);
	cr_assert_eq(event.got, EINVAL);
}

Test(workload_edges, a_pointer_that_a_refusal_sets_to_null_is_right)
{
	fixture.allocator.posix_memalign = nulling_memalign;
	run_one();
	host_fixture_expect_clean(&fixture);
}

Test(workload_edges, a_bad_alignment_that_is_served_is_found)
{
	struct hq_event event;

	fixture.allocator.posix_memalign = lenient_memalign;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_REFUSE, &event), 0);
}

static size_t large_usable_size(void *address)
{
	return malloc_usable_size(address) + 256;
}

static size_t small_usable_size(void *address)
{
	return malloc_usable_size(address) / 2;
}

Test(workload_edges, a_usable_size_that_reaches_into_another_block_is_found_before_it_is_used)
{
	struct hq_event event;

	fixture.allocator.usable_size = large_usable_size;
	struct hq_heap heap;
	struct hq_block blocks[2];

	host_fixture_heap(&fixture, &heap, 0);
	blocks[0] = (struct hq_block){ .address = malloc(1024), .size = 64 };
	blocks[1] = (struct hq_block){ .address = (char *)blocks[0].address + 64, .size = 64 };
	hq_heap_enter(&heap, blocks[0].address, 64);
	hq_heap_enter(&heap, blocks[1].address, 64);
	hq_block_use_all(&heap, &blocks[0]);
	cr_assert_eq(events_of(HQ_EVENT_SHARED, &event), 1);
	cr_assert_eq(event.offset, 64);
	cr_assert_eq(blocks[0].size, 64);
	free(blocks[0].address);
}

Test(workload_edges, a_usable_size_below_the_requested_one_is_found)
{
	fixture.allocator.usable_size = small_usable_size;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_USABLE, NULL), 0);
}

/* ---- nothing ---- */

static void *null_for_nothing(size_t size)
{
	return size == 0 ? NULL : malloc(size);
}

static void *calloc_null_for_nothing(size_t count, size_t size)
{
	return count == 0 || size == 0 ? NULL : calloc(count, size);
}

static void *realloc_null_for_nothing(void *address, size_t size)
{
	if (size > 0)
		return realloc(address, size);
	free(address);
	return NULL;
}

static void *realloc_block_for_nothing(void *address, size_t size)
{
	return realloc(address, size > 0 ? size : 1);
}

static void *realloc_kept_for_nothing(void *address, size_t size)
{
	static int turn;

	if (size > 0 || address == NULL)
		return realloc(address, size);
	if (turn++ % 2)
		return realloc(address, 1);
	free(address);
	return NULL;
}

static void nothing_is_null(void)
{
	fixture.allocator.malloc = null_for_nothing;
	fixture.allocator.calloc = calloc_null_for_nothing;
	fixture.allocator.realloc = realloc_null_for_nothing;
}

Test(workload_edges, null_for_nothing_everywhere_is_a_rule)
{
	nothing_is_null();
	run_one();
	host_fixture_expect_clean(&fixture);
}

Test(workload_edges, a_block_for_realloc_to_nothing_is_a_rule)
{
	fixture.allocator.realloc = realloc_block_for_nothing;
	run_one();
	host_fixture_expect_clean(&fixture);
}

Test(workload_edges, null_for_one_call_and_a_block_for_another_is_found)
{
	struct hq_event event;

	fixture.allocator.calloc = calloc_null_for_nothing;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_ZERO, &event), 0);
	cr_assert_eq(event.asked, HQ_ASKED_CALLOC);
	cr_assert_eq(event.expected, HQ_ZERO_BLOCK);
	cr_assert_eq(event.got, HQ_ZERO_NULL);
}

Test(workload_edges, now_this_and_now_that_for_realloc_to_nothing_is_found)
{
	fixture.allocator.realloc = realloc_kept_for_nothing;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_ZERO, NULL), 0);
}

Test(workload_edges, a_rule_that_was_declared_holds_from_the_first_answer_on)
{
	nothing_is_null();
	host_fixture_run(&fixture, &run, "edges", "threads=1 rounds=1 malloc-zero=null");
	host_fixture_expect_clean(&fixture);
	host_fixture_run(&fixture, &run, "edges", "threads=1 rounds=1 malloc-zero=block");
	cr_assert_gt(events_of(HQ_EVENT_ZERO, NULL), 0);
}

Test(workload_edges, a_refusal_where_a_block_was_declared_for_nothing_is_told_as_such)
{
	host_fixture_refuse(&fixture, 4);
	host_fixture_run(&fixture, &run, "edges", "threads=1 rounds=2 malloc-zero=block");
	cr_assert_gt(refusals_for_nothing(), 0);
	cr_assert_eq(refusals_for_nothing(), events_of(HQ_EVENT_ZERO, NULL));
}

static void *refuse_nothing_first(size_t size)
{
	static int asked;

	if (size > 0 || asked++ > 0)
		return malloc(size);
	errno = ENOMEM;
	return NULL;
}

Test(workload_edges, a_refusal_before_any_answer_sets_no_rule)
{
	fixture.allocator.malloc = refuse_nothing_first;
	run_one();
	host_fixture_expect_clean(&fixture);
}

static void *same_for_nothing(size_t size)
{
	static _Alignas(16) char nobody[16];

	return size == 0 ? nobody : malloc(size);
}

static void free_but_not_nothing(void *address)
{
	if (address != same_for_nothing(0))
		free(address);
}

Test(workload_edges, two_blocks_of_nothing_at_one_address_are_found)
{
	struct hq_event event;

	fixture.allocator.malloc = same_for_nothing;
	fixture.allocator.free = free_but_not_nothing;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_ZERO, &event), 0);
	cr_assert_eq(event.got, HQ_ZERO_TAKEN);
}

/* ---- realloc ---- */

static void *spoiling_realloc(void *address, size_t size)
{
	void *const moved = realloc(address, size);

	if (moved == NULL && size > 0 && address != NULL)
		*(char *)address ^= 1;
	return moved;
}

Test(workload_edges, an_old_block_that_a_failed_realloc_changed_is_found)
{
	struct hq_event event;

	fixture.allocator.realloc = spoiling_realloc;
	run_one();
	cr_assert_gt(events_of(HQ_EVENT_REALLOC, &event), 0);
	cr_assert_eq(event.offset, 0);
	cr_assert_eq(event.owner, 1);
}
