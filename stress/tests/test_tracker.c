/* SPDX-License-Identifier: MIT */
/* Trackers: what each counts, what it refuses, and how far each may be from the truth. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/workload/tracker.h"

#define THREADS 4
#define LIMIT   (8 * HQ_MIB)
#define BLOCK   (10 * HQ_KIB)

static struct hq_tracker tracker;

static void start(uint32_t form, uint32_t mistake)
{
	const struct hq_tracker_settings settings = { .form = form,
						      .mistake = mistake,
						      .hard_bytes = LIMIT,
						      .soft_bytes = LIMIT / 2,
						      .batch_bytes = 256 * HQ_KIB,
						      .period_ns = 50 * HQ_MS };

	memset(&tracker, 0, sizeof(tracker));
	hq_tracker_start(&tracker, &settings);
}

/* A thread's blocks until it is refused. */
static uint64_t fill(uint32_t thread, uint64_t bytes, uint64_t most)
{
	uint64_t taken = 0;

	while (taken < most && hq_tracker_charge(&tracker, thread, bytes))
		taken += bytes;
	return taken;
}

Test(tracker, nothing_is_refused_up_to_the_soft_limit_and_everything_from_the_hard_one_on)
{
	const struct hq_tracker_settings settings = { .hard_bytes = 100, .soft_bytes = 60 };

	cr_expect_float_eq(hq_tracker_refusal(&settings, 0), 0, 1e-9);
	cr_expect_float_eq(hq_tracker_refusal(&settings, 60), 0, 1e-9);
	cr_expect_float_eq(hq_tracker_refusal(&settings, 70), 0.25, 1e-9);
	cr_expect_float_eq(hq_tracker_refusal(&settings, 90), 0.75, 1e-9);
	cr_expect_float_eq(hq_tracker_refusal(&settings, 100), 1, 1e-9);
	cr_expect_float_eq(hq_tracker_refusal(&settings, 1000), 1, 1e-9);
}

Test(tracker, limits_that_are_one_refuse_from_there_on)
{
	const struct hq_tracker_settings settings = { .hard_bytes = 100, .soft_bytes = 100 };

	cr_expect_float_eq(hq_tracker_refusal(&settings, 99), 0, 1e-9);
	cr_expect_float_eq(hq_tracker_refusal(&settings, 100), 1, 1e-9);
}

Test(tracker, stripes_add_up_and_never_pass_the_limit_in_one_thread)
{
	start(HQ_TRACKER_STRIPED, HQ_TRACKER_SOUND);
	cr_expect(hq_tracker_charge(&tracker, 0, 100));
	cr_expect(hq_tracker_charge(&tracker, 1, 50));
	cr_expect_eq(hq_tracker_figure(&tracker, 2), 150);
	hq_tracker_discharge(&tracker, 1, 100);
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 50, "what another thread frees");
	cr_expect_leq(50 + fill(0, BLOCK, UINT64_MAX), LIMIT);
	cr_expect_gt(hq_tracker_figure(&tracker, 0), LIMIT - BLOCK);
}

Test(tracker, a_cached_total_is_old_until_its_period_is_over)
{
	start(HQ_TRACKER_CACHED, HQ_TRACKER_SOUND);
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 0);
	cr_expect(hq_tracker_charge(&tracker, 0, 1000));
	/* The first total has been taken; to this clock, which is behind, it is never too old. */
	tracker.total_ns = hq_tracker_clock_ns() + HQ_S;
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 0);
	tracker.total_ns = hq_tracker_clock_ns() - 51 * HQ_MS;
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 1000);
	hq_tracker_discharge(&tracker, 1, 400);
	tracker.total_ns = hq_tracker_clock_ns() - 51 * HQ_MS;
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 600, "what another thread frees");
}

Test(tracker, a_cached_total_is_not_waited_for_while_somebody_takes_it)
{
	start(HQ_TRACKER_CACHED, HQ_TRACKER_SOUND);
	cr_expect(hq_tracker_charge(&tracker, 0, 1000));
	tracker.totalling = 1;
	tracker.total_ns = 1;
	cr_expect_eq(hq_tracker_figure(&tracker, 1), 0);
	tracker.totalling = 0;
	cr_expect_eq(hq_tracker_figure(&tracker, 1), 1000);
	cr_expect_gt(hq_tracker_taken_ns(&tracker), 1);
}

Test(tracker, a_cached_total_passes_the_limit_by_what_is_taken_meanwhile_and_then_refuses)
{
	start(HQ_TRACKER_CACHED, HQ_TRACKER_SOUND);
	hq_tracker_figure(&tracker, 0);
	tracker.total_ns = hq_tracker_clock_ns() + HQ_S;
	cr_expect_geq(fill(0, BLOCK, 2 * LIMIT), 2 * LIMIT);
	tracker.total_ns = 0;
	cr_expect_geq(hq_tracker_figure(&tracker, 0), 2 * LIMIT);
	cr_expect_not(hq_tracker_charge(&tracker, 0, 1));
}

Test(tracker, a_lasting_total_is_too_old_only_after_twenty_periods)
{
	start(HQ_TRACKER_CACHED, HQ_TRACKER_LASTING);
	cr_expect(hq_tracker_charge(&tracker, 0, 1000));
	tracker.total_ns = hq_tracker_clock_ns() - 500 * HQ_MS;
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 0);
	tracker.total_ns = hq_tracker_clock_ns() - 1001 * HQ_MS;
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 1000);
}

Test(tracker, credit_is_charged_in_batches_and_exactly_near_the_limit)
{
	start(HQ_TRACKER_CREDIT, HQ_TRACKER_SOUND);
	cr_expect(hq_tracker_charge(&tracker, 0, 1000));
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 1000 + 256 * HQ_KIB);
	cr_expect(hq_tracker_charge(&tracker, 0, 1000));
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 1000 + 256 * HQ_KIB);
	const uint64_t taken = 2000 + fill(0, 1000, UINT64_MAX);

	cr_expect_leq(taken, LIMIT);
	cr_expect_gt(taken, LIMIT - 1000);
	cr_expect_leq(hq_tracker_figure(&tracker, 0), LIMIT);
}

Test(tracker, credit_beyond_two_batches_is_given_back)
{
	start(HQ_TRACKER_CREDIT, HQ_TRACKER_SOUND);
	const uint64_t taken = fill(0, BLOCK, 4 * HQ_MIB);

	for (uint64_t given = 0; given < taken; given += BLOCK)
		hq_tracker_discharge(&tracker, 1, BLOCK);
	cr_expect_leq(hq_tracker_figure(&tracker, 0),
		      2 * hq_tracker_stranded_bytes(&tracker.settings));
}

Test(tracker, more_than_the_limit_at_once_is_refused_and_changes_nothing)
{
	for (uint32_t form = HQ_TRACKER_STRIPED; form <= HQ_TRACKER_CREDIT; form++) {
		start(form, HQ_TRACKER_SOUND);
		cr_expect_not(hq_tracker_charge(&tracker, 0, LIMIT + 1), "%s",
			      hq_tracker_forms[form]);
		cr_expect_eq(hq_tracker_figure(&tracker, 0), 0);
		cr_expect(hq_tracker_charge(&tracker, 0, LIMIT), "%s", hq_tracker_forms[form]);
	}
}

Test(tracker, what_is_charged_late_passes_the_limit)
{
	start(HQ_TRACKER_CREDIT, HQ_TRACKER_LATE);
	cr_expect_gt(fill(0, BLOCK, UINT64_MAX), LIMIT);
}

/* ---- many threads ---- */

static _Atomic uint64_t held;

struct taker {
	pthread_t id;
	uint32_t thread;
	uint64_t peak_bytes;
};

/* Takes up to its share of twice the limit, and gives all of it back. */
static void *take_and_give(void *argument)
{
	struct taker *const self = argument;

	for (int round = 0; round < 20; round++) {
		uint64_t own = 0;

		while (own < 2 * LIMIT / THREADS &&
		       hq_tracker_charge(&tracker, self->thread, BLOCK)) {
			const uint64_t now = hq_fetch_add_relaxed(&held, BLOCK) + BLOCK;

			own += BLOCK;
			self->peak_bytes = now > self->peak_bytes ? now : self->peak_bytes;
		}
		for (; own > 0; own -= BLOCK) {
			hq_fetch_add_relaxed(&held, -BLOCK);
			hq_tracker_discharge(&tracker, self->thread, BLOCK);
		}
	}
	return NULL;
}

/* The most that all held at once. */
static uint64_t run_threads(void)
{
	struct taker takers[THREADS];
	uint64_t peak = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		takers[i] = (struct taker){ .thread = i };
		cr_assert_eq(pthread_create(&takers[i].id, NULL, take_and_give, &takers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(takers[i].id, NULL);
		peak = takers[i].peak_bytes > peak ? takers[i].peak_bytes : peak;
	}
	return peak;
}

Test(tracker, threads_pass_the_limit_of_stripes_by_less_than_a_block_each)
{
	start(HQ_TRACKER_STRIPED, HQ_TRACKER_SOUND);
	cr_expect_leq(run_threads(), LIMIT + (THREADS - 1) * BLOCK);
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 0);
}

Test(tracker, threads_never_pass_the_limit_of_credit)
{
	start(HQ_TRACKER_CREDIT, HQ_TRACKER_SOUND);
	cr_expect_leq(run_threads(), LIMIT);
	cr_expect_leq(hq_tracker_figure(&tracker, 0),
		      THREADS * hq_tracker_stranded_bytes(&tracker.settings));
}

Test(tracker, what_threads_count_for_themselves_adds_up)
{
	start(HQ_TRACKER_CACHED, HQ_TRACKER_SOUND);
	run_threads();
	tracker.total_ns = 0;
	cr_expect_eq(hq_tracker_figure(&tracker, 0), 0);
}
