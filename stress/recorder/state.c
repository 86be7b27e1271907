/* SPDX-License-Identifier: MIT */
/*
 * All variables of the recorder: one struct for the process, one for each thread. The thread's is
 * initial-exec (see the Makefile), so that reading it never allocates.
 */
#include "stress/recorder/recorder.h"

struct hq_recorder hq_recorder;
__thread struct hq_recorder_self hq_recorder_self;
