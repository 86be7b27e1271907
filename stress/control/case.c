/* SPDX-License-Identifier: MIT */
/*
 * One case from plan to result. Clean and faulted runs alternate, so that a machine that gets
 * slower or faster meanwhile does so for both; the contracts are checked on every run, the
 * expectations on all runs together.
 */
#include "stress/control/case.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "stress/control/case_metrics.h"
#include "stress/control/folder.h"
#include "stress/control/hurdles.h"
#include "stress/control/repro.h"
#include "stress/control/run.h"

#define CASE_RUNS_MAX 32

struct case_runs {
	struct hq_observations *faulted[CASE_RUNS_MAX];
	struct hq_observations *clean[CASE_RUNS_MAX];
	size_t faulted_count;
	size_t clean_count;
};

static volatile sig_atomic_t case_signal;

static void on_signal(int number)
{
	case_signal = number;
}

bool hq_case_interrupted(void)
{
	return case_signal != 0;
}

void hq_case_handle_signals(void)
{
	const struct sigaction action = { .sa_handler = on_signal };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void end_with(struct hq_result *result, enum hq_verdict verdict, const char *reason)
{
	result->verdict = verdict;
	snprintf(result->reason, sizeof(result->reason), "%.*s", (int)sizeof(result->reason) - 1,
		 reason);
}

static void describe(const struct hq_plan *plan, const struct hq_case_context *context,
		     struct hq_result *result)
{
	memset(result, 0, sizeof(*result));
	strcpy(result->scenario, plan->scenario);
	strcpy(result->path, plan->path);
	strcpy(result->question, plan->question);
	strcpy(result->allocator, plan->allocator);
	result->seed = plan->seed;
	for (char **word = plan->command; word && *word; word++) {
		const size_t length = strlen(result->command);

		snprintf(result->command + length, sizeof(result->command) - length, "%s%s",
			 length ? " " : "", *word);
	}
	hq_repro_print(plan, context->settings->program, result->repro, sizeof(result->repro));
}

static int make_folder(const struct hq_plan *plan, const struct hq_case_context *context,
		       struct hq_result *result, char *folder, size_t size)
{
	if (!context->suite_folder)
		return hq_folder_temporary(folder, size);
	const int error =
		hq_folder_case(context->suite_folder, plan, result->folder, sizeof(result->folder));

	if (error) {
		result->folder[0] = '\0';
		return error;
	}
	/* A program may go elsewhere before it opens what it was told as {run}. */
	char *whole = realpath(result->folder, NULL);

	if (!whole)
		return -errno;
	const bool fits = strlen(whole) < size;

	if (fits)
		strcpy(folder, whole);
	free(whole);
	return fits ? 0 : -ENAMETOOLONG;
}

/* One run into the next slot of its kind. */
static int run_one(struct hq_run_spec *spec, bool faulted, struct case_runs *runs,
		   struct hq_run_facts *facts, struct hq_error *error)
{
	struct hq_observations *seen = calloc(1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	spec->faulted = faulted;
	hq_count_own(&spec->context->progress->run, 1);
	const int result = hq_run(spec, facts, seen, error);

	if (result) {
		free(seen);
		return result;
	}
	if (faulted)
		runs->faulted[runs->faulted_count++] = seen;
	else
		runs->clean[runs->clean_count++] = seen;
	return 0;
}

static bool all_finished(const struct case_runs *runs)
{
	for (size_t i = 0; i < runs->faulted_count; i++)
		if (runs->faulted[i]->outcome != HQ_OUTCOME_EXITED)
			return false;
	for (size_t i = 0; i < runs->clean_count; i++)
		if (runs->clean[i]->outcome != HQ_OUTCOME_EXITED)
			return false;
	return true;
}

static struct hq_series series_of(const struct hq_plan *plan, const struct case_runs *runs)
{
	return (struct hq_series){
		.runs = (const struct hq_observations *const *)runs->faulted,
		.run_count = runs->faulted_count,
		.clean_runs = (const struct hq_observations *const *)runs->clean,
		.clean_count = runs->clean_count,
		.confidence = plan->confidence,
	};
}

static bool is_settled(const struct hq_plan *plan, const struct case_runs *runs)
{
	const struct hq_series series = series_of(plan, runs);

	for (size_t i = 0; i < plan->expectation_count; i++) {
		if (!hq_expectation_is_settled(&plan->expectations[i], &series))
			return false;
	}
	return true;
}

/* One of each kind; which goes first changes, so that neither is always the later one. */
static int run_pair(struct hq_run_spec *spec, bool clean_first, struct case_runs *runs,
		    struct hq_run_facts *facts, struct hq_error *error)
{
	int result = 0;

	if (spec->plan->needs_clean)
		result = run_one(spec, !clean_first, runs, facts, error);
	if (!result && !hq_case_interrupted())
		result = run_one(spec, !spec->plan->needs_clean || clean_first, runs, facts, error);
	return result;
}

/*
 * Pairs of runs until every bound is settled; a run that did not finish ends the series.
 */
static int run_all(struct hq_run_spec *spec, struct case_runs *runs, struct hq_run_facts *facts,
		   struct hq_error *error)
{
	const struct hq_plan *plan = spec->plan;
	const uint32_t pairs = !plan->needs_clean            ? 1
			       : plan->pairs > CASE_RUNS_MAX ? CASE_RUNS_MAX
							     : plan->pairs;
	int result = 0;

	hq_store_relaxed(&spec->context->progress->runs, plan->needs_clean ? 2 * pairs : pairs);
	for (uint32_t i = 0; i < pairs && !result && !hq_case_interrupted(); i++) {
		result = run_pair(spec, i % 2 == 0, runs, facts, error);
		if (!all_finished(runs) || is_settled(plan, runs))
			break;
	}
	return result;
}

/* Sentences are about the same thing if they agree up to their details, which stand in brackets. */
static bool same_finding(const struct hq_finding *one, const struct hq_finding *other)
{
	const size_t length = strcspn(one->text, "(");

	return !strcmp(one->checker, other->checker) && one->gap == other->gap &&
	       length == strcspn(other->text, "(") && !strncmp(one->text, other->text, length);
}

/* What the runs of a case showed, each thing once. */
struct summary {
	struct hq_findings *findings;
	size_t runs[HQ_FINDINGS_MAX]; /* in how many runs */
};

/* Where one goes; with a full list a finding takes the place of a gap, a gap none at all. */
static size_t place_of(const struct hq_findings *all, const struct hq_finding *one)
{
	if (all->count < HQ_FINDINGS_MAX)
		return all->count;
	for (size_t i = 0; !one->gap && i < all->count; i++)
		if (all->list[i].gap)
			return i;
	return HQ_FINDINGS_MAX;
}

static void add_new(struct summary *summary, const struct hq_finding *one)
{
	struct hq_findings *all = summary->findings;
	const size_t place = place_of(all, one);

	all->left_out += all->count == HQ_FINDINGS_MAX;
	if (place == HQ_FINDINGS_MAX)
		return;
	all->count += place == all->count;
	all->list[place] = *one;
	summary->runs[place] = 1;
}

/* The same finding in several runs is one, with the details and the evidence of the first. */
static void add_or_count(struct summary *summary, const struct hq_finding *one)
{
	struct hq_findings *all = summary->findings;

	for (size_t i = 0; i < all->count; i++) {
		if (!same_finding(&all->list[i], one))
			continue;
		all->list[i].count += one->count;
		summary->runs[i]++;
		return;
	}
	add_new(summary, one);
}

static void check_run(const struct hq_plan *plan, const struct hq_observations *seen, bool clean,
		      struct summary *summary)
{
	struct hq_findings here = { .count = 0 };

	hq_asked_check(plan->contracts, plan->contract_count, clean, seen, &here);
	summary->findings->left_out += here.left_out;
	for (size_t i = 0; i < here.count; i++) {
		char text[sizeof(here.list[i].text)];

		snprintf(text, sizeof(text), "%s%.320s", clean ? "in a run without faults: " : "",
			 here.list[i].text);
		strcpy(here.list[i].text, text);
		add_or_count(summary, &here.list[i]);
	}
}

static void say_how_often(struct summary *summary)
{
	for (size_t i = 0; i < summary->findings->count; i++) {
		char *text = summary->findings->list[i].text;
		const size_t length = strlen(text);

		if (summary->runs[i] > 1)
			snprintf(text + length, sizeof(summary->findings->list[i].text) - length,
				 "; so in %zu runs", summary->runs[i]);
	}
}

static void judge(const struct hq_plan *plan, const struct case_runs *runs,
		  struct hq_result *result)
{
	struct hq_findings *findings = &result->findings;
	struct summary summary = { .findings = findings };
	const struct hq_series series = series_of(plan, runs);

	for (size_t i = 0; i < runs->faulted_count; i++)
		check_run(plan, runs->faulted[i], false, &summary);
	for (size_t i = 0; i < runs->clean_count; i++)
		check_run(plan, runs->clean[i], true, &summary);
	say_how_often(&summary);
	for (size_t i = 0; i < plan->expectation_count; i++)
		hq_expectation_judge(&plan->expectations[i], &series, findings);
	result->verdict = hq_verdict_judge(findings, &plan->known);
	if (result->verdict == HQ_VERDICT_XFAIL)
		snprintf(result->reason, sizeof(result->reason), "known: %s", plan->known.because);
	if (result->verdict == HQ_VERDICT_XPASS)
		snprintf(result->reason, sizeof(result->reason),
			 "known to fail (%s), but nothing was found: remove its known: entry",
			 plan->known.because);
}

static int write_plan(void *cookie, FILE *stream)
{
	return hq_plan_print(cookie, stream);
}

static int write_line(void *cookie, FILE *stream)
{
	return fprintf(stream, "%s\n", (const char *)cookie) < 0 ? -EIO : 0;
}

/* Files that could not be written make the case an ERROR: a lost result must not look like none. */
static void write_files(const struct hq_plan *plan, const char *folder,
			const struct hq_observations *seen, struct hq_result *result)
{
	const int folder_fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	int error = folder_fd < 0 ? -errno : 0;

	if (!error)
		error = hq_folder_write(folder, "plan.yaml", write_plan, (void *)plan);
	if (!error)
		error = hq_folder_write(folder, "repro", write_line, result->repro);
	if (!error)
		error = hq_run_files_write(folder_fd, result, seen);
	if (folder_fd >= 0)
		close(folder_fd);
	if (error) {
		char reason[400];

		snprintf(reason, sizeof(reason), "cannot write results (%s) to %.300s",
			 strerror(-error), folder);
		end_with(result, HQ_VERDICT_ERROR, reason);
	}
}

static void clear_runs(struct case_runs *runs)
{
	for (size_t i = 0; i < runs->faulted_count; i++) {
		hq_observations_clear(runs->faulted[i]);
		free(runs->faulted[i]);
	}
	for (size_t i = 0; i < runs->clean_count; i++) {
		hq_observations_clear(runs->clean[i]);
		free(runs->clean[i]);
	}
}

static void conclude(const struct hq_run_spec *spec, const struct case_runs *runs,
		     const struct hq_run_facts *facts, struct hq_result *result)
{
	const struct hq_observations *last = runs->faulted[runs->faulted_count - 1];

	snprintf(result->version, sizeof(result->version), "%s", facts->version);
	judge(spec->plan, runs, result);
	hq_case_fill_metrics(spec->plan, last, spec->context->settings->all_metrics, result);
	if (last->outcome == HQ_OUTCOME_EXITED)
		hq_store_relaxed(&spec->context->progress->program_status, last->status);
	else if (last->outcome == HQ_OUTCOME_SIGNALED)
		hq_store_relaxed(&spec->context->progress->program_status, 128 + last->status);
	result->wall_ns = hq_now_ns() - hq_load_relaxed(&spec->context->progress->started_ns);
	if (spec->context->suite_folder)
		write_files(spec->plan, spec->folder, last, result);
}

/* Everything between the checks that can refuse and the cleaning up. */
static void run_and_judge(struct hq_run_spec *spec, struct hq_result *result)
{
	struct case_runs runs = { .faulted_count = 0 };
	struct hq_run_facts facts = { "", "" };
	struct hq_error error = { "" };
	const int failed = run_all(spec, &runs, &facts, &error);

	if (failed == -EOPNOTSUPP)
		end_with(result, HQ_VERDICT_SKIP, error.text);
	else if (failed)
		end_with(result, HQ_VERDICT_ERROR, error.text[0] ? error.text : strerror(-failed));
	else if (!runs.faulted_count)
		end_with(result, HQ_VERDICT_INCONCLUSIVE, "interrupted before the first run ended");
	else
		conclude(spec, &runs, &facts, result);
	clear_runs(&runs);
}

void hq_case_run(const struct hq_plan *plan, struct hq_case_context *context,
		 struct hq_result *result)
{
	struct hq_programs programs;
	struct hq_error error = { "" };
	int failed = 0;
	char folder[HQ_FOLDER_SIZE];
	struct hq_run_spec spec = {
		.plan = plan, .context = context, .programs = &programs, .folder = folder
	};
	const uint64_t started_ns = hq_now_ns();

	describe(plan, context, result);
	if (plan->skip_reason[0]) {
		end_with(result, HQ_VERDICT_SKIP, plan->skip_reason);
	} else if (hq_programs_find(&programs, &error) ||
		   hq_mechanism_resolve(plan, &spec.mechanism, &error)) {
		end_with(result, HQ_VERDICT_ERROR, error.text);
	} else if (hq_hurdles_probe(plan, &error)) {
		end_with(result, HQ_VERDICT_SKIP, error.text);
	} else if ((failed = make_folder(plan, context, result, folder, sizeof(folder)))) {
		hq_error_set(&error, "cannot make the run's folder: %s", strerror(-failed));
		end_with(result, HQ_VERDICT_ERROR, error.text);
	} else {
		snprintf(result->mechanism, sizeof(result->mechanism), "%s",
			 hq_mechanism_name(spec.mechanism));
		run_and_judge(&spec, result);
		if (!context->suite_folder)
			hq_folder_remove(folder);
	}
	if (context->settings->require && result->verdict == HQ_VERDICT_SKIP) {
		snprintf(error.text, sizeof(error.text), "required, but would be skipped: %.350s",
			 result->reason);
		end_with(result, HQ_VERDICT_FAIL, error.text);
	}
	result->judged_ns = hq_now_ns();
	result->wall_ns = result->judged_ns - started_ns;
}
