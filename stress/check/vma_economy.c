/* SPDX-License-Identifier: MIT */
/*
 * Mappings are few: the kernel gives a process 65,530, and each makes page faults, mmap and fork
 * slower. Their number is bounded by live memory and threads, and does not grow while neither
 * does. Whoever takes a mapping a block, or stripes address space by mprotect or partial unmapping,
 * has a number that follows the number of calls.
 */
#include <inttypes.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/growth.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "vma-economy";

struct vma_economy_options {
	uint64_t per_gib;
	uint64_t per_thread;
	uint64_t base;
	double grow;
};

#define AT(field) offsetof(struct vma_economy_options, field)

static const struct hq_option options_table[] = {
	{ "per-gib", HQ_OPTION_COUNT, AT(per_gib), "256", 0, 0, NULL,
	  "mappings for each GiB that was live at the peak" },
	{ "per-thread", HQ_OPTION_COUNT, AT(per_thread), "8", 0, 0, NULL,
	  "mappings for each thread" },
	{ "base", HQ_OPTION_COUNT, AT(base), "64", 0, 0, NULL, "mappings besides" },
	{ "grow", HQ_OPTION_SHARE, AT(grow), "25%", 0, 0, NULL,
	  "growth from the second to the last quarter of the work, of the number allowed" },
	{ .name = NULL },
};

static uint64_t bound(const struct hq_observations *observations,
		      const struct vma_economy_options *options)
{
	const double gibs = (double)observations->requested_peak_bytes / (1024.0 * (double)HQ_MIB);

	return options->base + options->per_thread * observations->space_peak.threads +
	       (uint64_t)((double)options->per_gib * gibs);
}

static uint64_t taken(const struct hq_observations *observations)
{
	const uint64_t start = observations->space_start.mappings;
	const uint64_t peak = observations->space_peak.mappings;

	return peak > start ? peak - start : 0;
}

static void add_evidence(const struct hq_observations *observations, struct hq_finding *finding)
{
	char live[32], mapped[32];

	hq_value_print(live, sizeof(live), HQ_UNIT_BYTES,
		       (double)observations->requested_peak_bytes);
	hq_value_print(mapped, sizeof(mapped), HQ_UNIT_BYTES,
		       (double)observations->space_peak.mapped_bytes);
	hq_evidence_line(finding,
			 "%" PRIu64 " mappings before the work, %" PRIu64 " at the peak, %" PRIu64
			 " at the end",
			 observations->space_start.mappings, observations->space_peak.mappings,
			 observations->space_end.mappings);
	hq_evidence_line(finding,
			 "at most %s live and %s mapped, in %" PRIu64 " threads, %" PRIu64
			 " allocations",
			 live, mapped, observations->space_peak.threads, observations->mallocs);
}

static bool check_bound(const struct hq_observations *observations,
			const struct vma_economy_options *options, struct hq_findings *findings)
{
	const uint64_t allowed = bound(observations, options);

	if (taken(observations) <= allowed)
		return true;
	add_evidence(observations,
		     hq_finding_add(findings, name,
				    "too many mappings for what is live (%" PRIu64
				    " more than before the work, at most %" PRIu64 " allowed)",
				    taken(observations), allowed));
	return false;
}

static void check_growth(const struct hq_observations *observations,
			 const struct vma_economy_options *options, struct hq_findings *findings)
{
	const uint64_t allowed = (uint64_t)(options->grow * (double)bound(observations, options));
	struct hq_growth growth;

	if (!hq_growth_space(observations, offsetof(struct hq_space, mappings), &growth))
		hq_gap_add(findings, name,
			   "the work was too short to say whether mappings become more");
	else if (growth.late > growth.early + allowed)
		add_evidence(observations,
			     hq_finding_add(findings, name,
					    "mappings become more in steady state (%" PRIu64
					    " in the second quarter of the work, %" PRIu64
					    " in the last, at most %" PRIu64 " more allowed)",
					    growth.early, growth.late, allowed));
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (!observations->is_host)
		hq_gap_add(findings, name, "only of a built-in workload is known what is live");
	else if (!observations->space_start.mappings)
		hq_gap_add(findings, name, "the target's mappings were not read");
	else if (check_bound(observations, options, findings))
		check_growth(observations, options, findings);
}

const struct hq_checker hq_check_vma_economy = {
	.name = name,
	.promise = "mappings are bounded by live memory and threads, and do not grow with calls",
	.needs = "a built-in workload in steady state for about a second",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct vma_economy_options),
	.check = check,
};
