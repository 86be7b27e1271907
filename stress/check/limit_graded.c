/* SPDX-License-Identifier: MIT */
/*
 * A program refuses work for its limit where it has to, and not before: nothing is refused for the
 * soft limit while much less than that is held, and some work is always done. How much less is
 * what may be counted though it is not held: credit, requests on their way, and what was freed
 * since an old figure was taken.
 */
#include "stress/check/limit.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "limit-graded";

struct graded_options {
	double most;
};

static const struct hq_option options_table[] = {
	{ "most", HQ_OPTION_SHARE, offsetof(struct graded_options, most), "90%", 0, 0, NULL,
	  "share of the requests that may be refused" },
	{ .name = NULL },
};

static uint64_t slack_bytes(const struct hq_limit_seen *limit)
{
	const uint64_t slack =
		limit->words[HQ_LIMIT_STRANDED_BYTES] + limit->words[HQ_LIMIT_REQUEST_BYTES];

	if (limit->words[HQ_LIMIT_STALE_NS] == 0)
		return slack;
	return slack + hq_limit_drift_bytes(limit, limit->words[HQ_LIMIT_GIVEN_BYTES]);
}

static void check_early(const struct hq_limit_seen *limit, struct hq_findings *findings)
{
	const uint64_t early_bytes = limit->words[HQ_LIMIT_EARLY_BYTES];
	char early[HQ_UNITS_TEXT], slack[HQ_UNITS_TEXT];

	if (early_bytes == 0 ||
	    early_bytes + slack_bytes(limit) >= limit->words[HQ_LIMIT_SOFT_BYTES])
		return;
	hq_value_print(early, sizeof(early), HQ_UNIT_BYTES, (double)early_bytes);
	hq_value_print(slack, sizeof(slack), HQ_UNIT_BYTES, (double)slack_bytes(limit));
	hq_limit_show(limit, hq_finding_add(findings, name,
					    "a request was refused while %s were held, more than "
					    "%s below the soft limit",
					    early, slack));
}

static void check_share(const struct hq_limit_seen *limit, double most,
			struct hq_findings *findings)
{
	const double refused = (double)limit->words[HQ_LIMIT_REFUSED];
	const double share = refused / (refused + (double)limit->words[HQ_LIMIT_ADMITTED]);
	char refused_text[HQ_UNITS_TEXT], most_text[HQ_UNITS_TEXT];

	if (share <= most)
		return;
	hq_value_print(refused_text, sizeof(refused_text), HQ_UNIT_SHARE, share);
	hq_value_print(most_text, sizeof(most_text), HQ_UNIT_SHARE, most);
	hq_limit_show(limit, hq_finding_add(findings, name,
					    "%s of the requests were refused, at most %s "
					    "expected",
					    refused_text, most_text));
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct graded_options *const chosen = options;

	if (!hq_limit_was_kept(observations, name, findings))
		return;
	check_early(&observations->limit, findings);
	check_share(&observations->limit, chosen->most, findings);
}

const struct hq_checker hq_check_limit_graded = {
	.name = name,
	.promise = "a program refuses work for its own limit only near it, and never nearly all",
	.needs = "a workload with a limit of its own, as limited-server, that refuses something",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct graded_options),
	.check = check,
};
