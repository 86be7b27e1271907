/* SPDX-License-Identifier: MIT */
/*
 * The report as text and as JSON, that it is whole and takes no block, and when a process prints
 * it.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* What is freed rests in the cache or as dirty: with both empty before, no block passes unseen. */
Test(report, printing_takes_no_block_not_even_for_a_while)
{
	struct bedrock_stats before;
	struct bedrock_stats after;

	bedrock_heap.options.dirty_decay_ms = -1;
	bedrock_free(bedrock_malloc(100));
	bedrock_purge();
	bedrock_stats_read(&before);
	cr_assert_eq(before.allocated_bytes, 0);
	cr_assert_eq(before.dirty_bytes, 0);
	bedrock_stats_print(append, written, "J");
	bedrock_stats_print(append, written, NULL);
	bedrock_stats_read(&after);
	cr_assert_eq(after.allocated_bytes, 0);
	cr_assert_eq(after.dirty_bytes, 0);
	cr_assert_eq(after.mapped_bytes, before.mapped_bytes);
	bedrock_free(bedrock_malloc(100));
	bedrock_stats_read(&after);
	cr_assert_gt(after.allocated_bytes, 0, "a block that was taken for a while is seen");
}

/* The leak check of a sanitizer does not bear the child of a fork: there the end is only played. */
__attribute__((noreturn)) static void end_now(void)
{
#if defined(__SANITIZE_ADDRESS__)
	bedrock_report_at_exit();
	_exit(0);
#else
	exit(0);
#endif
}

/* What a process says on stderr when it ends as any program does. */
static void end_a_process(bool is_asked, char *out, size_t out_bytes)
{
	size_t length = 0;
	ssize_t more;
	int ends[2];
	int status;

	cr_assert_eq(pipe(ends), 0);
	pid_t child = fork();

	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		bedrock_heap.options.is_stats_print = is_asked;
		end_now();
	}
	cr_assert_gt(child, 0);
	close(ends[1]);
	while ((more = read(ends[0], out + length, out_bytes - 1 - length)) > 0)
		length += (size_t)more;
	out[length] = '\0';
	close(ends[0]);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
}

Test(report, end_of_the_process_prints_the_text_if_asked)
{
	end_a_process(true, written, sizeof(written));
	cr_assert_eq(strncmp(written, "bedrock\n  version", 17), 0, "%s", written);
	cr_assert_not_null(strstr(written, "\nstats\n  allocated_bytes           "));
}

Test(report, end_of_the_process_is_silent_unless_asked)
{
	end_a_process(false, written, sizeof(written));
	cr_assert_str_empty(written);
}
