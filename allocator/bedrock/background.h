/* SPDX-License-Identifier: MIT */
/*
 * The background thread: decay for a program that is not allocating.
 *
 * It is started by the first slow path that sees a worthwhile amount of memory to give back, and
 * ends when everything is given back, or when no other thread that uses the allocator is left:
 * it never keeps a process alive. If it cannot be started, it is tried again, later and later;
 * until then, and without the option, decay runs in the program's own slow paths.
 */
#ifndef BEDROCK_BACKGROUND_H
#define BEDROCK_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/pressure.h"

struct bedrock_heap;

struct bedrock_background {
	/* Set by who starts the thread, cleared by the thread as its last deed. */
	_Atomic(bool) is_running;
	/* The thread sleeps on this; whoever wakes it changes it first. */
	_Atomic(uint32_t) wake_word;
	/* Starts that failed in a row, and when the next may be tried. */
	_Atomic(uint32_t) failed_starts;
	_Atomic(uint64_t) next_start_ns;
	/*
	 * When the thread means to be awake again; at work, never. What the kernel keeps it waiting
	 * for would keep others waiting as well: that alone does not make it late.
	 */
	_Atomic(uint64_t) due_ns;
	/* Only the thread itself uses it; is_running hands it on. */
	struct bedrock_pressure_watch pressure;
};

#define BEDROCK_BACKGROUND_NEVER_NS UINT64_MAX

/* Start the thread if it is wanted, not running, and not backing off. Holds no lock. */
void bedrock_background_start(struct bedrock_heap *heap, uint64_t now_ns);

/* Make it look around now. */
void bedrock_background_wake(struct bedrock_background *background);

/* In the child of a fork there is no such thread. */
void bedrock_background_forget(struct bedrock_background *background);

#endif
