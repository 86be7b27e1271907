/* SPDX-License-Identifier: MIT */
/*
 * Numbers with units: what is read, what is refused with which advice, and that everything printed
 * reads back as exactly the same value. Also the guesses at mistyped words.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/error.h"
#include "injectors/units.h"

typedef int parse_whole(const char *text, uint64_t *value, struct hq_error *error);
typedef const char *print_whole(char text[HQ_UNITS_TEXT], uint64_t value);

struct row {
	const char *text;
	uint64_t value;
};

static void expect_all(parse_whole *parse, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct hq_error error = { "" };
		uint64_t value = 0;

		cr_expect_eq(parse(rows[i].text, &value, &error), 0, "%s: %s", rows[i].text,
			     error.text);
		cr_expect_eq(value, rows[i].value, "%s gave %" PRIu64, rows[i].text, value);
	}
}

/* Refused, with the advice in the sentence, and the value untouched. */
static void expect_refused(parse_whole *parse, const char *text, const char *advice)
{
	struct hq_error error = { "" };
	uint64_t value = 7;

	cr_expect_eq(parse(text, &value, &error), -EINVAL, "'%s' was accepted", text);
	cr_expect_eq(value, 7);
	cr_expect_not_null(strstr(error.text, advice), "'%s': \"%s\" lacks \"%s\"", text,
			   error.text, advice);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

Test(units, sizes_are_read_in_every_unit)
{
	static const struct row rows[] = {
		{ "0", 0 },
		{ "0B", 0 },
		{ "64B", 64 },
		{ "4KiB", 4096 },
		{ "1.5MiB", 1572864 },
		{ "2GiB", 2147483648u },
		{ "0.25KiB", 256 },
		{ "007B", 7 },
		{ "0.3GiB", 322122547 },
		{ "18446744073709551615B", UINT64_MAX },
	};

	expect_all(hq_units_parse_size, rows, COUNT(rows));
}

Test(units, durations_are_read_in_every_unit)
{
	static const struct row rows[] = {
		{ "0", 0 },
		{ "10ns", 10 },
		{ "5us", 5000 },
		{ "20ms", 20000000 },
		{ "1.5s", 1500000000 },
		{ "3m", 180000000000 },
		{ "1h", 3600000000000 },
		{ "0.000000001s", 1 },
	};

	expect_all(hq_units_parse_duration, rows, COUNT(rows));
}

Test(units, counts_are_thousands)
{
	static const struct row rows[] = {
		{ "400", 400 },       { "400k", 400000 }, { "2M", 2000000 },
		{ "1G", 1000000000 }, { "1.5k", 1500 },   { "0", 0 },
	};

	expect_all(hq_units_parse_count, rows, COUNT(rows));
}

Test(units, refused_sizes_come_with_what_to_write_instead)
{
	static const struct {
		const char *text, *advice;
	} rows[] = {
		{ "64", "64 needs a unit: 64KiB?" },
		{ "64kB", "write 64KiB" },
		{ "64KB", "ambiguous" },
		{ "1.5MB", "write 1.5MiB" },
		{ "2G", "write 2GiB" },
		{ "64 KiB", "space" },
		{ "", "is missing" },
		{ "-4KiB", "negative" },
		{ "KiB", "write 64B" },
		{ ".5KiB", "write 64B" },
		{ "1.KiB", "write 64B" },
		{ "+1KiB", "write 64B" },
		{ "1.5B", "whole number of bytes" },
		{ "0.0001KiB", "whole number of bytes" },
		{ "17179869184GiB", "64 bits" },
		{ "99999999999999999999B", "64 bits" },
		{ "0.1234567890123456789KiB", "too many digits" },
		{ "4kib", "unknown unit 'kib'" },
		{ "4KiBx", "unknown unit" },
		{ "0x10B", "unknown unit" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		expect_refused(hq_units_parse_size, rows[i].text, rows[i].advice);
}

Test(units, refused_durations_come_with_what_to_write_instead)
{
	static const struct {
		const char *text, *advice;
	} rows[] = {
		{ "5", "5 needs a unit: 5ms?" },
		{ "5sec", "write 5s" },
		{ "5min", "write 5m" },
		{ "5hours", "write 5h" },
		{ "5\xc2\xb5s", "write 5us" },
		{ "5M", "write 5m" },
		{ "0.5ns", "whole number of nanoseconds" },
		{ "5d", "unknown unit 'd'" },
		{ "5200000h", "64 bits" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		expect_refused(hq_units_parse_duration, rows[i].text, rows[i].advice);
}

Test(units, refused_counts_come_with_what_to_write_instead)
{
	expect_refused(hq_units_parse_count, "4K", "write 4k");
	expect_refused(hq_units_parse_count, "4m", "write 4M");
	expect_refused(hq_units_parse_count, "4Ki", "ambiguous");
	expect_refused(hq_units_parse_count, "1.5", "whole number");
	expect_refused(hq_units_parse_count, "many", "write 400");
}

/* Values of every magnitude: the top `bits` of a random word, often rounded to a round number. */
static uint64_t random_value(void)
{
	const unsigned shift = (unsigned)random() % 64;
	uint64_t value =
		((uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ (uint64_t)random()) >> shift;
	static const uint64_t grains[] = { 1, 1000, 1024, HQ_MIB, HQ_MS, HQ_S, 60 * HQ_S, 512 };

	value -= value % grains[(unsigned)random() % COUNT(grains)];
	return value;
}

static void expect_round_trip(parse_whole *parse, print_whole *print, uint64_t value)
{
	struct hq_error error = { "" };
	char text[HQ_UNITS_TEXT];
	uint64_t back = ~value;

	cr_assert_eq(print(text, value), text);
	cr_assert_eq(parse(text, &back, &error), 0, "%" PRIu64 " printed as '%s': %s", value, text,
		     error.text);
	cr_assert_eq(back, value, "%" PRIu64 " printed as '%s' reads as %" PRIu64, value, text,
		     back);
}

Test(units, whole_numbers_read_back_as_they_were_printed)
{
	srandom(42);
	for (int i = 0; i < 4000; i++) {
		const uint64_t value = i < 3 ? UINT64_MAX - (uint64_t)i : random_value();

		expect_round_trip(hq_units_parse_size, hq_units_print_size, value);
		expect_round_trip(hq_units_parse_duration, hq_units_print_duration, value);
		expect_round_trip(hq_units_parse_count, hq_units_print_count, value);
	}
}

Test(units, whole_numbers_are_printed_briefly)
{
	char text[HQ_UNITS_TEXT];

	cr_expect_str_eq(hq_units_print_size(text, 65536), "64KiB");
	cr_expect_str_eq(hq_units_print_size(text, 1572864), "1.5MiB");
	cr_expect_str_eq(hq_units_print_size(text, 1000), "1000B");
	cr_expect_str_eq(hq_units_print_size(text, 0), "0");
	cr_expect_str_eq(hq_units_print_duration(text, 500 * HQ_MS), "500ms");
	cr_expect_str_eq(hq_units_print_duration(text, 1500 * HQ_MS), "1.5s");
	cr_expect_str_eq(hq_units_print_duration(text, 3600 * HQ_S), "1h");
	cr_expect_str_eq(hq_units_print_count(text, 400000), "400k");
	cr_expect_str_eq(hq_units_print_count(text, 999), "999");
}

Test(units, rates_are_read_per_second)
{
	struct hq_error error;
	double value;

	cr_assert_eq(hq_units_parse_rate("500/s", &value, &error), 0);
	cr_expect_eq(value, 500);
	cr_assert_eq(hq_units_parse_rate("2.5k/s", &value, &error), 0);
	cr_expect_eq(value, 2500);
}

Test(units, refused_rates_come_with_what_to_write_instead)
{
	static const char *const texts[] = { "500",   "500k",  "500/m", "-1/s",    "k/s",
					     "inf/s", "nan/s", "0x1/s", "1e999/s", "" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct hq_error error = { "" };
		double value = 7;

		cr_expect_eq(hq_units_parse_rate(texts[i], &value, &error), -EINVAL, "%s",
			     texts[i]);
		cr_expect_not_null(strstr(error.text, "/s"), "%s", error.text);
		cr_expect_eq(value, 7);
	}
}

Test(units, shares_are_read_as_part_or_percent)
{
	struct hq_error error;
	double value;

	cr_assert_eq(hq_units_parse_share("25%", &value, &error), 0);
	cr_expect_eq(value, 0.25);
	cr_assert_eq(hq_units_parse_share("0.25", &value, &error), 0);
	cr_expect_eq(value, 0.25);
	cr_assert_eq(hq_units_parse_share("100%", &value, &error), 0);
	cr_expect_eq(value, 1);
}

Test(units, shares_outside_of_the_whole_are_refused)
{
	static const char *const texts[] = { "101%", "1.5", "-1%", "25 %", "half", "" };

	for (size_t i = 0; i < COUNT(texts); i++) {
		struct hq_error error = { "" };
		double value = 7;

		cr_expect_eq(hq_units_parse_share(texts[i], &value, &error), -EINVAL, "%s",
			     texts[i]);
		cr_expect_neq(error.text[0], '\0');
		cr_expect_eq(value, 7);
	}
}

Test(units, real_numbers_read_back_as_they_were_printed)
{
	struct hq_error error;
	char text[HQ_UNITS_TEXT];

	srandom(42);
	for (int i = 0; i < 4000; i++) {
		const double share =
			(double)random() / RAND_MAX * pow(10, -(double)(random() % 12));
		const double rate = i % 2 ? share * 1e9 : (double)(random() % 100000) / 10;
		double back = -1;

		cr_assert_eq(hq_units_parse_share(hq_units_print_share(text, share), &back, &error),
			     0, "%s", text);
		cr_assert_eq(back, share, "%s", text);
		cr_assert_eq(hq_units_parse_rate(hq_units_print_rate(text, rate), &back, &error), 0,
			     "%s", text);
		cr_assert_eq(back, rate, "%s", text);
	}
}

Test(units, real_numbers_are_printed_briefly)
{
	char text[HQ_UNITS_TEXT];

	cr_expect_str_eq(hq_units_print_share(text, 0.25), "25%");
	cr_expect_str_eq(hq_units_print_share(text, 0.001), "0.1%");
	cr_expect_str_eq(hq_units_print_share(text, 0), "0");
	cr_expect_str_eq(hq_units_print_rate(text, 500), "500/s");
	cr_expect_str_eq(hq_units_print_rate(text, 2500), "2.5k/s");
	cr_expect_str_eq(hq_units_print_rate(text, 1000), "1k/s");
}

/* Words from the characters that numbers, units and their neighbours are made of. */
static void random_word(char word[12])
{
	static const char letters[] = "0019..kKMGiBbnsumhx%/-+e _";
	const size_t length = (size_t)random() % 11;

	for (size_t i = 0; i < length; i++)
		word[i] = letters[(size_t)random() % (sizeof(letters) - 1)];
	word[length] = '\0';
}

static void expect_value_or_sentence(parse_whole *parse, print_whole *print, const char *word)
{
	struct hq_error error = { "" };
	uint64_t value;

	if (parse(word, &value, &error) == 0)
		expect_round_trip(parse, print, value);
	else
		cr_assert_neq(error.text[0], '\0', "'%s' was refused without a word", word);
}

Test(units, any_text_is_either_a_value_or_refused_with_a_sentence)
{
	char word[12];

	srandom(42);
	for (int i = 0; i < 20000; i++) {
		random_word(word);
		expect_value_or_sentence(hq_units_parse_size, hq_units_print_size, word);
		expect_value_or_sentence(hq_units_parse_duration, hq_units_print_duration, word);
		expect_value_or_sentence(hq_units_parse_count, hq_units_print_count, word);
	}
}

Test(error, a_long_sentence_is_cut_and_ended)
{
	struct hq_error error;

	cr_assert_eq(hq_error_set(&error, "%700d", 1), -EINVAL);
	cr_assert_eq(strlen(error.text), sizeof(error.text) - 1);
}

static const char *const words[] = { "threads", "rows", "batch", "value", "rate", NULL };

Test(suggest, one_swap_of_letters_is_recognised)
{
	cr_assert_str_eq(hq_suggest("trheads", words), "threads");
}

Test(suggest, the_nearest_of_several_is_taken)
{
	cr_expect_str_eq(hq_suggest("rat", words), "rate");
	cr_expect_str_eq(hq_suggest("Row", words), "rows");
	cr_expect_str_eq(hq_suggest("thread", words), "threads");
}

Test(suggest, far_words_get_no_suggestion)
{
	const char long_word[] = "a-word-that-is-far-longer-than-any-key-of-ours-could-ever-be";

	cr_expect_null(hq_suggest("quokka", words));
	cr_expect_null(hq_suggest("", words));
	cr_expect_null(hq_suggest("ro", words));
	cr_expect_null(hq_suggest(long_word, words));
}
