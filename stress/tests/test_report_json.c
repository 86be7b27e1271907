/* SPDX-License-Identifier: MIT */
/* The report for a program, read back. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "stress/tests/reported.h"

static json_t *written(const struct hq_result *results, size_t count)
{
	const struct hq_suite suite = { .results = results,
					.count = count,
					.seed = UINT64_MAX,
					.wall_ns = 31240000000,
					.program_version = "0.1" };
	char *text = reported_text("json", &suite);
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	cr_assert(root, "%s: %s", error.text, text);
	free(text);
	return root;
}

static const char *text_of(const json_t *object, const char *key)
{
	cr_assert(json_is_string(json_object_get(object, key)), "%s", key);
	return json_string_value(json_object_get(object, key));
}

static json_int_t number_of(const json_t *object, const char *key)
{
	cr_assert(json_is_integer(json_object_get(object, key)), "%s", key);
	return json_integer_value(json_object_get(object, key));
}

Test(json, the_suite_has_version_seed_counts_and_status)
{
	struct hq_result results[7];
	json_t *root = written(results, reported_all(results));

	cr_assert_eq(number_of(root, "schema_version"), 1);
	cr_assert_str_eq(text_of(root, "program_version"), "0.1");
	cr_assert_str_eq(text_of(root, "seed"), "18446744073709551615");
	cr_assert_eq(number_of(root, "wall_ns"), 31240000000);
	cr_assert_eq(number_of(root, "exit_status"), 3);
	cr_assert(json_is_false(json_object_get(root, "interrupted")));
	cr_assert_eq(number_of(json_object_get(root, "counts"), "FAIL"), 1);
	cr_assert_eq(number_of(json_object_get(root, "counts"), "INCONCLUSIVE"), 1);
	cr_assert_eq(json_array_size(json_object_get(root, "results")), 7);
	json_decref(root);
}

Test(json, a_result_has_its_names_findings_and_rules)
{
	struct hq_result results[7];
	json_t *root = written(results, reported_all(results));
	const json_t *result = json_array_get(json_object_get(root, "results"), 1);
	const json_t *finding = json_array_get(json_object_get(result, "findings"), 1);
	const json_t *rule = json_array_get(json_object_get(result, "rules"), 0);

	cr_assert_str_eq(text_of(result, "verdict"), "FAIL");
	cr_assert_str_eq(text_of(result, "scenario"), "refuse-free");
	cr_assert_str_eq(text_of(result, "allocator"), "glibc");
	cr_assert_str_eq(text_of(result, "allocator_version"), "1.2.3");
	cr_assert_str_eq(text_of(result, "seed"), "42");
	cr_assert_eq(number_of(result, "wall_ns"), 1500000000);
	cr_assert_str_eq(text_of(finding, "checker"), "content");
	cr_assert_str_eq(text_of(finding, "kind"), "finding");
	cr_assert_eq(number_of(finding, "count"), 3);
	cr_assert(strstr(text_of(finding, "evidence"), "\n"));
	cr_assert_eq(number_of(rule, "fired"), 12);
	cr_assert(json_is_true(json_object_get(rule, "required")));
	json_decref(root);
}

Test(json, metrics_carry_their_unit_in_the_key_and_counts_are_whole)
{
	struct hq_result result = reported(HQ_VERDICT_PASS, "bedrock");

	result.metric_count = 5;
	result.metrics[3] = (struct hq_result_metric){ "heap.nulls", HQ_UNIT_COUNT, 7 };
	result.metrics[4] = (struct hq_result_metric){ "sampler.share", HQ_UNIT_SHARE, 0.5 };
	json_t *root = written(&result, 1);
	const json_t *metrics =
		json_object_get(json_array_get(json_object_get(root, "results"), 0), "metrics");

	cr_assert_str_eq(text_of(json_array_get(metrics, 0), "name"), "rss.peak");
	cr_assert_eq(number_of(json_array_get(metrics, 0), "value_bytes"), 181403648);
	cr_assert(json_is_real(json_object_get(json_array_get(metrics, 1), "value_per_second")));
	cr_assert_eq(number_of(json_array_get(metrics, 2), "value_ns"), 100);
	cr_assert_eq(number_of(json_array_get(metrics, 3), "value_count"), 7);
	cr_assert(json_is_real(json_object_get(json_array_get(metrics, 4), "value_share")));
	json_decref(root);
}

Test(json, a_value_that_is_no_number_is_null)
{
	struct hq_result result = reported(HQ_VERDICT_PASS, "bedrock");

	result.metrics[0].value = 0.0 / 0.0;
	result.metrics[1].value = 1.0 / 0.0;
	result.metrics[2].value = 1e300;
	json_t *root = written(&result, 1);
	const json_t *metrics =
		json_object_get(json_array_get(json_object_get(root, "results"), 0), "metrics");

	cr_assert(json_is_null(json_object_get(json_array_get(metrics, 0), "value_bytes")));
	cr_assert(json_is_null(json_object_get(json_array_get(metrics, 1), "value_per_second")));
	cr_assert_eq(number_of(json_array_get(metrics, 2), "value_ns"), INT64_MAX);
	json_decref(root);
}

Test(json, nasty_strings_come_back_with_only_broken_bytes_replaced)
{
	const struct hq_result result = reported_nasty();
	json_t *root = written(&result, 1);
	const json_t *read = json_array_get(json_object_get(root, "results"), 0);

	cr_assert_str_eq(text_of(read, "reason"),
			 "<&>\"'\\]]> \x1b[31m \\xff\\xc3 # TODO \n \x01 gr\xc3\xbc\xc3\x9f "
			 "\xef\xbf\xbf \xe2\x80\xae");
	json_decref(root);
}

Test(json, an_empty_suite_is_a_document)
{
	json_t *root = written(NULL, 0);

	cr_assert_eq(number_of(root, "exit_status"), 5);
	cr_assert_eq(json_array_size(json_object_get(root, "results")), 0);
	json_decref(root);
}
