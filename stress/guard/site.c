/* SPDX-License-Identifier: MIT */
/*
 * Names a place in a program, from the list of mappings and not from the dynamic loader, which
 * would take locks.
 */
#include <fcntl.h>
#include <string.h>

#include "injectors/syscall/raw.h"
#include "stress/guard/guard.h"

#define LINE_ROOM 512

struct mapping {
	uint64_t start, end, offset;
	char name[HQ_EVENT_SITE - 20]; /* of the file, without its folder, cut if it is long */
};

static uint64_t take_hex(const char **text)
{
	uint64_t number = 0;

	for (;; (*text)++) {
		const char c = **text;

		if (c >= '0' && c <= '9')
			number = number * 16 + (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			number = number * 16 + (uint64_t)(c - 'a' + 10);
		else
			return number;
	}
}

/* "start-end perms offset device inode path". */
static void read_line(const char *line, struct mapping *mapping)
{
	const char *name = "";
	uint32_t length = 0;

	mapping->start = take_hex(&line);
	line += *line == '-';
	mapping->end = take_hex(&line);
	for (uint32_t spaces = 0; *line && spaces < 2; line++)
		spaces += *line == ' ';
	mapping->offset = take_hex(&line);
	for (; *line; line++)
		if (*line == '/' || *line == '[')
			name = line + (*line == '/');
	for (; name[length] && length + 1 < sizeof(mapping->name); length++)
		mapping->name[length] = name[length];
	mapping->name[length] = '\0';
}

static bool find(int fd, uint64_t address, struct mapping *mapping)
{
	char line[LINE_ROOM], buffer[1024];
	uint32_t length = 0;
	long got;

	while ((got = hq_raw3(SYS_read, fd, (long)buffer, sizeof(buffer))) > 0) {
		for (long i = 0; i < got; i++) {
			if (buffer[i] != '\n') {
				if (length + 1 < sizeof(line))
					line[length++] = buffer[i];
				continue;
			}
			line[length] = '\0';
			length = 0;
			read_line(line, mapping);
			if (address >= mapping->start && address < mapping->end)
				return true;
		}
	}
	return false;
}

static void print(const struct mapping *mapping, uint64_t offset, char site[HQ_EVENT_SITE])
{
	static const char digits[] = "0123456789abcdef";
	char *to = site;
	int shift = 60;

	for (const char *from = mapping->name; *from; from++)
		*to++ = *from;
	*to++ = '+';
	*to++ = '0';
	*to++ = 'x';
	while (shift > 0 && offset >> shift == 0)
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*to++ = digits[offset >> shift & 15];
	*to = '\0';
}

void hq_guard_site(uint64_t address, char site[HQ_EVENT_SITE])
{
	struct mapping mapping;
	const long fd =
		hq_raw4(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);

	site[0] = '\0';
	if (fd < 0)
		return;
	if (find((int)fd, address, &mapping) && mapping.name[0])
		print(&mapping, address - mapping.start + mapping.offset, site);
	hq_raw1(SYS_close, fd);
}
