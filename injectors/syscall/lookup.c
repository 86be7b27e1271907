/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc about a process that is waiting for its call to be answered, so what is read stays
 * true at least for the thread that waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/syscall/lookup.h"
#include "injectors/syscall/split.h"

#define LINE_BYTES      4352
#define START_BRK_FIELD 47 /* of /proc/PID/stat, counted from 1 */

static FILE *open_proc(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

pid_t hq_lookup_process_of(pid_t thread)
{
	FILE *stream = open_proc(thread, "status");
	char line[256];
	int process = thread;

	if (!stream)
		return thread;
	while (fgets(line, sizeof(line), stream))
		if (sscanf(line, "Tgid: %d", &process) == 1)
			break;
	fclose(stream);
	return process;
}

/* The command name in parentheses may hold anything, so fields count from the last one. */
static uint64_t stat_field(pid_t process, int wanted)
{
	FILE *stream = open_proc(process, "stat");
	char text[2048];
	size_t length;
	const char *at;

	if (!stream)
		return 0;
	length = fread(text, 1, sizeof(text) - 1, stream);
	fclose(stream);
	text[length] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < wanted; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* The end of the mapping that holds the heap, which is the break rounded up to a page; 0: none. */
static uint64_t heap_end(pid_t process)
{
	FILE *stream = open_proc(process, "maps");
	char line[LINE_BYTES];
	uint64_t start, end, last = 0;

	if (!stream)
		return 0;
	while (fgets(line, sizeof(line), stream))
		if (strstr(line, "[heap]") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2)
			last = end;
	fclose(stream);
	return last;
}

static uint64_t page_up(uint64_t address)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	return (address + page - 1) & ~(page - 1);
}

uint64_t hq_lookup_break(struct hq_lookup *lookup)
{
	const uint64_t start = stat_field(lookup->process, START_BRK_FIELD);
	uint64_t end;

	if (start == 0)
		return HQ_LOOKUP_UNKNOWN;
	if (start != lookup->break_start) {
		lookup->break_start = lookup->break_known = start; /* a new program */
		lookup->break_asked = 0;
	}
	end = heap_end(lookup->process);
	if (end == 0)
		end = page_up(start);
	if (lookup->break_asked != 0 && page_up(lookup->break_asked) == end)
		lookup->break_known = lookup->break_asked;
	lookup->break_asked = 0;
	/* A break that others moved (it was never seen here) is known to the page only. */
	if (page_up(lookup->break_known) != end)
		lookup->break_known = end;
	return lookup->break_known;
}

void hq_lookup_break_asked(struct hq_lookup *lookup, uint64_t asked)
{
	lookup->break_asked = asked < lookup->break_start ? 0 : asked;
}

bool hq_lookup_splits(const struct hq_lookup *lookup, uint64_t address, uint64_t length)
{
	char path[64];
	bool splits;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)lookup->process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	splits = hq_split_inside(fd, address, page_up(address + length));
	close(fd);
	return splits;
}

/* The program's text is one mapping, the first executable one of the file. */
static void find_exempt(struct hq_lookup *lookup, const char *path)
{
	FILE *stream = open_proc(lookup->process, "maps");
	char line[LINE_BYTES], permissions[8];
	uint64_t start, end;
	int path_at;

	if (!stream)
		return;
	while (fgets(line, sizeof(line), stream)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &start, &end,
			   permissions, &path_at) != 3)
			continue;
		if (permissions[2] != 'x' || strcmp(line + path_at, path) != 0)
			continue;
		lookup->exempt_start = start;
		lookup->exempt_end = end;
		break;
	}
	fclose(stream);
}

bool hq_lookup_is_exempt(struct hq_lookup *lookup, const char *path, uint64_t address)
{
	if (!lookup->has_exempt) {
		find_exempt(lookup, path);
		lookup->has_exempt = true;
	}
	return address >= lookup->exempt_start && address < lookup->exempt_end;
}
