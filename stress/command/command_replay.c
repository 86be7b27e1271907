/* SPDX-License-Identifier: MIT */
/*
 * `heapquake replay`: runs the plan of a run's folder once more, and says whether verdict and
 * faults came out the same. Threads that the kernel schedules otherwise may issue other calls: a
 * difference is told, not judged.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/command/command_run.h"
#include "stress/command/commands.h"
#include "stress/plan/schedule.h"
#include "stress/plan/words.h"

static int complain(const char *text)
{
	fprintf(stderr, "heapquake replay: %s\n", text);
	return HQ_EXIT_USAGE;
}

static void say_faults(const struct hq_schedule *before, const struct hq_schedule *now)
{
	const struct hq_schedule_difference difference = hq_schedule_compare(before, now);

	if (!difference.only_in_a && !difference.only_in_b) {
		fprintf(stderr, "heapquake replay: same faults, %zu\n", difference.common);
		return;
	}
	fprintf(stderr,
		"heapquake replay: different faults: %zu in both, %zu only before, %zu only now\n",
		difference.common, difference.only_in_a, difference.only_in_b);
	if (difference.first_only_in_a)
		fprintf(stderr, "  only before: %s\n", difference.first_only_in_a);
	if (difference.first_only_in_b)
		fprintf(stderr, "  only now:    %s\n", difference.first_only_in_b);
}

static void compare_faults(const char *before_folder, const char *now_folder)
{
	struct hq_schedule before = { .count = 0 }, now = { .count = 0 };
	struct hq_error error;

	if (!now_folder[0])
		complain("faults are not compared: this run left no folder");
	else if (hq_schedule_read(before_folder, &before, &error) ||
		 hq_schedule_read(now_folder, &now, &error))
		complain(error.text);
	else
		say_faults(&before, &now);
	hq_schedule_clear(&before);
	hq_schedule_clear(&now);
}

static void compare_with(const char *folder, const struct hq_result *result)
{
	const char *now = hq_verdict_name(result->verdict);
	struct hq_error error;
	char before[32];

	if (hq_schedule_read_verdict(folder, before, sizeof(before), &error))
		complain(error.text);
	else if (strcmp(before, now) == 0)
		fprintf(stderr, "heapquake replay: same verdict, %s\n", now);
	else
		fprintf(stderr, "heapquake replay: different verdict: %s before, %s now\n", before,
			now);
	compare_faults(folder, result->folder);
}

/* Lets the rest of the invocation mean the plan in the folder. */
static int point_to_plan(struct hq_invocation *invocation, char folder[PATH_MAX])
{
	char path[PATH_MAX];
	const size_t count = hq_words_count(invocation->words);

	if (count != 1)
		return complain("name the folder of one run: results/TIME/SCENARIO/ALLOCATOR/SEED");
	snprintf(folder, PATH_MAX, "%s", invocation->words[0]);
	if (snprintf(path, sizeof(path), "%s/plan.yaml", folder) >= (int)sizeof(path) ||
	    access(path, R_OK) != 0) {
		fprintf(stderr, "heapquake replay: %s/plan.yaml: %s\n", folder, strerror(errno));
		return HQ_EXIT_USAGE;
	}
	hq_words_free(invocation->words);
	invocation->words = NULL;
	return hq_words_add(&invocation->words, path) ? complain("out of memory") : HQ_EXIT_OK;
}

int hq_command_replay(struct hq_invocation *invocation)
{
	struct hq_suite_run run = { .results = NULL };
	struct hq_cases cases = { .count = 0 };
	char folder[PATH_MAX];
	int status = point_to_plan(invocation, folder);

	if (!status)
		status = hq_cases_make(invocation, &cases);
	if (!status) {
		status = hq_cases_run(invocation, &cases, &run);
		if (run.results && run.suite.count == 1)
			compare_with(folder, &run.results[0]);
	}
	hq_suite_clear(&run);
	hq_cases_clear(&cases);
	return status;
}
