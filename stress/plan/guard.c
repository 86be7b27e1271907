/* SPDX-License-Identifier: MIT */
/*
 * `--guard` and `target: { guard: ... }`.
 */
#include "stress/plan/guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "injectors/units.h"

#define EVERY_MAX 1000000u

int hq_guard_parse(const char *text, struct hq_plan *plan, struct hq_error *error)
{
	const bool is_share = strncmp(text, "1/", 2) == 0;
	struct hq_error why;
	uint64_t every = 1;

	if (is_share && (hq_units_parse_count(text + 2, &every, &why) || every > EVERY_MAX))
		every = 0;
	if (every == 0 || (!is_share && strcmp(text, "full") && strcmp(text, "canary")))
		return hq_error_set(error, "'%.100s' is none of full, canary and 1/N (N up to %u)",
				    text, EVERY_MAX);
	plan->guard_every = (uint32_t)every;
	plan->guard_tails = strcmp(text, "canary") == 0;
	return 0;
}

const char *hq_guard_print(const struct hq_plan *plan, char *text, size_t size)
{
	const char *whole = plan->guard_every == 0 ? "" : plan->guard_tails ? "canary" : "full";

	if (plan->guard_every > 1)
		snprintf(text, size, "1/%" PRIu32, plan->guard_every);
	else
		snprintf(text, size, "%s", whole);
	return text;
}
