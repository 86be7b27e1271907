/* SPDX-License-Identifier: MIT */
/*
 * Recording the allocation calls of a program: it runs as it would without us, on the same terminal
 * and in the same process group, and what its recorder writes becomes a trace when it has ended.
 */
#ifndef HQ_STRESS_CONTROL_RECORD_H
#define HQ_STRESS_CONTROL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/error.h"
#include "stress/trace/builder.h"

struct hq_record_settings {
	char *const *program; /* NULL-terminated */
	const char *output;
	const char *library; /* allocator to preload; "": the program's own */
	uint64_t bytes_max;  /* of the trace */
	bool with_children;
};

struct hq_record_outcome {
	struct hq_trace_info info;
	struct hq_trace_repairs repairs;
	uint64_t refused, closed;
	uint64_t bytes; /* of the trace */
	uint64_t wall_ns;
	uint32_t processes; /* that recorded */
	uint32_t strangers; /* programs that bring a malloc of their own */
	bool was_stopped;   /* more was recorded than fits into the spool */
	int status;         /* of the program, as from wait */
};

/* 0, or -errno with a sentence. The trace is there whole or not at all. */
int hq_record(const struct hq_record_settings *settings, struct hq_record_outcome *outcome,
	      struct hq_error *error);

/*
 * A trace from another tool's file, in one of the formats of stress/trace/import.h. The outcome has
 * no program. 0, or -errno with a sentence.
 */
int hq_record_import(const char *format, const char *path,
		     const struct hq_record_settings *settings, struct hq_record_outcome *outcome,
		     struct hq_error *error);

/* ---- record_file.c: a file that is there whole or not at all; also for imports ---- */

struct hq_record_file {
	int fd;
	const char *path;
	char draft[4096]; /* its name until it is whole */
};

/* The folder of a path, in `folder`. */
const char *hq_record_folder(const char *path, char *folder, size_t size);
int hq_record_file_open(struct hq_record_file *file, const char *path, struct hq_error *error);
/* Gives it its name. */
int hq_record_file_keep(struct hq_record_file *file, struct hq_error *error);
/* Whatever has no name is gone. */
void hq_record_file_close(struct hq_record_file *file);

#endif
