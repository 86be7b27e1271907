/* SPDX-License-Identifier: MIT */
/*
 * The few atomic operations that this allocator uses. All of them are counters and flags that stand
 * for themselves, so relaxed order is enough; what is guarded is guarded by locks.
 */
#ifndef FAULTY_ATOMIC_H
#define FAULTY_ATOMIC_H

#include <stdatomic.h>

#define faulty_load(p)     atomic_load_explicit((p), memory_order_relaxed)
#define faulty_store(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define faulty_add(p, v)   atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define faulty_swap(p, v)  atomic_exchange_explicit((p), (v), memory_order_relaxed)

#endif
