/* SPDX-License-Identifier: MIT */
/*
 * The bounded list of samples. It knows neither a clock nor a process.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "stress/observe/samples.h"

static size_t list_size(const struct hq_samples *samples)
{
	return samples->capacity * sizeof(samples->list[0]);
}

int hq_samples_init(struct hq_samples *samples, size_t capacity)
{
	*samples = (struct hq_samples){ .capacity = capacity, .stride = 1 };
	samples->list = mmap(NULL, list_size(samples), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return samples->list == MAP_FAILED ? -errno : 0;
}

static void halve(struct hq_samples *samples)
{
	for (size_t i = 0; i < samples->count / 2; i++) {
		const struct hq_sample *pair = &samples->list[2 * i];

		samples->list[i] = pair[pair[1].rss_bytes > pair[0].rss_bytes ? 1 : 0];
	}
	samples->count /= 2;
	samples->stride *= 2;
}

static void close_sample(struct hq_samples *samples)
{
	samples->list[samples->count++] = samples->largest;
	samples->pending = 0;
	if (samples->count == samples->capacity)
		halve(samples);
}

void hq_samples_add(struct hq_samples *samples, uint64_t time_ns, uint64_t rss_bytes)
{
	if (samples->pending == 0 || rss_bytes > samples->largest.rss_bytes)
		samples->largest = (struct hq_sample){ time_ns, rss_bytes };
	if (++samples->pending >= samples->stride)
		close_sample(samples);
}

void hq_samples_hand_over(struct hq_samples *samples, uint64_t origin_ns,
			  struct hq_observations *seen)
{
	size_t first = 0;

	if (samples->pending)
		close_sample(samples);
	/* The last one before the origin stands for the origin itself. */
	while (first + 1 < samples->count && samples->list[first + 1].time_ns <= origin_ns)
		first++;
	const size_t count = samples->count - first;

	seen->samples = count ? malloc(count * sizeof(seen->samples[0])) : NULL;
	if (!seen->samples)
		return;
	for (size_t i = 0; i < count; i++) {
		seen->samples[i] = samples->list[first + i];
		seen->samples[i].time_ns = hq_since_ns(seen->samples[i].time_ns, origin_ns);
		if (seen->samples[i].rss_bytes > seen->rss_peak_bytes)
			seen->rss_peak_bytes = seen->samples[i].rss_bytes;
	}
	seen->sample_count = count;
	seen->has_samples = true;
}

void hq_samples_clear(struct hq_samples *samples)
{
	munmap(samples->list, list_size(samples));
	samples->list = NULL;
}
