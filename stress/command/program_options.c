/* SPDX-License-Identifier: MIT */
/*
 * The option table and its parser: `--key value`, `--key=value`, `-k value`, `-kvalue`, flags
 * joined
 * (`-xn`), options and other arguments in any order, and `--` which ends the options.
 */
#include "stress/command/program_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/plan/words.h"

#define AT(field)   offsetof(struct hq_settings, field)
#define OPTIONS_MAX 64

static const char *const mechanisms[] = { "auto", "trap", "notify", "static", NULL };
static const char *const guards[] = { "full", "canary", "1/N", NULL };
static const char *const colors[] = { "auto", "always", "never", NULL };

#define SELECTION "Which cases"
#define FAULTS    "What goes wrong, what must hold"
#define RUNNING   "How they run"
#define OUTPUT    "Output"
#define RECORDING "What is recorded"

const struct hq_program_option hq_program_options[] = {
	{ .name = "allocator",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(allocators),
	  .argument = "A,B",
	  .group = SELECTION,
	  .help = "allocators: names, paths of libraries, or 'all'; instead of the scenario's "
		  "own" },
	{ .name = "filter",
	  .letter = 'k',
	  .kind = HQ_PROGRAM_WORD,
	  .offset = AT(filter),
	  .argument = "EXPR",
	  .group = SELECTION,
	  .help = "only cases whose name matches: parts of names, with and, or, not, ( )" },
	{ .name = "tags",
	  .kind = HQ_PROGRAM_WORD,
	  .offset = AT(tags),
	  .argument = "EXPR",
	  .group = SELECTION,
	  .help = "only scenarios with these tags: a,b for either, or with and, or, not, ( )" },
	{ .name = "seed",
	  .letter = 's',
	  .kind = HQ_PROGRAM_WORD,
	  .offset = AT(seed),
	  .argument = "N|random",
	  .group = SELECTION,
	  .help = "seed of everything that is drawn; default: the scenario's, else 42" },
	{ .name = "quick",
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(quick),
	  .only = "selftest",
	  .group = SELECTION,
	  .help = "a subset: about one bug of each kind" },
	{ .name = "repeat",
	  .alias = "seeds",
	  .letter = 'r',
	  .kind = HQ_PROGRAM_COUNT,
	  .offset = AT(repeat),
	  .argument = "N",
	  .fallback = "1",
	  .min = 1,
	  .max = 10000,
	  .group = SELECTION,
	  .help = "each case N times, with seeds counting up" },
	{ .name = "set",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(set),
	  .argument = "KEY=VALUE",
	  .group = SELECTION,
	  .help = "change a scenario: workload.rows=10k, env.MALLOC_CONF=narenas:1, "
		  "run.timeout=1m" },
	{ .name = "a",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(side_a),
	  .argument = "KEY=VALUE",
	  .only = "compare",
	  .group = SELECTION,
	  .help = "what side A has of its own, as --set; a bare word is an allocator" },
	{ .name = "b",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(side_b),
	  .argument = "KEY=VALUE",
	  .only = "compare",
	  .group = SELECTION,
	  .help = "the same for side B" },
	{ .name = "aa",
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(same_sides),
	  .only = "compare",
	  .group = SELECTION,
	  .help = "A against A: what this machine's noise hides, and what it makes up" },
	{ .name = "no-faults",
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(no_faults),
	  .group = FAULTS,
	  .help = "without the scenario's faults, and without what is expected or known because "
		  "of them" },
	{ .name = "inject",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(inject),
	  .argument = "RULE",
	  .group = FAULTS,
	  .help = "one more rule or injector: madvise:error=EAGAIN, migrate:rate=500/s" },
	{ .name = "check",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(check),
	  .argument = "EXPR",
	  .group = FAULTS,
	  .help = "one more expectation: 'rss.peak <= 64MiB'" },
	{ .name = "contract",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(contracts),
	  .argument = "NAME",
	  .group = FAULTS,
	  .help = "one more contract, with options: NAME:key=value (heapquake list checkers)" },
	{ .name = "expect",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(claims),
	  .argument = "CLAIM",
	  .only = "compare",
	  .group = FAULTS,
	  .help = "B against A: 'faults.minor <= -30%'; exit 1 if broken, 4 if it cannot be told" },
	{ .name = "guard",
	  .kind = HQ_PROGRAM_OPTIONAL,
	  .offset = AT(guard),
	  .argument = "[=canary|1/N]",
	  .choices = guards,
	  .group = FAULTS,
	  .help = "check every block between program and allocator; canary: also the bytes behind "
		  "it; 1/N: one block in N" },
	{ .name = "mechanism",
	  .kind = HQ_PROGRAM_CHOICE,
	  .offset = AT(mechanism),
	  .argument = "NAME",
	  .fallback = "auto",
	  .choices = mechanisms,
	  .group = FAULTS,
	  .help = "how system calls are caught: auto, trap, notify, static" },
	{ .name = "timeout",
	  .alias = "time",
	  .letter = 't',
	  .kind = HQ_PROGRAM_DURATION,
	  .offset = AT(timeout_ns),
	  .argument = "TIME",
	  .min = 100 * HQ_MS,
	  .max = 24 * 3600 * HQ_S,
	  .group = RUNNING,
	  .help = "wall-clock limit of one run; default: the scenario's" },
	{ .name = "pairs",
	  .kind = HQ_PROGRAM_COUNT,
	  .offset = AT(pairs),
	  .argument = "N",
	  .min = 2,
	  .max = 128,
	  .only = "compare",
	  .group = RUNNING,
	  .help = "pairs of runs; default: 10, with --budget as many as it takes" },
	{ .name = "budget",
	  .kind = HQ_PROGRAM_DURATION,
	  .offset = AT(budget_ns),
	  .argument = "TIME",
	  .min = 1 * HQ_S,
	  .max = 24 * 3600 * HQ_S,
	  .only = "compare",
	  .group = RUNNING,
	  .help = "no new pair after that time, nor once the resolution is reached" },
	{ .name = "resolution",
	  .kind = HQ_PROGRAM_WORD,
	  .offset = AT(resolution),
	  .argument = "SHARE",
	  .fallback = "5%",
	  .only = "compare",
	  .group = RUNNING,
	  .help = "the smallest change that must not be missed" },
	{ .name = "jobs",
	  .letter = 'j',
	  .kind = HQ_PROGRAM_COUNT,
	  .offset = AT(jobs),
	  .argument = "N",
	  .fallback = "1",
	  .min = 1,
	  .max = 256,
	  .group = RUNNING,
	  .help = "cases at a time; more than one disturbs latencies" },
	{ .name = "fail-fast",
	  .letter = 'x',
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(fail_fast),
	  .group = RUNNING,
	  .help = "stop at the first FAIL, XPASS or ERROR" },
	{ .name = "dry-run",
	  .letter = 'n',
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(dry_run),
	  .group = RUNNING,
	  .help = "check everything, list the cases, run nothing" },
	{ .name = "require",
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(require),
	  .group = RUNNING,
	  .help = "a case that must be skipped counts as FAIL" },
	{ .name = "pass-status",
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(pass_status),
	  .group = RUNNING,
	  .help = "with -- PROG: exit with the program's own status" },
	{ .name = "trace",
	  .letter = 'o',
	  .kind = HQ_PROGRAM_WORD,
	  .offset = AT(trace),
	  .argument = "FILE",
	  .only = "record",
	  .group = RECORDING,
	  .help = "the trace goes there" },
	{ .name = "children",
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(with_children),
	  .only = "record",
	  .group = RECORDING,
	  .help = "also of processes that the program starts; their threads count as its own" },
	{ .name = "max-size",
	  .kind = HQ_PROGRAM_SIZE,
	  .offset = AT(trace_bytes_max),
	  .argument = "SIZE",
	  .fallback = "16MiB",
	  .min = 64ull << 10,
	  .max = 64ull << 30,
	  .only = "record",
	  .group = RECORDING,
	  .help = "bound of the file; what comes after is counted, not kept" },
	{ .name = "show",
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(show),
	  .only = "record",
	  .group = RECORDING,
	  .help = "record nothing: read traces to their ends, and tell their totals" },
	{ .name = "format",
	  .kind = HQ_PROGRAM_LIST,
	  .offset = AT(formats),
	  .argument = "NAME[:FILE]",
	  .group = OUTPUT,
	  .help = "report format, several with commas: text,json:run.json,junit:run.xml" },
	{ .name = "output",
	  .letter = 'o',
	  .kind = HQ_PROGRAM_WORD,
	  .offset = AT(output),
	  .argument = "FILE",
	  .group = OUTPUT,
	  .help = "the report goes there instead of stdout" },
	{ .name = "results",
	  .kind = HQ_PROGRAM_WORD,
	  .offset = AT(results),
	  .argument = "DIR|none",
	  .fallback = "results",
	  .group = OUTPUT,
	  .help = "where every run leaves a folder" },
	{ .name = "quiet",
	  .letter = 'q',
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(quiet),
	  .group = OUTPUT,
	  .help = "no progress" },
	{ .name = "verbose",
	  .letter = 'v',
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(verbose),
	  .group = OUTPUT,
	  .help = "also what passed, with its metrics" },
	{ .name = "color",
	  .kind = HQ_PROGRAM_CHOICE,
	  .offset = AT(color),
	  .argument = "WHEN",
	  .fallback = "auto",
	  .choices = colors,
	  .group = OUTPUT,
	  .help = "auto, always or never; NO_COLOR is honoured" },
	{ .name = "help",
	  .letter = 'h',
	  .kind = HQ_PROGRAM_FLAG,
	  .offset = AT(help),
	  .group = OUTPUT,
	  .help = "this text" },
	{ .name = NULL },
};

bool hq_command_takes(const struct hq_command *command, const struct hq_program_option *option)
{
	if (option->only)
		return strcmp(option->only, command->name) == 0;
	if (!command->options || strcmp(option->name, "help") == 0)
		return true;
	for (size_t i = 0; command->options[i]; i++) {
		if (strcmp(command->options[i], option->name) == 0)
			return true;
	}
	return false;
}

const struct hq_command *hq_command_find(const char *name)
{
	for (const struct hq_command *command = hq_commands; command->name; command++) {
		if (strcmp(command->name, name) == 0)
			return command;
	}
	return NULL;
}

/* ---- values ---- */

/* How a number of each kind is read and printed. */
static const struct {
	int (*parse)(const char *text, uint64_t *number, struct hq_error *error);
	const char *(*print)(char *text, uint64_t number);
} numbers[] = {
	[HQ_PROGRAM_COUNT] = { hq_units_parse_count, hq_units_print_count },
	[HQ_PROGRAM_DURATION] = { hq_units_parse_duration, hq_units_print_duration },
	[HQ_PROGRAM_SIZE] = { hq_units_parse_size, hq_units_print_size },
};

static int set_number(const struct hq_program_option *option, void *field, const char *value,
		      struct hq_error *error)
{
	char min[HQ_UNITS_TEXT], max[HQ_UNITS_TEXT];
	uint64_t number = 0;
	const int status = numbers[option->kind].parse(value, &number, error);

	if (status)
		return status;
	if (number < option->min || (option->max && number > option->max))
		return hq_error_set(error, "must be from %s to %s",
				    numbers[option->kind].print(min, option->min),
				    numbers[option->kind].print(max, option->max));
	*(uint64_t *)field = number;
	return 0;
}

static int set_choice(const struct hq_program_option *option, void *field, const char *value,
		      struct hq_error *error)
{
	for (uint32_t i = 0; option->choices[i]; i++) {
		if (strcmp(option->choices[i], value) == 0) {
			*(uint32_t *)field = i;
			return 0;
		}
	}
	const char *nearest = hq_suggest(value, option->choices);

	if (nearest)
		return hq_error_set(error, "did you mean '%s'?", nearest);
	return hq_error_set(error, "choose one of: %s", option->help);
}

static int set_value(const struct hq_program_option *option, struct hq_settings *settings,
		     const char *value, struct hq_error *error)
{
	void *field = (char *)settings + option->offset;

	switch (option->kind) {
	case HQ_PROGRAM_FLAG:
		*(bool *)field = true;
		return 0;
	case HQ_PROGRAM_WORD:
	case HQ_PROGRAM_OPTIONAL:
		*(const char **)field = value;
		return 0;
	case HQ_PROGRAM_LIST:
		return hq_words_add((char ***)field, value) ? hq_error_set(error, "out of memory")
							    : 0;
	case HQ_PROGRAM_COUNT:
	case HQ_PROGRAM_DURATION:
	case HQ_PROGRAM_SIZE:
		return set_number(option, field, value, error);
	case HQ_PROGRAM_CHOICE:
		return set_choice(option, field, value, error);
	}
	return -EINVAL;
}

static void set_defaults(struct hq_settings *settings)
{
	struct hq_error error;

	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (option->fallback)
			set_value(option, settings, option->fallback, &error);
	}
}

/* ---- finding the option ---- */

static bool is_named(const struct hq_program_option *option, const char *name, size_t length)
{
	return (strlen(option->name) == length && strncmp(option->name, name, length) == 0) ||
	       (option->alias && strlen(option->alias) == length &&
		strncmp(option->alias, name, length) == 0);
}

static int refuse_unknown(const struct hq_command *command, const char *argument, size_t length,
			  struct hq_error *error)
{
	const char *names[OPTIONS_MAX + 1] = { NULL };
	char word[64];
	size_t count = 0;

	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (count < OPTIONS_MAX && hq_command_takes(command, option))
			names[count++] = option->name;
	}
	snprintf(word, sizeof(word), "%.*s", (int)length, argument + 2);
	const char *nearest = hq_suggest(word, names);

	if (nearest)
		return hq_error_set(error, "unknown option '--%s'; did you mean '--%s'?", word,
				    nearest);
	return hq_error_set(error, "unknown option '--%s'", word);
}

static const struct hq_program_option *find_long(const struct hq_command *command, const char *name,
						 size_t length)
{
	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (is_named(option, name, length) && hq_command_takes(command, option))
			return option;
	}
	return NULL;
}

static const struct hq_program_option *find_letter(const struct hq_command *command, char letter)
{
	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (option->letter == letter && hq_command_takes(command, option))
			return option;
	}
	return NULL;
}

/* ---- the walk ---- */

struct walk {
	const struct hq_command *command;
	struct hq_invocation *invocation;
	char *const *next; /* the argument to look at next */
	struct hq_error *error;
};

/* Sets it, and puts the option in front of what is wrong with the value. */
static int set_named(struct walk *walk, const struct hq_program_option *option, const char *value)
{
	struct hq_error why;

	if (set_value(option, &walk->invocation->settings, value, &why) == 0)
		return 0;
	return hq_error_set(walk->error, "--%s '%.100s': %.300s", option->name, value, why.text);
}

static int set_from_next(struct walk *walk, const struct hq_program_option *option)
{
	if (!*walk->next)
		return hq_error_set(walk->error, "--%s needs a value: %s", option->name,
				    option->argument);
	return set_named(walk, option, *walk->next++);
}

static int take_long(struct walk *walk, const char *argument)
{
	const char *equals = strchr(argument, '=');
	const size_t length = equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2;
	const struct hq_program_option *option = find_long(walk->command, argument + 2, length);

	if (!option)
		return refuse_unknown(walk->command, argument, length, walk->error);
	if (option->kind == HQ_PROGRAM_FLAG)
		return equals ? hq_error_set(walk->error, "--%s takes no value", option->name)
			      : set_named(walk, option, "");
	if (option->kind == HQ_PROGRAM_OPTIONAL && !equals)
		return set_named(walk, option, option->choices[0]);
	return equals ? set_named(walk, option, equals + 1) : set_from_next(walk, option);
}

static int take_letters(struct walk *walk, const char *letters)
{
	for (; *letters; letters++) {
		const struct hq_program_option *option = find_letter(walk->command, *letters);

		if (!option)
			return hq_error_set(walk->error, "unknown option '-%c'", *letters);
		if (option->kind != HQ_PROGRAM_FLAG)
			return letters[1] ? set_named(walk, option, letters + 1)
					  : set_from_next(walk, option);
		if (set_named(walk, option, ""))
			return -EINVAL;
	}
	return 0;
}

/* What follows `--`: a program, for the commands that run one; else words that may begin with '-'.
 */
static int take_rest(struct walk *walk)
{
	if (!walk->command->takes_program) {
		while (*walk->next) {
			if (hq_words_add(&walk->invocation->words, *walk->next++))
				return hq_error_set(walk->error, "out of memory");
		}
		return 0;
	}
	if (!*walk->next)
		return hq_error_set(walk->error, "a program must follow '--'");
	walk->invocation->program = walk->next;
	return 0;
}

static int take(struct walk *walk)
{
	const char *argument = *walk->next++;

	if (strncmp(argument, "--", 2) == 0)
		return take_long(walk, argument);
	if (argument[0] == '-' && argument[1])
		return take_letters(walk, argument + 1);
	if (hq_words_add(&walk->invocation->words, argument))
		return hq_error_set(walk->error, "out of memory");
	return 0;
}

int hq_invocation_parse(const struct hq_command *command, char *const *arguments,
			struct hq_invocation *invocation, struct hq_error *error)
{
	struct walk walk = {
		.command = command,
		.invocation = invocation,
		.next = arguments,
		.error = error,
	};
	int status = 0;

	*invocation = (struct hq_invocation){ .command = command };
	set_defaults(&invocation->settings);
	while (!status && *walk.next) {
		if (strcmp(*walk.next, "--") == 0) {
			walk.next++;
			return take_rest(&walk);
		}
		status = take(&walk);
	}
	return status;
}

void hq_invocation_clear(struct hq_invocation *invocation)
{
	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (option->kind == HQ_PROGRAM_LIST)
			hq_words_free(*(char ***)((char *)&invocation->settings + option->offset));
	}
	hq_words_free(invocation->words);
	*invocation = (struct hq_invocation){ .command = NULL };
}
