/* SPDX-License-Identifier: MIT */
/*
 * Readings of an idle target, from the quiet points that the controller takes.
 */
#include "stress/check/settled.h"

#include "stress/check/evidence.h"
#include "stress/check/value.h"

#define LATE_NS        (500 * HQ_MS)
#define READINGS_SHOWN 4

static const struct hq_quiet *first_after(const struct hq_observations *observations,
					  uint64_t due_ns)
{
	for (size_t i = 0; i < observations->quiet_count; i++) {
		if (observations->quiet[i].time_ns >= due_ns)
			return &observations->quiet[i];
	}
	return NULL;
}

const struct hq_quiet *hq_settled_reading(const struct hq_observations *observations,
					  const char *checker, uint64_t within_ns,
					  struct hq_findings *findings)
{
	const uint64_t due_ns = observations->freed_ns + within_ns;
	const struct hq_quiet *const quiet = first_after(observations, due_ns);
	char within[HQ_UNITS_TEXT];

	if (observations->outcome != HQ_OUTCOME_EXITED)
		return NULL;
	if (!observations->freed_ns) {
		hq_gap_add(findings, checker,
			   "the run never came to the point where everything is freed");
		return NULL;
	}
	if (!quiet)
		hq_gap_add(findings, checker, "memory was not read %s after everything was freed",
			   hq_units_print_duration(within, within_ns));
	return quiet;
}

void hq_settled_check_late(const struct hq_observations *observations, const char *checker,
			   uint64_t within_ns, struct hq_findings *findings)
{
	const uint64_t due_ns = observations->freed_ns + within_ns;
	const struct hq_quiet *const quiet = first_after(observations, due_ns);
	char within[HQ_UNITS_TEXT];

	if (quiet && quiet->time_ns - due_ns > LATE_NS)
		hq_gap_add(findings, checker,
			   "memory was read too late to say how much there was after %s",
			   hq_units_print_duration(within, within_ns));
}

uint64_t hq_settled_kept_bytes(const struct hq_quiet *quiet)
{
	return quiet->rss_bytes > quiet->lazyfree_bytes ? quiet->rss_bytes - quiet->lazyfree_bytes
							: 0;
}

const char *hq_settled_after(const struct hq_observations *observations,
			     const struct hq_quiet *quiet, char text[32])
{
	return hq_value_print(text, 32, HQ_UNIT_NS,
			      (double)quiet->time_ns - (double)observations->freed_ns);
}

static void add_reading(const struct hq_observations *observations, const struct hq_quiet *quiet,
			struct hq_finding *finding)
{
	char when[32], rss[32], lazy[32];

	hq_value_print(rss, sizeof(rss), HQ_UNIT_BYTES, (double)quiet->rss_bytes);
	hq_value_print(lazy, sizeof(lazy), HQ_UNIT_BYTES, (double)quiet->lazyfree_bytes);
	hq_evidence_line(finding, "%s after the last free: %s resident, %s of it LazyFree",
			 hq_settled_after(observations, quiet, when), rss, lazy);
}

void hq_settled_evidence(const struct hq_observations *observations, struct hq_finding *finding)
{
	char start[32], peak[32];
	size_t shown = 0;

	hq_value_print(start, sizeof(start), HQ_UNIT_BYTES, (double)observations->rss_start_bytes);
	hq_value_print(peak, sizeof(peak), HQ_UNIT_BYTES, (double)observations->rss_peak_bytes);
	hq_evidence_line(finding, "%s resident before the work, %s at the peak", start, peak);
	for (size_t i = 0; i < observations->quiet_count && shown < READINGS_SHOWN; i++) {
		if (observations->quiet[i].time_ns < observations->freed_ns)
			continue;
		add_reading(observations, &observations->quiet[i], finding);
		shown++;
	}
}
