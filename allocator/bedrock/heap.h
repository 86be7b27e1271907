/* SPDX-License-Identifier: MIT */
/*
 * The one global: everything the allocator knows outside of its threads.
 *
 * It is usable as soon as the library is mapped. The first slow path of the process initialises
 * it, whoever that is and however early; the constructor only adds what needs a libc that has
 * been initialised (the environment, permission to start a thread).
 */
#ifndef BEDROCK_HEAP_H
#define BEDROCK_HEAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/arena.h"
#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/background.h"
#include "allocator/bedrock/ctl.h"
#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/guarded.h"
#include "allocator/bedrock/huge.h"
#include "allocator/bedrock/lock.h"
#include "allocator/bedrock/meta.h"
#include "allocator/bedrock/options.h"
#include "allocator/bedrock/relief.h"
#include "allocator/bedrock/space.h"
#include "allocator/bedrock/topology.h"
#include "allocator/bedrock/watch.h"

struct bedrock_cache;

/* Purges since the start; each counter is bumped by whoever purges. */
struct bedrock_purge_counters {
	_Atomic(uint64_t) calls;
	_Atomic(uint64_t) bytes;
	_Atomic(uint64_t) lazy_calls;
	_Atomic(uint64_t) lazy_bytes;
	_Atomic(uint64_t) failures;
};

/*
 * arenas[i] is NULL until some thread needs arena i; arenas[0] always exists once is_ready.
 * options are written before is_ready, and once more by the constructor if the environment was
 * not there yet.
 */
struct bedrock_heap {
	_Atomic(bool) is_ready;
	/* The constructor has run: threads may be started. */
	_Atomic(bool) is_constructed;
	bool is_configured;
	/* No fast path serves anything, as somebody wants to see each block; and the hooks are on.
	 */
	bool is_closed;
	bool is_careful;
	/* Thread exit can be noticed, so threads may have caches. */
	bool has_thread_key;
	pthread_key_t thread_key;
	size_t os_page_bytes;
	struct bedrock_lock init_lock;
	struct bedrock_lock arenas_lock;
	struct bedrock_options options;
	/* Learnt only if arenas are shared by core. */
	struct bedrock_topology topology;
	_Atomic(uint32_t) arena_count;
	_Atomic(uint32_t) next_thread_arena;
	_Atomic(uint32_t) tick_arena;
	/* MADV_FREE was refused; it is not tried again before this time. */
	_Atomic(uint64_t) lazy_again_ns;
	/* The same for many ranges in one call. */
	_Atomic(uint64_t) together_again_ns;
	_Atomic(uint64_t) space_retry_ns;
	/* When caches are looked at again, and the files that tell of sleeping threads. */
	_Atomic(uint64_t) idle_again_ns;
	_Atomic(uint64_t) nap_again_ns;
	struct bedrock_purge_counters purges;
	struct bedrock_background background;
	struct bedrock_space space;
	struct bedrock_huge huge;
	struct bedrock_guarded guarded;
	struct bedrock_relief relief;
	struct bedrock_ctl ctl;
	struct bedrock_watch watch;
	/* Caches of threads that have ended, those with something left in them apart; under
	 * meta.lock. */
	struct bedrock_cache *spare_caches;
	struct bedrock_cache *left_caches;
	/* How much that is; until what is being returned has been. */
	_Atomic(uint64_t) left_bytes;
	/* Held while it is. */
	struct bedrock_lock left_lock;
	/* All of them, those in use included. */
	_Atomic(struct bedrock_cache *) known_caches;
	/* What thread caches were granted beyond their bases. */
	_Atomic(int64_t) cache_pool_used_bytes;
	/* Threads that have a cache. */
	_Atomic(uint32_t) live_caches;
	_Atomic(struct bedrock_arena *) arenas[BEDROCK_ARENAS_MAX];
	struct bedrock_arena first_arena;
	struct bedrock_meta meta;
};

extern struct bedrock_heap bedrock_heap;

/* The part of bedrock_heap_ensure that runs once. */
void bedrock_heap_init(struct bedrock_heap *heap);

/* Every slow path calls this before anything else. */
static inline void bedrock_heap_ensure(struct bedrock_heap *heap)
{
	if (bedrock_unlikely(!bedrock_load_acquire(&heap->is_ready)))
		bedrock_heap_init(heap);
}

/* Does it let threads have caches? */
static inline bool bedrock_heap_caches(const struct bedrock_heap *heap)
{
	return heap->options.is_tcache && !heap->space.is_watched;
}

/* The arena this thread should ask now. `thread_index` decides when CPUs do not. */
struct bedrock_arena *bedrock_heap_arena(struct bedrock_heap *heap, uint32_t thread_index);

/* Arena number `index`, or NULL if nobody has needed it. */
static inline struct bedrock_arena *bedrock_heap_arena_at(struct bedrock_heap *heap, uint32_t index)
{
	return bedrock_load_acquire(&heap->arenas[index]);
}

/*
 * Blocks of a size class from `first`, else from any arena that has some, else after giving
 * the kernel back what can be given. -> 0 or -ENOMEM.
 */
int bedrock_heap_take(struct bedrock_heap *heap, struct bedrock_arena *first, unsigned class_index,
		      uint32_t want, struct bedrock_list *out);

/* The same for a large run. */
int bedrock_heap_take_run(struct bedrock_heap *heap, struct bedrock_arena *first,
			  struct bedrock_pages_request request, struct bedrock_run **out,
			  bool *is_zero);

/* Drop every kept huge mapping, and those in quarantine: the last resort before an allocation
 * fails. */
void bedrock_heap_relieve(struct bedrock_heap *heap);

/* Register the fork handlers of fork.c. */
void bedrock_fork_register(void);

#endif
