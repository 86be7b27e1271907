/* SPDX-License-Identifier: MIT */
/*
 * `heapquake list`: scenarios with their questions, or the parts that scenarios are made of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/injector.h"
#include "stress/check/check.h"
#include "stress/plan/allocator.h"
#include "stress/command/commands.h"
#include "stress/plan/scenario.h"
#include "stress/plan/scenario_files.h"
#include "stress/plan/select.h"
#include "stress/plan/words.h"
#include "stress/report/report.h"
#include "stress/workload/workload.h"

/* ---- the parts ---- */

static int list_allocators(const struct hq_invocation *invocation)
{
	struct hq_allocators allocators = { .program = invocation->path };

	for (const char *const *name = hq_allocator_names(); *name; name++) {
		struct hq_allocator allocator;
		struct hq_error error;

		if (hq_allocator_locate(&allocators, *name, &allocator, &error))
			continue;
		if (allocator.missing[0])
			printf("%-10s %s\n", *name, allocator.missing);
		else
			printf("%-10s %s%s%s\n", *name, allocator.version,
			       *allocator.library ? "  " : "", allocator.library);
	}
	return HQ_EXIT_OK;
}

static int list_checkers(const struct hq_invocation *invocation)
{
	(void)invocation;
	for (const struct hq_checker *const *checker = hq_checkers; *checker; checker++)
		printf("%-22s %s%s\n", (*checker)->name, (*checker)->promise,
		       (*checker)->on_request ? " (on request)" : "");
	return HQ_EXIT_OK;
}

static int list_formats(const struct hq_invocation *invocation)
{
	(void)invocation;
	for (const struct hq_format *const *format = hq_formats; *format; format++)
		printf("%-10s %s\n", (*format)->name, (*format)->help);
	return HQ_EXIT_OK;
}

static int list_injectors(const struct hq_invocation *invocation)
{
	(void)invocation;
	for (const struct hq_injector *const *injector = hq_injectors; *injector; injector++)
		printf("%-18s %s\n", (*injector)->name, (*injector)->help);
	return HQ_EXIT_OK;
}

static int list_metrics(const struct hq_invocation *invocation)
{
	(void)invocation;
	for (size_t i = 0; i < hq_metric_count; i++)
		printf("%-28s %s\n", hq_metrics[i].pattern, hq_metrics[i].help);
	return HQ_EXIT_OK;
}

static int list_workloads(const struct hq_invocation *invocation)
{
	(void)invocation;
	for (const struct hq_workload *const *workload = hq_workloads; *workload; workload++)
		printf("%-18s %s\n", (*workload)->name, (*workload)->help);
	return HQ_EXIT_OK;
}

static const struct part {
	const char *name;
	int (*list)(const struct hq_invocation *invocation);
} parts[] = {
	{ "allocators", list_allocators }, { "checkers", list_checkers },
	{ "formats", list_formats },       { "injectors", list_injectors },
	{ "metrics", list_metrics },       { "workloads", list_workloads },
};

#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

static const struct part *find_part(char *const *words)
{
	for (size_t i = 0; words && words[0] && !words[1] && i < PART_COUNT; i++) {
		if (strcmp(parts[i].name, words[0]) == 0)
			return &parts[i];
	}
	return NULL;
}

/* ---- scenarios ---- */

static int complain(const char *text)
{
	fprintf(stderr, "heapquake list: %s\n", text);
	return HQ_EXIT_USAGE;
}

/* The expressions were checked before: an error cannot come here. */
static bool is_selected(const struct hq_settings *settings, const struct hq_plan *plan)
{
	bool named = true, tagged = true;
	struct hq_error error;

	if (settings->filter)
		hq_select(settings->filter, HQ_SELECT_PART_OF_NAME, plan->scenario, &named, &error);
	if (settings->tags)
		hq_select(settings->tags, HQ_SELECT_TAG, plan->tags, &tagged, &error);
	return named && tagged;
}

static void list_scenario(const struct hq_plan *plan)
{
	printf("%-28s %s\n", plan->scenario, plan->question);
	if (plan->tags[0])
		printf("%-28s [%s]\n", "", plan->tags);
}

static int list_file(const struct hq_settings *settings, const char *file, size_t *count)
{
	struct hq_scenario *scenario = calloc(1, sizeof(*scenario));
	struct hq_complaints complaints;
	int status = HQ_EXIT_OK;

	if (!scenario)
		return complain("out of memory");
	if (hq_scenario_read(file, scenario, &complaints)) {
		hq_complaints_print(&complaints, stderr);
		status = HQ_EXIT_USAGE;
	} else if (is_selected(settings, &scenario->plan)) {
		list_scenario(&scenario->plan);
		++*count;
	}
	hq_scenario_clear(scenario);
	free(scenario);
	return status;
}

static int check_expressions(const struct hq_settings *settings)
{
	struct hq_error error;
	bool matches;

	if ((settings->filter &&
	     hq_select(settings->filter, HQ_SELECT_PART_OF_NAME, "", &matches, &error)) ||
	    (settings->tags && hq_select(settings->tags, HQ_SELECT_TAG, "", &matches, &error)))
		return complain(error.text);
	return HQ_EXIT_OK;
}

/* A word that is neither a part nor a scenario may be a part misspelt. */
static int refuse_words(char *const *words, const char *why)
{
	const char *names[PART_COUNT + 1] = { NULL };
	const char *near = NULL;

	for (size_t i = 0; i < PART_COUNT; i++)
		names[i] = parts[i].name;
	if (words && words[0] && !words[1])
		near = hq_suggest(words[0], names);
	if (!near)
		return complain(why);
	fprintf(stderr, "heapquake list: %s; did you mean '%s'?\n", why, near);
	return HQ_EXIT_USAGE;
}

static int list_scenarios(const struct hq_invocation *invocation)
{
	struct hq_error error;
	size_t count = 0;
	char **files;
	int status = check_expressions(&invocation->settings);

	if (status)
		return status;
	if (hq_scenario_files_find(invocation->words, invocation->path, &files, &error))
		return refuse_words(invocation->words, error.text);
	for (size_t i = 0; files && files[i]; i++) {
		/* A wrong file does not hide the others. */
		if (list_file(&invocation->settings, files[i], &count))
			status = HQ_EXIT_USAGE;
	}
	hq_words_free(files);
	printf("%zu scenario%s\n", count, count == 1 ? "" : "s");
	return status || count ? status : HQ_EXIT_NOTHING_MATCHED;
}

int hq_command_list(struct hq_invocation *invocation)
{
	const struct part *part = find_part(invocation->words);

	return part ? part->list(invocation) : list_scenarios(invocation);
}
