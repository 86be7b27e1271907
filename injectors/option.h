/* SPDX-License-Identifier: MIT */
/*
 * Typed option tables. A part (workload, injector) says once which options it has; parsing,
 * defaults, ranges, suggestions, `explain` and the printed plan all come from the table. Values
 * live in the part's own plain struct, at the offsets that the table names; such a struct holds no
 * pointers, so it can be copied and put into shared memory.
 */
#ifndef HQ_INJECTORS_OPTION_H
#define HQ_INJECTORS_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"

enum hq_option_kind {
	HQ_OPTION_BOOL,     /* bool: true, false, yes, no */
	HQ_OPTION_COUNT,    /* uint64_t: 400k */
	HQ_OPTION_SIZE,     /* uint64_t bytes: 4KiB */
	HQ_OPTION_DURATION, /* uint64_t nanoseconds: 20ms */
	HQ_OPTION_RATE,     /* double per second: 500/s */
	HQ_OPTION_SHARE,    /* double 0..1: 25% or 0.25 */
	HQ_OPTION_ENUM,     /* uint32_t index into `choices` */
	HQ_OPTION_TEXT,     /* char[HQ_OPTION_TEXT_SIZE]; no spaces */
	HQ_OPTION_SIZES,    /* struct hq_sizes: "16B..4KiB log", "64B", "1KiB..2KiB uniform" */
};

#define HQ_OPTION_TEXT_SIZE  128
#define HQ_OPTION_STRUCT_MAX 1024 /* no option struct is larger */

enum hq_sizes_shape { HQ_SIZES_UNIFORM, HQ_SIZES_LOG };

/* A distribution of sizes: min_bytes <= size <= max_bytes. */
struct hq_sizes {
	uint64_t min_bytes;
	uint64_t max_bytes;
	uint32_t shape; /* enum hq_sizes_shape */
	uint32_t reserved;
};

struct hq_option {
	const char *name; /* NULL ends a table; names are lower case with '-' */
	enum hq_option_kind kind;
	size_t offset;
	const char *fallback; /* default, as text; NULL: the option is compulsory */
	uint64_t min,
		max; /* inclusive, for COUNT, SIZE, DURATION and both ends of SIZES; max 0: none */
	const char *const *choices; /* ENUM: NULL-terminated */
	const char *help;           /* one line, lower case, no full stop */
};

/* Fills in every default; compulsory options are zeroed. 0 or -EINVAL (a fallback that does not
 * parse). */
int hq_options_default(const struct hq_option *table, void *values, struct hq_error *error);

/*
 * Sets one option from text. Unknown keys are answered with the nearest name ("unknown key
 * 'trheads'; did you mean 'threads'?"), values out of range with the range.
 */
int hq_options_set(const struct hq_option *table, void *values, const char *key, const char *value,
		   struct hq_error *error);

/* The option of that name, or NULL. */
const struct hq_option *hq_option_find(const struct hq_option *table, const char *name);

/* Writes one value as text that hq_options_set accepts again; returns `text`. */
const char *hq_option_print(const struct hq_option *option, const void *values, char *text,
			    size_t size);

/* "threads=4 rows=400k ...", every option, in table order. SIZES are written with '_' for the
 * space. */
int hq_options_print(const struct hq_option *table, const void *values, char *text, size_t size);

/* The reverse of hq_options_print: sets every `key=value` word. */
int hq_options_parse(const struct hq_option *table, void *values, const char *text,
		     struct hq_error *error);

#endif
