/* SPDX-License-Identifier: MIT */
/*
 * The table of injectors: one row each, sorted by name. Faults of kernel calls are rules (rule.h)
 * and not in here.
 */
#include <string.h>

#include "injectors/builtin.h"

const struct hq_injector *const hq_injectors[] = {
	&hq_injector_address_space_limit,
	&hq_injector_cpu_numbers,
	&hq_injector_memory_limit,
	&hq_injector_migrate,
	&hq_injector_none,
	&hq_injector_signal_storm,
	&hq_injector_stress_ng,
	NULL,
};

const struct hq_injector *hq_injector_find(const char *name)
{
	for (const struct hq_injector *const *one = hq_injectors; *one; one++)
		if (strcmp((*one)->name, name) == 0)
			return *one;
	return NULL;
}
