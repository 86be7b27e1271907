/* SPDX-License-Identifier: MIT */
/* Pages: runs read back from what is left of their folders, curves of latency, and what may stand
 * in a page. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stress/report/latency_csv.h"
#include "stress/report/page.h"
#include "stress/report/run_folder.h"
#include "stress/tests/observed.h"
#include "stress/wire/hist.h"

static char folder[64];

static void setup(void)
{
	strcpy(folder, "/tmp/hq-test-page-XXXXXX");
	cr_assert(mkdtemp(folder));
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(path_of(name), "we");

	cr_assert(file);
	fputs(text, file);
	fclose(file);
}

static void teardown(void)
{
	static const char *const names[] = { "verdict.json", "samples.csv", "faults.jsonl",
					     "latency.csv" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_of(names[i]));
	rmdir(folder);
}

TestSuite(page, .init = setup, .fini = teardown);

static json_t *read_run(void)
{
	struct hq_error error = { "" };
	json_t *run = hq_run_folder_read(folder, &error);

	cr_assert(run, "%s", error.text);
	return run;
}

Test(page, a_run_is_its_verdict_where_nothing_else_is_left)
{
	put("verdict.json", "{ \"verdict\": \"PASS\" }");
	json_t *run = read_run();

	cr_expect_null(json_object_get(run, "rss"));
	cr_expect_null(json_object_get(run, "faults"));
	cr_expect_null(json_object_get(run, "latency"));
	json_decref(run);
}

Test(page, a_folder_without_a_verdict_is_no_run)
{
	static const char *const bad[] = { "", "{", "[]", "{ \"verdict\": 1 }", "3" };
	struct hq_error error;

	cr_expect_null(hq_run_folder_read(folder, &error));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("verdict.json", bad[i]);
		cr_expect_null(hq_run_folder_read(folder, &error), "'%s'", bad[i]);
		cr_expect(strstr(error.text, folder));
	}
}

Test(page, no_peak_is_lost_when_samples_are_thinned)
{
	FILE *file;
	double highest = 0;

	put("verdict.json", "{ \"verdict\": \"PASS\" }");
	file = fopen(path_of("samples.csv"), "we");
	fputs("time_ns,rss_bytes,lazyfree_bytes\n", file);
	for (int i = 0; i < 10007; i++)
		fprintf(file, "%d,%d,\n", i * 1000, i == 7777 ? 1 << 30 : 1 << 20);
	fprintf(file, "10007000,1048576,2097152\nnonsense\n");
	fclose(file);
	json_t *run = read_run(), *rss = json_object_get(run, "rss");

	cr_expect_leq(json_array_size(rss), 401);
	for (size_t i = 0; i < json_array_size(rss); i++) {
		const double mib = json_number_value(json_array_get(json_array_get(rss, i), 1));

		highest = mib > highest ? mib : highest;
	}
	cr_expect_eq(highest, 1024.0);
	cr_expect_eq(json_array_size(json_object_get(run, "lazyfree")), 1);
	json_decref(run);
}

Test(page, faults_are_thinned_over_the_whole_run_and_counted)
{
	FILE *file;

	put("verdict.json", "{ \"verdict\": \"PASS\" }");
	file = fopen(path_of("faults.jsonl"), "we");
	for (int i = 0; i < 5000; i++)
		fprintf(file,
			"{\"time_ns\": %d000000, \"rule\": \"r\", \"call\": \"mmap\", "
			"\"result_name\": \"ENOMEM\"}\n",
			i);
	fputs("{\"time_ns\": 1, \"ru", file);
	fclose(file);
	json_t *run = read_run(), *marks = json_object_get(run, "faults");
	const size_t count = json_array_size(marks);

	cr_assert(count > 100 && count <= 250, "%zu", count);
	cr_expect_gt(json_number_value(json_array_get(json_array_get(marks, count - 1), 0)),
		     4900.0);
	cr_expect_eq(json_integer_value(json_object_get(run, "faults_kept")), 5001);
	json_decref(run);
}

Test(page, the_rest_of_a_line_that_is_too_long_is_no_line)
{
	FILE *file;

	put("verdict.json", "{ \"verdict\": \"PASS\" }");
	file = fopen(path_of("samples.csv"), "we");
	/* Whatever the length of a line that is read: digits and commas to its end. */
	for (int i = 0; i < 5000; i++)
		fputs("1,", file);
	fputs("\n2,1048576,\n", file);
	fclose(file);
	json_t *run = read_run();

	cr_expect_eq(json_array_size(json_object_get(run, "rss")), 1);
	json_decref(run);
}

Test(page, curves_of_latency_rise_to_the_slowest_call)
{
	struct hq_observations observations = observed_good();
	struct hq_hist *hists = calloc(HQ_LATENCY_COUNT, sizeof(*hists));
	char *text = NULL, *line;
	size_t size = 0, lines = 0;
	double last_share = 0, share, ns, last_ns = 0;

	for (uint64_t i = 1; i <= 1000; i++)
		hq_hist_record(&hists[HQ_LATENCY_FREE], i);
	observations.hist = hists;
	FILE *stream = open_memstream(&text, &size);

	cr_assert_eq(hq_latency_csv_write(&observations, stream), 0);
	fclose(stream);
	line = strchr(text, '\n') + 1;
	for (char *next; (next = strchr(line, '\n')); line = next + 1) {
		cr_assert_eq(sscanf(line, "free,%lf,%lf", &share, &ns), 2, "%s", line);
		cr_expect(share > last_share && ns >= last_ns);
		last_share = share;
		last_ns = ns;
		lines++;
	}
	cr_expect_eq(last_share, 1.0);
	cr_expect_eq(last_ns, 1000.0);
	cr_expect(lines >= 27 && lines <= 29, "%zu", lines);
	cr_expect(strstr(text, "free,0.9,900\n"));
	free(text);
	free(hists);
}

Test(page, nothing_in_the_data_can_end_their_element)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	cr_assert_eq(hq_page_write(json_pack("{s:s}", "title", "</script><b>&"), stream), 0);
	fclose(stream);
	const char *data = strstr(text, "id=\"data\">");

	cr_assert(data);
	cr_expect(strstr(data, "\\u003c/script\\u003e\\u003cb\\u003e\\u0026"));
	cr_expect_eq(strcspn(data + 10, "<"), (size_t)(strstr(data, "</script>") - data - 10));
	free(text);
}

Test(page, no_data_is_no_memory)
{
	cr_expect_neq(hq_page_write(NULL, stdout), 0);
}
