/* SPDX-License-Identifier: MIT */
/*
 * The calls that led to a place, by the tables that compilers leave for exceptions: programs are
 * built without frame pointers. Asked only when something is wrong. The unwinder is linked in (see
 * the Makefile), since that of the program might be loaded, by malloc, on its first use; it takes
 * no memory and, with a C library of 2022 or later, no lock.
 */
#include <unwind.h>

#include "stress/guard/guard.h"

#define FRAMES_MAX 32u /* the guard's own come first */

struct walk {
	uint64_t caller;
	uint64_t *trail;
	uint32_t frames, found;
	bool past_caller;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
	struct walk *const walk = argument;
	const uint64_t at = (uint64_t)_Unwind_GetIP(context);

	if (at == 0 || ++walk->frames > FRAMES_MAX)
		return _URC_END_OF_STACK;
	if (walk->past_caller)
		walk->trail[walk->found++] = at;
	walk->past_caller |= at == walk->caller;
	return walk->found < HQ_GUARD_TRAIL ? _URC_NO_REASON : _URC_END_OF_STACK;
}

uint32_t hq_guard_trail(uint64_t caller, uint64_t trail[HQ_GUARD_TRAIL])
{
	struct walk walk = { .caller = caller, .trail = trail };

	_Unwind_Backtrace(step, &walk);
	return walk.found;
}
