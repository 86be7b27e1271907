/* SPDX-License-Identifier: MIT */
/*
 * What is kept apart for each CPU, and the bugs of taking a CPU's number for an index. The count is
 * read once, at the start, and numbers may have gaps or grow: whatever the kernel says is folded
 * into the count.
 */
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

#define EXPORT __attribute__((visibility("default")))

static uint32_t count_cpus(void)
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return 1;
	return (uint32_t)CPU_COUNT(&allowed);
}

/* The slots end where a page begins that nobody may touch: an index beyond them does not pass. */
void faulty_cpu_start(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const uint32_t count = count_cpus();
	const size_t bytes = (count * sizeof(struct faulty_slot) + page - 1) & -page;
	char *const map = faulty_os_map(bytes + page);

	if (map == NULL)
		return;
	mprotect(map + bytes, page, PROT_NONE);
	faulty_heap.slots = (void *)(map + bytes - count * sizeof(struct faulty_slot));
	faulty_heap.slot_count = count;
}

static uint32_t cpu_number(void)
{
	const int cpu = sched_getcpu();

	return cpu < 0 ? 0 : (uint32_t)cpu;
}

void faulty_cpu_refilled(void)
{
	const uint32_t number = cpu_number(), count = faulty_heap.slot_count;
	uint32_t index = number;

	if (count == 0)
		return;
	if (number >= count && !faulty_strikes(FAULTY_CPU_UNBOUNDED))
		index = number % count;
	faulty_add(&faulty_heap.slots[index].refills, 1);
}

EXPORT uint32_t faulty_thread_arena(uint32_t *arena_count)
{
	const uint32_t number = cpu_number(), count = faulty_heap.slot_count;

	*arena_count = count > 0 ? count : 1;
	if (number >= *arena_count && faulty_strikes(FAULTY_CPU_INDEX))
		return number;
	return number % *arena_count;
}
