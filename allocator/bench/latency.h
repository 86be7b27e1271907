/* SPDX-License-Identifier: MIT */
/*
 * Calls of malloc and free with the time that each has taken, and the quantiles of those times.
 *
 * Each thread has its own histograms, 32 steps per doubling, and hands them in at its end. Times
 * are of the CPU's counter; its speed is learnt over the whole run.
 */
#ifndef BENCH_LATENCY_H
#define BENCH_LATENCY_H

#include <stddef.h>

void latency_begin(void);

/* malloc and free, timed. A benchmark that runs out of memory has no result: it exits. */
void *latency_malloc(size_t bytes);
void latency_free(void *block);

/* The thread has waited for its own reasons. */
void latency_excuse(void);

/* The calling thread has made its last call. */
void latency_submit(void);

/* All threads have: names and values on stdout, as in measure.c. */
void latency_print(void);

#endif
