/* SPDX-License-Identifier: MIT */
/*
 * Reading other tools' traces: lines out of a file, and the table of formats.
 */
#include "stress/trace/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LINE_BYTES 8192u /* of longer ones, the rest is left out: names of C++ may be that long */

const struct hq_import_format *const hq_import_formats[] = {
	&hq_import_heaptrack,
	&hq_import_mtrace,
	NULL,
};

const struct hq_import_format *hq_import_find(const char *name)
{
	for (size_t i = 0; hq_import_formats[i]; i++)
		if (strcmp(hq_import_formats[i]->name, name) == 0)
			return hq_import_formats[i];
	return NULL;
}

/* False: there is none. Read by the byte, since gzgets does not tell a NUL from the end. */
static bool next_line(gzFile file, char line[LINE_BYTES])
{
	size_t length = 0;
	int c = gzgetc(file);

	if (c == -1)
		return false;
	for (; c != -1 && c != '\n'; c = gzgetc(file)) {
		if (length < LINE_BYTES - 1)
			line[length++] = c ? (char)c : '?';
	}
	line[length] = '\0';
	return true;
}

static int read_lines(gzFile file, struct hq_import *import, struct hq_error *error)
{
	char line[LINE_BYTES];
	int status = 0, failure = 0;

	while (!status && next_line(file, line)) {
		import->line++;
		status = import->format->take(import, line);
	}
	if (status == -EINVAL)
		hq_error_set(error, "line %" PRIu64 " is none of %s: %.100s", import->line,
			     import->format->name, line);
	else if (status)
		hq_error_set(error, "line %" PRIu64 ": %s", import->line, strerror(-status));
	gzerror(file, &failure);
	if (!status && failure != Z_OK && failure != Z_STREAM_END)
		status = hq_error_set(error, "line %" PRIu64 ": the file is damaged or cut off",
				      import->line);
	return status;
}

int hq_import_file(const struct hq_import_format *format, const char *path,
		   struct hq_trace_builder *builder, struct hq_error *error)
{
	struct hq_import import = { .format = format, .builder = builder };
	struct hq_error why;
	gzFile file = gzopen(path, "rb");
	int status = 0;

	if (!file)
		return hq_error_set(error, "%.300s: %s", path, strerror(errno));
	import.state = calloc(1, format->state_size + 1);
	if (!import.state)
		status = hq_error_set(&why, "out of memory");
	if (!status)
		status = read_lines(file, &import, &why);
	if (import.state && format->clear)
		format->clear(import.state);
	free(import.state);
	gzclose_r(file);
	return status ? hq_error_set(error, "%.150s: %.300s", path, why.text) : 0;
}
