/* SPDX-License-Identifier: MIT */
/*
 * A limit is shared: no thread is starved by the others. All are asked for as much, so each is
 * served a share of the mean.
 */
#include <inttypes.h>

#include "stress/check/limit.h"
#include "stress/check/table.h"

static const char name[] = "limit-fair";

#define ADMITTED_LEAST 20u /* requests of the mean thread, or chance has too much of a say */

struct fair_options {
	double share;
};

static const struct hq_option options_table[] = {
	{ "share", HQ_OPTION_SHARE, offsetof(struct fair_options, share), "25%", 0, 0, NULL,
	  "of the mean over the threads, which each is served" },
	{ .name = NULL },
};

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct fair_options *const chosen = options;
	const struct hq_limit_seen *const limit = &observations->limit;

	if (!hq_limit_was_kept(observations, name, findings))
		return;
	const double mean = (double)limit->words[HQ_LIMIT_ADMITTED] / (double)limit->workers;

	if (limit->workers < 2 || mean < ADMITTED_LEAST) {
		hq_gap_add(findings, name, "there were too few threads or requests to compare");
		return;
	}
	if ((double)limit->admitted_least >= chosen->share * mean)
		return;
	hq_limit_show(limit, hq_finding_add(findings, name,
					    "a thread was starved: %" PRIu64
					    " of its requests were admitted, %.0f of the mean "
					    "thread's",
					    limit->admitted_least, mean));
}

const struct hq_checker hq_check_limit_fair = {
	.name = name,
	.promise = "a program's own limit starves none of its threads",
	.needs = "a workload with a limit of its own and several threads, that refuses something",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct fair_options),
	.check = check,
};
