/* SPDX-License-Identifier: MIT */
/*
 * Cores as read from a made-up sysfs.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "allocator/bedrock/os.h"
#include "allocator/bedrock/topology.h"

static const char *present;
/* Of each CPU; NULL for one that is offline. */
static const char *siblings[600];
static struct bedrock_topology topology;

/* The descriptor says which file it is: 0 the list of CPUs, else one more than the CPU. */
static int open_stub(const char *path, int flags, ...)
{
	int cpu;

	(void)flags;
	if (strcmp(path, "/sys/devices/system/cpu/present") == 0 && present)
		return 0;
	if (sscanf(path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", &cpu) ==
		    1 &&
	    siblings[cpu])
		return cpu + 1;
	errno = ENOENT;
	return -1;
}

static ssize_t read_stub(int fd, void *out, size_t bytes)
{
	const char *text = fd == 0 ? present : siblings[fd - 1];
	const size_t length = strlen(text) < bytes ? strlen(text) : bytes;

	memcpy(out, text, length);
	return (ssize_t)length;
}

static int close_stub(int fd)
{
	(void)fd;
	return 0;
}

static void setup(void)
{
	bedrock_os_table.open = open_stub;
	bedrock_os_table.read = read_stub;
	bedrock_os_table.close = close_stub;
}

TestSuite(topology, .init = setup);

Test(topology, neighbours_and_distant_hyper_threads_share_a_core)
{
	present = "0-3,5\n";
	siblings[0] = "0,2\n";
	siblings[1] = "1\n";
	siblings[2] = "0,2\n";
	siblings[3] = "3,5\n";
	siblings[5] = "3,5\n";
	cr_assert_eq(bedrock_topology_read(&topology), 0);
	cr_assert_eq(topology.cpu_count, 6);
	cr_assert_eq(bedrock_topology_core(&topology, 2), bedrock_topology_core(&topology, 0));
	cr_assert_eq(bedrock_topology_core(&topology, 5), bedrock_topology_core(&topology, 3));
	cr_assert_neq(bedrock_topology_core(&topology, 1), bedrock_topology_core(&topology, 0));
	/* CPU 4 is offline: a core of its own. */
	cr_assert_eq(topology.core_count, 4);
	cr_assert_eq(bedrock_topology_core(&topology, 77), 77);
}

Test(topology, without_sysfs_nothing_is_learnt)
{
	cr_assert_eq(bedrock_topology_read(&topology), -ENOENT);
	cr_assert_eq(bedrock_topology_core(&topology, 3), 3);
	present = "0-1";
	cr_assert_eq(bedrock_topology_read(&topology), -ENOENT);
	cr_assert_eq(topology.cpu_count, 0);
}

Test(topology, nonsense_and_very_many_cpus_stay_within_the_table)
{
	present = "0-99999,x,-";
	siblings[0] = "7-8";
	siblings[1] = "zero";
	siblings[511] = "0";
	cr_assert_eq(bedrock_topology_read(&topology), 0);
	cr_assert_eq(topology.cpu_count, BEDROCK_TOPOLOGY_CPUS);
	for (uint32_t cpu = 0; cpu < BEDROCK_TOPOLOGY_CPUS; cpu++)
		cr_assert_lt(topology.core_of[cpu], topology.core_count);
	cr_assert_eq(topology.core_of[511], 0);
}
