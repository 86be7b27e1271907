/* SPDX-License-Identifier: MIT */
/*
 * Claims: read, and held against the interval of the relative change.
 */
#include "stress/compare/claim.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(struct hq_error *error, const char *text, const char *why)
{
	hq_error_set(error, "'%.100s': %s", text, why);
	return -EINVAL;
}

static int parse_bound(const char *text, const char *number, double *bound, struct hq_error *error)
{
	char *end;
	const double percent = strtod(number, &end);

	if (end == number || strcmp(end, "%") || !isfinite(percent))
		return refuse(error, text,
			      "the bound is a change in percent, as in 'faults.minor <= -30%'");
	*bound = percent / 100.0;
	return 0;
}

int hq_claim_parse(const char *text, bool is_host, struct hq_claim *claim, struct hq_error *error)
{
	char metric[sizeof(claim->metric)], op[4], number[32], rest[2], whole[160];
	struct hq_expectation known;
	struct hq_error why;

	if (strlen(text) >= sizeof(claim->text) ||
	    sscanf(text, " %71[^<>=! ] %3[<>=!] %31s %1s", metric, op, number, rest) != 3)
		return refuse(error, text,
			      "a claim is METRIC <= CHANGE or METRIC >= CHANGE, as in "
			      "'faults.minor <= -30%'");
	if (strcmp(op, "<=") && strcmp(op, ">="))
		return refuse(error, text, "only <= and >= can be held against an interval");
	if (parse_bound(text, number, &claim->bound, error))
		return -EINVAL;
	/* The expectation language knows which metrics there are, and of what. */
	snprintf(whole, sizeof(whole), "%s <= 1 * %s", metric, metric);
	if (hq_expectation_parse(whole, is_host, &known, &why))
		return refuse(error, text, why.text);
	strcpy(claim->text, text);
	strcpy(claim->metric, metric);
	claim->at_most = op[0] == '<';
	return 0;
}

enum hq_claim_verdict hq_claim_judge(const struct hq_claim *claim,
				     const struct hq_comparison *comparison,
				     struct hq_error *sentence)
{
	const struct hq_series_of_pairs *series = hq_comparison_find(comparison, claim->metric);

	if (!series) {
		hq_error_set(sentence, "%s was not seen in every run", claim->metric);
		return HQ_CLAIM_OPEN;
	}
	const struct hq_difference *difference = &series->difference;
	/* Seen from the bound: below 0 the claim holds. */
	const double sign = claim->at_most ? 1.0 : -1.0;
	const double worst =
		sign * ((claim->at_most ? difference->high : difference->low) - claim->bound);
	const double best =
		sign * ((claim->at_most ? difference->low : difference->high) - claim->bound);

	hq_error_set(sentence, "%s changed by %+.1f %% (%+.1f to %+.1f)", claim->metric,
		     100.0 * difference->relative, 100.0 * difference->low,
		     100.0 * difference->high);
	return worst <= 0.0 ? HQ_CLAIM_HOLDS : best > 0.0 ? HQ_CLAIM_BROKEN : HQ_CLAIM_OPEN;
}

const char *hq_claim_verdict_name(enum hq_claim_verdict verdict)
{
	static const char *const names[] = {
		[HQ_CLAIM_HOLDS] = "holds",
		[HQ_CLAIM_BROKEN] = "broken",
		[HQ_CLAIM_OPEN] = "open",
	};

	return names[verdict];
}
