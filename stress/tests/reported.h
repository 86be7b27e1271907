/* SPDX-License-Identifier: MIT */
/*
 * Results by hand, for tests of report formats: one of each verdict, and strings as nasty as a
 * broken target can make them.
 */
#ifndef HQ_STRESS_TESTS_REPORTED_H
#define HQ_STRESS_TESTS_REPORTED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress/report/report.h"

/* Markup, quotes, an escape sequence, broken UTF-8, a directive, a line feed and what is fine. */
#define NASTY                                                                                      \
	"<&>\"'\\]]> \x1b[31m \xff\xc3 # TODO \n \x01 gr\xc3\xbc\xc3\x9f \xef\xbf\xbf "            \
	"\xe2\x80\xae"

static inline struct hq_result reported(enum hq_verdict verdict, const char *allocator)
{
	struct hq_result result = { .seed = 42, .verdict = verdict, .wall_ns = 1500000000 };

	strcpy(result.scenario, "refuse-free");
	strcpy(result.path, "scenarios/decay/refuse-free.yaml");
	strcpy(result.question, "Does memory come back?");
	strcpy(result.version, "1.2.3");
	strcpy(result.repro, "heapquake run --seed=42 scenarios/decay/refuse-free.yaml");
	snprintf(result.allocator, sizeof(result.allocator), "%s", allocator);
	result.rule_count = 1;
	result.rules[0] = (struct hq_rule_total){
		.name = "refuse", .seen = 120, .eligible = 100, .fired = 12, .required = 1
	};
	result.metric_count = 3;
	result.metrics[0] = (struct hq_result_metric){ "rss.peak", HQ_UNIT_BYTES, 181403648 };
	result.metrics[1] = (struct hq_result_metric){ "ops.rate", HQ_UNIT_PER_SECOND, 1234.5 };
	result.metrics[2] = (struct hq_result_metric){ "latency.op.mean", HQ_UNIT_NS, 99.6 };
	return result;
}

static inline void reported_fail(struct hq_result *result)
{
	struct hq_finding *finding;

	hq_gap_add(&result->findings, "injected", "rule 'other' never fired");
	finding =
		hq_finding_add(&result->findings, "content", "the content of a live block changed");
	finding->count = 3;
	strcpy(finding->evidence, "worker 1: block 0x1000\n  injected 2 ms earlier, rule 'refuse'");
}

/* PASS FAIL INCONCLUSIVE SKIP XFAIL XPASS ERROR, each on an allocator of its own. */
static inline size_t reported_all(struct hq_result results[7])
{
	results[0] = reported(HQ_VERDICT_PASS, "bedrock");
	results[1] = reported(HQ_VERDICT_FAIL, "glibc");
	reported_fail(&results[1]);
	strcpy(results[1].folder, "results/latest/refuse-free/glibc/42");
	results[2] = reported(HQ_VERDICT_INCONCLUSIVE, "jemalloc");
	hq_gap_add(&results[2].findings, "injected", "rule 'refuse' never fired");
	results[3] = reported(HQ_VERDICT_SKIP, "mimalloc");
	strcpy(results[3].reason, "mimalloc is not installed");
	results[4] = reported(HQ_VERDICT_XFAIL, "tcmalloc");
	strcpy(results[4].reason, "known: spins");
	hq_finding_add(&results[4].findings, "survived", "the target hung");
	results[5] = reported(HQ_VERDICT_XPASS, "rpmalloc");
	strcpy(results[5].reason, "known to fail, but nothing was found");
	results[6] = reported(HQ_VERDICT_ERROR, "snmalloc");
	strcpy(results[6].reason, "no memory for the run");
	return 7;
}

static inline struct hq_result reported_nasty(void)
{
	struct hq_result result = reported(HQ_VERDICT_FAIL, NASTY);
	struct hq_finding *finding = hq_finding_add(&result.findings, "survived", "%s", NASTY);

	strcpy(finding->evidence, NASTY);
	strcpy(result.scenario, NASTY);
	strcpy(result.question, NASTY);
	strcpy(result.version, NASTY);
	strcpy(result.command, NASTY);
	strcpy(result.reason, NASTY);
	strcpy(result.repro, NASTY);
	strcpy(result.folder, NASTY);
	memcpy(result.rules[0].name, NASTY, sizeof(result.rules[0].name) - 1);
	return result;
}

/* The report as a string, to be freed. */
static inline char *reported_text(const char *format, const struct hq_suite *suite)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	const int status = hq_format_find(format)->write(suite, stream);

	fclose(stream);
	if (status) {
		free(text);
		return NULL;
	}
	return text;
}

/* No byte in it that could speak to a terminal. */
static inline int reported_is_printable(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 && *text != '\n')
			return 0;
	}
	return 1;
}

#endif
