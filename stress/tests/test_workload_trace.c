/* SPDX-License-Identifier: MIT */
/* The workload trace: the calls of a trace and no others, by as many threads, in an order that
 * keeps hand-overs; and whatever the trace is, an end. */
#include "stress/tests/host_fixture.h"
#include "stress/tests/trace_file.h"
#include "stress/workload/trace.h"

static struct host_fixture fixture;
static struct host_fixture_run run;
static struct hq_trace_builder builder;
static int fd;
static char text[200];

static void start(void)
{
	host_fixture_start(&fixture);
	fd = trace_file_make();
	cr_assert_eq(hq_trace_builder_open(&builder, fd, UINT64_MAX, 1000), 0);
}

TestSuite(workload_trace, .init = start);

static void see(enum hq_trace_seen kind, uint32_t thread, uint64_t time_ns, uint64_t address,
		uint64_t size)
{
	const struct hq_trace_event event = {
		.kind = (uint8_t)kind,
		.thread = thread,
		.time_ns = time_ns,
		.address = address,
		.size = size,
		.alignment_shift = kind == HQ_SEEN_ALIGNED ? 6 : 0,
	};

	cr_assert_eq(hq_trace_build(&builder, &event), 0);
}

/* Options for what was built so far. */
static const char *with(const char *options)
{
	cr_assert_eq(hq_trace_builder_finish(&builder, 0), 0);
	snprintf(text, sizeof(text), "file=/proc/self/fd/%d %s", fd, options);
	return text;
}

/* Random calls of `threads` threads on blocks that all of them share. */
static void see_random_calls(uint32_t threads, uint32_t count)
{
	uint64_t state = 11, live[200] = { 0 };

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t bits = (state = state * 6364136223846793005ull + 1) >> 16;
		const uint32_t slot = (uint32_t)(bits % 200);
		const uint32_t thread = (uint32_t)((bits >> 8) % threads);
		const uint64_t address = 16 + 16 * (uint64_t)(i + 1);

		if (live[slot] != 0 && bits >> 40 & 3) {
			see(HQ_SEEN_FREE, thread, i, live[slot], 0);
			live[slot] = 0;
			continue;
		}
		if (live[slot] != 0)
			see(HQ_SEEN_RESIZE_FROM, thread, i, live[slot], 0);
		see(live[slot] != 0 ? HQ_SEEN_RESIZE_TO : HQ_SEEN_MALLOC + (bits >> 42) % 3, thread,
		    i, address, bits >> 30 & 1023);
		live[slot] = address;
	}
}

Test(workload_trace, calls_are_those_of_the_trace)
{
	see(HQ_SEEN_MALLOC, 0, 0, 0x1000, 100);
	see(HQ_SEEN_CALLOC, 0, 0, 0x2000, 200);
	see(HQ_SEEN_ALIGNED, 0, 0, 0x3000, 300);
	see(HQ_SEEN_RESIZE_FROM, 0, 0, 0x1000, 0);
	see(HQ_SEEN_RESIZE_TO, 0, 0, 0x4000, 1000);
	see(HQ_SEEN_FREE, 0, 0, 0x2000, 0);
	host_fixture_run(&fixture, &run, "trace", with(""));
	host_fixture_expect_clean(&fixture);
	const struct host_fixture_sums sums = host_fixture_sum(&fixture);

	cr_expect_eq(run.work.thread_count, 1);
	cr_expect_eq(sums.mallocs, 3);
	cr_expect_eq(sums.reallocs, 1);
	/* The two that are left are freed at the end. */
	cr_expect_eq(sums.frees, 3);
}

Test(workload_trace, block_is_freed_by_the_thread_that_freed_it)
{
	for (uint64_t i = 0; i < 1000; i++) {
		see(HQ_SEEN_MALLOC, 0, 0, 0x1000, 100 + i);
		see(HQ_SEEN_FREE, 1, 0, 0x1000, 0);
	}
	host_fixture_run(&fixture, &run, "trace", with(""));
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(run.work.thread_count, 2);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[0].mallocs), 1000);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[0].frees), 0);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->workers[1].frees), 1000);
}

/* The worst order for who waits: each thread's next step is always on another one's block. */
Test(workload_trace, threads_that_only_hand_on_come_to_an_end)
{
	for (uint64_t i = 0; i < 300; i++) {
		see(HQ_SEEN_MALLOC, i % 7, 0, 0x1000, 50);
		for (uint32_t thread = 0; thread < 7; thread++) {
			see(HQ_SEEN_RESIZE_FROM, thread, 0, 0x1000, 0);
			see(HQ_SEEN_RESIZE_TO, thread, 0, 0x1000, 60 + thread);
		}
		see(HQ_SEEN_FREE, (i + 3) % 7, 0, 0x1000, 0);
	}
	host_fixture_run(&fixture, &run, "trace", with("loops=2"));
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).reallocs, 2 * 300 * 7);
}

Test(workload_trace, loops_and_copies_make_it_more)
{
	see_random_calls(3, 5000);
	host_fixture_run(&fixture, &run, "trace", with("loops=3 copies=4"));
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(run.work.thread_count, 12);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 12 * builder.writer.info.blocks);
	cr_expect_eq(host_fixture_sum(&fixture).frees, 12 * builder.writer.info.blocks);
}

Test(workload_trace, more_threads_than_there_may_be_share)
{
	see_random_calls(100, 20000);
	host_fixture_run(&fixture, &run, "trace", with(""));
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(run.work.thread_count, 64);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, builder.writer.info.blocks);
}

Test(workload_trace, fewer_threads_can_be_asked_for)
{
	see_random_calls(10, 5000);
	host_fixture_run(&fixture, &run, "trace", with("threads=2 copies=2"));
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(run.work.thread_count, 4);
}

Test(workload_trace, refusals_are_survived)
{
	see_random_calls(4, 20000);
	host_fixture_expect_survives("trace", with("loops=2"), 5);
}

Test(workload_trace, same_calls_every_time)
{
	see_random_calls(4, 5000);
	host_fixture_expect_repeatable("trace", with(""));
}

Test(workload_trace, request_for_nothing_asks_for_a_byte)
{
	see(HQ_SEEN_MALLOC, 0, 0, 0x1000, 0);
	host_fixture_run(&fixture, &run, "trace", with(""));
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).mallocs, 1);
}

Test(workload_trace, pace_is_kept)
{
	uint64_t start_ns;

	see(HQ_SEEN_MALLOC, 0, 0, 0x1000, 10);
	see(HQ_SEEN_MALLOC, 0, 60000000, 0x2000, 10);
	with("speed=2");
	start_ns = hq_host_now_ns();
	host_fixture_run(&fixture, &run, "trace", text);
	cr_expect_geq(hq_host_now_ns() - start_ns, 29000000);
}

static uint8_t *given_before;

static void *damaging_malloc(size_t size)
{
	uint8_t *const block = malloc(size);

	if (given_before)
		given_before[1]++;
	given_before = block;
	return block;
}

Test(workload_trace, damage_is_found_where_it_is_touched)
{
	see(HQ_SEEN_MALLOC, 0, 0, 0x1000, 100);
	see(HQ_SEEN_MALLOC, 0, 0, 0x2000, 100);
	with("touch=1B");
	fixture.allocator.malloc = damaging_malloc;
	host_fixture_run(&fixture, &run, "trace", text);
	cr_expect_eq(host_fixture_events(&fixture, 0, HQ_EVENT_CONTENT, NULL), 0);
	given_before = NULL;
	snprintf(text, sizeof(text), "file=/proc/self/fd/%d touch=2B", fd);
	host_fixture_run(&fixture, &run, "trace", text);
	cr_expect_gt(host_fixture_events(&fixture, 0, HQ_EVENT_CONTENT, NULL), 0);
}

/* ---- what cannot be replayed ---- */

static void expect_refusal(const char *options, const char *word)
{
	const struct hq_workload *const workload = hq_workload_find("trace");
	static _Alignas(16) unsigned char values[HQ_OPTION_STRUCT_MAX];
	struct hq_error error = { "" };

	cr_assert_eq(hq_options_default(workload->options, values, &error), 0);
	cr_assert_eq(hq_options_parse(workload->options, values, options, &error), 0, "%s",
		     error.text);
	cr_expect_neq(workload->validate(values, &error), 0);
	cr_expect_not_null(strstr(error.text, word), "%s", error.text);
}

Test(workload_trace, damaged_trace_is_refused_with_the_place)
{
	const uint8_t damage = 0x55;

	see_random_calls(3, 5000);
	with("");
	cr_assert_eq(pwrite(fd, &damage, 1, 1000), 1);
	expect_refusal(text, "byte 128, operation 0: the part is damaged");
}

Test(workload_trace, what_is_no_trace_is_refused)
{
	with("");
	expect_refusal(text, "there is no call in it");
	expect_refusal("file=/dev/null", "it is no trace");
	expect_refusal("file=/no/such", "No such file");
	expect_refusal("file=no-such", "no trace is called 'no-such'");
}

Test(workload_trace, slots_are_used_again_by_who_emptied_them)
{
	static struct hq_trace_script script;
	char path[64];

	for (uint64_t i = 0; i < 1000; i++) {
		see(HQ_SEEN_MALLOC, i % 3, 0, 0x1000, 8);
		see(HQ_SEEN_FREE, i % 3, 0, 0x1000, 0);
	}
	with("");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cr_assert_eq(hq_trace_script_load(path, 3, &script), 0);
	cr_expect_eq(script.slots, 3);
	for (uint32_t thread = 0; thread < 3; thread++)
		for (uint64_t i = 0; i < script.thread[thread].count; i++)
			cr_expect(!script.thread[thread].steps[i].waits);
}
