/* SPDX-License-Identifier: MIT */
/*
 * Address space follows what is live: what a freed block had is used again or given back. Resident
 * memory does not show it, since untouched and purged pages cost none; limits on address space, the
 * number of mappings and page tables do.
 *
 * Reservations are no leak: each thread may have some, and the whole may be a multiple of what was
 * live at one time. What grows with the number of frees goes beyond any such bound.
 */
#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "space-bounded";

#define GROWTH_SHOWN 6

struct space_bounded_options {
	uint64_t times;
	uint64_t per_thread_bytes;
	uint64_t slack_bytes;
};

#define AT(field) offsetof(struct space_bounded_options, field)

static const struct hq_option options_table[] = {
	{ "times", HQ_OPTION_COUNT, AT(times), "4", 1, 1000, NULL,
	  "how many times what was live at the peak may be mapped" },
	{ "per-thread", HQ_OPTION_SIZE, AT(per_thread_bytes), "128MiB", 0, 0, NULL,
	  "reserved for each thread" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "256MiB", 0, 0, NULL, "reserved once" },
	{ .name = NULL },
};

static uint64_t grown_bytes(const struct hq_observations *observations)
{
	const uint64_t start = observations->space_start.space_bytes;
	const uint64_t peak = observations->space_peak.space_bytes;

	return peak > start ? peak - start : 0;
}

static uint64_t bound_bytes(const struct hq_observations *observations,
			    const struct space_bounded_options *options)
{
	return options->times * observations->requested_peak_bytes +
	       options->per_thread_bytes * observations->space_peak.threads + options->slack_bytes;
}

/* The course of it, a few readings from start to end. */
static void add_course(const struct hq_observations *observations, struct hq_finding *finding)
{
	const size_t count = observations->space_count;
	const size_t step = count > GROWTH_SHOWN ? count / GROWTH_SHOWN : 1;

	for (size_t i = 0; i < count; i += step) {
		const struct hq_space_sample *const sample = &observations->spaces[i];
		char when[32], space[32], mapped[32];

		hq_value_print(when, sizeof(when), HQ_UNIT_NS, (double)sample->time_ns);
		hq_value_print(space, sizeof(space), HQ_UNIT_BYTES,
			       (double)sample->space.space_bytes);
		hq_value_print(mapped, sizeof(mapped), HQ_UNIT_BYTES,
			       (double)sample->space.mapped_bytes);
		hq_evidence_line(finding, "+%s: address space %s, %s of it private memory", when,
				 space, mapped);
	}
}

static void add_finding(const struct hq_observations *observations,
			const struct space_bounded_options *options, struct hq_findings *findings)
{
	char grown[32], bound[32], live[32];

	hq_value_print(grown, sizeof(grown), HQ_UNIT_BYTES, (double)grown_bytes(observations));
	hq_value_print(bound, sizeof(bound), HQ_UNIT_BYTES,
		       (double)bound_bytes(observations, options));
	hq_value_print(live, sizeof(live), HQ_UNIT_BYTES,
		       (double)observations->requested_peak_bytes);
	add_course(observations, hq_finding_add(findings, name,
						"address space of freed blocks is not used again "
						"(grown by %s with at most %s live, %s allowed)",
						grown, live, bound));
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct space_bounded_options *const chosen = options;

	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (!observations->is_host)
		hq_gap_add(findings, name, "only of a built-in workload is known what is live");
	else if (!observations->space_start.mappings || !observations->space_count)
		hq_gap_add(findings, name, "the target's address space was not read");
	else if (grown_bytes(observations) > bound_bytes(observations, chosen))
		add_finding(observations, chosen, findings);
	else if (observations->freed_bytes <= bound_bytes(observations, chosen))
		hq_gap_add(findings, name,
			   "too little was freed: none of it need have been used again");
}

const struct hq_checker hq_check_space_bounded = {
	.name = name,
	.promise = "address space is bounded by what is live, whatever was freed before",
	.needs = "a built-in workload that frees more than may be mapped",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct space_bounded_options),
	.check = check,
};
