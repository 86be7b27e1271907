/* SPDX-License-Identifier: MIT */
/*
 * Where reports go: one per --format, to stdout, stderr or a file. Files are opened before anything
 * runs, so that a wrong path costs no run, and appear under their name only when they are whole.
 */
#ifndef HQ_STRESS_COMMAND_REPORT_FILES_H
#define HQ_STRESS_COMMAND_REPORT_FILES_H

#include <limits.h>
#include <stdio.h>

#include "stress/command/program_options.h"

#define HQ_REPORT_FILES_MAX 8

struct hq_report_file {
	const char *format; /* its name, one of those the command has */
	FILE *stream;
	char path[PATH_MAX];      /* "": a standard stream */
	char temporary[PATH_MAX]; /* "": written in place */
};

struct hq_report_files {
	struct hq_report_file list[HQ_REPORT_FILES_MAX];
	size_t count;
	FILE *standard; /* where what has no file goes: stdout, or stderr if a program owns stdout
			 */
};

/* What a command has to report. */
struct hq_report_source {
	/* 0 or -errno. */
	int (*write)(const void *cookie, const char *format, FILE *stream, bool color);
	const void *cookie;
	const char *last_line; /* of the text report */
};

/*
 * `formats` are the names that the command knows, NULL-terminated; "text" is one of them. 0 or
 * -errno with a sentence; close them in either case.
 */
int hq_report_files_open(const struct hq_settings *settings, bool program_owns_stdout,
			 const char *const *formats, struct hq_report_files *files,
			 struct hq_error *error);

/*
 * Writes all of them, and the last line to wherever people look when no text report went there.
 * 0 or -errno with a sentence of the first that failed.
 */
int hq_report_files_write(struct hq_report_files *files, const struct hq_report_source *source,
			  const struct hq_settings *settings, struct hq_error *error);

void hq_report_files_close(struct hq_report_files *files);

#endif
