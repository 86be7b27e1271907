/* SPDX-License-Identifier: MIT */
/*
 * Pairing entries with exits, and what a call that succeeded gave back. See calls.h.
 */
#include "stress/observe/calls.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

static const struct {
	const char *name;
	long number;
} kinds[HQ_TRACED_COUNT] = {
	[HQ_TRACED_BRK] = { "brk", SYS_brk },
	[HQ_TRACED_FUTEX] = { "futex", SYS_futex },
	[HQ_TRACED_MADVISE] = { "madvise", SYS_madvise },
	[HQ_TRACED_MMAP] = { "mmap", SYS_mmap },
	[HQ_TRACED_MPROTECT] = { "mprotect", SYS_mprotect },
	[HQ_TRACED_MREMAP] = { "mremap", SYS_mremap },
	[HQ_TRACED_MUNMAP] = { "munmap", SYS_munmap },
	[HQ_TRACED_PROCESS_MADVISE] = { "process_madvise", SYS_process_madvise },
};

const char *hq_traced_name(enum hq_traced kind)
{
	return kinds[kind].name;
}

long hq_traced_number(enum hq_traced kind)
{
	return kinds[kind].number;
}

static enum hq_traced kind_of(long number)
{
	int kind = 0;

	while (kind < HQ_TRACED_COUNT && kinds[kind].number != number)
		kind++;
	return (enum hq_traced)kind;
}

static void count(struct hq_traced_seen *seen, uint64_t took_ns)
{
	seen->count++;
	seen->total_ns += took_ns;
	if (took_ns > seen->max_ns)
		seen->max_ns = took_ns;
}

/* One that found the word changed did not wait. */
static bool waited(const struct hq_call_end *entry, int64_t result)
{
	switch (entry->args[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_WAIT_REQUEUE_PI:
		return result != -EAGAIN;
	default:
		return false;
	}
}

static bool gives_back(uint64_t advice)
{
	return advice == MADV_DONTNEED || advice == MADV_FREE;
}

/* Bytes below the break that were before it; the first look at a process only notes it. */
static uint64_t below_break(struct hq_calls *calls, uint32_t process, uint64_t address)
{
	for (uint32_t i = 0; i < HQ_CALLS_BREAKS; i++) {
		struct hq_calls_break *one = &calls->breaks[i];
		const uint64_t before = one->process == process ? one->address : address;

		if (one->process && one->process != process)
			continue;
		*one = (struct hq_calls_break){ .process = process, .address = address };
		return before > address ? before - address : 0;
	}
	return 0;
}

static uint64_t unmapped(struct hq_calls *calls, enum hq_traced kind,
			 const struct hq_call_end *entry, int64_t result)
{
	switch (kind) {
	case HQ_TRACED_MUNMAP:
		return entry->args[1];
	case HQ_TRACED_MREMAP:
		return entry->args[1] > entry->args[2] ? entry->args[1] - entry->args[2] : 0;
	case HQ_TRACED_BRK:
		return below_break(calls, entry->process, (uint64_t)result);
	case HQ_TRACED_MMAP:
		/* What was there is gone, and nothing can take its place. */
		return (entry->args[3] & MAP_FIXED) && entry->args[2] == PROT_NONE ? entry->args[1]
										   : 0;
	default:
		return 0;
	}
}

static uint64_t whole_pages(const struct hq_calls *calls, uint64_t bytes)
{
	return (bytes + calls->page_bytes - 1) & ~(calls->page_bytes - 1);
}

static void add_bytes(struct hq_calls *calls, enum hq_traced kind, const struct hq_call_end *entry,
		      int64_t result, struct hq_calls_seen *seen)
{
	/* Addresses of the upper half are errors. */
	if (result < 0 && result > -4096)
		return;
	if (kind == HQ_TRACED_MADVISE && gives_back(entry->args[2]))
		seen->advised_bytes += whole_pages(calls, entry->args[1]);
	if (kind == HQ_TRACED_PROCESS_MADVISE && gives_back(entry->args[3]))
		seen->advised_bytes += (uint64_t)result;
	seen->unmapped_bytes += whole_pages(calls, unmapped(calls, kind, entry, result));
}

static void pair(struct hq_calls *calls, const struct hq_call_end *entry,
		 const struct hq_call_end *exit, struct hq_calls_seen *seen)
{
	const enum hq_traced kind = kind_of(entry->number);
	const uint64_t took_ns = exit->time_ns - entry->time_ns;

	if (kind == HQ_TRACED_COUNT)
		return;
	count(&seen->kinds[kind], took_ns);
	if (kind == HQ_TRACED_FUTEX && waited(entry, exit->result))
		count(&seen->waits, took_ns);
	add_bytes(calls, kind, entry, exit->result, seen);
}

/* NULL: more threads at a time than there is room for. */
static struct hq_calls_thread *thread_of(struct hq_calls *calls, uint32_t thread)
{
	for (uint32_t i = 0; i < HQ_CALLS_THREADS; i++) {
		struct hq_calls_thread *one =
			&calls->threads[(thread + i) & (HQ_CALLS_THREADS - 1)];

		if (one->thread == thread)
			return one;
		if (one->thread == 0) {
			one->thread = thread;
			return one;
		}
	}
	return NULL;
}

static bool belong(const struct hq_call_end *entry, const struct hq_call_end *exit)
{
	return entry->number == exit->number && entry->time_ns <= exit->time_ns;
}

void hq_calls_enter(struct hq_calls *calls, const struct hq_call_end *entry,
		    struct hq_calls_seen *seen)
{
	struct hq_calls_thread *one = thread_of(calls, entry->thread);

	if (!one) {
		seen->lost++;
		return;
	}
	if (one->has_exit && belong(entry, &one->exit)) {
		one->has_exit = false;
		pair(calls, entry, &one->exit, seen);
		return;
	}
	one->entry = *entry;
	one->has_entry = true;
}

void hq_calls_exit(struct hq_calls *calls, const struct hq_call_end *exit,
		   struct hq_calls_seen *seen)
{
	struct hq_calls_thread *one = thread_of(calls, exit->thread);

	if (!one)
		return;
	if (one->has_entry && belong(&one->entry, exit)) {
		one->has_entry = false;
		pair(calls, &one->entry, exit, seen);
		return;
	}
	one->exit = *exit;
	one->has_exit = true;
}
