/* SPDX-License-Identifier: MIT */
/*
 * Ranges that were refused, against the pages of this very process: what is touched counts, what is
 * not, shared or unmapped does not.
 */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/units.h"
#include "stress/observe/refused.h"

#define MEMORY (2 * HQ_MIB)

static struct hq_fault_seen faults[8];
static struct hq_observations seen = { .faults = faults };

/* The test must not find a huge page where it touched a small one. */
static char *map(int flags)
{
	char *const memory =
		mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	madvise(memory, MEMORY, MADV_NOHUGEPAGE);
	return memory;
}

static void touch(char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile char *)memory)[i] = 1;
}

static struct hq_fault *refuse(enum hq_call call, const char *address, size_t bytes)
{
	struct hq_fault *const fault = &faults[seen.fault_count++].fault;

	*fault = (struct hq_fault){ .time_ns = seen.fault_count,
				    .args = { (uintptr_t)address, bytes, MADV_DONTNEED },
				    .result = -12,
				    .call = call };
	return fault;
}

/* Whether the kernel lets us is asked of the kernel, so that a reader that is broken does not skip.
 */
static void read_own(void)
{
	if (access("/proc/self/pagemap", R_OK))
		cr_skip_test("pagemap cannot be read here");
	hq_refused_read(getpid(), &seen);
	cr_assert(seen.refused.was_read);
}

Test(refused, touched_pages_of_a_refused_range_are_resident)
{
	char *const memory = map(MAP_PRIVATE);

	touch(memory, HQ_MIB);
	refuse(HQ_CALL_MUNMAP, memory, MEMORY);
	read_own();
	cr_expect_eq(seen.refused.calls, 1);
	cr_expect_eq(seen.refused.ranges, 1);
	cr_expect_eq(seen.refused.bytes, MEMORY);
	cr_expect_eq(seen.refused.resident_bytes, HQ_MIB);
	cr_expect_eq(seen.refused.worst[0].address, (uintptr_t)memory);
	cr_expect_eq(seen.refused.worst[0].resident_bytes, HQ_MIB);
	cr_expect_eq(seen.refused.bytes_unread, 0);
}

Test(refused, range_that_was_refused_again_and_again_counts_once)
{
	char *const memory = map(MAP_PRIVATE);

	touch(memory, MEMORY);
	refuse(HQ_CALL_MADVISE, memory, HQ_MIB);
	refuse(HQ_CALL_MADVISE, memory + HQ_MIB / 2, HQ_MIB);
	refuse(HQ_CALL_MUNMAP, memory, HQ_MIB);
	read_own();
	cr_expect_eq(seen.refused.calls, 3);
	cr_expect_eq(seen.refused.ranges, 1);
	cr_expect_eq(seen.refused.bytes, HQ_MIB + HQ_MIB / 2);
	cr_expect_eq(seen.refused.resident_bytes, HQ_MIB + HQ_MIB / 2);
	cr_expect_eq(seen.refused.worst[0].last_ns, 3);
	cr_expect_eq(seen.refused.worst[0].call, HQ_CALL_MUNMAP);
}

Test(refused, what_was_given_back_or_is_shared_is_not_resident)
{
	char *const gone = map(MAP_PRIVATE), *const shared = map(MAP_SHARED);
	char *const purged = map(MAP_PRIVATE);

	touch(gone, MEMORY);
	touch(shared, MEMORY);
	touch(purged, MEMORY);
	refuse(HQ_CALL_MUNMAP, gone, MEMORY);
	refuse(HQ_CALL_MUNMAP, shared, MEMORY);
	refuse(HQ_CALL_MUNMAP, purged, MEMORY);
	munmap(gone, MEMORY);
	madvise(purged, MEMORY, MADV_DONTNEED);
	read_own();
	cr_expect_eq(seen.refused.calls, 3);
	cr_expect_eq(seen.refused.resident_bytes, 0);
}

Test(refused, calls_that_were_answered_well_or_give_nothing_back_do_not_count)
{
	char *const memory = map(MAP_PRIVATE);

	touch(memory, MEMORY);
	refuse(HQ_CALL_MUNMAP, memory, MEMORY)->result = 0;
	refuse(HQ_CALL_MMAP, memory, MEMORY);
	refuse(HQ_CALL_MADVISE, memory, MEMORY)->args[2] = MADV_HUGEPAGE;
	read_own();
	cr_expect_eq(seen.refused.calls, 0);
	cr_expect_eq(seen.refused.ranges, 0);
}

Test(refused, nonsense_ranges_are_left_out)
{
	refuse(HQ_CALL_MUNMAP, (char *)1, MEMORY);
	refuse(HQ_CALL_MUNMAP, (char *)4096, 0);
	refuse(HQ_CALL_MUNMAP, (char *)65536, SIZE_MAX - 65536);
	refuse(HQ_CALL_MUNMAP, (char *)(UINTPTR_MAX - 65535), 32768);
	read_own();
	cr_expect_eq(seen.refused.calls, 4);
	cr_expect_eq(seen.refused.resident_bytes, 0);
}

Test(refused, target_that_is_gone_is_not_read)
{
	hq_refused_read(0x7ffffff0, &seen);
	cr_expect_not(seen.refused.was_read);
}
