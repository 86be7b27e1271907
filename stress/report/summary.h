/* SPDX-License-Identifier: MIT */
/*
 * What several formats say about a suite or a case. Private to stress/report.
 */
#ifndef HQ_STRESS_REPORT_SUMMARY_H
#define HQ_STRESS_REPORT_SUMMARY_H

#include "stress/report/report.h"

#define HQ_VERDICTS (HQ_VERDICT_ERROR + 1)

void hq_suite_count(const struct hq_suite *suite, size_t counts[HQ_VERDICTS]);

/* Why a case came out as it did, in one sentence: its reason, else its first finding or gap. */
const char *hq_result_message(const struct hq_result *result);

#endif
