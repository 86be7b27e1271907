/* SPDX-License-Identifier: MIT */
/*
 * After a run everything is as it was before. Two sides of it:
 *
 *   ours          threads, descriptors, child processes, groups, affinity, limits of the process
 *                 that drove the run, read again when everything was put back
 *
 *   the target's  processes that a host which ended by itself left behind: nothing in it has a
 *                 reason to make one that outlives it, and we had to kill them
 */
#include <inttypes.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"

static const char name[] = "no-residue";

static void add_count(const char *what, uint32_t count, struct hq_finding *finding)
{
	if (count)
		hq_evidence_line(finding, "%s: %" PRIu32 " more than before the run", what, count);
}

static bool is_clean(const struct hq_residue *residue)
{
	const struct hq_residue_counts *left = &residue->left;

	return !left->processes && !left->threads && !left->descriptors && !left->groups &&
	       !residue->affinity && !residue->limits;
}

static void check_ours(const struct hq_residue *residue, struct hq_findings *findings)
{
	struct hq_finding *finding;

	if (is_clean(residue))
		return;
	finding = hq_finding_add(findings, name, "the run left something of ours behind");
	add_count("child processes", residue->left.processes, finding);
	add_count("threads", residue->left.threads, finding);
	add_count("descriptors", residue->left.descriptors, finding);
	add_count("control groups", residue->left.groups, finding);
	if (residue->affinity)
		hq_evidence_line(finding, "the CPUs that may be used are others");
	if (residue->limits)
		hq_evidence_line(finding, "a resource limit is another");
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct hq_residue *residue = &observations->residue;

	(void)options;
	if (residue->known)
		check_ours(residue, findings);
	else
		hq_gap_add(findings, name, "nobody looked at what the run left behind");
	if (!observations->is_host || observations->outcome != HQ_OUTCOME_EXITED ||
	    residue->target_processes == 0)
		return;
	struct hq_finding *finding =
		hq_finding_add(findings, name, "the target left processes behind");

	if (finding)
		finding->count = residue->target_processes;
}

const struct hq_checker hq_check_no_residue = {
	.name = name,
	.promise = "after a run no process, group, limit or affinity is left changed",
	.needs = "a run that ended; the target's own side needs a built-in workload",
	.check = check,
};
