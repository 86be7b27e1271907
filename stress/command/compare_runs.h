/* SPDX-License-Identifier: MIT */
/*
 * The runs of a comparison: both sides in pairs, which one goes first drawn for each, until there
 * are enough of them. Sides that are shown beside the two run once after each pair.
 */
#ifndef HQ_STRESS_COMMAND_COMPARE_RUNS_H
#define HQ_STRESS_COMMAND_COMPARE_RUNS_H

#include "stress/compare/claim.h"
#include "stress/compare/comparison.h"
#include "stress/control/folder.h"
#include "stress/control/suite.h"
#include "stress/plan/scenario.h"

/* A, B, and those beside them. */
#define HQ_COMPARE_SIDES (2 + HQ_COMPARE_BESIDE)

/* The plans of A, B, and those beside them; strings are borrowed. */
struct hq_compare_sides {
	struct hq_plan plans[HQ_COMPARE_SIDES];
	size_t count;
};

/* When there are enough pairs. */
struct hq_compare_stop {
	size_t pairs;       /* at most */
	uint64_t budget_ns; /* no new pair after that; 0: no bound, and all pairs are run */
	const struct hq_claim *claims; /* with a budget: whose metrics must be resolved; without any
					  claim CPU time, page faults and peak memory */
	size_t claim_count;
};

/* What became of it. */
struct hq_compare_outcome {
	enum hq_verdict worst; /* of all runs: a comparison with something broken means little */
	char trouble[600];     /* of the first run with that verdict; "" if all is well */
	char doubt[600];       /* of the first run that was inconclusive; "" if there was none */
	/* The same of a side beside the two, which is no trouble of theirs. */
	char beside_trouble[HQ_COMPARE_BESIDE][600];
	char folders[2][HQ_FOLDER_SIZE]; /* of the last run of each side; "": nothing was kept */
	int interrupted_by;              /* 0, SIGINT or SIGTERM */
	uint64_t wall_ns;
};

/*
 * Runs the pairs and enters what was measured: `against` has a comparison with A for each other
 * side, that of B first. Expectations are not judged. 0 or -errno with a sentence.
 */
int hq_compare_runs(const struct hq_compare_sides *sides, const struct hq_compare_stop *stop,
		    const struct hq_suite_settings *settings, struct hq_comparison *against,
		    struct hq_compare_outcome *outcome, struct hq_error *error);

#endif
