/* SPDX-License-Identifier: MIT */
/*
 * A cached figure is as fresh as promised: no thread goes by one that is older than its period, and
 * the time for which whoever takes it, and whoever goes by it, was off its CPU; and none that was
 * taken before the one it has gone by already, which is what happens when two take it at once and
 * the slower comes last.
 */
#include <inttypes.h>

#include "injectors/units.h"
#include "stress/check/limit.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "limit-fresh";

struct fresh_options {
	uint64_t slack_ns;
};

static const struct hq_option options_table[] = {
	{ "slack", HQ_OPTION_DURATION, offsetof(struct fresh_options, slack_ns), "25ms", 0, 0, NULL,
	  "beyond its period and the longest requests: the coarse clock, and a thread's start" },
	{ .name = NULL },
};

static void check_age(const struct hq_limit_seen *limit, uint64_t slack_ns,
		      struct hq_findings *findings)
{
	const uint64_t oldest_ns = limit->words[HQ_LIMIT_OLDEST_NS];
	const uint64_t bound_ns =
		limit->words[HQ_LIMIT_STALE_NS] + 2 * limit->words[HQ_LIMIT_STEP_NS] + slack_ns;
	char oldest[HQ_UNITS_TEXT], bound[HQ_UNITS_TEXT];

	if (oldest_ns <= bound_ns)
		return;
	hq_value_print(oldest, sizeof(oldest), HQ_UNIT_NS, (double)oldest_ns);
	hq_value_print(bound, sizeof(bound), HQ_UNIT_NS, (double)bound_ns);
	hq_limit_show(limit, hq_finding_add(findings, name,
					    "a request was judged by a figure %s old, at most %s "
					    "expected",
					    oldest, bound));
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct fresh_options *const chosen = options;
	const struct hq_limit_seen *const limit = &observations->limit;
	const uint64_t back = limit->words[HQ_LIMIT_BACK];

	if (!hq_limit_was_kept(observations, name, findings))
		return;
	if (limit->words[HQ_LIMIT_STALE_NS] == 0) {
		hq_gap_add(findings, name, "the tracker's figures are never old");
		return;
	}
	check_age(limit, chosen->slack_ns, findings);
	if (back > 0)
		hq_limit_show(limit,
			      hq_finding_add(findings, name,
					     "a figure was replaced by one that was taken before "
					     "it (%" PRIu64 " times)",
					     back));
}

const struct hq_checker hq_check_limit_fresh = {
	.name = name,
	.promise = "a cached figure is no older than its period, and never followed by an older "
		   "one",
	.needs = "a workload with a limit of its own and a cached figure, that refuses something",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct fresh_options),
	.check = check,
};
