/* SPDX-License-Identifier: MIT */
/*
 * Latency histograms as an HdrHistogram log (version 1.2 of the log, V2 of the encoding), which its
 * own tools read: one line for each kind of call, and for each band of sizes, with a tag. Private
 * to stress/report.
 */
#ifndef HQ_STRESS_REPORT_HLOG_H
#define HQ_STRESS_REPORT_HLOG_H

#include <stdio.h>

#include "stress/observe/observation.h"

/* Kinds of calls without a sample have no line. 0 or -errno. */
int hq_hlog_write(const struct hq_observations *observations, FILE *stream);

#define HQ_HLOG_TAG 24

/* "malloc", "free", "realloc", "op"; of a band "malloc@4KiB". Returns `tag`. */
const char *hq_hlog_tag(enum hq_latency call, enum hq_band band, char tag[HQ_HLOG_TAG]);

#endif
