/* SPDX-License-Identifier: MIT */
/*
 * Memory orders by name.
 *
 * Every atomic access in the allocator goes through this header, so that the order of each
 * access can be read from its name and no other file spells out a memory order. The rule for
 * callers: an acquire or release that is not obvious carries a comment naming its other side.
 */
#ifndef BEDROCK_ATOMIC_H
#define BEDROCK_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define bedrock_load_relaxed(p)        atomic_load_explicit((p), memory_order_relaxed)
#define bedrock_load_acquire(p)        atomic_load_explicit((p), memory_order_acquire)
#define bedrock_store_relaxed(p, v)    atomic_store_explicit((p), (v), memory_order_relaxed)
#define bedrock_store_release(p, v)    atomic_store_explicit((p), (v), memory_order_release)
#define bedrock_exchange_acquire(p, v) atomic_exchange_explicit((p), (v), memory_order_acquire)
#define bedrock_exchange_release(p, v) atomic_exchange_explicit((p), (v), memory_order_release)
#define bedrock_exchange_acq_rel(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define bedrock_add_relaxed(p, v)      atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define bedrock_add_release(p, v)      atomic_fetch_add_explicit((p), (v), memory_order_release)
#define bedrock_sub_relaxed(p, v)      atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define bedrock_sub_acq_rel(p, v)      atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)
#define bedrock_or_relaxed(p, v)       atomic_fetch_or_explicit((p), (v), memory_order_relaxed)
#define bedrock_and_relaxed(p, v)      atomic_fetch_and_explicit((p), (v), memory_order_relaxed)

/* On failure *expected holds the value seen, loaded relaxed (acquire in acq_rel's strong form). The
 * weak forms may fail spuriously. */
#define bedrock_cas_acquire(p, expected, v)                                                        \
	atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acquire,        \
						memory_order_relaxed)
#define bedrock_cas_acq_rel(p, expected, v)                                                        \
	atomic_compare_exchange_strong_explicit((p), (expected), (v), memory_order_acq_rel,        \
						memory_order_acquire)
#define bedrock_cas_weak_relaxed(p, expected, v)                                                   \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_relaxed,          \
					      memory_order_relaxed)
#define bedrock_cas_weak_release(p, expected, v)                                                   \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_release,          \
					      memory_order_relaxed)
#define bedrock_cas_weak_acq_rel(p, expected, v)                                                   \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), memory_order_acq_rel,          \
					      memory_order_relaxed)

/* Change a counter that is written under a lock only, and read by anybody: no read-modify-write. */
static inline void bedrock_count_owned(_Atomic(uint64_t) *counter, int64_t change)
{
	bedrock_store_relaxed(counter, bedrock_load_relaxed(counter) + (uint64_t)change);
}

/* The same, in the one order of all, for a pointer that its owner reads and writes without atomics.
 */
#define bedrock_cas_plain(p, expected, v)                                                          \
	__atomic_compare_exchange_n((p), (expected), (v), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/*
 * What a thread did before it fell asleep is visible to who has seen it asleep: the kernel's
 * scheduler orders the two. ThreadSanitizer does not know the scheduler, so it is told.
 */
#ifdef __SANITIZE_THREAD__
#define BEDROCK_UNWATCHED __attribute__((no_sanitize_thread))
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define bedrock_handover_acquire(p) __tsan_acquire(p)
#define bedrock_handover_release(p) __tsan_release(p)
#else
#define BEDROCK_UNWATCHED
#define bedrock_handover_acquire(p) ((void)0)
#define bedrock_handover_release(p) ((void)0)
#endif

/* Tell the core that this is a waiting loop. */
static inline void bedrock_atomic_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
