/* SPDX-License-Identifier: MIT */
/* The line that reproduces a case: a shell reads it as it was meant, and it is never cut. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stress/control/repro.h"

static struct hq_plan *make_plan(void)
{
	struct hq_plan *plan = calloc(1, sizeof(*plan));

	cr_assert_not_null(plan);
	strcpy(plan->allocator, "glibc");
	strcpy(plan->path, "fine.yaml");
	plan->seed = 42;
	return plan;
}

Test(repro, plain_words_stay_plain)
{
	struct hq_plan *plan = make_plan();
	char text[200];

	hq_repro_add(plan, "--timeout", "3s");
	hq_repro_add(plan, "--check", "rss.peak <= 1MiB");
	cr_expect_str_eq(hq_repro_print(plan, "heapquake", text, sizeof(text)),
			 "heapquake run --allocator=glibc --seed=42 --timeout=3s "
			 "'--check=rss.peak <= 1MiB' fine.yaml");
	free(plan);
}

Test(repro, spaces_in_any_word_are_quoted)
{
	struct hq_plan *plan = make_plan();
	char text[200];

	strcpy(plan->allocator, "/a b/lib.so");
	strcpy(plan->path, "my file.yaml");
	cr_expect_str_eq(hq_repro_print(plan, "a b/heapquake", text, sizeof(text)),
			 "'a b/heapquake' run '--allocator=/a b/lib.so' --seed=42 'my file.yaml'");
	free(plan);
}

Test(repro, a_command_without_room_is_a_comment)
{
	struct hq_plan *plan = make_plan();
	char *command[] = { "echo", "one", "two", "three", NULL };
	char text[48];

	plan->path[0] = '\0';
	plan->command = command;
	hq_repro_print(plan, "heapquake", text, sizeof(text));
	cr_expect_eq(text[0], '#', "%s", text);
	free(plan);
}

Test(repro, options_without_room_are_a_comment)
{
	struct hq_plan *plan = make_plan();
	char text[4096], value[1000];

	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (int i = 0; i < 4; i++)
		hq_repro_add(plan, "--inject", value);
	hq_repro_print(plan, "heapquake", text, sizeof(text));
	cr_expect_eq(text[0], '#', "%.60s", text);
	free(plan);
}
