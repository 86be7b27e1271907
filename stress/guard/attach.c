/* SPDX-License-Identifier: MIT */
/*
 * Finding the wire at the first call of the malloc family, which comes from the dynamic loader,
 * before the C library has an environment: the kernel's copy of it is read instead.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "injectors/syscall/raw.h"
#include "stress/guard/guard.h"
#include "stress/wire/wire_raw.h"

#define PATH_ROOM 64

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
static bool take_value(struct reader *reader, int *c, char path[PATH_ROOM])
{
	static const char name[] = HQ_WIRE_ENV "=";
	uint32_t matched = 0, length = 0;

	while (*c > 0 && matched < sizeof(name) - 1 && *c == name[matched]) {
		matched++;
		*c = next_char(reader);
	}
	for (; *c > 0; *c = next_char(reader))
		if (length + 1 < PATH_ROOM)
			path[length++] = (char)*c;
	path[length] = '\0';
	return matched == sizeof(name) - 1;
}

static bool find_path(char path[PATH_ROOM])
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
		found = take_value(&reader, &c, path);
	hq_raw1(SYS_close, reader.fd);
	return found;
}

struct hq_wire *hq_guard_attach(void)
{
	char path[PATH_ROOM];
	struct hq_wire *const wire = find_path(path) ? hq_wire_map_raw(path) : NULL;

	if (wire == NULL || wire->config.guard_every != 0)
		return wire;
	hq_raw3(SYS_munmap, (long)wire, sizeof(*wire), 0);
	return NULL;
}
