/* SPDX-License-Identifier: MIT */
/* The workload signals: what its handler does, and that it is the same work every time. */
#include <signal.h>

#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_signals, .init = start, .timeout = 60);

Test(workload_signals, everything_is_freed_and_no_signal_means_no_handler)
{
	host_fixture_run(&fixture, &run, "signals", "threads=2 ops=500 live=20 allocate=yes");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(fixture.wire->workers[0].signals_taken, 0);
}

Test(workload_signals, a_thread_goes_on_for_signals_that_do_not_come_but_not_for_ever)
{
	host_fixture_run(&fixture, &run, "signals",
			 "threads=1 ops=50 signals=3 live=5 allocate=yes");
	host_fixture_expect_clean(&fixture);
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 20 * 50);
}

Test(workload_signals, a_thread_goes_on_no_longer_than_until_its_signals_came)
{
	fixture.wire->workers[0].signals_taken = 3;
	host_fixture_run(&fixture, &run, "signals",
			 "threads=1 ops=50 signals=3 live=5 allocate=yes");
	cr_assert_eq(host_fixture_sum(&fixture).mallocs, 50);
}

Test(workload_signals, waiting_for_signals_that_nobody_answers_is_refused)
{
	static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	const struct hq_workload *const signals = hq_workload_find("signals");
	struct hq_error error;

	hq_options_default(signals->options, options, &error);
	cr_assert_eq(signals->validate(options, &error), 0);
	hq_options_parse(signals->options, options, "signals=3", &error);
	cr_assert_neq(signals->validate(options, &error), 0);
	hq_options_parse(signals->options, options, "signals=3 allocate=yes", &error);
	cr_assert_eq(signals->validate(options, &error), 0);
}

Test(workload_signals, it_repeats)
{
	host_fixture_expect_repeatable("signals", "threads=2 ops=500 live=20");
}

Test(workload_signals, it_survives_refusals)
{
	host_fixture_expect_survives("signals", "threads=2 ops=500 live=20", 3);
}

Test(workload_signals, a_handler_uses_the_heap_of_its_thread)
{
	struct hq_heap heap;

	host_fixture_heap(&fixture, &heap, 3);
	cr_assert_eq(hq_host_catch_signals(), 0);
	hq_heap_signals(&heap, true);
	raise(SIGUSR1);
	hq_heap_signals(&heap, false);
	raise(SIGUSR1);
	cr_expect_eq(fixture.wire->workers[3].signals_taken, 1);
	cr_expect_eq(fixture.wire->workers[3].signals_done, 1);
	cr_expect_eq(fixture.wire->workers[3].signal_nulls, 0);
	cr_expect_eq(fixture.wire->workers[3].signal_damaged, 0);
}

Test(workload_signals, null_in_a_handler_is_counted)
{
	struct hq_heap heap;

	host_fixture_refuse(&fixture, 1);
	host_fixture_heap(&fixture, &heap, 0);
	hq_host_catch_signals();
	hq_heap_signals(&heap, true);
	raise(SIGUSR1);
	cr_expect_eq(fixture.wire->workers[0].signal_nulls, 1);
	cr_expect_eq(host_fixture_all_events(&fixture), 0);
}
