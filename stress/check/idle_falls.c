/* SPDX-License-Identifier: MIT */
/*
 * Idle means falling: after a burst, and without a call of the allocator, memory goes back to the
 * kernel. Judged is resident memory without LazyFree, which the kernel may take at any time, at the
 * first reading at least `within` after everything was freed. What may stay is a share of the
 * burst, so that the contract does not depend on how large a scenario is.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "idle-falls";

/* A reading that comes later than that says nothing good about the moment it was due. */
#define LATE_NS        (500 * HQ_MS)
#define READINGS_SHOWN 4

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

static uint64_t kept_bytes(const struct hq_quiet *quiet)
{
	return quiet->rss_bytes > quiet->lazyfree_bytes ? quiet->rss_bytes - quiet->lazyfree_bytes
							: 0;
}

static uint64_t bound_bytes(const struct hq_observations *observations,
			    const struct idle_falls_options *options)
{
	const uint64_t start = observations->rss_start_bytes, peak = observations->rss_peak_bytes;
	const uint64_t burst = peak > start ? peak - start : 0;

	return start + (uint64_t)(options->keep * (double)burst) + options->slack_bytes;
}

/* The first reading that is due; NULL: the run ended before. */
static const struct hq_quiet *reading_due(const struct hq_observations *observations,
					  uint64_t due_ns)
{
	for (size_t i = 0; i < observations->quiet_count; i++) {
		if (observations->quiet[i].time_ns >= due_ns)
			return &observations->quiet[i];
	}
	return NULL;
}

static void add_reading(const struct hq_observations *observations, const struct hq_quiet *quiet,
			struct hq_finding *finding)
{
	char when[32], rss[32], lazy[32];

	hq_value_print(when, sizeof(when), HQ_UNIT_NS,
		       (double)(quiet->time_ns - observations->freed_ns));
	hq_value_print(rss, sizeof(rss), HQ_UNIT_BYTES, (double)quiet->rss_bytes);
	hq_value_print(lazy, sizeof(lazy), HQ_UNIT_BYTES, (double)quiet->lazyfree_bytes);
	hq_evidence_line(finding, "%s after the last free: %s resident, %s of it LazyFree", when,
			 rss, lazy);
}

static void add_readings(const struct hq_observations *observations, struct hq_finding *finding)
{
	size_t shown = 0;

	for (size_t i = 0; i < observations->quiet_count && shown < READINGS_SHOWN; i++) {
		if (observations->quiet[i].time_ns < observations->freed_ns)
			continue;
		add_reading(observations, &observations->quiet[i], finding);
		shown++;
	}
}

static void add_finding(const struct hq_observations *observations,
			const struct idle_falls_options *options, const struct hq_quiet *quiet,
			struct hq_findings *findings)
{
	char kept[32], bound[32], after[32], start[32], peak[32];
	struct hq_finding *finding;

	hq_value_print(kept, sizeof(kept), HQ_UNIT_BYTES, (double)kept_bytes(quiet));
	hq_value_print(bound, sizeof(bound), HQ_UNIT_BYTES,
		       (double)bound_bytes(observations, options));
	hq_value_print(after, sizeof(after), HQ_UNIT_NS,
		       (double)(quiet->time_ns - observations->freed_ns));
	finding = hq_finding_add(findings, name,
				 "free memory stays resident while nothing is called "
				 "(%s after %s, at most %s allowed)",
				 kept, after, bound);
	hq_value_print(start, sizeof(start), HQ_UNIT_BYTES, (double)observations->rss_start_bytes);
	hq_value_print(peak, sizeof(peak), HQ_UNIT_BYTES, (double)observations->rss_peak_bytes);
	hq_evidence_line(finding, "%s before the work, %s at the peak", start, peak);
	add_readings(observations, finding);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct idle_falls_options *chosen = options;
	const uint64_t due_ns = observations->freed_ns + chosen->within_ns;
	const struct hq_quiet *quiet = reading_due(observations, due_ns);
	char within[HQ_UNITS_TEXT];

	hq_units_print_duration(within, chosen->within_ns);
	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (!observations->freed_ns)
		hq_gap_add(findings, name,
			   "the run never came to the point where everything is freed");
	else if (!quiet)
		hq_gap_add(findings, name, "memory was not read %s after everything was freed",
			   within);
	else if (kept_bytes(quiet) > bound_bytes(observations, chosen))
		add_finding(observations, chosen, quiet, findings);
	else if (quiet->time_ns - due_ns > LATE_NS)
		hq_gap_add(findings, name,
			   "memory was read too late to say that it had fallen after %s", within);
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
