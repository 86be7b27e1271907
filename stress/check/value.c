/* SPDX-License-Identifier: MIT */
/*
 * Measured values for people. The units are those of injectors/units.h; only the rounding is ours.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stress/check/value.h"

struct step {
	double size;
	const char *suffix;
};

/* Each list falls and ends with the unit itself. */
static const struct step byte_steps[] = {
	{ 1073741824.0, " GiB" }, { 1048576.0, " MiB" }, { 1024.0, " KiB" }, { 1.0, " B" }
};
static const struct step time_steps[] = {
	{ 1e9, " s" }, { 1e6, " ms" }, { 1e3, " us" }, { 1.0, " ns" }
};

static const char *print_steps(char *text, size_t size, const struct step *steps, double value)
{
	while (steps->size > 1.0 && fabs(value) < steps->size)
		steps++;
	const double scaled = value / steps->size;

	/* Beyond four digits %g would turn to powers of ten. */
	snprintf(text, size, fabs(scaled) >= 9999.5 ? "%.0f%s" : "%.4g%s", scaled, steps->suffix);
	return text;
}

static const char *print_plain(char *text, size_t size, double value, const char *suffix)
{
	const bool whole = value == floor(value) || fabs(value) >= 9999.5;

	snprintf(text, size, whole ? "%.0f%s" : "%.4g%s", value, suffix);
	return text;
}

const char *hq_value_print(char *text, size_t size, enum hq_unit unit, double value)
{
	switch (unit) {
	case HQ_UNIT_BYTES:
		return print_steps(text, size, byte_steps, value);
	case HQ_UNIT_NS:
		return print_steps(text, size, time_steps, value);
	case HQ_UNIT_PER_SECOND:
		return print_plain(text, size, value, "/s");
	case HQ_UNIT_SHARE:
		return print_plain(text, size, value * 100.0, "%");
	case HQ_UNIT_BYTES_PER_SECOND:
		print_steps(text, size, byte_steps, value);
		strncat(text, "/s", size - strlen(text) - 1);
		return text;
	case HQ_UNIT_COUNT:
		break;
	}
	return print_plain(text, size, value, "");
}

const char *hq_value_print_exact(char *text, size_t size, enum hq_unit unit, double value)
{
	static const char *const suffixes[] = {
		[HQ_UNIT_COUNT] = "",  [HQ_UNIT_BYTES] = " B",
		[HQ_UNIT_NS] = " ns",  [HQ_UNIT_PER_SECOND] = "/s",
		[HQ_UNIT_SHARE] = "%", [HQ_UNIT_BYTES_PER_SECOND] = " B/s"
	};

	if (unit == HQ_UNIT_SHARE)
		value *= 100.0;
	snprintf(text, size, "%.15g%s", value, suffixes[unit]);
	return text;
}

const char *hq_unit_words(enum hq_unit unit)
{
	static const char *const words[] = {
		[HQ_UNIT_COUNT] = "count", [HQ_UNIT_BYTES] = "size",
		[HQ_UNIT_NS] = "time",     [HQ_UNIT_PER_SECOND] = "rate",
		[HQ_UNIT_SHARE] = "share", [HQ_UNIT_BYTES_PER_SECOND] = "size per second"
	};

	return words[unit];
}

const char *hq_unit_example(enum hq_unit unit)
{
	static const char *const examples[] = {
		[HQ_UNIT_COUNT] = "10k", [HQ_UNIT_BYTES] = "64MiB",
		[HQ_UNIT_NS] = "5us",    [HQ_UNIT_PER_SECOND] = "100/s",
		[HQ_UNIT_SHARE] = "25%", [HQ_UNIT_BYTES_PER_SECOND] = "64KiB/s"
	};

	return examples[unit];
}
