/* SPDX-License-Identifier: MIT */
/*
 * Who frees does not matter: while the live set is bounded, resident memory is at most a few times
 * as large, whichever thread frees. An allocator that takes a block back only when its owner calls,
 * or never, keeps more with every block that another thread frees.
 */
#include <inttypes.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "who-frees";

#define COURSE_SHOWN 6

struct who_frees_options {
	uint64_t times;
	uint64_t slack_bytes;
};

#define AT(field) offsetof(struct who_frees_options, field)

static const struct hq_option options_table[] = {
	{ "times", HQ_OPTION_COUNT, AT(times), "2", 1, 1000, NULL,
	  "how many times what was live at the peak may be resident" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "16MiB", 0, 0, NULL,
	  "what may be resident besides: caches of the threads, metadata" },
	{ .name = NULL },
};

static uint64_t bound_bytes(const struct hq_observations *observations,
			    const struct who_frees_options *options)
{
	return observations->rss_start_bytes + options->times * observations->requested_peak_bytes +
	       options->slack_bytes;
}

/* Resident memory over time: what is lost with each free grows to the end. */
static void add_course(const struct hq_observations *observations, struct hq_finding *finding)
{
	const size_t step = observations->sample_count / COURSE_SHOWN + 1;

	for (size_t i = 0; i < observations->sample_count; i += step) {
		char when[32], rss[32];

		hq_value_print(when, sizeof(when), HQ_UNIT_NS,
			       (double)observations->samples[i].time_ns);
		hq_value_print(rss, sizeof(rss), HQ_UNIT_BYTES,
			       (double)observations->samples[i].rss_bytes);
		hq_evidence_line(finding, "+%s: %s resident", when, rss);
	}
}

static void add_finding(const struct hq_observations *observations,
			const struct who_frees_options *options, struct hq_findings *findings)
{
	char peak[32], bound[32], live[32];
	struct hq_finding *finding;

	hq_value_print(peak, sizeof(peak), HQ_UNIT_BYTES, (double)observations->rss_peak_bytes);
	hq_value_print(bound, sizeof(bound), HQ_UNIT_BYTES,
		       (double)bound_bytes(observations, options));
	hq_value_print(live, sizeof(live), HQ_UNIT_BYTES,
		       (double)observations->requested_peak_bytes);
	finding = hq_finding_add(findings, name,
				 "resident memory is not bounded by what is live "
				 "(%s with at most %s live, %s allowed)",
				 peak, live, bound);
	hq_evidence_line(finding, "%" PRIu64 " allocations, %" PRIu64 " frees",
			 observations->mallocs, observations->frees);
	add_course(observations, finding);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct who_frees_options *const chosen = options;

	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (!observations->is_host)
		hq_gap_add(findings, name, "only of a built-in workload is known what is live");
	else if (!observations->rss_peak_bytes || !observations->requested_peak_bytes)
		hq_gap_add(findings, name, "the peak of resident or of live memory is not known");
	else if (observations->rss_peak_bytes > bound_bytes(observations, chosen))
		add_finding(observations, chosen, findings);
	else if (observations->rss_start_bytes + observations->freed_bytes <=
		 bound_bytes(observations, chosen))
		hq_gap_add(findings, name, "too little was freed: all of it might have been kept");
}

const struct hq_checker hq_check_who_frees = {
	.name = name,
	.promise = "resident memory is bounded by what is live, whichever thread frees",
	.needs = "a built-in workload that frees more than may be resident; that threads free each "
		 "other's blocks is up to the scenario",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct who_frees_options),
	.check = check,
};
