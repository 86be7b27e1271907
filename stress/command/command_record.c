/* SPDX-License-Identifier: MIT */
/*
 * `heapquake record`: a trace of a program's allocation calls, of another tool's file, or what a
 * trace is about. The program owns stdout and stderr; what we have to say goes to stderr.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "injectors/units.h"
#include "stress/command/commands.h"
#include "stress/command/trace_text.h"
#include "stress/control/record.h"
#include "stress/plan/allocator.h"
#include "stress/plan/words.h"
#include "stress/trace/import.h"

static int complain(const struct hq_error *error, int status)
{
	fprintf(stderr, "heapquake record: %s\n", error->text);
	return status;
}

/* ---- recording ---- */

static int find_allocator(const struct hq_invocation *invocation, struct hq_allocator *found,
			  struct hq_error *error)
{
	char *const *const names = invocation->settings.allocators;
	struct hq_allocators allocators = { .program = invocation->path };

	*found = (struct hq_allocator){ .library = "" };
	if (!names)
		return 0;
	if (names[1] || strchr(names[0], ',') || strcmp(names[0], "all") == 0)
		return hq_error_set(error, "--allocator: name one: a program has one at a time");
	if (hq_allocator_locate(&allocators, names[0], found, error))
		return -EINVAL;
	return found->missing[0] ? hq_error_set(error, "%.200s", found->missing) : 0;
}

static int exit_status(const struct hq_record_outcome *outcome)
{
	if (WIFSIGNALED(outcome->status))
		return 128 + WTERMSIG(outcome->status);
	return WEXITSTATUS(outcome->status);
}

static int record(const struct hq_invocation *invocation)
{
	const struct hq_settings *const settings = &invocation->settings;
	struct hq_record_outcome outcome;
	struct hq_allocator allocator;
	struct hq_error error;

	if (find_allocator(invocation, &allocator, &error))
		return complain(&error, HQ_EXIT_USAGE);
	const struct hq_record_settings wanted = {
		.program = invocation->program,
		.output = settings->trace,
		.library = allocator.library,
		.bytes_max = settings->trace_bytes_max,
		.with_children = settings->with_children,
	};

	if (hq_record(&wanted, &outcome, &error))
		return complain(&error, HQ_EXIT_ERROR);
	if (!settings->quiet)
		hq_trace_tell_outcome(&outcome, settings->trace, stderr);
	return exit_status(&outcome);
}

/* ---- importing ---- */

static int import(const struct hq_invocation *invocation)
{
	const struct hq_settings *const settings = &invocation->settings;
	const struct hq_record_settings wanted = { .output = settings->trace,
						   .bytes_max = settings->trace_bytes_max };
	struct hq_record_outcome outcome;
	struct hq_error error;

	if (hq_record_import(settings->import, invocation->words[0], &wanted, &outcome, &error))
		return complain(&error, HQ_EXIT_FAIL);
	if (!settings->quiet)
		hq_trace_tell_outcome(&outcome, settings->trace, stderr);
	return HQ_EXIT_OK;
}

static int check_import(const struct hq_invocation *invocation, struct hq_error *error)
{
	const char *const format = invocation->settings.import;
	const char *names[9] = { NULL };

	for (size_t i = 0; hq_import_formats[i] && i + 1 < 9; i++)
		names[i] = hq_import_formats[i]->name;
	if (!hq_import_find(format)) {
		const char *const near = hq_suggest(format, names);

		return near ? hq_error_set(error, "unknown format '%.100s'; did you mean '%s'?",
					   format, near)
			    : hq_error_set(error, "unknown format '%.100s'", format);
	}
	if (hq_words_count(invocation->words) != 1 || invocation->program)
		return hq_error_set(error, "--import needs the name of one file");
	return 0;
}

/* ---- the command ---- */

static int show(char *const *files)
{
	struct hq_trace_info info;
	struct hq_error error;

	for (; *files; files++) {
		if (hq_trace_check_file(*files, &info, &error))
			return complain(&error, HQ_EXIT_FAIL);
		hq_trace_tell_file(*files, &info, stdout);
	}
	return HQ_EXIT_OK;
}

static int check_usage(const struct hq_invocation *invocation, struct hq_error *error)
{
	const struct hq_settings *const settings = &invocation->settings;
	const size_t words = hq_words_count(invocation->words);

	if (settings->show)
		return words > 0 && !invocation->program
			       ? 0
			       : hq_error_set(error, "--show needs the names of traces");
	if (!settings->trace)
		return hq_error_set(error, "-o FILE is needed: where the trace goes");
	if (settings->import)
		return check_import(invocation, error);
	if (!invocation->program)
		return hq_error_set(error, "a program is needed: -- PROG ARG...");
	if (words > 0)
		return hq_error_set(error, "'%.100s': a program must follow '--'",
				    invocation->words[0]);
	return 0;
}

int hq_command_record(struct hq_invocation *invocation)
{
	struct hq_error error;

	if (check_usage(invocation, &error))
		return complain(&error, HQ_EXIT_USAGE);
	if (invocation->settings.show)
		return show(invocation->words);
	return invocation->settings.import ? import(invocation) : record(invocation);
}
