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

static bool is_listed(const char *checkers, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = checkers; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == length && !strncmp(at, name, length))
			return true;
	return false;
}

/*
 * Do all entries of the kind that makes `verdict` come from checkers that are known to speak up?
 * One from elsewhere is news, and what found no room may have been one.
 */
static bool is_all_known(const struct hq_findings *findings, enum hq_verdict verdict,
			 const char *checkers)
{
	if (checkers[0] && findings->left_out > 0)
		return false;
	for (size_t i = 0; checkers[0] && i < findings->count; i++) {
		const struct hq_finding *finding = &findings->list[i];

		if (finding->gap == (verdict == HQ_VERDICT_INCONCLUSIVE) &&
		    !is_listed(checkers, finding->checker))
			return false;
	}
	return true;
}

enum hq_verdict hq_verdict_judge(const struct hq_findings *findings, const struct hq_known *known)
{
	const enum hq_verdict verdict = raw(findings);

	if (!known || !known->present)
		return verdict;
	if (verdict == HQ_VERDICT_PASS)
		return known->sometimes ? HQ_VERDICT_PASS : HQ_VERDICT_XPASS;
	if (verdict == known->verdict && is_all_known(findings, verdict, known->checkers))
		return HQ_VERDICT_XFAIL;
	return verdict;
}
