/* SPDX-License-Identifier: MIT */
/*
 * Latency histograms as an HdrHistogram log (version 1.2 of the log, V2 of the encoding), which its
 * own tools read: one line for each kind of call, each band of sizes, and what of either fell in
 * clean and in faulted windows, with a tag. Private to stress/report.
 */
#ifndef HQ_STRESS_REPORT_HLOG_H
#define HQ_STRESS_REPORT_HLOG_H

#include <stdio.h>

#include "stress/observe/observation.h"

/* Kinds of calls without a sample have no line. 0 or -errno. */
int hq_hlog_write(const struct hq_observations *observations, FILE *stream);

#define HQ_HLOG_TAG 32

/*
 * "malloc", "free", "realloc", "op"; of a band "malloc@4KiB"; of a window "malloc.faulted",
 * "malloc@4KiB.clean". Returns `tag`.
 */
const char *hq_hlog_tag(enum hq_latency call, enum hq_band band, enum hq_window window,
			char tag[HQ_HLOG_TAG]);

typedef int hq_hlog_visit(const struct hq_hist *hist, const char *tag, void *cookie);

/*
 * Every histogram that holds something, with its tag: of each call all first, then by size, and
 * each of these apart by windows if faults were made. Ends early with what `visit` returns but 0.
 */
int hq_hlog_each(const struct hq_observations *observations, hq_hlog_visit *visit, void *cookie);

#endif
