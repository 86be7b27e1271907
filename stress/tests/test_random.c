/* SPDX-License-Identifier: MIT */
/* Random streams: the same everywhere, apart from each other, and of the promised distribution. */
#include <criterion/criterion.h>

#include "injectors/option.h"
#include "stress/workload/workload.h"

Test(random, a_stream_repeats)
{
	struct hq_random first = hq_random_stream(42, 3, 1);
	struct hq_random second = hq_random_stream(42, 3, 1);

	for (int i = 0; i < 1000; i++)
		cr_assert_eq(hq_random_next(&first), hq_random_next(&second));
}

/* A change of these numbers changes every scenario's work: it needs a reason. */
Test(random, the_first_numbers_of_a_stream_are_fixed)
{
	struct hq_random random = hq_random_stream(42, 0, 0);

	cr_expect_eq(hq_random_next(&random), 0x6c76b6838274a727ull);
	cr_expect_eq(hq_random_next(&random), 0x616684f05d73137bull);
}

Test(random, streams_of_other_seeds_threads_and_purposes_differ)
{
	struct hq_random streams[] = {
		hq_random_stream(42, 0, 0), hq_random_stream(43, 0, 0), hq_random_stream(42, 1, 0),
		hq_random_stream(42, 0, 1), hq_random_stream(42, 1, 1),
	};
	uint64_t drawn[5];

	for (int i = 0; i < 5; i++) {
		drawn[i] = hq_random_next(&streams[i]);
		for (int j = 0; j < i; j++)
			cr_assert_neq(drawn[i], drawn[j]);
	}
}

Test(random, below_stays_below_and_reaches_every_value)
{
	struct hq_random random = hq_random_stream(1, 0, 0);
	uint32_t seen = 0;

	for (int i = 0; i < 1000; i++) {
		const uint64_t value = hq_random_below(&random, 10);

		cr_assert_lt(value, 10);
		seen |= 1u << value;
	}
	cr_assert_eq(seen, 0x3ff);
	cr_assert_eq(hq_random_below(&random, 1), 0);
}

Test(random, a_share_of_one_is_certain_and_of_zero_impossible)
{
	struct hq_random random = hq_random_stream(1, 0, 0);

	for (int i = 0; i < 10000; i++) {
		cr_assert(hq_random_chance(&random, 1.0));
		cr_assert_not(hq_random_chance(&random, 0.0));
	}
}

Test(random, a_share_is_hit_as_often_as_it_says)
{
	struct hq_random random = hq_random_stream(7, 0, 0);
	int hits = 0;

	for (int i = 0; i < 100000; i++)
		hits += hq_random_chance(&random, 0.25);
	cr_assert(hits > 24000 && hits < 26000, "%d", hits);
}

Test(random, sizes_stay_between_both_ends_and_reach_them)
{
	static const struct hq_sizes distributions[] = {
		{ .min_bytes = 8, .max_bytes = 20, .shape = HQ_SIZES_LOG },
		{ .min_bytes = 8, .max_bytes = 20, .shape = HQ_SIZES_UNIFORM },
		{ .min_bytes = 1, .max_bytes = 9, .shape = HQ_SIZES_LOG },
		{ .min_bytes = 64, .max_bytes = 64, .shape = HQ_SIZES_LOG },
		{ .min_bytes = 64, .max_bytes = 64, .shape = HQ_SIZES_UNIFORM },
	};
	struct hq_random random = hq_random_stream(5, 0, 0);

	for (size_t i = 0; i < sizeof(distributions) / sizeof(distributions[0]); i++) {
		uint64_t low = UINT64_MAX, high = 0;

		for (int j = 0; j < 20000; j++) {
			const uint64_t size = hq_random_size(&random, &distributions[i]);

			low = size < low ? size : low;
			high = size > high ? size : high;
		}
		cr_assert_eq(low, distributions[i].min_bytes);
		cr_assert_eq(high, distributions[i].max_bytes);
	}
}

Test(random, logarithmic_sizes_are_as_often_small_as_large)
{
	const struct hq_sizes sizes = { .min_bytes = 16,
					.max_bytes = 1 << 20,
					.shape = HQ_SIZES_LOG };
	struct hq_random random = hq_random_stream(5, 0, 0);
	int small = 0;

	for (int i = 0; i < 100000; i++)
		small += hq_random_size(&random, &sizes) < 4096; /* 8 of 16 doublings */
	cr_assert(small > 49000 && small < 51000, "%d", small);
}
