/* SPDX-License-Identifier: MIT */
/*
 * The self-test for a reader: a line a bug, what each checker alone stands for, and the score.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/check/value.h"
#include "stress/command/selftest.h"

static const char *const names[HQ_CATCH_COUNT] = {
	[HQ_CATCH_INTENDED] = "caught",         [HQ_CATCH_OTHER] = "caught by another",
	[HQ_CATCH_LATE] = "caught too late",    [HQ_CATCH_MISSED] = "MISSED",
	[HQ_CATCH_NEVER_FIRED] = "never fired", [HQ_CATCH_NOT_RUN] = "not run",
};

const char *hq_catch_name(enum hq_catch catch)
{
	return names[catch];
}

const char *hq_selftest_last_line(const struct hq_selftest_score *score, uint64_t seed,
				  uint64_t wall_ns, char *text, size_t size)
{
	const size_t *rows = score->rows;
	char took[32];

	hq_value_print(took, sizeof(took), HQ_UNIT_NS, (double)wall_ns);
	snprintf(text, size,
		 "mutation score: %zu of %zu caught, %zu by the intended checker, %zu missed, "
		 "%zu too late, %zu never fired, %zu not run; %zu without a checker (seed %" PRIu64
		 ", %s)",
		 rows[HQ_CATCH_INTENDED] + rows[HQ_CATCH_OTHER], score->bugs,
		 rows[HQ_CATCH_INTENDED], rows[HQ_CATCH_MISSED], rows[HQ_CATCH_LATE],
		 rows[HQ_CATCH_NEVER_FIRED], rows[HQ_CATCH_NOT_RUN], score->uncovered, seed, took);
	return text;
}

/* "caught by another: content", "MISSED", "caught 19 of 20". */
static void describe(const struct hq_selftest_row *row, char *text, size_t size)
{
	const size_t good = row->counts[HQ_CATCH_INTENDED] + row->counts[HQ_CATCH_OTHER];
	char share[32] = "";

	if (row->runs > 1)
		snprintf(share, sizeof(share), ", %zu of %zu", good, row->runs);
	snprintf(text, size, "%s%s%s%s", hq_catch_name(row->catch),
		 row->catch == HQ_CATCH_OTHER ? ": " : "",
		 row->catch == HQ_CATCH_OTHER ? row->checker : "", share);
}

/* "event 1.2 ms": from the first strike, and which clock stopped. */
static void describe_moment(const struct hq_selftest_row *row, char *text, size_t size)
{
	char after[32];

	if (!row->checker[0])
		return;
	hq_value_print(after, sizeof(after), HQ_UNIT_NS, (double)row->found_ns);
	snprintf(text, size, "%s %s", row->by_event ? "event" : "verdict", after);
}

static void write_row(const struct hq_selftest_row *row, FILE *stream)
{
	char took[32] = "", found[48] = "", outcome[80];

	if (strcmp(row->bug->checker, "-") == 0 && row->catch > HQ_CATCH_OTHER) {
		fprintf(stream, "%-20s %-11s %-20s %-21s no checker yet\n", row->bug->name,
			row->bug->contract, row->bug->when, "-");
		return;
	}
	hq_value_print(took, sizeof(took), HQ_UNIT_NS, (double)row->took_ns);
	describe(row, outcome, sizeof(outcome));
	describe_moment(row, found, sizeof(found));
	fprintf(stream, "%-20s %-11s %-20s %-21s %-28s %9s %18s\n", row->bug->name,
		row->bug->contract, row->bug->when, row->bug->checker, outcome, took, found);
}

/* How many bugs this checker saw at all, and how many nobody else saw. */
static void write_checker(const char *name, const struct hq_selftest_row *rows, size_t count,
			  FILE *stream)
{
	size_t caught = 0, alone = 0;

	for (size_t i = 0; i < count; i++) {
		const bool is_caught =
			rows[i].catch <= HQ_CATCH_OTHER && strcmp(rows[i].checker, name) == 0;

		caught += is_caught;
		alone += is_caught && rows[i].alone;
	}
	fprintf(stream, "  %-21s %3zu, of them %zu that no other checker saw\n", name, caught,
		alone);
}

static void write_checkers(const struct hq_selftest_row *rows, size_t count, FILE *stream)
{
	fputs("\nbugs caught by each checker:\n", stream);
	for (const struct hq_checker *const *checker = hq_checkers; *checker; checker++)
		write_checker((*checker)->name, rows, count, stream);
	write_checker("expect", rows, count, stream);
}

void hq_selftest_write_text(const struct hq_selftest_row *rows, size_t count, uint64_t seed,
			    uint64_t wall_ns, FILE *stream)
{
	struct hq_selftest_score score;
	char line[300];

	fprintf(stream, "%-20s %-11s %-20s %-21s %-28s %9s %18s\n", "bug", "class", "fires",
		"checker", "outcome", "run", "found after");
	for (size_t i = 0; i < count; i++)
		write_row(&rows[i], stream);
	write_checkers(rows, count, stream);
	hq_selftest_count(rows, count, &score);
	fprintf(stream, "\n%s\n", hq_selftest_last_line(&score, seed, wall_ns, line, sizeof(line)));
}

static json_t *row_object(const struct hq_selftest_row *row)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:I, s:I, s:I, s:I, s:s}", "bug",
			 row->bug->name, "class", row->bug->contract, "when", row->bug->when,
			 "intended", row->bug->checker, "scenario", row->bug->scenario, "outcome",
			 hq_catch_name(row->catch), "caught_by", row->checker, "alone", row->alone,
			 "runs", (json_int_t)row->runs, "runs_caught",
			 (json_int_t)(row->counts[HQ_CATCH_INTENDED] + row->counts[HQ_CATCH_OTHER]),
			 "verdict_after_ns", (json_int_t)row->took_ns, "found_after_ns",
			 (json_int_t)row->found_ns, "found_by",
			 !row->checker[0] ? ""
			 : row->by_event  ? "event"
					  : "verdict");
}

int hq_selftest_write_json(const struct hq_selftest_row *rows, size_t count, uint64_t seed,
			   uint64_t wall_ns, FILE *stream)
{
	struct hq_selftest_score score;
	json_t *list = json_array();
	json_t *root;
	int status;

	hq_selftest_count(rows, count, &score);
	for (size_t i = 0; list && i < count; i++)
		json_array_append_new(list, row_object(&rows[i]));
	root = json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:o}", "schema_version", 1, "seed",
			 (json_int_t)seed, "wall_ns", (json_int_t)wall_ns, "bugs",
			 (json_int_t)score.bugs, "caught",
			 (json_int_t)(score.rows[HQ_CATCH_INTENDED] + score.rows[HQ_CATCH_OTHER]),
			 "intended", (json_int_t)score.rows[HQ_CATCH_INTENDED], "rows", list);
	status = root && json_dumpf(root, stream, JSON_INDENT(2)) == 0 ? 0 : -EIO;
	json_decref(root);
	fputc('\n', stream);
	return status;
}
