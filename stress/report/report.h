/* SPDX-License-Identifier: MIT */
/*
 * Reports: the results of a suite for a reader. One writer a format, one row each in the table.
 * A result is plain data without pointers, so that the process that ran a case can hand it over in
 * shared memory.
 */
#ifndef HQ_STRESS_REPORT_REPORT_H
#define HQ_STRESS_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stress/check/check.h"

#define HQ_RESULT_METRICS 384 /* more than there are, latencies at six places included */

struct hq_result_metric {
	char name[72]; /* the longest: inject.NAME.COUNTER */
	enum hq_unit unit;
	double value;
};

/* One part of the work (a query), mean over its runs. */
struct hq_result_part {
	char name[32];
	char group[24];
	uint64_t runs;
	double wall_ns, cpu_ns, faults;
};

/* One case: a scenario on an allocator with a seed. */
struct hq_result {
	char scenario[64];
	char path[256]; /* of the scenario file, "" for a command line */
	char question[200];
	char allocator[64];
	char version[64];
	char command[200]; /* "" for a built-in workload */
	char mechanism[16];
	uint64_t seed;
	enum hq_verdict verdict;
	char reason[400]; /* why SKIP, ERROR, XFAIL, XPASS; "" otherwise */
	struct hq_findings findings;
	struct hq_rule_total rules[HQ_RULES_MAX];
	size_t rule_count;
	struct hq_result_metric metrics[HQ_RESULT_METRICS];
	size_t metric_count;
	struct hq_result_part parts[HQ_WIRE_PARTS];
	size_t part_count;
	uint64_t wall_ns;
	uint64_t judged_ns; /* CLOCK_MONOTONIC when the verdict was there */
	char folder[1024];  /* of the run, "" when nothing was kept */
	char repro[4096];   /* one line for a shell */
};

struct hq_suite {
	const struct hq_result *results;
	size_t count;
	uint64_t seed;
	uint64_t wall_ns;
	bool interrupted;
	bool color;   /* text only */
	bool verbose; /* text: also what passed, with its metrics */
	const char *program_version;
};

struct hq_format {
	const char *name; /* "text", "html", "json", "junit", "tap", "usage" */
	const char *help;
	int (*write)(const struct hq_suite *suite, FILE *stream); /* 0 or -errno */
};

extern const struct hq_format *const hq_formats[]; /* NULL-terminated */
const struct hq_format *hq_format_find(const char *name);

/* "12 scenarios: 9 pass, 1 fail, 1 inconclusive, 1 skip (seed 42, 31.2 s)"; returns `text`. */
const char *hq_suite_last_line(const struct hq_suite *suite, char *text, size_t size);

/* The exit status, as in docs/design.md: 0 1 3 4 5 77 (2, 130 and 143 are the command line's). */
int hq_suite_exit_status(const struct hq_suite *suite);

/*
 * The files of one run, each written whole or not at all (temporary name, fsync-free rename):
 * verdict.json, findings.json, samples.csv, latency.hlog, latency.csv, faults.jsonl. `folder_fd` is
 * the open folder. 0 or -errno of the first that failed (the others are still tried).
 */
int hq_run_files_write(int folder_fd, const struct hq_result *result,
		       const struct hq_observations *observations);

#endif
