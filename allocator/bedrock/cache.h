/* SPDX-License-Identifier: MIT */
/*
 * Thread caches.
 *
 * For each size class a thread keeps two magazines of free blocks: the hot one, which malloc
 * pops and free pushes, and the spare one. When the hot one is full it becomes the spare one,
 * and the old spare one is returned as a whole; when it is empty the spare one takes its place.
 * So a thread that goes to and fro at the brink never pays for it at every step, and what is
 * returned is always what was used least recently.
 *
 * What the fast paths touch, the front, lies in the thread's own static storage and begins empty:
 * without blocks and without room. So it needs no test whether a thread has a cache, not yet or
 * not any more: what is empty leads to the slow path.
 */
#ifndef BEDROCK_CACHE_H
#define BEDROCK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/classes.h"

/* Class 0 and the class of large blocks never have room: they lead to the slow path. */
#define BEDROCK_CACHE_BINS (BEDROCK_CLASS_COUNT + 1)

/*
 * The hot magazines, and the table that malloc needs to find one. Invariant, for each class:
 *	rooms[c] == limit - length of the list heads[c]
 *	rooms[c] >= 0, or limit was lowered since the last slow path of the class
 */
struct bedrock_front {
	void *heads[BEDROCK_CACHE_BINS];
	int32_t rooms[BEDROCK_CACHE_BINS];
	/* Never written: a copy at hand of the table in classes.h. */
	uint8_t class_of_tiny[BEDROCK_TINY_SLOTS];
};

/* The spare magazine, and what has happened to the class since it was last looked at. */
struct bedrock_cache_side {
	void *head;
	uint32_t count;
	/* How many blocks each magazine of the class may hold. */
	uint32_t limit;
	/* There was a slow path, and one of them for want of a block. */
	bool is_touched;
	bool has_missed;
};

/*
 * Owned by its thread. Invariant, over all classes:
 *	spare_bytes + sum of 2 * limit * bytes == budget_bytes
 *	BEDROCK_CACHE_BASE_BYTES <= budget_bytes <= BEDROCK_CACHE_MOST_BYTES
 * What the budgets of all threads have above the base adds up to BEDROCK_CACHE_POOL_BYTES at most.
 */
struct bedrock_cache {
	struct bedrock_cache_side sides[BEDROCK_CACHE_BINS];
	int64_t budget_bytes;
	int64_t spare_bytes;
	uint32_t thread_index;
	/* Slow paths until the next look at the clock, and until the next look for idle bins. */
	uint32_t tick_left;
	uint32_t trim_left;
	uint32_t trim_class;
	/* The last call to shrink that was heard: see relief.h. */
	uint32_t shrink_epoch;
	struct bedrock_cache *next_spare;
};

/* What each thread may hold in any case, what a busy one may, and the steps in between. */
#define BEDROCK_CACHE_BASE_BYTES ((int64_t)256 << 10)
#define BEDROCK_CACHE_MOST_BYTES ((int64_t)4 << 20)
#define BEDROCK_CACHE_STEP_BYTES ((int64_t)256 << 10)
/* What all threads together may hold above their bases. */
#define BEDROCK_CACHE_POOL_BYTES ((int64_t)16 << 20)

extern __thread struct bedrock_front bedrock_front
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* NULL while the thread has none. */
extern __thread struct bedrock_cache *bedrock_cache_current
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* How many blocks the calling thread's hot magazine of a class holds. */
static inline uint32_t bedrock_cache_hot_count(const struct bedrock_cache *cache,
					       unsigned class_index)
{
	return (uint32_t)((int32_t)cache->sides[class_index].limit -
			  bedrock_front.rooms[class_index]);
}

/* malloc(bytes) for a small size, when the hot magazine is empty. -> NULL if out of memory. */
void *bedrock_cache_alloc(unsigned class_index);

/* free(block) of a small block, when the hot magazine is full. */
void bedrock_cache_free(void *block, unsigned class_index);

/* Return every block the calling thread's cache holds. -> did it hold any? */
bool bedrock_cache_flush(void);

/* The calling thread ends: return its blocks and its cache. For pthread_key_create. */
void bedrock_cache_end(void *cache);

/* The calling thread shall never have a cache; for the background thread. */
void bedrock_cache_forgo(void);

/* A number that is the same at each call of one thread, and often differs between threads. */
uint32_t bedrock_cache_thread_index(void);

/* Count a slow path. -> is it time to look at the clock? */
bool bedrock_cache_is_tick(void);

/* Is the thread in the middle of its life, so that it may start another? */
bool bedrock_cache_is_settled(void);

/* Forget all threads but this one: their stacks are gone. For the child of a fork. */
void bedrock_cache_forget_others(void);

#endif
