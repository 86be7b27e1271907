/* SPDX-License-Identifier: MIT */
/*
 * Pages are given back whole, and stay away: every purge that a rule has recorded begins at a page
 * and covers whole ones, and the resident memory of an idle process does not rise again (as it does
 * where huge pages are made of what was given back in parts).
 *
 * The kernel rounds the length of a purge up: what is odd takes bytes of the next page along that
 * may be anybody's. Which ranges are the allocator's own is not seen from here; that live blocks
 * lose nothing is for `content`.
 */
#include <inttypes.h>

#include "stress/check/moments.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "page-size";

#define SHOWN   3u
#define IDLE_NS (300 * HQ_MS)

struct page_size_options {
	double drift;
	uint64_t slack;
};

static const struct hq_option options_table[] = {
	{ "drift", HQ_OPTION_SHARE, offsetof(struct page_size_options, drift), "10%", 0, 0, NULL,
	  "by so much resident memory may rise again while the process idles" },
	{ "slack", HQ_OPTION_SIZE, offsetof(struct page_size_options, slack), "2MiB", 0, 0, NULL,
	  "and by so many bytes more" },
	{ .name = NULL },
};

static bool is_whole(const struct hq_fault *fault, uint64_t page_bytes)
{
	return fault->args[0] % page_bytes == 0 && fault->args[1] % page_bytes == 0;
}

static void check_purges(const struct hq_observations *observations, struct hq_findings *findings)
{
	struct hq_finding *finding = NULL;
	char text[HQ_FAULT_TEXT];
	size_t purges = 0;

	for (size_t i = 0; i < observations->fault_count; i++) {
		const struct hq_fault_seen *seen = &observations->faults[i];

		if (!hq_fault_is_purge_of_range(&seen->fault))
			continue;
		purges++;
		if (is_whole(&seen->fault, observations->page_bytes))
			continue;
		if (finding)
			finding->count++;
		else
			finding = hq_finding_add(findings, name,
						 "a purge does not cover whole pages of %" PRIu64
						 " bytes",
						 observations->page_bytes);
		if (finding && finding->count <= SHOWN)
			hq_evidence_line(finding, "%s", hq_fault_print(observations, seen, text));
	}
	if (purges == 0)
		hq_gap_add(findings, name,
			   "no purge was recorded; a rule with `delay` records them");
	else if (!finding && observations->faults_dropped > 0)
		hq_gap_add(findings, name, "not every purge is on record");
}

/* From the least on that was there since everything was freed. */
static void check_drift(const struct hq_observations *observations,
			const struct page_size_options *options, struct hq_findings *findings)
{
	uint64_t least = UINT64_MAX, most = 0;
	size_t count = 0;
	char low[HQ_UNITS_TEXT], high[HQ_UNITS_TEXT];

	for (size_t i = 0; observations->freed_ns != 0 && i < observations->sample_count; i++) {
		const struct hq_sample *sample = &observations->samples[i];

		if (sample->time_ns < observations->freed_ns)
			continue;
		count++;
		if (sample->rss_bytes < least)
			least = most = sample->rss_bytes;
		if (sample->rss_bytes > most)
			most = sample->rss_bytes;
		if ((double)most > (double)least * (1 + options->drift) + (double)options->slack)
			break;
	}
	if (count < 2 && observations->outcome == HQ_OUTCOME_EXITED)
		hq_gap_add(findings, name, "resident memory was not read in an idle process");
	if (most == 0 ||
	    (double)most <= (double)least * (1 + options->drift) + (double)options->slack)
		return;
	hq_value_print(low, sizeof(low), HQ_UNIT_BYTES, (double)least);
	hq_value_print(high, sizeof(high), HQ_UNIT_BYTES, (double)most);
	hq_finding_add(findings, name, "resident memory rose from %s to %s in an idle process", low,
		       high);
}

static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	check_purges(observations, findings);
	check_drift(observations, values, findings);
}

static uint64_t idle_ns(const void *options)
{
	(void)options;
	return IDLE_NS;
}

const struct hq_checker hq_check_page_size = {
	.name = name,
	.promise = "purges cover whole pages, and an idle process does not grow",
	.needs = "a rule that fires at purges, as `delay: 1us` on madvise, and a built-in workload "
		 "that frees everything",
	.on_request = true,
	.needs_faults = true,
	.options = options_table,
	.options_size = sizeof(struct page_size_options),
	.idle_ns = idle_ns,
	.check = check,
};
