/* SPDX-License-Identifier: MIT */
/*
 * A thread as far as the allocator is concerned: when it gets its cache and loses it, what tells
 * it from others, and how often it looks at the clock. What is in the cache is cache.h's.
 */
#ifndef BEDROCK_THREAD_H
#define BEDROCK_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/cache.h"

/* Give the calling thread a cache. -> NULL: it cannot have one, not yet or not any more. */
struct bedrock_cache *bedrock_thread_make_cache(void);

/* The calling thread's cache, made if need be, or NULL. */
static inline struct bedrock_cache *bedrock_thread_cache(void)
{
	struct bedrock_cache *cache = bedrock_cache_current;

	return bedrock_likely(cache != NULL) ? cache : bedrock_thread_make_cache();
}

/* The calling thread ends: return its blocks and its cache. For pthread_key_create. */
void bedrock_thread_end(void *cache);

/* The calling thread shall never have a cache; for the background thread. */
void bedrock_thread_forgo_cache(void);

/* A number that is the same at each call of one thread, and often differs between threads. */
uint32_t bedrock_thread_index(void);

/* Change that number. -> false if the thread has no cache to keep it in. */
bool bedrock_thread_set_index(uint32_t index);

/* Count a slow path. -> is it time to look at the clock? */
bool bedrock_thread_is_tick(void);

/* Is the thread in the middle of its life, so that it may start another? */
bool bedrock_thread_is_settled(void);

/* Keep others out of the calling thread's cache during a fork, and let them in again. */
void bedrock_thread_lock_cache(void);
void bedrock_thread_unlock_cache(void);

/* Forget all threads but this one: their stacks are gone. For the child of a fork. */
void bedrock_thread_forget_others(void);

#endif
