/* SPDX-License-Identifier: MIT */
/*
 * The formats by name, for the table alone. A new format adds its line here and its row in
 * format.c.
 */
#ifndef HQ_STRESS_REPORT_FORMAT_H
#define HQ_STRESS_REPORT_FORMAT_H

#include "stress/report/report.h"

extern const struct hq_format hq_format_html;
extern const struct hq_format hq_format_json;
extern const struct hq_format hq_format_junit;
extern const struct hq_format hq_format_tap;
extern const struct hq_format hq_format_text;
extern const struct hq_format hq_format_usage;

#endif
