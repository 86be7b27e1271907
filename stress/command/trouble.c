/* SPDX-License-Identifier: MIT */
/*
 * What spoils figures. A finding that is a gap makes a run inconclusive; the others break it.
 */
#include "stress/command/trouble.h"

bool hq_is_trouble(enum hq_verdict verdict)
{
	return verdict == HQ_VERDICT_FAIL || verdict == HQ_VERDICT_ERROR ||
	       verdict == HQ_VERDICT_SKIP;
}

const char *hq_trouble_reason(const struct hq_result *result)
{
	const bool gaps = result->verdict == HQ_VERDICT_INCONCLUSIVE;

	for (size_t i = 0; !result->reason[0] && i < result->findings.count; i++) {
		if (result->findings.list[i].gap == gaps)
			return result->findings.list[i].text;
	}
	return result->reason;
}
