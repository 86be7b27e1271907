/* SPDX-License-Identifier: MIT */
/*
 * Text for people and programs, put together in a small buffer and handed on piece by piece.
 *
 * For reports and messages of any length, written while the allocator may be in any state: nothing
 * here allocates, and the text goes where a function of the caller takes it.
 */
#ifndef BEDROCK_TEXT_H
#define BEDROCK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BEDROCK_TEXT_BYTES 256u

/* Takes a string; what it does with it is its own business. */
typedef void bedrock_text_function(void *argument, const char *text);

/* used_bytes < sizeof(buffer), so that there is always room for the terminator. */
struct bedrock_text {
	bedrock_text_function *write;
	void *argument;
	size_t used_bytes;
	/* How long the last line is so far. */
	size_t column;
	char buffer[BEDROCK_TEXT_BYTES];
};

/* Writes to stderr; the argument is ignored. */
void bedrock_text_to_stderr(void *argument, const char *text);

/* Copies to the argument, which has BEDROCK_TEXT_BYTES: for what is shorter than that. */
void bedrock_text_to_string(void *argument, const char *text);

/* An empty text. Without a function it goes to stderr. */
void bedrock_text_init(struct bedrock_text *text, bedrock_text_function *write, void *argument);

void bedrock_text_add_bytes(struct bedrock_text *text, const char *bytes, size_t byte_count);
void bedrock_text_add(struct bedrock_text *text, const char *string);
void bedrock_text_add_number(struct bedrock_text *text, uint64_t number);
void bedrock_text_add_signed(struct bedrock_text *text, int64_t number);

/* Add spaces until the line is so long. */
void bedrock_text_pad(struct bedrock_text *text, size_t column);

/* Hand on what there is. */
void bedrock_text_flush(struct bedrock_text *text);

/*
 * The number that stands at *at, which is moved behind it; UINT64_MAX for one that is larger.
 * -> is there one?
 */
bool bedrock_text_read_number(const char **at, uint64_t *out);

#endif
