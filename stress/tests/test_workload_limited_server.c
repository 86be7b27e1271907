/* SPDX-License-Identifier: MIT */
/* The workload limited-server: what it admits, refuses and reports, with each tracker. */
#include "stress/tests/host_fixture.h"

#include "injectors/units.h"
#include "stress/observe/limit_seen.h"

/* 2 threads that would hold 1.6 MiB each. */
#define SMALL                                                                                      \
	"threads=2 rounds=2 requests=300 rows=8 hold=200 size=1KiB checks=100 hard=1MiB "          \
	"soft=768KiB batch=16KiB period=5ms "

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_limited_server, .init = start);

static struct hq_limit_seen run_with(const char *options)
{
	char text[512];
	struct hq_limit_seen seen;

	snprintf(text, sizeof(text), SMALL "%s", options);
	host_fixture_run(&fixture, &run, "limited-server", text);
	host_fixture_expect_clean(&fixture);
	hq_limit_total(fixture.wire->workers, HQ_WIRE_WORKERS, &seen);
	return seen;
}

static void expect_limited(const char *options)
{
	const struct hq_limit_seen seen = run_with(options);

	cr_expect_eq(seen.workers, 2);
	cr_expect_eq(seen.words[HQ_LIMIT_ADMITTED] + seen.words[HQ_LIMIT_REFUSED], 2 * 2 * 300);
	cr_expect_eq(seen.words[HQ_LIMIT_ROWS], 8 * seen.words[HQ_LIMIT_ADMITTED]);
	cr_expect_gt(seen.words[HQ_LIMIT_REFUSED], 0);
	cr_expect_gt(seen.words[HQ_LIMIT_PEAK_BYTES], 512 * HQ_KIB);
	cr_expect_eq(seen.words[HQ_LIMIT_QUIETS], 2);
	cr_expect_leq(seen.words[HQ_LIMIT_LEFT_BYTES], seen.words[HQ_LIMIT_STRANDED_BYTES]);
	cr_expect_eq(host_fixture_ops(&fixture), 2 * 2 * 300);
}

Test(workload_limited_server, it_refuses_near_its_limit_and_forgets_nothing_by_stripes)
{
	expect_limited("tracker=striped");
}

Test(workload_limited_server, it_refuses_near_its_limit_and_forgets_nothing_by_a_cached_total)
{
	expect_limited("tracker=cached arrivals=constant rate=2k/s");
}

Test(workload_limited_server, it_refuses_near_its_limit_and_forgets_nothing_by_credit)
{
	expect_limited("tracker=credit");
}

Test(workload_limited_server, credit_never_passes_the_hard_limit)
{
	const struct hq_limit_seen seen = run_with("tracker=credit soft=1MiB");

	cr_expect_leq(seen.words[HQ_LIMIT_PEAK_BYTES], HQ_MIB);
	cr_expect_gt(seen.words[HQ_LIMIT_REFUSED], 0);
}

Test(workload_limited_server, nothing_is_refused_below_the_soft_limit)
{
	const struct hq_limit_seen seen = run_with("hard=64MiB soft=64MiB");

	cr_expect_eq(seen.words[HQ_LIMIT_REFUSED], 0);
	cr_expect_eq(seen.words[HQ_LIMIT_ADMITTED], 2 * 2 * 300);
}

Test(workload_limited_server, checks_are_made_and_timed)
{
	const struct hq_limit_seen seen = run_with("checks=1k");

	cr_expect_eq(seen.words[HQ_LIMIT_CHECKS], 2 * 1000);
	cr_expect_gt(seen.words[HQ_LIMIT_CHECKS_CPU_NS], 0);
}

/* ---- mistakes ---- */

Test(workload_limited_server, a_forgetful_server_counts_what_it_has_freed)
{
	cr_expect_gt(run_with("mistake=forgetful").words[HQ_LIMIT_LEFT_BYTES], 0);
}

Test(workload_limited_server, a_timid_server_refuses_early)
{
	const uint64_t early = run_with("mistake=timid").words[HQ_LIMIT_EARLY_BYTES];

	cr_expect(early > 0 && early < 600 * HQ_KIB, "%lu", early);
}

Test(workload_limited_server, an_unfair_server_starves_threads)
{
	const struct hq_limit_seen seen = run_with("mistake=unfair arrivals=constant rate=3k/s");

	cr_expect_lt(seen.admitted_least, seen.words[HQ_LIMIT_ADMITTED] / 2 / 2);
}

Test(workload_limited_server, what_is_paid_late_passes_the_limit)
{
	const struct hq_limit_seen seen =
		run_with("tracker=credit soft=1MiB batch=256KiB mistake=late");

	cr_expect_gt(seen.words[HQ_LIMIT_PEAK_BYTES], HQ_MIB);
}

Test(workload_limited_server, a_total_that_lasts_is_gone_by_when_it_is_old)
{
	const struct hq_limit_seen seen =
		run_with("tracker=cached arrivals=constant rate=2k/s mistake=lasting");

	cr_expect_gt(seen.words[HQ_LIMIT_OLDEST_NS], 50 * HQ_MS);
}

/* ---- options ---- */

Test(workload_limited_server, options_that_do_not_go_together_are_refused)
{
	static const char *const wrong[] = { "hard=1MiB soft=2MiB",
					     "hard=4KiB soft=4KiB size=8KiB",
					     "hold=1000k rows=100k",
					     "mistake=late",
					     "mistake=lasting tracker=credit",
					     "mistake=unlocked",
					     "arrivals=constant rate=0/s" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		host_fixture_expect_refuses("limited-server", wrong[i]);
}

Test(workload_limited_server, rows_depend_on_the_seed_and_the_request_alone)
{
	host_fixture_expect_repeatable("limited-server",
				       SMALL "size=16B..4KiB_log hard=64MiB soft=64MiB");
}

Test(workload_limited_server, it_survives_refusals_at_random)
{
	host_fixture_expect_survives("limited-server", SMALL, 5);
}

Test(workload_limited_server, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives("limited-server", SMALL, 1);
}

Test(workload_limited_server, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("limited-server", SMALL);
}
