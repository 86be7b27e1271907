/* SPDX-License-Identifier: MIT */
/*
 * The host process: what it knows of its controller, and the course of a run.
 */
#ifndef HQ_STRESS_HOST_HOST_H
#define HQ_STRESS_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "stress/wire/wire.h"

#define HQ_HOST_EXIT_USAGE  2
#define HQ_HOST_EXIT_FAILED 70 /* EX_SOFTWARE: could not start, or lost its controller */

/* Makes the functions of heap.h that begin with hq_host_ speak of this wire. */
void hq_host_bind(struct hq_wire *wire);

/* The gate is taken to have opened now, unless the controller says when. */
void hq_host_gate_opened(void);

/* True once the process that started us is gone; nobody will read what we find. */
bool hq_host_orphaned(void);

/* The whole course of a run. Returns the exit status. */
int hq_host_run(struct hq_wire *wire);

#endif
