/* SPDX-License-Identifier: MIT */
/*
 * Parser of BEDROCK_CONF, driven by one table of options.
 *
 * It runs inside the first allocation of the process: no allocation, no stdio, no locale.
 */
#include "allocator/bedrock/options.h"

#include <string.h>

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/size.h"

enum bedrock_option_kind {
	BEDROCK_OPTION_INTEGER,
	BEDROCK_OPTION_FLAG,
	/* A size, a percentage, or the word that stands for 100 %. */
	BEDROCK_OPTION_LIMIT,
};

/* One option. A flag is spelt by one of two words; an integer lies in [least, most]. */
struct bedrock_option {
	const char *name;
	enum bedrock_option_kind kind;
	size_t offset;
	int64_t least;
	int64_t most;
	const char *word_true;
	const char *word_false;
};

#define BEDROCK_FIELD(field) offsetof(struct bedrock_options, field)
#define BEDROCK_MS_MAX       INT64_C(1000000000)

static const struct bedrock_option bedrock_option_table[] = {
	{ .name = "background_thread",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_background_thread),
	  .word_true = "true",
	  .word_false = "false" },
	{ .name = "dirty_decay_ms",
	  .kind = BEDROCK_OPTION_INTEGER,
	  .offset = BEDROCK_FIELD(dirty_decay_ms),
	  .least = -1,
	  .most = BEDROCK_MS_MAX },
	{ .name = "memory_limit",
	  .kind = BEDROCK_OPTION_LIMIT,
	  .offset = BEDROCK_FIELD(memory_limit),
	  .word_true = "cgroup" },
	{ .name = "muzzy_decay_ms",
	  .kind = BEDROCK_OPTION_INTEGER,
	  .offset = BEDROCK_FIELD(muzzy_decay_ms),
	  .least = -1,
	  .most = BEDROCK_MS_MAX },
	{ .name = "narenas",
	  .kind = BEDROCK_OPTION_INTEGER,
	  .offset = BEDROCK_FIELD(arena_count),
	  .least = 1,
	  .most = BEDROCK_ARENAS_MAX },
	{ .name = "oversize_threshold",
	  .kind = BEDROCK_OPTION_INTEGER,
	  .offset = BEDROCK_FIELD(oversize_threshold_bytes),
	  .least = 0,
	  .most = INT64_MAX },
	{ .name = "percpu_arena",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_percpu_arena),
	  .word_true = "percpu",
	  .word_false = "disabled" },
	{ .name = "retain",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_retain),
	  .word_true = "true",
	  .word_false = "false" },
	{ .name = "soft_limit",
	  .kind = BEDROCK_OPTION_LIMIT,
	  .offset = BEDROCK_FIELD(soft_limit),
	  .word_true = "none" },
	{ .name = "tcache",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_tcache),
	  .word_true = "true",
	  .word_false = "false" },
	{ .name = "tcache_max",
	  .kind = BEDROCK_OPTION_INTEGER,
	  .offset = BEDROCK_FIELD(tcache_max_bytes),
	  .least = 0,
	  .most = 65536 },
};

#define BEDROCK_OPTION_COUNT (sizeof(bedrock_option_table) / sizeof(bedrock_option_table[0]))

/* A piece of the configuration string. */
struct bedrock_span {
	const char *text;
	size_t bytes;
};

void bedrock_options_init(struct bedrock_options *options)
{
	*options = (struct bedrock_options){
		.dirty_decay_ms = 500,
		.muzzy_decay_ms = 0,
		.is_background_thread = true,
		.arena_count = 0,
		.is_percpu_arena = true,
		.is_tcache = true,
		.tcache_max_bytes = 65536,
		.oversize_threshold_bytes = 64 << 20,
		.is_retain = false,
	};
}

static bool bedrock_span_is(struct bedrock_span span, const char *word)
{
	return strlen(word) == span.bytes && memcmp(word, span.text, span.bytes) == 0;
}

static bool bedrock_span_integer(struct bedrock_span span, int64_t *out)
{
	bool is_negative = span.bytes > 0 && span.text[0] == '-';
	size_t at = is_negative ? 1 : 0;
	int64_t value = 0;

	if (at == span.bytes)
		return false;
	for (; at < span.bytes; at++) {
		int digit = span.text[at] - '0';

		if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*out = is_negative ? -value : value;
	return true;
}

/* "80%" and the like become -80. */
static bool bedrock_span_limit(struct bedrock_span span, const char *word, int64_t *out)
{
	bool is_share = span.bytes > 0 && span.text[span.bytes - 1] == '%';

	if (bedrock_span_is(span, word)) {
		*out = -100;
		return true;
	}
	if (!is_share)
		return bedrock_size_parse(span.text, span.bytes, out);
	span.bytes--;
	if (!bedrock_span_integer(span, out) || *out < 1 || *out > 100)
		return false;
	*out = -*out;
	return true;
}

static bool bedrock_option_set(const struct bedrock_option *option, struct bedrock_options *options,
			       struct bedrock_span value)
{
	char *field = (char *)options + option->offset;
	int64_t number;

	if (option->kind == BEDROCK_OPTION_FLAG) {
		bool is_true = bedrock_span_is(value, option->word_true);

		if (!is_true && !bedrock_span_is(value, option->word_false))
			return false;
		memcpy(field, &is_true, sizeof(is_true));
		return true;
	}
	if (option->kind == BEDROCK_OPTION_LIMIT) {
		if (!bedrock_span_limit(value, option->word_true, &number))
			return false;
	} else if (!bedrock_span_integer(value, &number) || number < option->least ||
		   number > option->most) {
		return false;
	}
	memcpy(field, &number, sizeof(number));
	return true;
}

static const struct bedrock_option *bedrock_option_find(struct bedrock_span name)
{
	for (size_t i = 0; i < BEDROCK_OPTION_COUNT; i++) {
		if (bedrock_span_is(name, bedrock_option_table[i].name))
			return &bedrock_option_table[i];
	}
	return NULL;
}

/* One "name:value". -> was it accepted? */
static bool bedrock_options_entry(struct bedrock_options *options, struct bedrock_span entry)
{
	const char *colon = memchr(entry.text, ':', entry.bytes);
	size_t name_bytes = colon ? (size_t)(colon - entry.text) : entry.bytes;
	struct bedrock_span name = { .text = entry.text, .bytes = name_bytes };
	const struct bedrock_option *option = bedrock_option_find(name);

	if (!option) {
		bedrock_debug_warn("BEDROCK_CONF: unknown option '", name.text, name.bytes,
				   "' ignored");
		return false;
	}
	struct bedrock_span value = {
		.text = colon ? colon + 1 : "",
		.bytes = colon ? entry.bytes - name_bytes - 1 : 0,
	};

	if (!bedrock_option_set(option, options, value)) {
		bedrock_debug_warn("BEDROCK_CONF: bad value in '", entry.text, entry.bytes,
				   "' ignored");
		return false;
	}
	return true;
}

unsigned bedrock_options_parse(struct bedrock_options *options, const char *text)
{
	unsigned refused = 0;

	while (*text) {
		struct bedrock_span entry = { .text = text, .bytes = strcspn(text, ",") };

		if (entry.bytes > 0 && !bedrock_options_entry(options, entry))
			refused++;
		text += entry.bytes;
		text += *text == ',';
	}
	return refused;
}
