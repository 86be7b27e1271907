/* SPDX-License-Identifier: MIT */
/*
 * `heapquake report`: a page of runs that were made before, from their folders.
 */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/command/commands.h"
#include "stress/command/report_files.h"
#include "stress/command/version.h"
#include "stress/report/page.h"
#include "stress/report/run_folder.h"

#define DEPTH_MAX 5 /* results/TIME/SCENARIO/ALLOCATOR/SEED */

static const char *const formats[] = { "html", "text", NULL };

static int complain(const char *text)
{
	fprintf(stderr, "heapquake report: %s\n", text);
	return HQ_EXIT_USAGE;
}

static bool is_run(const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/verdict.json", PATH_MAX - 16, folder);
	return access(path, R_OK) == 0;
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, "latest") != 0;
}

/* Runs in the folder and below, in the order of their names. -errno of what cannot be read. */
static int collect(const char *folder, unsigned depth, json_t *cases, struct hq_error *error)
{
	struct dirent **entries;
	int status = 0;

	if (is_run(folder)) {
		json_t *run = hq_run_folder_read(folder, error);

		return run ? json_array_append_new(cases, run) : -EINVAL;
	}
	const int count = scandir(folder, &entries, is_visible, by_name);

	if (count < 0 && errno == ENOTDIR && depth > 0)
		return 0;
	if (count < 0)
		return hq_error_set(error, "%.300s: %s", folder, strerror(errno));
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		if (!status && depth < DEPTH_MAX &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) < PATH_MAX)
			status = collect(path, depth + 1, cases, error);
		free(entries[i]);
	}
	free(entries);
	return status;
}

static int collect_all(char *const *words, json_t *cases, struct hq_error *error)
{
	int status = 0;

	for (size_t i = 0; !status && words[i]; i++) {
		const size_t before = json_array_size(cases);

		status = collect(words[i], 0, cases, error);
		if (!status && json_array_size(cases) == before)
			status = hq_error_set(error, "%.300s has no run in it (no verdict.json)",
					      words[i]);
	}
	return status;
}

static int write_page(const void *cookie, const char *format, FILE *stream, bool color)
{
	json_t *cases = (json_t *)cookie;

	(void)format, (void)color;
	return hq_page_write(json_pack("{s:s, s:O}", "version", HQ_VERSION, "cases", cases),
			     stream);
}

static int write_report(const struct hq_invocation *invocation, json_t *cases,
			struct hq_error *error)
{
	char *html[] = { "html", NULL }, line[80];
	struct hq_settings settings = invocation->settings;
	const struct hq_report_source source = { write_page, cases, line };
	struct hq_report_files files;
	int status;

	settings.formats = html;
	snprintf(line, sizeof(line), "%zu run%s", json_array_size(cases),
		 json_array_size(cases) == 1 ? "" : "s");
	status = hq_report_files_open(&settings, false, formats, &files, error);
	if (!status)
		status = hq_report_files_write(&files, &source, &settings, error);
	hq_report_files_close(&files);
	return status;
}

int hq_command_report(struct hq_invocation *invocation)
{
	json_t *cases = json_array();
	struct hq_error error;
	int status;

	if (!invocation->words)
		status = complain("name a run's folder, or one of several: results/latest");
	else if (!invocation->settings.output && isatty(STDOUT_FILENO))
		status = complain("say where the page goes: -o report.html");
	else if (!cases || collect_all(invocation->words, cases, &error) ||
		 write_report(invocation, cases, &error))
		status = complain(cases ? error.text : "out of memory");
	else
		status = HQ_EXIT_OK;
	json_decref(cases);
	return status;
}
