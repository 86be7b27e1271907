/* SPDX-License-Identifier: MIT */
/*
 * Running cases: each in a process of its own, so that nothing a run does can hurt the next,
 * several at a time if asked for. Results come back in memory shared with that process.
 */
#ifndef HQ_STRESS_CONTROL_SUITE_H
#define HQ_STRESS_CONTROL_SUITE_H

#include "stress/plan/plan.h"
#include "stress/report/report.h"

struct hq_suite_settings {
	const char *results;      /* folder for run folders; NULL: keep nothing */
	uint32_t jobs;            /* cases at a time; at least 1 */
	bool fail_fast;           /* stop at the first FAIL, XPASS or ERROR */
	bool quiet;               /* no progress */
	bool colorless;           /* progress without color, also on a terminal */
	bool program_owns_output; /* `-- PROG`: its stdout and stderr are ours */
	bool require;             /* a SKIP counts as FAIL */
	bool all_metrics;         /* results have every metric that was observed */
	/* Asked after each case, in the order in which they end: no further one is started. */
	bool (*enough)(void *cookie, const struct hq_result *result); /* NULL: never */
	void *enough_cookie;
	const char *program; /* path of heapquake itself, for repro lines and to find host and
				preload */
};

/* Result of one suite; results must be freed with hq_suite_clear. */
struct hq_suite_run {
	struct hq_suite suite;
	struct hq_result *results;
	int interrupted_by; /* 0, SIGINT or SIGTERM */
	int program_status; /* last program's exit status, for --pass-status */
};

/* 0 or -errno with a sentence; verdicts are in the results. */
int hq_suite_run(const struct hq_plan *plans, size_t count,
		 const struct hq_suite_settings *settings, struct hq_suite_run *run,
		 struct hq_error *error);
void hq_suite_clear(struct hq_suite_run *run);

/* Has a signal asked for the end? A run that ends afterwards may have done half of its work. */
bool hq_suite_interrupted(void);

#endif
