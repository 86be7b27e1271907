/* SPDX-License-Identifier: MIT */
/*
 * Metrics of system calls that were traced, and of memory that was given back and faulted again.
 * Where records were lost every count is too low, and none is told.
 *
 * The bytes of `memory.*` follow from what the kernel counts of every process: what was resident at
 * `go`, at most and at the end, and the page faults between. A fault that brings more than one page
 * (transparent huge pages) makes them too low, a fault without a new page (copy on write after
 * fork, another thread was first) too high.
 */
#include <string.h>

#include "stress/check/metric.h"
#include "stress/observe/call_trace.h"

static int check_trace(const struct hq_observations *observations, struct hq_error *error)
{
	const struct hq_calls_seen *calls = &observations->calls;

	if (!calls->known)
		return hq_metric_no_data(
			error, calls->status
				       ? hq_call_trace_why(calls->status)
				       : "no system call was traced in this run; see run.calls");
	if (calls->lost)
		return hq_metric_no_data(error, "records of calls were lost: see calls.lost");
	return 0;
}

int hq_metric_get_calls_lost(const struct hq_observations *observations,
			     const struct hq_metric_name *name, double *value,
			     struct hq_error *error)
{
	(void)name;
	if (!observations->calls.known)
		return check_trace(observations, error);
	*value = (double)observations->calls.lost;
	return 0;
}

int hq_metric_get_calls_count(const struct hq_observations *observations,
			      const struct hq_metric_name *name, double *value,
			      struct hq_error *error)
{
	*value = (double)observations->calls.kinds[name->traced].count;
	return check_trace(observations, error);
}

int hq_metric_get_calls_max(const struct hq_observations *observations,
			    const struct hq_metric_name *name, double *value,
			    struct hq_error *error)
{
	*value = (double)observations->calls.kinds[name->traced].max_ns;
	return check_trace(observations, error);
}

int hq_metric_get_calls_time(const struct hq_observations *observations,
			     const struct hq_metric_name *name, double *value,
			     struct hq_error *error)
{
	*value = (double)observations->calls.kinds[name->traced].total_ns;
	return check_trace(observations, error);
}

int hq_metric_get_calls_field(const struct hq_observations *observations,
			      const struct hq_metric_name *name, double *value,
			      struct hq_error *error)
{
	const struct hq_calls_seen *calls = &observations->calls;
	const struct {
		const char *pattern;
		uint64_t value;
	} fields[] = {
		{ "calls.advised", calls->advised_bytes },
		{ "calls.lock_wait_max", calls->waits.max_ns },
		{ "calls.lock_wait_time", calls->waits.total_ns },
		{ "calls.lock_waits", calls->waits.count },
		{ "calls.unmapped", calls->unmapped_bytes },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(fields[i].pattern, hq_metrics[name->row].pattern))
			*value = (double)fields[i].value;
	return check_trace(observations, error);
}

/* ---- memory that came back ---- */

int hq_metric_get_faulted(const struct hq_observations *observations,
			  const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	const uint64_t start = observations->minor_faults_start;

	(void)name;
	if (start == 0 || observations->page_bytes == 0 || observations->minor_faults < start)
		return hq_metric_no_data(error, "page faults were not read when the work began");
	*value = (double)(observations->minor_faults - start) * (double)observations->page_bytes;
	return 0;
}

static double above_0(double value)
{
	return value > 0 ? value : 0;
}

int hq_metric_get_faulted_again(const struct hq_observations *observations,
				const struct hq_metric_name *name, double *value,
				struct hq_error *error)
{
	const int status = hq_metric_get_faulted(observations, name, value, error);

	if (status)
		return status;
	*value = above_0(*value - ((double)observations->rss_peak_bytes -
				   (double)observations->rss_start_bytes));
	return 0;
}

int hq_metric_get_given_back(const struct hq_observations *observations,
			     const struct hq_metric_name *name, double *value,
			     struct hq_error *error)
{
	double end_bytes;
	const int status = hq_metric_get_faulted(observations, name, value, error);

	if (status)
		return status;
	if (hq_metric_get_rss_end(observations, name, &end_bytes, error))
		return -ENODATA;
	*value = above_0(*value + (double)observations->rss_start_bytes - end_bytes);
	return 0;
}
