/* SPDX-License-Identifier: MIT */
/*
 * Bounds against clean runs. Both series are noisy, so neither their medians nor any single run
 * decide: the clean runs are turned into bounds, and the ranks of the values among those bounds are
 * put to an exact test. Three answers are possible:
 *
 *   broken  values lie beyond the bounds so consistently that it would come by chance at most once
 *           in 1 / false_alarm series of a target that is exactly at its bound, and more rarely
 *           yet where it is within
 *   holds   as many lie within that it would come by chance at most once in 1 / missed series of a
 *           target at its bound
 *   open    anything in between: this machine, today, cannot tell
 *
 * What is equal to a bound counts as the comparison has it, so counts that never vary hold.
 */
#include "stress/check/against.h"

#include <string.h>

#include "stress/check/rank.h"

bool hq_against_applies(const struct hq_expectation *expectation)
{
	return expectation->against_clean && strchr("<>", expectation->op[0]);
}

/* How many pairs of a value and a bound break it. */
static size_t count_broken(const struct hq_expectation *expectation,
			   const struct hq_against *against)
{
	const bool tie_breaks = expectation->op[1] == '\0';
	double bounds[HQ_RANK_MAX];

	for (size_t i = 0; i < against->clean_count; i++)
		bounds[i] = expectation->factor * against->clean[i] + expectation->constant;
	if (expectation->op[0] == '<')
		return hq_rank_above(against->values, against->count, bounds, against->clean_count,
				     tie_breaks);
	return hq_rank_above(bounds, against->clean_count, against->values, against->count,
			     tie_breaks);
}

enum hq_answer hq_against_clean(const struct hq_expectation *expectation,
				const struct hq_against *against,
				const struct hq_confidence *confidence, double *chance)
{
	const size_t count = against->count, clean_count = against->clean_count;

	*chance = 1.0;
	if (count > HQ_RANK_MAX || clean_count > HQ_RANK_MAX)
		return HQ_ANSWER_OPEN;
	const size_t broken = count_broken(expectation, against);

	*chance = hq_rank_chance(count, clean_count, broken);
	if (*chance <= confidence->false_alarm)
		return HQ_ANSWER_BROKEN;
	if (hq_rank_chance(count, clean_count, count * clean_count - broken) <= confidence->missed)
		return HQ_ANSWER_HOLDS;
	return HQ_ANSWER_OPEN;
}

size_t hq_confidence_pairs(const struct hq_confidence *confidence)
{
	size_t pairs = 1;

	while (pairs < HQ_RANK_MAX &&
	       hq_rank_chance(pairs, pairs, pairs * pairs) > confidence->false_alarm)
		pairs++;
	return pairs;
}
