/* SPDX-License-Identifier: MIT */
/*
 * A comparison for a reader: as text, and as JSON.
 */
#ifndef HQ_STRESS_COMPARE_TABLE_H
#define HQ_STRESS_COMPARE_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "stress/compare/claim.h"
#include "stress/compare/comparison.h"

/* A change that somebody published of a metric. */
struct hq_compared_claim {
	const char *metric;
	const char *change; /* as text */
};

/* A further side, shown beside A and B. */
struct hq_compared_beside {
	const char *name;
	const struct hq_comparison *comparison; /* of A and this side */
	const char *trouble;                    /* why it has no figures; "" */
};

#define HQ_COMPARED_BESIDE 6

/* What is known beside the numbers; everything is borrowed. */
struct hq_compared {
	const struct hq_comparison *comparison;
	struct hq_compared_beside beside[HQ_COMPARED_BESIDE];
	size_t beside_count;
	const char *scenario;
	const char *side_names[2]; /* what tells A and B apart, as it was asked for */
	const struct hq_claim *claims;
	size_t claim_count;
	const char *source; /* of what was published; "" */
	struct hq_compared_claim published[8];
	size_t published_count;
	bool same_sides; /* A against A: every change that is seen is a false alarm */
	bool verbose;    /* also what stayed the same, and the t-tests in full */
	uint64_t wall_ns;
};

/* 0 or -EIO, -ENOMEM. */
int hq_compared_print(const struct hq_compared *compared, FILE *stream);
int hq_compared_print_json(const struct hq_compared *compared, FILE *stream);

/* The same as a value: a new reference, or NULL without memory. */
json_t *hq_compared_json(const struct hq_compared *compared);

/* A new reference: null for what is no number in JSON. */
json_t *hq_json_number(double value);

/* "insert-scan: 10 pairs, 61 metrics: ..."; returns `text`. */
const char *hq_compared_last_line(const struct hq_compared *compared, char *text, size_t size);

/* 0: all claims hold; 1: one is broken; 4: none is broken, one is open. */
int hq_compared_exit_status(const struct hq_compared *compared);

#endif
