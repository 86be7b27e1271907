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
