/* SPDX-License-Identifier: MIT */
/*
 * A purge that is refused is nobody's business: the memory stays resident a little longer. As long
 * as nothing else goes wrong, every request can be served, and the process has no reason to die.
 * Dirty calloc, damaged blocks and a spoilt errno have their own checkers; a hang is
 * bounded-retry's and survived's.
 */
#include <inttypes.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/table.h"

static const char name[] = "purge-harmless";

static const char before[] = "injected before it";

static void check_nulls(const struct hq_observations *observations, struct hq_findings *findings)
{
	struct hq_finding *finding;

	if (observations->nulls == 0 && observations->missed == 0)
		return;
	finding = hq_finding_add(
		findings, name, "requests were refused though nothing but purge advice had failed");
	hq_evidence_line(finding,
			 "%" PRIu64 " allocations answered NULL, %" PRIu64 " operations given up",
			 observations->nulls, observations->missed);
	hq_evidence_fault(observations,
			  observations->last_null_ns && observations->gate_open_ns
				  ? observations->gate_open_ns + observations->last_null_ns
				  : UINT64_MAX,
			  before, finding);
	if (finding)
		finding->count = observations->nulls ? observations->nulls : observations->missed;
}

static void check_end(const struct hq_observations *observations, struct hq_findings *findings)
{
	if (observations->outcome != HQ_OUTCOME_SIGNALED)
		return;
	hq_evidence_fault(
		observations, UINT64_MAX, before,
		hq_finding_add(findings, name,
			       "the target died though nothing but purge advice had failed"));
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	if (!hq_only_purges_refused(observations))
		return;
	check_nulls(observations, findings);
	check_end(observations, findings);
}

const struct hq_checker hq_check_purge_harmless = {
	.name = name,
	.promise = "while only purge advice is refused, every request is served and nobody dies",
	.needs = "rules that refuse advice and nothing else; requests: a built-in workload",
	.check = check,
};
