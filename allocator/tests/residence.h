/* SPDX-License-Identifier: MIT */
/*
 * What the kernel holds in memory of all mappings that the allocator has made.
 *
 * residence_install puts stand-ins behind the calls that map and unmap; they keep a list of the
 * ranges that are mapped now. residence_bytes asks mincore about each of them, while nobody maps
 * or unmaps. It knows nothing of the allocator's own figures. Calls are counted.
 */
#ifndef BEDROCK_TESTS_RESIDENCE_H
#define BEDROCK_TESTS_RESIDENCE_H

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/os.h"

#define RESIDENCE_RANGES_MAX 4096
#define RESIDENCE_LOOK_PAGES 4096
/* Nothing else is mapped in pieces as small as those of the map of live blocks. */
#define RESIDENCE_LIVE_PIECE_BYTES ((size_t)64 << 10)

struct residence_range {
	char *start;
	char *end;
};

struct residence {
	pthread_mutex_t lock;
	unsigned range_count;
	struct residence_range ranges[RESIDENCE_RANGES_MAX];
	atomic_uint calls;
	/* madvise claims success and does nothing, or is refused with this errno. */
	atomic_bool is_lying;
	atomic_int error;
	/* How often madvise has done each, and munmap was refused with unmap_error. */
	atomic_uint lies;
	atomic_uint refusals;
	atomic_uint unmap_refusals;
	atomic_int unmap_error;
};

static struct residence residence = { .lock = PTHREAD_MUTEX_INITIALIZER };

static inline void residence_add(char *start, char *end)
{
	if (start == end)
		return;
	if (residence.range_count == RESIDENCE_RANGES_MAX)
		abort();
	residence.ranges[residence.range_count++] = (struct residence_range){ start, end };
}

/* Take [start, end) out of all ranges; what is left of one is added anew. */
static inline void residence_remove(char *start, char *end)
{
	for (unsigned i = 0; i < residence.range_count; i++) {
		struct residence_range range = residence.ranges[i];

		if (range.end <= start || range.start >= end)
			continue;
		residence.ranges[i--] = residence.ranges[--residence.range_count];
		if (range.start < start)
			residence_add(range.start, start);
		if (range.end > end)
			residence_add(end, range.end);
	}
}

/* The map of live blocks that a build for debugging has is not held against any limit. */
static inline bool residence_is_held(size_t bytes)
{
	return BEDROCK_DEBUG < 3 || bytes > RESIDENCE_LIVE_PIECE_BYTES;
}

static inline void *residence_mmap(void *address, size_t bytes, int protection, int flags, int fd,
				   off_t at)
{
	pthread_mutex_lock(&residence.lock);
	residence.calls++;
	char *start = mmap(address, bytes, protection, flags, fd, at);

	if (start != MAP_FAILED && residence_is_held(bytes))
		residence_add(start, start + bytes);
	pthread_mutex_unlock(&residence.lock);
	return start;
}

static inline int residence_munmap(void *address, size_t bytes)
{
	pthread_mutex_lock(&residence.lock);
	residence.calls++;
	int error = residence.unmap_error;
	int rc = error ? -1 : munmap(address, bytes);

	if (rc == 0)
		residence_remove(address, (char *)address + bytes);
	if (error) {
		residence.unmap_refusals++;
		errno = error;
	}
	pthread_mutex_unlock(&residence.lock);
	return rc;
}

static inline void *residence_mremap(void *address, size_t old_bytes, size_t new_bytes, int flags,
				     ...)
{
	va_list arguments;
	void *target = NULL;

	va_start(arguments, flags);
	if (flags & MREMAP_FIXED)
		target = va_arg(arguments, void *);
	va_end(arguments);
	pthread_mutex_lock(&residence.lock);
	residence.calls++;
	char *start = mremap(address, old_bytes, new_bytes, flags, target);

	if (start != MAP_FAILED) {
		residence_remove(address, (char *)address + old_bytes);
		residence_remove(start, start + new_bytes);
		residence_add(start, start + new_bytes);
	}
	pthread_mutex_unlock(&residence.lock);
	return start;
}

static inline int residence_madvise(void *address, size_t bytes, int advice)
{
	residence.calls++;
	int error = residence.error;

	if (residence.is_lying) {
		residence.lies++;
		return 0;
	}
	if (error) {
		residence.refusals++;
		errno = error;
		return -1;
	}
	return madvise(address, bytes, advice);
}

static inline ssize_t residence_process_madvise(int process, const struct iovec *ranges,
						size_t count, int advice, unsigned flags)
{
	ssize_t bytes = 0;

	(void)process, (void)flags;
	for (size_t i = 0; i < count; i++) {
		if (residence_madvise(ranges[i].iov_base, ranges[i].iov_len, advice))
			return bytes > 0 ? bytes : -1;
		bytes += (ssize_t)ranges[i].iov_len;
	}
	return bytes;
}

static inline int residence_mincore(void *address, size_t bytes, unsigned char *resident)
{
	residence.calls++;
	return mincore(address, bytes, resident);
}

static inline void residence_install(void)
{
	bedrock_os_table.mmap = residence_mmap;
	bedrock_os_table.munmap = residence_munmap;
	bedrock_os_table.mremap = residence_mremap;
	bedrock_os_table.madvise = residence_madvise;
	bedrock_os_table.process_madvise = residence_process_madvise;
	bedrock_os_table.mincore = residence_mincore;
}

static inline uint64_t residence_of(char *start, char *end)
{
	static unsigned char resident[RESIDENCE_LOOK_PAGES];
	size_t page_bytes = bedrock_os_page_bytes();
	uint64_t pages = 0;

	while (start < end) {
		size_t left = (size_t)(end - start) / page_bytes;
		size_t count = left < RESIDENCE_LOOK_PAGES ? left : RESIDENCE_LOOK_PAGES;

		if (mincore(start, count * page_bytes, resident))
			abort();
		for (size_t i = 0; i < count; i++)
			pages += resident[i] & 1;
		start += count * page_bytes;
	}
	return pages * page_bytes;
}

static inline uint64_t residence_bytes(void)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&residence.lock);
	for (unsigned i = 0; i < residence.range_count; i++)
		bytes += residence_of(residence.ranges[i].start, residence.ranges[i].end);
	pthread_mutex_unlock(&residence.lock);
	return bytes;
}

#endif
