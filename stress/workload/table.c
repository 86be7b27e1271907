/* SPDX-License-Identifier: MIT */
/*
 * The built-in workloads, sorted by name. A new one is a file of its own and a row here.
 */
#include "stress/workload/table.h"

#include <string.h>

/* clang-format off */
const struct hq_workload *const hq_workloads[] = {
	&hq_workload_aligned,
	&hq_workload_calloc_mix,
	&hq_workload_churn,
	&hq_workload_edges,
	&hq_workload_exhaust,
	&hq_workload_fork,
	&hq_workload_growth,
	&hq_workload_holes,
	&hq_workload_huge_blocks,
	&hq_workload_idle_decay,
	&hq_workload_insert_scan,
	&hq_workload_larson,
	&hq_workload_limited_server,
	&hq_workload_memtable,
	&hq_workload_none,
	&hq_workload_producer_consumer,
	&hq_workload_query_mix,
	&hq_workload_rpc,
	&hq_workload_sawtooth,
	&hq_workload_signals,
	&hq_workload_size_classes,
	&hq_workload_staircase,
	&hq_workload_thread_hop,
	&hq_workload_thread_lives,
	&hq_workload_trace,
	NULL,
};
/* clang-format on */

const struct hq_workload *hq_workload_find(const char *name)
{
	for (size_t i = 0; hq_workloads[i] != NULL; i++) {
		if (strcmp(hq_workloads[i]->name, name) == 0)
			return hq_workloads[i];
	}
	return NULL;
}
