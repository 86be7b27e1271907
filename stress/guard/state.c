/* SPDX-License-Identifier: MIT */
/*
 * All variables of the guard: one struct for the process, one for each thread. The thread's is
 * initial-exec (see the Makefile), so that reading it never allocates.
 */
#include "stress/guard/guard.h"

struct hq_guard hq_guard;
__thread struct hq_guard_self hq_guard_self;
