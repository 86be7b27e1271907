/* SPDX-License-Identifier: MIT */
/*
 * Metrics of a limit that a program keeps by a tracker of its own.
 */
#include "stress/check/metric.h"

static const char no_limit[] = "the workload keeps no limit of its own";

int hq_metric_get_limit_checks(const struct hq_observations *observations,
			       const struct hq_metric_name *name, double *value,
			       struct hq_error *error)
{
	const uint64_t *const words = observations->limit.words;

	(void)name;
	if (words[HQ_LIMIT_CHECKS_CPU_NS] == 0)
		return hq_metric_no_data(error, "no checks were timed");
	*value = (double)words[HQ_LIMIT_CHECKS] * 1e9 / (double)words[HQ_LIMIT_CHECKS_CPU_NS];
	return 0;
}

int hq_metric_get_limit_overshoot(const struct hq_observations *observations,
				  const struct hq_metric_name *name, double *value,
				  struct hq_error *error)
{
	const uint64_t hard_bytes = observations->limit.words[HQ_LIMIT_HARD_BYTES];
	const uint64_t peak_bytes = observations->limit.words[HQ_LIMIT_PEAK_BYTES];

	(void)name;
	if (observations->limit.workers == 0)
		return hq_metric_no_data(error, no_limit);
	*value = peak_bytes > hard_bytes ? (double)(peak_bytes - hard_bytes) : 0;
	return 0;
}

int hq_metric_get_limit_refused(const struct hq_observations *observations,
				const struct hq_metric_name *name, double *value,
				struct hq_error *error)
{
	const double admitted = (double)observations->limit.words[HQ_LIMIT_ADMITTED];
	const double refused = (double)observations->limit.words[HQ_LIMIT_REFUSED];

	(void)name;
	if (observations->limit.workers == 0 || admitted + refused == 0)
		return hq_metric_no_data(error, no_limit);
	*value = refused / (admitted + refused);
	return 0;
}

int hq_metric_get_limit_row_cpu(const struct hq_observations *observations,
				const struct hq_metric_name *name, double *value,
				struct hq_error *error)
{
	(void)name;
	if (observations->limit.words[HQ_LIMIT_ROW_CPU_NS] == 0)
		return hq_metric_no_data(error, "no row was inserted below a limit");
	*value = (double)observations->limit.words[HQ_LIMIT_ROW_CPU_NS];
	return 0;
}
