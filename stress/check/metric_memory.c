/* SPDX-License-Identifier: MIT */
/*
 * Metrics of resident memory: which sample or quiet reading stands for a moment, and what is said
 * when none is near enough.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/units.h"
#include "stress/check/median.h"
#include "stress/check/metric.h"
#include "stress/check/slope.h"

/* A sample that is further away says nothing about the moment that was asked for. */
#define NEAR_NS (100 * HQ_MS)
/* The same for a reading by the controller while the target idles. */
#define LATE_NS (500 * HQ_MS)

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * The latest sample at or before `time_ns`. When that one is from before `not_before_ns`, the first
 * one after serves; in either case it must be near, or the moment was not observed.
 */
static const struct hq_sample *sample_at(const struct hq_observations *observations,
					 uint64_t time_ns, uint64_t not_before_ns)
{
	const struct hq_sample *best = NULL;

	for (size_t i = 0; i < observations->sample_count; i++) {
		const struct hq_sample *sample = &observations->samples[i];

		if (sample->time_ns < not_before_ns)
			continue;
		if (sample->time_ns > time_ns && best)
			break;
		best = sample;
		if (sample->time_ns > time_ns)
			break;
	}
	return best && distance(best->time_ns, time_ns) <= NEAR_NS ? best : NULL;
}

/*
 * On a busy machine the sampler may starve, but the controller reads resident memory itself before
 * it lets the target go. The first such reading after `time_ns`: a little late, which an idle
 * target hardly shows, and never early.
 */
static const struct hq_quiet *quiet_after(const struct hq_observations *observations,
					  uint64_t time_ns)
{
	for (size_t i = 0; i < observations->quiet_count; i++) {
		const struct hq_quiet *quiet = &observations->quiet[i];

		if (quiet->time_ns >= time_ns)
			return quiet->time_ns - time_ns <= LATE_NS ? quiet : NULL;
	}
	return NULL;
}

int hq_metric_get_rss_idle(const struct hq_observations *observations,
			   const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	const uint64_t freed_ns = observations->freed_ns;
	char asked[HQ_UNITS_TEXT];

	if (freed_ns == 0)
		return hq_metric_no_data(
			error, "the run never came to the point where everything is freed");
	const uint64_t time_ns = freed_ns + name->idle_ns;
	const struct hq_sample *sample = sample_at(observations, time_ns, freed_ns);
	const struct hq_quiet *quiet = sample ? NULL : quiet_after(observations, time_ns);

	if (!sample && !quiet) {
		hq_error_set(error,
			     "there is no sample of resident memory %s after everything was freed",
			     hq_units_print_duration(asked, name->idle_ns));
		return -ENODATA;
	}
	*value = sample ? (double)sample->rss_bytes : (double)quiet->rss_bytes;
	return 0;
}

/* The reading nearest to `time_ns`; one from long before counts only if nothing was nearer. */
static const struct hq_quiet *quiet_at(const struct hq_observations *observations, uint64_t time_ns,
				       uint64_t not_before_ns)
{
	const struct hq_quiet *best = NULL;

	for (size_t i = 0; i < observations->quiet_count; i++) {
		const struct hq_quiet *quiet = &observations->quiet[i];

		if (quiet->time_ns < not_before_ns || quiet->time_ns > time_ns + LATE_NS)
			continue;
		if (!best || distance(quiet->time_ns, time_ns) <= distance(best->time_ns, time_ns))
			best = quiet;
	}
	return best;
}

int hq_metric_get_rss_kept(const struct hq_observations *observations,
			   const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	const int status = hq_metric_get_rss_idle(observations, name, value, error);

	if (status)
		return status;
	const struct hq_quiet *quiet = quiet_at(
		observations, observations->freed_ns + name->idle_ns, observations->freed_ns);

	if (!quiet)
		return hq_metric_no_data(error, "LazyFree was not read after everything was freed");
	*value -= (double)quiet->lazyfree_bytes;
	if (*value < 0)
		*value = 0;
	return 0;
}

int hq_metric_get_rss_lazyfree(const struct hq_observations *observations,
			       const struct hq_metric_name *name, double *value,
			       struct hq_error *error)
{
	(void)name;
	if (observations->quiet_count == 0)
		return hq_metric_no_data(error, "LazyFree was not read");
	*value = (double)observations->quiet[observations->quiet_count - 1].lazyfree_bytes;
	return 0;
}

int hq_metric_get_rss_worked(const struct hq_observations *observations,
			     const struct hq_metric_name *name, double *value,
			     struct hq_error *error)
{
	(void)name;
	if (observations->worked_ns == 0)
		return hq_metric_no_data(error, "the work was not completed");
	const struct hq_sample *sample = sample_at(observations, observations->worked_ns, 0);

	if (!sample)
		return hq_metric_no_data(
			error, "there is no sample of resident memory at the end of the work");
	*value = (double)sample->rss_bytes;
	return 0;
}

int hq_metric_get_rss_end(const struct hq_observations *observations,
			  const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	(void)name;
	if (observations->sample_count == 0)
		return hq_metric_no_data(error, "there is no sample of resident memory");
	/* The last samples may be of a process that is being taken down already. */
	*value = observations->quiet_count
			 ? (double)observations->quiet[observations->quiet_count - 1].rss_bytes
			 : (double)observations->samples[observations->sample_count - 1].rss_bytes;
	return 0;
}

int hq_metric_get_rss_median(const struct hq_observations *observations,
			     const struct hq_metric_name *name, double *value,
			     struct hq_error *error)
{
	const size_t count = observations->sample_count;

	(void)name;
	if (count == 0)
		return hq_metric_no_data(error, "there is no sample of resident memory");
	double *sorted = malloc(count * sizeof(*sorted));

	if (!sorted)
		return hq_metric_no_data(error,
					 "heapquake itself has no memory to sort the samples");
	for (size_t i = 0; i < count; i++)
		sorted[i] = (double)observations->samples[i].rss_bytes;
	*value = hq_median(sorted, count);
	free(sorted);
	return 0;
}

int hq_metric_get_rss_slope(const struct hq_observations *observations,
			    const struct hq_metric_name *name, double *value,
			    struct hq_error *error)
{
	struct hq_slope slope;
	const int status = hq_slope_measure(observations, &slope, error);

	(void)name;
	if (status == 0)
		*value = slope.bytes_per_second;
	return status;
}
