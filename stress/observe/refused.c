/* SPDX-License-Identifier: MIT */
/*
 * Ranges of refused munmap and madvise calls, joined where they overlap, against /proc/PID/pagemap.
 * Only the entries' flags are looked at, which needs no privilege.
 */
#include "stress/observe/refused.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/rule.h"

#define ENTRIES_READ  8192u        /* of pagemap, at a time */
#define READS_MAX     4096u        /* of that many entries: some 100 GiB, or small ranges */
#define PAGE_PRESENT  (1ull << 63) /* Documentation/admin-guide/mm/pagemap.rst */
#define PAGE_SWAPPED  (1ull << 62)
#define PAGE_NOT_ANON (1ull << 61) /* of a file, or shared */
#define LAST_ERRNO    4095

struct pages {
	int fd;
	uint64_t size; /* of one */
	uint64_t reads_left;
	uint64_t *entries;
};

static bool gives_back(const struct hq_fault *fault)
{
	if (fault->result >= 0 || fault->result < -LAST_ERRNO)
		return false;
	return fault->call == HQ_CALL_MUNMAP || hq_fault_is_purge_of_range(fault);
}

/* The whole pages of a call; false for what is no range at all. */
static bool range_of(const struct hq_fault *fault, uint64_t page, struct hq_refused_range *range)
{
	const uint64_t start = fault->args[0];
	const uint64_t bytes = (fault->args[1] + page - 1) & -page;

	if (start % page || !bytes || start + bytes < start)
		return false;
	*range = (struct hq_refused_range){
		.address = start, .bytes = bytes, .last_ns = fault->time_ns, .call = fault->call
	};
	return true;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct hq_refused_range *const left = a, *const right = b;

	return (left->address > right->address) - (left->address < right->address);
}

/* Joins what overlaps; the later call gives the name. Returns how many are left. */
static size_t join(struct hq_refused_range *ranges, size_t count)
{
	size_t last = 0;

	for (size_t i = 1; i < count; i++) {
		struct hq_refused_range *const before = &ranges[last];
		const uint64_t end = before->address + before->bytes;

		if (ranges[i].address >= end) {
			ranges[++last] = ranges[i];
			continue;
		}
		if (ranges[i].address + ranges[i].bytes > end)
			before->bytes = ranges[i].address + ranges[i].bytes - before->address;
		if (ranges[i].last_ns > before->last_ns) {
			before->last_ns = ranges[i].last_ns;
			before->call = ranges[i].call;
		}
	}
	return count ? last + 1 : 0;
}

static size_t collect(struct hq_observations *seen, uint64_t page, struct hq_refused_range *ranges)
{
	size_t count = 0;

	for (size_t i = 0; i < seen->fault_count; i++) {
		const struct hq_fault *const fault = &seen->faults[i].fault;

		if (!gives_back(fault))
			continue;
		seen->refused.calls++;
		count += range_of(fault, page, &ranges[count]);
	}
	qsort(ranges, count, sizeof(ranges[0]), compare_addresses);
	return join(ranges, count);
}

static bool is_resident(uint64_t entry)
{
	return (entry & (PAGE_PRESENT | PAGE_SWAPPED)) && !(entry & PAGE_NOT_ANON);
}

/* False when the kernel does not let us, or the target is gone. */
static bool count_pages(struct pages *pages, struct hq_refused_range *range,
			struct hq_refused *refused)
{
	uint64_t at = range->address / pages->size;
	uint64_t rest = range->bytes / pages->size;

	for (; rest && pages->reads_left; pages->reads_left--) {
		const uint64_t want = rest < ENTRIES_READ ? rest : ENTRIES_READ;
		const ssize_t got = pread(pages->fd, pages->entries, want * sizeof(uint64_t),
					  (off_t)(at * sizeof(uint64_t)));
		const uint64_t count = got > 0 ? (uint64_t)got / sizeof(uint64_t) : 0;

		if (got < 0)
			return false;
		/* Beyond the end of user addresses there is nothing. */
		if (!count)
			return true;
		for (uint64_t i = 0; i < count; i++)
			range->resident_bytes += is_resident(pages->entries[i]) ? pages->size : 0;
		at += count;
		rest -= count;
	}
	refused->bytes_unread += rest * pages->size;
	return true;
}

static void keep_worst(const struct hq_refused_range *range, struct hq_refused *refused)
{
	struct hq_refused_range *least = &refused->worst[0];

	for (size_t i = 1; i < HQ_REFUSED_SHOWN; i++)
		if (refused->worst[i].resident_bytes < least->resident_bytes)
			least = &refused->worst[i];
	if (range->resident_bytes > least->resident_bytes)
		*least = *range;
}

static bool count_ranges(struct pages *pages, struct hq_refused_range *ranges, size_t count,
			 struct hq_refused *refused)
{
	for (size_t i = 0; i < count; i++) {
		if (!count_pages(pages, &ranges[i], refused))
			return false;
		refused->ranges++;
		refused->bytes += ranges[i].bytes;
		refused->resident_bytes += ranges[i].resident_bytes;
		keep_worst(&ranges[i], refused);
	}
	return true;
}

void hq_refused_read(pid_t target, struct hq_observations *seen)
{
	struct pages pages = { .size = (uint64_t)sysconf(_SC_PAGESIZE), .reads_left = READS_MAX };
	struct hq_refused_range *const ranges = calloc(seen->fault_count + 1, sizeof(*ranges));
	char path[48];

	seen->refused = (struct hq_refused){ .was_read = false };
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)target);
	pages.fd = open(path, O_RDONLY | O_CLOEXEC);
	pages.entries = malloc(ENTRIES_READ * sizeof(pages.entries[0]));
	if (ranges && pages.entries && pages.fd >= 0)
		seen->refused.was_read = count_ranges(
			&pages, ranges, collect(seen, pages.size, ranges), &seen->refused);
	if (pages.fd >= 0)
		close(pages.fd);
	free(pages.entries);
	free(ranges);
}
