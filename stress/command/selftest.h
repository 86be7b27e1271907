/* SPDX-License-Identifier: MIT */
/*
 * The self-test: bugs planted in an allocator, runs that ought to see them, and the score. Pure:
 * texts and results in, classes and a report out; running them is command_selftest.c.
 *
 *   bug   what the allocator says of it, and which scenario provokes it
 *   seen  what one run of a bug came to
 *   row   a bug with all its runs
 */
#ifndef HQ_STRESS_COMMAND_SELFTEST_H
#define HQ_STRESS_COMMAND_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "injectors/error.h"
#include "stress/report/report.h"

#define HQ_SELFTEST_BUGS 128

/* The class of bugs that leave a run without proof: to be caught by a gap, with no finding at all.
 */
#define HQ_SELFTEST_PROOF "proof"

struct hq_selftest_bug {
	char name[32];
	char contract[24]; /* the class; see HQ_SELFTEST_PROOF */
	char when[24];
	char checker[24]; /* "-": nothing is meant to see it yet */
	char help[128];
	char scenario[64]; /* "": no scenario provokes it */
	uint64_t budget_ns;
	bool quick;
};

struct hq_selftest_bugs {
	struct hq_selftest_bug list[HQ_SELFTEST_BUGS];
	size_t count;
};

enum hq_catch { /* of a run, and of a row */
		HQ_CATCH_INTENDED,
		HQ_CATCH_OTHER,
		HQ_CATCH_LATE, /* seen, but not within the budget */
		HQ_CATCH_MISSED,
		HQ_CATCH_NEVER_FIRED,
		HQ_CATCH_NOT_RUN, /* skipped, or our own error */
		HQ_CATCH_COUNT,
};

/* How often a bug struck in a run, and when first: CLOCK_MONOTONIC. */
struct hq_selftest_fires {
	uint64_t count;
	uint64_t first_ns;
};

struct hq_selftest_seen {
	enum hq_catch catch;
	char checker[24];  /* the intended one if it saw it, else the first that did */
	bool alone;        /* no other checker saw it */
	bool by_event;     /* the finding has a moment of its own; else the verdict's counts */
	uint64_t found_ns; /* from the first strike to the finding */
	uint64_t took_ns;  /* the whole run until its verdict */
};

struct hq_selftest_row {
	const struct hq_selftest_bug *bug;
	size_t runs;
	size_t counts[HQ_CATCH_COUNT];
	enum hq_catch catch;
	char checker[24];           /* of the first run in which something was seen */
	bool alone;                 /* in every run in which it was seen */
	bool by_event;              /* in every run in which it was seen */
	uint64_t found_ns, took_ns; /* the longest */
};

struct hq_selftest_score {
	size_t bugs; /* with a checker */
	size_t rows[HQ_CATCH_COUNT];
	size_t uncovered; /* without a checker */
};

/* What the allocator tells: a line a bug, fields between tabs. 0, or -EINVAL with a sentence. */
int hq_selftest_parse_bugs(const char *text, struct hq_selftest_bugs *bugs, struct hq_error *error);

/*
 * The table of provocations, "bug: [scenario, budget, quick]". Bugs that it does not name keep an
 * empty scenario; a name that is no bug is an error, and so is a bug with a checker and no
 * scenario.
 */
int hq_selftest_read_table(const char *path, struct hq_selftest_bugs *bugs, struct hq_error *error);

/* What a run came to. */
void hq_selftest_classify(const struct hq_selftest_bug *bug, const struct hq_result *result,
			  const struct hq_selftest_fires *fires, struct hq_selftest_seen *seen);

/* Adds a run; then, with all runs there, what the row is: 19 of 20 runs must agree on good news. */
void hq_selftest_add(struct hq_selftest_row *row, const struct hq_selftest_seen *seen);
void hq_selftest_judge(struct hq_selftest_row *row);

void hq_selftest_count(const struct hq_selftest_row *rows, size_t count,
		       struct hq_selftest_score *score);

/* Every bug with a checker was caught, each by the one that is meant for it. */
bool hq_selftest_is_good(const struct hq_selftest_score *score);

/* Of a scenario that ran without any bug: does a catch in it count? */
bool hq_selftest_is_clean(enum hq_verdict verdict, bool has_proof_bug);

/* ---- selftest_report.c ---- */

const char *hq_catch_name(enum hq_catch catch);

/* "mutation score: 41 of 44 caught, ... (seed 42, 58.3 s)"; returns `text`. */
const char *hq_selftest_last_line(const struct hq_selftest_score *score, uint64_t seed,
				  uint64_t wall_ns, char *text, size_t size);

void hq_selftest_write_text(const struct hq_selftest_row *rows, size_t count, uint64_t seed,
			    uint64_t wall_ns, FILE *stream);
int hq_selftest_write_json(const struct hq_selftest_row *rows, size_t count, uint64_t seed,
			   uint64_t wall_ns, FILE *stream); /* 0 or -errno */

#endif
