/* SPDX-License-Identifier: MIT */
/*
 * Progress on stderr. Escape sequences go to terminals only; a pipe or a CI log gets whole lines.
 *
 * A live line is cut to the terminal's width: one that wraps takes two rows, and erasing goes up a
 * row for each line.
 */
#include "stress/control/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "injectors/units.h"

void hq_progress_start(struct hq_progress *progress, size_t total, bool quiet, bool colorless)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	const bool capable = isatty(STDERR_FILENO) && term && strcmp(term, "dumb");

	*progress = (struct hq_progress){
		.live = capable && !quiet,
		.color = capable && !colorless && !(no_color && *no_color),
		.quiet = quiet,
		.total = total,
	};
}

double hq_progress_expected_s(const struct hq_plan *plan)
{
	const double run_s = 1.5 + (double)plan->settle_ns / 1e9;

	/* Three pairs settle most bounds. */
	return plan->needs_clean ? run_s * 2 * 3 : run_s;
}

static void erase(struct hq_progress *progress)
{
	while (progress->shown_lines) {
		fputs("\033[1A\033[2K", stderr);
		progress->shown_lines--;
	}
}

static double elapsed_s(const struct hq_case_progress *one)
{
	const uint64_t started_ns = hq_load_relaxed(&one->started_ns);

	return started_ns ? (double)(hq_now_ns() - started_ns) / 1e9 : 0;
}

static const char *state_name(uint32_t state)
{
	static const char *const names[] = { "starting", "ready",    "working",
					     "worked",   "settling", "failed" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "?";
}

#define NAME_COLUMNS 34
#define REST_COLUMNS 58 /* of a line, without the scenario's name */

/* Columns of a line that does not wrap; some terminals wrap when the last is written. */
static int usable_width(void)
{
	struct winsize window;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) || window.ws_col < 2)
		return 79;
	return window.ws_col - 1;
}

static void draw_case(const struct hq_plan *plan, const struct hq_case_progress *one, int width)
{
	const uint32_t runs = hq_load_relaxed(&one->runs);
	const int room = width - REST_COLUMNS;
	const int name = room < 8 ? 8 : room > NAME_COLUMNS ? NAME_COLUMNS : room;
	char run[32] = "", line[256];

	if (runs > 1)
		snprintf(run, sizeof(run), " run %u/%u", hq_load_relaxed(&one->run), runs);
	snprintf(line, sizeof(line),
		 "  %-*.*s %-10.10s %5.1f of ~%.0f s  %-8s %5.0f MiB  %" PRIu64 " faults%s", name,
		 name, plan->scenario, plan->allocator, elapsed_s(one),
		 hq_progress_expected_s(plan), state_name(hq_load_relaxed(&one->state)),
		 (double)hq_load_relaxed(&one->rss_bytes) / (double)HQ_MIB,
		 hq_load_relaxed(&one->fired), run);
	fprintf(stderr, "%.*s\n", width, line);
}

void hq_progress_draw(struct hq_progress *progress, const struct hq_plan *const *plans,
		      const struct hq_case_progress *const *cases, size_t count)
{
	const int width = usable_width();

	if (!progress->live)
		return;
	erase(progress);
	fprintf(stderr, "[%zu/%zu]\n", progress->done, progress->total);
	for (size_t i = 0; i < count; i++)
		draw_case(plans[i], cases[i], width);
	progress->shown_lines = count + 1;
	fflush(stderr);
}

static const char *verdict_color(enum hq_verdict verdict)
{
	switch (verdict) {
	case HQ_VERDICT_PASS:
	case HQ_VERDICT_XFAIL:
		return "\033[32m";
	case HQ_VERDICT_SKIP:
	case HQ_VERDICT_INCONCLUSIVE:
		return "\033[33m";
	default:
		return "\033[31m";
	}
}

void hq_progress_done(struct hq_progress *progress, const struct hq_result *result)
{
	progress->done++;
	if (progress->quiet)
		return;
	erase(progress);
	fprintf(stderr, "[%*zu/%zu] %s%-12s%s %-34s %-10s %6.1f s\n", progress->total > 9 ? 3 : 1,
		progress->done, progress->total,
		progress->color ? verdict_color(result->verdict) : "",
		hq_verdict_name(result->verdict), progress->color ? "\033[0m" : "",
		result->scenario, result->allocator, (double)result->wall_ns / 1e9);
	fflush(stderr);
}

void hq_progress_end(struct hq_progress *progress)
{
	erase(progress);
	fflush(stderr);
}
