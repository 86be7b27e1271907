/* SPDX-License-Identifier: MIT */
/* The schedule of a limit that moves. */
#include <criterion/criterion.h>
#include <string.h>

#include "injectors/limit_steps.h"
#include "injectors/units.h"

static struct hq_limit_steps steps;
static struct hq_error error;

Test(limit_steps, none_is_no_step)
{
	cr_assert_eq(hq_limit_steps_parse("none", &steps, &error), 0);
	cr_assert_eq(steps.count, 0);
	cr_assert_eq(hq_limit_steps_due(&steps, UINT64_MAX), 0);
}

Test(limit_steps, steps_are_read_in_order)
{
	cr_assert_eq(hq_limit_steps_parse("64MiB@300ms,1GiB@2s", &steps, &error), 0, "%s",
		     error.text);
	cr_assert_eq(steps.count, 2);
	cr_assert_eq(steps.list[0].bytes, 64 * HQ_MIB);
	cr_assert_eq(steps.list[0].at_ns, 300 * HQ_MS);
	cr_assert_eq(steps.list[1].bytes, 1024 * HQ_MIB);
	cr_assert_eq(steps.list[1].at_ns, 2 * HQ_S);
}

Test(limit_steps, a_step_is_due_from_its_time_on)
{
	hq_limit_steps_parse("64MiB@300ms,32MiB@2s", &steps, &error);
	cr_assert_eq(hq_limit_steps_due(&steps, 300 * HQ_MS - 1), 0);
	cr_assert_eq(hq_limit_steps_due(&steps, 300 * HQ_MS), 1);
	cr_assert_eq(hq_limit_steps_due(&steps, HQ_S), 1);
	cr_assert_eq(hq_limit_steps_due(&steps, 2 * HQ_S), 2);
}

static void refuse(const char *text, const char *part)
{
	error.text[0] = '\0';
	cr_expect_neq(hq_limit_steps_parse(text, &steps, &error), 0, "%s", text);
	cr_expect_not_null(strstr(error.text, part), "%s: %s", text, error.text);
}

Test(limit_steps, what_is_no_step_is_refused_with_the_reason)
{
	refuse("", "no step");
	refuse("64MiB", "no step");
	refuse("64MiB@300ms,", "no step");
	refuse("64@300ms", "steps: ");
	refuse("64MiB@300", "steps: ");
	refuse("64MiB@", "steps: ");
	refuse("@1s", "steps: ");
	refuse("4KiB@1s", "less than 1MiB");
	refuse("64MiB@2s,32MiB@1s", "come after");
	refuse("64MiB@1s,32MiB@1s", "come after");
	refuse("1MiB@1s,1MiB@2s,1MiB@3s,1MiB@4s,1MiB@5s,1MiB@6s,1MiB@7s,1MiB@8s,1MiB@9s",
	       "at most");
	refuse("1111111111111111111111111111111111111111111111111111111111111111MiB@1s", "no step");
}
