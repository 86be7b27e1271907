/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc/self/maps with plain system calls and a buffer on the stack. Only the constructor
 * uses it.
 */
#include <errno.h>
#include <fcntl.h>

#include "injectors/syscall/raw.h"
#include "stress/preload/preload.h"

#define LINE_BYTES 4352 /* the longest path and what stands before it */

struct scanner {
	int fd;
	uint32_t used, filled;
	char buffer[1024];
	char line[LINE_BYTES];
};

static int next_char(struct scanner *scanner)
{
	if (scanner->used == scanner->filled) {
		const long got = hq_raw3(SYS_read, scanner->fd, (long)scanner->buffer,
					 sizeof(scanner->buffer));

		if (got <= 0)
			return -1;
		scanner->used = 0;
		scanner->filled = (uint32_t)got;
	}
	return (unsigned char)scanner->buffer[scanner->used++];
}

/* The next line without its end, cut if it is too long; false at the end of the file. */
static bool next_line(struct scanner *scanner)
{
	uint32_t length = 0;
	int c;

	while ((c = next_char(scanner)) >= 0 && c != '\n')
		if (length + 1 < LINE_BYTES)
			scanner->line[length++] = (char)c;
	scanner->line[length] = '\0';
	return c >= 0 || length > 0;
}

static uint64_t take_number(const char **text, uint64_t base)
{
	uint64_t number = 0;

	for (;; (*text)++) {
		const char c = **text;
		const int digit = c >= '0' && c <= '9'   ? c - '0'
				  : c >= 'a' && c <= 'f' ? c - 'a' + 10
							 : 99;

		if ((uint64_t)digit >= base)
			return number;
		number = number * base + (uint64_t)digit;
	}
}

static void skip_field(const char **text)
{
	while (**text == ' ')
		(*text)++;
	while (**text != ' ' && **text != '\0')
		(*text)++;
	while (**text == ' ')
		(*text)++;
}

/* "7f0000000000-7f0000001000 r-xp 00000000 08:01 1234   /lib/libc.so.6" */
static struct hq_map parse_line(const char *text)
{
	struct hq_map map = { .start = take_number(&text, 16) };

	text += *text == '-';
	map.end = take_number(&text, 16);
	while (*text == ' ')
		text++;
	map.executable = text[0] && text[1] && text[2] == 'x';
	skip_field(&text);
	skip_field(&text); /* offset */
	skip_field(&text); /* device */
	map.inode = take_number(&text, 10);
	while (*text == ' ')
		text++;
	map.path = text;
	return map;
}

int hq_maps_visit(bool (*visit)(const struct hq_map *map, void *context), void *context)
{
	struct scanner scanner;

	scanner.used = scanner.filled = 0;
	scanner.fd = (int)hq_raw4(SYS_openat, AT_FDCWD, (long)"/proc/self/maps",
				  O_RDONLY | O_CLOEXEC, 0);
	if (scanner.fd < 0)
		return scanner.fd;
	while (next_line(&scanner)) {
		const struct hq_map map = parse_line(scanner.line);

		if (!visit(&map, context))
			break;
	}
	hq_raw1(SYS_close, scanner.fd);
	return 0;
}
