/* SPDX-License-Identifier: MIT */
/*
 * The value of a variable at the first call of the malloc family, before the C library has an
 * environment: the kernel's copy of it is read instead.
 */
#include <fcntl.h>
#include <string.h>

#include "injectors/syscall/raw.h"
#include "stress/between/between.h"

/* Reads a file byte by byte from a buffer. */
struct reader {
	int fd;
	uint32_t used, filled;
	char buffer[1024];
};

static int next_char(struct reader *reader)
{
	if (reader->used == reader->filled) {
		const long got =
			hq_raw3(SYS_read, reader->fd, (long)reader->buffer, sizeof(reader->buffer));

		if (got <= 0)
			return -1;
		reader->used = 0;
		reader->filled = (uint32_t)got;
	}
	return (unsigned char)reader->buffer[reader->used++];
}

/* The value of the variable at the reader's place; false if it is another one, which is skipped. */
static bool take_value(struct reader *reader, int *c, const char *name, char *value, size_t size)
{
	size_t length = 0;
	bool is_named;

	for (; *c > 0 && *name && *c == *name; name++)
		*c = next_char(reader);
	is_named = !*name && *c == '=';
	if (is_named)
		*c = next_char(reader);
	for (; *c > 0; *c = next_char(reader))
		if (length + 1 < size)
			value[length++] = (char)*c;
	value[length] = '\0';
	return is_named;
}

bool hq_between_variable(const char *name, char *value, size_t size)
{
	struct reader reader = {
		.fd = (int)hq_raw4(SYS_openat, AT_FDCWD, (long)"/proc/self/environ",
				   O_RDONLY | O_CLOEXEC, 0),
	};
	bool found = false;
	int c;

	if (reader.fd < 0)
		return false;
	while (!found && (c = next_char(&reader)) >= 0)
		found = take_value(&reader, &c, name, value, size);
	hq_raw1(SYS_close, reader.fd);
	return found;
}
