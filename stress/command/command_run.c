/* SPDX-License-Identifier: MIT */
/*
 * `heapquake run`: make the cases, make sure that their results have a place, run, report.
 */
#include "stress/command/command_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/command/commands.h"
#include "stress/command/report_files.h"
#include "stress/command/version.h"

static int complain(const struct hq_invocation *invocation, const char *text)
{
	fprintf(stderr, "heapquake %s: %s\n", invocation->command->name, text);
	return HQ_EXIT_USAGE;
}

/* Makes the folder with all that are above it. */
static int make_folders(const char *path)
{
	char *copy = strdup(path);
	int status = copy ? 0 : -ENOMEM;

	for (char *slash = copy; !status && slash; slash = strchr(slash + 1, '/')) {
		if (slash == copy)
			continue;
		*slash = '\0';
		if (mkdir(copy, 0777) && errno != EEXIST)
			status = -errno;
		*slash = '/';
	}
	free(copy);
	if (!status && mkdir(path, 0777) && errno != EEXIST)
		status = -errno;
	return status;
}

int hq_results_check(const char *folder, struct hq_error *error)
{
	char *probe;
	int status = make_folders(folder), fd = -1;

	if (asprintf(&probe, "%s/.heapquake-XXXXXX", folder) < 0)
		return hq_error_set(error, "out of memory");
	if (!status)
		fd = mkstemp(probe);
	if (!status && fd < 0)
		status = -errno;
	if (fd >= 0) {
		close(fd);
		unlink(probe);
	}
	free(probe);
	if (status)
		return hq_error_set(error, "cannot write results to %.300s: %s; see --results",
				    folder, strerror(-status));
	return 0;
}

static void list_cases(const struct hq_cases *cases)
{
	size_t skipped = 0;
	char name[160];

	for (size_t i = 0; i < cases->count; i++) {
		const struct hq_plan *plan = &cases->plans[i];

		printf("%s", hq_case_name(plan, name, sizeof(name)));
		if (plan->skip_reason[0])
			printf("  would be skipped: %s", plan->skip_reason);
		putchar('\n');
		skipped += plan->skip_reason[0] != '\0';
	}
	printf("%zu case%s, %zu would be skipped (dry run: nothing was run)\n", cases->count,
	       cases->count == 1 ? "" : "s", skipped);
}

struct hq_suite_settings hq_suite_settings_of(const struct hq_invocation *invocation)
{
	const struct hq_settings *settings = &invocation->settings;

	return (struct hq_suite_settings){
		.results = strcmp(settings->results, "none") == 0 ? NULL : settings->results,
		.jobs = settings->jobs ? (uint32_t)settings->jobs : 1,
		.fail_fast = settings->fail_fast,
		.quiet = settings->quiet,
		.colorless = settings->color == HQ_COLOR_NEVER,
		.program_owns_output = invocation->program != NULL,
		.require = settings->require,
		.program = invocation->path,
	};
}

static int exit_status(const struct hq_invocation *invocation, const struct hq_suite_run *run)
{
	if (run->interrupted_by)
		return 128 + run->interrupted_by;
	if (invocation->settings.pass_status)
		return run->program_status;
	return hq_suite_exit_status(&run->suite);
}

#define FORMATS_MAX 16

static const char *const *format_names(const char *names[FORMATS_MAX])
{
	size_t count = 0;

	for (; hq_formats[count] && count + 1 < FORMATS_MAX; count++)
		names[count] = hq_formats[count]->name;
	names[count] = NULL;
	return names;
}

static int write_suite(const void *cookie, const char *format, FILE *stream, bool color)
{
	struct hq_suite suite = *(const struct hq_suite *)cookie;

	suite.color = color;
	return hq_format_find(format)->write(&suite, stream);
}

static int write_reports(const struct hq_invocation *invocation, struct hq_report_files *files,
			 const struct hq_suite *suite, struct hq_error *error)
{
	char line[200];
	const struct hq_report_source source = {
		.write = write_suite,
		.cookie = suite,
		.last_line = hq_suite_last_line(suite, line, sizeof(line)),
	};

	return hq_report_files_write(files, &source, &invocation->settings, error);
}

static int run_and_report(const struct hq_invocation *invocation, const struct hq_cases *cases,
			  struct hq_report_files *files, struct hq_suite_run *run)
{
	const struct hq_suite_settings settings = hq_suite_settings_of(invocation);
	struct hq_error error;

	if (hq_suite_run(cases->plans, cases->count, &settings, run, &error)) {
		complain(invocation, error.text);
		return HQ_EXIT_ERROR;
	}
	run->suite.seed = cases->seed;
	run->suite.verbose = invocation->settings.verbose;
	run->suite.program_version = HQ_VERSION;
	if (write_reports(invocation, files, &run->suite, &error)) {
		complain(invocation, error.text);
		return HQ_EXIT_ERROR;
	}
	return exit_status(invocation, run);
}

int hq_cases_run(const struct hq_invocation *invocation, const struct hq_cases *cases,
		 struct hq_suite_run *run)
{
	const struct hq_suite_settings settings = hq_suite_settings_of(invocation);
	struct hq_report_files files;
	const char *names[FORMATS_MAX];
	struct hq_error error;
	int status;

	*run = (struct hq_suite_run){ .results = NULL };
	if (settings.results && hq_results_check(settings.results, &error))
		return complain(invocation, error.text);
	if (hq_report_files_open(&invocation->settings, invocation->program != NULL,
				 format_names(names), &files, &error))
		status = complain(invocation, error.text);
	else
		status = run_and_report(invocation, cases, &files, run);
	hq_report_files_close(&files);
	return status;
}

int hq_command_run(struct hq_invocation *invocation)
{
	struct hq_suite_run run = { .results = NULL };
	struct hq_cases cases;
	int status;

	if (invocation->settings.pass_status && !invocation->program)
		return complain(invocation, "--pass-status needs a program: -- PROG ARG...");
	status = hq_cases_make(invocation, &cases);
	if (!status && invocation->settings.dry_run)
		list_cases(&cases);
	else if (!status)
		status = hq_cases_run(invocation, &cases, &run);
	hq_suite_clear(&run);
	hq_cases_clear(&cases);
	return status;
}
