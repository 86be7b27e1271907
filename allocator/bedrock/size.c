/* SPDX-License-Identifier: MIT */
/*
 * Parser of sizes. No locale, nothing allocated.
 */
#include "allocator/bedrock/size.h"

#include <string.h>

/* How far the suffix shifts, or -1. */
static int bedrock_size_shift(const char *suffix, size_t bytes)
{
	static const char letters[] = "kmgt";

	if (bytes == 0 || (bytes == 1 && *suffix == 'B'))
		return 0;
	const char *letter = memchr(letters, *suffix | 0x20, sizeof(letters) - 1);

	if (!letter || !(bytes == 1 || (bytes == 3 && memcmp(suffix + 1, "iB", 2) == 0)))
		return -1;
	return 10 * (int)(letter - letters + 1);
}

bool bedrock_size_parse(const char *text, size_t text_bytes, int64_t *out)
{
	uint64_t value = 0;
	size_t at = 0;

	for (; at < text_bytes && text[at] >= '0' && text[at] <= '9'; at++) {
		if (value > (uint64_t)INT64_MAX / 10 - 1)
			return false;
		value = value * 10 + (uint64_t)(text[at] - '0');
	}
	int shift = bedrock_size_shift(text + at, text_bytes - at);

	if (at == 0 || shift < 0 || value > (uint64_t)INT64_MAX >> shift)
		return false;
	*out = (int64_t)(value << shift);
	return true;
}
