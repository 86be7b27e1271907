/* SPDX-License-Identifier: MIT */
/*
 * One self-contained HTML page: style, script, the chart library and the data in one file that asks
 * no network for anything. What the data mean is in page/page.js.
 */
#ifndef HQ_STRESS_REPORT_PAGE_H
#define HQ_STRESS_REPORT_PAGE_H

#include <jansson.h>
#include <stdio.h>

/*
 * `data`, of which every member may be missing: title, version, seed, wall_s, `cases` (as
 * hq_run_folder_read and hq_json_result give them), `comparisons` (as hq_compared_json gives them).
 * Releases `data`; NULL is -ENOMEM. 0 or -errno.
 */
int hq_page_write(json_t *data, FILE *stream);

#endif
