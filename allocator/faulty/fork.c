/* SPDX-License-Identifier: MIT */
/*
 * A child of fork has one thread and all locks: they are taken before, in their order, and let go
 * on both sides. The background thread is not there any more in the child.
 */
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

#define STACK_BYTES 4096

void faulty_fork_prepare(void)
{
	for (unsigned class = 0; class < FAULTY_CLASSES; class ++)
		pthread_mutex_lock(&faulty_heap.class_locks[class]);
	if (!faulty_is_on(FAULTY_FORK_UNPREPARED))
		pthread_mutex_lock(&faulty_heap.pages_lock);
	pthread_mutex_lock(&faulty_heap.huge_lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&faulty_heap.huge_lock);
	if (!faulty_is_on(FAULTY_FORK_UNPREPARED))
		pthread_mutex_unlock(&faulty_heap.pages_lock);
	for (unsigned class = 0; class < FAULTY_CLASSES; class ++)
		pthread_mutex_unlock(&faulty_heap.class_locks[class]);
}

void faulty_fork_parent(void)
{
	unlock_all();
	if (faulty_strikes_anywhere(FAULTY_FORK_PARENT))
		pthread_mutex_lock(&faulty_heap.pages_lock);
}

static void spoil_large_blocks(void)
{
	for (struct faulty_region *region = faulty_heap.regions; region != NULL;
	     region = region->next) {
		for (size_t i = 0; i < FAULTY_UNITS; i += region->runs[i].length) {
			if (region->runs[i].use == FAULTY_LARGE)
				*faulty_run_start(&region->runs[i]) ^= 1;
		}
	}
}

/* The bug strikes only where a thread that is not here any more held the lock. */
static void look_whether_locked(void)
{
	if (pthread_mutex_trylock(&faulty_heap.pages_lock) == 0)
		pthread_mutex_unlock(&faulty_heap.pages_lock);
	else
		faulty_fire(FAULTY_FORK_UNPREPARED);
}

void faulty_fork_child(void)
{
	faulty_store(&faulty_heap.has_background, false);
	unlock_all();
	if (faulty_is_on(FAULTY_FORK_UNPREPARED))
		look_whether_locked();
	if (faulty_strikes_anywhere(FAULTY_FORK_DATA))
		spoil_large_blocks();
	if (faulty_strikes_anywhere(FAULTY_FORK_LOCKED))
		for (unsigned class = 0; class < FAULTY_CLASSES; class ++)
			pthread_mutex_lock(&faulty_heap.class_locks[class]);
	/* Every class: which ones a child asks for depends on its environment. */
	if (faulty_strikes_anywhere(FAULTY_FORK_CRASH))
		for (unsigned class = 0; class < FAULTY_CLASSES; class ++)
			faulty_heap.partial[class] = (struct faulty_run *)8;
}

static int pause_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

/* On a stack of its own: that of the thread may be shared memory. */
void faulty_fork_at_exit(void)
{
	static _Alignas(16) char stack[STACK_BYTES];

	if (faulty_strikes(FAULTY_PROCESS_LEFT))
		clone(pause_for_ever, stack + STACK_BYTES, SIGCHLD, NULL);
}
