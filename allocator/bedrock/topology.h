/* SPDX-License-Identifier: MIT */
/*
 * Which CPUs are hyper-threads of one core, as the kernel tells in sysfs.
 */
#ifndef BEDROCK_TOPOLOGY_H
#define BEDROCK_TOPOLOGY_H

#include <stdint.h>

/* CPUs beyond this many count as a core each. */
#define BEDROCK_TOPOLOGY_CPUS 512u

/* core_of[cpu] < core_count for every cpu < cpu_count; cores are numbered in the order of CPUs. */
struct bedrock_topology {
	uint32_t cpu_count;
	uint32_t core_count;
	uint16_t core_of[BEDROCK_TOPOLOGY_CPUS];
};

/* Learn it. -> 0, or -errno: nothing was learnt, and cpu_count is 0. */
int bedrock_topology_read(struct bedrock_topology *topology);

/* The core of a CPU, or the CPU's own number if that is not known. */
static inline uint32_t bedrock_topology_core(const struct bedrock_topology *topology, uint32_t cpu)
{
	return cpu < topology->cpu_count ? topology->core_of[cpu] : cpu;
}

#endif
