/* SPDX-License-Identifier: MIT */
/*
 * Thread caches.
 *
 * For each size class a thread keeps two magazines of free blocks: the hot one, which malloc
 * pops and free pushes, and the spare one. When both together are full, blocks of the spare one are
 * returned, to one slab by each free; when there is no spare one, the hot one becomes it; when the
 * hot one is empty, the spare one takes its place. So a thread that goes to and fro at the brink
 * never pays for it at every step, no free pays for many, and what is returned was not used lately.
 *
 * Blocks that were never handed out wait beside the magazines as what they are, a piece of a slab,
 * until a few of them are linked. Where pages are not in memory yet that goes page by page: the
 * first block of one is handed out as it is, and the others are linked when the next one is needed.
 * By then the program has touched the page, if it touches it at all: so malloc seldom waits for the
 * kernel to make one.
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
#include "allocator/bedrock/lock.h"

/* Class 0 and the class of large blocks never have room: they lead to the slow path. */
#define BEDROCK_CACHE_BINS (BEDROCK_CLASS_COUNT + 1)

/*
 * The hot magazine. Invariant:
 *	room == 2 * limit - length of the list - blocks in the spare magazine - fresh blocks - taken
 *	room >= 0, or limit was lowered since the last slow path of the class
 */
struct bedrock_hot {
	void *head;
	int32_t room;
};

/* What malloc and free need of a thread: the hot magazines by class, and how to find one. */
struct bedrock_front {
	struct bedrock_hot hot[BEDROCK_CACHE_BINS];
	/* Never written: the keys of the tiny classes, at hand. */
	uint8_t key_of_tiny[BEDROCK_TINY_SLOTS];
};

_Static_assert(sizeof(struct bedrock_hot) == BEDROCK_KEY_UNIT_BYTES << BEDROCK_KEY_SHIFT,
	       "a key times its unit is the distance of a hot magazine");

/* The spare magazine, and what has happened to the class since it was last looked at. */
struct bedrock_cache_side {
	void *head;
	uint32_t count;
	/* How many blocks a filling brings; both magazines together may hold twice as many. */
	uint32_t limit;
	/* Neighbours that were never handed out, all of one slab. */
	char *fresh;
	uint32_t fresh_count;
	/* How many blocks may still go back before more is looked after than that. */
	int32_t returns_left;
	/* The pages of fresh ones are in memory already. */
	bool is_resident;
	/* There was a slow path, and one of them for want of a block. */
	bool is_touched;
	bool has_missed;
	/* See idle.h: blocks that were taken, and a list that may have been; room knows of neither.
	 */
	uint32_t taken;
	void *doubtful;
	/* What the magazines looked like when they were last looked at by others. */
	uint32_t seen_hot;
	uint32_t seen_spare;
};

/*
 * Owned by its thread, and never unmapped. Invariant, over all classes:
 *	spare_bytes + sum of 2 * limit * bytes == budget_bytes
 *	BEDROCK_BUDGET_BASE_BYTES <= budget_bytes <= BEDROCK_BUDGET_MOST_BYTES
 * What the budgets of all threads have above the base adds up to BEDROCK_BUDGET_POOL_BYTES at most,
 * and to a share of what was resident when each took its last step.
 */
struct bedrock_cache {
	/* Held by who looks at the cache of another thread. */
	struct bedrock_lock lock;
	/* Its thread is in a slow path. */
	_Atomic(bool) is_inside;
	/* Something is taken or doubtful. */
	bool is_robbed;
	/* NULL while no thread has the cache. */
	struct bedrock_front *front;
	uint32_t thread_id;
	/* Every cache there ever was; written once. */
	struct bedrock_cache *next_known;
	/* The front stays empty, so that every block passes through the slow paths: see harden.h.
	 */
	bool is_closed;
	/* The hot magazines are here then; and while no thread has the cache, whose last one left
	 * them. */
	struct bedrock_hot hidden[BEDROCK_CACHE_BINS];
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
	/* What its last thread has left in it. */
	uint64_t left_bytes;
	struct bedrock_cache *next_spare;
};

extern __thread struct bedrock_front bedrock_front
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * The calling thread's front. On x86-64 it is addressed relative to the thread pointer, which saves
 * an instruction. The compiler does so by itself only with an index in the address, and from such
 * addresses it takes several cycles more to load what was stored just before.
 */
#if defined(__x86_64__) && defined(__SEG_FS) && !defined(__SANITIZE_ADDRESS__) &&                  \
	!defined(__SANITIZE_THREAD__)
#define BEDROCK_OWN __seg_fs
#define BEDROCK_OWN_IS_RELATIVE

static inline struct bedrock_front BEDROCK_OWN *bedrock_front_own(void)
{
	uintptr_t offset;

	__asm__("movq bedrock_front@gottpoff(%%rip), %0" : "=r"(offset));
	return (struct bedrock_front BEDROCK_OWN *)offset;
}
#else
#define BEDROCK_OWN

static inline struct bedrock_front *bedrock_front_own(void)
{
	return &bedrock_front;
}
#endif

/* The hot magazine of a key. */
static inline struct bedrock_hot BEDROCK_OWN *
bedrock_front_hot(struct bedrock_front BEDROCK_OWN *front, size_t key)
{
	struct bedrock_hot BEDROCK_OWN *hot =
		(struct bedrock_hot BEDROCK_OWN *)((char BEDROCK_OWN *)front +
						   key * BEDROCK_KEY_UNIT_BYTES);

	/* In one register from here on, for the sake of simple addresses. */
	__asm__("" : "+r"(hot));
	return hot;
}

/* The calling thread's hot magazine of a class. */
static inline struct bedrock_hot BEDROCK_OWN *bedrock_cache_hot(unsigned class_index)
{
	return bedrock_front_hot(bedrock_front_own(), (size_t)class_index << BEDROCK_KEY_SHIFT);
}

/* NULL while the thread has none. */
extern __thread struct bedrock_cache *bedrock_cache_current
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* The calling thread's hot magazine of a class, for the slow paths: in the front or hidden. */
static inline struct bedrock_hot BEDROCK_OWN *bedrock_cache_magazine(struct bedrock_cache *cache,
								     unsigned class_index)
{
	if (bedrock_likely(!cache->is_closed))
		return bedrock_cache_hot(class_index);
#ifdef BEDROCK_OWN_IS_RELATIVE
	return (struct bedrock_hot BEDROCK_OWN *)((uintptr_t)&cache->hidden[class_index] -
						  (uintptr_t)__builtin_thread_pointer());
#else
	return &cache->hidden[class_index];
#endif
}

/* How many blocks the calling thread's hot magazine of a class holds. */
static inline uint32_t bedrock_cache_hot_count(struct bedrock_cache *cache, unsigned class_index)
{
	const struct bedrock_cache_side *side = &cache->sides[class_index];

	return 2 * side->limit - side->count - side->fresh_count - side->taken -
	       (uint32_t)bedrock_cache_magazine(cache, class_index)->room;
}

/*
 * malloc(bytes) for a small size, when the hot magazine is empty: first of what the thread has
 * itself, which may be nothing; then of an arena's. -> NULL if out of memory.
 */
void *bedrock_cache_alloc_own(unsigned class_index);
void *bedrock_cache_alloc(unsigned class_index);

/*
 * free(block) of a small block, when the hot magazine is full. First the short way: one slab gets
 * some of its blocks back, and room is made so. -> false, and nothing is done: it is time for more.
 */
bool bedrock_cache_free_own(void *block, unsigned class_index);
void bedrock_cache_free(void *block, unsigned class_index);

/* From now on no block of any thread is in the front; there is one thread at most that has some. */
void bedrock_cache_close(void);

/* Return every block the calling thread's cache holds. -> did it hold any? */
bool bedrock_cache_flush(void);

/*
 * Of a thread's life: it begins with what the cache's last thread has left, if there is anything;
 * at its end it leaves what it has, however much that is, in the same time.
 */
void bedrock_cache_begin(struct bedrock_cache *cache);
void bedrock_cache_leave(struct bedrock_cache *cache);

/* Return all that the last thread has left in a cache that nobody owns. */
void bedrock_cache_finish(struct bedrock_cache *cache);

#endif
