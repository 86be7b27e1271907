/* SPDX-License-Identifier: MIT */
/*
 * The report for test harnesses: TAP version 14, with YAML diagnostics below what is not ok.
 *
 *   PASS                            ok
 *   SKIP                            ok ... # SKIP reason
 *   XFAIL                           not ok ... # TODO reason: harnesses do not count it as failed
 *   FAIL XPASS INCONCLUSIVE ERROR   not ok; "ok ... # TODO" for XPASS would pass unnoticed
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stress/report/clean.h"
#include "stress/report/format.h"
#include "stress/report/summary.h"

/*
 * In a description and a reason `\` and `#` are escaped, or a name could make itself a directive.
 */
static void put_description(const char *text, FILE *stream)
{
	char clean[HQ_CLEAN_SIZE];

	for (const char *at = hq_clean(text, HQ_CLEAN_LINE, clean, sizeof(clean)); *at; at++) {
		if (*at == '\\' || *at == '#')
			fputc('\\', stream);
		fputc(*at, stream);
	}
}

/* A double-quoted YAML scalar. Control characters are gone already. */
static void put_quoted(const char *text, FILE *stream)
{
	char clean[HQ_CLEAN_SIZE];

	fputc('"', stream);
	for (const char *at = hq_clean(text, HQ_CLEAN_LINE, clean, sizeof(clean)); *at; at++) {
		if (*at == '\\' || *at == '"')
			fputc('\\', stream);
		fputc(*at, stream);
	}
	fputs("\"\n", stream);
}

static void put_pair(const char *key, const char *text, FILE *stream)
{
	fprintf(stream, "%s: ", key);
	put_quoted(text, stream);
}

static void put_known_pair(const char *key, const char *text, FILE *stream)
{
	if (text[0])
		put_pair(key, text, stream);
}

/* Evidence is a list of its lines. */
static void put_evidence(const char *evidence, FILE *stream)
{
	if (evidence[0] == '\0')
		return;
	fputs("      evidence:\n", stream);
	while (*evidence) {
		const size_t length = strcspn(evidence, "\n");
		char line[sizeof(((struct hq_finding *)NULL)->evidence)];

		snprintf(line, sizeof(line), "%.*s", (int)length, evidence);
		fputs("        - ", stream);
		put_quoted(line, stream);
		evidence += length + (evidence[length] == '\n');
	}
}

static void put_findings(const struct hq_findings *findings, FILE *stream)
{
	if (findings->count == 0)
		return;
	fputs("  findings:\n", stream);
	for (size_t i = 0; i < findings->count; i++) {
		const struct hq_finding *finding = &findings->list[i];

		put_pair("    - checker", finding->checker, stream);
		put_pair("      kind", finding->gap ? "gap" : "finding", stream);
		fprintf(stream, "      count: %" PRIu64 "\n", finding->count);
		put_pair("      text", finding->text, stream);
		put_evidence(finding->evidence, stream);
	}
}

static void put_rules(const struct hq_result *result, FILE *stream)
{
	if (result->rule_count == 0)
		return;
	fputs("  injected:\n", stream);
	for (size_t i = 0; i < result->rule_count; i++) {
		const struct hq_rule_total *rule = &result->rules[i];

		put_pair("    - rule", rule->name, stream);
		fprintf(stream,
			"      seen: %" PRIu64 "\n      eligible: %" PRIu64
			"\n      fired: %" PRIu64 "\n",
			rule->seen, rule->eligible, rule->fired);
	}
}

static void put_diagnostics(const struct hq_result *result, FILE *stream)
{
	fputs("  ---\n", stream);
	put_pair("  verdict", hq_verdict_name(result->verdict), stream);
	put_known_pair("  message", hq_result_message(result), stream);
	put_known_pair("  question", result->question, stream);
	put_known_pair("  version", result->version, stream);
	put_findings(&result->findings, stream);
	put_rules(result, stream);
	put_known_pair("  results", result->folder, stream);
	put_known_pair("  reproduce", result->repro, stream);
	fputs("  ...\n", stream);
}

static void put_case(const struct hq_result *result, size_t number, FILE *stream)
{
	const bool ok = result->verdict == HQ_VERDICT_PASS || result->verdict == HQ_VERDICT_SKIP;
	char name[200];

	snprintf(name, sizeof(name), "%s on %s (seed %" PRIu64 ")", result->scenario,
		 result->allocator, result->seed);
	fprintf(stream, "%sok %zu - ", ok ? "" : "not ", number);
	put_description(name, stream);
	if (result->verdict == HQ_VERDICT_SKIP || result->verdict == HQ_VERDICT_XFAIL) {
		fputs(result->verdict == HQ_VERDICT_SKIP ? " # SKIP " : " # TODO ", stream);
		put_description(hq_result_message(result), stream);
	}
	fputc('\n', stream);
	if (!ok)
		put_diagnostics(result, stream);
}

static int write_tap(const struct hq_suite *suite, FILE *stream)
{
	char line[300];

	fputs("TAP version 14\n", stream);
	if (suite->count == 0)
		fputs("1..0 # SKIP nothing was run\n", stream);
	else
		fprintf(stream, "1..%zu\n", suite->count);
	for (size_t i = 0; i < suite->count; i++)
		put_case(&suite->results[i], i + 1, stream);
	fprintf(stream, "# %s\n", hq_suite_last_line(suite, line, sizeof(line)));
	return fflush(stream) || ferror(stream) ? -EIO : 0;
}

const struct hq_format hq_format_tap = {
	.name = "tap",
	.help = "for test harnesses: TAP version 14",
	.write = write_tap,
};
