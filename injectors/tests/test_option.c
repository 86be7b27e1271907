/* SPDX-License-Identifier: MIT */
/*
 * Option tables: defaults, every kind of value, refusals, and the way to text and back.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/option.h"
#include "injectors/units.h"

struct settings {
	bool fast;
	uint64_t threads;
	uint64_t limit_bytes;
	uint64_t pause_ns;
	double rate;
	double share;
	uint32_t mode;
	char path[HQ_OPTION_TEXT_SIZE];
	struct hq_sizes value;
};

static const char *const modes[] = { "auto", "cgroup", "data", NULL };

#define OPTION(name_, kind_, field_, ...)                                                          \
	{                                                                                          \
		.name = name_, .kind = HQ_OPTION_##kind_,                                          \
		.offset = offsetof(struct settings, field_), __VA_ARGS__                           \
	}

static const struct hq_option table[] = {
	OPTION("fast", BOOL, fast, .fallback = "no"),
	OPTION("threads", COUNT, threads, .fallback = "4", .min = 1, .max = 64),
	OPTION("limit", SIZE, limit_bytes, .min = 4096),
	OPTION("pause", DURATION, pause_ns, .fallback = "20ms", .max = HQ_S),
	OPTION("rate", RATE, rate, .fallback = "1k/s"),
	OPTION("share", SHARE, share, .fallback = "25%"),
	OPTION("mode", ENUM, mode, .fallback = "auto", .choices = modes),
	OPTION("path", TEXT, path, .fallback = ""),
	OPTION("value", SIZES, value, .fallback = "16B..4KiB log", .min = 1, .max = HQ_GIB),
	{ .name = NULL },
};

static struct settings defaults(void)
{
	struct settings settings;
	struct hq_error error = { "" };

	memset(&settings, 0xa5, sizeof(settings));
	cr_assert_eq(hq_options_default(table, &settings, &error), 0, "%s", error.text);
	return settings;
}

static void expect_set(struct settings *settings, const char *key, const char *value)
{
	struct hq_error error = { "" };

	cr_expect_eq(hq_options_set(table, settings, key, value, &error), 0, "%s", error.text);
}

static void expect_refused(const char *key, const char *value, const char *advice)
{
	struct settings settings = defaults();
	struct settings before;
	struct hq_error error = { "" };

	memcpy(&before, &settings, sizeof(before));
	cr_expect_eq(hq_options_set(table, &settings, key, value, &error), -EINVAL,
		     "%s=%s was accepted", key, value);
	cr_expect_not_null(strstr(error.text, advice), "%s=%s: \"%s\" lacks \"%s\"", key, value,
			   error.text, advice);
	cr_expect_eq(memcmp(&before, &settings, sizeof(before)), 0, "%s=%s changed a value", key,
		     value);
}

Test(option, defaults_come_from_the_table_and_compulsory_values_are_zero)
{
	const struct settings settings = defaults();

	cr_expect_eq(settings.fast, false);
	cr_expect_eq(settings.threads, 4);
	cr_expect_eq(settings.limit_bytes, 0);
	cr_expect_eq(settings.pause_ns, 20 * HQ_MS);
	cr_expect_eq(settings.rate, 1000);
	cr_expect_eq(settings.share, 0.25);
	cr_expect_eq(settings.mode, 0);
	cr_expect_str_eq(settings.path, "");
	cr_expect_eq(settings.value.min_bytes, 16);
	cr_expect_eq(settings.value.max_bytes, 4096);
	cr_expect_eq(settings.value.shape, HQ_SIZES_LOG);
}

Test(option, a_default_that_does_not_parse_is_reported)
{
	static const struct hq_option wrong[] = {
		{ .name = "threads", .kind = HQ_OPTION_COUNT, .fallback = "many" },
		{ .name = NULL },
	};
	struct hq_error error = { "" };
	uint64_t value;

	cr_expect_eq(hq_options_default(wrong, &value, &error), -EINVAL);
	cr_expect_not_null(strstr(error.text, "threads"));
}

Test(option, an_empty_table_is_accepted)
{
	static const struct hq_option empty[] = { { .name = NULL } };
	struct hq_error error = { "" };
	char text[8] = "x";
	int nothing;

	cr_expect_eq(hq_options_default(NULL, &nothing, &error), 0);
	cr_expect_eq(hq_options_default(empty, &nothing, &error), 0);
	cr_expect_eq(hq_options_print(empty, &nothing, text, sizeof(text)), 0);
	cr_expect_str_eq(text, "");
	cr_expect_eq(hq_options_set(NULL, &nothing, "a", "b", &error), -EINVAL);
	cr_expect_not_null(strstr(error.text, "there are no options"));
}

Test(option, every_kind_is_set_from_text)
{
	struct settings settings = defaults();

	expect_set(&settings, "fast", "yes");
	expect_set(&settings, "threads", "64");
	expect_set(&settings, "limit", "4KiB");
	expect_set(&settings, "pause", "1s");
	expect_set(&settings, "rate", "2.5k/s");
	expect_set(&settings, "share", "0.5");
	expect_set(&settings, "mode", "data");
	expect_set(&settings, "path", "/tmp/a=b");
	cr_expect_eq(settings.fast, true);
	cr_expect_eq(settings.threads, 64);
	cr_expect_eq(settings.limit_bytes, 4096);
	cr_expect_eq(settings.pause_ns, HQ_S);
	cr_expect_eq(settings.rate, 2500);
	cr_expect_eq(settings.share, 0.5);
	cr_expect_eq(settings.mode, 2);
	cr_expect_str_eq(settings.path, "/tmp/a=b");
}

Test(option, sizes_are_one_size_or_a_range_with_a_shape)
{
	struct settings settings = defaults();

	expect_set(&settings, "value", "64B");
	cr_expect_eq(settings.value.min_bytes, 64);
	cr_expect_eq(settings.value.max_bytes, 64);
	expect_set(&settings, "value", "1KiB..2KiB uniform");
	cr_expect_eq(settings.value.max_bytes, 2048);
	cr_expect_eq(settings.value.shape, HQ_SIZES_UNIFORM);
	expect_set(&settings, "value", "16B..4KiB_log");
	cr_expect_eq(settings.value.shape, HQ_SIZES_LOG);
	expect_set(&settings, "value", "1.5KiB..2KiB");
	cr_expect_eq(settings.value.min_bytes, 1536);
	cr_expect_eq(settings.value.shape, HQ_SIZES_UNIFORM);
}

Test(option, refusals_say_what_would_be_accepted)
{
	expect_refused("trheads", "4", "unknown key 'trheads'; did you mean 'threads'?");
	expect_refused("quokka", "4", "write fast, threads");
	expect_refused("threads", "0", "write 1 to 64");
	expect_refused("threads", "65", "65 is out of range");
	expect_refused("threads", "x", "threads: ");
	expect_refused("limit", "1KiB", "write at least 4KiB");
	expect_refused("limit", "4kB", "write 4KiB");
	expect_refused("pause", "2s", "write 0 to 1s");
	expect_refused("rate", "5", "5/s?");
	expect_refused("share", "150%", "share: ");
	expect_refused("fast", "on", "write false, no, true or yes");
	expect_refused("mode", "cgruop", "did you mean 'cgroup'?");
	expect_refused("mode", "x", "write auto, cgroup or data");
	expect_refused("path", "a b", "space");
	expect_refused("value", "4KiB..16B log", "write the smaller size first");
	expect_refused("value", "16B..4KiB lgo", "did you mean 'log'?");
	expect_refused("value", "16..4KiB", "16 needs a unit");
	expect_refused("value", "16B..", "is missing");
	expect_refused("value", "0B..4KiB", "out of range");
	expect_refused("value", "", "is missing");
}

Test(option, a_text_that_does_not_fit_is_refused)
{
	char text[HQ_OPTION_TEXT_SIZE + 1];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	expect_refused("path", text, "too long");
}

Test(option, a_printed_value_is_readable)
{
	const struct settings settings = defaults();
	char text[64];

	cr_expect_str_eq(
		hq_option_print(hq_option_find(table, "value"), &settings, text, sizeof(text)),
		"16B..4KiB log");
	cr_expect_str_eq(
		hq_option_print(hq_option_find(table, "mode"), &settings, text, sizeof(text)),
		"auto");
	cr_expect_null(hq_option_find(table, "nothing"));
}

Test(option, all_options_are_printed_in_table_order)
{
	const struct settings settings = defaults();
	char text[256];

	cr_assert_eq(hq_options_print(table, &settings, text, sizeof(text)), 0);
	cr_assert_str_eq(text,
			 "fast=false threads=4 limit=0 pause=20ms rate=1k/s share=25% mode=auto "
			 "path= value=16B..4KiB_log");
}

Test(option, printing_into_too_little_room_fails)
{
	const struct settings settings = defaults();
	char text[256];
	size_t size = 0;

	while (hq_options_print(table, &settings, text, size) == -ENOSPC)
		size++;
	cr_assert_eq(size, strlen(text) + 1);
}

/* Any values that the table allows. */
static struct settings random_settings(void)
{
	struct settings settings = defaults();

	settings.fast = random() % 2;
	settings.threads = 1 + (uint64_t)random() % 64;
	settings.limit_bytes = 4096 + ((uint64_t)random() << (random() % 30));
	settings.pause_ns = (uint64_t)random() % HQ_S;
	settings.rate = (double)random() / 1000;
	settings.share = (double)random() / RAND_MAX;
	settings.mode = (uint32_t)random() % 3;
	settings.path[0] = (char)('a' + random() % 26);
	settings.value.min_bytes = 1 + (uint64_t)random() % HQ_MIB;
	settings.value.max_bytes = settings.value.min_bytes + 1 + (uint64_t)random() % HQ_MIB;
	settings.value.shape = (uint32_t)random() % 2;
	return settings;
}

static void expect_equal(const struct settings *a, const struct settings *b, const char *text)
{
	cr_assert(a->fast == b->fast && a->threads == b->threads &&
			  a->limit_bytes == b->limit_bytes && a->pause_ns == b->pause_ns &&
			  a->rate == b->rate && a->share == b->share && a->mode == b->mode &&
			  memcmp(a->path, b->path, sizeof(a->path)) == 0 &&
			  memcmp(&a->value, &b->value, sizeof(a->value)) == 0,
		  "%s", text);
}

Test(option, printed_options_parse_back_to_the_same_values)
{
	srandom(42);
	for (int i = 0; i < 500; i++) {
		const struct settings settings = random_settings();
		struct settings back = defaults();
		struct hq_error error = { "" };
		char text[512];

		cr_assert_eq(hq_options_print(table, &settings, text, sizeof(text)), 0);
		cr_assert_eq(hq_options_parse(table, &back, text, &error), 0, "%s: %s", text,
			     error.text);
		expect_equal(&settings, &back, text);
	}
}

Test(option, a_line_with_a_broken_word_is_refused)
{
	struct settings settings = defaults();
	struct hq_error error = { "" };

	cr_expect_eq(hq_options_parse(table, &settings, "threads=4 fast", &error), -EINVAL);
	cr_expect_not_null(strstr(error.text, "write fast=VALUE"));
	cr_expect_eq(hq_options_parse(table, &settings, "  threads=5  fast=yes ", &error), 0);
	cr_expect_eq(settings.threads, 5);
}
