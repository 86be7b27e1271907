/* SPDX-License-Identifier: MIT */
/*
 * The report for a program. Keys carry their unit, counts are integers, and numbers of 64 bits that
 * are names rather than quantities (seeds, addresses) are strings.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "stress/report/clean.h"
#include "stress/report/format.h"
#include "stress/report/json.h"
#include "stress/report/summary.h"

json_t *hq_json_text(const char *text)
{
	char clean[HQ_CLEAN_SIZE];

	return json_string(hq_clean(text, HQ_CLEAN_UTF8, clean, sizeof(clean)));
}

json_t *hq_json_decimal(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return json_string(text);
}

json_t *hq_json_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

json_t *hq_json_count(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

/* An object whose members were all made, or NULL. */
static json_t *complete(json_t *object, int failed)
{
	if (!failed)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *make_finding(const struct hq_finding *finding)
{
	json_t *object = json_object();
	int failed = 0;

	failed |= json_object_set_new(object, "checker", hq_json_text(finding->checker));
	failed |=
		json_object_set_new(object, "kind", json_string(finding->gap ? "gap" : "finding"));
	failed |= json_object_set_new(object, "text", hq_json_text(finding->text));
	failed |= json_object_set_new(object, "evidence", hq_json_text(finding->evidence));
	failed |= json_object_set_new(object, "count", hq_json_count(finding->count));
	return complete(object, failed);
}

json_t *hq_json_findings(const struct hq_findings *findings)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < findings->count; i++)
		failed |= json_array_append_new(array, make_finding(&findings->list[i]));
	return complete(array, failed);
}

static json_t *make_rule(const struct hq_rule_total *rule)
{
	json_t *object = json_object();
	int failed = 0;

	failed |= json_object_set_new(object, "name", hq_json_text(rule->name));
	failed |= json_object_set_new(object, "seen", hq_json_count(rule->seen));
	failed |= json_object_set_new(object, "eligible", hq_json_count(rule->eligible));
	failed |= json_object_set_new(object, "fired", hq_json_count(rule->fired));
	failed |= json_object_set_new(object, "required", json_boolean(rule->required));
	return complete(object, failed);
}

static json_t *make_rules(const struct hq_result *result)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < result->rule_count; i++)
		failed |= json_array_append_new(array, make_rule(&result->rules[i]));
	return complete(array, failed);
}

/*
 * Rates and shares are fractions by nature; all else is whole. JSON knows neither infinity nor NaN.
 */
static json_t *make_value(enum hq_unit unit, double value)
{
	if (!isfinite(value))
		return json_null();
	if (unit == HQ_UNIT_PER_SECOND || unit == HQ_UNIT_SHARE || unit == HQ_UNIT_BYTES_PER_SECOND)
		return json_real(value);
	if (fabs(value) >= 9.2e18)
		return json_integer(value < 0 ? INT64_MIN : INT64_MAX);
	return json_integer(llround(value));
}

static json_t *make_metric(const struct hq_result_metric *metric)
{
	static const char *const keys[] = { [HQ_UNIT_COUNT] = "value_count",
					    [HQ_UNIT_BYTES] = "value_bytes",
					    [HQ_UNIT_NS] = "value_ns",
					    [HQ_UNIT_PER_SECOND] = "value_per_second",
					    [HQ_UNIT_SHARE] = "value_share",
					    [HQ_UNIT_BYTES_PER_SECOND] = "value_bytes_per_second" };
	json_t *object = json_object();
	int failed = 0;

	failed |= json_object_set_new(object, "name", hq_json_text(metric->name));
	failed |= json_object_set_new(object, keys[metric->unit],
				      make_value(metric->unit, metric->value));
	return complete(object, failed);
}

static json_t *make_metrics(const struct hq_result *result)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < result->metric_count; i++)
		failed |= json_array_append_new(array, make_metric(&result->metrics[i]));
	return complete(array, failed);
}

static int add_names(json_t *object, const struct hq_result *result)
{
	int failed = 0;

	failed |= json_object_set_new(object, "scenario", hq_json_text(result->scenario));
	failed |= json_object_set_new(object, "path", hq_json_text(result->path));
	failed |= json_object_set_new(object, "question", hq_json_text(result->question));
	failed |= json_object_set_new(object, "allocator", hq_json_text(result->allocator));
	failed |= json_object_set_new(object, "allocator_version", hq_json_text(result->version));
	failed |= json_object_set_new(object, "command", hq_json_text(result->command));
	failed |= json_object_set_new(object, "mechanism", hq_json_text(result->mechanism));
	failed |= json_object_set_new(object, "seed", hq_json_decimal(result->seed));
	return failed;
}

static json_t *make_part(const struct hq_result_part *part)
{
	json_t *object = json_object();
	int failed = 0;

	failed |= json_object_set_new(object, "name", hq_json_text(part->name));
	failed |= json_object_set_new(object, "group", hq_json_text(part->group));
	failed |= json_object_set_new(object, "runs", hq_json_count(part->runs));
	failed |= json_object_set_new(object, "wall_ns", json_real(part->wall_ns));
	failed |= json_object_set_new(object, "cpu_ns", json_real(part->cpu_ns));
	failed |= json_object_set_new(object, "minor_faults", json_real(part->faults));
	return complete(object, failed);
}

static json_t *make_parts(const struct hq_result *result)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < result->part_count; i++)
		failed |= json_array_append_new(array, make_part(&result->parts[i]));
	return complete(array, failed);
}

json_t *hq_json_result(const struct hq_result *result)
{
	json_t *object = json_object();
	int failed = add_names(object, result);

	failed |= json_object_set_new(object, "verdict",
				      json_string(hq_verdict_name(result->verdict)));
	failed |= json_object_set_new(object, "reason", hq_json_text(result->reason));
	failed |= json_object_set_new(object, "findings", hq_json_findings(&result->findings));
	failed |= json_object_set_new(object, "findings_left_out",
				      hq_json_count(result->findings.left_out));
	failed |= json_object_set_new(object, "rules", make_rules(result));
	failed |= json_object_set_new(object, "metrics", make_metrics(result));
	if (result->part_count)
		failed |= json_object_set_new(object, "parts", make_parts(result));
	failed |= json_object_set_new(object, "wall_ns", hq_json_count(result->wall_ns));
	failed |= json_object_set_new(object, "folder", hq_json_text(result->folder));
	failed |= json_object_set_new(object, "repro", hq_json_text(result->repro));
	return complete(object, failed);
}

static json_t *make_results(const struct hq_suite *suite)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < suite->count; i++)
		failed |= json_array_append_new(array, hq_json_result(&suite->results[i]));
	return complete(array, failed);
}

static json_t *make_counts(const struct hq_suite *suite)
{
	json_t *object = json_object();
	size_t counts[HQ_VERDICTS];
	int failed = 0;

	hq_suite_count(suite, counts);
	for (int i = 0; i < HQ_VERDICTS; i++)
		failed |= json_object_set_new(object, hq_verdict_name((enum hq_verdict)i),
					      hq_json_count(counts[i]));
	return complete(object, failed);
}

static json_t *make_suite(const struct hq_suite *suite)
{
	json_t *object = json_object();
	int failed = 0;

	failed |=
		json_object_set_new(object, "schema_version", json_integer(HQ_JSON_SCHEMA_VERSION));
	failed |= json_object_set_new(object, "program", json_string("heapquake"));
	failed |= json_object_set_new(
		object, "program_version",
		hq_json_text(suite->program_version ? suite->program_version : ""));
	failed |= json_object_set_new(object, "seed", hq_json_decimal(suite->seed));
	failed |= json_object_set_new(object, "interrupted", json_boolean(suite->interrupted));
	failed |= json_object_set_new(object, "wall_ns", hq_json_count(suite->wall_ns));
	failed |= json_object_set_new(object, "exit_status",
				      json_integer(hq_suite_exit_status(suite)));
	failed |= json_object_set_new(object, "counts", make_counts(suite));
	failed |= json_object_set_new(object, "results", make_results(suite));
	return complete(object, failed);
}

int hq_json_write(json_t *value, size_t flags, FILE *stream)
{
	if (!value)
		return -ENOMEM;
	const int failed = json_dumpf(value, stream, flags);

	json_decref(value);
	if (failed || fputc('\n', stream) == EOF)
		return -EIO;
	return 0;
}

static int write_json(const struct hq_suite *suite, FILE *stream)
{
	const int status = hq_json_write(make_suite(suite), JSON_INDENT(2), stream);

	if (status)
		return status;
	return fflush(stream) || ferror(stream) ? -EIO : 0;
}

const struct hq_format hq_format_json = {
	.name = "json",
	.help = "for a program: everything, with a schema version and units in the keys",
	.write = write_json,
};
