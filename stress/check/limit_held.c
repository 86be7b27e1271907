/* SPDX-License-Identifier: MIT */
/*
 * A program's own limit is held. One that goes by a true figure passes it by nothing, or by what
 * its threads admit at the same moment; one that goes by an old figure passes it by its rate times
 * the age of that, and the time for which a thread was off its CPU meanwhile. The rate is that of
 * the fastest 10 ms of each thread.
 */
#include "stress/check/limit.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "limit-held";

/* What is allowed beyond the limit. */
static uint64_t allowed_bytes(const struct hq_limit_seen *limit)
{
	const uint64_t ahead_bytes = limit->words[HQ_LIMIT_AHEAD_BYTES];

	if (limit->words[HQ_LIMIT_STALE_NS] == 0)
		return ahead_bytes;
	return ahead_bytes + hq_limit_drift_bytes(limit, limit->words[HQ_LIMIT_TAKEN_BYTES]);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct hq_limit_seen *const limit = &observations->limit;
	const uint64_t hard_bytes = limit->words[HQ_LIMIT_HARD_BYTES];
	const uint64_t peak_bytes = limit->words[HQ_LIMIT_PEAK_BYTES];
	char over[HQ_UNITS_TEXT], most[HQ_UNITS_TEXT];
	struct hq_finding *finding;

	(void)options;
	if (!hq_limit_was_kept(observations, name, findings) ||
	    peak_bytes <= hard_bytes + allowed_bytes(limit))
		return;
	hq_value_print(over, sizeof(over), HQ_UNIT_BYTES, (double)(peak_bytes - hard_bytes));
	hq_value_print(most, sizeof(most), HQ_UNIT_BYTES, (double)allowed_bytes(limit));
	finding = hq_finding_add(findings, name,
				 "the program passed its own limit by %s, at most %s expected",
				 over, most);
	hq_limit_show(limit, finding);
}

const struct hq_checker hq_check_limit_held = {
	.name = name,
	.promise = "a program passes its own limit by no more than its tracker may, by its design "
		   "and the rate of the work",
	.needs = "a workload with a limit of its own, as limited-server, that refuses something",
	.on_request = true,
	.check = check,
};
