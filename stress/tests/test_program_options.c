/* SPDX-License-Identifier: MIT */
/*
 * The command line: every way to write an option, and what is refused.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/command/program_options.h"
#include "stress/plan/words.h"

static struct hq_invocation invocation;
static struct hq_error error;

static int parse(const char *name, const char *line)
{
	static char **words;
	struct hq_error why;

	cr_assert_eq(hq_words_split(line, &words, &why), 0);
	if (!words)
		words = (char *[]){ NULL };
	return hq_invocation_parse(hq_command_find(name), words, &invocation, &error);
}

static void clear(void)
{
	hq_invocation_clear(&invocation);
}

TestSuite(program_options, .fini = clear);

Test(program_options, value_follows_after_a_blank_or_an_equals_sign)
{
	cr_assert_eq(parse("run", "--seed 7 --jobs=3 a.yaml"), 0, "%s", error.text);
	cr_assert_str_eq(invocation.settings.seed, "7");
	cr_assert_eq(invocation.settings.jobs, 3);
	cr_assert_str_eq(invocation.words[0], "a.yaml");
}

Test(program_options, guard_needs_no_value)
{
	cr_assert_eq(parse("run", "--guard a.yaml"), 0, "%s", error.text);
	cr_assert_str_eq(invocation.settings.guard, "full");
	cr_assert_str_eq(invocation.words[0], "a.yaml");
}

Test(program_options, guard_takes_a_value_behind_an_equals_sign)
{
	cr_assert_eq(parse("run", "--guard=1/64 a.yaml"), 0, "%s", error.text);
	cr_assert_str_eq(invocation.settings.guard, "1/64");
}

Test(program_options, short_options_take_values_attached_or_apart)
{
	cr_assert_eq(parse("run", "-s7 -j 3 -t1.5s a"), 0, "%s", error.text);
	cr_assert_str_eq(invocation.settings.seed, "7");
	cr_assert_eq(invocation.settings.jobs, 3);
	cr_assert_eq(invocation.settings.timeout_ns, 1500 * HQ_MS);
}

Test(program_options, flags_may_be_joined)
{
	cr_assert_eq(parse("run", "-xnqk decay"), 0, "%s", error.text);
	cr_assert(invocation.settings.fail_fast);
	cr_assert(invocation.settings.dry_run);
	cr_assert(invocation.settings.quiet);
	cr_assert_str_eq(invocation.settings.filter, "decay");
}

Test(program_options, options_may_follow_other_arguments)
{
	cr_assert_eq(parse("run", "a.yaml --repeat 2 b.yaml"), 0);
	cr_assert_eq(hq_words_count(invocation.words), 2);
	cr_assert_eq(invocation.settings.repeat, 2);
}

Test(program_options, lists_gather_every_mention)
{
	cr_assert_eq(parse("run", "--inject a --inject=b --check c x"), 0);
	cr_assert_eq(hq_words_count(invocation.settings.inject), 2);
	cr_assert_str_eq(invocation.settings.inject[1], "b");
	cr_assert_str_eq(invocation.settings.check[0], "c");
}

Test(program_options, time_is_another_name_of_timeout)
{
	cr_assert_eq(parse("run", "--time 5s x"), 0);
	cr_assert_eq(invocation.settings.timeout_ns, 5 * HQ_S);
}

Test(program_options, program_follows_two_dashes_with_its_own_options)
{
	cr_assert_eq(parse("run", "-q -- prog --seed 3 -- x"), 0);
	cr_assert_str_eq(invocation.program[0], "prog");
	cr_assert_str_eq(invocation.program[1], "--seed");
	cr_assert_str_eq(invocation.program[3], "--");
	cr_assert_null(invocation.settings.seed);
	cr_assert_null(invocation.words);
}

Test(program_options, two_dashes_end_the_options_of_a_command_without_program)
{
	cr_assert_eq(parse("list", "-- -k"), 0);
	cr_assert_str_eq(invocation.words[0], "-k");
}

Test(program_options, defaults_come_from_the_table)
{
	cr_assert_eq(parse("run", "x"), 0);
	cr_assert_eq(invocation.settings.repeat, 1);
	cr_assert_eq(invocation.settings.jobs, 1);
	cr_assert_str_eq(invocation.settings.results, "results");
	cr_assert_eq(invocation.settings.color, HQ_COLOR_AUTO);
}

Test(program_options, single_dash_is_an_argument)
{
	cr_assert_eq(parse("list", "-"), 0);
	cr_assert_str_eq(invocation.words[0], "-");
}

struct refused {
	char command[16];
	char line[48];
	char word[64];
};

ParameterizedTestParameters(program_options, wrong_line_is_refused_with_a_reason)
{
	static struct refused rows[] = {
		{ "run", "--sede 3", "did you mean '--seed'" },
		{ "run", "--sede=3", "'--sede'" },
		{ "run", "-Z", "unknown option '-Z'" },
		{ "run", "--seed", "needs a value: N|random" },
		{ "run", "-xs", "needs a value" },
		{ "run", "--quiet=yes", "takes no value" },
		{ "run", "--jobs 0", "from 1 to 256" },
		{ "run", "--jobs many", "--jobs 'many'" },
		{ "run", "--timeout 5", "unit" },
		{ "run", "--timeout 1ms", "from 100ms to" },
		{ "run", "--color sometimes", "auto, always or never" },
		{ "run", "--mechanism trpa", "did you mean 'trap'" },
		{ "run", "x --", "a program must follow" },
		{ "run", "--children", "'--children' is no option of run; it belongs to record" },
		{ "compare", "--jobs=2", "no option of compare; it belongs to run, selftest" },
		{ "sweep", "-j2", "'-j' is no option of sweep; it belongs to run, selftest" },
		{ "record", "--max-size=1KiB", "must be from 64KiB to 64GiB" },
		{ "record", "--max-size=16MB", "--max-size '16MB'" },
		{ "record", "-k x", "'-k' is no option of record" },
		{ "list", "--seeds 3", "'--seeds' is no option of list" },
		{ "doctor", "-Z", "unknown option '-Z'" },
		{ "run", "---seed", "unknown option" },
	};

	return cr_make_param_array(struct refused, rows, sizeof(rows) / sizeof(rows[0]));
}

ParameterizedTest(struct refused *row, program_options, wrong_line_is_refused_with_a_reason)
{
	cr_assert_neq(parse(row->command, row->line), 0, "accepted: %s", row->line);
	cr_assert(strstr(error.text, row->word), "%s says: %s", row->line, error.text);
	hq_invocation_clear(&invocation);
}

Test(program_options, record_has_a_trace_and_a_bound)
{
	cr_assert_eq(parse("record", "-o t.hqtrace --max-size 1MiB --children"), 0, "%s",
		     error.text);
	cr_expect_str_eq(invocation.settings.trace, "t.hqtrace");
	cr_expect_eq(invocation.settings.trace_bytes_max, 1 << 20);
	cr_expect(invocation.settings.with_children);
	hq_invocation_clear(&invocation);
}

static bool share_a_command(const struct hq_program_option *a, const struct hq_program_option *b)
{
	for (const struct hq_command *command = hq_commands; command->name; command++)
		if (hq_command_takes(command, a) && hq_command_takes(command, b))
			return true;
	return false;
}

Test(program_options, every_name_is_used_once_and_every_letter_once_a_command)
{
	for (const struct hq_program_option *a = hq_program_options; a->name; a++) {
		for (const struct hq_program_option *b = a + 1; b->name; b++) {
			cr_assert_str_neq(a->name, b->name);
			cr_assert(!a->letter || a->letter != b->letter || !share_a_command(a, b),
				  "-%c", a->letter);
		}
	}
}

static bool is_taken(const struct hq_command *command, const char *name)
{
	for (const struct hq_program_option *option = hq_program_options; option->name; option++)
		if (strcmp(option->name, name) == 0)
			return hq_command_takes(command, option);
	return false;
}

Test(program_options, options_that_commands_name_exist)
{
	for (const struct hq_command *command = hq_commands; command->name; command++) {
		for (size_t i = 0; command->options && command->options[i]; i++)
			cr_assert(is_taken(command, command->options[i]), "%s --%s", command->name,
				  command->options[i]);
		cr_assert(is_taken(command, "help"));
	}
}
