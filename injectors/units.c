/* SPDX-License-Identifier: MIT */
/*
 * Numbers with units: reading them strictly, printing them briefly.
 *
 * Sizes, durations and counts are whole numbers and never pass through floating point; rates and
 * shares are doubles. What is refused is refused with what to write instead. The decimal point is
 * '.' since this project never calls setlocale.
 */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"

struct unit {
	const char *name;
	uint64_t scale;
};

/* A spelling that people try, what to write instead, and why it is not simply accepted. */
struct misspelling {
	const char *spelling;
	const char *unit;
	const char *why;
};

/* One kind of whole number; the first unit is the base one. */
struct family {
	const char *noun;     /* "a size" */
	const char *whole_of; /* "a whole number of bytes" */
	const char *examples;
	const char *usual; /* the unit that a bare number probably lacks; NULL: none is needed */
	const struct unit *units;
	const struct misspelling *misspellings;
};

#define AMBIGUOUS "is ambiguous (thousands or 1024s?)"
#define SPELLED   "is spelled otherwise here"

static const struct unit size_units[] = {
	{ "B", 1 }, { "KiB", HQ_KIB }, { "MiB", HQ_MIB }, { "GiB", HQ_GIB }, { NULL, 0 },
};

static const struct misspelling size_misspellings[] = {
	{ "kB", "KiB", AMBIGUOUS }, { "KB", "KiB", AMBIGUOUS }, { "k", "KiB", AMBIGUOUS },
	{ "K", "KiB", AMBIGUOUS },  { "MB", "MiB", AMBIGUOUS }, { "M", "MiB", AMBIGUOUS },
	{ "m", "MiB", AMBIGUOUS },  { "GB", "GiB", AMBIGUOUS }, { "G", "GiB", AMBIGUOUS },
	{ "g", "GiB", AMBIGUOUS },  { "b", "B", SPELLED },      { NULL, NULL, NULL },
};

static const struct family size_family = {
	.noun = "a size",
	.whole_of = "a whole number of bytes",
	.examples = "64B, 4KiB, 1.5MiB or 2GiB",
	.usual = "KiB",
	.units = size_units,
	.misspellings = size_misspellings,
};

static const struct unit duration_units[] = {
	{ "ns", 1 },        { "us", HQ_US },         { "ms", HQ_MS }, { "s", HQ_S },
	{ "m", 60 * HQ_S }, { "h", 60 * 60 * HQ_S }, { NULL, 0 },
};

static const struct misspelling duration_misspellings[] = {
	{ "sec", "s", SPELLED },     { "secs", "s", SPELLED },       { "second", "s", SPELLED },
	{ "seconds", "s", SPELLED }, { "min", "m", SPELLED },        { "mins", "m", SPELLED },
	{ "minute", "m", SPELLED },  { "minutes", "m", SPELLED },    { "hour", "h", SPELLED },
	{ "hours", "h", SPELLED },   { "msec", "ms", SPELLED },      { "usec", "us", SPELLED },
	{ "nsec", "ns", SPELLED },   { "\xc2\xb5s", "us", SPELLED }, { "\xce\xbcs", "us", SPELLED },
	{ "S", "s", SPELLED },       { "M", "m", SPELLED },          { "H", "h", SPELLED },
	{ NULL, NULL, NULL },
};

static const struct family duration_family = {
	.noun = "a duration",
	.whole_of = "a whole number of nanoseconds",
	.examples = "10ns, 5us, 20ms, 1.5s, 3m or 1h",
	.usual = "ms",
	.units = duration_units,
	.misspellings = duration_misspellings,
};

static const struct unit count_units[] = {
	{ "", 1 }, { "k", 1000 }, { "M", 1000000 }, { "G", 1000000000 }, { NULL, 0 },
};

static const struct misspelling count_misspellings[] = {
	{ "K", "k", SPELLED },    { "m", "M", SPELLED },    { "g", "G", SPELLED },
	{ "ki", "k", AMBIGUOUS }, { "Ki", "k", AMBIGUOUS }, { "Mi", "M", AMBIGUOUS },
	{ "Gi", "G", AMBIGUOUS }, { NULL, NULL, NULL },
};

static const struct family count_family = {
	.noun = "a count",
	.whole_of = "a whole number",
	.examples = "400, 400k, 2M or 1G",
	.units = count_units,
	.misspellings = count_misspellings,
};

/* ---- reading ---- */

/* A number in decimal, not yet scaled: whole + fraction / 10^fraction_digits. */
struct decimal {
	uint64_t whole;
	uint64_t fraction;
	unsigned fraction_digits;
	int length; /* characters taken */
};

#define FRACTION_DIGITS_MAX 18 /* so that the fraction fits into 64 bits */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits with at most one point between them. 0, -EINVAL (no such number) or -ERANGE. */
static int scan_decimal(const char *text, struct decimal *decimal)
{
	const char *p = text;

	*decimal = (struct decimal){ 0 };
	if (!is_digit(*p))
		return -EINVAL;
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(decimal->whole, 10u, &decimal->whole) ||
		    __builtin_add_overflow(decimal->whole, (uint64_t)(*p - '0'), &decimal->whole))
			return -ERANGE;
	}
	if (*p == '.') {
		p++;
		if (!is_digit(*p))
			return -EINVAL;
		for (; is_digit(*p); p++) {
			if (++decimal->fraction_digits > FRACTION_DIGITS_MAX)
				return -ERANGE;
			decimal->fraction = decimal->fraction * 10 + (uint64_t)(*p - '0');
		}
	}
	decimal->length = (int)(p - text);
	return 0;
}

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;

	while (exponent--)
		power *= 10;
	return power;
}

/*
 * The scaled number, a fraction of the base unit rounded to the nearest. 0, -ERANGE (too large), or
 * -EDOM (the base unit has no fractions, or something above zero would become zero).
 */
static int scale_decimal(const struct decimal *decimal, uint64_t scale, uint64_t *value)
{
	const uint64_t power = power_of_ten(decimal->fraction_digits);
	const unsigned __int128 part = (unsigned __int128)decimal->fraction * scale + power / 2;
	const unsigned __int128 sum =
		(unsigned __int128)decimal->whole * scale + (uint64_t)(part / power);

	if (sum > UINT64_MAX)
		return -ERANGE;
	if (decimal->fraction && (scale == 1 || sum == 0))
		return -EDOM;
	*value = (uint64_t)sum;
	return 0;
}

static const struct unit *find_unit(const struct family *family, const char *name)
{
	for (const struct unit *unit = family->units; unit->name; unit++)
		if (strcmp(unit->name, name) == 0)
			return unit;
	return NULL;
}

static int refuse_unit(const struct family *family, const char *text, int number_length,
		       struct hq_error *error)
{
	const char *name = text + number_length;

	if (*name == '\0')
		return hq_error_set(error, "%s needs a unit: %s%s?", text, text, family->usual);
	for (const struct misspelling *m = family->misspellings; m->spelling; m++)
		if (strcmp(m->spelling, name) == 0)
			return hq_error_set(error, "'%s' %s; write %.*s%s", name, m->why,
					    number_length, text, m->unit);
	if (*name == ' ')
		return hq_error_set(error, "'%s' has a space before its unit; write %s as %s", text,
				    family->noun, family->examples);
	return hq_error_set(error, "unknown unit '%s' in '%s'; write %s as %s", name, text,
			    family->noun, family->examples);
}

/* The number alone, with a sentence when it is none. */
static int read_decimal(const struct family *family, const char *text, struct decimal *decimal,
			struct hq_error *error)
{
	const int status = scan_decimal(text, decimal);

	if (*text == '\0')
		return hq_error_set(error, "%s is missing; write %s", family->noun,
				    family->examples);
	if (*text == '-')
		return hq_error_set(error, "'%s' is negative; %s starts at 0", text, family->noun);
	if (status == -ERANGE)
		return hq_error_set(error, "'%s' has too many digits; it must fit into 64 bits",
				    text);
	if (status)
		return hq_error_set(error, "'%s' is not %s; write %s", text, family->noun,
				    family->examples);
	return 0;
}

static int parse_whole(const struct family *family, const char *text, uint64_t *value,
		       struct hq_error *error)
{
	struct decimal decimal;
	int status = read_decimal(family, text, &decimal, error);

	if (status)
		return status;
	const char *name = text + decimal.length;
	const struct unit *unit = find_unit(family, name);

	if (!unit && *name == '\0' && decimal.whole == 0 && decimal.fraction == 0)
		unit = family->units;
	if (!unit)
		return refuse_unit(family, text, decimal.length, error);
	status = scale_decimal(&decimal, unit->scale, value);
	if (status == -ERANGE)
		return hq_error_set(error, "'%s' is too large; it must fit into 64 bits", text);
	if (status)
		return hq_error_set(error, "'%s' is not %s", text, family->whole_of);
	return 0;
}

int hq_units_parse_size(const char *text, uint64_t *bytes, struct hq_error *error)
{
	return parse_whole(&size_family, text, bytes, error);
}

int hq_units_parse_duration(const char *text, uint64_t *ns, struct hq_error *error)
{
	return parse_whole(&duration_family, text, ns, error);
}

int hq_units_parse_count(const char *text, uint64_t *count, struct hq_error *error)
{
	return parse_whole(&count_family, text, count, error);
}

/*
 * A finite number >= 0 at the start of the text, as strtod reads it but without its hexadecimal,
 * infinite and signed forms. Returns what follows it, or NULL.
 */
static const char *scan_real(const char *text, double *value)
{
	char *rest;

	if (!is_digit(text[0]) || (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')))
		return NULL;
	*value = strtod(text, &rest);
	return *value <= DBL_MAX ? rest : NULL;
}

int hq_units_parse_rate(const char *text, double *per_second, struct hq_error *error)
{
	double number;
	const char *rest = scan_real(text, &number);

	if (!rest)
		return hq_error_set(error, "'%s' is not a rate; write 500/s or 2.5k/s", text);
	const size_t length = (size_t)(rest - text);

	for (const struct unit *unit = count_units; unit->name; unit++) {
		const size_t unit_length = strlen(unit->name);

		if (strncmp(rest, unit->name, unit_length) != 0)
			continue;
		if (strcmp(rest + unit_length, "/s") == 0) {
			if (number > DBL_MAX / (double)unit->scale)
				return hq_error_set(error, "'%s' is too large", text);
			*per_second = number * (double)unit->scale;
			return 0;
		}
		if (rest[unit_length] == '\0')
			return hq_error_set(error, "%s needs a unit: %s/s?", text, text);
	}
	return hq_error_set(error, "unknown unit '%s' in '%s'; write %.*s/s or %.*sk/s", rest, text,
			    (int)length, text, (int)length, text);
}

int hq_units_parse_share(const char *text, double *share, struct hq_error *error)
{
	double number;
	const char *rest = scan_real(text, &number);

	if (!rest || (*rest != '\0' && strcmp(rest, "%") != 0))
		return hq_error_set(error, "'%s' is not a share; write 25%% or 0.25", text);
	if (*rest == '%')
		number /= 100;
	if (number > 1)
		return hq_error_set(error,
				    "'%s' is more than the whole; a share is 0%% to 100%%, or "
				    "0 to 1",
				    text);
	*share = number;
	return 0;
}

/* ---- printing ---- */

#define PRINT_DIGITS_MAX 12 /* more would be longer than the bare base unit */

/*
 * The shortest text in one unit, or false if the unit is larger than the value (500ms is easier to
 * read than 0.5s) or no fraction that parses back fits.
 */
static bool print_in_unit(char text[HQ_UNITS_TEXT], const struct family *family,
			  const struct unit *unit, uint64_t value)
{
	const uint64_t whole = value / unit->scale;
	const uint64_t left = value % unit->scale;
	char fraction[PRINT_DIGITS_MAX + 1] = "";
	struct hq_error ignored;
	uint64_t power = 1;
	uint64_t back;

	for (int digits = 0; whole && digits <= PRINT_DIGITS_MAX; digits++, power *= 10) {
		const unsigned __int128 scaled = (unsigned __int128)left * power + unit->scale / 2;
		uint64_t rest = (uint64_t)(scaled / unit->scale);

		for (int i = digits; i-- > 0; rest /= 10)
			fraction[i] = (char)('0' + rest % 10);
		if (rest) /* Rounded up to the next whole number. */
			continue;
		if (snprintf(text, HQ_UNITS_TEXT, "%" PRIu64 "%s%s%s", whole, digits ? "." : "",
			     fraction, unit->name) < HQ_UNITS_TEXT &&
		    parse_whole(family, text, &back, &ignored) == 0 && back == value)
			return true;
	}
	return false;
}

static const char *print_whole(char text[HQ_UNITS_TEXT], const struct family *family,
			       uint64_t value)
{
	char candidate[HQ_UNITS_TEXT];

	snprintf(text, HQ_UNITS_TEXT, "%" PRIu64 "%s", value, value ? family->units->name : "");
	for (const struct unit *unit = family->units + 1; unit->name; unit++)
		if (print_in_unit(candidate, family, unit, value) &&
		    strlen(candidate) <= strlen(text))
			memcpy(text, candidate, sizeof(candidate));
	return text;
}

const char *hq_units_print_size(char text[HQ_UNITS_TEXT], uint64_t bytes)
{
	return print_whole(text, &size_family, bytes);
}

const char *hq_units_print_duration(char text[HQ_UNITS_TEXT], uint64_t ns)
{
	return print_whole(text, &duration_family, ns);
}

const char *hq_units_print_count(char text[HQ_UNITS_TEXT], uint64_t count)
{
	return print_whole(text, &count_family, count);
}

typedef int parse_real(const char *text, double *value, struct hq_error *error);

/*
 * `number` with the fewest digits such that, with `suffix` behind it, it parses back to `value`, or
 * false. Seventeen digits are always enough for a number that has not been scaled. Without an
 * exponent if that is possible: 500/s, not 5e+02/s.
 */
static bool print_real(char text[HQ_UNITS_TEXT], double number, const char *suffix, double value,
		       parse_real *parse)
{
	char candidate[HQ_UNITS_TEXT];
	struct hq_error ignored;
	bool found = false;
	double back;

	for (int digits = 1; digits <= DBL_DECIMAL_DIG; digits++) {
		snprintf(candidate, sizeof(candidate), "%.*g%s", digits, number, suffix);
		const bool is_plain = !strchr(candidate, 'e');

		if ((found && !is_plain) || parse(candidate, &back, &ignored) || back != value)
			continue;
		memcpy(text, candidate, sizeof(candidate));
		found = true;
		if (is_plain)
			break;
	}
	return found;
}

/* The candidate replaces the text if it is no longer, or if only the text needs an exponent. */
static void keep_better(char text[HQ_UNITS_TEXT], const char candidate[HQ_UNITS_TEXT])
{
	const bool text_is_plain = !strchr(text, 'e');
	const bool candidate_is_plain = !strchr(candidate, 'e');

	if (text_is_plain == candidate_is_plain ? strlen(candidate) <= strlen(text)
						: candidate_is_plain)
		memcpy(text, candidate, HQ_UNITS_TEXT);
}

const char *hq_units_print_rate(char text[HQ_UNITS_TEXT], double per_second)
{
	char candidate[HQ_UNITS_TEXT];

	snprintf(text, HQ_UNITS_TEXT, "%g/s", per_second); /* Only of use for what is no rate. */
	print_real(text, per_second, "/s", per_second, hq_units_parse_rate);
	for (const struct unit *unit = count_units + 1; unit->name; unit++) {
		const double number = per_second / (double)unit->scale;
		char suffix[8];

		snprintf(suffix, sizeof(suffix), "%s/s", unit->name);
		if (number >= 1 &&
		    print_real(candidate, number, suffix, per_second, hq_units_parse_rate))
			keep_better(text, candidate);
	}
	return text;
}

const char *hq_units_print_share(char text[HQ_UNITS_TEXT], double share)
{
	char candidate[HQ_UNITS_TEXT];

	snprintf(text, HQ_UNITS_TEXT, "%g", share); /* Only of use for what is no share. */
	print_real(text, share, "", share, hq_units_parse_share);
	if (share > 0 && print_real(candidate, share * 100, "%", share, hq_units_parse_share))
		keep_better(text, candidate);
	return text;
}
