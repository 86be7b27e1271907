/* SPDX-License-Identifier: MIT */
/*
 * Latency histograms as an HdrHistogram log (version 1.2 of the log, V2 of the encoding), which its
 * own tools read: one line for each kind of call, with a tag. Private to stress/report.
 */
#ifndef HQ_STRESS_REPORT_HLOG_H
#define HQ_STRESS_REPORT_HLOG_H

#include <stdio.h>

#include "stress/observe/observation.h"

/* Kinds of calls without a sample have no line. 0 or -errno. */
int hq_hlog_write(const struct hq_observations *observations, FILE *stream);

/* "malloc", "free", "realloc", "op". */
const char *hq_hlog_tag(enum hq_latency call);

#endif
