/* SPDX-License-Identifier: MIT */
/*
 * What a run says about a bug, and what all runs say about the suite. A finding of the checker that
 * is meant to see the bug counts most; one of any other is a catch too, by luck; a bug that fired
 * and was not seen is a hole; one that never fired proves nothing either way.
 */
#include "stress/command/selftest.h"

#include <string.h>

/* Good news must come in 19 of 20 runs. */
#define NEEDED_OF 20u
#define NEEDED    19u

static void find_checkers(const struct hq_selftest_bug *bug, const struct hq_findings *findings,
			  struct hq_selftest_seen *seen, bool *intended)
{
	const bool expects_gap = strcmp(bug->contract, HQ_SELFTEST_PROOF) == 0;

	seen->checker[0] = '\0';
	seen->alone = true;
	*intended = false;
	for (size_t i = 0; i < findings->count; i++) {
		const struct hq_finding *finding = &findings->list[i];

		if (finding->gap != expects_gap)
			continue;
		if (!seen->checker[0])
			strcpy(seen->checker, finding->checker);
		if (strcmp(seen->checker, finding->checker) != 0)
			seen->alone = false;
		*intended = *intended || strcmp(finding->checker, bug->checker) == 0;
	}
	if (*intended)
		strcpy(seen->checker, bug->checker);
}

/* The moment of the finding that counts as the catch: the event's, or else the verdict's. */
static void find_moment(const struct hq_result *result, uint64_t first_ns,
			struct hq_selftest_seen *seen)
{
	uint64_t moment_ns = 0;

	for (size_t i = 0; i < result->findings.count && !moment_ns; i++) {
		const struct hq_finding *finding = &result->findings.list[i];

		if (!finding->gap && strcmp(finding->checker, seen->checker) == 0)
			moment_ns = finding->time_ns;
	}
	seen->by_event = moment_ns != 0;
	if (!moment_ns)
		moment_ns = result->judged_ns;
	if (!first_ns)
		first_ns = result->judged_ns - result->wall_ns;
	seen->found_ns = moment_ns > first_ns ? moment_ns - first_ns : 0;
}

/* A run that proves nothing is not to be taken for one that accuses. */
static bool has_wrong_verdict(const struct hq_selftest_bug *bug, const struct hq_result *result)
{
	return strcmp(bug->contract, HQ_SELFTEST_PROOF) == 0 &&
	       result->verdict != HQ_VERDICT_INCONCLUSIVE;
}

void hq_selftest_classify(const struct hq_selftest_bug *bug, const struct hq_result *result,
			  const struct hq_selftest_fires *fires, struct hq_selftest_seen *seen)
{
	bool intended;

	*seen = (struct hq_selftest_seen){ .took_ns = result->wall_ns };
	find_checkers(bug, &result->findings, seen, &intended);
	if (seen->checker[0])
		find_moment(result, fires->first_ns, seen);
	if (result->verdict == HQ_VERDICT_SKIP || result->verdict == HQ_VERDICT_ERROR)
		seen->catch = HQ_CATCH_NOT_RUN;
	else if (fires->count == 0)
		seen->catch = HQ_CATCH_NEVER_FIRED;
	else if (!seen->checker[0] || has_wrong_verdict(bug, result))
		seen->catch = HQ_CATCH_MISSED;
	else if (bug->budget_ns && result->wall_ns > bug->budget_ns)
		seen->catch = HQ_CATCH_LATE;
	else
		seen->catch = intended ? HQ_CATCH_INTENDED : HQ_CATCH_OTHER;
}

void hq_selftest_add(struct hq_selftest_row *row, const struct hq_selftest_seen *seen)
{
	row->runs++;
	row->counts[seen->catch]++;
	if (seen->took_ns > row->took_ns)
		row->took_ns = seen->took_ns;
	if (!seen->checker[0])
		return;
	if (seen->found_ns > row->found_ns)
		row->found_ns = seen->found_ns;
	row->by_event = seen->by_event && (!row->checker[0] || row->by_event);
	row->alone = seen->alone &&
		     (!row->checker[0] || (row->alone && strcmp(row->checker, seen->checker) == 0));
	if (!row->checker[0])
		strcpy(row->checker, seen->checker);
}

void hq_selftest_judge(struct hq_selftest_row *row)
{
	static const enum hq_catch bad[] = { HQ_CATCH_MISSED, HQ_CATCH_LATE, HQ_CATCH_NEVER_FIRED,
					     HQ_CATCH_NOT_RUN };
	const size_t needed = (row->runs * NEEDED + NEEDED_OF - 1) / NEEDED_OF;
	const size_t good = row->counts[HQ_CATCH_INTENDED] + row->counts[HQ_CATCH_OTHER];

	row->catch = HQ_CATCH_NOT_RUN;
	if (row->runs && row->counts[HQ_CATCH_INTENDED] >= needed) {
		row->catch = HQ_CATCH_INTENDED;
		return;
	}
	if (row->runs && good >= needed) {
		row->catch = HQ_CATCH_OTHER;
		return;
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (row->counts[bad[i]]) {
			row->catch = bad[i];
			return;
		}
	}
}

void hq_selftest_count(const struct hq_selftest_row *rows, size_t count,
		       struct hq_selftest_score *score)
{
	*score = (struct hq_selftest_score){ .bugs = 0 };
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].bug->checker, "-") == 0) {
			score->uncovered++;
			continue;
		}
		score->bugs++;
		score->rows[rows[i].catch]++;
	}
}

bool hq_selftest_is_good(const struct hq_selftest_score *score)
{
	return score->rows[HQ_CATCH_INTENDED] == score->bugs;
}

/*
 * Only what a bug would be caught by spoils its row: a finding, or for a bug that is caught by a
 * gap, a gap. Where a fault is wanting otherwise, a bug never fires, and its row tells that.
 */
bool hq_selftest_is_clean(enum hq_verdict verdict, bool has_proof_bug)
{
	return verdict < HQ_VERDICT_XPASS && !(has_proof_bug && verdict == HQ_VERDICT_INCONCLUSIVE);
}
