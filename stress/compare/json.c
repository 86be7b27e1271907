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

json_t *hq_json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *values_of(const struct hq_series_of_pairs *series, enum hq_side side, size_t pairs)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < pairs; i++)
		json_array_append_new(list, hq_json_number(series->values[side][i]));
	return list;
}

static json_t *moments_of(const struct hq_moments *moments)
{
	return json_pack("{s:o, s:o}", "mean", hq_json_number(moments->mean), "deviation",
			 hq_json_number(moments->deviation));
}

static const char *unit_name(enum hq_unit unit)
{
	static const char *const names[] = {
		[HQ_UNIT_COUNT] = "count", [HQ_UNIT_BYTES] = "bytes",
		[HQ_UNIT_NS] = "ns",       [HQ_UNIT_PER_SECOND] = "per_second",
		[HQ_UNIT_SHARE] = "share", [HQ_UNIT_BYTES_PER_SECOND] = "bytes_per_second",
	};

	return names[unit];
}

/* Takes `value`; without memory the member is missing. */
static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void set_difference(json_t *one, const struct hq_difference *difference)
{
	set(one, "test", json_string(difference->test == HQ_TEST_WELCH ? "welch" : "permutation"));
	set(one, "location_a", hq_json_number(difference->a));
	set(one, "location_b", hq_json_number(difference->b));
	set(one, "moments_a", moments_of(&difference->welch.a));
	set(one, "moments_b", moments_of(&difference->welch.b));
	set(one, "t", hq_json_number(difference->welch.t));
	set(one, "freedom", hq_json_number(difference->welch.freedom));
	set(one, "change", hq_json_number(difference->relative));
	set(one, "low", hq_json_number(difference->low));
	set(one, "high", hq_json_number(difference->high));
	set(one, "p", hq_json_number(difference->p));
	set(one, "q", hq_json_number(difference->q));
	set(one, "verdict", json_string(hq_change_name(difference->change)));
}

static json_t *series_of(const struct hq_series_of_pairs *series, size_t pairs)
{
	json_t *one = json_object();

	set(one, "metric", json_string(series->metric));
	set(one, "part", json_string(series->part));
	set(one, "group", json_string(series->group));
	set(one, "unit", json_string(unit_name(series->unit)));
	set(one, "a", values_of(series, HQ_SIDE_A, pairs));
	set(one, "b", values_of(series, HQ_SIDE_B, pairs));
	set_difference(one, &series->difference);
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

static json_t *published_of(const struct hq_compared *compared)
{
	json_t *list = json_array();

	for (size_t i = 0; i < compared->published_count; i++) {
		const struct hq_series_of_pairs *series =
			hq_comparison_find(compared->comparison, compared->published[i].metric);
		json_t *one = json_object();

		set(one, "metric", json_string(compared->published[i].metric));
		set(one, "published", json_string(compared->published[i].change));
		set(one, "measured",
		    series ? hq_json_number(series->difference.relative) : json_null());
		json_array_append_new(list, one);
	}
	return list;
}

/* Each with all its series, as those of A and B: there side B is this one. */
static json_t *beside_of(const struct hq_compared *compared)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < compared->beside_count; i++) {
		const struct hq_compared_beside *beside = &compared->beside[i];
		json_t *series = json_array();
		json_t *one = json_object();

		for (size_t j = 0; !beside->trouble[0] && j < beside->comparison->count; j++)
			json_array_append_new(series, series_of(&beside->comparison->series[j],
								beside->comparison->pairs));
		set(one, "name", json_string(beside->name));
		set(one, "trouble", json_string(beside->trouble));
		set(one, "series", series);
		json_array_append_new(list, one);
	}
	return list;
}

json_t *hq_compared_json(const struct hq_compared *compared)
{
	const struct hq_comparison *comparison = compared->comparison;
	json_t *list = json_array();

	for (size_t i = 0; list && i < comparison->count; i++)
		json_array_append_new(list, series_of(&comparison->series[i], comparison->pairs));
	json_t *whole = json_object();

	set(whole, "schema", json_integer(SCHEMA_VERSION));
	set(whole, "scenario", json_string(compared->scenario));
	set(whole, "a", json_string(compared->side_names[HQ_SIDE_A]));
	set(whole, "b", json_string(compared->side_names[HQ_SIDE_B]));
	set(whole, "pairs", json_integer((json_int_t)comparison->pairs));
	set(whole, "confidence", hq_json_number(comparison->confidence));
	set(whole, "discovery", hq_json_number(comparison->discovery));
	set(whole, "resolution", hq_json_number(comparison->resolution));
	set(whole, "same_sides", json_boolean(compared->same_sides));
	set(whole, "claims", claims_of(compared));
	set(whole, "published", published_of(compared));
	set(whole, "source", json_string(compared->source ? compared->source : ""));
	set(whole, "series", list);
	set(whole, "beside", beside_of(compared));
	return whole;
}

int hq_compared_print_json(const struct hq_compared *compared, FILE *stream)
{
	json_t *whole = hq_compared_json(compared);

	if (!whole)
		return -ENOMEM;
	const int failed = json_dumpf(whole, stream, JSON_INDENT(2));

	json_decref(whole);
	return failed || fputc('\n', stream) == EOF ? -EIO : 0;
}
