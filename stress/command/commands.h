/* SPDX-License-Identifier: MIT */
/*
 * What each command does; one file each. They return the exit status.
 */
#ifndef HQ_STRESS_COMMAND_COMMANDS_H
#define HQ_STRESS_COMMAND_COMMANDS_H

#include "stress/command/program_options.h"

int hq_command_run(struct hq_invocation *invocation);
int hq_command_compare(struct hq_invocation *invocation);
int hq_command_sweep(struct hq_invocation *invocation);
int hq_command_replay(struct hq_invocation *invocation);
int hq_command_record(struct hq_invocation *invocation);
int hq_command_report(struct hq_invocation *invocation);
int hq_command_list(struct hq_invocation *invocation);
int hq_command_explain(struct hq_invocation *invocation);
int hq_command_plan(struct hq_invocation *invocation);
int hq_command_selftest(struct hq_invocation *invocation);
int hq_command_doctor(struct hq_invocation *invocation);

#endif
