/* SPDX-License-Identifier: MIT */
/*
 * Bands of request sizes: latencies are kept apart by them, since a large block is another piece
 * of work than a small one and its few calls drown among theirs.
 */
#ifndef HQ_STRESS_WIRE_BAND_H
#define HQ_STRESS_WIRE_BAND_H

#include <stdint.h>

enum hq_band {
	HQ_BAND_256B, /* up to that */
	HQ_BAND_4KIB,
	HQ_BAND_64KIB,
	HQ_BAND_1MIB,
	HQ_BAND_ABOVE,
	HQ_BAND_COUNT,
	HQ_BAND_ALL = HQ_BAND_COUNT, /* where no band is meant */
};

/* Without a branch: it stands between two calls of the allocator under test. */
static inline enum hq_band hq_band_of(uint64_t bytes)
{
	return (enum hq_band)((bytes > 256) + (bytes > 4096) + (bytes > 65536) + (bytes > 1048576));
}

/* As it stands behind the '@' of a metric's name. */
static inline const char *hq_band_name(enum hq_band band)
{
	static const char *const names[HQ_BAND_COUNT] = { "256B", "4KiB", "64KiB", "1MiB",
							  "above" };

	return names[band];
}

#endif
