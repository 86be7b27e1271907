/* SPDX-License-Identifier: MIT */
/*
 * `heapquake selftest`: is the suite able to say FAIL? Every planted bug of the faulty allocator is
 * run against the scenario that provokes it. Before that the same scenarios run without any bug:
 * unless that is clean, a catch means nothing.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/units.h"
#include "stress/plan/allocator.h"
#include "stress/command/cases.h"
#include "stress/command/commands.h"
#include "stress/plan/scenario.h"
#include "stress/plan/scenario_files.h"
#include "stress/plan/select.h"
#include "stress/command/selftest.h"
#include "stress/control/suite.h"
#include "stress/plan/words.h"

#define ANY_SCENARIO  "selftest-calls"
#define TABLE         "bugs.table"
#define LIST_BYTES    65536
#define SCENARIOS_MAX 64
#define BUDGET_TIMES  10u /* a run without a bug */

struct selftest {
	const struct hq_invocation *invocation;
	const char *program;
	struct hq_selftest_bugs bugs;
	size_t chosen[HQ_SELFTEST_BUGS]; /* those that run */
	size_t chosen_count;
	struct hq_scenario scenarios[SCENARIOS_MAX];
	size_t scenario_count;
	struct hq_allocator allocator;
	uint64_t first_seed, seeds;
	char library[PATH_MAX];
	char folder[64]; /* of the files in which fires are counted */
	uint64_t wall_ns;
	int interrupted_by;
	struct hq_selftest_row rows[HQ_SELFTEST_BUGS];
};

static int fail(const struct hq_error *error, int status)
{
	fprintf(stderr, "heapquake selftest: %s\n", error->text);
	return status;
}

/* ---- what there is ---- */

/* In a child: an allocator with bugs is not let into this process. */
__attribute__((noreturn)) static void print_bugs(const char *library, int fd)
{
	void *const object = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	const char *(*list)(void) = NULL;

	unsetenv("FAULTY");
	if (object)
		*(void **)&list = dlsym(object, "faulty_list");
	if (!list || dprintf(fd, "%s", list()) < 0)
		_exit(1);
	_exit(0);
}

static size_t read_all(int fd, char *text, size_t size)
{
	size_t length = 0;
	ssize_t got;

	while (length + 1 < size && (got = read(fd, text + length, size - 1 - length)) > 0)
		length += (size_t)got;
	text[length] = '\0';
	return length;
}

static int list_bugs(struct selftest *test, struct hq_error *error)
{
	char *text = malloc(LIST_BYTES);
	int ends[2], status = -ENOMEM;
	pid_t pid;

	if (!text || pipe2(ends, O_CLOEXEC)) {
		free(text);
		return hq_error_set(error, "out of memory or files");
	}
	pid = fork();
	if (pid == 0)
		print_bugs(test->library, ends[1]);
	close(ends[1]);
	if (pid > 0 && read_all(ends[0], text, LIST_BYTES) > 0)
		status = hq_selftest_parse_bugs(text, &test->bugs, error);
	else
		hq_error_set(error, "%s cannot be asked for its bugs; run make", test->library);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	free(text);
	return status;
}

/* Here a file that is missing is an error like others: nothing but a choice may match nothing. */
static int find_files(const struct selftest *test, char *name, char ***files,
		      struct hq_error *error)
{
	char *const words[] = { name, NULL };
	const int status = hq_scenario_files_find(words, test->program, files, error);

	return status == -ENOENT ? -EINVAL : status;
}

/* The folder of the scenarios is where the table is. */
static int read_table(struct selftest *test, struct hq_error *error)
{
	char path[PATH_MAX + 32], **files = NULL;
	struct hq_error why;
	int status = find_files(test, ANY_SCENARIO, &files, error);

	if (status)
		return status;
	snprintf(path, sizeof(path), "%s/" TABLE, dirname(files[0]));
	hq_words_free(files);
	status = hq_selftest_read_table(path, &test->bugs, &why);
	if (status)
		hq_error_set(error, "%.300s: %.200s", path, why.text);
	return status;
}

static int choose_bugs(struct selftest *test, struct hq_error *error)
{
	const struct hq_settings *settings = &test->invocation->settings;

	for (size_t i = 0; i < test->bugs.count; i++) {
		const struct hq_selftest_bug *bug = &test->bugs.list[i];
		bool matches = true;

		if (settings->filter &&
		    hq_select(settings->filter, HQ_SELECT_PART_OF_NAME, bug->name, &matches, error))
			return -EINVAL;
		if (matches && (bug->quick || !settings->quick))
			test->chosen[test->chosen_count++] = i;
	}
	if (test->chosen_count)
		return 0;
	hq_error_set(error, "nothing matched");
	return -ENOENT;
}

static struct hq_scenario *find_scenario(struct selftest *test, const char *name)
{
	for (size_t i = 0; i < test->scenario_count; i++) {
		if (strcmp(test->scenarios[i].plan.scenario, name) == 0)
			return &test->scenarios[i];
	}
	return NULL;
}

static int read_scenario(struct selftest *test, char *name, struct hq_error *error)
{
	struct hq_complaints complaints;
	char **files = NULL;
	int status;

	if (test->scenario_count == SCENARIOS_MAX)
		return hq_error_set(error, "more than %d scenarios", SCENARIOS_MAX);
	status = find_files(test, name, &files, error);
	if (status)
		return status;
	status = hq_scenario_read(files[0], &test->scenarios[test->scenario_count++], &complaints);
	if (status) {
		hq_complaints_print(&complaints, stderr);
		hq_error_set(error, "%s cannot be used", files[0]);
	}
	hq_words_free(files);
	return status;
}

static int read_scenarios(struct selftest *test, struct hq_error *error)
{
	int status = 0;

	for (size_t i = 0; !status && i < test->chosen_count; i++) {
		struct hq_selftest_bug *bug = &test->bugs.list[test->chosen[i]];

		if (bug->scenario[0] && !find_scenario(test, bug->scenario))
			status = read_scenario(test, bug->scenario, error);
	}
	return status;
}

/* ---- running ---- */

static int set_environment(struct hq_plan *plan, const char *bug, const char *count_file)
{
	char switches[64], count[128];

	snprintf(switches, sizeof(switches), "FAULTY=%s", bug);
	snprintf(count, sizeof(count), "FAULTY_COUNT=%s", count_file);
	return hq_words_add(&plan->env, switches) || hq_words_add(&plan->env, count) ? -ENOMEM : 0;
}

static const char *count_file(const struct selftest *test, size_t index, char text[96])
{
	snprintf(text, 96, "%s/%zu", test->folder, index);
	return text;
}

static int add_plan(struct selftest *test, struct hq_scenario *scenario, const char *bug,
		    uint64_t seed, struct hq_cases *cases, struct hq_error *error)
{
	struct hq_plan *plan = &cases->plans[cases->count];
	char file[96];
	int status = hq_plan_resolve(scenario, &test->allocator, seed, plan, error);

	if (status)
		return status;
	status = set_environment(plan, bug, count_file(test, cases->count, file));
	cases->count++;
	return status ? hq_error_set(error, "out of memory") : 0;
}

static int run_cases(struct selftest *test, const struct hq_cases *cases, struct hq_suite_run *run,
		     struct hq_error *error)
{
	const struct hq_settings *settings = &test->invocation->settings;
	const struct hq_suite_settings how = {
		.jobs = settings->jobs ? (uint32_t)settings->jobs : 1,
		.quiet = settings->quiet,
		.colorless = settings->color == HQ_COLOR_NEVER,
		.program = test->program,
	};
	const int status = hq_suite_run(cases->plans, cases->count, &how, run, error);

	test->wall_ns += run->suite.wall_ns;
	test->interrupted_by = run->interrupted_by;
	return status;
}

/* The first finding or gap, for a reader who expected none. */
static void complain_of(const struct hq_result *result)
{
	const struct hq_finding *finding = result->findings.list;

	fprintf(stderr, "heapquake selftest: %s without any bug: %s%s%s%s%s\n", result->scenario,
		hq_verdict_name(result->verdict), result->findings.count ? ": " : "",
		result->findings.count ? finding->checker : "", result->findings.count ? ": " : "",
		result->findings.count ? finding->text : "");
	if (result->reason[0])
		fprintf(stderr, "  %s\n", result->reason);
}

static bool has_proof_bug(const struct selftest *test, const char *scenario)
{
	for (size_t i = 0; i < test->chosen_count; i++) {
		const struct hq_selftest_bug *bug = &test->bugs.list[test->chosen[i]];

		if (strcmp(bug->contract, HQ_SELFTEST_PROOF) == 0 &&
		    strcmp(bug->scenario, scenario) == 0)
			return true;
	}
	return false;
}

static size_t count_unclean(const struct selftest *test, const struct hq_suite_run *run)
{
	size_t unclean = 0;

	for (size_t i = 0; i < run->suite.count; i++) {
		const struct hq_result *result = &run->results[i];

		if (result->verdict == HQ_VERDICT_PASS)
			continue;
		complain_of(result);
		unclean += !hq_selftest_is_clean(result->verdict,
						 has_proof_bug(test, result->scenario));
	}
	return unclean;
}

/*
 * Budgets are meant for a machine with nothing else to do. Where the run without a bug took long,
 * so may the one with it.
 */
static void stretch_budgets(struct selftest *test, const struct hq_suite_run *run)
{
	for (size_t i = 0; i < test->chosen_count; i++) {
		struct hq_selftest_bug *bug = &test->bugs.list[test->chosen[i]];
		const struct hq_scenario *scenario = find_scenario(test, bug->scenario);

		if (!scenario || (size_t)(scenario - test->scenarios) >= run->suite.count)
			continue;
		const uint64_t stretched_ns =
			run->results[scenario - test->scenarios].wall_ns * BUDGET_TIMES;

		if (stretched_ns > bug->budget_ns)
			bug->budget_ns = stretched_ns;
	}
}

static int run_without_bugs(struct selftest *test, struct hq_error *error)
{
	struct hq_cases cases = { .plans = calloc(SCENARIOS_MAX, sizeof(*cases.plans)) };
	struct hq_suite_run run = { .results = NULL };
	int status = cases.plans ? 0 : hq_error_set(error, "out of memory");

	for (size_t i = 0; !status && i < test->scenario_count; i++)
		status = add_plan(test, &test->scenarios[i], "", test->first_seed, &cases, error);
	if (!status)
		status = run_cases(test, &cases, &run, error);
	if (!status && !test->interrupted_by && count_unclean(test, &run)) {
		hq_error_set(error, "a run without any bug was not clean; no catch would count");
		status = -EIO;
	}
	if (!status)
		stretch_budgets(test, &run);
	hq_suite_clear(&run);
	hq_cases_clear(&cases);
	return status;
}

static int add_bug_plans(struct selftest *test, struct hq_cases *cases, struct hq_error *error)
{
	int status = 0;

	for (size_t i = 0; !status && i < test->chosen_count; i++) {
		const struct hq_selftest_bug *bug = &test->bugs.list[test->chosen[i]];

		for (uint64_t j = 0; !status && bug->scenario[0] && j < test->seeds; j++)
			status = add_plan(test, find_scenario(test, bug->scenario), bug->name,
					  test->first_seed + j, cases, error);
	}
	return status;
}

/* How often the bug of a case struck, and when first; it takes the file away. */
static struct hq_selftest_fires take_fires(const struct selftest *test, size_t index)
{
	struct hq_selftest_fires fires = { .count = 0 };
	char file[96];
	const int fd = open(count_file(test, index, file), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return fires;
	if (read(fd, &fires, sizeof(fires)) != (ssize_t)sizeof(fires))
		fires = (struct hq_selftest_fires){ .count = 0 };
	close(fd);
	unlink(file);
	return fires;
}

static void judge_bugs(struct selftest *test, const struct hq_suite_run *run)
{
	size_t index = 0;

	for (size_t i = 0; i < test->chosen_count; i++) {
		struct hq_selftest_row *row = &test->rows[i];

		row->bug = &test->bugs.list[test->chosen[i]];
		for (uint64_t j = 0; row->bug->scenario[0] && j < test->seeds; j++, index++) {
			struct hq_selftest_seen seen = { .catch = HQ_CATCH_NOT_RUN };

			const struct hq_selftest_fires fires = take_fires(test, index);

			if (index < run->suite.count)
				hq_selftest_classify(row->bug, &run->results[index], &fires, &seen);
			hq_selftest_add(row, &seen);
		}
		hq_selftest_judge(row);
	}
}

static int run_with_bugs(struct selftest *test, struct hq_error *error)
{
	struct hq_cases cases = { .plans = calloc(test->chosen_count * test->seeds,
						  sizeof(*cases.plans)) };
	struct hq_suite_run run = { .results = NULL };
	int status = cases.plans ? 0 : hq_error_set(error, "out of memory");

	if (!status)
		status = add_bug_plans(test, &cases, error);
	if (!status)
		status = run_cases(test, &cases, &run, error);
	if (!status)
		judge_bugs(test, &run);
	hq_suite_clear(&run);
	hq_cases_clear(&cases);
	return status;
}

/* ---- the command ---- */

static int take_settings(struct selftest *test, struct hq_error *error)
{
	const struct hq_settings *settings = &test->invocation->settings;
	char copy[PATH_MAX];

	test->seeds = settings->repeat;
	test->first_seed = HQ_DEFAULT_SEED;
	if (settings->seed && hq_units_parse_count(settings->seed, &test->first_seed, error))
		return -EINVAL;
	snprintf(copy, sizeof(copy), "%s", test->program);
	if (snprintf(test->library, sizeof(test->library), "%s/libfaulty.so", dirname(copy)) >=
	    (int)sizeof(test->library))
		return hq_error_set(error, "the path of this program is too long");
	return 0;
}

static int prepare(struct selftest *test, struct hq_error *error)
{
	struct hq_allocators allocators = { .program = test->program };
	int status = take_settings(test, error);

	if (!status)
		status = list_bugs(test, error);
	if (!status)
		status = read_table(test, error);
	if (!status)
		status = choose_bugs(test, error);
	if (!status)
		status = read_scenarios(test, error);
	if (!status)
		status = hq_allocator_locate(&allocators, test->library, &test->allocator, error);
	strcpy(test->folder, "/tmp/heapquake-selftest-XXXXXX");
	if (!status && !mkdtemp(test->folder))
		status = hq_error_set(error, "%s: %s", test->folder, strerror(errno));
	return status;
}

static int report(const struct selftest *test)
{
	char *const *formats = test->invocation->settings.formats;
	struct hq_selftest_score score;
	int status = 0;

	if (formats && strcmp(formats[0], "json") == 0)
		status = hq_selftest_write_json(test->rows, test->chosen_count, test->first_seed,
						test->wall_ns, stdout);
	else
		hq_selftest_write_text(test->rows, test->chosen_count, test->first_seed,
				       test->wall_ns, stdout);
	if (status)
		return HQ_EXIT_ERROR;
	hq_selftest_count(test->rows, test->chosen_count, &score);
	return hq_selftest_is_good(&score) ? HQ_EXIT_OK : HQ_EXIT_FAIL;
}

static int run(struct selftest *test)
{
	struct hq_error error = { .text = "" };
	int status = prepare(test, &error);

	if (status == -ENOENT)
		return fail(&error, HQ_EXIT_NOTHING_MATCHED);
	if (status)
		return fail(&error, HQ_EXIT_USAGE);
	status = run_without_bugs(test, &error);
	if (!status && !test->interrupted_by)
		status = run_with_bugs(test, &error);
	if (status)
		return fail(&error, HQ_EXIT_ERROR);
	return test->interrupted_by ? 128 + test->interrupted_by : report(test);
}

/* Files of runs that came to nothing are still there. */
static void clear(struct selftest *test)
{
	for (size_t i = 0; i < test->chosen_count * test->seeds || i < SCENARIOS_MAX; i++)
		take_fires(test, i);
	if (test->folder[0])
		rmdir(test->folder);
	for (size_t i = 0; i < test->scenario_count; i++)
		hq_scenario_clear(&test->scenarios[i]);
	free(test);
}

static int check_words(const struct hq_invocation *invocation)
{
	char *const *formats = invocation->settings.formats;
	struct hq_error error;

	if (invocation->words)
		hq_error_set(&error, "'%.100s': there is nothing to name; choose with -k",
			     invocation->words[0]);
	else if (formats && (formats[1] ||
			     (strcmp(formats[0], "text") != 0 && strcmp(formats[0], "json") != 0)))
		hq_error_set(&error, "--format '%.100s': choose one of: text, json", formats[0]);
	else
		return 0;
	return fail(&error, HQ_EXIT_USAGE);
}

int hq_command_selftest(struct hq_invocation *invocation)
{
	struct selftest *const test = calloc(1, sizeof(*test));
	int status = check_words(invocation);

	if (status || !test) {
		free(test);
		return status ? status : HQ_EXIT_ERROR;
	}
	test->invocation = invocation;
	test->program = invocation->path;
	status = run(test);
	clear(test);
	return status;
}
