/* SPDX-License-Identifier: MIT */
/*
 * Trackers: how a program that has to stay below a limit knows how much memory it uses. Three ways,
 * behind one set of calls, so that a server can be run with each, and what each costs be measured
 * (stress/tests/bench_tracker.c) on the same code.
 *
 *   striped  every block is added to a counter of its stripe and subtracted again; whoever asks
 *            sums all stripes. True but for what is admitted at the same moment.
 *   cached   each thread keeps its own sum, and the total is taken at most once a period, by one
 *            thread behind a try-lock; all others go by the last one. Cheap, and old: until the
 *            next one the program may grow by its rate times the period.
 *   credit   a thread charges a batch before it uses it, exactly what it needs near the limit, and
 *            gives back what it has beyond two batches. Never beyond the limit; what lies in
 *            credits counts as used.
 *
 * A tracker counts what it is told, and knows nothing of allocators. Thread `thread` is the only
 * one that calls with that number, below HQ_TRACKER_CELLS.
 */
#ifndef HQ_STRESS_WORKLOAD_TRACKER_H
#define HQ_STRESS_WORKLOAD_TRACKER_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/atomic.h"
#include "stress/workload/workload.h"

#define HQ_TRACKER_CELLS 64
#define HQ_TRACKER_LINE  64

enum hq_tracker_form { HQ_TRACKER_STRIPED, HQ_TRACKER_CACHED, HQ_TRACKER_CREDIT };

/* Names of the forms, in order. */
extern const char *const hq_tracker_forms[];

/* Mistakes that trackers have had, to be made on purpose where something ought to see them. */
enum hq_tracker_mistake {
	HQ_TRACKER_SOUND,
	HQ_TRACKER_LATE,     /* credit: what was used is charged when it comes to a batch */
	HQ_TRACKER_LASTING,  /* cached: a total lasts for twenty periods */
	HQ_TRACKER_UNLOCKED, /* cached: several take it at once, and it is dated when it is there */
};

struct hq_tracker_settings {
	uint32_t form;    /* enum hq_tracker_form */
	uint32_t mistake; /* enum hq_tracker_mistake */
	uint64_t hard_bytes, soft_bytes;
	uint64_t batch_bytes; /* credit */
	uint64_t period_ns;   /* cached */
};

struct hq_tracker_cell {
	/* Of a stripe, of a thread, or the thread's credit; only stripes have several writers. */
	_Alignas(HQ_TRACKER_LINE) _Atomic uint64_t bytes;
	uint64_t charges; /* cached: by this thread, which alone looks at it */
};

struct hq_tracker {
	struct hq_tracker_settings settings;
	const struct hq_tracker_kind *kind;
	/* cached: the last total, what it is dated and when it was taken, by the coarse clock. */
	_Alignas(HQ_TRACKER_LINE) _Atomic uint64_t total_bytes;
	_Atomic uint64_t total_ns, taken_ns;
	_Alignas(HQ_TRACKER_LINE) _Atomic uint32_t totalling;     /* 1: a thread is at it */
	_Atomic uint32_t totals;                                  /* ever begun */
	_Alignas(HQ_TRACKER_LINE) _Atomic uint64_t charged_bytes; /* credit */
	struct hq_tracker_cell cells[HQ_TRACKER_CELLS];
};

/* One form. */
struct hq_tracker_kind {
	/* What it takes for used at this moment: the check at the beginning of a request. */
	uint64_t (*figure)(struct hq_tracker *tracker, uint32_t thread);
	/* Before a block of a request is asked for: checked against the hard limit, and counted. */
	bool (*charge)(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes);
	/* After it was freed, by whatever thread. */
	void (*discharge)(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes);
};

extern const struct hq_tracker_kind hq_tracker_striped, hq_tracker_cached, hq_tracker_credit;

/* The memory of the tracker is zeroed and aligned to a line. */
void hq_tracker_start(struct hq_tracker *tracker, const struct hq_tracker_settings *settings);

static inline uint64_t hq_tracker_figure(struct hq_tracker *tracker, uint32_t thread)
{
	return tracker->kind->figure(tracker, thread);
}

static inline bool hq_tracker_charge(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes)
{
	return tracker->kind->charge(tracker, thread, bytes);
}

static inline void hq_tracker_discharge(struct hq_tracker *tracker, uint32_t thread, uint64_t bytes)
{
	tracker->kind->discharge(tracker, thread, bytes);
}

/*
 * With which chance a request is refused: never up to the soft limit, always from the hard one on,
 * and in between the more, the nearer that is.
 */
double hq_tracker_refusal(const struct hq_tracker_settings *settings, uint64_t figure_bytes);

/* When the total that a thread would go by now was taken; 0 where figures are never old. */
uint64_t hq_tracker_taken_ns(const struct hq_tracker *tracker);

/* The clock that it is taken by: coarse, a few milliseconds behind. */
uint64_t hq_tracker_clock_ns(void);

/* How old a figure may be by design. */
uint64_t hq_tracker_stale_ns(const struct hq_tracker_settings *settings);

/* What one thread may keep counted as used although it is not, by design. */
uint64_t hq_tracker_stranded_bytes(const struct hq_tracker_settings *settings);

#endif
