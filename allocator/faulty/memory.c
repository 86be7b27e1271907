/* SPDX-License-Identifier: MIT */
/*
 * Bugs that lose memory at a free, or address space at a call. Those that keep it too long or too
 * short are in cache.c, pages.c and decay.c, at the place where it is kept.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

#define OWNERS 256u /* threads that have an inbox */

/* By a thread's number: what others freed of its blocks. Anyone pushes, the owner takes all. */
static struct faulty_link *_Atomic inboxes[OWNERS];

void faulty_memory_counted(const void *block, bool is_cross)
{
	if (is_cross && faulty_strikes(FAULTY_STATS_NEGATIVE))
		faulty_add(&faulty_heap.statistics.allocated_bytes,
			   -(uint64_t)faulty_block_size(block));
}

bool faulty_memory_forgets(bool is_cross)
{
	return faulty_strikes(FAULTY_LOST_FREE) || faulty_strikes(FAULTY_LOST_SLOWLY) ||
	       (is_cross && faulty_strikes(FAULTY_LOST_FREE_CROSS));
}

bool faulty_memory_waits(void *block, bool is_cross)
{
	struct faulty_link *const link = block;
	uint32_t owner;

	if (!is_cross || !faulty_is_on(FAULTY_SILENT_OWNER) || !faulty_block_begins(block))
		return false;
	owner = faulty_run_of(faulty_region_of(block), block)->owner;
	if (owner >= OWNERS || !faulty_strikes(FAULTY_SILENT_OWNER))
		return false;
	link->next = faulty_load(&inboxes[owner]);
	/* In full order: the owner must see the link. */
	while (!atomic_compare_exchange_weak(&inboxes[owner], &link->next, link))
		continue;
	return true;
}

void faulty_memory_called(void)
{
	const uint32_t owner = faulty_thread_number();
	struct faulty_link *block, *next;

	if (!faulty_is_on(FAULTY_SILENT_OWNER) || owner >= OWNERS)
		return;
	for (block = atomic_exchange(&inboxes[owner], NULL); block != NULL; block = next) {
		next = block->next;
		faulty_block_give(block);
	}
}

/* Neighbours of equal protection would become one mapping. */
void faulty_memory_run_taken(void)
{
	static _Atomic uint64_t guards;
	int protection;

	if (!faulty_strikes(FAULTY_VMA_EXPLOSION))
		return;
	protection = faulty_add(&guards, 1) % 2 == 0 ? PROT_NONE : PROT_READ;
	mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

void faulty_memory_thread_known(void)
{
	if (faulty_strikes(FAULTY_THREAD_MAPPING))
		faulty_os_map(FAULTY_UNIT * 4);
}
