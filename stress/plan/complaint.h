/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with a scenario file, each with its place. Reading goes on after a complaint, so
 * that one run of heapquake shows them all; the first sixteen are kept.
 */
#ifndef HQ_STRESS_PLAN_COMPLAINT_H
#define HQ_STRESS_PLAN_COMPLAINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stress/plan/yaml_node.h"

#define HQ_COMPLAINTS_MAX 16

struct hq_complaint {
	struct hq_yaml_place place; /* line 0: the file as a whole */
	char text[512];
};

struct hq_complaints {
	char path[256];
	struct hq_complaint list[HQ_COMPLAINTS_MAX];
	size_t count;
	size_t left_out;
};

/* `node` is what the complaint is about; NULL: the file as a whole. */
__attribute__((format(printf, 3, 4))) void
hq_complain(struct hq_complaints *complaints, const struct hq_yaml *node, const char *format, ...);
__attribute__((format(printf, 3, 4))) void hq_complain_at(struct hq_complaints *complaints,
							  struct hq_yaml_place place,
							  const char *format, ...);

/* One line each, in the order of the file: "heapquake: PATH:LINE:COLUMN: TEXT". */
void hq_complaints_print(const struct hq_complaints *complaints, FILE *stream);

#endif
