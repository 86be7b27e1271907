/* SPDX-License-Identifier: MIT */
/*
 * A comparison as text: what each side measured, as perf stat shows it; then what differs, with
 * interval and chance; then parts by metric; then the claims. Medians stand where the test is one
 * of ranks, means elsewhere.
 */
#include "stress/compare/table.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "stress/check/value.h"
#include "stress/compare/groups.h"

#define BESIDE_WIDTH 20 /* a figure and its change */

static const char *const side_letters[] = { [HQ_SIDE_A] = "A", [HQ_SIDE_B] = "B" };

/* What perf stat would show: work that was done, not what it felt like. */
static bool is_counter(const struct hq_series_of_pairs *series)
{
	static const char *const rooms[] = { "cpu.",      "faults.",   "hardware.", "perf.",
					     "switches.", "syscalls.", "time.",     NULL };

	for (const char *const *room = rooms; *room && !series->part[0]; room++) {
		if (!strncmp(series->metric, *room, strlen(*room)))
			return true;
	}
	return false;
}

static void put_side(const struct hq_compared *compared, enum hq_side side, FILE *stream)
{
	const struct hq_comparison *comparison = compared->comparison;

	fprintf(stream, " %s (%s), %zu runs:\n\n", side_letters[side], compared->side_names[side],
		comparison->pairs);
	for (size_t i = 0; i < comparison->count; i++) {
		const struct hq_series_of_pairs *series = &comparison->series[i];
		const struct hq_moments *moments = side == HQ_SIDE_A ? &series->difference.welch.a
								     : &series->difference.welch.b;
		const double share = moments->mean ? moments->deviation / fabs(moments->mean) : 0.0;
		char value[40];

		if (is_counter(series))
			fprintf(stream, "%16s  %-24s ( +- %5.2f%% )\n",
				hq_value_print(value, sizeof(value), series->unit, moments->mean),
				series->metric, 100.0 * share);
	}
	fputc('\n', stream);
}

static const char *print_chance(char text[16], double chance)
{
	snprintf(text, 16, chance < 0.0001 ? "<0.0001" : "%.4f", chance);
	return text;
}

/* "-51.2 %", or how often it is as much. */
static const char *print_change(char text[24], double change)
{
	if (!isfinite(change))
		snprintf(text, 24, "%s", change > 0 ? "from 0" : change < 0 ? "below 0" : "?");
	else if (change >= 9.0)
		snprintf(text, 24, "%.1f x", change + 1.0);
	else
		snprintf(text, 24, "%+.1f %%", 100.0 * change);
	return text;
}

static void put_difference(const struct hq_series_of_pairs *series, FILE *stream)
{
	const struct hq_difference *difference = &series->difference;
	char a[40], b[40], change[24], low[24], high[24], interval[52], p[16], q[16];

	snprintf(interval, sizeof(interval), "%s to %s", print_change(low, difference->low),
		 print_change(high, difference->high));
	fprintf(stream, "  %-26s %11s %11s %9s  %-22s %-8s %-8s %s\n", series->metric,
		hq_value_print(a, sizeof(a), series->unit, difference->a),
		hq_value_print(b, sizeof(b), series->unit, difference->b),
		print_change(change, difference->relative), interval,
		print_chance(p, difference->p), print_chance(q, difference->q),
		hq_change_name(difference->change));
}

static bool is_shown(const struct hq_compared *compared, const struct hq_series_of_pairs *series)
{
	return !series->part[0] &&
	       (compared->verbose || series->difference.change != HQ_CHANGE_SAME);
}

static void put_differences(const struct hq_compared *compared, FILE *stream)
{
	const struct hq_comparison *comparison = compared->comparison;
	size_t same = 0;

	fprintf(stream, "  %-26s %11s %11s %9s  %-22s %-8s %-8s\n", "metric", "A", "B", "change",
		"95 % interval", "p", "q");
	for (size_t i = 0; i < comparison->count; i++) {
		const struct hq_series_of_pairs *series = &comparison->series[i];

		if (is_shown(compared, series))
			put_difference(series, stream);
		same += !series->part[0] && series->difference.change == HQ_CHANGE_SAME;
	}
	fprintf(stream, "  %zu metric%s the same to within %.3g %%%s\n\n", same,
		same == 1 ? " is" : "s are", 100.0 * comparison->resolution,
		same && !compared->verbose ? " (-v shows them)" : "");
}

/* ---- sides beside the two ---- */

/* What somebody who chooses between many would look at. */
static bool is_of_interest(const struct hq_compared *compared,
			   const struct hq_series_of_pairs *series)
{
	return !series->part[0] &&
	       (compared->verbose || is_counter(series) || !strcmp(series->metric, "rss.peak") ||
		!strcmp(series->metric, "rss.median"));
}

static const struct hq_series_of_pairs *find_beside(const struct hq_compared_beside *beside,
						    const char *metric)
{
	return beside->trouble[0] ? NULL : hq_comparison_find(beside->comparison, metric);
}

static void put_beside_row(const struct hq_compared *compared,
			   const struct hq_series_of_pairs *series, FILE *stream)
{
	char text[40], change[24];

	fprintf(stream, "  %-26s %11s %11s", series->metric,
		hq_value_print(text, sizeof(text), series->unit, series->difference.a),
		hq_value_print(change, sizeof(change), series->unit, series->difference.b));
	for (size_t i = 0; i < compared->beside_count; i++) {
		const struct hq_series_of_pairs *one =
			find_beside(&compared->beside[i], series->metric);
		const bool is_sure = one && (one->difference.change == HQ_CHANGE_LOWER ||
					     one->difference.change == HQ_CHANGE_HIGHER);

		fprintf(stream, "  %10s %9s%s",
			one ? hq_value_print(text, sizeof(text), one->unit, one->difference.b)
			    : "-",
			one ? print_change(change, one->difference.relative) : "",
			is_sure ? "*" : " ");
	}
	fputc('\n', stream);
}

/* The end of a name tells more than its beginning: "workload.statistics=off". */
static const char *end_of(const char *name)
{
	const size_t length = strlen(name);

	return length > BESIDE_WIDTH ? name + length - BESIDE_WIDTH : name;
}

static void put_beside(const struct hq_compared *compared, FILE *stream)
{
	const struct hq_comparison *comparison = compared->comparison;

	if (!compared->beside_count)
		return;
	fprintf(stream, "  %-26s %11s %11s", "beside them", "A", "B");
	for (size_t i = 0; i < compared->beside_count; i++)
		fprintf(stream, "  %*s ", BESIDE_WIDTH, end_of(compared->beside[i].name));
	fputc('\n', stream);
	for (size_t i = 0; i < comparison->count; i++) {
		if (is_of_interest(compared, &comparison->series[i]))
			put_beside_row(compared, &comparison->series[i], stream);
	}
	fputs("  changes are against A; * q is at most 0.05 among those of that side\n", stream);
	for (size_t i = 0; i < compared->beside_count; i++) {
		if (compared->beside[i].trouble[0])
			fprintf(stream, "  %s has no figures: %s\n", compared->beside[i].name,
				compared->beside[i].trouble);
	}
	fputc('\n', stream);
}

/* As R prints them. */
static void put_tests(const struct hq_compared *compared, FILE *stream)
{
	const struct hq_comparison *comparison = compared->comparison;

	for (size_t i = 0; compared->verbose && i < comparison->count; i++) {
		const struct hq_welch *test = &comparison->series[i].difference.welch;

		if (comparison->series[i].part[0] ||
		    comparison->series[i].difference.test != HQ_TEST_WELCH)
			continue;
		fprintf(stream,
			"  %s, Welch two sample t-test\n"
			"    t = %.5g, df = %.5g, p-value = %.4g\n"
			"    %g percent confidence interval of the difference: %.6g to %.6g\n"
			"    mean of A %.6g, mean of B %.6g\n",
			comparison->series[i].metric, test->t, test->freedom, test->p,
			100.0 * comparison->confidence, test->low, test->high, test->a.mean,
			test->b.mean);
	}
}

/* ---- parts ---- */

/* Each metric once, at its first part. */
static bool is_first_of_parts(const struct hq_comparison *comparison, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (comparison->series[i].part[0] &&
		    !strcmp(comparison->series[i].metric, comparison->series[index].metric))
			return false;
	}
	return comparison->series[index].part[0] != '\0';
}

static void put_summary(const struct hq_part_summary *summary, FILE *stream)
{
	char min[24], median[24], max[24], average[24], change[24];

	fprintf(stream, "  %-18s %4zu of %-4zu %5zu %9s %9s %9s %9s  ", summary->metric,
		summary->changed, summary->parts, summary->unstable,
		print_change(min, summary->min), print_change(median, summary->median),
		print_change(max, summary->max), print_change(average, summary->average));
	for (size_t i = 0; i < summary->most_count; i++)
		fprintf(stream, "%s%s %s", i ? ", " : "", summary->most[i].name,
			print_change(change, summary->most[i].change));
	fputc('\n', stream);
}

static void put_parts(const struct hq_compared *compared, FILE *stream)
{
	const struct hq_comparison *comparison = compared->comparison;
	bool any = false;

	for (size_t i = 0; i < comparison->count; i++) {
		struct hq_part_summary summary;

		if (!is_first_of_parts(comparison, i) ||
		    !hq_groups_sum(comparison, comparison->series[i].metric, &summary))
			continue;
		if (!any)
			fprintf(stream, "  %-18s %-12s %5s %9s %9s %9s %9s  %s\n", "of all queries",
				"changed", "loose", "min", "median", "max", "average",
				"groups most changed");
		put_summary(&summary, stream);
		any = true;
	}
	if (any)
		fputc('\n', stream);
}

/* ---- claims ---- */

static void put_claims(const struct hq_compared *compared, FILE *stream)
{
	for (size_t i = 0; i < compared->claim_count; i++) {
		struct hq_error sentence;
		const enum hq_claim_verdict verdict =
			hq_claim_judge(&compared->claims[i], compared->comparison, &sentence);

		fprintf(stream, "  %s: %s: %s\n", hq_claim_verdict_name(verdict),
			compared->claims[i].text, sentence.text);
	}
}

/* Published and measured, side by side. */
static void put_published(const struct hq_compared *compared, FILE *stream)
{
	if (compared->published_count)
		fprintf(stream, "  %-26s %16s %16s   %s\n", "", "published", "measured",
			"95 % interval");
	for (size_t i = 0; i < compared->published_count; i++) {
		const struct hq_compared_claim *one = &compared->published[i];
		const struct hq_series_of_pairs *series =
			hq_comparison_find(compared->comparison, one->metric);
		char change[24], low[24], high[24];

		if (!series) {
			fprintf(stream, "  %-26s %16s %16s\n", one->metric, one->change,
				"not seen");
			continue;
		}
		fprintf(stream, "  %-26s %16s %16s   %s to %s\n", one->metric, one->change,
			print_change(change, series->difference.relative),
			print_change(low, series->difference.low),
			print_change(high, series->difference.high));
	}
	if (compared->published_count)
		fprintf(stream, "  published: %s\n\n", compared->source);
}

int hq_compared_exit_status(const struct hq_compared *compared)
{
	int status = 0;

	for (size_t i = 0; i < compared->claim_count; i++) {
		struct hq_error ignored;
		const enum hq_claim_verdict verdict =
			hq_claim_judge(&compared->claims[i], compared->comparison, &ignored);

		if (verdict == HQ_CLAIM_BROKEN)
			return 1;
		if (verdict == HQ_CLAIM_OPEN)
			status = 4;
	}
	return status;
}

/* Of the whole work and of parts together. */
static size_t count_of(const struct hq_comparison *comparison, enum hq_change change)
{
	size_t count = 0;

	for (size_t i = 0; i < comparison->count; i++)
		count += comparison->series[i].difference.change == change;
	return count;
}

/* The change that would have been seen in half of the metrics, and the largest of all. */
static void put_noise(const struct hq_compared *compared, FILE *stream)
{
	const struct hq_comparison *comparison = compared->comparison;

	fputs("  noise floor: half the interval's width; a change below it would be missed\n",
	      stream);
	for (size_t i = 0; i < comparison->count; i++) {
		const struct hq_series_of_pairs *series = &comparison->series[i];

		if (!series->part[0])
			fprintf(stream, "    %-26s %6.2f %%\n", series->metric,
				100.0 * hq_difference_reach(&series->difference));
	}
	fputc('\n', stream);
}

const char *hq_compared_last_line(const struct hq_compared *compared, char *text, size_t size)
{
	const struct hq_comparison *comparison = compared->comparison;
	const size_t lower = count_of(comparison, HQ_CHANGE_LOWER);
	const size_t higher = count_of(comparison, HQ_CHANGE_HIGHER);
	char alarms[48] = "";

	if (compared->same_sides)
		snprintf(alarms, sizeof(alarms), "; %zu false alarm%s", lower + higher,
			 lower + higher == 1 ? "" : "s");
	snprintf(text, size,
		 "%s: %zu pairs, %zu metrics: %zu lower, %zu higher, %zu same, %zu unstable%s "
		 "(%.1f s)",
		 compared->scenario, comparison->pairs, comparison->count, lower, higher,
		 count_of(comparison, HQ_CHANGE_SAME), count_of(comparison, HQ_CHANGE_UNSTABLE),
		 alarms, (double)compared->wall_ns / 1e9);
	return text;
}

int hq_compared_print(const struct hq_compared *compared, FILE *stream)
{
	char line[300];

	put_side(compared, HQ_SIDE_A, stream);
	put_side(compared, HQ_SIDE_B, stream);
	put_differences(compared, stream);
	put_beside(compared, stream);
	put_tests(compared, stream);
	put_parts(compared, stream);
	if (compared->same_sides)
		put_noise(compared, stream);
	put_published(compared, stream);
	put_claims(compared, stream);
	fprintf(stream, "%s\n", hq_compared_last_line(compared, line, sizeof(line)));
	return ferror(stream) ? -EIO : 0;
}
