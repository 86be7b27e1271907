/* SPDX-License-Identifier: MIT */
/*
 * Running cases, each in a process of its own. The case's process has its own group, so a Ctrl-C
 * reaches only us: the first one asks the cases to wind up and report, the second kills them (their
 * targets die with them, and the next start sweeps what they could not put back).
 */
#include "stress/control/suite.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "injectors/injector.h"
#include "stress/control/case.h"
#include "stress/control/folder.h"
#include "stress/control/progress.h"
#include "stress/control/spawn.h"
#include "stress/observe/calibrate.h"

/* What a case's process hands back; shared, written by that process alone. */
struct suite_slot {
	_Atomic uint32_t finished;
	struct hq_case_progress progress;
	struct hq_result result;
};

struct suite {
	const struct hq_plan *plans;
	size_t count;
	const struct hq_suite_settings *settings;
	struct suite_slot *slots;
	pid_t *pids; /* 0: not started, -1: ended */
	size_t next, running, ended;
	bool winding_up;
	bool lost_case; /* one ended without a word, perhaps with processes left behind */
	char folder[HQ_FOLDER_SIZE]; /* "" when nothing is kept */
	uint64_t ns_per_tick;
	struct hq_progress progress;
};

static volatile sig_atomic_t suite_signal;
static volatile sig_atomic_t suite_signal_count;

static void on_signal(int number)
{
	suite_signal = number;
	suite_signal_count++;
}

bool hq_suite_interrupted(void)
{
	return suite_signal != 0;
}

static void handle_signals(void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

__attribute__((noreturn)) static void be_case(struct suite *suite, size_t index, pid_t parent,
					      const sigset_t *signals)
{
	struct suite_slot *slot = &suite->slots[index];
	struct hq_case_context context = {
		.settings = suite->settings,
		.progress = &slot->progress,
		.suite_folder = suite->folder[0] ? suite->folder : NULL,
		.ns_per_tick = suite->ns_per_tick,
	};

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	hq_case_handle_signals();
	sigprocmask(SIG_SETMASK, signals, NULL);
	hq_case_run(&suite->plans[index], &context, &slot->result);
	/* Pairs with the acquire in end_case: the result is whole. */
	hq_store_release(&slot->finished, 1);
	_exit(0);
}

/* A result for a case whose process could not tell. */
static void fill_missing(const struct hq_plan *plan, struct hq_result *result,
			 enum hq_verdict verdict, const char *reason)
{
	memset(result, 0, sizeof(*result));
	strcpy(result->scenario, plan->scenario);
	strcpy(result->path, plan->path);
	strcpy(result->allocator, plan->allocator);
	result->seed = plan->seed;
	result->verdict = verdict;
	strncpy(result->reason, reason, sizeof(result->reason) - 1);
}

/* `fork_error`: why it has no process; 0 if it had one. */
static void end_case(struct suite *suite, size_t index, int fork_error)
{
	struct suite_slot *slot = &suite->slots[index];
	char reason[120];

	snprintf(reason, sizeof(reason), "cannot start a process for this case: %s",
		 strerror(fork_error));

	suite->pids[index] = -1;
	suite->running--;
	suite->ended++;
	/* Pairs with the release in be_case. */
	if (!hq_load_acquire(&slot->finished)) {
		suite->lost_case = true;
		fill_missing(&suite->plans[index], &slot->result, HQ_VERDICT_ERROR,
			     fork_error     ? reason
			     : suite_signal ? "killed before it could report"
					    : "the process that ran this case died");
	}
	hq_progress_done(&suite->progress, &slot->result);
	if (suite->settings->fail_fast && slot->result.verdict >= HQ_VERDICT_XPASS)
		suite->winding_up = true;
	if (suite->settings->enough &&
	    suite->settings->enough(suite->settings->enough_cookie, &slot->result))
		suite->winding_up = true;
}

/* A signal must not come before the case can tell what it means: until then it waits. */
static void start_case(struct suite *suite, size_t index)
{
	const pid_t parent = getpid();
	sigset_t all, before;

	hq_store_relaxed(&suite->slots[index].progress.started_ns, hq_now_ns());
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	suite->pids[index] = fork();
	if (suite->pids[index] == 0)
		be_case(suite, index, parent, &before);
	const int error = errno;

	sigprocmask(SIG_SETMASK, &before, NULL);
	suite->running++;
	if (suite->pids[index] < 0)
		end_case(suite, index, error);
}

static void reap(struct suite *suite)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < suite->next; i++)
			if (suite->pids[i] == pid)
				end_case(suite, i, 0);
}

static void signal_cases(const struct suite *suite, int number)
{
	for (size_t i = 0; i < suite->next; i++)
		if (suite->pids[i] > 0)
			kill(suite->pids[i], number);
}

static void draw(struct suite *suite)
{
	const struct hq_plan *plans[64];
	const struct hq_case_progress *cases[64];
	size_t count = 0;

	for (size_t i = 0; i < suite->next && count < 64; i++) {
		if (suite->pids[i] <= 0)
			continue;
		plans[count] = &suite->plans[i];
		cases[count++] = &suite->slots[i].progress;
	}
	hq_progress_draw(&suite->progress, plans, cases, count);
}

static void run_all(struct suite *suite)
{
	sig_atomic_t signals_seen = 0;

	while (suite->running || (suite->next < suite->count && !suite->winding_up)) {
		while (!suite->winding_up && suite->next < suite->count &&
		       suite->running < suite->settings->jobs)
			start_case(suite, suite->next++);
		draw(suite);
		poll(NULL, 0, suite->progress.live ? 100 : 20);
		reap(suite);
		if (suite_signal_count == signals_seen)
			continue;
		signals_seen = suite_signal_count;
		suite->winding_up = true;
		signal_cases(suite, signals_seen == 1 ? SIGTERM : SIGKILL);
	}
}

static void sweep(void)
{
	for (const struct hq_injector *const *one = hq_injectors; *one; one++)
		if ((*one)->sweep)
			(*one)->sweep();
	hq_folder_sweep();
}

/* Do we have children that the program before us left, as a shell does that ends with exec? */
static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/*
 * The descendants of a killed case come to us, since we are a subreaper too. They are killed unless
 * that could hit somebody else's process.
 */
static void end_orphans(const struct suite *suite, bool had_children)
{
	if (suite->lost_case && !had_children)
		hq_spawn_sweep(0);
}

/* Copies what ran into the caller's array; cases that never started are left out. */
static int collect(struct suite *suite, struct hq_suite_run *run)
{
	run->results = calloc(suite->next ? suite->next : 1, sizeof(*run->results));
	if (!run->results)
		return -ENOMEM;
	for (size_t i = 0; i < suite->next; i++)
		run->results[i] = suite->slots[i].result;
	if (suite->next)
		run->program_status =
			hq_load_relaxed(&suite->slots[suite->next - 1].progress.program_status);
	run->suite.results = run->results;
	run->suite.count = suite->next;
	return 0;
}

static int prepare(struct suite *suite, struct hq_error *error)
{
	const size_t bytes = (suite->count + 1) * sizeof(*suite->slots);

	if (suite->settings->results) {
		const int result = hq_folder_suite(suite->settings->results, suite->folder,
						   sizeof(suite->folder), error);
		if (result)
			return result;
	}
	suite->slots = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	suite->pids = calloc(suite->count + 1, sizeof(*suite->pids));
	if (suite->slots == MAP_FAILED || !suite->pids) {
		hq_error_set(error, "no memory for %zu cases", suite->count);
		return -ENOMEM;
	}
	suite->ns_per_tick = hq_calibrate_ns_per_tick();
	return 0;
}

int hq_suite_run(const struct hq_plan *plans, size_t count,
		 const struct hq_suite_settings *settings, struct hq_suite_run *run,
		 struct hq_error *error)
{
	struct suite suite = { .plans = plans, .count = count, .settings = settings };
	const uint64_t started_ns = hq_now_ns();
	const bool had_children = has_children();
	int result;

	memset(run, 0, sizeof(*run));
	sweep();
	result = prepare(&suite, error);
	if (result)
		goto out;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	handle_signals(on_signal);
	hq_progress_start(&suite.progress, count, settings->quiet, settings->colorless);
	run_all(&suite);
	end_orphans(&suite, had_children);
	hq_progress_end(&suite.progress);
	handle_signals(SIG_DFL);
	result = collect(&suite, run);
	run->suite.seed = count ? plans[0].seed : HQ_DEFAULT_SEED;
	run->suite.wall_ns = hq_now_ns() - started_ns;
	run->interrupted_by = suite_signal;
	run->suite.interrupted = suite_signal != 0;
	if (suite_signal_count > 1)
		sweep();
out:
	if (suite.slots && suite.slots != MAP_FAILED)
		munmap(suite.slots, (count + 1) * sizeof(*suite.slots));
	free(suite.pids);
	return result;
}

void hq_suite_clear(struct hq_suite_run *run)
{
	free(run->results);
	run->results = NULL;
}
