/* SPDX-License-Identifier: MIT */
/*
 * Names of metrics, taken apart: what the expectation language asks before anything was observed;
 * and the functions that take a value from the observations. Private to stress/check.
 */
#ifndef HQ_STRESS_CHECK_METRIC_H
#define HQ_STRESS_CHECK_METRIC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stress/check/check.h"

/* A metric's name, resolved: the row of hq_metrics and what stands for its upper-case words. */
struct hq_metric_name {
	size_t row;            /* index into hq_metrics */
	uint64_t idle_ns;      /* T */
	enum hq_latency call;  /* CALL */
	enum hq_band band;     /* behind its '@' */
	enum hq_window window; /* behind its last dot */
	double quantile;       /* QUANTILE, 0..1 */
	enum hq_traced traced; /* KIND */
	char inject[64];       /* NAME */
	char counter[32];      /* COUNTER */
	bool any_unit;         /* an injector's own measure: only the run tells its unit */
};

/* 0, or -ENOENT with a sentence that suggests the nearest name. */
int hq_metric_name_parse(const char *text, struct hq_metric_name *name, struct hq_error *error);

/* ---- values ---- */

/* 0, or -ENODATA with a sentence: a value that was not observed is never invented. */
typedef int hq_metric_getter(const struct hq_observations *observations,
			     const struct hq_metric_name *name, double *value,
			     struct hq_error *error);

/* Of resident memory: metric_memory.c. */
hq_metric_getter hq_metric_get_rss_idle, hq_metric_get_rss_kept, hq_metric_get_rss_lazyfree,
	hq_metric_get_rss_worked, hq_metric_get_rss_end, hq_metric_get_rss_median,
	hq_metric_get_rss_slope;

/* Of what the allocator says of itself: moments.c. */
hq_metric_getter hq_metric_get_stat;

/* Of perf_event_open: metric_counter.c. */
hq_metric_getter hq_metric_get_counter, hq_metric_get_counters_running;

/* Of traced system calls, and of memory that came back: metric_calls.c. */
hq_metric_getter hq_metric_get_calls_count, hq_metric_get_calls_max, hq_metric_get_calls_time,
	hq_metric_get_calls_field, hq_metric_get_calls_lost, hq_metric_get_faulted,
	hq_metric_get_faulted_again, hq_metric_get_given_back;

/* Of a limit of the program's own: metric_limit.c. */
hq_metric_getter hq_metric_get_limit_checks, hq_metric_get_limit_overshoot,
	hq_metric_get_limit_refused, hq_metric_get_limit_row_cpu;

/* Says why there is no value. In the header, so that the compiler sees that it never returns 0. */
static inline int hq_metric_no_data(struct hq_error *error, const char *why)
{
	hq_error_set(error, "%s", why);
	return -ENODATA;
}

#endif
