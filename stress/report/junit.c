/* SPDX-License-Identifier: MIT */
/*
 * The report for CI servers: JUnit XML, in the dialect that Jenkins, GitLab and pytest share.
 *
 *   FAIL XPASS INCONCLUSIVE   <failure>, its type says which: none of them may look green
 *   ERROR                     <error>
 *   SKIP XFAIL                <skipped> with the reason, as pytest does
 */
#include <errno.h>
#include <inttypes.h>
#include <libxml/xmlwriter.h>
#include <stdarg.h>
#include <stdio.h>

#include "stress/report/clean.h"
#include "stress/report/format.h"
#include "stress/report/summary.h"

/* The first failure sticks, so that a document can be written without a check behind every word. */
struct writer {
	xmlTextWriterPtr xml;
	bool failed;
};

static void note(struct writer *writer, int result)
{
	writer->failed |= result < 0;
}

static void start(struct writer *writer, const char *element)
{
	note(writer, xmlTextWriterStartElement(writer->xml, BAD_CAST element));
}

static void end(struct writer *writer)
{
	note(writer, xmlTextWriterEndElement(writer->xml));
}

static void attribute(struct writer *writer, const char *name, const char *text)
{
	char clean[HQ_CLEAN_SIZE];

	note(writer, xmlTextWriterWriteAttribute(
			     writer->xml, BAD_CAST name,
			     BAD_CAST hq_clean(text, HQ_CLEAN_LINE, clean, sizeof(clean))));
}

static void content(struct writer *writer, const char *text)
{
	char clean[HQ_CLEAN_SIZE];

	note(writer,
	     xmlTextWriterWriteString(
		     writer->xml, BAD_CAST hq_clean(text, HQ_CLEAN_LINES, clean, sizeof(clean))));
}

__attribute__((format(printf, 3, 4))) static void
attribute_print(struct writer *writer, const char *name, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	attribute(writer, name, text);
}

static void put_findings(struct writer *writer, const struct hq_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct hq_finding *finding = &findings->list[i];
		char times[40];

		content(writer, finding->gap ? "not conclusive, " : "");
		content(writer, finding->checker);
		content(writer, ": ");
		content(writer, finding->text);
		snprintf(times, sizeof(times), " (%" PRIu64 " times)", finding->count);
		content(writer, finding->count > 1 ? times : "");
		content(writer, "\n");
		content(writer, finding->evidence);
		content(writer, finding->evidence[0] ? "\n" : "");
	}
}

static void put_outcome(struct writer *writer, const struct hq_result *result)
{
	static const struct {
		const char *element;
		const char *type;
	} outcomes[] = {
		[HQ_VERDICT_PASS] = { NULL, NULL },
		[HQ_VERDICT_XFAIL] = { "skipped", "xfail" },
		[HQ_VERDICT_SKIP] = { "skipped", "skip" },
		[HQ_VERDICT_INCONCLUSIVE] = { "failure", "inconclusive" },
		[HQ_VERDICT_XPASS] = { "failure", "xpass" },
		[HQ_VERDICT_FAIL] = { "failure", "fail" },
		[HQ_VERDICT_ERROR] = { "error", "error" },
	};
	const char *element = outcomes[result->verdict].element;

	if (!element)
		return;
	start(writer, element);
	attribute(writer, "type", outcomes[result->verdict].type);
	attribute(writer, "message", hq_result_message(result));
	put_findings(writer, &result->findings);
	if (result->repro[0]) {
		content(writer, "reproduce: ");
		content(writer, result->repro);
	}
	end(writer);
}

static void put_rules(struct writer *writer, const struct hq_result *result)
{
	if (result->rule_count == 0)
		return;
	start(writer, "system-out");
	for (size_t i = 0; i < result->rule_count; i++) {
		const struct hq_rule_total *rule = &result->rules[i];
		char line[200];

		snprintf(line, sizeof(line),
			 "injected by rule '%s': %" PRIu64 " faults in %" PRIu64
			 " eligible calls, of %" PRIu64 " seen\n",
			 rule->name, rule->fired, rule->eligible, rule->seen);
		content(writer, line);
	}
	end(writer);
}

/* CI servers tell cases apart by these two names alone. */
static void put_case(struct writer *writer, const struct hq_result *result)
{
	start(writer, "testcase");
	attribute(writer, "classname", result->scenario);
	attribute_print(writer, "name", "%s (seed %" PRIu64 ")", result->allocator, result->seed);
	attribute_print(writer, "time", "%.3f", (double)result->wall_ns / 1e9);
	put_outcome(writer, result);
	put_rules(writer, result);
	end(writer);
}

static void put_totals(struct writer *writer, const struct hq_suite *suite)
{
	size_t counts[HQ_VERDICTS];

	hq_suite_count(suite, counts);
	attribute_print(writer, "tests", "%zu", suite->count);
	attribute_print(writer, "failures", "%zu",
			counts[HQ_VERDICT_FAIL] + counts[HQ_VERDICT_XPASS] +
				counts[HQ_VERDICT_INCONCLUSIVE]);
	attribute_print(writer, "errors", "%zu", counts[HQ_VERDICT_ERROR]);
	attribute_print(writer, "skipped", "%zu",
			counts[HQ_VERDICT_SKIP] + counts[HQ_VERDICT_XFAIL]);
	attribute_print(writer, "time", "%.3f", (double)suite->wall_ns / 1e9);
}

static void put_property(struct writer *writer, const char *name, const char *value)
{
	start(writer, "property");
	attribute(writer, "name", name);
	attribute(writer, "value", value);
	end(writer);
}

static void put_suite(struct writer *writer, const struct hq_suite *suite)
{
	char seed[24];

	snprintf(seed, sizeof(seed), "%" PRIu64, suite->seed);
	note(writer, xmlTextWriterStartDocument(writer->xml, NULL, "UTF-8", NULL));
	start(writer, "testsuites");
	put_totals(writer, suite);
	start(writer, "testsuite");
	attribute(writer, "name", "heapquake");
	put_totals(writer, suite);
	start(writer, "properties");
	put_property(writer, "seed", seed);
	put_property(writer, "program_version",
		     suite->program_version ? suite->program_version : "");
	put_property(writer, "interrupted", suite->interrupted ? "true" : "false");
	end(writer);
	for (size_t i = 0; i < suite->count; i++)
		put_case(writer, &suite->results[i]);
	note(writer, xmlTextWriterEndDocument(writer->xml));
}

static int write_junit(const struct hq_suite *suite, FILE *stream)
{
	xmlBufferPtr buffer = xmlBufferCreate();
	struct writer writer = { .xml = buffer ? xmlNewTextWriterMemory(buffer, 0) : NULL };
	int status = -ENOMEM;

	if (!writer.xml)
		goto out;
	note(&writer, xmlTextWriterSetIndent(writer.xml, 1));
	put_suite(&writer, suite);
	xmlFreeTextWriter(writer.xml); /* Also writes what it still held. */
	if (writer.failed)
		goto out;
	const size_t length = (size_t)xmlBufferLength(buffer);

	status = 0;
	if (fwrite(xmlBufferContent(buffer), 1, length, stream) != length || fflush(stream))
		status = -EIO;
out:
	if (buffer)
		xmlBufferFree(buffer);
	return status;
}

const struct hq_format hq_format_junit = {
	.name = "junit",
	.help = "for CI servers: JUnit XML",
	.write = write_junit,
};
