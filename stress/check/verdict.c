/* SPDX-License-Identifier: MIT */
/*
 * Verdicts: findings against what is known. A finding outweighs any gap; a known failure that shows
 * up is expected, one that stays away is news.
 */
#include <string.h>

#include "stress/check/check.h"

const char *hq_verdict_name(enum hq_verdict verdict)
{
	static const char *const names[] = {
		[HQ_VERDICT_PASS] = "PASS",   [HQ_VERDICT_XFAIL] = "XFAIL",
		[HQ_VERDICT_SKIP] = "SKIP",   [HQ_VERDICT_INCONCLUSIVE] = "INCONCLUSIVE",
		[HQ_VERDICT_XPASS] = "XPASS", [HQ_VERDICT_FAIL] = "FAIL",
		[HQ_VERDICT_ERROR] = "ERROR",
	};

	return (size_t)verdict < sizeof(names) / sizeof(names[0]) ? names[verdict] : "?";
}

/* What the run shows by itself. Whatever found no room was at least a gap. */
static enum hq_verdict raw(const struct hq_findings *findings)
{
	enum hq_verdict verdict = HQ_VERDICT_PASS;

	if (findings->left_out > 0)
		verdict = HQ_VERDICT_INCONCLUSIVE;
	for (size_t i = 0; i < findings->count; i++) {
		if (!findings->list[i].gap)
			return HQ_VERDICT_FAIL;
		verdict = HQ_VERDICT_INCONCLUSIVE;
	}
	return verdict;
}

/*
 * Does an entry of the kind that makes `verdict` come from the checker that is known to speak up?
 */
static bool comes_from(const struct hq_findings *findings, enum hq_verdict verdict,
		       const char *checker)
{
	if (checker[0] == '\0')
		return true;
	for (size_t i = 0; i < findings->count; i++) {
		const struct hq_finding *finding = &findings->list[i];

		if (finding->gap == (verdict == HQ_VERDICT_INCONCLUSIVE) &&
		    !strcmp(finding->checker, checker))
			return true;
	}
	return false;
}

enum hq_verdict hq_verdict_judge(const struct hq_findings *findings, const struct hq_known *known)
{
	const enum hq_verdict verdict = raw(findings);

	if (!known || !known->present)
		return verdict;
	if (verdict == HQ_VERDICT_PASS)
		return known->sometimes ? HQ_VERDICT_PASS : HQ_VERDICT_XPASS;
	if (verdict == known->verdict && comes_from(findings, verdict, known->checker))
		return HQ_VERDICT_XFAIL;
	return verdict;
}
