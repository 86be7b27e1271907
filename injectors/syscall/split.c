/* SPDX-License-Identifier: MIT */
/*
 * Looks for the mapping around a range: by the PROCMAP_QUERY ioctl where the kernel has it (6.11),
 * else by reading the list of mappings as text. Linked into the target, where it runs in a signal
 * handler on whatever stack the thread has: no allocation, no libc, a small buffer.
 */
#include <linux/ioctl.h>
#include <stddef.h>

#include "injectors/syscall/raw.h"
#include "injectors/syscall/split.h"

/* struct procmap_query of linux/fs.h, which older headers lack. */
struct query {
	uint64_t size;
	uint64_t flags;
	uint64_t address;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t name_size;
	uint32_t build_id_size;
	uint64_t name;
	uint64_t build_id;
};

#define QUERY      _IOWR('f', 17, struct query)
#define TEXT_BYTES 512

/* Reads "start-end rest of line" one character after the other. */
struct reader {
	uint64_t start;
	uint64_t number;
	enum { IN_START, IN_END, IN_REST } state;
};

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* True when a line's end address is complete: reader->start and ->number are the mapping. */
static bool read_char(struct reader *reader, char c)
{
	const int digit = digit_of(c);

	if (c == '\n') {
		*reader = (struct reader){ .state = IN_START };
		return false;
	}
	if (reader->state == IN_REST)
		return false;
	if (digit >= 0) {
		reader->number = reader->number << 4 | (uint64_t)digit;
		return false;
	}
	if (reader->state == IN_START) {
		reader->start = reader->number;
		reader->number = 0;
		reader->state = IN_END;
		return false;
	}
	reader->state = IN_REST;
	return true;
}

static bool inside_by_text(int maps_fd, uint64_t start, uint64_t end)
{
	struct reader reader = { .state = IN_START };
	char text[TEXT_BYTES];
	long got;

	while ((got = hq_raw3(SYS_read, maps_fd, (long)text, sizeof(text))) > 0)
		for (long i = 0; i < got; i++)
			if (read_char(&reader, text[i]) && reader.number > start)
				return reader.start < start && end < reader.number;
	return false;
}

bool hq_split_inside(int maps_fd, uint64_t start, uint64_t end)
{
	struct query query = { .size = sizeof(query), .address = start };

	if (start >= end)
		return false;
	if (hq_raw3(SYS_ioctl, maps_fd, (long)QUERY, (long)&query) == 0)
		return query.vma_start < start && end < query.vma_end;
	return inside_by_text(maps_fd, start, end);
}
