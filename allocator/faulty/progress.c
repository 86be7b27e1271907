/* SPDX-License-Identifier: MIT */
/*
 * Bugs that stop a call, or the process.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

#define SPIKE_NS   5000000
#define LINK_STEPS 4u /* what following a link to cold memory costs, in additions */

enum gate {
	GATE_OPEN,
	GATE_SHUT,
	GATE_AWAITED, /* shut, and somebody sleeps: opening it has to wake */
};

static _Atomic uint64_t free_blocks; /* as far as this family has seen them come and go */
static _Atomic uint32_t gate;

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

static void sleep_while(uint32_t state)
{
	syscall(SYS_futex, &gate, FUTEX_WAIT_PRIVATE, state, NULL, NULL, 0);
}

static bool enter_gate(void)
{
	uint32_t open = GATE_OPEN;

	return atomic_compare_exchange_strong(&gate, &open, GATE_SHUT);
}

/* The bug: the gate stays merely shut, and who opens it knows of nobody to wake. */
static void wait_at_gate(void)
{
	while (!enter_gate()) {
		if (faulty_strikes(FAULTY_LOST_WAKEUP))
			sleep_while(GATE_SHUT);
		else if (atomic_exchange(&gate, GATE_AWAITED) == GATE_OPEN)
			return;
		else
			sleep_while(GATE_AWAITED);
	}
}

/* Giving up the CPU inside is what makes others wait. */
static void pass_gate(void)
{
	const int before = errno;

	wait_at_gate();
	sched_yield();
	if (atomic_exchange(&gate, GATE_OPEN) == GATE_AWAITED)
		syscall(SYS_futex, &gate, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = before;
}

void faulty_progress_call(void)
{
	count_taken();
	if (faulty_is_on(FAULTY_LOST_WAKEUP))
		pass_gate();
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
