/* SPDX-License-Identifier: MIT */
/*
 * Results as JSON values, shared by the JSON report and the files of a run. Every function returns
 * a new reference, or NULL without memory. Private to stress/report.
 */
#ifndef HQ_STRESS_REPORT_JSON_H
#define HQ_STRESS_REPORT_JSON_H

#include <jansson.h>

#include "stress/report/report.h"

/* Rises when a key changes its meaning or goes away; new keys alone do not count. */
#define HQ_JSON_SCHEMA_VERSION 1

/* Any bytes, as a string of valid UTF-8. */
json_t *hq_json_text(const char *text);

/*
 * 64 bits of which readers that know only doubles would lose some: in decimal or hex, as a string.
 */
json_t *hq_json_decimal(uint64_t value);
json_t *hq_json_hex(uint64_t value);

/* A count; what no reader could hold is cut at the largest. */
json_t *hq_json_count(uint64_t value);

json_t *hq_json_findings(const struct hq_findings *findings);
json_t *hq_json_result(const struct hq_result *result);

/* Writes and releases `value`; NULL is -ENOMEM. */
int hq_json_write(json_t *value, size_t flags, FILE *stream);

#endif
