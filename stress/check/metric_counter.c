/* SPDX-License-Identifier: MIT */
/*
 * Metrics of perf_event_open. What could not be counted has no value, and the reason is the
 * sentence: a machine without a counter must not look like a target that never missed a cache.
 */
#include "stress/check/metric.h"
#include "stress/observe/counters.h"

static int no_count(const struct hq_counted *counted, struct hq_error *error)
{
	return hq_metric_no_data(
		error, counted->status ? hq_counter_why(counted->status)
				       : "nothing was counted in this run; see run.counters");
}

int hq_metric_get_counter(const struct hq_observations *observations,
			  const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	const enum hq_counter counter = hq_counter_find(hq_metrics[name->row].pattern);

	if (counter == HQ_COUNTER_COUNT)
		return hq_metric_no_data(error, "there is no such counter");
	if (!observations->counted[counter].known)
		return no_count(&observations->counted[counter], error);
	*value = observations->counted[counter].value;
	return 0;
}

int hq_metric_get_counters_running(const struct hq_observations *observations,
				   const struct hq_metric_name *name, double *value,
				   struct hq_error *error)
{
	const struct hq_counted *least = NULL;

	(void)name;
	for (int i = 0; i < HQ_COUNTER_COUNT; i++) {
		const struct hq_counted *counted = &observations->counted[i];

		if (counted->known && hq_counter_is_hardware((enum hq_counter)i) &&
		    (!least || counted->running < least->running))
			least = counted;
	}
	if (!least)
		return no_count(&observations->counted[HQ_COUNTER_CYCLES], error);
	*value = least->running;
	return 0;
}
