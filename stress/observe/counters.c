/* SPDX-License-Identifier: MIT */
/*
 * One event for each counter, and no groups: the kernel does not sum a group over the children of
 * a process. Where there are more events than the processor has counters, each runs for a share of
 * the time, which the kernel tells, and its count is scaled.
 *
 * A kernel that lets us count user code only is taken at its word where that still is the same
 * thing; a move or a page fault happens in the kernel, and counted so would be 0.
 */
#include "stress/observe/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CACHE_READ_MISS(cache)                                                                     \
	((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct counter {
	const char *metric;
	uint32_t type;
	uint32_t config;
	bool of_kernel; /* what it counts happens in the kernel */
} table[HQ_COUNTER_COUNT] = {
	[HQ_COUNTER_BRANCH_MISSES] = { "hardware.branch_misses", PERF_TYPE_HARDWARE,
				       PERF_COUNT_HW_BRANCH_MISSES, false },
	[HQ_COUNTER_BRANCHES] = { "hardware.branches", PERF_TYPE_HARDWARE,
				  PERF_COUNT_HW_BRANCH_INSTRUCTIONS, false },
	[HQ_COUNTER_BUS_CYCLES] = { "hardware.bus_cycles", PERF_TYPE_HARDWARE,
				    PERF_COUNT_HW_BUS_CYCLES, false },
	[HQ_COUNTER_CACHE_MISSES] = { "hardware.cache_misses", PERF_TYPE_HARDWARE,
				      PERF_COUNT_HW_CACHE_MISSES, false },
	[HQ_COUNTER_CACHE_REFERENCES] = { "hardware.cache_references", PERF_TYPE_HARDWARE,
					  PERF_COUNT_HW_CACHE_REFERENCES, false },
	[HQ_COUNTER_CYCLES] = { "hardware.cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES,
				false },
	[HQ_COUNTER_DTLB_MISSES] = { "hardware.dtlb_misses", PERF_TYPE_HW_CACHE,
				     CACHE_READ_MISS(PERF_COUNT_HW_CACHE_DTLB), false },
	[HQ_COUNTER_INSTRUCTIONS] = { "hardware.instructions", PERF_TYPE_HARDWARE,
				      PERF_COUNT_HW_INSTRUCTIONS, false },
	[HQ_COUNTER_ITLB_MISSES] = { "hardware.itlb_misses", PERF_TYPE_HW_CACHE,
				     CACHE_READ_MISS(PERF_COUNT_HW_CACHE_ITLB), false },
	[HQ_COUNTER_CONTEXT_SWITCHES] = { "perf.context_switches", PERF_TYPE_SOFTWARE,
					  PERF_COUNT_SW_CONTEXT_SWITCHES, true },
	[HQ_COUNTER_CPU_MIGRATIONS] = { "perf.cpu_migrations", PERF_TYPE_SOFTWARE,
					PERF_COUNT_SW_CPU_MIGRATIONS, true },
	[HQ_COUNTER_MAJOR_FAULTS] = { "perf.major_faults", PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS_MAJ, true },
	[HQ_COUNTER_MINOR_FAULTS] = { "perf.minor_faults", PERF_TYPE_SOFTWARE,
				      PERF_COUNT_SW_PAGE_FAULTS_MIN, true },
	[HQ_COUNTER_TASK_CLOCK] = { "perf.task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK,
				    false },
};

const char *hq_counter_metric(enum hq_counter counter)
{
	return table[counter].metric;
}

bool hq_counter_is_hardware(enum hq_counter counter)
{
	return table[counter].type != PERF_TYPE_SOFTWARE;
}

enum hq_counter hq_counter_find(const char *metric)
{
	int counter = 0;

	while (counter < HQ_COUNTER_COUNT && strcmp(table[counter].metric, metric))
		counter++;
	return (enum hq_counter)counter;
}

static int open_event(const struct counter *counter, pid_t pid, bool user_only)
{
	struct perf_event_attr attributes = {
		.type = counter->type,
		.size = sizeof(attributes),
		.config = counter->config,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.exclude_kernel = user_only,
		.exclude_hv = 1,
	};
	const long fd = syscall(SYS_perf_event_open, &attributes, pid, -1, -1,
				(unsigned long)PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static struct hq_counter_slot open_slot(enum hq_counter counter, pid_t pid)
{
	struct hq_counter_slot slot = { 0 };
	int result = open_event(&table[counter], pid, false);

	if ((result == -EACCES || result == -EPERM) && !table[counter].of_kernel) {
		/* Time passes in the kernel as well, whatever is excluded. */
		slot.user_only = hq_counter_is_hardware(counter);
		result = open_event(&table[counter], pid, true);
	}
	slot.fd = result < 0 ? -1 : result;
	slot.status = result < 0 ? result : 0;
	return slot;
}

void hq_counters_open(pid_t pid, struct hq_counters *counters)
{
	for (int i = 0; i < HQ_COUNTER_COUNT; i++)
		counters->slots[i] = open_slot((enum hq_counter)i, pid);
	counters->opened = true;
}

struct hq_counted hq_counter_scale(uint64_t value, uint64_t enabled_ns, uint64_t running_ns)
{
	if (running_ns == 0)
		return (struct hq_counted){ .status = -EBUSY };
	/* The kernel reads the two times one after the other. */
	const double share =
		running_ns < enabled_ns ? (double)running_ns / (double)enabled_ns : 1.0;

	return (struct hq_counted){ .known = true,
				    .value = share < 1.0 ? (double)value / share : (double)value,
				    .running = share };
}

static struct hq_counted read_slot(const struct hq_counter_slot *slot)
{
	struct {
		uint64_t value, enabled_ns, running_ns;
	} counts;

	if (slot->fd < 0)
		return (struct hq_counted){ .status = slot->status };
	if (read(slot->fd, &counts, sizeof(counts)) != (ssize_t)sizeof(counts))
		return (struct hq_counted){ .status = -EIO };
	struct hq_counted counted =
		hq_counter_scale(counts.value, counts.enabled_ns, counts.running_ns);

	counted.user_only = slot->user_only;
	return counted;
}

void hq_counters_finish(struct hq_counters *counters, struct hq_observations *seen)
{
	for (int i = 0; counters->opened && i < HQ_COUNTER_COUNT; i++) {
		struct hq_counter_slot *slot = &counters->slots[i];

		seen->counted[i] = read_slot(slot);
		if (slot->fd >= 0)
			close(slot->fd);
	}
	counters->opened = false;
}

int hq_counter_probe(enum hq_counter counter)
{
	const struct hq_counter_slot slot = open_slot(counter, 0);

	if (slot.fd < 0)
		return slot.status;
	close(slot.fd);
	return slot.user_only;
}

const char *hq_counter_why(int status)
{
	switch (-status) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case EINVAL:
		return "this processor, or what it is virtualised by, does not count it";
	case EACCES:
	case EPERM:
		return "perf_event_open is forbidden; sysctl kernel.perf_event_paranoid=1 or less, "
		       "and a container that allows it";
	case ENOSYS:
		return "this kernel has no perf_event_open, or a filter hides it";
	case EMFILE:
	case ENFILE:
		return "no descriptor was left for it; ulimit -n";
	case EBUSY:
		return "it never came onto the processor's counters";
	default:
		return strerror(-status);
	}
}
