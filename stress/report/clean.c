/* SPDX-License-Identifier: MIT */
/*
 * Text from targets, made fit to be shown: valid UTF-8 (RFC 3629) without control characters, so
 * that it can neither break a format nor talk to a terminal.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "stress/report/clean.h"

/* Length of the character at `text` and its number; 0 for bytes that are no UTF-8. */
static size_t decode(const unsigned char *text, uint32_t *point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length;

	if (text[0] < 0x80) {
		*point = text[0];
		return 1;
	}
	if ((text[0] & 0xe0) == 0xc0)
		length = 2;
	else if ((text[0] & 0xf0) == 0xe0)
		length = 3;
	else if ((text[0] & 0xf8) == 0xf0)
		length = 4;
	else
		return 0;
	*point = text[0] & (0xffu >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		/* The end of the string stops here as well. */
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | (text[i] & 0x3f);
	}
	/*
	 * Overlong forms, halves of surrogate pairs and what lies beyond Unicode are no characters.
	 */
	if (*point < least[length] || *point > 0x10ffff || (*point >= 0xd800 && *point < 0xe000))
		return 0;
	return length;
}

/* Controls of both sets; the marks that turn the direction of text around; and no-characters. */
static bool is_unsafe(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
	       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
	       (point & 0xfffe) == 0xfffe;
}

static bool may_stay(uint32_t point, enum hq_clean how)
{
	if (how == HQ_CLEAN_UTF8 || !is_unsafe(point))
		return true;
	return how == HQ_CLEAN_LINES && (point == '\n' || point == '\t');
}

/* What stands for a character that may not stay (length 0: a byte that is none). */
static void escape(const char *text, size_t length, uint32_t point, char out[16])
{
	if (length == 1 && point == '\n')
		strcpy(out, "\\n");
	else if (length == 1 && point == '\t')
		strcpy(out, " ");
	else if (length > 1)
		snprintf(out, 16, "\\u%04x", (unsigned int)point);
	else
		snprintf(out, 16, "\\x%02x", (unsigned char)text[0]);
}

const char *hq_clean(const char *text, enum hq_clean how, char *out, size_t size)
{
	size_t used = 0;

	while (*text) {
		uint32_t point = 0;
		char escaped[16];
		size_t length = decode((const unsigned char *)text, &point);
		const size_t taken = length ? length : 1;
		const char *from = text;

		if (length == 0 || !may_stay(point, how)) {
			escape(text, length, point, escaped);
			from = escaped;
			length = strlen(escaped);
		}
		if (used + length + 1 > size)
			break;
		memcpy(out + used, from, length);
		used += length;
		text += taken;
	}
	out[used] = '\0';
	return out;
}
