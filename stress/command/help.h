/* SPDX-License-Identifier: MIT */
/*
 * Help texts, generated from the tables of commands and options.
 */
#ifndef HQ_STRESS_COMMAND_HELP_H
#define HQ_STRESS_COMMAND_HELP_H

#include <stdio.h>

#include "stress/command/program_options.h"

/* What `heapquake` alone says: fifteen lines. */
void hq_help_brief(FILE *stream);

/* `heapquake --help`: commands, every option, exit statuses. */
void hq_help_full(FILE *stream);

/* `heapquake COMMAND --help`. */
void hq_help_command(const struct hq_command *command, FILE *stream);

/* The table of exit statuses, also for explain. */
void hq_help_exit_statuses(FILE *stream);

#endif
