/* SPDX-License-Identifier: MIT */
/*
 * Names of metrics, taken apart: what the expectation language asks before anything was observed.
 * Private to stress/check.
 */
#ifndef HQ_STRESS_CHECK_METRIC_H
#define HQ_STRESS_CHECK_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stress/check/check.h"

/* A metric's name, resolved: the row of hq_metrics and what stands for its upper-case words. */
struct hq_metric_name {
	size_t row;           /* index into hq_metrics */
	uint64_t idle_ns;     /* T */
	enum hq_latency call; /* CALL */
	double quantile;      /* QUANTILE, 0..1 */
	char inject[64];      /* NAME */
	char counter[32];     /* COUNTER */
	bool any_unit;        /* an injector's own measure: only the run tells its unit */
};

/* 0, or -ENOENT with a sentence that suggests the nearest name. */
int hq_metric_name_parse(const char *text, struct hq_metric_name *name, struct hq_error *error);

#endif
