/* SPDX-License-Identifier: MIT */
/*
 * Calls from signal handlers, which this allocator promises to bear. A thread says when it is
 * inside. A call that comes then, from a handler, takes no lock and touches no list: it is given a
 * mapping of its own, and what it frees waits until the interrupted call has ended. And the bugs
 * of that.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "allocator/faulty/core.h"

#define WAIT_NS 1000000

/* Of one thread and its handlers; volatile, as a handler may come between any two instructions. */
static _Thread_local volatile bool inside;
static _Thread_local struct faulty_link *volatile deferred;

/* The interrupted call cannot end before the handler does. */
static void wait_for_ever(void)
{
	const struct timespec pause = { .tv_nsec = WAIT_NS };

	while (inside)
		nanosleep(&pause, NULL);
}

bool faulty_enter(void)
{
	if (inside) {
		if (faulty_strikes(FAULTY_SIGNAL_DEADLOCK))
			wait_for_ever();
		return false;
	}
	inside = true;
	return true;
}

/* What a handler adds meanwhile is in the list that is taken, or in the next one. */
static struct faulty_link *take_deferred(void)
{
	return __atomic_exchange_n(&deferred, NULL, __ATOMIC_RELAXED);
}

void faulty_leave(void)
{
	struct faulty_link *list;

	while ((list = take_deferred()) != NULL) {
		while (list != NULL) {
			struct faulty_link *const next = list->next;

			faulty_free(list);
			list = next;
		}
	}
	inside = false;
}

void *faulty_nested_take(size_t size, size_t alignment)
{
	const int kept = errno;
	void *block = NULL;

	if (!faulty_strikes(FAULTY_SIGNAL_NULL) && size <= PTRDIFF_MAX &&
	    alignment <= FAULTY_ALIGNED_MAX)
		block = faulty_huge_take_nested(size, alignment);
	errno = block != NULL ? kept : ENOMEM;
	return block;
}

void faulty_nested_give(void *block)
{
	struct faulty_link *const link = block;

	if (block == NULL)
		return;
	link->next = deferred;
	deferred = link;
}

void *faulty_nested_resize(void *block, size_t size)
{
	const size_t usable = block != NULL ? faulty_block_size(block) : 0;
	void *const moved = faulty_nested_take(size, FAULTY_ALIGNMENT);

	if (moved == NULL)
		return NULL;
	memcpy(moved, block, usable < size ? usable : size);
	faulty_nested_give(block);
	return moved;
}
