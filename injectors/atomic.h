/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations with the memory order in the name. Nobody else writes memory_order_. Each use
 * of acquire or release has a comment that names the other side.
 */
#ifndef HQ_INJECTORS_ATOMIC_H
#define HQ_INJECTORS_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define hq_load_relaxed(p)         atomic_load_explicit(p, memory_order_relaxed)
#define hq_load_acquire(p)         atomic_load_explicit(p, memory_order_acquire)
#define hq_store_relaxed(p, v)     atomic_store_explicit(p, v, memory_order_relaxed)
#define hq_store_release(p, v)     atomic_store_explicit(p, v, memory_order_release)
#define hq_fetch_add_relaxed(p, v) atomic_fetch_add_explicit(p, v, memory_order_relaxed)
#define hq_fetch_add_acq_rel(p, v) atomic_fetch_add_explicit(p, v, memory_order_acq_rel)
#define hq_fetch_or_relaxed(p, v)  atomic_fetch_or_explicit(p, v, memory_order_relaxed)
#define hq_fetch_and_relaxed(p, v) atomic_fetch_and_explicit(p, v, memory_order_relaxed)
#define hq_swap_acq_rel(p, v)      atomic_exchange_explicit(p, v, memory_order_acq_rel)
#define hq_cas_acq_rel(p, expected, desired)                                                       \
	atomic_compare_exchange_strong_explicit(p, expected, desired, memory_order_acq_rel,        \
						memory_order_acquire)
/* May fail for no reason: for loops. */
#define hq_cas_weak_relaxed(p, expected, desired)                                                  \
	atomic_compare_exchange_weak_explicit(p, expected, desired, memory_order_relaxed,          \
					      memory_order_relaxed)

/* One more in a counter with a single writer: no locked instruction, whole for every reader. */
#define hq_count_own(p, v) hq_store_relaxed(p, hq_load_relaxed(p) + (v))
/* The same, for a reader to whom it tells that what was written before is there. */
#define hq_count_own_release(p, v) hq_store_release(p, hq_load_relaxed(p) + (v))

#endif
