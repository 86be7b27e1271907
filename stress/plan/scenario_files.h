/* SPDX-License-Identifier: MIT */
/*
 * From the arguments of a command to scenario files: files, folders (searched for *.yaml), and bare
 * names, which are looked up in the folder of scenarios.
 */
#ifndef HQ_STRESS_PLAN_SCENARIO_FILES_H
#define HQ_STRESS_PLAN_SCENARIO_FILES_H

#include "injectors/error.h"

/*
 * The files, NULL-terminated, in the order of `words` and sorted inside each folder. Without words:
 * all of the folder of scenarios, ./scenarios or the one beside the build folder of `program`.
 * 0, or -errno with a sentence.
 */
int hq_scenario_files_find(char *const *words, const char *program, char ***files,
			   struct hq_error *error);

#endif
