/* SPDX-License-Identifier: MIT */
/*
 * fork: the child must find every structure whole and every lock free.
 *
 * The forking thread takes all locks, in the order of their ranks, and both sides give them. No
 * purge is under way then, since purges run under the decay locks; so no page is lent out in the
 * child. What is lost in the child are the caches of the threads that do not exist there, and the
 * huge mappings that one of them was just making or unmapping: that is done without a lock, so the
 * child may have such a mapping, its charge, or both, and knows nothing of them.
 */
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/thread.h"

/* Arenas cannot appear meanwhile: arenas_lock is held. */
static void bedrock_fork_take_arenas(struct bedrock_heap *heap)
{
	struct bedrock_arena *arena;

	for (uint32_t i = 0; i < BEDROCK_ARENAS_MAX; i++) {
		arena = bedrock_heap_arena_at(heap, i);
		if (arena)
			bedrock_lock_take(&arena->decay.lock);
	}
	for (uint32_t i = 0; i < BEDROCK_ARENAS_MAX; i++) {
		arena = bedrock_heap_arena_at(heap, i);
		if (arena)
			bedrock_arena_lock_bins(arena);
	}
	for (uint32_t i = 0; i < BEDROCK_ARENAS_MAX; i++) {
		arena = bedrock_heap_arena_at(heap, i);
		if (arena)
			bedrock_lock_take(&arena->pages.lock);
	}
}

static void bedrock_fork_give_arenas(struct bedrock_heap *heap)
{
	for (uint32_t i = 0; i < BEDROCK_ARENAS_MAX; i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		if (!arena)
			continue;
		bedrock_lock_give(&arena->pages.lock);
		bedrock_arena_unlock_bins(arena);
		bedrock_lock_give(&arena->decay.lock);
	}
}

static void bedrock_fork_prepare(void)
{
	struct bedrock_heap *heap = &bedrock_heap;

	bedrock_lock_allow_many(true);
	bedrock_lock_take(&heap->init_lock);
	bedrock_lock_take(&heap->ctl.lock);
	bedrock_lock_take(&heap->relief.lock);
	bedrock_thread_lock_cache();
	bedrock_lock_take(&heap->left_lock);
	bedrock_lock_take(&heap->arenas_lock);
	bedrock_lock_take(&heap->watch.lock);
	bedrock_fork_take_arenas(heap);
	bedrock_lock_take(&heap->huge.lock);
	bedrock_lock_take(&heap->space.lock);
	bedrock_lock_take(&heap->meta.lock);
}

static void bedrock_fork_release(void)
{
	struct bedrock_heap *heap = &bedrock_heap;

	bedrock_lock_give(&heap->meta.lock);
	bedrock_lock_give(&heap->space.lock);
	bedrock_lock_give(&heap->huge.lock);
	bedrock_fork_give_arenas(heap);
	bedrock_lock_give(&heap->watch.lock);
	bedrock_lock_give(&heap->arenas_lock);
	bedrock_lock_give(&heap->left_lock);
	bedrock_thread_unlock_cache();
	bedrock_lock_give(&heap->relief.lock);
	bedrock_lock_give(&heap->ctl.lock);
	bedrock_lock_give(&heap->init_lock);
	bedrock_lock_allow_many(false);
}

static void bedrock_fork_child(void)
{
	bedrock_fork_release();
	bedrock_background_forget(&bedrock_heap.background);
	bedrock_thread_forget_others();
	bedrock_relief_forget_others(&bedrock_heap.relief);
}

void bedrock_fork_register(void)
{
	/* If this fails, fork works as long as no other thread is inside the allocator. */
	(void)bedrock_os_at_fork(bedrock_fork_prepare, bedrock_fork_release, bedrock_fork_child);
}
