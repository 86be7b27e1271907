/* SPDX-License-Identifier: MIT */
/* What recorders wrote, from shared memory to a trace: all of it, in order, whatever is in there.
 */
#include <stdio.h>

#include "stress/control/spool.h"
#include "stress/tests/trace_file.h"

#define ROOM 4096u

static struct hq_spool spool;
static struct hq_trace_builder builder;
static struct hq_trace_op ops[ROOM];

static void start(void)
{
	cr_assert_eq(hq_spool_open(&spool, "/tmp", 1 << 20, false), 0);
	hq_store_relaxed(&spool.raw->process, (uint32_t)getpid());
	hq_store_relaxed(&spool.raw->threads, 8);
	for (uint32_t i = 0; i < 8; i++) {
		spool.raw->thread[i].process = (uint32_t)getpid();
		spool.raw->thread[i].id = (uint32_t)getpid();
		hq_store_relaxed(&spool.raw->thread[i].ready, 1);
	}
}

static void stop(void)
{
	hq_trace_builder_close(&builder);
	hq_spool_close(&spool);
}

TestSuite(spool, .init = start, .fini = stop);

static void set_state(uint32_t chunk, enum hq_raw_state state, uint32_t thread)
{
	hq_store_relaxed(&spool.raw->chunk[chunk].state,
			 (uint32_t)state | thread << HQ_RAW_OWNER_SHIFT);
}

/* A chunk that a thread has taken. */
static void take(uint32_t chunk, uint32_t thread, uint32_t number)
{
	spool.raw->chunk[chunk].number = number;
	set_state(chunk, HQ_RAW_TAKEN, thread);
}

/* A record at the end of a chunk, so many ticks after the start. */
static void put(uint32_t chunk, uint64_t ticks, enum hq_trace_seen kind, uint64_t address,
		uint64_t size)
{
	struct hq_raw_chunk *const to = &spool.raw->chunk[chunk];
	const uint32_t used = hq_load_relaxed(&to->used);

	to->words[used] = spool.stamps[0] + ticks;
	to->words[used + 1] = hq_raw_word((void *)address, kind, 0);
	to->words[used + 2] = size;
	hq_store_relaxed(&to->used, used + hq_raw_words_of(kind));
}

/* Finishes, and reads the trace: how many operations. */
static uint64_t merge(void)
{
	const int fd = trace_file_make();

	cr_assert_eq(hq_spool_finish(&spool), 0);
	cr_assert_eq(hq_trace_builder_open(&builder, fd, UINT64_MAX, 1), 0);
	cr_assert_eq(hq_spool_merge(&spool, &builder), 0);
	return trace_file_take_ops(fd, ops, ROOM);
}

Test(spool, nothing_is_a_trace_of_nothing)
{
	cr_expect_eq(merge(), 0);
}

Test(spool, threads_are_merged_by_their_stamps)
{
	take(0, 0, 0);
	take(1, 1, 0);
	for (uint64_t i = 0; i < 100; i++) {
		put(0, 1000 + 100 * i, HQ_SEEN_MALLOC, 0x1000, i);
		put(1, 1050 + 100 * i, HQ_SEEN_FREE, 0x1000, 0);
	}
	cr_assert_eq(merge(), 200);
	for (uint32_t i = 0; i < 200; i++) {
		cr_expect_eq(ops[i].kind, i % 2 ? HQ_TRACE_FREE : HQ_TRACE_MALLOC, "%u", i);
		cr_expect_eq(ops[i].thread, i % 2, "%u", i);
	}
	cr_expect_eq(builder.writer.info.repaired, 0);
}

Test(spool, chunks_of_a_thread_follow_their_numbers)
{
	for (uint32_t i = 0; i < 10; i++) {
		take(9 - i, 3, i);
		put(9 - i, 1000 + i, HQ_SEEN_MALLOC, 0x1000 * (i + 1), i);
		if (i % 2)
			set_state(9 - i, HQ_RAW_FULL, 3);
		cr_assert_eq(hq_spool_drain(&spool), 0);
	}
	cr_assert_eq(merge(), 10);
	for (uint32_t i = 0; i < 10; i++)
		cr_expect_eq(ops[i].size, i);
}

Test(spool, counter_that_steps_back_keeps_the_thread_in_order)
{
	take(0, 0, 0);
	put(0, 5000, HQ_SEEN_MALLOC, 0x1000, 1);
	put(0, 4000, HQ_SEEN_FREE, 0x1000, 0);
	cr_assert_eq(merge(), 2);
	cr_expect_eq(ops[1].kind, HQ_TRACE_FREE);
}

Test(spool, full_chunk_is_free_again_when_it_was_read)
{
	take(0, 0, 0);
	put(0, 1, HQ_SEEN_MALLOC, 0x1000, 1);
	set_state(0, HQ_RAW_FULL, 0);
	take(1, 1, 0);
	put(1, 1, HQ_SEEN_MALLOC, 0x2000, 1);
	cr_assert_eq(hq_spool_drain(&spool), 0);
	cr_expect_eq(spool.raw->chunk[0].state, HQ_RAW_FREE);
	cr_expect_eq(spool.raw->chunk[0].used, 0);
	cr_expect_eq(spool.raw->chunk[1].state & HQ_RAW_STATE_MASK, HQ_RAW_TAKEN);
	cr_expect_eq(merge(), 2);
}

Test(spool, chunk_of_a_thread_that_is_gone_is_taken_back)
{
	take(0, 0, 0);
	put(0, 1, HQ_SEEN_MALLOC, 0x1000, 1);
	take(1, 1, 0);
	put(1, 1, HQ_SEEN_MALLOC, 0x2000, 1);
	spool.raw->thread[1].id = 0x3ffffff;
	cr_assert_eq(hq_spool_reclaim(&spool, getpid()), 0);
	cr_expect_eq(spool.raw->chunk[0].state & HQ_RAW_STATE_MASK, HQ_RAW_TAKEN);
	cr_expect_eq(spool.raw->chunk[1].state, HQ_RAW_FREE);
	cr_expect_eq(merge(), 2);
}

Test(spool, nothing_is_taken_back_where_threads_have_other_numbers)
{
	take(0, 0, 0);
	put(0, 1, HQ_SEEN_MALLOC, 0x1000, 1);
	spool.raw->thread[0].id = 0x3ffffff;
	cr_assert_eq(hq_spool_reclaim(&spool, getpid() + 1), 0);
	cr_expect_eq(spool.raw->chunk[0].state & HQ_RAW_STATE_MASK, HQ_RAW_TAKEN);
}

Test(spool, lost_calls_are_summed)
{
	hq_store_relaxed(&spool.raw->thread[2].lost, 5);
	hq_store_relaxed(&spool.raw->lost_threads, 7);
	merge();
	cr_expect_eq(builder.writer.info.lost, 12);
}

Test(spool, bound_stops_the_recording)
{
	for (uint32_t i = 0; i < 20; i++) {
		take(i, 0, i);
		for (uint64_t k = 0; k < HQ_RAW_WORDS / 3; k++)
			put(i, 1000 * i + k, HQ_SEEN_MALLOC, 0x1000 + 16 * (i * 10000 + k), 8);
		set_state(i, HQ_RAW_FULL, 0);
	}
	cr_assert_eq(hq_spool_drain(&spool), 0);
	cr_expect(spool.is_full);
	cr_expect_eq(spool.raw->stop, 1);
	cr_expect_leq(spool.bytes, 1 << 20);
	cr_expect_eq(merge() + builder.writer.info.lost, 20 * (HQ_RAW_WORDS / 3));
}

Test(spool, process_that_ends_takes_its_blocks_with_it)
{
	spool.raw->thread[1].space = 1;
	spool.raw->thread[1].process = 1;
	take(0, 0, 0);
	take(1, 1, 0);
	put(1, 1000, HQ_SEEN_MALLOC, 0x1000, 1);
	put(0, 2000, HQ_SEEN_MALLOC, 0x1000, 2);
	put(1, 3000, HQ_SEEN_MALLOC, 0x2000, 3);
	cr_assert_eq(merge(), 5);
	cr_expect_eq(builder.closed, 2);
	cr_expect_eq(builder.writer.info.left, 1);
	cr_expect_eq(builder.writer.info.repaired, 0);
}

/* A program that writes where it should not may have written here. */
Test(spool, any_bytes_in_shared_memory_become_a_trace)
{
	uint64_t state = 3;

	for (uint32_t i = 0; i < 8; i++) {
		struct hq_raw_chunk *const chunk = &spool.raw->chunk[i];

		take(i, i % 4, i);
		for (uint64_t k = 0; k < 1000; k++)
			put(i, 1000 * i + k, k % 3 ? HQ_SEEN_MALLOC : HQ_SEEN_FREE,
			    0x1000 + 16 * (k % 50), 8);
		for (uint32_t k = 0; k < 200; k++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			chunk->words[(state >> 33) % 3000] = state;
		}
	}
	hq_store_relaxed(&spool.raw->chunk[7].used, UINT32_MAX);
	set_state(6, HQ_RAW_TAKEN, 0xfffffff);
	spool.raw->thread[2].space = UINT32_MAX;
	merge();
	cr_expect_gt(builder.writer.info.lost, 0);
}
