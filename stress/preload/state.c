/* SPDX-License-Identifier: MIT */
/*
 * All variables of the preloaded library: one struct for the process, one for each thread. The
 * thread's is initial-exec (see the Makefile), so that reading it never allocates.
 */
#include "stress/preload/preload.h"

struct hq_preload hq_preload;
__thread struct hq_preload_self hq_preload_self;
