/* SPDX-License-Identifier: MIT */
/*
 * Knowing that a thread sleeps, and has slept all the while.
 *
 * Two files of /proc/self/task/ID tell. `syscall` names a system call only if the kernel has seen
 * the thread off the CPU and blocked in it, under the lock of its run queue; `schedstat` counts how
 * often the thread was put on a CPU, and that count grows, under the same lock, before the thread
 * executes anything. So with arrivals read first, sleep seen, sleep seen again and the same number
 * of arrivals read last, the thread has not executed an instruction between the two sights. The
 * lock orders memory as well: what it did before it slept is seen by whoever saw it sleep, and
 * what was written between the sights is seen by it when it wakes.
 *
 * A thread inside vfork or clone does not count: its child may be running on its storage.
 * Where the files do not exist, do not count, may not be read or are those of another process
 * namespace, no thread ever sleeps.
 */
#ifndef BEDROCK_NAP_H
#define BEDROCK_NAP_H

#include <stdbool.h>
#include <stdint.h>

struct bedrock_nap {
	uint32_t thread_id;
	uint64_t arrivals;
};

/* Do the numbers in /proc mean our threads, and may the two files be read? */
bool bedrock_nap_is_possible(void);

/* Does the thread sleep now? If so *nap is the beginning of what bedrock_nap_lasts ends. */
bool bedrock_nap_begin(struct bedrock_nap *nap, uint32_t thread_id);

/* Has it slept ever since? */
bool bedrock_nap_lasts(const struct bedrock_nap *nap);

#endif
