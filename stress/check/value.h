/* SPDX-License-Identifier: MIT */
/*
 * Measured values for people: a few significant digits and a unit ("173.4 MiB", "31.25 us"). Unlike
 * the printers of injectors/units.h these round: they are never read back.
 */
#ifndef HQ_STRESS_CHECK_VALUE_H
#define HQ_STRESS_CHECK_VALUE_H

#include <stddef.h>

#include "stress/check/check.h"

/* Four significant digits; returns `text`. */
const char *hq_value_print(char *text, size_t size, enum hq_unit unit, double value);

/* Every digit, in the smallest unit: for two values that would look alike; returns `text`. */
const char *hq_value_print_exact(char *text, size_t size, enum hq_unit unit, double value);

/* "size", "time", "rate": what a value of that unit is. */
const char *hq_unit_words(enum hq_unit unit);

/* "64MiB": how a value of that unit is written in an expectation. */
const char *hq_unit_example(enum hq_unit unit);

#endif
