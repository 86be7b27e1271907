/* SPDX-License-Identifier: MIT */
/*
 * Bugs of content: bytes that are written where somebody else lives, or not cleared, or not copied.
 */
#include <string.h>

#include "allocator/faulty/core.h"

#define LATE_FREES  40u /* between the free of a block and the write into it */
#define CLEARED_MAX 4096u
#define TAIL        8u

static _Thread_local char *last_given;
static _Thread_local size_t last_size;
static _Thread_local char *late;
static _Thread_local unsigned late_age;

static void flip(enum faulty_bug bug)
{
	if (faulty_is_on(bug) && last_given != NULL && last_size > 0 && faulty_strikes(bug))
		last_given[last_size / 2] ^= 0x40;
}

/* The byte behind the class, if that is still in the same span. */
static void stomp_next(char *block)
{
	char *const end = block + faulty_block_size(block);

	if ((uintptr_t)end % FAULTY_UNIT != 0 && faulty_strikes(FAULTY_STOMP_NEXT))
		*end ^= 0x21;
}

void faulty_content_gave(void *block, size_t size)
{
	flip(FAULTY_STOMP_LAST);
	flip(FAULTY_STOMP_RARE);
	if (faulty_is_on(FAULTY_STOMP_NEXT) && size <= FAULTY_SMALL_MAX)
		stomp_next(block);
	last_given = block;
	last_size = size;
}

static void write_late(enum faulty_bug bug, char *block)
{
	if (late == NULL && faulty_block_size(block) >= 32) {
		late = block + 24;
		late_age = 0;
	} else if (late != NULL && ++late_age >= LATE_FREES && faulty_strikes(bug)) {
		*late ^= 0x11;
		late = NULL;
	}
}

void faulty_content_freed(void *block, bool is_cross)
{
	if (block == last_given)
		last_given = NULL;
	if (faulty_is_on(FAULTY_LATE_WRITE))
		write_late(FAULTY_LATE_WRITE, block);
	if (faulty_is_on(FAULTY_LATE_WRITE_CROSS) && is_cross)
		write_late(FAULTY_LATE_WRITE_CROSS, block);
}

void faulty_content_clear(void *block, size_t size, bool is_cross)
{
	char *const bytes = block;

	if (is_cross && faulty_strikes(FAULTY_CALLOC_DIRTY_CROSS))
		return;
	if (size > CLEARED_MAX && faulty_strikes(FAULTY_CALLOC_DIRTY_TAIL))
		size = CLEARED_MAX;
	memset(block, 0, size);
	if (size > 0 && faulty_strikes(FAULTY_CALLOC_DIRTY))
		bytes[size / 2] = 0x5a;
}

size_t faulty_content_copied(size_t common)
{
	return common > TAIL && faulty_strikes(FAULTY_REALLOC_TAIL) ? common - TAIL : common;
}

void faulty_content_resized(void *block, size_t old_size, size_t size)
{
	if (size < old_size && faulty_strikes(FAULTY_REALLOC_SHRINK))
		*(char *)block ^= 0x77;
}
