/* SPDX-License-Identifier: MIT */
/*
 * A comparison as JSON: every series with all its values, so that a reader can test again with
 * tools of their own. What is no number in JSON (an infinite change) is null.
 */
#include "stress/compare/table.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>

#define SCHEMA_VERSION 1

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *values_of(const struct hq_series_of_pairs *series, enum hq_side side, size_t pairs)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < pairs; i++)
		json_array_append_new(list, number(series->values[side][i]));
	return list;
}

static json_t *moments_of(const struct hq_moments *moments)
{
	return json_pack("{s:o, s:o}", "mean", number(moments->mean), "deviation",
			 number(moments->deviation));
}

static json_t *series_of(const struct hq_series_of_pairs *series, size_t pairs)
{
	const struct hq_difference *difference = &series->difference;
	json_t *one = json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "metric", series->metric, "part",
		series->part, "group", series->group, "a", values_of(series, HQ_SIDE_A, pairs), "b",
		values_of(series, HQ_SIDE_B, pairs), "location_a", number(difference->a),
		"location_b", number(difference->b), "moments_a", moments_of(&difference->welch.a),
		"moments_b", moments_of(&difference->welch.b));
	json_t *judged =
		json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "test",
			  difference->test == HQ_TEST_WELCH ? "welch" : "permutation", "t",
			  number(difference->welch.t), "freedom", number(difference->welch.freedom),
			  "change", number(difference->relative), "low", number(difference->low),
			  "high", number(difference->high), "p", number(difference->p), "q",
			  number(difference->q), "verdict", hq_change_name(difference->change));

	if (one && judged)
		json_object_update(one, judged);
	json_decref(judged);
	return one;
}

static json_t *claims_of(const struct hq_compared *compared)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < compared->claim_count; i++) {
		struct hq_error sentence;
		const enum hq_claim_verdict verdict =
			hq_claim_judge(&compared->claims[i], compared->comparison, &sentence);

		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "claim",
						      compared->claims[i].text, "verdict",
						      hq_claim_verdict_name(verdict), "measured",
						      sentence.text));
	}
	return list;
}

int hq_compared_print_json(const struct hq_compared *compared, FILE *stream)
{
	const struct hq_comparison *comparison = compared->comparison;
	json_t *list = json_array();

	for (size_t i = 0; list && i < comparison->count; i++)
		json_array_append_new(list, series_of(&comparison->series[i], comparison->pairs));
	json_t *whole = json_pack(
		"{s:i, s:s, s:s, s:s, s:I, s:f, s:f, s:f, s:b, s:o, s:o}", "schema", SCHEMA_VERSION,
		"scenario", compared->scenario, "a", compared->side_names[HQ_SIDE_A], "b",
		compared->side_names[HQ_SIDE_B], "pairs", (json_int_t)comparison->pairs,
		"confidence", comparison->confidence, "discovery", comparison->discovery,
		"resolution", comparison->resolution, "same_sides", compared->same_sides, "claims",
		claims_of(compared), "series", list);

	if (!whole)
		return -ENOMEM;
	const int failed = json_dumpf(whole, stream, JSON_INDENT(2));

	json_decref(whole);
	return failed || fputc('\n', stream) == EOF ? -EIO : 0;
}
