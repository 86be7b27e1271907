/* SPDX-License-Identifier: MIT */
/*
 * Threads leave nothing behind: however many came and went, what the process keeps is the same. A
 * thread's cache, its arena and whatever was mapped for it go with it, or go to the next one.
 *
 * What is kept need not be little, nor fall when the process idles; that is another contract. But
 * it may not grow while the same number of threads does the same over and over. Mapped memory is
 * looked at as well as resident memory, since a mapping that is never touched costs nothing until
 * there are too many.
 */
#include <inttypes.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/growth.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "threads-leave-nothing";

struct leave_options {
	uint64_t lives;
	uint64_t resident_bytes;
	uint64_t mapped_bytes;
	uint64_t mappings;
};

#define AT(field) offsetof(struct leave_options, field)

static const struct hq_option options_table[] = {
	{ "lives", HQ_OPTION_COUNT, AT(lives), "200", 1, 0, NULL,
	  "so many threads must have come and gone" },
	{ "resident", HQ_OPTION_SIZE, AT(resident_bytes), "8MiB", 0, 0, NULL,
	  "growth of resident memory from the second to the last quarter of the work" },
	{ "mapped", HQ_OPTION_SIZE, AT(mapped_bytes), "16MiB", 0, 0, NULL,
	  "growth of mapped memory between the same" },
	{ "mappings", HQ_OPTION_COUNT, AT(mappings), "32", 0, 0, NULL,
	  "growth of the number of mappings between the same" },
	{ .name = NULL },
};

/* One thing that may not grow. */
struct kept {
	const char *sentence;
	enum hq_unit unit;
	struct hq_growth growth;
	uint64_t allowed;
};

static void check_kept(const struct hq_observations *observations, const struct kept *kept,
		       struct hq_findings *findings)
{
	char early[32], late[32], allowed[32];

	if (kept->growth.late <= kept->growth.early + kept->allowed)
		return;
	hq_value_print(early, sizeof(early), kept->unit, (double)kept->growth.early);
	hq_value_print(late, sizeof(late), kept->unit, (double)kept->growth.late);
	hq_value_print(allowed, sizeof(allowed), kept->unit, (double)kept->allowed);
	hq_evidence_line(hq_finding_add(findings, name,
					"%s with the threads that ended (%s in the second quarter "
					"of the work, %s in the last, at most %s more allowed)",
					kept->sentence, early, late, allowed),
			 "%" PRIu64 " threads came and went", observations->lives);
}

static void check_growth(const struct hq_observations *observations,
			 const struct leave_options *options, struct hq_findings *findings)
{
	struct kept resident = { .sentence = "resident memory grows",
				 .unit = HQ_UNIT_BYTES,
				 .allowed = options->resident_bytes };
	struct kept mapped = { .sentence = "mapped memory grows",
			       .unit = HQ_UNIT_BYTES,
			       .allowed = options->mapped_bytes };
	struct kept mappings = { .sentence = "mappings become more",
				 .unit = HQ_UNIT_COUNT,
				 .allowed = options->mappings };

	if (!hq_growth_resident(observations, &resident.growth) ||
	    !hq_growth_space(observations, offsetof(struct hq_space, mapped_bytes),
			     &mapped.growth) ||
	    !hq_growth_space(observations, offsetof(struct hq_space, mappings), &mappings.growth)) {
		hq_gap_add(findings, name, "the work was too short to say whether memory grows");
		return;
	}
	check_kept(observations, &resident, findings);
	check_kept(observations, &mapped, findings);
	check_kept(observations, &mappings, findings);
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct leave_options *const chosen = options;

	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (observations->lives < chosen->lives)
		hq_gap_add(findings, name,
			   "too few threads came and went (%" PRIu64 " of %" PRIu64 ")",
			   observations->lives, chosen->lives);
	else
		check_growth(observations, chosen, findings);
}

const struct hq_checker hq_check_threads_leave_nothing = {
	.name = name,
	.promise = "what the process keeps does not depend on how many threads came and went",
	.needs = "a workload whose threads come and go for about a second: thread-lives",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct leave_options),
	.check = check,
};
