/* SPDX-License-Identifier: MIT */
/*
 * The command line: which commands there are, which options each takes, and what an invocation asks
 * for. Parser, help and suggestions come from the two tables (program_options.c, commands.c).
 */
#ifndef HQ_STRESS_COMMAND_PROGRAM_OPTIONS_H
#define HQ_STRESS_COMMAND_PROGRAM_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"

/* The exit statuses that the command line itself gives; those of a suite are in report.h. */
enum hq_exit {
	HQ_EXIT_OK = 0,
	HQ_EXIT_FAIL = 1,
	HQ_EXIT_USAGE = 2,
	HQ_EXIT_ERROR = 3,
	HQ_EXIT_NOTHING_MATCHED = 5,
};

enum hq_color { HQ_COLOR_AUTO, HQ_COLOR_ALWAYS, HQ_COLOR_NEVER };

/* What the options say; zero or NULL where an option was not given, unless the table has a default.
 */
struct hq_settings {
	char **allocators; /* as written, each may be a list with commas */
	char **formats;
	char **inject;
	char **check;
	char **contracts;
	char **set;              /* KEY=VALUE, see stress/plan/yaml_set.h */
	char **side_a, **side_b; /* the same, for one side of a comparison */
	char **beside;           /* of a comparison: a setting for each further side */
	char **claims;
	char **grid; /* KEY=VALUE,VALUE,... of a sweep */
	const char *seed;
	const char *guard;
	const char *filter;
	const char *tags;
	const char *output;
	const char *results;
	const char *trace; /* to be written */
	const char *import;
	uint64_t trace_bytes_max;
	uint64_t repeat;
	uint64_t pairs;
	uint64_t rounds;
	const char *pareto;
	uint64_t budget_ns;
	const char *resolution;
	uint64_t jobs;
	uint64_t timeout_ns;
	uint32_t mechanism; /* enum hq_mechanism */
	uint32_t color;     /* enum hq_color */
	bool require, fail_fast, dry_run, quiet, verbose, pass_status, no_faults, quick, same_sides,
		help;
	bool with_children, show;
};

enum hq_program_option_kind {
	HQ_PROGRAM_FLAG,     /* bool */
	HQ_PROGRAM_WORD,     /* const char * */
	HQ_PROGRAM_OPTIONAL, /* const char *, `choices[0]` where no value was joined by = */
	HQ_PROGRAM_LIST,     /* char **, every time it is given one more */
	HQ_PROGRAM_COUNT,    /* uint64_t */
	HQ_PROGRAM_DURATION, /* uint64_t nanoseconds */
	HQ_PROGRAM_SIZE,     /* uint64_t bytes */
	HQ_PROGRAM_CHOICE,   /* uint32_t index into choices */
};

struct hq_program_option {
	const char *name;  /* without the dashes; NULL ends the table */
	const char *alias; /* a second long name, or NULL */
	char letter;       /* short form, or 0 */
	enum hq_program_option_kind kind;
	size_t offset;        /* in struct hq_settings */
	const char *argument; /* what help calls the value; NULL for flags */
	const char *fallback; /* default, as text; NULL: none */
	uint64_t min, max;    /* COUNT, DURATION, SIZE; max 0: no bound */
	const char *const *choices;
	const char *only;  /* the commands that take it, "compare sweep"; NULL: see their table */
	const char *group; /* heading in help */
	const char *help;
};

/* In the order of the groups. */
extern const struct hq_program_option hq_program_options[];

struct hq_invocation;

struct hq_command {
	const char *name;
	const char *synopsis; /* what follows the name in usage lines; lines separated by '\n' */
	const char *summary;  /* one line */
	const char *const *options;                   /* names, NULL-terminated; NULL: all */
	bool takes_program;                           /* `-- PROG ARG...` may follow */
	int (*run)(struct hq_invocation *invocation); /* exit status */
};

/* Sorted by importance, name NULL ends it. */
extern const struct hq_command hq_commands[];
const struct hq_command *hq_command_find(const char *name);
bool hq_command_takes(const struct hq_command *command, const struct hq_program_option *option);

struct hq_invocation {
	const struct hq_command *command;
	struct hq_settings settings;
	char **words;         /* arguments that are no options; NULL: none */
	char *const *program; /* what follows `--`, NULL: no `--` */
	char path[PATH_MAX];  /* of heapquake itself */
};

/*
 * Parses what follows the command's name. 0 or -EINVAL with a sentence; clear the invocation in
 * either case. `arguments` must outlive it.
 */
int hq_invocation_parse(const struct hq_command *command, char *const *arguments,
			struct hq_invocation *invocation, struct hq_error *error);
void hq_invocation_clear(struct hq_invocation *invocation);

#endif
