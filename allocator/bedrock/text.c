/* SPDX-License-Identifier: MIT */
/*
 * The buffer of a text, and numbers in decimal.
 */
#include "allocator/bedrock/text.h"

#include <string.h>

#include "allocator/bedrock/os.h"

void bedrock_text_to_stderr(void *argument, const char *text)
{
	(void)argument;
	bedrock_os_write(2, text, strlen(text));
}

void bedrock_text_to_string(void *argument, const char *text)
{
	memcpy(argument, text, strlen(text) + 1);
}

void bedrock_text_init(struct bedrock_text *text, bedrock_text_function *write, void *argument)
{
	text->write = write ? write : bedrock_text_to_stderr;
	text->argument = argument;
	text->used_bytes = 0;
	text->column = 0;
}

void bedrock_text_flush(struct bedrock_text *text)
{
	if (text->used_bytes == 0)
		return;
	text->buffer[text->used_bytes] = '\0';
	text->used_bytes = 0;
	text->write(text->argument, text->buffer);
}

static void bedrock_text_count_column(struct bedrock_text *text, const char *bytes,
				      size_t byte_count)
{
	const char *line_end = memrchr(bytes, '\n', byte_count);

	if (line_end)
		text->column = (size_t)(bytes + byte_count - line_end) - 1;
	else
		text->column += byte_count;
}

void bedrock_text_add_bytes(struct bedrock_text *text, const char *bytes, size_t byte_count)
{
	while (byte_count > 0) {
		size_t room_bytes = sizeof(text->buffer) - 1 - text->used_bytes;
		size_t part_bytes = byte_count < room_bytes ? byte_count : room_bytes;

		memcpy(text->buffer + text->used_bytes, bytes, part_bytes);
		text->used_bytes += part_bytes;
		bedrock_text_count_column(text, bytes, part_bytes);
		bytes += part_bytes;
		byte_count -= part_bytes;
		if (byte_count > 0)
			bedrock_text_flush(text);
	}
}

void bedrock_text_add(struct bedrock_text *text, const char *string)
{
	bedrock_text_add_bytes(text, string, strlen(string));
}

void bedrock_text_add_number(struct bedrock_text *text, uint64_t number)
{
	char digits[20];
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	bedrock_text_add_bytes(text, digits + first, sizeof(digits) - first);
}

void bedrock_text_add_signed(struct bedrock_text *text, int64_t number)
{
	if (number < 0)
		bedrock_text_add(text, "-");
	bedrock_text_add_number(text, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

void bedrock_text_pad(struct bedrock_text *text, size_t column)
{
	while (text->column < column)
		bedrock_text_add(text, " ");
}

bool bedrock_text_read_number(const char **at, uint64_t *out)
{
	const char *digit = *at;
	uint64_t number = 0;

	for (; *digit >= '0' && *digit <= '9'; digit++) {
		uint64_t value = (uint64_t)(*digit - '0');

		number = number > (UINT64_MAX - value) / 10 ? UINT64_MAX : number * 10 + value;
	}
	if (digit == *at)
		return false;
	*at = digit;
	*out = number;
	return true;
}
