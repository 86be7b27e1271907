/* SPDX-License-Identifier: MIT */
/*
 * A bounded list of samples. When it is full, of each two neighbours the one with more resident
 * memory is kept, and from then on one sample stands for two (four, ...) readings: memory stays
 * bounded, the curve keeps its whole length, and no peak is lost.
 *
 *   0 <= count <= capacity; readings waiting in `pending` < stride
 */
#ifndef HQ_STRESS_OBSERVE_SAMPLES_H
#define HQ_STRESS_OBSERVE_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "stress/observe/observation.h"

struct hq_samples {
	struct hq_sample *list;
	size_t count, capacity;
	uint64_t stride;          /* readings that one sample stands for */
	uint64_t pending;         /* readings since the last sample was closed */
	struct hq_sample largest; /* of those */
};

/* `capacity` is even. Address space only, until samples come. 0 or -errno. */
int hq_samples_init(struct hq_samples *samples, size_t capacity);
void hq_samples_add(struct hq_samples *samples, uint64_t time_ns, uint64_t rss_bytes);

/*
 * Moves what was read since `origin_ns` to *seen, as times since then, and raises its peak; an
 * unfinished sample counts as well. The last reading before the origin becomes the one at time 0.
 */
void hq_samples_hand_over(struct hq_samples *samples, uint64_t origin_ns,
			  struct hq_observations *seen);
void hq_samples_clear(struct hq_samples *samples);

#endif
