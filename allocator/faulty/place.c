/* SPDX-License-Identifier: MIT */
/*
 * Bugs of place: blocks that overlap, are given twice, or are not aligned. A block that was moved
 * or given twice is never freed, so that it does harm where it is seen and nowhere else.
 */
#include <sched.h>

#include "allocator/faulty/core.h"

#define NEVER_FREED     4096u
#define USABLE_TOO_MUCH 64u
#define ODD_CLASS_BYTES 80u
#define LAST_THREADS    8u

struct given {
	void *block; /* NULL, or live as far as this thread knows */
	size_t size;
};

static _Thread_local struct given last;
static _Thread_local int last_cpu = -1;
/* The last block of each of a few threads, as long as its owner holds it. */
static _Atomic(void *) last_of[LAST_THREADS];
static _Atomic(uintptr_t) never_freed[NEVER_FREED];

static void show_last(void *block)
{
	if (faulty_is_on(FAULTY_SAME_TWICE_CROSS))
		faulty_store(&last_of[faulty_thread_number() % LAST_THREADS], block);
}

/* False when there is no room to remember it. */
static bool never_free(void *block)
{
	const size_t start = ((uintptr_t)block >> 4) * 2654435761u % NEVER_FREED;

	for (size_t i = 0; i < 16; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&never_freed[(start + i) % NEVER_FREED], &none,
						   (uintptr_t)block))
			return true;
	}
	return false;
}

bool faulty_place_keeps(void *block)
{
	const size_t start = ((uintptr_t)block >> 4) * 2654435761u % NEVER_FREED;

	if (block == last.block) {
		last.block = NULL;
		show_last(NULL);
	}
	for (size_t i = 0; i < 16; i++) {
		if (faulty_load(&never_freed[(start + i) % NEVER_FREED]) == (uintptr_t)block)
			return true;
	}
	return false;
}

static void *again(enum faulty_bug bug, size_t size)
{
	if (!faulty_is_on(bug) || last.block == NULL || size > last.size)
		return NULL;
	return faulty_strikes(bug) && never_free(last.block) ? last.block : NULL;
}

static void *again_after_migration(size_t size)
{
	void *block = NULL;

	if (!faulty_is_on(FAULTY_SAME_TWICE_MIGRATED))
		return NULL;
	const int cpu = sched_getcpu();

	if (last_cpu >= 0 && cpu != last_cpu)
		block = again(FAULTY_SAME_TWICE_MIGRATED, size);
	if (block != NULL || cpu == last_cpu || last_cpu < 0)
		last_cpu = cpu;
	return block;
}

/* The block that another thread was given last, if it is large enough. */
static void *others_last(size_t size)
{
	for (size_t i = 0; i < LAST_THREADS; i++) {
		void *const block = faulty_load(&last_of[i]);

		if (i != faulty_thread_number() % LAST_THREADS && block != NULL &&
		    faulty_block_size(block) >= size)
			return block;
	}
	return NULL;
}

static void *again_across(size_t size)
{
	void *const block = faulty_is_on(FAULTY_SAME_TWICE_CROSS) ? others_last(size) : NULL;

	if (block == NULL || !faulty_strikes(FAULTY_SAME_TWICE_CROSS))
		return NULL;
	return never_free(block) ? block : NULL;
}

void *faulty_place_again(size_t size)
{
	void *block = faulty_program_given(size);

	if (block == NULL)
		block = again(FAULTY_SAME_TWICE, size);
	if (block == NULL)
		block = again(FAULTY_SAME_TWICE_RARE, size);
	if (block == NULL)
		block = again_after_migration(size);
	return block != NULL ? block : again_across(size);
}

size_t faulty_place_size(size_t size)
{
	if (!faulty_is_on(FAULTY_OFF_END) || size <= 16 || size > FAULTY_SMALL_MAX)
		return size;
	const size_t below = faulty_class_size(faulty_class_of(size) - 1);

	return size - below <= 8 && faulty_strikes(FAULTY_OFF_END) ? below : size;
}

static void *in_the_middle(void *block, size_t size)
{
	char *const middle = last.block != NULL
				     ? (char *)last.block + (last.size / 2 & -FAULTY_ALIGNMENT)
				     : NULL;

	if (middle == NULL || last.size < 64 || size > last.size / 2 ||
	    !faulty_strikes(FAULTY_OVERLAP_HALF))
		return block;
	faulty_block_give(block);
	return middle;
}

void *faulty_place_moved(void *block, size_t size)
{
	char *const bytes = block;

	if (faulty_is_on(FAULTY_OVERLAP_HALF))
		return in_the_middle(block, size);
	if (size <= 2048 && (uintptr_t)block % FAULTY_UNIT != 0 && faulty_strikes(FAULTY_OFF_FRONT))
		return bytes - 16;
	if (size >= 16 && size <= 8192 && faulty_strikes(FAULTY_MISALIGNED))
		return bytes + 8;
	if (size > ODD_CLASS_BYTES - 16 && size <= ODD_CLASS_BYTES - 8 &&
	    faulty_strikes(FAULTY_MISALIGNED_CLASS))
		return bytes + 8;
	return block;
}

void faulty_place_gave(void *block, size_t size)
{
	last = (struct given){ .block = block, .size = size };
	show_last(block);
}

bool faulty_place_grows(size_t usable, size_t size)
{
	return size > usable && size <= usable + usable / 4 && usable <= FAULTY_SMALL_MAX &&
	       faulty_strikes(FAULTY_REALLOC_CLASS);
}

size_t faulty_place_alignment(size_t alignment, size_t size)
{
	if (alignment == 4096 && faulty_strikes(FAULTY_MISALIGNED_PAGE))
		return 2048;
	if (alignment > FAULTY_ALIGNMENT && size > 1024 && faulty_strikes(FAULTY_MISALIGNED_LARGE))
		return FAULTY_ALIGNMENT;
	return alignment;
}

size_t faulty_place_usable(size_t usable)
{
	if (usable > 48 && faulty_strikes(FAULTY_USABLE_SMALL))
		return usable / 2;
	if (faulty_strikes(FAULTY_USABLE_LARGE))
		return usable + USABLE_TOO_MUCH;
	return usable;
}
