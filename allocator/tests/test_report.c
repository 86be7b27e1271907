/* SPDX-License-Identifier: MIT */
/*
 * The report as text and as JSON, and that it is whole, bounded and free of allocations.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/report.h"

static char written[65536];

static void append(void *argument, const char *text)
{
	cr_assert_eq(argument, written);
	cr_assert_lt(strlen(written) + strlen(text), sizeof(written));
	strcat(written, text);
}

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
}

TestSuite(report, .init = setup, .timeout = 30);

static void check_number(const char *name, uint64_t number)
{
	char expected[128];

	snprintf(expected, sizeof(expected), "\"%s\":%ju,", name, (uintmax_t)number);
	cr_assert_not_null(strstr(written, expected), "%s not in %s", expected, written);
}

Test(report, json_has_the_figures_of_the_snapshot)
{
	struct bedrock_stats stats;
	void *small = bedrock_malloc(1000);
	void *huge = bedrock_malloc(5 << 20);

	bedrock_stats_print(append, written, "J");
	bedrock_stats_read(&stats);
	check_number("allocated_bytes", stats.allocated_bytes);
	check_number("resident_bytes", stats.resident_bytes);
	check_number("huge_count", 1);
	cr_assert_not_null(strstr(written, "\"dirty_decay_ms\":500"));
	cr_assert_not_null(strstr(written, "\"percpu_arena\":\"percpu\""));
	cr_assert_not_null(strstr(written, "\"tcache\":true"));
	cr_assert_not_null(strstr(written, "{\"block_bytes\":1024,\"blocks\":"));
	bedrock_free(small);
	bedrock_free(huge);
}

Test(report, json_brackets_match_and_no_comma_is_loose)
{
	int depth = 0;

	bedrock_free(bedrock_malloc(100));
	bedrock_stats_print(append, written, "J");
	for (const char *at = written; *at; at++) {
		depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
		cr_assert(depth > 0 || at[0] == '\n' || at[1] == '\n');
		cr_assert(*at != ',' || at[1] == '"' || at[1] == '{', "at %s", at);
		cr_assert((*at != '{' && *at != '[') || at[1] != ',', "at %s", at);
		cr_assert((*at != '}' && *at != ']') || (at[1] != '"' && at[1] != '{'));
	}
	cr_assert_eq(depth, 0);
}

Test(report, letters_leave_parts_out)
{
	bedrock_stats_print(append, written, "Jgab");
	cr_assert_null(strstr(written, "options"));
	cr_assert_null(strstr(written, "arenas"));
	cr_assert_null(strstr(written, "classes"));
	cr_assert_not_null(strstr(written, "\"stats\":{"));
}

Test(report, text_has_a_line_per_figure)
{
	bedrock_stats_print(append, written, NULL);
	cr_assert_eq(strncmp(written, "bedrock\n  version", 17), 0);
	cr_assert_not_null(strstr(written, "\nstats\n  allocated_bytes           "));
	cr_assert_null(strpbrk(written, "{}[]\""));
}

Test(report, printing_allocates_nothing)
{
	struct bedrock_stats before;
	struct bedrock_stats after;

	bedrock_stats_read(&before);
	bedrock_stats_print(append, written, "J");
	bedrock_stats_read(&after);
	cr_assert_eq(before.allocated_bytes, after.allocated_bytes);
	cr_assert_eq(before.mapped_bytes, after.mapped_bytes);
}

Test(report, end_of_the_process_is_silent_unless_asked)
{
	cr_redirect_stderr();
	bedrock_report_at_exit();
	fflush(stderr);
	cr_assert_stderr_eq_str("");
}
