/* SPDX-License-Identifier: MIT */
/*
 * What a run leaves in its folder. Every file is written under a temporary name and then renamed,
 * so that a reader, or a crash, meets it whole or not at all. One file that fails does not keep the
 * others from being written: half of the evidence is better than none.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/check/evidence.h"
#include "stress/report/hlog.h"
#include "stress/report/json.h"
#include "stress/report/latency_csv.h"

struct run {
	const struct hq_result *result;
	const struct hq_observations *observations;
};

/* ---- the contents ---- */

/* Takes `members`; the version comes first, where a person looks for it. */
static json_t *with_version(json_t *members)
{
	json_t *object = json_object();
	int failed = 0;

	failed |=
		json_object_set_new(object, "schema_version", json_integer(HQ_JSON_SCHEMA_VERSION));
	failed |= json_object_update(object, members);
	json_decref(members);
	if (!failed)
		return object;
	json_decref(object);
	return NULL;
}

static int write_verdict(const struct run *run, FILE *stream)
{
	return hq_json_write(with_version(hq_json_result(run->result)), JSON_INDENT(2), stream);
}

static int write_findings(const struct run *run, FILE *stream)
{
	const struct hq_findings *findings = &run->result->findings;
	json_t *object = json_object();
	int failed = 0;

	failed |= json_object_set_new(object, "findings", hq_json_findings(findings));
	failed |= json_object_set_new(object, "left_out", hq_json_count(findings->left_out));
	if (failed) {
		json_decref(object);
		return -ENOMEM;
	}
	return hq_json_write(with_version(object), JSON_INDENT(2), stream);
}

/* Samples and quiet readings in one order of time; LazyFree is known at the quiet points alone. */
static int write_samples(const struct run *run, FILE *stream)
{
	const struct hq_observations *observations = run->observations;
	const size_t samples = observations->sample_count, quiets = observations->quiet_count;
	size_t sample = 0, quiet = 0;

	fputs("time_ns,rss_bytes,lazyfree_bytes\n", stream);
	while (sample < samples || quiet < quiets) {
		const struct hq_quiet *q = quiet < quiets ? &observations->quiet[quiet] : NULL;
		const struct hq_sample *s =
			sample < samples ? &observations->samples[sample] : NULL;

		if (s && (!q || s->time_ns <= q->time_ns)) {
			fprintf(stream, "%" PRIu64 ",%" PRIu64 ",\n", s->time_ns, s->rss_bytes);
			sample++;
		} else {
			fprintf(stream, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", q->time_ns,
				q->rss_bytes, q->lazyfree_bytes);
			quiet++;
		}
	}
	return 0;
}

static int write_latency(const struct run *run, FILE *stream)
{
	return hq_hlog_write(run->observations, stream);
}

static int write_curves(const struct run *run, FILE *stream)
{
	return hq_latency_csv_write(run->observations, stream);
}

static json_t *fault_arguments(const struct hq_fault *fault)
{
	json_t *array = json_array();
	int failed = 0;

	for (size_t i = 0; i < 3; i++)
		failed |= json_array_append_new(array, hq_json_hex(fault->args[i]));
	if (failed) {
		json_decref(array);
		return NULL;
	}
	return array;
}

/* Since the gate opened; without a gate there is no time to tell. */
static json_t *fault_time(const struct hq_observations *observations, const struct hq_fault *fault)
{
	if (observations->gate_open_ns == 0)
		return json_null();
	return json_integer((json_int_t)(fault->time_ns - observations->gate_open_ns));
}

static int write_fault(const struct hq_observations *observations, const struct hq_fault_seen *seen,
		       FILE *stream)
{
	const struct hq_fault *fault = &seen->fault;
	json_t *object = json_object();
	char result[HQ_UNITS_TEXT];
	int failed = 0;

	failed |= json_object_set_new(object, "time_ns", fault_time(observations, fault));
	failed |= json_object_set_new(object, "thread", hq_json_hex(seen->thread_key));
	failed |= json_object_set_new(object, "tid", json_integer(seen->tid));
	failed |= json_object_set_new(object, "rule",
				      hq_json_text(hq_fault_rule(observations, fault)));
	failed |= json_object_set_new(object, "n", hq_json_count(fault->n));
	failed |= json_object_set_new(
		object, "call",
		json_string(fault->call < HQ_CALL_COUNT ? hq_call_name(fault->call) : "?"));
	failed |= json_object_set_new(object, "args", fault_arguments(fault));
	failed |= json_object_set_new(object, "result", json_integer(fault->result));
	failed |= json_object_set_new(object, "result_name",
				      json_string(hq_fault_result(fault, result)));
	if (failed) {
		json_decref(object);
		return -ENOMEM;
	}
	return hq_json_write(object, JSON_COMPACT, stream);
}

static int compare_times(const void *a, const void *b)
{
	const struct hq_fault_seen *const *left = a, *const *right = b;
	const uint64_t x = (*left)->fault.time_ns, y = (*right)->fault.time_ns;

	return (x > y) - (x < y);
}

/* Rings were read one thread after the other; a reader wants the order of time. */
static int write_faults(const struct run *run, FILE *stream)
{
	const struct hq_observations *observations = run->observations;
	const size_t count = observations->fault_count;
	const struct hq_fault_seen **order = malloc((count + 1) * sizeof(*order));
	int status = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = &observations->faults[i];
	qsort(order, count, sizeof(*order), compare_times);
	for (size_t i = 0; i < count && status == 0; i++)
		status = write_fault(observations, order[i], stream);
	free(order);
	return status;
}

/* ---- the files ---- */

static const struct file {
	const char *name;
	int (*write)(const struct run *run, FILE *stream);
} files[] = {
	{ "verdict.json", write_verdict }, { "findings.json", write_findings },
	{ "samples.csv", write_samples },  { "latency.hlog", write_latency },
	{ "faults.jsonl", write_faults },  { "latency.csv", write_curves },
};

/* Takes the descriptor. */
static int fill(int fd, const struct file *file, const struct run *run)
{
	FILE *stream = fdopen(fd, "w");

	if (!stream) {
		const int error = -errno;

		close(fd);
		return error;
	}
	int status = file->write(run, stream);

	if (status == 0 && fflush(stream))
		status = -errno;
	if (status == 0 && ferror(stream))
		status = -EIO;
	if (fclose(stream) && status == 0)
		status = -errno;
	return status;
}

static int write_file(int folder_fd, const struct file *file, const struct run *run)
{
	char temporary[64];

	snprintf(temporary, sizeof(temporary), ".%s.%d", file->name, (int)getpid());
	const int fd = openat(folder_fd, temporary,
			      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	int status = fill(fd, file, run);

	if (status == 0 && renameat(folder_fd, temporary, folder_fd, file->name))
		status = -errno;
	if (status)
		unlinkat(folder_fd, temporary, 0);
	return status;
}

int hq_run_files_write(int folder_fd, const struct hq_result *result,
		       const struct hq_observations *observations)
{
	const struct run run = { .result = result, .observations = observations };
	int first = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const int status = write_file(folder_fd, &files[i], &run);

		if (first == 0)
			first = status;
	}
	return first;
}
