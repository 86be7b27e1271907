/* SPDX-License-Identifier: MIT */
/*
 * The section `known`: what is known to go wrong, and with which allocator.
 */
#include "stress/plan/scenario_parts.h"

#include <ctype.h>
#include <string.h>

#include "stress/plan/allocator.h"

static struct hq_known *known_of(struct hq_reading *reading)
{
	return &reading->scenario->known[reading->scenario->known_count].known;
}

static void read_verdict(struct hq_reading *reading, const struct hq_yaml *value)
{
	const char *word = hq_read_text(reading, value, "verdict");

	if (!word)
		return;
	if (strcmp(word, "fail") == 0)
		known_of(reading)->verdict = HQ_VERDICT_FAIL;
	else if (strcmp(word, "inconclusive") == 0)
		known_of(reading)->verdict = HQ_VERDICT_INCONCLUSIVE;
	else
		hq_complain(reading->complaints, value,
			    "a known verdict is 'fail' or 'inconclusive', not '%s'", word);
}

static void read_because(struct hq_reading *reading, const struct hq_yaml *value)
{
	hq_read_text_into(reading, value, "because", known_of(reading)->because,
			  sizeof(known_of(reading)->because));
}

static void read_sometimes(struct hq_reading *reading, const struct hq_yaml *value)
{
	hq_read_bool(reading, value, "sometimes", &known_of(reading)->sometimes);
}

static void complain_unknown_checker(struct hq_reading *reading, const struct hq_yaml *value,
				     const char *word)
{
	const char *names[64] = { "expect" };
	char hint[96];

	for (size_t i = 0; hq_checkers[i] && i + 2 < 64; i++)
		names[i + 1] = hq_checkers[i]->name;
	hq_complain(reading->complaints, value, "unknown checker '%s'%s", word,
		    hq_did_you_mean(word, names, hint, sizeof(hint)));
}

static bool is_checker(const char *word)
{
	for (size_t i = 0; hq_checkers[i]; i++)
		if (strcmp(word, hq_checkers[i]->name) == 0)
			return true;
	return strcmp(word, "expect") == 0;
}

/* One name or a list of them. */
static void read_checker(struct hq_reading *reading, const struct hq_yaml *value)
{
	struct hq_known *known = known_of(reading);
	char words[sizeof(known->checkers)], *rest;

	if (!hq_read_joined(reading, value, "checker", known->checkers, sizeof(known->checkers)))
		return;
	strcpy(words, known->checkers);
	for (char *word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest))
		if (!is_checker(word))
			complain_unknown_checker(reading, value, word);
}

/* "mimalloc-2.0.9" is mimalloc, version 2.0.9; allocators have no '-' before a digit in their
 * names. */
static bool split_version(const char *text, struct hq_scenario_known *known)
{
	const char *dash = strrchr(text, '-');
	size_t length = strlen(text);

	if (dash && isdigit((unsigned char)dash[1])) {
		length = (size_t)(dash - text);
		if (strlen(dash + 1) >= sizeof(known->version))
			return false;
		strcpy(known->version, dash + 1);
	}
	if (length >= sizeof(known->allocator))
		return false;
	memcpy(known->allocator, text, length);
	known->allocator[length] = '\0';
	return true;
}

static bool read_allocator(struct hq_reading *reading, const struct hq_yaml *key,
			   struct hq_scenario_known *known)
{
	char hint[96];

	if (split_version(key->text, known) && hq_allocator_is_known(known->allocator))
		return true;
	hq_complain(reading->complaints, key,
		    "unknown allocator '%s' (write NAME or NAME-VERSION)%s", key->text,
		    hq_did_you_mean(known->allocator, hq_allocator_names(), hint, sizeof(hint)));
	return false;
}

static void read_entry(struct hq_reading *reading, const struct hq_yaml *key,
		       const struct hq_yaml *value)
{
	static const struct hq_section keys[] = {
		{ "verdict", read_verdict },
		{ "because", read_because },
		{ "sometimes", read_sometimes },
		{ "checker", read_checker },
		{ NULL, NULL },
	};
	struct hq_scenario *scenario = reading->scenario;
	struct hq_scenario_known *known = &scenario->known[scenario->known_count];

	if (scenario->known_count == HQ_SCENARIO_KNOWN) {
		hq_complain(reading->complaints, key, "more than %d known failures",
			    HQ_SCENARIO_KNOWN);
		return;
	}
	*known = (struct hq_scenario_known){
		.known = { .present = true, .verdict = HQ_VERDICT_FAIL },
	};
	if (!read_allocator(reading, key, known) || !hq_read_map(reading, value, key->text))
		return;
	hq_read_sections(reading, value, "known", keys);
	if (hq_yaml_index(value, "because") < 0)
		hq_complain(reading->complaints, key, "say why %s is known to fail: 'because'",
			    key->text);
	scenario->known_count++;
}

void hq_read_known(struct hq_reading *reading, const struct hq_yaml *value)
{
	if (!hq_read_map(reading, value, "known"))
		return;
	for (size_t i = 0; i < value->count; i++)
		read_entry(reading, value->keys[i], value->values[i]);
}
