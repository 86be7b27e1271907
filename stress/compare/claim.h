/* SPDX-License-Identifier: MIT */
/*
 * What somebody claims of a comparison: "faults.minor <= -30%": B has at least 30 % fewer page
 * faults than A. A claim is held against the whole confidence interval: what the runs cannot tell
 * is said to be open, neither kept nor broken.
 */
#ifndef HQ_STRESS_COMPARE_CLAIM_H
#define HQ_STRESS_COMPARE_CLAIM_H

#include "injectors/error.h"
#include "stress/compare/comparison.h"

struct hq_claim {
	char text[120]; /* as written */
	char metric[72];
	bool at_most; /* else: at least */
	double bound; /* of the relative change: -0.3 */
};

enum hq_claim_verdict {
	HQ_CLAIM_HOLDS,  /* for all of the interval */
	HQ_CLAIM_BROKEN, /* for none of it */
	HQ_CLAIM_OPEN,   /* the bound lies within, or the metric was not seen */
};

/* "METRIC <= PERCENT" or ">="; the metric must exist. 0, or -EINVAL with a sentence. */
int hq_claim_parse(const char *text, bool is_host, struct hq_claim *claim, struct hq_error *error);

/* `sentence` says what was measured. */
enum hq_claim_verdict hq_claim_judge(const struct hq_claim *claim,
				     const struct hq_comparison *comparison,
				     struct hq_error *sentence);

const char *hq_claim_verdict_name(enum hq_claim_verdict verdict); /* "holds", "broken", "open" */

#endif
