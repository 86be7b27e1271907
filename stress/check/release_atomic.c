/* SPDX-License-Identifier: MIT */
/*
 * A failed release is atomic: a range that the kernel would not take back (munmap, or a purge by
 * madvise) stays known to the allocator, to be used again, purged or offered once more. When the
 * refusals are over, everything was freed and the time of decay has passed, nothing of such a range
 * is resident any more, unless it was forgotten.
 *
 * The ranges are those of the refused calls themselves, and what is resident of them is counted
 * page by page. LazyFree of the whole process is taken off, since pages do not tell whether they
 * are lazily free. A cache that lies in such a range looks like something forgotten: the contract
 * is for blocks that are too large to be cached.
 */
#include <inttypes.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/settled.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "release-atomic";

struct release_atomic_options {
	double keep;
	uint64_t slack_bytes;
	uint64_t within_ns;
};

#define AT(field) offsetof(struct release_atomic_options, field)

static const struct hq_option options_table[] = {
	{ "keep", HQ_OPTION_SHARE, AT(keep), "10%", 0, 0, NULL,
	  "share of the refused ranges that may be resident in the end: used for something else" },
	{ "slack", HQ_OPTION_SIZE, AT(slack_bytes), "2MiB", 0, 0, NULL,
	  "what may be resident of them besides" },
	{ "within", HQ_OPTION_DURATION, AT(within_ns), "1s", 0, 0, NULL,
	  "time after everything was freed" },
	{ .name = NULL },
};

static uint64_t lost_bytes(const struct hq_observations *observations)
{
	const uint64_t resident = observations->refused.resident_bytes;
	const uint64_t lazy =
		observations->quiet_count
			? observations->quiet[observations->quiet_count - 1].lazyfree_bytes
			: 0;

	return resident > lazy ? resident - lazy : 0;
}

static void add_range(const struct hq_observations *observations,
		      const struct hq_refused_range *range, struct hq_finding *finding)
{
	char bytes[32], resident[32], since[HQ_UNITS_TEXT];

	if (!range->resident_bytes)
		return;
	hq_value_print(bytes, sizeof(bytes), HQ_UNIT_BYTES, (double)range->bytes);
	hq_value_print(resident, sizeof(resident), HQ_UNIT_BYTES, (double)range->resident_bytes);
	hq_evidence_line(finding, "0x%" PRIx64 ", %s: last refused %s (%s), %s still resident",
			 range->address, bytes, hq_since_gate(observations, range->last_ns, since),
			 hq_call_name((enum hq_call)range->call), resident);
}

static void add_finding(const struct hq_observations *observations, uint64_t allowed_bytes,
			struct hq_findings *findings)
{
	const struct hq_refused *const refused = &observations->refused;
	char lost[32], all[32], allowed[32];
	struct hq_finding *finding;

	hq_value_print(lost, sizeof(lost), HQ_UNIT_BYTES, (double)lost_bytes(observations));
	hq_value_print(all, sizeof(all), HQ_UNIT_BYTES, (double)refused->bytes);
	hq_value_print(allowed, sizeof(allowed), HQ_UNIT_BYTES, (double)allowed_bytes);
	finding = hq_finding_add(findings, name,
				 "memory that the kernel would not take back was forgotten "
				 "(%s of %s still resident, %s allowed)",
				 lost, all, allowed);
	hq_evidence_line(finding, "%" PRIu64 " calls were refused, for %" PRIu64 " ranges",
			 refused->calls, refused->ranges);
	for (size_t i = 0; i < HQ_REFUSED_SHOWN; i++)
		add_range(observations, &refused->worst[i], finding);
}

static void check_reading(const struct hq_observations *observations,
			  const struct release_atomic_options *options,
			  struct hq_findings *findings)
{
	const struct hq_refused *const refused = &observations->refused;
	const uint64_t allowed_bytes =
		options->slack_bytes + (uint64_t)(options->keep * (double)refused->bytes);

	if (lost_bytes(observations) > allowed_bytes)
		add_finding(observations, allowed_bytes, findings);
	else if (refused->bytes_unread || observations->faults_dropped)
		hq_gap_add(findings, name, "not every range that was refused was looked at");
	else
		hq_settled_check_late(observations, name, options->within_ns, findings);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct release_atomic_options *const chosen = options;

	if (!hq_settled_reading(observations, name, chosen->within_ns, findings))
		return;
	if (!observations->refused.was_read)
		hq_gap_add(findings, name, "the target's pages could not be read");
	else if (observations->refused.calls)
		check_reading(observations, chosen, findings);
	else
		hq_gap_add(findings, name, "no call that gives memory back was refused");
}

static uint64_t idle_ns(const void *options)
{
	return ((const struct release_atomic_options *)options)->within_ns;
}

const struct hq_checker hq_check_release_atomic = {
	.name = name,
	.promise = "memory that the kernel would not take back stays known, and is not kept",
	.needs = "rules that refuse munmap or madvise for a while, a built-in workload with blocks "
		 "too large for caches, and idle time",
	.on_request = true,
	.needs_faults = true,
	.options = options_table,
	.options_size = sizeof(struct release_atomic_options),
	.idle_ns = idle_ns,
	.check = check,
};
