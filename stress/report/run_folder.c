/* SPDX-License-Identifier: MIT */
/*
 * Reading run folders. Only the verdict is needed; of the other files what cannot be read is left
 * out, and lines that make no sense are passed over: a run may have been killed at any moment.
 */
#include "stress/report/run_folder.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 400 /* of resident memory */
#define FAULTS_MAX 250
#define LINE_SIZE  4096

static FILE *open_file(const char *folder, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return NULL;
	return fopen(path, "re");
}

/* The next line that has room; of a longer one the rest would pass for lines of their own. */
static bool read_line(FILE *file, char line[LINE_SIZE])
{
	while (fgets(line, LINE_SIZE, file)) {
		if (strlen(line) < LINE_SIZE - 1 || line[LINE_SIZE - 2] == '\n')
			return true;
		for (int byte = 0; byte != EOF && byte != '\n';)
			byte = fgetc(file);
	}
	return false;
}

/* ---- resident memory ---- */

struct points {
	uint64_t *times, *bytes;
	size_t count, room;
	json_t *lazy; /* [time, bytes] at the quiet points */
};

static int add_point(struct points *points, uint64_t time_ns, uint64_t bytes)
{
	if (points->count == points->room) {
		const size_t room = points->room ? 2 * points->room : 4096;
		uint64_t *times = reallocarray(points->times, room, sizeof(*times));

		if (times)
			points->times = times;
		uint64_t *values = reallocarray(points->bytes, room, sizeof(*values));

		if (values)
			points->bytes = values;
		if (!times || !values)
			return -1;
		points->room = room;
	}
	points->times[points->count] = time_ns;
	points->bytes[points->count++] = bytes;
	return 0;
}

static json_t *pair_of(double x, double y)
{
	return json_pack("[f, f]", x, y);
}

/* Milliseconds and MiB: what the axes show, with few digits. */
static json_t *place_of(uint64_t time_ns, uint64_t bytes)
{
	return pair_of((double)(time_ns / 1000) / 1e3, (double)(bytes / 1024) / 1024.0);
}

/* The largest of each stretch, at its own time. */
static json_t *thin(const struct points *points)
{
	const size_t stretch = points->count / POINTS_MAX + 1;
	json_t *list = json_array();

	for (size_t start = 0; list && start < points->count; start += stretch) {
		const size_t end =
			start + stretch < points->count ? start + stretch : points->count;
		size_t best = start;

		for (size_t i = start; i < end; i++) {
			if (points->bytes[i] > points->bytes[best])
				best = i;
		}
		json_array_append_new(list, place_of(points->times[best], points->bytes[best]));
	}
	return list;
}

static void read_sample(const char *line, struct points *points)
{
	uint64_t time_ns, bytes, lazy;
	const int fields =
		sscanf(line, "%" SCNu64 ",%" SCNu64 ",%" SCNu64, &time_ns, &bytes, &lazy);

	if (fields >= 2)
		add_point(points, time_ns, bytes);
	if (fields == 3)
		json_array_append_new(points->lazy, place_of(time_ns, lazy));
}

static void add_memory(json_t *run, const char *folder)
{
	struct points points = { .lazy = json_array() };
	FILE *file = open_file(folder, "samples.csv");
	char line[LINE_SIZE];

	while (file && read_line(file, line))
		read_sample(line, &points);
	if (points.count) {
		json_object_set_new(run, "rss", thin(&points));
		json_object_set(run, "lazyfree", points.lazy);
	}
	json_decref(points.lazy);
	free(points.times);
	free(points.bytes);
	if (file)
		fclose(file);
}

/* ---- faults ---- */

/* What a mark needs: when, and what a reader sees when pointing at it. */
static json_t *mark_of(const json_t *fault)
{
	const json_t *time = json_object_get(fault, "time_ns");
	const char *rule = json_string_value(json_object_get(fault, "rule"));
	const char *call = json_string_value(json_object_get(fault, "call"));
	const char *result = json_string_value(json_object_get(fault, "result_name"));

	if (!json_is_integer(time) || !rule || !call || !result)
		return NULL;
	return json_pack("[f, s, s, s]", (double)json_integer_value(time) / 1e6, rule, call,
			 result);
}

/* Every second one is dropped whenever there are too many: what stays is spread over the run. */
static void halve(json_t *marks)
{
	for (size_t i = json_array_size(marks); i-- > 0;) {
		if (i % 2)
			json_array_remove(marks, i);
	}
}

static void add_faults(json_t *run, const char *folder)
{
	FILE *file = open_file(folder, "faults.jsonl");
	json_t *marks = json_array();
	size_t count = 0, every = 1;
	char line[LINE_SIZE];

	while (file && read_line(file, line)) {
		json_t *fault = count++ % every ? NULL : json_loads(line, 0, NULL);
		json_t *mark = fault ? mark_of(fault) : NULL;

		if (mark)
			json_array_append_new(marks, mark);
		json_decref(fault);
		if (json_array_size(marks) <= FAULTS_MAX)
			continue;
		halve(marks);
		every *= 2;
	}
	if (count) {
		json_object_set(run, "faults", marks);
		json_object_set_new(run, "faults_kept", json_integer((json_int_t)count));
	}
	json_decref(marks);
	if (file)
		fclose(file);
}

/* ---- latency ---- */

/*
 * Lines of latency.csv: call,share,ns with the share rising; the call may be of one window
 * (malloc.faulted). Bands of sizes (malloc@4KiB) stay out.
 */
static void read_percentile(const char *line, json_t *calls)
{
	char call[32];
	double share, ns;

	if (sscanf(line, "%31[a-z_.],%lf,%lf", call, &share, &ns) != 3)
		return;
	json_t *curve = json_object_get(calls, call);

	if (!curve) {
		json_object_set_new(calls, call, json_array());
		curve = json_object_get(calls, call);
	}
	json_array_append_new(curve, pair_of(share, ns));
}

static void add_latency(json_t *run, const char *folder)
{
	FILE *file = open_file(folder, "latency.csv");
	json_t *calls = json_object();
	char line[LINE_SIZE];

	while (file && read_line(file, line))
		read_percentile(line, calls);
	if (json_object_size(calls))
		json_object_set(run, "latency", calls);
	json_decref(calls);
	if (file)
		fclose(file);
}

json_t *hq_run_folder_read(const char *folder, struct hq_error *error)
{
	FILE *file = open_file(folder, "verdict.json");
	json_error_t why = { .text = "no such file" };
	json_t *run = file ? json_loadf(file, 0, &why) : NULL;

	if (file)
		fclose(file);
	if (!run || !json_is_string(json_object_get(run, "verdict"))) {
		hq_error_set(error, "%.300s is no run: verdict.json: %.100s", folder,
			     run ? "it has no verdict" : why.text);
		json_decref(run);
		return NULL;
	}
	add_memory(run, folder);
	add_faults(run, folder);
	add_latency(run, folder);
	return run;
}
