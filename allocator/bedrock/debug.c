/* SPDX-License-Identifier: MIT */
/*
 * The message printer of the allocator.
 *
 * It knows how to put a line on stderr without allocating and how to end the process after a
 * broken invariant. It does not decide what is worth saying.
 */
#include "allocator/bedrock/debug.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/bedrock/os.h"

#define BEDROCK_DEBUG_LINE_BYTES 256u

struct bedrock_line {
	char text[BEDROCK_DEBUG_LINE_BYTES];
	size_t used_bytes;
};

static void bedrock_line_add(struct bedrock_line *line, const char *text, size_t text_bytes)
{
	size_t room_bytes = sizeof(line->text) - 1 - line->used_bytes;

	if (text_bytes > room_bytes)
		text_bytes = room_bytes;
	memcpy(line->text + line->used_bytes, text, text_bytes);
	line->used_bytes += text_bytes;
}

static void bedrock_line_write(struct bedrock_line *line)
{
	/* bedrock_line_add keeps one byte free for this. */
	line->text[line->used_bytes++] = '\n';
	bedrock_os_write(2, line->text, line->used_bytes);
}

void bedrock_debug_warn(const char *head, const char *text, size_t text_bytes, const char *tail)
{
	struct bedrock_line line = { .used_bytes = 0 };

	bedrock_line_add(&line, "bedrock: ", 9);
	bedrock_line_add(&line, head, strlen(head));
	bedrock_line_add(&line, text, text_bytes);
	bedrock_line_add(&line, tail, strlen(tail));
	bedrock_line_write(&line);
}

_Noreturn void bedrock_debug_fail(const char *expression, const char *file, int line_number)
{
	struct bedrock_line line = { .used_bytes = 0 };
	char digits[12];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + line_number % 10);
		line_number /= 10;
	} while (line_number > 0 && first > 0);
	bedrock_line_add(&line, "bedrock: assertion failed: ", 27);
	bedrock_line_add(&line, expression, strlen(expression));
	bedrock_line_add(&line, " at ", 4);
	bedrock_line_add(&line, file, strlen(file));
	bedrock_line_add(&line, ":", 1);
	bedrock_line_add(&line, digits + first, sizeof(digits) - first);
	bedrock_line_write(&line);
	abort();
}
