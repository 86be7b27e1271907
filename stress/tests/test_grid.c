/* SPDX-License-Identifier: MIT */
/* Grids of settings and their frontier. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "stress/command/grid.h"
#include "stress/compare/frontier.h"
#include "stress/plan/words.h"

static struct hq_grid parse(char *const *texts)
{
	struct hq_grid grid;
	struct hq_error error = { "" };

	cr_assert_eq(hq_grid_parse(texts, &grid, &error), 0, "%s", error.text);
	return grid;
}

Test(grid, every_combination_has_its_settings_and_name)
{
	char *texts[] = { "rows=1k,2k", "dirty=0,5,9", NULL };
	char *common[] = { "env.CONF=decay:{dirty},x:{other}", NULL };
	struct hq_grid grid = parse(texts);
	char name[64];

	cr_assert_eq(grid.points, 6);
	char **settings = hq_grid_settings(&grid, 4, common);

	cr_expect_str_eq(settings[0], "env.CONF=decay:5,x:{other}");
	cr_expect_str_eq(settings[1], "rows=2k");
	cr_expect_null(settings[2]);
	cr_expect_str_eq(hq_grid_name(&grid, 4, name, sizeof(name)), "rows=2k dirty=5");
	hq_words_free(settings);
	hq_grid_clear(&grid);
}

Test(grid, values_with_commas_are_told_apart_by_bars)
{
	char *texts[] = { "env.CONF=a:1,b:2|a:3,b:4", NULL };
	struct hq_grid grid = parse(texts);
	char name[64];

	cr_assert_eq(grid.points, 2);
	cr_expect_str_eq(hq_grid_name(&grid, 1, name, sizeof(name)), "env.CONF=a:3,b:4");
	hq_grid_clear(&grid);
}

Test(grid, what_is_no_grid_is_refused)
{
	static char *bad[][3] = { { "x", NULL, NULL },
				  { "=1", NULL, NULL },
				  { "x=", NULL, NULL },
				  { "x=,", NULL, NULL },
				  { "x=1,2", "x=3", NULL },
				  { "a=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
				    "b=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16", NULL } };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hq_error error = { "" };
		struct hq_grid grid;

		cr_expect_neq(hq_grid_parse(bad[i], &grid, &error), 0, "%s", bad[i][0]);
		cr_expect_neq(error.text[0], '\0');
		hq_grid_clear(&grid);
	}
}

Test(frontier, what_nobody_dominates_stays)
{
	/* The third is worse than the first in both, the last was not measured. */
	const double values[] = { 1, 9, 9, 1, 2, 10, 5, 5, 1, NAN };
	bool on[5];

	hq_frontier_find(values, 5, 2, 0.01, on);
	cr_expect(on[0] && on[1] && !on[2] && on[3] && !on[4]);
}

Test(frontier, what_is_as_good_within_the_tolerance_stays)
{
	const double values[] = { 100, 100, 101, 101, 110, 100 };
	bool on[3];

	hq_frontier_find(values, 3, 2, 0.02, on);
	cr_expect(on[0] && on[1] && !on[2]);
}
