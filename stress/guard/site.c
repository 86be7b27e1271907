/* SPDX-License-Identifier: MIT */
/*
 * Names places in a program, from the list of mappings and not from the dynamic loader, which
 * would take locks. The list is read once for all, and in small parts: it is long, and the stack
 * may be short.
 */
#include <fcntl.h>

#include "injectors/syscall/raw.h"
#include "stress/guard/guard.h"

#define READ_BYTES 256u

struct mapping {
	uint64_t start, end, offset;
	char name[HQ_EVENT_SITE - 20]; /* of the file, without its folder, cut if it is long */
};

/* Reads a line of the list char by char: "start-end perms offset device inode path". */
struct reader {
	struct mapping mapping;
	uint32_t field;  /* 0 start, 1 end, 3 offset, 6 path; those between are not read */
	uint32_t length; /* of the name so far */
};

static void take_hex(uint64_t *number, char c)
{
	*number = *number * 16 + (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void take_name(struct reader *reader, char c)
{
	char *const name = reader->mapping.name;

	if (c == '/')
		reader->length = 0;
	else if (reader->length + 1 < sizeof(reader->mapping.name))
		name[reader->length++] = c;
	name[reader->length] = '\0';
}

/* Takes one char that ends no line. */
static void take(struct reader *reader, char c)
{
	struct mapping *const mapping = &reader->mapping;

	if (reader->field < 6 && (c == ' ' || (c == '-' && reader->field == 0)))
		reader->field++;
	else if (reader->field == 0)
		take_hex(&mapping->start, c);
	else if (reader->field == 1)
		take_hex(&mapping->end, c);
	else if (reader->field == 3)
		take_hex(&mapping->offset, c);
	/* Many spaces stand before the path. */
	else if (reader->field == 6 && (c != ' ' || reader->length))
		take_name(reader, c);
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

static void name_those_in(const struct mapping *mapping, struct hq_guard_place *places,
			  uint32_t count)
{
	for (uint32_t i = 0; i < count && mapping->name[0]; i++)
		if (places[i].address >= mapping->start && places[i].address < mapping->end)
			print(mapping, places[i].address - mapping->start + mapping->offset,
			      places[i].site);
}

void hq_guard_sites(struct hq_guard_place *places, uint32_t count)
{
	const long fd =
		hq_raw4(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	struct reader reader = { .field = 0 };
	char buffer[READ_BYTES];
	long got;

	if (fd < 0)
		return;
	while ((got = hq_raw3(SYS_read, fd, (long)buffer, sizeof(buffer))) > 0) {
		for (long i = 0; i < got; i++) {
			if (buffer[i] != '\n') {
				take(&reader, buffer[i]);
				continue;
			}
			name_those_in(&reader.mapping, places, count);
			reader = (struct reader){ .field = 0 };
		}
	}
	hq_raw1(SYS_close, fd);
}
