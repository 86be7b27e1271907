/* SPDX-License-Identifier: MIT */
/*
 * Latencies as curves for plotting tools: which share of the calls took so long at most. Private to
 * stress/report.
 */
#ifndef HQ_STRESS_REPORT_LATENCY_CSV_H
#define HQ_STRESS_REPORT_LATENCY_CSV_H

#include <stdio.h>

#include "stress/observe/observation.h"

/* Lines of call,share,ns with the share rising to 1. 0. */
int hq_latency_csv_write(const struct hq_observations *observations, FILE *stream);

#endif
