/* SPDX-License-Identifier: MIT */
/*
 * The recorders saw everything that the other checkers rely on. An incomplete record is a gap:
 *
 *   events      any dropped one: it might have been of another kind than those that were kept
 *   samples     none at all, or one in ten and fewer. Late ticks are normal on a busy machine:
 *               medians bear them, the peak is kept by the kernel, too, and a metric about one
 *               moment looks for a sample that is near it
 *   guard       not loaded into a program, or without memory for what it has to remember
 *   host        without memory for what it has to remember: blocks that could overlap unseen; or
 *               with files that do not take what the workload writes, whose cost is then missing
 *   histograms  absent for a workload that made calls
 *
 * Dropped fault records are no gap: what fired is counted apart from the records and stays exact;
 * only the evidence is shorter then.
 */
#include <inttypes.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/table.h"

static const char name[] = "recorded";

/*
 * A target that works for less may end between two samples, and nobody is to blame: on a busy
 * machine without real-time priority a thread may wait that long for a CPU.
 */
#define SHORT_RUN_NS (200 * HQ_MS)

static void check_samples(const struct hq_observations *observations, struct hq_findings *findings)
{
	const uint64_t taken = observations->sample_count;
	const uint64_t missed = observations->samples_missed;

	if (observations->end_ns < SHORT_RUN_NS)
		return;
	if (!observations->has_samples || taken == 0)
		hq_gap_add(findings, name, "resident memory was not sampled");
	else if (missed / 9 >= taken)
		hq_evidence_line(
			hq_gap_add(findings, name, "resident memory was sampled too rarely"),
			"%" PRIu64 " of %" PRIu64 " samples missed", missed, missed + taken);
}

static void check_host(const struct hq_observations *observations, struct hq_findings *findings)
{
	if (observations->events_dropped > 0)
		hq_evidence_line(
			hq_gap_add(findings, name,
				   "events found no room: more promises may be broken than told"),
			"%" PRIu64 " events", observations->events_dropped);
	if (observations->unwatched > 0)
		hq_evidence_line(
			hq_gap_add(findings, name,
				   "the host had no memory to watch every block for overlap"),
			"%" PRIu64 " blocks not watched", observations->unwatched);
	if (observations->unwritten > 0)
		hq_evidence_line(
			hq_gap_add(findings, name, "files of the workload did not take everything"),
			"%" PRIu64 " writes failed, the last one: %s", observations->unwritten,
			strerror(observations->unwritten_error));
	if (observations->is_host && !observations->hist && observations->mallocs > 0)
		hq_gap_add(findings, name, "latency was not recorded");
}

static void check_guard(const struct hq_observations *observations, struct hq_findings *findings)
{
	if (!observations->guarded)
		return;
	if (observations->guard_refused)
		hq_evidence_line(hq_gap_add(findings, name,
					    "the guard stands behind a program's own malloc"),
				 "%" PRIu32 " programs not watched", observations->guard_refused);
	else if (!observations->guard_programs)
		hq_gap_add(findings, name, "the guard was not loaded");
	if (observations->guard_unwatched)
		hq_evidence_line(
			hq_gap_add(findings, name, "the guard had no memory to watch every block"),
			"%" PRIu64 " blocks not watched", observations->guard_unwatched);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	(void)options;
	/* Nothing was there to be recorded, and "survived" says so. */
	if (observations->outcome == HQ_OUTCOME_NOT_STARTED ||
	    observations->outcome == HQ_OUTCOME_INTERRUPTED)
		return;
	check_samples(observations, findings);
	check_host(observations, findings);
	check_guard(observations, findings);
}

const struct hq_checker hq_check_recorded = {
	.name = name,
	.promise = "the recorders missed nothing that a verdict needs",
	.needs = "samples of resident memory; for a built-in workload or a guard every event",
	.check = check,
};
