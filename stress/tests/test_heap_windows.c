/* SPDX-License-Identifier: MIT */
/*
 * Into which window the heap records a call.
 */
#include "injectors/syscall/wake.h"
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct hq_heap heap;

static void start(void)
{
	host_fixture_start(&fixture);
	host_fixture_heap(&fixture, &heap, 0);
}

TestSuite(heap_windows, .init = start);

static struct hq_wire_worker *worker(void)
{
	return &fixture.wire->workers[0];
}

Test(heap_windows, what_begins_in_the_wake_of_a_fault_is_recorded_apart)
{
	struct hq_plane *plane = &fixture.wire->plane;
	struct hq_block block;

	hq_store_relaxed(&plane->faulted_until, HQ_WAKE_ALWAYS);
	hq_block_alloc(&heap, &block, 100);
	hq_heap_op_begin(&heap);
	hq_heap_op_end(&heap);
	cr_assert_eq(hq_hist_count(&worker()->hist[HQ_LATENCY_MALLOC]), 0);
	cr_assert_eq(hq_hist_count(&worker()->hist[HQ_LATENCY_OP]), 0);
	cr_assert_eq(hq_hist_count(&worker()->faulted_hist[HQ_LATENCY_MALLOC]), 1);
	cr_assert_eq(hq_hist_count(&worker()->faulted_hist[HQ_LATENCY_OP]), 1);
	cr_assert_eq(hq_coarse_count(&worker()->faulted_bands[HQ_LATENCY_MALLOC][HQ_BAND_256B]), 1);
	hq_store_relaxed(&plane->faulted_until, 1);
	hq_block_free(&heap, &block);
	cr_assert_eq(hq_hist_count(&worker()->hist[HQ_LATENCY_FREE]), 1);
	cr_assert_eq(hq_hist_count(&worker()->faulted_hist[HQ_LATENCY_FREE]), 0);
}
