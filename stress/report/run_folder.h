/* SPDX-License-Identifier: MIT */
/*
 * A run read back from its folder, for the page. Private to stress/report and those who read runs.
 */
#ifndef HQ_STRESS_REPORT_RUN_FOLDER_H
#define HQ_STRESS_REPORT_RUN_FOLDER_H

#include <jansson.h>

#include "injectors/error.h"

/*
 * What verdict.json and findings.json say, and beside it `rss`, `faults` and `latency` where the
 * files have them, thinned to what a screen can show: of resident memory the largest sample of
 * each stretch is kept, so that no peak is lost. A new reference, or NULL with a sentence when
 * there is no readable verdict.
 */
json_t *hq_run_folder_read(const char *folder, struct hq_error *error);

#endif
