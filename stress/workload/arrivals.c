/* SPDX-License-Identifier: MIT */
/*
 * The clock of arrivals: draws when the next operation is due, and sleeps until then.
 */
#include "stress/workload/arrivals.h"

#include <math.h>
#include <sys/prctl.h>

#include "injectors/units.h"

#define SLICE_NS   (5 * HQ_MS) /* between two signs of life */
#define GAP_MAX_NS (3600.0 * HQ_S)
#define PURPOSE    0x61727276u /* of the stream: no workload has it for another */

const char *const hq_arrivals_kinds[] = { "closed", "constant", "poisson", NULL };

int hq_arrivals_validate(const struct hq_arrivals_options *options, struct hq_error *error)
{
	if (options->kind != HQ_ARRIVALS_CLOSED && !(options->rate > 0))
		return hq_error_set(error, "arrivals need a rate above 0");
	return 0;
}

/* Above 0, and 1 at most. */
static double draw_share(struct hq_random *random)
{
	return (double)(hq_random_below(random, 1u << 30) + 1) / (1u << 30);
}

/* Threads that arrive at a constant rate do not all do so at the same moment. */
static uint64_t draw_gap_ns(struct hq_arrivals *arrivals)
{
	const bool constant = arrivals->options->kind == HQ_ARRIVALS_CONSTANT;
	const double mean_ns = 1e9 / arrivals->options->rate;
	double gap_ns = mean_ns;

	if (!constant)
		gap_ns = -log(draw_share(&arrivals->random)) * mean_ns;
	else if (arrivals->due_ns == 0)
		gap_ns = draw_share(&arrivals->random) * mean_ns;
	return (uint64_t)(gap_ns < GAP_MAX_NS ? gap_ns : GAP_MAX_NS);
}

void hq_arrivals_start(struct hq_arrivals *arrivals, const struct hq_arrivals_options *options,
		       uint64_t seed, uint32_t thread)
{
	*arrivals = (struct hq_arrivals){ .options = options,
					  .random = hq_random_stream(seed, thread, PURPOSE) };
}

/* What the kernel may add to each sleep of a thread by itself would be latency of nobody's. */
static void sleep_precisely(uint64_t ns)
{
	prctl(PR_SET_TIMERSLACK, 1ul);
	hq_host_sleep_ns(ns);
}

uint64_t hq_arrivals_await(struct hq_arrivals *arrivals, struct hq_heap *heap)
{
	if (arrivals->options->kind == HQ_ARRIVALS_CLOSED)
		return hq_host_now_ns();
	const uint64_t gap_ns = draw_gap_ns(arrivals);

	if (arrivals->due_ns == 0)
		arrivals->due_ns = hq_host_now_ns();
	arrivals->due_ns += gap_ns;
	for (;;) {
		const uint64_t now_ns = hq_host_now_ns();

		if (now_ns >= arrivals->due_ns || hq_host_stopping())
			return arrivals->due_ns;
		const uint64_t left_ns = arrivals->due_ns - now_ns;

		sleep_precisely(left_ns < SLICE_NS ? left_ns : SLICE_NS);
		hq_heap_alive(heap);
	}
}

void hq_arrivals_begin_due(struct hq_heap *heap, uint64_t due_ns)
{
	const uint64_t now_ns = hq_host_now_ns();

	hq_heap_op_begin_late(heap, now_ns > due_ns ? now_ns - due_ns : 0);
}

void hq_arrivals_begin(struct hq_arrivals *arrivals, struct hq_heap *heap)
{
	if (arrivals->options->kind == HQ_ARRIVALS_CLOSED)
		hq_heap_op_begin(heap);
	else
		hq_arrivals_begin_due(heap, hq_arrivals_await(arrivals, heap));
}
