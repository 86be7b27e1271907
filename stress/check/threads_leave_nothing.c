/* SPDX-License-Identifier: MIT */
/*
 * Threads leave nothing behind: however many came and went, what the process keeps is the same. A
 * thread's cache, its arena and whatever was mapped for it go with it, or go to the next one.
 *
 * Two things are looked at. Resident memory, when everything was freed: what threads forgot is no
 * longer anybody's. And what is mapped while they come and go, since a mapping that is never
 * touched costs no resident memory, and still the process ends when there are too many.
 */
#include <inttypes.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/settled.h"
#include "stress/check/growth.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "threads-leave-nothing";

struct leave_options {
	uint64_t lives;
	uint64_t within_ns;
	uint64_t slack_bytes;
	uint64_t mapped_bytes;
	uint64_t mappings;
};

#define AT(field) offsetof(struct leave_options, field)

static const struct hq_option options_table[] = {
	{ "lives", HQ_OPTION_COUNT, AT(lives), "200", 1, 0, NULL,
	  "so many threads must have come and gone" },
	{ "within", HQ_OPTION_DURATION, AT(within_ns), "1s", 0, 0, NULL,
	  "time after everything was freed" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "8MiB", 0, 0, NULL,
	  "what may be resident then, over what was before the work" },
	{ "mapped", HQ_OPTION_SIZE, AT(mapped_bytes), "8MiB", 0, 0, NULL,
	  "growth of mapped memory from the second to the last quarter of the work" },
	{ "mappings", HQ_OPTION_COUNT, AT(mappings), "32", 0, 0, NULL,
	  "growth of the number of mappings between the same" },
	{ .name = NULL },
};

static void add_lives(const struct hq_observations *observations, struct hq_finding *finding)
{
	hq_evidence_line(finding, "%" PRIu64 " threads came and went", observations->lives);
}

/* False when something was found. */
static bool check_resident(const struct hq_observations *observations,
			   const struct leave_options *options, const struct hq_quiet *quiet,
			   struct hq_findings *findings)
{
	const uint64_t bound_bytes = observations->rss_start_bytes + options->slack_bytes;
	char kept[32], bound[32], after[32];
	struct hq_finding *finding;

	if (hq_settled_kept_bytes(quiet) <= bound_bytes)
		return true;
	hq_value_print(kept, sizeof(kept), HQ_UNIT_BYTES, (double)hq_settled_kept_bytes(quiet));
	hq_value_print(bound, sizeof(bound), HQ_UNIT_BYTES, (double)bound_bytes);
	finding = hq_finding_add(findings, name,
				 "threads that ended left memory behind "
				 "(%s resident %s after everything was freed, %s allowed)",
				 kept, hq_settled_after(observations, quiet, after), bound);
	add_lives(observations, finding);
	hq_settled_evidence(observations, finding);
	return false;
}

static void check_mapped(const struct hq_observations *observations,
			 const struct leave_options *options, const struct hq_growth *growth,
			 struct hq_findings *findings)
{
	char early[32], late[32], allowed[32];

	if (growth->late <= growth->early + options->mapped_bytes)
		return;
	hq_value_print(early, sizeof(early), HQ_UNIT_BYTES, (double)growth->early);
	hq_value_print(late, sizeof(late), HQ_UNIT_BYTES, (double)growth->late);
	hq_value_print(allowed, sizeof(allowed), HQ_UNIT_BYTES, (double)options->mapped_bytes);
	add_lives(observations,
		  hq_finding_add(findings, name,
				 "mapped memory grows with the threads that ended "
				 "(%s in the second quarter of the work, %s in the last, at most "
				 "%s more allowed)",
				 early, late, allowed));
}

static void check_mappings(const struct hq_observations *observations,
			   const struct leave_options *options, const struct hq_growth *growth,
			   struct hq_findings *findings)
{
	if (growth->late <= growth->early + options->mappings)
		return;
	add_lives(observations,
		  hq_finding_add(findings, name,
				 "mappings become more with the threads that ended "
				 "(%" PRIu64 " in the second quarter of the work, %" PRIu64
				 " in the last, at most %" PRIu64 " more allowed)",
				 growth->early, growth->late, options->mappings));
}

static void check_growth(const struct hq_observations *observations,
			 const struct leave_options *options, struct hq_findings *findings)
{
	struct hq_growth mapped, mappings;

	if (!hq_growth_space(observations, offsetof(struct hq_space, mapped_bytes), &mapped) ||
	    !hq_growth_space(observations, offsetof(struct hq_space, mappings), &mappings)) {
		hq_gap_add(findings, name,
			   "the work was too short to say whether mapped memory grows");
		return;
	}
	check_mapped(observations, options, &mapped, findings);
	check_mappings(observations, options, &mappings, findings);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct leave_options *const chosen = options;
	const struct hq_quiet *quiet;

	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (observations->lives < chosen->lives) {
		hq_gap_add(findings, name,
			   "too few threads came and went (%" PRIu64 " of %" PRIu64 ")",
			   observations->lives, chosen->lives);
		return;
	}
	check_growth(observations, chosen, findings);
	quiet = hq_settled_reading(observations, name, chosen->within_ns, findings);
	if (quiet && check_resident(observations, chosen, quiet, findings))
		hq_settled_check_late(observations, name, chosen->within_ns, findings);
}

static uint64_t idle_ns(const void *options)
{
	return ((const struct leave_options *)options)->within_ns;
}

const struct hq_checker hq_check_threads_leave_nothing = {
	.name = name,
	.promise = "what the process keeps does not depend on how many threads came and went",
	.needs = "a workload whose threads come and go for about a second: thread-lives",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct leave_options),
	.idle_ns = idle_ns,
	.check = check,
};
