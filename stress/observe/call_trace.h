/* SPDX-License-Identifier: MIT */
/*
 * Where the calls of calls.h come from: the tracepoints raw_syscalls:sys_enter and sys_exit of the
 * target with all that it starts, by perf_event_open, filtered in the kernel to the calls of
 * interest, one ring of records a processor. Calls that a fault answered are not seen: the kernel
 * was never asked.
 */
#ifndef HQ_STRESS_OBSERVE_CALL_TRACE_H
#define HQ_STRESS_OBSERVE_CALL_TRACE_H

#include <sys/types.h>

#include "stress/observe/observation.h"

struct hq_call_trace;

/* For a process that waits to exec; nothing is traced yet. 0 or -errno; NULL then. */
int hq_call_trace_open(pid_t pid, struct hq_call_trace **trace);
void hq_call_trace_start(struct hq_call_trace *trace);

/* Takes what was written since; every few milliseconds, or records are lost (and counted). */
void hq_call_trace_drain(struct hq_call_trace *trace, struct hq_calls_seen *seen);

/* The last drain; gives back what was taken. */
void hq_call_trace_close(struct hq_call_trace *trace, struct hq_calls_seen *seen);

/* Why calls cannot be traced here, for a person. */
const char *hq_call_trace_why(int status);

#endif
