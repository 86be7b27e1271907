/* SPDX-License-Identifier: MIT */
/*
 * What stands in the table of workloads; each is defined in the file of its name.
 */
#ifndef HQ_STRESS_WORKLOAD_TABLE_H
#define HQ_STRESS_WORKLOAD_TABLE_H

#include "stress/workload/workload.h"

extern const struct hq_workload hq_workload_aligned;
extern const struct hq_workload hq_workload_calloc_mix;
extern const struct hq_workload hq_workload_churn;
extern const struct hq_workload hq_workload_edges;
extern const struct hq_workload hq_workload_exhaust;
extern const struct hq_workload hq_workload_fork;
extern const struct hq_workload hq_workload_growth;
extern const struct hq_workload hq_workload_holes;
extern const struct hq_workload hq_workload_huge_blocks;
extern const struct hq_workload hq_workload_idle_decay;
extern const struct hq_workload hq_workload_insert_scan;
extern const struct hq_workload hq_workload_larson;
extern const struct hq_workload hq_workload_limited_server;
extern const struct hq_workload hq_workload_memtable;
extern const struct hq_workload hq_workload_none;
extern const struct hq_workload hq_workload_producer_consumer;
extern const struct hq_workload hq_workload_query_mix;
extern const struct hq_workload hq_workload_rpc;
extern const struct hq_workload hq_workload_sawtooth;
extern const struct hq_workload hq_workload_signals;
extern const struct hq_workload hq_workload_size_classes;
extern const struct hq_workload hq_workload_staircase;
extern const struct hq_workload hq_workload_thread_hop;
extern const struct hq_workload hq_workload_thread_lives;
extern const struct hq_workload hq_workload_trace;

#endif
