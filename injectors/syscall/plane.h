/* SPDX-License-Identifier: MIT */
/*
 * The shared state of the kernel plane: rules, gate, and what each thread of the target met.
 *
 * It is part of the memory that controller and target share, holds no pointer and no lock, and
 * every word has one writer:
 *
 *   controller   seed, rules, rule_count, gate, gate_open_ns, and the tails of the rings
 *   decider      everything in a thread's slot: under the trap that thread itself (in its signal
 *                handler), under notification the supervisor
 *   any process  `claimed` and `unarmed`, by fetch-and-add, and `faulted_until`, which only rises
 *                while the gate is open: the only words with several writers
 */
#ifndef HQ_INJECTORS_SYSCALL_PLANE_H
#define HQ_INJECTORS_SYSCALL_PLANE_H

#include <stdint.h>

#include "injectors/atomic.h"
#include "injectors/ring.h"
#include "injectors/rule.h"

#define HQ_PLANE_THREADS 256
#define HQ_PLANE_FAULTS  512

/* One fault that was made. */
struct hq_fault {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t n;       /* the n-th matching call of the thread */
	/* The first three raw arguments; of process_madvise the advice instead of the third. */
	uint64_t args[3];
	int64_t result; /* what the caller was told */
	uint32_t rule;  /* index into the rules */
	uint32_t call;  /* enum hq_call */
};

struct hq_plane_count {
	_Atomic uint64_t seen;
	_Atomic uint64_t eligible;
	_Atomic uint64_t fired;
};

struct hq_plane_thread {
	_Atomic uint64_t key; /* 0 until the slot is whole; see hq_thread_key */
	_Atomic uint32_t tid;
	_Atomic uint32_t process;    /* tgid */
	_Atomic uint32_t children;   /* threads and processes started so far by this thread */
	_Atomic uint32_t first_come; /* 1: identity by order of arrival, not by parentage */
	_Atomic uint32_t exited;
	uint32_t reserved;
	struct hq_plane_count counts[HQ_RULES_MAX];
	struct hq_ring ring;
	struct hq_fault faults[HQ_PLANE_FAULTS];
};

struct hq_plane {
	uint64_t seed;
	uint32_t rule_count;
	_Atomic uint32_t gate;         /* 1: faults may be made */
	_Atomic uint64_t gate_open_ns; /* CLOCK_MONOTONIC, written before the gate opens */
	uint64_t ns_per_tick;          /* time stamp counter, 32.32 fixed point; 0: use the clock */
	_Atomic uint64_t faulted_until; /* ticks: what begins earlier belongs to a fault; wake.h */
	struct hq_rule rules[HQ_RULES_MAX];
	_Atomic uint32_t claimed; /* slots handed out; may exceed HQ_PLANE_THREADS */
	_Atomic uint32_t armed;   /* target: 1 once the filter is installed */
	int32_t arm_error;        /* target: -errno if it could not be installed */
	_Atomic uint32_t unarmed; /* processes in which it could not be installed */
	struct hq_plane_thread threads[HQ_PLANE_THREADS];
};

#endif
