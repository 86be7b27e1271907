/* SPDX-License-Identifier: MIT */
/*
 * After faults, what the allocator counts as resident is again what the kernel shows: a purge that
 * was refused must be neither forgotten nor counted. Its basis is resident bytes without those that
 * the kernel may take.
 */
#include "stress/check/moments.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "tracking-corrects";

struct tracking_options {
	double within;
	uint64_t slack;
	uint64_t after;
};

static const struct hq_option options_table[] = {
	{ "within", HQ_OPTION_SHARE, offsetof(struct tracking_options, within), "5%", 0, 0, NULL,
	  "by so much the allocator's resident bytes may differ from the kernel's" },
	{ "slack", HQ_OPTION_SIZE, offsetof(struct tracking_options, slack), "2MiB", 0, 0, NULL,
	  "and by so much more" },
	{ "after", HQ_OPTION_DURATION, offsetof(struct tracking_options, after), "200ms", 0, 0,
	  NULL, "how long after the last fault" },
	{ .name = NULL },
};

/* Since the gate opened; false if there was no fault. */
static bool last_fault_ns(const struct hq_observations *observations, uint64_t *last_ns)
{
	*last_ns = 0;
	for (size_t i = 0; i < observations->fault_count; i++) {
		const uint64_t time_ns = observations->faults[i].fault.time_ns;

		if (time_ns > observations->gate_open_ns + *last_ns)
			*last_ns = time_ns - observations->gate_open_ns;
	}
	return observations->fault_count > 0;
}

static bool differs(const struct tracking_options *options, bool is_upper, double own,
		    double kernel)
{
	const double more = own > kernel ? own : kernel;
	const double distance = own > kernel ? own - kernel : kernel - own;

	/* What is only committed may be above what is there, but never below it; and never wraps.
	 */
	if (is_upper && own > kernel && own < (double)INT64_MAX)
		return false;
	return distance > options->within * more + (double)options->slack;
}

/* Numbers of threads that have not ended say nothing yet where they are summed up at the end. */
static bool is_of_use(const struct hq_observations *observations,
		      const struct hq_stats_record *record, uint64_t from_ns)
{
	const bool summed = observations->stats_promises & HQ_STATS_IS_SUMMED;

	return hq_moment_is_quiet(record) && record->time_ns >= from_ns &&
	       hq_moment_knows(record, HQ_STAT_RESIDENT) && (!summed || record->workers == 0);
}

static void report(const struct hq_stats_record *record, uint64_t kernel_bytes,
		   struct hq_findings *findings)
{
	const uint64_t own_bytes = record->values[HQ_STAT_RESIDENT];
	const bool below = (int64_t)own_bytes < 0;
	char own[HQ_UNITS_TEXT], kernel[HQ_UNITS_TEXT];
	struct hq_finding *finding;

	hq_value_print(own, sizeof(own), HQ_UNIT_BYTES, (double)(below ? -own_bytes : own_bytes));
	hq_value_print(kernel, sizeof(kernel), HQ_UNIT_BYTES, (double)kernel_bytes);
	finding = hq_finding_add(findings, name,
				 "after the faults it counts %s%s of resident memory, and the "
				 "kernel %s",
				 below ? "-" : "", own, kernel);
	hq_moment_show(record, finding);
}

/* The last such moment decides: until then it may correct itself. */
static void check(const struct hq_observations *observations, const void *values,
		  struct hq_findings *findings)
{
	const struct tracking_options *options = values;
	const bool is_upper = !(observations->stats_promises & HQ_STATS_IS_TOUCHED);
	const struct hq_stats_record *last = NULL;
	uint64_t fault_ns;

	if (!hq_moments_are_there(observations, name, findings))
		return;
	if (!last_fault_ns(observations, &fault_ns)) {
		hq_gap_add(findings, name, "there was no fault to correct");
		return;
	}
	for (size_t i = 0; i < observations->stats_count; i++) {
		if (is_of_use(observations, &observations->stats[i], fault_ns + options->after))
			last = &observations->stats[i];
	}
	if (!last) {
		hq_gap_add(findings, name,
			   "nothing is known of its resident memory after the last "
			   "fault");
		return;
	}
	const uint64_t kernel = hq_moment_rss_bytes(observations, last);

	if (differs(options, is_upper, (double)last->values[HQ_STAT_RESIDENT], (double)kernel))
		report(last, kernel, findings);
}

const struct hq_checker hq_check_tracking_corrects = {
	.name = name,
	.promise = "after faults the allocator counts as resident what the kernel shows",
	.needs = "statistics of the allocator at a quiet point after the last fault",
	.on_request = true,
	.needs_faults = true,
	.takes = HQ_TAKES_STATS,
	.options = options_table,
	.options_size = sizeof(struct tracking_options),
	.check = check,
};
