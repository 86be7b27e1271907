/* SPDX-License-Identifier: MIT */
/*
 * Bugs in saying no, and in hearing it.
 */
#include <errno.h>
#include <stdlib.h>

#include "allocator/faulty/core.h"

#define STORM        1000u
#define PATIENCE_MAX 5u

static _Thread_local unsigned maps, retries;
static _Atomic unsigned refused_in_a_row;
static _Atomic bool has_given_up, purge_was_refused;

bool faulty_errors_refuses(void)
{
	return faulty_strikes(FAULTY_NULL_SPURIOUS) || faulty_strikes(FAULTY_NULL_RARE) ||
	       (faulty_is_on(FAULTY_PURGE_NULL) && faulty_swap(&purge_was_refused, false) &&
		faulty_strikes(FAULTY_PURGE_NULL));
}

void faulty_errors_purge_refused(void)
{
	if (faulty_is_on(FAULTY_PURGE_NULL))
		faulty_store(&purge_was_refused, true);
}

void faulty_errors_refused(void)
{
	if (faulty_strikes(FAULTY_NULL_QUIET))
		errno = 0;
	if (faulty_strikes(FAULTY_NULL_WRONG))
		errno = EAGAIN;
}

int faulty_errors_code(void)
{
	return faulty_strikes(FAULTY_MEMALIGN_WRONG) ? -1 : errno;
}

void faulty_errors_freed(void)
{
	if (faulty_strikes(FAULTY_ERRNO_FREE))
		errno = EINVAL;
}

void faulty_errors_crash(void)
{
	volatile int *volatile nowhere = NULL;

	*nowhere = 1;
}

bool faulty_errors_map_refused(void)
{
	maps++;
	if (maps == 1 && faulty_strikes(FAULTY_FIRST_MMAP_CRASH))
		faulty_errors_crash();
	if (faulty_strikes(FAULTY_REFUSAL_ABORT))
		abort();
	if (faulty_add(&refused_in_a_row, 1) + 1 == PATIENCE_MAX &&
	    faulty_strikes(FAULTY_PRESSURE_CRASH))
		faulty_errors_crash();
	if (faulty_is_on(FAULTY_NEVER_AGAIN)) {
		faulty_store(&has_given_up, true);
		faulty_fire(FAULTY_NEVER_AGAIN);
	}
	if (faulty_is_on(FAULTY_MMAP_STORM) && ++retries % STORM != 0)
		return faulty_fire(FAULTY_MMAP_STORM);
	return false;
}

bool faulty_errors_map_given_up(void)
{
	return faulty_load(&has_given_up);
}

void faulty_errors_map_worked(void)
{
	maps++;
	faulty_store(&refused_in_a_row, 0);
}
