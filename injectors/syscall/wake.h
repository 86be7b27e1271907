/* SPDX-License-Identifier: MIT */
/*
 * The wake of faults: from the moment when a fault is made until HQ_WAKE_NS after it was over,
 * in all threads of the target. What begins in it, or before it and ends within, is kept apart from
 * the rest, since it may have waited for the thread that was hit, or be a second attempt.
 *
 * Inline and without libc: it is used in a signal handler of the target, by the supervisor, and
 * between two calls of the allocator under test, where it is one load of a word that rarely
 * changes.
 */
#ifndef HQ_INJECTORS_SYSCALL_WAKE_H
#define HQ_INJECTORS_SYSCALL_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/syscall/plane.h"
#include "injectors/tick.h"

#define HQ_WAKE_NS     1000000ull /* 1 ms */
#define HQ_WAKE_ALWAYS UINT64_MAX

/* Ticks for `ns`, rounded down; without a counter a tick is a nanosecond. */
static inline uint64_t hq_wake_ticks(const struct hq_plane *plane, uint64_t ns)
{
	if (plane->ns_per_tick == 0)
		return ns;
	return (uint64_t)(((unsigned __int128)ns << 32) / plane->ns_per_tick);
}

/* A fault is being made that holds its caller for `lasts_ns`. `now` is in ticks. */
static inline void hq_wake_extend(struct hq_plane *plane, uint64_t now, uint64_t lasts_ns)
{
	const uint64_t until = now + hq_wake_ticks(plane, lasts_ns + HQ_WAKE_NS);
	uint64_t seen = hq_load_relaxed(&plane->faulted_until);

	while (seen < until && !hq_cas_weak_relaxed(&plane->faulted_until, &seen, until))
		;
}

/* Whether something that began at `start` and ends now belongs to a fault. */
static inline bool hq_wake_holds(const _Atomic uint64_t *faulted_until, uint64_t start)
{
	return start < hq_load_relaxed(faulted_until);
}

#endif
