/* SPDX-License-Identifier: MIT */
/*
 * The section `compare`: two sides that the scenario is about, others to be shown beside them, what
 * is claimed of the two, and what somebody published. A run of the scenario alone takes no notice
 * of it.
 */
#include "stress/plan/scenario_parts.h"

#include <string.h>

#include "injectors/units.h"

static struct hq_scenario_compare *of(struct hq_reading *reading)
{
	return &reading->scenario->compare;
}

static void read_a(struct hq_reading *reading, const struct hq_yaml *value)
{
	of(reading)->sides[0] = hq_read_words(reading, value, "a");
}

static void read_b(struct hq_reading *reading, const struct hq_yaml *value)
{
	of(reading)->sides[1] = hq_read_words(reading, value, "b");
}

static void read_beside(struct hq_reading *reading, const struct hq_yaml *value)
{
	size_t count = 0;

	of(reading)->beside = hq_read_words(reading, value, "beside");
	while (of(reading)->beside && of(reading)->beside[count])
		count++;
	if (count > HQ_COMPARE_BESIDE)
		hq_complain(reading->complaints, value, "more than %d sides beside the two",
			    HQ_COMPARE_BESIDE);
}

static void read_expect(struct hq_reading *reading, const struct hq_yaml *value)
{
	of(reading)->claims = hq_read_words(reading, value, "expect");
}

static void read_pairs(struct hq_reading *reading, const struct hq_yaml *value)
{
	const char *text = hq_read_text(reading, value, "pairs");
	uint64_t pairs;
	struct hq_error error;

	if (!text)
		return;
	if (hq_units_parse_count(text, &pairs, &error))
		hq_complain(reading->complaints, value, "pairs: %s", error.text);
	else if (pairs < 2 || pairs > HQ_COMPARE_PAIRS)
		hq_complain(reading->complaints, value, "pairs are from 2 to %d", HQ_COMPARE_PAIRS);
	else
		of(reading)->pairs = pairs;
}

static void read_source(struct hq_reading *reading, const struct hq_yaml *value)
{
	hq_read_text_into(reading, value, "source", of(reading)->source,
			  sizeof(of(reading)->source));
}

/* METRIC: CHANGE, as it was published; a text for people. */
static void read_published(struct hq_reading *reading, const struct hq_yaml *value)
{
	struct hq_scenario_compare *compare = of(reading);

	if (!hq_read_map(reading, value, "published"))
		return;
	for (size_t i = 0; i < value->count; i++) {
		struct hq_published *one = &compare->published[compare->published_count];

		if (compare->published_count == HQ_COMPARE_PUBLISHED) {
			hq_complain(reading->complaints, value, "more than %d published figures",
				    HQ_COMPARE_PUBLISHED);
			return;
		}
		if (hq_read_text_into(reading, value->keys[i], "a metric", one->metric,
				      sizeof(one->metric)) &&
		    hq_read_text_into(reading, value->values[i], one->metric, one->change,
				      sizeof(one->change)))
			compare->published_count++;
	}
}

void hq_read_compare(struct hq_reading *reading, const struct hq_yaml *value)
{
	static const struct hq_section keys[] = {
		{ "a", read_a },
		{ "b", read_b },
		{ "beside", read_beside },
		{ "pairs", read_pairs },
		{ "expect", read_expect },
		{ "source", read_source },
		{ "published", read_published },
		{ NULL, NULL },
	};

	if (!hq_read_map(reading, value, "compare"))
		return;
	hq_read_sections(reading, value, "compare", keys);
	if (reading->complaints->count == 0 && !of(reading)->sides[0] && !of(reading)->sides[1])
		hq_complain(reading->complaints, value,
			    "a comparison needs what differs: a, b, or both");
}
