/* SPDX-License-Identifier: MIT */
/*
 * The curve of resident memory: the bounded list by itself, and the thread on a real child.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "injectors/tests/child.h"
#include "injectors/units.h"
#include "stress/observe/sampler.h"
#include "stress/observe/samples.h"

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * HQ_S + (uint64_t)now.tv_nsec;
}

Test(samples, times_count_from_the_origin_and_earlier_readings_are_left_out)
{
	struct hq_observations seen = { 0 };
	struct hq_samples samples;

	cr_assert_eq(hq_samples_init(&samples, 8), 0);
	hq_samples_add(&samples, 100, 9000);
	hq_samples_add(&samples, 200, 10);
	hq_samples_add(&samples, 300, 20);
	hq_samples_add(&samples, 400, 30);
	hq_samples_hand_over(&samples, 250, &seen);
	cr_expect(seen.has_samples);
	cr_assert_eq(seen.sample_count, 3);
	cr_expect_eq(seen.samples[0].time_ns, 0, "the last reading before the origin is at time 0");
	cr_expect_eq(seen.samples[1].time_ns, 50);
	cr_expect_eq(seen.samples[2].time_ns, 150);
	cr_expect_eq(seen.rss_peak_bytes, 30);
	hq_samples_clear(&samples);
	hq_observations_clear(&seen);
}

Test(samples, none_at_all_observes_nothing)
{
	struct hq_observations seen = { 0 };
	struct hq_samples samples;

	cr_assert_eq(hq_samples_init(&samples, 8), 0);
	hq_samples_hand_over(&samples, 0, &seen);
	cr_expect_not(seen.has_samples);
	cr_expect_null(seen.samples);
	hq_samples_clear(&samples);
}

Test(samples, a_full_list_keeps_its_length_in_time_and_every_peak)
{
	struct hq_observations seen = { 0 };
	struct hq_samples samples;

	cr_assert_eq(hq_samples_init(&samples, 16), 0);
	for (uint64_t t = 0; t < 1001; t++)
		hq_samples_add(&samples, t, t == 777 ? 5000 : 10 + t % 3);
	cr_expect_leq(samples.count, 16);
	hq_samples_hand_over(&samples, 0, &seen);
	cr_expect_eq(seen.rss_peak_bytes, 5000);
	cr_expect_geq(seen.sample_count, 7);
	cr_expect_lt(seen.samples[0].time_ns, 128);
	cr_expect_geq(seen.samples[seen.sample_count - 1].time_ns, 1001 - 128);
	for (size_t i = 1; i < seen.sample_count; i++)
		cr_expect_lt(seen.samples[i - 1].time_ns, seen.samples[i].time_ns);
	hq_samples_clear(&samples);
	hq_observations_clear(&seen);
}

#define BURST (32 * HQ_MIB)

/* Holds a burst for a while, gives it back, and stays until it is told to go. */
static int burst(struct child *self, void *cookie)
{
	(void)cookie;
	child_hear(self);
	char *memory = child_touch(BURST);

	if (!memory)
		return 1;
	child_say(self);
	child_hear(self);
	munmap(memory, BURST);
	child_say(self);
	child_hear(self);
	return 0;
}

/* Waits, with a deadline, until the newest sample is on the wanted side of the limit. */
static bool latest_gets(const struct hq_sampler *sampler, bool above, uint64_t limit_bytes)
{
	for (int i = 0; i < 2000; i++) {
		const uint64_t latest = hq_sampler_latest_bytes(sampler);

		if (latest && above == (latest > limit_bytes))
			return true;
		usleep(5000);
	}
	return false;
}

Test(sampler, a_burst_is_seen_coming_and_going, .timeout = 60)
{
	struct hq_observations seen = { 0 };
	struct hq_sampler *sampler;
	struct child child;

	child_start(&child, burst, NULL);
	cr_assert_eq(hq_sampler_start(&sampler, child.pid, HQ_MS), 0);
	const uint64_t origin = now_ns();

	child_say(&child);
	cr_assert(child_hear(&child));
	cr_expect(latest_gets(sampler, true, BURST));
	cr_expect_gt(hq_sampler_read_bytes(sampler), BURST);
	child_say(&child);
	cr_assert(child_hear(&child));
	cr_expect(latest_gets(sampler, false, BURST));
	child_say(&child);
	cr_assert_eq(child_end(&child), 0);
	cr_expect_eq(hq_sampler_read_bytes(sampler), 0, "a dead target has no memory");
	hq_sampler_stop(sampler, origin, &seen);
	cr_assert(seen.has_samples);
	cr_expect_gt(seen.rss_peak_bytes, BURST);
	cr_expect_lt(seen.rss_peak_bytes, 2 * BURST);
	cr_expect_lt(seen.samples[seen.sample_count - 1].rss_bytes, BURST);
	cr_expect_gt(seen.sampler_core_share, 0);
	cr_expect_leq(seen.sampler_core_share, 1);
	hq_observations_clear(&seen);
}

Test(sampler, stopping_while_the_target_is_a_zombie_works, .timeout = 60)
{
	struct hq_observations seen = { 0 };
	struct hq_sampler *sampler;
	struct child child;
	siginfo_t info;

	child_start(&child, burst, NULL);
	cr_assert_eq(hq_sampler_start(&sampler, child.pid, HQ_MS), 0);
	cr_expect(latest_gets(sampler, false, BURST));
	kill(child.pid, SIGKILL);
	waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT);
	hq_sampler_stop(sampler, 0, &seen);
	cr_expect(seen.has_samples);
	child_end(&child);
	hq_observations_clear(&seen);
}

Test(sampler, a_target_that_does_not_exist_is_refused)
{
	struct hq_sampler *sampler;
	struct child child;

	child_start(&child, burst, NULL);
	child_kill(&child);
	cr_assert_eq(hq_sampler_start(&sampler, child.pid, HQ_MS), -ENOENT);
}
