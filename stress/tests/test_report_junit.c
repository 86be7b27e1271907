/* SPDX-License-Identifier: MIT */
/* The report for CI servers, read back. */
#include <criterion/criterion.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xpath.h>
#include <string.h>

#include "stress/tests/reported.h"

static xmlDocPtr written(const struct hq_result *results, size_t count)
{
	const struct hq_suite suite = { .results = results,
					.count = count,
					.seed = 42,
					.wall_ns = 31240000000,
					.program_version = "0.1" };
	char *text = reported_text("junit", &suite);
	xmlDocPtr document = xmlReadMemory(text, (int)strlen(text), NULL, NULL,
					   XML_PARSE_NONET | XML_PARSE_PEDANTIC);

	cr_assert(document, "not well-formed: %s", text);
	free(text);
	return document;
}

/* The value of an expression, as text; up to 1000 characters. */
static const char *query(xmlDocPtr document, const char *expression)
{
	static char text[1000];
	xmlXPathContextPtr context = xmlXPathNewContext(document);
	xmlXPathObjectPtr object = xmlXPathEval(BAD_CAST expression, context);
	xmlChar *value = xmlXPathCastToString(object);

	snprintf(text, sizeof(text), "%s", (const char *)value);
	xmlFree(value);
	xmlXPathFreeObject(object);
	xmlXPathFreeContext(context);
	return text;
}

Test(junit, the_totals_are_right_on_both_levels)
{
	struct hq_result results[7];
	xmlDocPtr document = written(results, reported_all(results));

	cr_assert_str_eq(query(document, "string(/testsuites/@tests)"), "7");
	cr_assert_str_eq(query(document, "string(/testsuites/testsuite/@tests)"), "7");
	cr_assert_str_eq(query(document, "string(/testsuites/testsuite/@failures)"), "3");
	cr_assert_str_eq(query(document, "string(/testsuites/testsuite/@errors)"), "1");
	cr_assert_str_eq(query(document, "string(/testsuites/testsuite/@skipped)"), "2");
	cr_assert_str_eq(query(document, "string(/testsuites/testsuite/@time)"), "31.240");
	cr_assert_str_eq(query(document, "count(//testcase)"), "7");
	cr_assert_str_eq(query(document, "count(//failure)"), "3");
	cr_assert_str_eq(query(document, "count(//error)"), "1");
	cr_assert_str_eq(query(document, "count(//skipped)"), "2");
	cr_assert_str_eq(query(document, "string(//property[@name='seed']/@value)"), "42");
	xmlFreeDoc(document);
}

Test(junit, each_verdict_has_its_element_and_type)
{
	struct hq_result results[7];
	xmlDocPtr document = written(results, reported_all(results));

	cr_assert_str_eq(query(document, "count(//testcase[1]/*[not(self::system-out)])"), "0");
	cr_assert_str_eq(query(document, "string(//testcase[2]/failure/@type)"), "fail");
	cr_assert_str_eq(query(document, "string(//testcase[3]/failure/@type)"), "inconclusive");
	cr_assert_str_eq(query(document, "string(//testcase[4]/skipped/@type)"), "skip");
	cr_assert_str_eq(query(document, "string(//testcase[5]/skipped/@type)"), "xfail");
	cr_assert_str_eq(query(document, "string(//testcase[6]/failure/@type)"), "xpass");
	cr_assert_str_eq(query(document, "string(//testcase[7]/error/@type)"), "error");
	xmlFreeDoc(document);
}

Test(junit, a_failure_has_message_findings_and_the_line_to_reproduce_it)
{
	struct hq_result results[7];
	xmlDocPtr document = written(results, reported_all(results));

	cr_assert_str_eq(query(document, "string(//testcase[2]/@classname)"), "refuse-free");
	cr_assert_str_eq(query(document, "string(//testcase[2]/@name)"), "glibc (seed 42)");
	cr_assert_str_eq(query(document, "string(//testcase[2]/failure/@message)"),
			 "the content of a live block changed");
	cr_assert_str_eq(query(document, "string(//testcase[2]/failure)"),
			 "not conclusive, injected: rule 'other' never fired\n"
			 "content: the content of a live block changed (3 times)\n"
			 "worker 1: block 0x1000\n"
			 "  injected 2 ms earlier, rule 'refuse'\n"
			 "reproduce: heapquake run --seed=42 scenarios/decay/refuse-free.yaml");
	cr_assert(
		strstr(query(document, "string(//testcase[2]/system-out)"),
		       "injected by rule 'refuse': 12 faults in 100 eligible calls, of 120 seen"));
	xmlFreeDoc(document);
}

Test(junit, skipped_cases_tell_the_reason)
{
	struct hq_result results[7];
	xmlDocPtr document = written(results, reported_all(results));

	cr_assert_str_eq(query(document, "string(//testcase[4]/skipped/@message)"),
			 "mimalloc is not installed");
	cr_assert_str_eq(query(document, "string(//testcase[5]/skipped/@message)"), "known: spins");
	xmlFreeDoc(document);
}

Test(junit, nasty_strings_leave_it_well_formed)
{
	const struct hq_result result = reported_nasty();
	xmlDocPtr document = written(&result, 1);

	cr_assert_str_eq(query(document, "string(//failure/@message)"),
			 "<&>\"'\\]]> \\x1b[31m \\xff\\xc3 # TODO \\n \\x01 gr\xc3\xbc\xc3\x9f "
			 "\\uffff \\u202e");
	xmlFreeDoc(document);
}

Test(junit, an_empty_suite_is_a_document)
{
	xmlDocPtr document = written(NULL, 0);

	cr_assert_str_eq(query(document, "string(/testsuites/@tests)"), "0");
	xmlFreeDoc(document);
}
