/* SPDX-License-Identifier: MIT */
/*
 * Numbers with units, as people write them. Units are compulsory: a bare "64" is refused for a size
 * or a duration, kB and MB are refused with the reason. All parsers want the whole text, return 0
 * or -EINVAL with a sentence in *error, and leave *value alone on failure. A fraction of a larger
 * unit is rounded to the nearest byte or nanosecond. Printers write the shortest text, without a
 * leading "0.", that parses back to exactly the same value, and return `text`.
 */
#ifndef HQ_INJECTORS_UNITS_H
#define HQ_INJECTORS_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"

#define HQ_KIB (1024ull)
#define HQ_MIB (1024ull * HQ_KIB)
#define HQ_GIB (1024ull * HQ_MIB)
#define HQ_US  (1000ull)
#define HQ_MS  (1000ull * HQ_US)
#define HQ_S   (1000ull * HQ_MS)

/* 64B 4KiB 1.5MiB 2GiB; 0 needs no unit. */
int hq_units_parse_size(const char *text, uint64_t *bytes, struct hq_error *error);
/* 10ns 5us 20ms 1.5s 3m 1h; 0 needs no unit. */
int hq_units_parse_duration(const char *text, uint64_t *ns, struct hq_error *error);
/* 400, 400k, 2M, 1G: thousands. */
int hq_units_parse_count(const char *text, uint64_t *count, struct hq_error *error);
/* 500/s 2.5k/s. */
int hq_units_parse_rate(const char *text, double *per_second, struct hq_error *error);
/* 25% or 0.25, as a share of one; outside 0..1 is refused. */
int hq_units_parse_share(const char *text, double *share, struct hq_error *error);

#define HQ_UNITS_TEXT 32 /* room that every printer needs at most */
const char *hq_units_print_size(char text[HQ_UNITS_TEXT], uint64_t bytes);
const char *hq_units_print_duration(char text[HQ_UNITS_TEXT], uint64_t ns);
const char *hq_units_print_count(char text[HQ_UNITS_TEXT], uint64_t count);
const char *hq_units_print_rate(char text[HQ_UNITS_TEXT], double per_second);
const char *hq_units_print_share(char text[HQ_UNITS_TEXT], double share);

#endif
