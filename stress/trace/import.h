/* SPDX-License-Identifier: MIT */
/*
 * Traces that other tools have recorded, as text, line by line. A format is one file with one
 * descriptor and a row in import.c. What a format does not know, threads or times, the trace does
 * not have.
 */
#ifndef HQ_STRESS_TRACE_IMPORT_H
#define HQ_STRESS_TRACE_IMPORT_H

#include "stress/trace/builder.h"

struct hq_import {
	const struct hq_import_format *format;
	struct hq_trace_builder *builder;
	uint64_t line; /* from 1 */
	void *state;   /* the format's own, zeroed at first */
};

struct hq_import_format {
	const char *name;
	size_t state_size;
	/* One line without its end. 0, -EINVAL: it is none of this format, or -errno. */
	int (*take)(struct hq_import *import, const char *line);
	void (*clear)(void *state); /* NULL: nothing to do */
};

extern const struct hq_import_format hq_import_heaptrack;
extern const struct hq_import_format hq_import_mtrace;

/* Sorted by name, NULL-terminated. */
extern const struct hq_import_format *const hq_import_formats[];
const struct hq_import_format *hq_import_find(const char *name);

/* Reads a file, also one that gzip compressed. 0, or -errno with a sentence that tells the line. */
int hq_import_file(const struct hq_import_format *format, const char *path,
		   struct hq_trace_builder *builder, struct hq_error *error);

#endif
