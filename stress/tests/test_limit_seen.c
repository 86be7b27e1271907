/* SPDX-License-Identifier: MIT */
/* What workers saw of a limit is put together: sums, the most, the least. */
#include <criterion/criterion.h>

#include "stress/observe/limit_seen.h"
#include "stress/tests/observed.h"

static struct hq_wire_worker workers[3];

static void set(int worker, enum hq_limit_word word, uint64_t value)
{
	workers[worker].limit[word] = value;
}

static struct hq_limit_seen total(void)
{
	struct hq_limit_seen seen;

	hq_limit_total(workers, 3, &seen);
	return seen;
}

Test(limit_seen, without_a_limit_there_is_nothing)
{
	set(0, HQ_LIMIT_ADMITTED, 5);
	const struct hq_limit_seen seen = total();

	cr_expect_eq(seen.workers, 0);
	cr_expect_eq(seen.words[HQ_LIMIT_ADMITTED], 0);
}

Test(limit_seen, workers_without_a_limit_are_left_out)
{
	set(1, HQ_LIMIT_HARD_BYTES, 100);
	set(1, HQ_LIMIT_ADMITTED, 7);
	const struct hq_limit_seen seen = total();

	cr_expect_eq(seen.workers, 1);
	cr_expect_eq(seen.admitted_least, 7);
	cr_expect_eq(seen.words[HQ_LIMIT_HARD_BYTES], 100);
}

Test(limit_seen, counts_add_up_and_the_least_served_is_known)
{
	for (int i = 0; i < 3; i++) {
		set(i, HQ_LIMIT_HARD_BYTES, 100);
		set(i, HQ_LIMIT_ADMITTED, (uint64_t)(3 - i) * 10);
		set(i, HQ_LIMIT_TAKEN_BYTES, 5);
		set(i, HQ_LIMIT_BACK, 1);
	}
	const struct hq_limit_seen seen = total();

	cr_expect_eq(seen.workers, 3);
	cr_expect_eq(seen.words[HQ_LIMIT_ADMITTED], 60);
	cr_expect_eq(seen.admitted_least, 10);
	cr_expect_eq(seen.words[HQ_LIMIT_TAKEN_BYTES], 15);
	cr_expect_eq(seen.words[HQ_LIMIT_BACK], 3);
	cr_expect_eq(seen.words[HQ_LIMIT_HARD_BYTES], 100);
}

Test(limit_seen, of_what_is_about_all_the_most_counts_and_of_early_refusals_the_least)
{
	for (int i = 0; i < 3; i++) {
		set(i, HQ_LIMIT_HARD_BYTES, 100);
		set(i, HQ_LIMIT_PEAK_BYTES, 90 + (uint64_t)i);
		set(i, HQ_LIMIT_STEP_NS, 7 - (uint64_t)i);
	}
	set(1, HQ_LIMIT_EARLY_BYTES, 80);
	set(2, HQ_LIMIT_EARLY_BYTES, 85);
	set(0, HQ_LIMIT_ROW_CPU_NS, 500);
	const struct hq_limit_seen seen = total();

	cr_expect_eq(seen.words[HQ_LIMIT_PEAK_BYTES], 92);
	cr_expect_eq(seen.words[HQ_LIMIT_STEP_NS], 7);
	cr_expect_eq(seen.words[HQ_LIMIT_EARLY_BYTES], 80, "0 is none");
	cr_expect_eq(seen.words[HQ_LIMIT_ROW_CPU_NS], 500);
}
