/* SPDX-License-Identifier: MIT */
/*
 * The schedule of faults that a run left in its folder: which rule hit the how-manieth call of
 * which thread. Times and addresses are left out, since they differ between two runs that are the
 * same.
 */
#ifndef HQ_STRESS_PLAN_SCHEDULE_H
#define HQ_STRESS_PLAN_SCHEDULE_H

#include <stddef.h>

#include "injectors/error.h"

struct hq_schedule {
	char **faults; /* "thread rule n call", sorted */
	size_t count;
};

/* Reads faults.jsonl of the folder. 0, or -errno with a sentence; clear it in either case. */
int hq_schedule_read(const char *folder, struct hq_schedule *schedule, struct hq_error *error);
void hq_schedule_clear(struct hq_schedule *schedule);

struct hq_schedule_difference {
	size_t common, only_in_a, only_in_b;
	const char *first_only_in_a, *first_only_in_b; /* point into the schedules; NULL: none */
};

struct hq_schedule_difference hq_schedule_compare(const struct hq_schedule *a,
						  const struct hq_schedule *b);

/* The verdict that verdict.json of the folder holds. 0, or -errno with a sentence. */
int hq_schedule_read_verdict(const char *folder, char *verdict, size_t size,
			     struct hq_error *error);

#endif
