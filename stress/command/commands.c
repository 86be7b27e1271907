/* SPDX-License-Identifier: MIT */
/*
 * The table of commands. A new one is a file command_NAME.c and a row here.
 */
#include "stress/command/commands.h"

static const char *const compare_options[] = {
	"allocator", "set",       "seed",    "no-faults", "inject", "contract",
	"guard",     "mechanism", "timeout", "dry-run",   "format", "output",
	"results",   "quiet",     "verbose", "color",     NULL,
};

static const char *const plan_options[] = {
	"set",    "allocator", "filter",   "tags",      "seed",    "repeat", "no-faults",
	"inject", "check",     "contract", "mechanism", "timeout", "guard",  NULL,
};

static const char *const replay_options[] = {
	"timeout", "format", "output", "results", "quiet", "verbose", "color", NULL,
};

static const char *const record_options[] = { "allocator", "quiet", NULL };

static const char *const selftest_options[] = {
	"filter", "quick", "seed", "repeat", "jobs", "format", "quiet", "color", NULL,
};

static const char *const report_options[] = { "output", NULL };
static const char *const list_options[] = { "filter", "tags", NULL };
static const char *const no_options[] = { NULL };

const struct hq_command hq_commands[] = {
	{
		.name = "run",
		.synopsis = "[options] SCENARIO...\n[options] -- PROG ARG...",
		.summary = "run scenarios, or a program of yours, and judge what happens",
		.takes_program = true,
		.run = hq_command_run,
	},
	{
		.name = "compare",
		.synopsis = "[options] SCENARIO --a SETTING --b SETTING\n"
			    "[options] --a SETTING --b SETTING -- PROG ARG...",
		.summary = "run two settings in pairs, and tell what differs and how sure that is",
		.options = compare_options,
		.takes_program = true,
		.run = hq_command_compare,
	},
	{
		.name = "sweep",
		.synopsis = "[options] -L KEY=VALUE,VALUE... SCENARIO\n"
			    "[options] -L KEY=VALUE,VALUE... -- PROG ARG...",
		.summary =
			"run every combination of some settings, and tell which are worth having",
		.options = compare_options,
		.takes_program = true,
		.run = hq_command_sweep,
	},
	{
		.name = "replay",
		.synopsis = "[options] RUN",
		.summary = "repeat a run from its folder and compare verdict and faults",
		.options = replay_options,
		.run = hq_command_replay,
	},
	{
		.name = "record",
		.synopsis = "-o FILE [options] -- PROG ARG...\n"
			    "-o FILE --import=FORMAT FILE\n--show FILE...",
		.summary = "trace the allocation calls of a program, for the workload trace",
		.options = record_options,
		.takes_program = true,
		.run = hq_command_record,
	},
	{
		.name = "report",
		.synopsis = "[options] RUN...",
		.summary = "make one page, with charts, of runs that were made before",
		.options = report_options,
		.run = hq_command_report,
	},
	{
		.name = "list",
		.synopsis = "[options] [SCENARIO...]\n"
			    "allocators|checkers|formats|injectors|metrics|workloads",
		.summary = "scenarios with their questions, or the parts there are",
		.options = list_options,
		.run = hq_command_list,
	},
	{
		.name = "explain",
		.synopsis = "NAME...",
		.summary = "tell about a part, a metric, a call, a verdict, a key",
		.options = no_options,
		.run = hq_command_explain,
	},
	{
		.name = "plan",
		.synopsis = "[options] SCENARIO...\n[options] -- PROG ARG...",
		.summary = "print what would be run, with every default filled in",
		.options = plan_options,
		.takes_program = true,
		.run = hq_command_plan,
	},
	{
		.name = "selftest",
		.synopsis = "[options]",
		.summary = "run planted bugs of an allocator, and count those that are seen",
		.options = selftest_options,
		.run = hq_command_selftest,
	},
	{
		.name = "doctor",
		.synopsis = "",
		.summary = "what this machine can do, and how to get what it cannot",
		.options = no_options,
		.run = hq_command_doctor,
	},
	{ .name = NULL },
};
