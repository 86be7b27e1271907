/* SPDX-License-Identifier: MIT */
/* From calls with addresses to a trace: numbers, order, and what is done about what was lost. */
#include "stress/tests/trace_file.h"

#define ROOM 256u

static struct hq_trace_builder builder;
static struct hq_trace_op ops[ROOM];
static int fd;

static void start(void)
{
	fd = trace_file_make();
	cr_assert_eq(hq_trace_builder_open(&builder, fd, UINT64_MAX, 1), 0);
}

static void stop(void)
{
	hq_trace_builder_close(&builder);
}

TestSuite(trace_builder, .init = start, .fini = stop);

static void see(enum hq_trace_seen kind, uint32_t thread, uint64_t time_ns, uint64_t address,
		uint64_t size)
{
	const struct hq_trace_event event = { .kind = (uint8_t)kind,
					      .thread = thread,
					      .time_ns = time_ns,
					      .address = address,
					      .size = size };

	cr_assert_eq(hq_trace_build(&builder, &event), 0);
}

static void finish(uint64_t expected)
{
	uint64_t count;

	cr_assert_eq(hq_trace_builder_finish(&builder, 0), 0);
	count = trace_file_take_ops(fd, ops, ROOM);
	cr_assert_eq(count, expected, "%lu operations", count);
}

static void expect_op(uint32_t index, enum hq_trace_kind kind, uint32_t thread, uint32_t block,
		      uint64_t size)
{
	cr_expect_eq(ops[index].kind, kind, "%u: kind %u", index, ops[index].kind);
	cr_expect_eq(ops[index].thread, thread, "%u: thread %u", index, ops[index].thread);
	cr_expect_eq(ops[index].block, block, "%u: block %u", index, ops[index].block);
	cr_expect_eq(ops[index].size, size, "%u: size %lu", index, ops[index].size);
}

Test(trace_builder, address_that_is_used_again_is_another_block)
{
	see(HQ_SEEN_MALLOC, 5, 100, 0x1000, 10);
	see(HQ_SEEN_FREE, 5, 200, 0x1000, 0);
	see(HQ_SEEN_CALLOC, 9, 300, 0x1000, 20);
	see(HQ_SEEN_FREE, 5, 450, 0x1000, 0);
	finish(4);
	expect_op(0, HQ_TRACE_MALLOC, 0, 0, 10);
	expect_op(1, HQ_TRACE_FREE, 0, 0, 0);
	expect_op(2, HQ_TRACE_CALLOC, 1, 1, 20);
	expect_op(3, HQ_TRACE_FREE, 0, 1, 0);
	cr_expect_eq(ops[3].tick, 350);
	cr_expect_eq(builder.writer.info.peak_bytes, 20);
	cr_expect_eq(hq_trace_repairs_sum(&builder.repairs), 0);
}

Test(trace_builder, block_keeps_its_number_through_realloc)
{
	see(HQ_SEEN_RESIZE_TO, 0, 1, 0x1000, 10);
	see(HQ_SEEN_RESIZE_FROM, 0, 2, 0x1000, 0);
	/* Another thread gets the old address before realloc has returned. */
	see(HQ_SEEN_MALLOC, 1, 3, 0x1000, 7);
	see(HQ_SEEN_RESIZE_TO, 0, 4, 0x2000, 99);
	see(HQ_SEEN_FREE, 1, 5, 0x2000, 0);
	finish(4);
	expect_op(0, HQ_TRACE_MALLOC, 0, 0, 10);
	expect_op(1, HQ_TRACE_MALLOC, 1, 1, 7);
	expect_op(2, HQ_TRACE_RESIZE, 0, 0, 99);
	expect_op(3, HQ_TRACE_FREE, 1, 0, 0);
	cr_expect_eq(hq_trace_repairs_sum(&builder.repairs), 0);
	cr_expect_eq(builder.writer.info.left, 1);
}

Test(trace_builder, refused_calls_leave_everything_as_it_is)
{
	see(HQ_SEEN_MALLOC, 0, 1, 0x1000, 10);
	see(HQ_SEEN_MALLOC, 0, 2, 0, UINT64_MAX);
	see(HQ_SEEN_RESIZE_FROM, 0, 3, 0x1000, 0);
	see(HQ_SEEN_RESIZE_TO, 0, 4, 0, UINT64_MAX);
	see(HQ_SEEN_FREE, 0, 5, 0x1000, 0);
	finish(2);
	expect_op(1, HQ_TRACE_FREE, 0, 0, 0);
	cr_expect_eq(builder.refused, 2);
	cr_expect_eq(hq_trace_repairs_sum(&builder.repairs), 0);
}

Test(trace_builder, realloc_to_nothing_is_a_free)
{
	see(HQ_SEEN_MALLOC, 0, 1, 0x1000, 10);
	see(HQ_SEEN_RESIZE_FROM, 0, 3, 0x1000, 0);
	see(HQ_SEEN_RESIZE_TO, 0, 4, 0, 0);
	finish(2);
	expect_op(1, HQ_TRACE_FREE, 0, 0, 0);
}

Test(trace_builder, free_of_what_nobody_got_is_left_out)
{
	see(HQ_SEEN_FREE, 0, 1, 0x1000, 0);
	see(HQ_SEEN_MALLOC, 0, 2, 0x2000, 10);
	see(HQ_SEEN_FREE, 0, 3, 0, 0);
	finish(1);
	cr_expect_eq(builder.repairs.unknown_frees, 1);
	cr_expect_eq(builder.writer.info.repaired, 1);
}

Test(trace_builder, free_that_was_lost_is_put_before_the_address_comes_again)
{
	see(HQ_SEEN_MALLOC, 0, 1, 0x1000, 10);
	see(HQ_SEEN_MALLOC, 1, 2, 0x1000, 20);
	finish(3);
	expect_op(1, HQ_TRACE_FREE, 1, 0, 0);
	expect_op(2, HQ_TRACE_MALLOC, 1, 1, 20);
	cr_expect_eq(builder.repairs.missing_frees, 1);
}

Test(trace_builder, free_just_before_its_malloc_by_another_clock_follows_it)
{
	see(HQ_SEEN_FREE, 1, 1000, 0x1000, 0);
	see(HQ_SEEN_MALLOC, 0, 1040, 0x1000, 10);
	see(HQ_SEEN_MALLOC, 0, 1080, 0x1000, 10);
	finish(3);
	expect_op(0, HQ_TRACE_MALLOC, 0, 0, 10);
	expect_op(1, HQ_TRACE_FREE, 1, 0, 0);
	expect_op(2, HQ_TRACE_MALLOC, 0, 1, 10);
	cr_expect_eq(builder.repairs.swapped, 1);
	cr_expect_eq(builder.repairs.unknown_frees, 0);
}

Test(trace_builder, free_long_before_is_not_taken_for_that_of_the_next_block)
{
	see(HQ_SEEN_FREE, 1, 1000, 0x1000, 0);
	see(HQ_SEEN_MALLOC, 0, 1000000, 0x1000, 10);
	finish(1);
	cr_expect_eq(builder.repairs.unknown_frees, 1);
}

Test(trace_builder, realloc_whose_end_was_lost_frees)
{
	see(HQ_SEEN_MALLOC, 0, 1, 0x1000, 10);
	see(HQ_SEEN_RESIZE_FROM, 0, 2, 0x1000, 0);
	see(HQ_SEEN_MALLOC, 0, 3, 0x3000, 30);
	finish(3);
	expect_op(1, HQ_TRACE_FREE, 0, 0, 0);
	expect_op(2, HQ_TRACE_MALLOC, 0, 1, 30);
	cr_expect_eq(builder.repairs.torn_resizes, 1);
}

Test(trace_builder, realloc_of_what_nobody_got_is_a_malloc)
{
	see(HQ_SEEN_RESIZE_FROM, 0, 2, 0x1000, 0);
	see(HQ_SEEN_RESIZE_TO, 0, 3, 0x3000, 30);
	finish(1);
	expect_op(0, HQ_TRACE_MALLOC, 0, 0, 30);
	cr_expect_eq(builder.repairs.unknown_resizes, 1);
}

Test(trace_builder, processes_have_addresses_of_their_own_that_end_with_them)
{
	for (uint16_t space = 0; space < 2; space++) {
		const struct hq_trace_event event = {
			.kind = HQ_SEEN_MALLOC, .address = 0x1000, .size = 8, .space = space
		};

		cr_assert_eq(hq_trace_build(&builder, &event), 0);
	}
	const struct hq_trace_event end = { .kind = HQ_SEEN_END, .space = 0 };

	cr_assert_eq(hq_trace_build(&builder, &end), 0);
	finish(3);
	expect_op(2, HQ_TRACE_FREE, 0, 0, 0);
	cr_expect_eq(builder.closed, 1);
	cr_expect_eq(builder.writer.info.left, 1);
}

Test(trace_builder, time_never_goes_back)
{
	see(HQ_SEEN_MALLOC, 0, 5000, 0x1000, 10);
	see(HQ_SEEN_MALLOC, 0, 4000, 0x2000, 10);
	see(HQ_SEEN_MALLOC, 0, 6000, 0x3000, 10);
	finish(3);
	cr_expect_eq(ops[1].tick, 0);
	cr_expect_eq(ops[2].tick, 1000);
}

Test(trace_builder, what_cannot_be_is_refused)
{
	const struct hq_trace_event wrong[] = {
		{ .kind = HQ_SEEN_MALLOC, .address = 1ull << 48, .size = 8 },
		{ .kind = HQ_SEEN_MALLOC, .address = 16, .size = HQ_TRACE_SIZE_MAX + 1 },
		{ .kind = HQ_SEEN_MALLOC, .address = 16, .thread = HQ_TRACE_THREADS },
		{ .kind = 99, .address = 16 },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect_neq(hq_trace_build(&builder, &wrong[i]), 0, "%zu", i);
}

/* Half of all calls lost at random: whatever remains makes sense. */
Test(trace_builder, any_loss_leaves_a_trace_that_can_be_read)
{
	uint64_t state = 3, live[100] = { 0 };

	for (uint64_t i = 0; i < 20000; i++) {
		const uint64_t bits = (state = state * 6364136223846793005ull + 1) >> 20;
		const uint32_t slot = bits % 100, thread = bits >> 8 & 3;
		const uint64_t address = 0x1000 + 64 * (bits >> 10 & 255);
		const bool resizes = live[slot] && bits >> 30 & 1;

		if (live[slot] && bits >> 31 & 1)
			see(resizes ? HQ_SEEN_RESIZE_FROM : HQ_SEEN_FREE, thread, i, live[slot], 0);
		live[slot] = address;
		if (bits >> 32 & 1)
			see(resizes ? HQ_SEEN_RESIZE_TO : HQ_SEEN_MALLOC, thread, i, address, slot);
	}
	cr_assert_eq(hq_trace_builder_finish(&builder, 1), 0);
	cr_expect_eq(trace_file_take_ops(fd, ops, ROOM), builder.writer.info.ops);
	/* Four threads may be in the middle of a realloc. */
	cr_expect_geq(builder.writer.info.left, builder.live.count);
	cr_expect_leq(builder.writer.info.left, builder.live.count + 4);
}
