/* SPDX-License-Identifier: MIT */
/*
 * The steps that all threads of the host take together. The main thread opens a phase, the workers
 * do its work and arrive, the main thread gathers them. Futexes by own system calls: nothing here
 * passes through libc, where a fault could hit it.
 */
#ifndef HQ_STRESS_HOST_PHASE_H
#define HQ_STRESS_HOST_PHASE_H

#include <stdbool.h>
#include <stdint.h>

enum hq_phase { HQ_PHASE_START, HQ_PHASE_RUN, HQ_PHASE_RELEASE };

struct hq_phases {
	_Atomic uint32_t open;    /* enum hq_phase; the main thread writes it */
	_Atomic uint32_t arrived; /* workers that finished a phase, counted over all phases */
};

void hq_phase_open(struct hq_phases *phases, enum hq_phase phase);
void hq_phase_await(struct hq_phases *phases, enum hq_phase phase);
void hq_phase_arrive(struct hq_phases *phases);

/* True once `count` arrivals were made in all; else after `patience_ns` at the latest, or earlier.
 */
bool hq_phase_wait(struct hq_phases *phases, uint32_t count, uint64_t patience_ns);

/* Waits until `count` arrivals were made in all. False once `hopeless` says so. */
bool hq_phase_gather(struct hq_phases *phases, uint32_t count, bool (*hopeless)(void));

#endif
