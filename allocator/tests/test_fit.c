/* SPDX-License-Identifier: MIT */
/*
 * Where runs go: buckets, and places for what may grow.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "allocator/bedrock/fit.h"

#define CLASS_64 4u

static struct bedrock_space space;
static struct bedrock_pages pages;

static void setup(void)
{
	bedrock_space_init(&space);
	bedrock_pages_init(&pages, (struct bedrock_arena *)&pages, &space);
}

TestSuite(fit, .init = setup, .timeout = 60);

static int take_as(struct bedrock_pages_request request, uint32_t count, struct bedrock_run **run)
{
	bool is_zero;

	request.page_count = count;
	request.align_pages = 1;
	return bedrock_pages_alloc(&pages, &request, run, &is_zero);
}

static const struct bedrock_pages_request growing = {
	.class_index = BEDROCK_CLASS_LARGE,
	.is_growing = true,
	.may_grow = true,
};

Test(fit, longer_runs_are_in_no_lower_bucket_and_all_lengths_have_one)
{
	uint32_t last = 0;

	for (uint32_t length = 0; length <= BEDROCK_RUN_PAGES_MAX; length++) {
		uint32_t bucket = bedrock_fit_bucket(length);

		cr_assert_leq(last, bucket);
		cr_assert_lt(bucket, BEDROCK_BUCKET_COUNT);
		last = bucket;
	}
}

Test(fit, nothing_fits_where_there_is_no_chunk)
{
	struct bedrock_pages_request request = growing;
	uint32_t first;

	request.page_count = 1;
	cr_assert_null(bedrock_fit_find(&pages, &request, &first));
	request.is_growing = false;
	cr_assert_null(bedrock_fit_find(&pages, &request, &first));
}

Test(fit, growing_runs_stand_where_each_can_double)
{
	struct bedrock_run *runs[8];

	for (int i = 0; i < 8; i++)
		cr_assert_eq(take_as(growing, 30, &runs[i]), 0);
	cr_assert_eq(pages.chunk_count, 1);
	for (int i = 0; i < 8; i++)
		cr_assert_eq(bedrock_pages_extend(&pages, runs[i], 60), 0);
	cr_assert(bedrock_pages_is_valid(&pages));
}

Test(fit, growing_run_stands_right_behind_a_slab)
{
	const struct bedrock_pages_request slab = { .class_index = CLASS_64, .may_grow = true };
	struct bedrock_run *first;
	struct bedrock_run *run;

	cr_assert_eq(take_as(slab, 4, &first), 0);
	cr_assert_eq(take_as(growing, 30, &run), 0);
	cr_assert_eq(run, first + 4);
}

Test(fit, growing_run_without_room_is_enomem_or_a_new_chunk)
{
	const struct bedrock_pages_request plain = {
		.class_index = BEDROCK_CLASS_LARGE,
		.may_grow = true,
	};
	struct bedrock_pages_request settled = growing;
	struct bedrock_run *big;
	struct bedrock_run *run;

	cr_assert_eq(take_as(plain, BEDROCK_RUN_PAGES_MAX - 50, &big), 0);
	settled.may_grow = false;
	cr_assert_eq(take_as(settled, 30, &run), -ENOMEM);
	cr_assert_eq(take_as(growing, 30, &run), 0);
	cr_assert_neq(bedrock_run_chunk(run), bedrock_run_chunk(big));
	cr_assert_eq(pages.chunk_count, 2);
}
