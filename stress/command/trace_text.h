/* SPDX-License-Identifier: MIT */
/*
 * What there is to say about a trace, for a person.
 */
#ifndef HQ_STRESS_COMMAND_TRACE_TEXT_H
#define HQ_STRESS_COMMAND_TRACE_TEXT_H

#include <stdio.h>

#include "stress/control/record.h"

/* Reads a trace to its end. 0, or -errno with a sentence that names the file and the place. */
int hq_trace_check_file(const char *path, struct hq_trace_info *info, struct hq_error *error);

void hq_trace_tell_file(const char *path, const struct hq_trace_info *info, FILE *stream);

/* A recording, with what was lost and repaired, and what to do if there is nothing in it. */
void hq_trace_tell_outcome(const struct hq_record_outcome *outcome, const char *path, FILE *stream);

#endif
