/* SPDX-License-Identifier: MIT */
/*
 * Ten points a decade of nines: 0.1 to 0.9, 0.91 to 0.99, 0.991 to 0.999 and so on, as long as a
 * point stands for at least one call; and the slowest call at 1. One walk over the buckets.
 */
#include "stress/report/latency_csv.h"

#include <inttypes.h>
#include <math.h>

#include "stress/report/hlog.h"
#include "stress/wire/hist.h"

/* The share of point `index`: 0.1 at 0, 0.9 at 8, 0.91 at 9. */
static double share_of(unsigned index)
{
	const double decade = pow(10.0, -(double)(index / 9));

	return 1.0 - decade * (1.0 - (double)(index % 9 + 1) / 10.0);
}

static void write_curve(const struct hq_hist *hist, const char *call, FILE *stream)
{
	const uint64_t count = hq_hist_count(hist), max_ns = hq_load_relaxed(&hist->max_ns);
	uint64_t below = 0;
	unsigned point = 0;

	for (uint32_t i = 0; i < HQ_HIST_BUCKETS; i++) {
		const uint64_t upper = hq_hist_upper(i);

		below += hq_load_relaxed(&hist->buckets[i]);
		while (below < count && (double)below >= share_of(point) * (double)count)
			fprintf(stream, "%s,%.9g,%" PRIu64 "\n", call, share_of(point++),
				upper < max_ns ? upper : max_ns);
		if (below == count)
			break;
	}
	fprintf(stream, "%s,1,%" PRIu64 "\n", call, max_ns);
}

static int visit_curve(const struct hq_hist *hist, const char *tag, void *cookie)
{
	write_curve(hist, tag, cookie);
	return 0;
}

int hq_latency_csv_write(const struct hq_observations *observations, FILE *stream)
{
	fputs("call,share,ns\n", stream);
	return hq_hlog_each(observations, visit_curve, stream);
}
