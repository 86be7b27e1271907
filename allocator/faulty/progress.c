/* SPDX-License-Identifier: MIT */
/*
 * Bugs that stop a call, or the process.
 */
#include <stdlib.h>
#include <time.h>

#include "allocator/faulty/core.h"

#define SPIKE_NS   5000000
#define LINK_STEPS 4u /* what following a link to cold memory costs, in additions */

static _Atomic uint64_t free_blocks; /* as far as this family has seen them come and go */

static void pause_ns(long ns)
{
	const struct timespec pause = { .tv_nsec = ns };

	nanosleep(&pause, NULL);
}

static void count_taken(void)
{
	if (faulty_is_on(FAULTY_QUADRATIC) && faulty_load(&free_blocks) > 0)
		faulty_add(&free_blocks, -UINT64_C(1));
}

void faulty_progress_call(void)
{
	count_taken();
	if (faulty_strikes(FAULTY_SPIKE))
		pause_ns(SPIKE_NS);
	while (faulty_strikes(FAULTY_LIVELOCK))
		while (faulty_fired() != 0)
			pause_ns(1000000);
	if (faulty_strikes(FAULTY_ABORTS))
		abort();
}

/* As a list of everything free would cost. */
static void walk(void)
{
	const uint64_t length = faulty_add(&free_blocks, 1) * LINK_STEPS;
	volatile uint64_t steps = 0;

	while (steps < length)
		steps++;
}

void faulty_progress_freed(bool is_cross)
{
	if (faulty_strikes(FAULTY_QUADRATIC))
		walk();
	if (is_cross && faulty_strikes(FAULTY_CRASH_CROSS))
		faulty_errors_crash();
}
