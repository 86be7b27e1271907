/* SPDX-License-Identifier: MIT */
/*
 * The system calls, through libc as most allocators make them. All keep errno; those who want a
 * reason get it as a result.
 */
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

static void *map_once(size_t bytes)
{
	void *const address =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return address == MAP_FAILED ? NULL : address;
}

void *faulty_os_map(size_t bytes)
{
	const int kept = errno;
	void *address = NULL;

	if (!faulty_errors_map_given_up())
		address = map_once(bytes);
	while (address == NULL && faulty_errors_map_refused())
		address = map_once(bytes);
	if (address == NULL) {
		faulty_add(&faulty_heap.statistics.refused_maps, 1);
	} else {
		faulty_errors_map_worked();
		faulty_add(&faulty_heap.statistics.mapped_bytes, bytes);
	}
	errno = kept;
	return address;
}

int faulty_os_unmap(void *address, size_t bytes)
{
	const int kept = errno;
	int error = 0;

	if (munmap(address, bytes) != 0) {
		error = -errno;
		faulty_add(&faulty_heap.statistics.refused_unmaps, 1);
	} else {
		faulty_add(&faulty_heap.statistics.mapped_bytes, -(uint64_t)bytes);
	}
	errno = kept;
	return error;
}

static int advise(void *address, size_t bytes)
{
	const int advice = faulty_is_on(FAULTY_MUZZY_FOREVER) ? MADV_FREE : MADV_DONTNEED;

	while (madvise(address, bytes, advice) != 0) {
		if (errno == EAGAIN && faulty_is_on(FAULTY_EAGAIN_SPIN) &&
		    faulty_fire(FAULTY_EAGAIN_SPIN))
			continue;
		return -errno;
	}
	if (advice == MADV_FREE)
		faulty_fire(FAULTY_MUZZY_FOREVER);
	return 0;
}

int faulty_os_purge(void *address, size_t bytes)
{
	const int kept = errno;
	/* Pages of the kernel may be larger than a unit: whole ones only. */
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t start = ((uintptr_t)address + page - 1) & -page;
	const uintptr_t last = ((uintptr_t)address + bytes) & -page;
	/* The kernel rounds the length up, so that nothing else is lost. */
	const bool is_odd = start < last && faulty_strikes_anywhere(FAULTY_PURGE_UNALIGNED);
	const uintptr_t end = is_odd ? last - FAULTY_ALIGNMENT : last;
	const int error = start < end ? advise((void *)start, end - start) : 0;

	faulty_add(&faulty_heap.statistics.purges, 1);
	if (error != 0) {
		faulty_errors_purge_refused();
		faulty_add(&faulty_heap.statistics.refused_purges, 1);
	} else {
		faulty_add(&faulty_heap.statistics.purged_bytes, bytes);
	}
	if (error == 0 || !faulty_strikes(FAULTY_ERRNO_PURGE))
		errno = kept;
	return error;
}

uint64_t faulty_os_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
