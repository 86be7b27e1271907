/* SPDX-License-Identifier: MIT */
/*
 * Every check of the heap, proved on an allocator with the very bug that it is for: glibc's
 * functions with one of them replaced. And the reverse: a sound allocator raises no event.
 */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct hq_heap heap;

static void start(void)
{
	host_fixture_start(&fixture);
	host_fixture_heap(&fixture, &heap, 0);
}

TestSuite(heap, .init = start);

static uint64_t seen(enum hq_event_kind kind, struct hq_event *last)
{
	return host_fixture_events(&fixture, 0, kind, last);
}

static struct hq_wire_worker *worker(void)
{
	return &fixture.wire->workers[0];
}

Test(heap, a_sound_allocator_raises_no_event)
{
	struct hq_block block = { 0 };

	for (uint64_t size = 1; size < 5000; size += 13) {
		cr_assert(hq_block_alloc(&heap, &block, size));
		cr_assert(hq_block_resize(&heap, &block, 2 * size));
		cr_assert(hq_block_resize(&heap, &block, size / 2 + 1));
		hq_block_verify(&heap, &block);
		hq_block_free(&heap, &block);
		cr_assert(hq_block_calloc(&heap, &block, size));
		hq_block_free(&heap, &block);
		cr_assert(hq_block_aligned(&heap, &block, 1u << size % 13, size));
		hq_block_free(&heap, &block);
	}
	cr_assert_eq(host_fixture_all_events(&fixture), 0);
	cr_assert_eq(hq_load_relaxed(&fixture.shadow.unchecked), 0);
}

/* ---- bookkeeping ---- */

Test(heap, calls_are_counted_and_their_latency_is_recorded)
{
	struct hq_block block;

	hq_block_alloc(&heap, &block, 100);
	hq_block_resize(&heap, &block, 200);
	hq_block_free(&heap, &block);
	cr_assert_eq(hq_load_relaxed(&worker()->mallocs), 1);
	cr_assert_eq(hq_load_relaxed(&worker()->reallocs), 1);
	cr_assert_eq(hq_load_relaxed(&worker()->frees), 1);
	cr_assert_eq(hq_hist_count(&worker()->hist[HQ_LATENCY_MALLOC]), 1);
	cr_assert_eq(hq_hist_count(&worker()->hist[HQ_LATENCY_REALLOC]), 1);
	cr_assert_eq(hq_hist_count(&worker()->hist[HQ_LATENCY_FREE]), 1);
}

Test(heap, latency_is_kept_apart_by_the_size_of_the_call)
{
	struct hq_block block;

	hq_block_alloc(&heap, &block, 100);
	hq_block_resize(&heap, &block, 5000);
	hq_block_free(&heap, &block);
	cr_assert_eq(hq_coarse_count(&worker()->bands[HQ_LATENCY_MALLOC][HQ_BAND_256B]), 1);
	cr_assert_eq(hq_coarse_count(&worker()->bands[HQ_LATENCY_REALLOC][HQ_BAND_64KIB]), 1);
	cr_assert_eq(hq_coarse_count(&worker()->bands[HQ_LATENCY_FREE][HQ_BAND_64KIB]), 1);
}

Test(heap, live_bytes_follow_what_was_asked_for)
{
	struct hq_block block;
	void *raw;

	hq_block_alloc(&heap, &block, 100);
	cr_assert_eq(hq_load_relaxed(&worker()->requested_bytes), 100);
	hq_block_resize(&heap, &block, 30);
	cr_assert_eq(hq_load_relaxed(&worker()->requested_bytes), 30);
	raw = hq_heap_calloc(&heap, 3, 50);
	cr_assert_eq(hq_load_relaxed(&worker()->requested_bytes), 180);
	hq_heap_free(&heap, raw, 150);
	hq_block_free(&heap, &block);
	cr_assert_eq(hq_load_relaxed(&worker()->requested_bytes), 0);
	cr_assert_eq(hq_load_relaxed(&worker()->freed_bytes), 100 + 150 + 30);
}

Test(heap, an_operation_counts_once_with_its_latency)
{
	hq_heap_op_begin(&heap);
	hq_heap_op_end(&heap);
	cr_assert_eq(hq_load_relaxed(&worker()->ops), 1);
	cr_assert_eq(hq_hist_count(&worker()->hist[HQ_LATENCY_OP]), 1);
}

Test(heap, another_thread_may_free_a_block)
{
	struct hq_heap other;
	struct hq_block block;

	host_fixture_heap(&fixture, &other, 1);
	hq_block_alloc(&heap, &block, 777);
	hq_block_free(&other, &block);
	cr_assert_null(block.address);
	cr_assert_eq(host_fixture_all_events(&fixture), 0);
	cr_assert_eq(host_fixture_sum(&fixture).requested, 0);
}

Test(heap, freeing_nothing_is_nothing)
{
	struct hq_block block = { 0 };

	hq_block_free(&heap, &block);
	hq_heap_free(&heap, NULL, 10);
	cr_assert_eq(hq_load_relaxed(&worker()->frees), 0);
}

Test(heap, more_events_than_the_ring_holds_are_dropped_and_counted)
{
	for (uint64_t i = 0; i < HQ_WIRE_EVENTS + 10; i++)
		hq_heap_wrong_data(&heap, &heap, i, i + 1);
	cr_assert_eq(hq_load_relaxed(&worker()->ring.head), HQ_WIRE_EVENTS);
	cr_assert_eq(hq_load_relaxed(&worker()->ring.dropped), 10);
	cr_assert_eq(worker()->events[7].expected, 7);
	cr_assert_eq(worker()->events[7].got, 8);
	cr_assert_eq(worker()->events[7].kind, HQ_EVENT_DATA);
}

/* ---- content ---- */

Test(heap, a_damaged_byte_is_reported_when_the_block_is_freed)
{
	struct hq_block block;
	struct hq_event event;

	hq_block_alloc(&heap, &block, 500);
	((uint8_t *)block.address)[321] ^= 0x10;
	hq_block_free(&heap, &block);
	cr_assert_eq(seen(HQ_EVENT_CONTENT, &event), 1);
	cr_assert_eq(event.offset, 321);
	cr_assert_eq(event.size, 500);
	cr_assert_eq(event.expected ^ event.got, 0x10);
}

Test(heap, damage_before_a_realloc_is_not_blamed_on_it)
{
	struct hq_block block;

	hq_block_alloc(&heap, &block, 64);
	((uint8_t *)block.address)[3] ^= 1;
	hq_block_resize(&heap, &block, 32);
	cr_assert_eq(seen(HQ_EVENT_CONTENT, NULL), 1);
	cr_assert_eq(seen(HQ_EVENT_REALLOC, NULL), 0);
	hq_block_free(&heap, &block);
}

/* ---- alignment ---- */

static uint64_t misplace_by;

static void *misplaced_malloc(size_t size)
{
	return (char *)malloc(size + 64) + misplace_by;
}

static void misplaced_free(void *address)
{
	free((char *)address - misplace_by);
}

static int misplaced_memalign(void **address, size_t alignment, size_t size)
{
	void *block;

	if (posix_memalign(&block, alignment, size + 4096) != 0)
		return ENOMEM;
	*address = (char *)block + misplace_by;
	return 0;
}

Test(heap, a_misaligned_block_is_reported)
{
	struct hq_block block;
	struct hq_event event;

	fixture.allocator.malloc = misplaced_malloc;
	fixture.allocator.free = misplaced_free;
	misplace_by = 8;
	cr_assert(hq_block_alloc(&heap, &block, 16));
	cr_assert_eq(seen(HQ_EVENT_ALIGNMENT, &event), 1);
	cr_assert_eq(event.expected, 16);
	cr_assert_eq(event.got, 8);
	hq_block_free(&heap, &block);
}

Test(heap, small_blocks_need_no_more_alignment_than_their_size)
{
	struct hq_block block;

	fixture.allocator.malloc = misplaced_malloc;
	fixture.allocator.free = misplaced_free;
	misplace_by = 8;
	cr_assert(hq_block_alloc(&heap, &block, 15));
	hq_block_free(&heap, &block);
	cr_assert_eq(seen(HQ_EVENT_ALIGNMENT, NULL), 0);
	misplace_by = 4;
	cr_assert(hq_block_alloc(&heap, &block, 7));
	hq_block_free(&heap, &block);
	cr_assert_eq(seen(HQ_EVENT_ALIGNMENT, NULL), 0);
	cr_assert(hq_block_alloc(&heap, &block, 8));
	hq_block_free(&heap, &block);
	cr_assert_eq(seen(HQ_EVENT_ALIGNMENT, NULL), 1);
}

Test(heap, an_aligned_block_must_have_the_alignment_asked_for)
{
	struct hq_block block;
	struct hq_event event;

	fixture.allocator.posix_memalign = misplaced_memalign;
	fixture.allocator.aligned_alloc = NULL;
	fixture.allocator.free = misplaced_free;
	misplace_by = 1024;
	cr_assert(hq_block_aligned(&heap, &block, 2048, 100));
	cr_assert_eq(seen(HQ_EVENT_ALIGNMENT, &event), 1);
	cr_assert_eq(event.expected, 2048);
	cr_assert_eq(event.got, 1024);
	hq_block_free(&heap, &block);
}

/* ---- overlap ---- */

static void *the_same_malloc(size_t size)
{
	static _Alignas(64) char block[4096];

	return size <= sizeof(block) / 2 ? block + (size == 100 ? 0 : 32) : NULL;
}

static void never_free(void *address)
{
	(void)address;
}

Test(heap, a_block_over_a_live_one_is_reported_with_the_first_shared_byte)
{
	struct hq_block first, second;
	struct hq_event event;

	fixture.allocator.malloc = the_same_malloc;
	fixture.allocator.free = never_free;
	hq_block_alloc(&heap, &second, 200);
	cr_assert_eq(seen(HQ_EVENT_OVERLAP, NULL), 0);
	hq_block_alloc(&heap, &first, 100);
	cr_assert_eq(seen(HQ_EVENT_OVERLAP, &event), 1);
	cr_assert_eq(event.offset, 32);
	cr_assert_eq(event.size, 100);
}

Test(heap, the_content_of_the_overlapped_block_is_found_damaged)
{
	struct hq_block first, second;

	fixture.allocator.malloc = the_same_malloc;
	fixture.allocator.free = never_free;
	hq_block_alloc(&heap, &first, 200);
	hq_block_alloc(&heap, &second, 100);
	hq_block_free(&heap, &first);
	cr_assert_eq(seen(HQ_EVENT_CONTENT, NULL), 1);
}

Test(heap, memory_that_was_freed_may_come_again)
{
	struct hq_block block;

	fixture.allocator.malloc = the_same_malloc;
	fixture.allocator.free = never_free;
	fixture.allocator.usable_size = NULL;
	for (int i = 0; i < 100; i++) {
		hq_block_alloc(&heap, &block, 100);
		hq_block_free(&heap, &block);
	}
	cr_assert_eq(host_fixture_all_events(&fixture), 0);
}

/* ---- calloc ---- */

static uint64_t dirty_at;

static void *dirty_calloc(size_t count, size_t size)
{
	uint8_t *const block = malloc(count * size);

	memset(block, 0, count * size);
	block[dirty_at] = 0x77;
	return block;
}

Test(heap, one_dirty_byte_anywhere_in_a_calloc_is_reported)
{
	struct hq_block block;
	struct hq_event event;

	fixture.allocator.calloc = dirty_calloc;
	for (dirty_at = 0; dirty_at < 200; dirty_at++) {
		hq_block_calloc(&heap, &block, 200);
		cr_assert_eq(seen(HQ_EVENT_NONZERO, &event), dirty_at + 1);
		cr_assert_eq(event.offset, dirty_at);
		cr_assert_eq(event.got, 0x77);
		hq_block_free(&heap, &block);
	}
}

Test(heap, raw_calloc_is_checked_over_its_whole_length)
{
	fixture.allocator.calloc = dirty_calloc;
	dirty_at = 4 * 30 - 1;
	hq_heap_free(&heap, hq_heap_calloc(&heap, 4, 30), 4 * 30);
	cr_assert_eq(seen(HQ_EVENT_NONZERO, NULL), 1);
}

/* ---- errno ---- */

static void careless_free(void *address)
{
	free(address);
	errno = EAGAIN;
}

Test(heap, a_free_that_changes_errno_is_reported)
{
	struct hq_block block;
	struct hq_event event;

	fixture.allocator.free = careless_free;
	hq_block_alloc(&heap, &block, 10);
	hq_block_free(&heap, &block);
	cr_assert_eq(seen(HQ_EVENT_ERRNO_FREE, &event), 1);
	cr_assert_eq(event.got, EAGAIN);
}

static int refuse_with;

static void *refusing_malloc(size_t size)
{
	(void)size;
	errno = refuse_with;
	return NULL;
}

static void *refusing_calloc(size_t count, size_t size)
{
	return refusing_malloc(count * size);
}

static void *refusing_aligned(size_t alignment, size_t size)
{
	(void)alignment;
	return refusing_malloc(size);
}

static int refusing_memalign(void **address, size_t alignment, size_t size)
{
	*address = (void *)alignment; /* unspecified on failure: must not be believed */
	(void)size;
	return refuse_with;
}

static void *refusing_realloc(void *address, size_t size)
{
	(void)address;
	return refusing_malloc(size);
}

static void refuse_everything(int error)
{
	refuse_with = error;
	fixture.allocator.malloc = refusing_malloc;
	fixture.allocator.calloc = refusing_calloc;
	fixture.allocator.realloc = refusing_realloc;
	fixture.allocator.posix_memalign = refusing_memalign;
	fixture.allocator.aligned_alloc = refusing_aligned;
}

/* Six refusals: both functions for aligned memory take their turn. */
static void ask_for_everything(void)
{
	struct hq_block block = { 0 };

	cr_assert_not(hq_block_alloc(&heap, &block, 10));
	cr_assert_not(hq_block_calloc(&heap, &block, 10));
	cr_assert_not(hq_block_aligned(&heap, &block, 64, 128));
	cr_assert_not(hq_block_aligned(&heap, &block, 64, 128));
	cr_assert_null(block.address);
	cr_assert_not(hq_block_resize(&heap, &block, 10));
	cr_assert_null(hq_heap_alloc(&heap, 10));
}

Test(heap, a_refusal_with_enomem_is_no_event)
{
	refuse_everything(ENOMEM);
	ask_for_everything();
	cr_assert_eq(host_fixture_all_events(&fixture), 0);
	cr_assert_eq(hq_load_relaxed(&worker()->nulls), 6);
	cr_assert_eq(hq_load_relaxed(&worker()->requested_bytes), 0);
}

Test(heap, a_refusal_with_another_errno_is_reported)
{
	struct hq_event event;

	refuse_everything(EINVAL);
	ask_for_everything();
	cr_assert_eq(seen(HQ_EVENT_ERRNO_NULL, &event), 6);
	cr_assert_eq(event.got, EINVAL);
	cr_assert_eq(event.expected, ENOMEM);
}

/* ---- what is live at a refusal ---- */

static struct hq_heap other;
static void *others_block;

/* Another thread frees what it has between the refusal and the look at what is live. */
static void *malloc_refused_beside_a_free(size_t size)
{
	hq_heap_free(&other, others_block, 5000);
	return refusing_malloc(size);
}

static void *realloc_refused_beside_a_free(void *address, size_t size)
{
	(void)address;
	return malloc_refused_beside_a_free(size);
}

static void note_refusals_of_two(void)
{
	fixture.wire->config.worker_count = 2;
	fixture.wire->config.notes_refusals = 1;
	host_fixture_heap(&fixture, &heap, 0);
	host_fixture_heap(&fixture, &other, 1);
	others_block = hq_heap_alloc(&other, 5000);
	cr_assert_not_null(others_block);
}

Test(heap, what_all_workers_hold_and_what_was_asked_for_is_noted_at_a_refusal)
{
	note_refusals_of_two();
	refuse_everything(ENOMEM);
	cr_assert_null(hq_heap_alloc(&heap, 70));
	cr_assert_eq(hq_load_relaxed(&worker()->refused_at_bytes), 5000 + 70);
}

Test(heap, what_another_worker_frees_during_a_refused_malloc_counts_as_live)
{
	note_refusals_of_two();
	refuse_everything(ENOMEM);
	fixture.allocator.malloc = malloc_refused_beside_a_free;
	cr_assert_null(hq_heap_alloc(&heap, 70));
	cr_assert_eq(hq_load_relaxed(&worker()->refused_at_bytes), 5000 + 70);
}

Test(heap, what_another_worker_frees_during_a_refused_realloc_counts_as_live)
{
	struct hq_block block;

	note_refusals_of_two();
	cr_assert(hq_block_alloc(&heap, &block, 100));
	refuse_everything(ENOMEM);
	fixture.allocator.realloc = realloc_refused_beside_a_free;
	cr_assert_not(hq_block_resize(&heap, &block, 300));
	cr_assert_eq(hq_load_relaxed(&worker()->refused_at_bytes), 5000 + 100 + 300);
	free(block.address);
}

Test(heap, what_was_freed_before_a_refused_call_does_not_count_as_live)
{
	note_refusals_of_two();
	refuse_everything(ENOMEM);
	hq_heap_free(&other, others_block, 5000);
	cr_assert_null(hq_heap_alloc(&heap, 70));
	cr_assert_eq(hq_load_relaxed(&worker()->refused_at_bytes), 70);
}

Test(heap, of_several_refusals_the_one_with_least_live_is_noted)
{
	note_refusals_of_two();
	refuse_everything(ENOMEM);
	cr_assert_null(hq_heap_alloc(&heap, 300));
	cr_assert_null(hq_heap_alloc(&heap, 70));
	cr_assert_null(hq_heap_alloc(&heap, 200));
	cr_assert_eq(hq_load_relaxed(&worker()->refused_at_bytes), 5000 + 70);
}

Test(heap, no_refusal_is_noted_unless_it_is_asked_for)
{
	refuse_everything(ENOMEM);
	cr_assert_null(hq_heap_alloc(&heap, 70));
	cr_assert_eq(hq_load_relaxed(&worker()->refused_at_bytes), 0);
}

/* ---- realloc ---- */

static void *forgetful_realloc(void *address, size_t size)
{
	void *const moved = malloc(size);

	memset(moved, 0, size);
	free(address);
	return moved;
}

Test(heap, a_realloc_that_loses_the_prefix_is_reported)
{
	struct hq_block block;
	struct hq_event event;

	fixture.allocator.realloc = forgetful_realloc;
	hq_block_alloc(&heap, &block, 100);
	cr_assert(hq_block_resize(&heap, &block, 150));
	cr_assert_eq(seen(HQ_EVENT_REALLOC, &event), 1);
	cr_assert_eq(event.size, 100);
	hq_block_free(&heap, &block);
	cr_assert_eq(seen(HQ_EVENT_CONTENT, NULL), 0);
}

Test(heap, a_realloc_that_fails_keeps_the_old_block)
{
	struct hq_block block;

	hq_block_alloc(&heap, &block, 100);
	refuse_everything(ENOMEM);
	cr_assert_not(hq_block_resize(&heap, &block, 150));
	cr_assert_eq(block.size, 100);
	cr_assert_eq(hq_load_relaxed(&worker()->requested_bytes), 100);
	hq_block_free(&heap, &block);
	cr_assert_eq(host_fixture_all_events(&fixture), 0);
}

static void *destroying_realloc(void *address, size_t size)
{
	memset(address, 0, 1);
	return refusing_malloc(size);
}

Test(heap, a_realloc_that_fails_and_damages_the_old_block_is_reported)
{
	struct hq_block block;

	hq_block_alloc(&heap, &block, 100);
	refuse_with = ENOMEM;
	fixture.allocator.realloc = destroying_realloc;
	cr_assert_not(hq_block_resize(&heap, &block, 150));
	cr_assert_eq(seen(HQ_EVENT_REALLOC, NULL), 1);
	hq_block_free(&heap, &block);
}

/* ---- usable size ---- */

static size_t stingy_usable_size(void *address)
{
	(void)address;
	return 99;
}

Test(heap, a_usable_size_below_the_request_is_reported_in_a_sample)
{
	struct hq_block block;
	struct hq_event event;

	fixture.allocator.usable_size = stingy_usable_size;
	for (int i = 0; i < 128; i++) {
		hq_block_alloc(&heap, &block, 100);
		hq_block_free(&heap, &block);
	}
	cr_assert_eq(seen(HQ_EVENT_USABLE, &event), 2);
	cr_assert_eq(event.expected, 100);
	cr_assert_eq(event.got, 99);
}

Test(heap, an_allocator_without_the_optional_functions_is_used_without_them)
{
	struct hq_block block;

	fixture.allocator.usable_size = NULL;
	fixture.allocator.posix_memalign = NULL;
	fixture.allocator.aligned_alloc = NULL;
	for (int i = 0; i < 128; i++) {
		cr_assert(hq_block_aligned(&heap, &block, 4096, 100));
		hq_block_free(&heap, &block);
	}
	cr_assert_eq(host_fixture_all_events(&fixture), 0);
}
