/* SPDX-License-Identifier: MIT */
/*
 * What glibc's mtrace writes:
 *
 *   = Start
 *   @ ./program:[0x11de] + 0x560780da7610 0x64     given out, so many bytes
 *   @ ./program:[0x1274] - 0x560780da7680          given back
 *   @ ./program:[0x1206] < 0x560780da7610          realloc of ...
 *   @ ./program:[0x1206] > 0x560780da76a0 0x3e8    ... is now there, so large
 *   @ ./program:[0x1258] ! 0x560780da7a90 0xff     realloc was refused
 *   = End
 *
 * The place may be missing, and may hold anything, blanks too. There are no threads and no times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stress/trace/import.h"

/* Where the operation begins, after the place; NULL: nowhere. */
static const char *find_operation(const char *line)
{
	const char *found = NULL;

	for (const char *at = line; *at; at++)
		if ((at == line || at[-1] == ' ') && strchr("+-<>!", *at) &&
		    strncmp(at + 1, " 0x", 3) == 0)
			found = at;
	return found;
}

/* The next number, which *text is moved behind. */
static bool take_number(const char **text, uint64_t *number)
{
	char *end;

	if (strncmp(*text, " 0x", 3) != 0)
		return false;
	errno = 0;
	*number = strtoull(*text + 3, &end, 16);
	if (errno || end == *text + 3)
		return false;
	*text = end;
	return true;
}

static enum hq_trace_seen kind_of(char operation)
{
	switch (operation) {
	case '+':
		return HQ_SEEN_MALLOC;
	case '-':
		return HQ_SEEN_FREE;
	case '<':
		return HQ_SEEN_RESIZE_FROM;
	default:
		return HQ_SEEN_RESIZE_TO;
	}
}

static int take(struct hq_import *import, const char *line)
{
	struct hq_trace_event event = { .time_ns = 0 };
	const char *at = find_operation(line), operation = at ? *at : '\0';

	if (!at)
		return line[0] == '=' || line[0] == '\0' ? 0 : -EINVAL;
	at++;
	if (!take_number(&at, &event.address))
		return -EINVAL;
	if (strchr("+>!", operation) && !take_number(&at, &event.size))
		return -EINVAL;
	if (*at != '\0')
		return -EINVAL;
	import->builder->refused += operation == '!';
	if (operation == '!')
		return 0;
	event.kind = (uint8_t)kind_of(operation);
	return hq_trace_build(import->builder, &event);
}

const struct hq_import_format hq_import_mtrace = {
	.name = "mtrace",
	.take = take,
};
