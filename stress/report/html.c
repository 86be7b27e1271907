/* SPDX-License-Identifier: MIT */
/*
 * The report as a page, for a browser. What was kept of the runs (samples, faults, latencies) comes
 * from their folders; without folders there are verdicts and metrics only.
 */
#include <errno.h>

#include "stress/report/format.h"
#include "stress/report/json.h"
#include "stress/report/page.h"
#include "stress/report/run_folder.h"

static json_t *make_case(const struct hq_result *result)
{
	struct hq_error ignored;
	json_t *run = result->folder[0] ? hq_run_folder_read(result->folder, &ignored) : NULL;

	return run ? run : hq_json_result(result);
}

static int write_html(const struct hq_suite *suite, FILE *stream)
{
	json_t *data = json_object(), *cases = json_array();
	int failed = !data || !cases;

	for (size_t i = 0; !failed && i < suite->count; i++)
		failed |= json_array_append_new(cases, make_case(&suite->results[i]));
	failed |= json_object_set_new(
		data, "version",
		hq_json_text(suite->program_version ? suite->program_version : ""));
	failed |= json_object_set_new(data, "seed", hq_json_decimal(suite->seed));
	failed |= json_object_set_new(data, "wall_s", json_real((double)suite->wall_ns / 1e9));
	failed |= json_object_set_new(data, "cases", cases);
	if (failed) {
		json_decref(data);
		return -ENOMEM;
	}
	return hq_page_write(data, stream);
}

const struct hq_format hq_format_html = {
	.name = "html",
	.help = "one page for a browser, with charts of memory and latency; needs no network",
	.write = write_html,
};
