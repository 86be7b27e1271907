/* SPDX-License-Identifier: MIT */
/*
 * Where runs leave their files: results/<time>/<scenario>/<allocator>/<seed>/, and results/latest.
 */
#ifndef HQ_STRESS_CONTROL_FOLDER_H
#define HQ_STRESS_CONTROL_FOLDER_H

#include <stddef.h>

#include "injectors/error.h"
#include "stress/plan/plan.h"

#define HQ_FOLDER_SIZE                                                                             \
	1024 /* of a path that names a folder of results; longer ones are refused                  \
	      */

/* Makes results/<time> (a free name) and points results/latest to it. 0 or -errno with a sentence.
 */
int hq_folder_suite(const char *results, char *folder, size_t size, struct hq_error *error);

/*
 * Makes the folder of one case below it, which no other case has: where two have the same plain
 * name (allocators of one file name), the later one's is numbered. 0 or -errno.
 */
int hq_folder_case(const char *suite_folder, const struct hq_plan *plan, char *folder, size_t size);

/* A private folder under TMPDIR for a run that keeps nothing; hq_folder_remove takes it away again.
 */
int hq_folder_temporary(char *folder, size_t size);
void hq_folder_remove(const char *folder);
/* Removes the private folders of runs that died. */
void hq_folder_sweep(void);

/* Writes a file through `write`, whole or not at all. 0 or -errno. */
int hq_folder_write(const char *folder, const char *name, int (*write)(void *cookie, FILE *stream),
		    void *cookie);

#endif
