/* SPDX-License-Identifier: MIT */
/*
 * The one table of options, and the parser that it drives.
 *
 * It runs inside the first allocation of the process: no allocation, no stdio, no locale.
 */
#include "allocator/bedrock/options.h"

#include <string.h>

#include "allocator/bedrock/size.h"
#include "allocator/bedrock/text.h"

/* Names further away than this are no misspelling. */
#define BEDROCK_NAME_DISTANCE_MAX 3u
#define BEDROCK_NAME_BYTES_MAX    31u

#define BEDROCK_FIELD(field) offsetof(struct bedrock_options, field)
#define BEDROCK_MS_MAX       INT64_C(1000000000)
/* One block in so many at least. */
#define BEDROCK_GUARD_PAGES_MAX INT64_C(1000000000)

/* In the order of the values they stand for. */
static const char *const bedrock_words_flag[] = { "false", "true", NULL };
static const char *const bedrock_words_junk[] = { "false", "true", "alloc", "free", NULL };
static const char *const bedrock_words_percpu[] = { "disabled", "percpu", "phycpu", NULL };
static const char *const bedrock_words_thp[] = { "default", "always", "never", NULL };
static const char *const bedrock_words_zero_realloc[] = { "free", "alloc", NULL };
static const char *const bedrock_words_memory_limit[] = { "cgroup", NULL };
static const char *const bedrock_words_soft_limit[] = { "none", NULL };

static const struct bedrock_option bedrock_option_table[] = {
	{ .name = "abort_conf",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_abort_conf),
	  .words = bedrock_words_flag },
	{ .name = "annotate",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_annotate),
	  .words = bedrock_words_flag },
	{ .name = "background_thread",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_background_thread),
	  .words = bedrock_words_flag },
	{ .name = "check_small",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_check_small),
	  .words = bedrock_words_flag },
	{ .name = "confirm_conf",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_confirm_conf),
	  .words = bedrock_words_flag },
	{ .name = "dirty_decay_ms",
	  .kind = BEDROCK_OPTION_INTEGER,
	  .offset = BEDROCK_FIELD(dirty_decay_ms),
	  .least = -1,
	  .most = BEDROCK_MS_MAX },
	{ .name = "guard_pages",
	  .kind = BEDROCK_OPTION_INTEGER,
	  .offset = BEDROCK_FIELD(guard_pages),
	  .least = 0,
	  .most = BEDROCK_GUARD_PAGES_MAX },
	{ .name = "junk",
	  .kind = BEDROCK_OPTION_WORD,
	  .offset = BEDROCK_FIELD(junk),
	  .words = bedrock_words_junk },
	{ .name = "memory_limit",
	  .kind = BEDROCK_OPTION_LIMIT,
	  .offset = BEDROCK_FIELD(memory_limit),
	  .words = bedrock_words_memory_limit },
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
	  .kind = BEDROCK_OPTION_WORD,
	  .offset = BEDROCK_FIELD(percpu_arena),
	  .words = bedrock_words_percpu },
	{ .name = "pressure",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_pressure),
	  .words = bedrock_words_flag },
	{ .name = "protect_links",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_protect_links),
	  .words = bedrock_words_flag },
	{ .name = "retain",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_retain),
	  .words = bedrock_words_flag },
	{ .name = "soft_limit",
	  .kind = BEDROCK_OPTION_LIMIT,
	  .offset = BEDROCK_FIELD(soft_limit),
	  .words = bedrock_words_soft_limit },
	{ .name = "stats_print",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_stats_print),
	  .words = bedrock_words_flag },
	{ .name = "tcache",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_tcache),
	  .words = bedrock_words_flag },
	{ .name = "tcache_max",
	  .kind = BEDROCK_OPTION_INTEGER,
	  .offset = BEDROCK_FIELD(tcache_max_bytes),
	  .least = 0,
	  .most = 65536 },
	{ .name = "thp",
	  .kind = BEDROCK_OPTION_WORD,
	  .offset = BEDROCK_FIELD(thp),
	  .words = bedrock_words_thp },
	{ .name = "trust_madvise",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_trust_madvise),
	  .words = bedrock_words_flag },
	{ .name = "zero_on_free",
	  .kind = BEDROCK_OPTION_FLAG,
	  .offset = BEDROCK_FIELD(is_zero_on_free),
	  .words = bedrock_words_flag },
	{ .name = "zero_realloc",
	  .kind = BEDROCK_OPTION_WORD,
	  .offset = BEDROCK_FIELD(zero_realloc),
	  .words = bedrock_words_zero_realloc },
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
		.is_pressure = true,
		.is_annotate = true,
		.arena_count = 0,
		.percpu_arena = BEDROCK_PERCPU_CPU,
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

/* Which of the words it is. */
static bool bedrock_span_word(struct bedrock_span span, const char *const *words, int64_t *out)
{
	for (int64_t i = 0; words[i]; i++) {
		if (bedrock_span_is(span, words[i])) {
			*out = i;
			return true;
		}
	}
	return false;
}

static bool bedrock_option_value(const struct bedrock_option *option, struct bedrock_span value,
				 int64_t *out)
{
	switch (option->kind) {
	case BEDROCK_OPTION_FLAG:
	case BEDROCK_OPTION_WORD:
		return bedrock_span_word(value, option->words, out);
	case BEDROCK_OPTION_LIMIT:
		return bedrock_span_limit(value, option->words[0], out);
	case BEDROCK_OPTION_INTEGER:
		break;
	}
	return bedrock_span_integer(value, out) && *out >= option->least && *out <= option->most;
}

static bool bedrock_option_set(const struct bedrock_option *option, struct bedrock_options *options,
			       struct bedrock_span value)
{
	char *field = (char *)options + option->offset;
	int64_t number;

	if (!bedrock_option_value(option, value, &number))
		return false;
	bool is_true = number != 0;

	if (option->kind == BEDROCK_OPTION_FLAG)
		memcpy(field, &is_true, sizeof(is_true));
	else
		memcpy(field, &number, sizeof(number));
	return true;
}

int64_t bedrock_options_get(const struct bedrock_options *options,
			    const struct bedrock_option *option)
{
	const void *field = (const char *)options + option->offset;

	if (option->kind == BEDROCK_OPTION_FLAG)
		return bedrock_load_relaxed((const _Atomic(bool) *)field);
	return bedrock_load_relaxed((const _Atomic(int64_t) *)field);
}

const struct bedrock_option *bedrock_options_at(size_t index)
{
	return index < BEDROCK_OPTION_COUNT ? &bedrock_option_table[index] : NULL;
}

const struct bedrock_option *bedrock_options_find(const char *name, size_t name_bytes)
{
	const struct bedrock_span span = { .text = name, .bytes = name_bytes };

	for (size_t i = 0; i < BEDROCK_OPTION_COUNT; i++) {
		if (bedrock_span_is(span, bedrock_option_table[i].name))
			return &bedrock_option_table[i];
	}
	return NULL;
}

static unsigned bedrock_least_of(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* How many characters must be changed, added or taken away to make one of the other. */
static unsigned bedrock_name_distance(struct bedrock_span span, const char *name)
{
	unsigned row[BEDROCK_NAME_BYTES_MAX + 1];
	size_t name_bytes = strlen(name);

	if (span.bytes > BEDROCK_NAME_BYTES_MAX || name_bytes > BEDROCK_NAME_BYTES_MAX)
		return UINT32_MAX;
	for (unsigned i = 0; i <= name_bytes; i++)
		row[i] = i;
	for (unsigned at = 0; at < span.bytes; at++) {
		unsigned diagonal = row[0];

		row[0] = at + 1;
		for (size_t i = 0; i < name_bytes; i++) {
			unsigned changed = diagonal + (span.text[at] != name[i]);

			diagonal = row[i + 1];
			row[i + 1] = bedrock_least_of(changed, row[i] + 1, diagonal + 1);
		}
	}
	return row[name_bytes];
}

/* A candidate that begins like the misspelt name, or is at most a few characters away. */
static void bedrock_name_consider(struct bedrock_span span, const char *name, unsigned *best,
				  const char **out)
{
	bool is_start = span.bytes >= 4 && strncmp(name, span.text, span.bytes) == 0;
	unsigned distance = is_start ? 1 : bedrock_name_distance(span, name);

	if (distance < *best && distance < span.bytes) {
		*best = distance;
		*out = name;
	}
}

/* The name or word that is meant, or NULL; of an option if `words` is NULL. */
static const char *bedrock_name_nearest(struct bedrock_span span, const char *const *words)
{
	unsigned best = BEDROCK_NAME_DISTANCE_MAX + 1;
	const char *name = NULL;

	for (size_t i = 0; !words && i < BEDROCK_OPTION_COUNT; i++)
		bedrock_name_consider(span, bedrock_option_table[i].name, &best, &name);
	for (size_t i = 0; words && words[i]; i++)
		bedrock_name_consider(span, words[i], &best, &name);
	return name;
}

/* "bedrock: <origin>: <what> '<span>'<outcome>" */
static void bedrock_options_say(const struct bedrock_options_source *source, const char *what,
				struct bedrock_span span, const char *outcome, const char *nearest)
{
	struct bedrock_text text;

	bedrock_text_init(&text, NULL, NULL);
	bedrock_text_add(&text, "bedrock: ");
	bedrock_text_add(&text, source->origin);
	bedrock_text_add(&text, what);
	bedrock_text_add_bytes(&text, span.text, span.bytes);
	bedrock_text_add(&text, outcome);
	if (nearest) {
		bedrock_text_add(&text, "; did you mean '");
		bedrock_text_add(&text, nearest);
		bedrock_text_add(&text, "'?");
	}
	bedrock_text_add(&text, "\n");
	bedrock_text_flush(&text);
}

/* One "name:value". -> was it accepted? */
static bool bedrock_options_entry(struct bedrock_options *options,
				  const struct bedrock_options_source *source,
				  struct bedrock_span entry)
{
	const char *colon = memchr(entry.text, ':', entry.bytes);
	size_t name_bytes = colon ? (size_t)(colon - entry.text) : entry.bytes;
	struct bedrock_span name = { .text = entry.text, .bytes = name_bytes };
	const struct bedrock_option *option = bedrock_options_find(name.text, name.bytes);
	struct bedrock_span value = {
		.text = colon ? colon + 1 : "",
		.bytes = colon ? entry.bytes - name_bytes - 1 : 0,
	};
	bool is_set = option && bedrock_option_set(option, options, value);

	if (is_set && source->is_confirmed)
		bedrock_options_say(source, ": '", entry, "' set", NULL);
	if (is_set || source->is_quiet)
		return is_set;
	if (!option)
		bedrock_options_say(source, ": unknown option '", name, "' ignored",
				    bedrock_name_nearest(name, NULL));
	else
		bedrock_options_say(source, ": bad value in '", entry, "' ignored",
				    option->words ? bedrock_name_nearest(value, option->words)
						  : NULL);
	return false;
}

unsigned bedrock_options_apply(struct bedrock_options *options,
			       const struct bedrock_options_source *source)
{
	const char *text = source->text;
	unsigned refused = 0;

	while (*text) {
		struct bedrock_span entry = { .text = text, .bytes = strcspn(text, ",") };

		if (entry.bytes > 0 && !bedrock_options_entry(options, source, entry))
			refused++;
		text += entry.bytes;
		text += *text == ',';
	}
	return refused;
}

unsigned bedrock_options_parse(struct bedrock_options *options, const char *text)
{
	const struct bedrock_options_source source = { .origin = "BEDROCK_CONF", .text = text };

	return bedrock_options_apply(options, &source);
}
