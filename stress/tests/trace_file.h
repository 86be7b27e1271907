/* SPDX-License-Identifier: MIT */
/*
 * Traces in memory, for tests: a file without a name, its bytes, and its operations.
 */
#ifndef HQ_STRESS_TESTS_TRACE_FILE_H
#define HQ_STRESS_TESTS_TRACE_FILE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/trace/builder.h"
#include "stress/trace/reader.h"

struct trace_file {
	int fd;
	uint8_t *data;
	uint64_t size;
};

static inline int trace_file_make(void)
{
	const int fd = memfd_create("trace", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	return fd;
}

/* A copy of all that was written. */
static inline struct trace_file trace_file_take(int fd)
{
	struct trace_file file = { .fd = fd };
	struct stat status;

	cr_assert_eq(fstat(fd, &status), 0);
	file.size = (uint64_t)status.st_size;
	file.data = malloc(file.size + 1);
	cr_assert_eq(pread(fd, file.data, file.size, 0), (ssize_t)file.size);
	close(fd);
	return file;
}

static inline void trace_file_drop(struct trace_file *file)
{
	free(file->data);
	file->data = NULL;
}

/* Reads until the end or an error: how many operations; `error` is "" if all was right. */
static inline uint64_t trace_file_read(const uint8_t *data, uint64_t size, struct hq_trace_op *ops,
				       uint64_t room, struct hq_error *error)
{
	static struct hq_trace_reader reader;
	struct hq_trace_info info;
	struct hq_trace_op op;
	uint64_t count = 0;
	uint8_t *live;
	int status;

	error->text[0] = '\0';
	if (hq_trace_read_info(data, size, &info, error))
		return 0;
	live = calloc(1, hq_trace_live_bytes(&info));
	cr_assert_not_null(live);
	status = hq_trace_reader_start(&reader, data, size, live, error);
	while (!status && (status = hq_trace_next(&reader, &op, error)) == 1) {
		if (count < room)
			ops[count] = op;
		count++;
		status = 0;
	}
	free(live);
	cr_assert_eq(status != 0, error->text[0] != '\0');
	return count;
}

/* Takes a trace in which all is right: how many operations. */
static inline uint64_t trace_file_take_ops(int fd, struct hq_trace_op *ops, uint64_t room)
{
	struct trace_file file = trace_file_take(fd);
	struct hq_error error;
	const uint64_t count = trace_file_read(file.data, file.size, ops, room, &error);

	trace_file_drop(&file);
	cr_assert_str_eq(error.text, "");
	return count;
}

#endif
