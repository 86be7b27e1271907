/* SPDX-License-Identifier: MIT */
/*
 * Idle means falling: after a burst, and without a call of the allocator, memory goes back to the
 * kernel. Judged is resident memory without LazyFree, which the kernel may take at any time, at the
 * first reading at least `within` after everything was freed. What may stay is a share of the
 * burst, so that the contract does not depend on how large a scenario is.
 */
#include "injectors/units.h"
#include "stress/check/settled.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "idle-falls";

struct idle_falls_options {
	uint64_t within_ns;
	double keep;
	uint64_t slack_bytes;
};

#define AT(field) offsetof(struct idle_falls_options, field)

static const struct hq_option options_table[] = {
	{ "within", HQ_OPTION_DURATION, AT(within_ns), "3s", 0, 0, NULL,
	  "time after everything was freed: a few times what pages take to decay" },
	{ "keep", HQ_OPTION_SHARE, AT(keep), "25%", 0, 0, NULL,
	  "share of the burst that may still be resident then" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "4MiB", 0, 0, NULL,
	  "what may stay besides: caches, metadata" },
	{ .name = NULL },
};

static uint64_t bound_bytes(const struct hq_observations *observations,
			    const struct idle_falls_options *options)
{
	const uint64_t start = observations->rss_start_bytes, peak = observations->rss_peak_bytes;
	const uint64_t burst = peak > start ? peak - start : 0;

	return start + (uint64_t)(options->keep * (double)burst) + options->slack_bytes;
}

static void add_finding(const struct hq_observations *observations,
			const struct idle_falls_options *options, const struct hq_quiet *quiet,
			struct hq_findings *findings)
{
	char kept[32], bound[32], after[32];

	hq_value_print(kept, sizeof(kept), HQ_UNIT_BYTES, (double)hq_settled_kept_bytes(quiet));
	hq_value_print(bound, sizeof(bound), HQ_UNIT_BYTES,
		       (double)bound_bytes(observations, options));
	hq_settled_evidence(observations,
			    hq_finding_add(findings, name,
					   "free memory stays resident while nothing is called "
					   "(%s after %s, at most %s allowed)",
					   kept, hq_settled_after(observations, quiet, after),
					   bound));
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct idle_falls_options *chosen = options;
	const struct hq_quiet *quiet =
		hq_settled_reading(observations, name, chosen->within_ns, findings);

	if (!quiet)
		return;
	if (hq_settled_kept_bytes(quiet) > bound_bytes(observations, chosen))
		add_finding(observations, chosen, quiet, findings);
	else if (observations->rss_peak_bytes <= bound_bytes(observations, chosen))
		hq_gap_add(findings, name, "the burst was too small: all of it might have stayed");
	else
		hq_settled_check_late(observations, name, chosen->within_ns, findings);
}

static uint64_t idle_ns(const void *options)
{
	return ((const struct idle_falls_options *)options)->within_ns;
}

const struct hq_checker hq_check_idle_falls = {
	.name = name,
	.promise = "after a burst, memory goes back to the kernel without any call",
	.needs = "a built-in workload that frees everything, and idle time for `within`",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct idle_falls_options),
	.idle_ns = idle_ns,
	.check = check,
};
