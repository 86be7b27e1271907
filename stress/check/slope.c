/* SPDX-License-Identifier: MIT */
/*
 * Siegel's repeated medians: for each sample the median of the slopes to all others, and of those
 * the median. Up to half of the samples may be anything (a burst, a purge, a page cache of the
 * machine) without moving it. The first half of the work is left out: there memory rises because
 * the work takes hold of it.
 */
#include "stress/check/slope.h"

#include <errno.h>

#include "stress/check/median.h"

#define SAMPLES_MIN 16u  /* fewer tell nothing */
#define SAMPLES_MAX 128u /* more tell nothing new: the cost is their square */

struct point {
	double seconds;
	double bytes;
};

/* Evenly spread over the samples between the two times; returns how many. */
static size_t choose(const struct hq_observations *observations, uint64_t from_ns, uint64_t to_ns,
		     struct point points[SAMPLES_MAX])
{
	const struct hq_sample *samples = observations->samples;
	size_t first = 0, end = observations->sample_count;

	while (first < end && samples[first].time_ns < from_ns)
		first++;
	while (end > first && samples[end - 1].time_ns > to_ns)
		end--;
	const size_t found = end - first;
	const size_t count = found < SAMPLES_MAX ? found : SAMPLES_MAX;

	for (size_t i = 0; i < count; i++) {
		const struct hq_sample *sample = &samples[first + i * found / count];

		points[i].seconds = (double)(sample->time_ns - samples[first].time_ns) / 1e9;
		points[i].bytes = (double)sample->rss_bytes;
	}
	return count;
}

/* The median of the slopes from one point to all others. */
static double slope_at(const struct point *points, size_t count, size_t at)
{
	double slopes[SAMPLES_MAX];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		const double seconds = points[i].seconds - points[at].seconds;

		if (seconds != 0.0)
			slopes[used++] = (points[i].bytes - points[at].bytes) / seconds;
	}
	return used ? hq_median(slopes, used) : 0.0;
}

int hq_slope_measure(const struct hq_observations *observations, struct hq_slope *slope,
		     struct hq_error *error)
{
	const uint64_t end_ns =
		observations->worked_ns ? observations->worked_ns : observations->end_ns;
	struct point points[SAMPLES_MAX];
	double values[SAMPLES_MAX];
	const size_t count = choose(observations, end_ns / 2, end_ns, points);

	if (count < SAMPLES_MIN) {
		hq_error_set(error,
			     "the second half of the work has %zu samples of resident memory, "
			     "fewer than %u",
			     count, SAMPLES_MIN);
		return -ENODATA;
	}
	for (size_t i = 0; i < count; i++)
		values[i] = slope_at(points, count, i);
	slope->bytes_per_second = hq_median(values, count);
	for (size_t i = 0; i < count; i++)
		values[i] = points[i].bytes;
	slope->median_bytes = hq_median(values, count);
	slope->span_ns = (uint64_t)((points[count - 1].seconds - points[0].seconds) * 1e9);
	slope->samples = count;
	return 0;
}
