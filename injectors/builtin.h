/* SPDX-License-Identifier: MIT */
/*
 * The injectors that injectors/table.c lists, and what they share.
 */
#ifndef HQ_INJECTORS_BUILTIN_H
#define HQ_INJECTORS_BUILTIN_H

#include <stdio.h>

#include "injectors/injector.h"

extern const struct hq_injector hq_injector_address_space_limit;
extern const struct hq_injector hq_injector_cpu_numbers;
extern const struct hq_injector hq_injector_memory_limit;
extern const struct hq_injector hq_injector_migrate;
extern const struct hq_injector hq_injector_none;
extern const struct hq_injector hq_injector_signal_storm;
extern const struct hq_injector hq_injector_stress_ng;

/* Writes measure number `count` if there is room for it; returns how many there are now. */
static inline size_t hq_measure_add(struct hq_measure *out, size_t room, size_t count,
				    const char *name, const char *unit, double value)
{
	if (count >= room)
		return count;
	snprintf(out[count].name, sizeof(out[count].name), "%s", name);
	snprintf(out[count].unit, sizeof(out[count].unit), "%s", unit);
	out[count].value = value;
	return count + 1;
}

#endif
