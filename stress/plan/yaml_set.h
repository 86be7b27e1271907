/* SPDX-License-Identifier: MIT */
/*
 * Settings by hand on top of a scenario file: "workload.rows=10k" changes the tree before anybody
 * reads it, so a setting can be whatever the file could say, and is checked by the same readers.
 *
 *   SETTING = KEY '=' VALUE       KEY   keys of maps, joined with '.'
 *                                 VALUE as the file would write it; a map or a list in { } or [ ]
 *
 * Short forms: `allocator` and `env.NAME` belong to `target`; below `workload` the workload's own
 * name may be left out; in a list of maps (`inject`) a key finds the item that has it.
 */
#ifndef HQ_STRESS_PLAN_YAML_SET_H
#define HQ_STRESS_PLAN_YAML_SET_H

#include "stress/plan/yaml_node.h"

/* Maps on the way that are missing are made. 0 or -errno with a sentence that names the setting. */
int hq_yaml_set(struct hq_yaml *root, const char *setting, struct hq_error *error);

#endif
