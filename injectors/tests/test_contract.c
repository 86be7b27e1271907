/* SPDX-License-Identifier: MIT */
/*
 * The contract table against the real kernel: each row that does not say it cannot be produced here
 * is produced, by limits, a full map count, locked pages or a seccomp filter, in a child of its
 * own. The pure part (find, met, result) is tested without it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/contract.h"
#include "injectors/syscall/filter.h"
#include "injectors/syscall/split.h"

#define PAGE          ((size_t)sysconf(_SC_PAGESIZE))
#define LARGE         (64ul << 20)
#define NOT_HERE      "not producible here"
#define CHILD_SECONDS 60
#define CANNOT        200 /* this machine lacks what the producer needs */

/* ---- producers: each runs in a child and returns the errno that the kernel showed ---- */

static int error_of(long ret)
{
	return ret == -1 ? errno : 0;
}

static char *map(size_t length, int protection)
{
	char *address = mmap(NULL, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return address == MAP_FAILED ? NULL : address;
}

static void forbid_more_data(void)
{
	const struct rlimit limit = { .rlim_cur = 1, .rlim_max = 1 };

	setrlimit(RLIMIT_DATA, &limit);
}

/* The program break reports a failure by staying where it is: told as ENOMEM here. */
static int fail_brk(void)
{
	const uint64_t before = (uint64_t)syscall(SYS_brk, 0);
	const struct hq_contract_row *row =
		hq_contract_find(HQ_CALL_BRK, HQ_ACTION_FAIL, ENOMEM, -1);

	forbid_more_data();
	return syscall(SYS_brk, before + LARGE) == hq_contract_result(row, before) ? ENOMEM : 0;
}

static int fail_mmap(void)
{
	forbid_more_data();
	return map(LARGE, PROT_READ | PROT_WRITE) ? 0 : errno;
}

static int fail_mprotect(void)
{
	char *address = map(LARGE, PROT_NONE);

	forbid_more_data();
	return error_of(mprotect(address, LARGE, PROT_READ | PROT_WRITE));
}

static int fail_mremap(void)
{
	char *address = map(PAGE, PROT_READ | PROT_WRITE);

	forbid_more_data();
	return mremap(address, PAGE, LARGE, MREMAP_MAYMOVE) == MAP_FAILED ? errno : 0;
}

/* Makes mappings until the kernel allows no more: stripes of protection over one reservation. */
static bool fill_map_count(void)
{
	const size_t length = 70000 * 2 * PAGE;
	char *address = map(length, PROT_NONE);

	if (!address)
		return false;
	for (size_t at = PAGE; at + PAGE < length; at += 2 * PAGE)
		if (mprotect(address + at, PAGE, PROT_READ))
			return errno == ENOMEM;
	return false;
}

/* Three pages in one mapping, with no neighbour that could merge with a part of it. */
static char *map_three(void)
{
	char *address = map(5 * PAGE, PROT_NONE);

	if (!address || mprotect(address + PAGE, 3 * PAGE, PROT_READ | PROT_WRITE))
		return NULL;
	return address + PAGE;
}

static int fail_munmap(void)
{
	char *three = map_three();

	return fill_map_count() ? error_of(munmap(three + PAGE, PAGE)) : CANNOT;
}

static int cut_end_with_full_map_count(void)
{
	char *three = map_three();

	return fill_map_count() ? error_of(munmap(three + 2 * PAGE, PAGE)) : CANNOT;
}

static int fail_mprotect_split(void)
{
	char *three = map_three();

	return fill_map_count() ? error_of(mprotect(three + PAGE, PAGE, PROT_READ)) : CANNOT;
}

static int fail_madvise_flag(void)
{
	char *three = map_three();

	return fill_map_count() ? error_of(madvise(three + PAGE, PAGE, MADV_DONTDUMP)) : CANNOT;
}

static int fail_madvise_hole(void)
{
	char *three = map_three();
	int error;

	three[0] = three[2 * PAGE] = 1;
	munmap(three + PAGE, PAGE);
	error = error_of(madvise(three, 3 * PAGE, MADV_DONTNEED));
	/* As the row says: what is mapped was treated, on both sides of the hole. */
	return three[0] == 0 && three[2 * PAGE] == 0 ? error : 0;
}

static int fail_madvise_locked(void)
{
	static const int advices[] = { MADV_DONTNEED, MADV_FREE, MADV_COLD, MADV_PAGEOUT };
	char *three = map_three();

	/* Sanitizers make libc's mlock do nothing. */
	if (syscall(SYS_mlock, three, 3 * PAGE))
		return CANNOT;
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (error_of(madvise(three, 3 * PAGE, advices[i])) != EINVAL)
			return advices[i] + 1000;
	return EINVAL;
}

/* All calls of that name fail from now on. -> 0, or CANNOT. */
static int filter_calls(const char *text)
{
	struct sock_filter program[256];
	struct hq_rule rule;
	struct hq_error error;
	struct sock_fprog fprog = { .filter = program };
	size_t length;
	const struct hq_filter_spec spec = { .rules = &rule, .rule_count = 1 };

	if (hq_rule_parse(text, &rule, &error) || hq_filter_build(&spec, program, 256, &length))
		return CANNOT;
	fprog.len = (unsigned short)length;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog))
		return CANNOT;
	return 0;
}

static int fail_filtered_madvise(const char *text)
{
	char *three = map_three();
	const int ret = filter_calls(text);

	return ret ? ret : error_of(madvise(three, 3 * PAGE, MADV_DONTNEED));
}

static int fail_madvise_eperm(void)
{
	return fail_filtered_madvise("madvise:error=EPERM");
}

static int fail_madvise_enosys(void)
{
	return fail_filtered_madvise("madvise:error=ENOSYS");
}

static int fail_filtered_mincore(const char *text)
{
	unsigned char resident[3];
	char *three = map_three();
	const int ret = filter_calls(text);

	return ret ? ret : error_of(mincore(three, 3 * PAGE, resident));
}

static int fail_mincore_eperm(void)
{
	return fail_filtered_mincore("mincore:error=EPERM");
}

static int fail_mincore_enosys(void)
{
	return fail_filtered_mincore("mincore:error=ENOSYS");
}

static int advise_ranges(char *memory, int advice)
{
	struct iovec ranges[2] = { { memory, PAGE }, { memory + 2 * PAGE, PAGE } };
	const int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return self < 0 ? CANNOT
			: error_of((int)syscall(SYS_process_madvise, self, ranges, 2, advice, 0));
}

static int fail_filtered_process_madvise(const char *text)
{
	char *three = map_three();
	const int ret = filter_calls(text);

	return ret ? ret : advise_ranges(three, MADV_COLD);
}

static int fail_process_madvise_eperm(void)
{
	return fail_filtered_process_madvise("process_madvise:error=EPERM");
}

static int fail_process_madvise_enosys(void)
{
	return fail_filtered_process_madvise("process_madvise:error=ENOSYS");
}

/* Locked, and on older kernels an advice that nobody may give so. */
static int fail_process_madvise_locked(void)
{
	char *three = map_three();

	return mlock(three, 3 * PAGE) ? CANNOT : advise_ranges(three, MADV_DONTNEED);
}

static int fail_process_madvise_hole(void)
{
	char *three = map_three();

	munmap(three, PAGE);
	return advise_ranges(three, MADV_COLD);
}

/* Hints that report success and leave every byte as it is. */
static int lie_madvise_hint(void)
{
	static const int advices[] = { MADV_NORMAL, MADV_RANDOM, MADV_WILLNEED, MADV_COLD,
				       MADV_FREE };
	char *three = map_three();

	memset(three, 7, 3 * PAGE);
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (madvise(three, 3 * PAGE, advices[i]) || three[0] != 7 || three[2 * PAGE] != 7)
			return advices[i] + 1000;
	return 0;
}

struct producer {
	enum hq_call call;
	enum hq_action action;
	int error;
	int advice; /* one for which the row is the answer; -1 for other calls */
	int (*produce)(void);
};

static const struct producer producers[] = {
	{ HQ_CALL_BRK, HQ_ACTION_FAIL, ENOMEM, -1, fail_brk },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, EAGAIN, MADV_DONTDUMP, fail_madvise_flag },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, ENOMEM, MADV_DONTNEED, fail_madvise_hole },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, EINVAL, MADV_DONTNEED, fail_madvise_locked },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, EPERM, MADV_DONTNEED, fail_madvise_eperm },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, ENOSYS, MADV_DONTNEED, fail_madvise_enosys },
	{ HQ_CALL_MADVISE, HQ_ACTION_LIE, 0, MADV_FREE, lie_madvise_hint },
	{ HQ_CALL_MINCORE, HQ_ACTION_FAIL, EPERM, -1, fail_mincore_eperm },
	{ HQ_CALL_MINCORE, HQ_ACTION_FAIL, ENOSYS, -1, fail_mincore_enosys },
	{ HQ_CALL_MMAP, HQ_ACTION_FAIL, ENOMEM, -1, fail_mmap },
	{ HQ_CALL_MPROTECT, HQ_ACTION_FAIL, ENOMEM, -1, fail_mprotect },
	{ HQ_CALL_MREMAP, HQ_ACTION_FAIL, ENOMEM, -1, fail_mremap },
	{ HQ_CALL_MUNMAP, HQ_ACTION_FAIL, ENOMEM, -1, fail_munmap },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, EPERM, MADV_COLD, fail_process_madvise_eperm },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, ENOSYS, MADV_COLD, fail_process_madvise_enosys },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, EINVAL, MADV_DONTNEED,
	  fail_process_madvise_locked },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, ENOMEM, MADV_COLD, fail_process_madvise_hole },
};

#define PRODUCERS (sizeof(producers) / sizeof(producers[0]))

/* What the producer returned, or -1 if it did not come to an end. */
static int in_child(int (*produce)(void))
{
	int pair[2], result = -1, status;
	pid_t pid;

	cr_assert_eq(pipe2(pair, O_CLOEXEC), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(CHILD_SECONDS);
		result = produce();
		_exit(write(pair[1], &result, sizeof(result)) != sizeof(result));
	}
	close(pair[1]);
	if (read(pair[0], &result, sizeof(result)) != sizeof(result))
		result = -1;
	close(pair[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? result : -1;
}

static const struct producer *producer_of(const struct hq_contract_row *row)
{
	for (size_t i = 0; i < PRODUCERS; i++)
		if (hq_contract_find(producers[i].call, producers[i].action, producers[i].error,
				     producers[i].advice) == row)
			return &producers[i];
	return NULL;
}

static bool says_not_here(const struct hq_contract_row *row)
{
	return strncmp(row->source, NOT_HERE, strlen(NOT_HERE)) == 0;
}

Test(contract, rows_are_shown_by_the_kernel_itself, .timeout = 300)
{
	for (size_t i = 0; i < PRODUCERS; i++) {
		const struct producer *producer = &producers[i];
		const int seen = in_child(producer->produce);

		if (seen == CANNOT) {
			fprintf(stderr, "skipped: %s %s cannot be produced on this machine\n",
				hq_call_name(producer->call), hq_errno_name(producer->error));
			continue;
		}
		cr_expect_eq(seen, producer->error, "%s: %d instead of %s",
			     hq_call_name(producer->call), seen, hq_errno_name(producer->error));
	}
}

Test(contract, rows_without_a_producer_say_so)
{
	size_t unproduced = 0;

	for (size_t i = 0; i < hq_contract_count; i++) {
		const struct hq_contract_row *row = &hq_contract[i];
		/* A delay needs no proof: every call takes the time that the lock it needs is held.
		 */
		const bool is_proved = row->action == HQ_ACTION_DELAY || producer_of(row) != NULL;

		cr_expect_neq(is_proved, says_not_here(row), "row %zu: %s %s", i,
			      hq_call_name(row->call), row->source);
		unproduced += !is_proved;
	}
	cr_assert_eq(unproduced, 7, "%zu rows rest on documentation alone", unproduced);
}

Test(contract, every_row_is_whole)
{
	for (size_t i = 0; i < hq_contract_count; i++) {
		const struct hq_contract_row *row = &hq_contract[i];

		cr_expect(row->returns && row->leaves && row->source, "row %zu", i);
		cr_expect_eq(row->action == HQ_ACTION_FAIL, row->error != 0, "row %zu", i);
		cr_expect(row->advices == 0 || row->call == HQ_CALL_MADVISE, "row %zu", i);
	}
}

Test(contract, every_call_can_be_delayed)
{
	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++)
		cr_expect_not_null(hq_contract_find((enum hq_call)call, HQ_ACTION_DELAY, 0, -1));
}

Test(contract, with_a_full_map_count_lets_an_end_be_cut_off, .timeout = 90)
{
	const int seen = in_child(cut_end_with_full_map_count);

	if (seen == CANNOT)
		cr_skip_test("the map count cannot be filled here");
	cr_assert_eq(seen, 0);
}

Test(contract, with_a_full_map_count_shows_enomem_for_a_splitting_mprotect, .timeout = 90)
{
	const int seen = in_child(fail_mprotect_split);

	if (seen == CANNOT)
		cr_skip_test("the map count cannot be filled here");
	cr_assert_eq(seen, ENOMEM);
}

Test(contract, has_no_row_for_what_no_kernel_does)
{
	cr_assert_null(hq_contract_find(HQ_CALL_MUNMAP, HQ_ACTION_LIE, 0, -1));
	cr_assert_null(hq_contract_find(HQ_CALL_MMAP, HQ_ACTION_LIE, 0, -1));
	cr_assert_null(hq_contract_find(HQ_CALL_MUNMAP, HQ_ACTION_FAIL, EINVAL, -1));
	cr_assert_null(hq_contract_find(HQ_CALL_MADVISE, HQ_ACTION_FAIL, EINVAL, MADV_WILLNEED));
	cr_assert_null(hq_contract_find(HQ_CALL_MADVISE, HQ_ACTION_FAIL, EINTR, MADV_FREE));
	cr_assert_null(hq_contract_find(HQ_CALL_MADVISE, HQ_ACTION_SHRINK, 0, MADV_DONTDUMP));
}

Test(contract, takes_advice_beyond_63_for_rows_that_hold_for_all)
{
	cr_assert_not_null(hq_contract_find(HQ_CALL_MADVISE, HQ_ACTION_FAIL, ENOSYS, 102));
	cr_assert_null(hq_contract_find(HQ_CALL_MADVISE, HQ_ACTION_FAIL, EINVAL, 102));
}

/* ---- conditions ---- */

static int asked;

static bool always(uint64_t address, uint64_t length)
{
	(void)address;
	(void)length;
	asked++;
	return true;
}

static bool never(uint64_t address, uint64_t length)
{
	(void)address;
	(void)length;
	asked++;
	return false;
}

static bool met(enum hq_call call, uint64_t a, uint64_t b, uint64_t c, uint64_t current_break,
		bool (*splits)(uint64_t, uint64_t))
{
	const uint64_t args[6] = { a, b, c };

	return hq_contract_met(hq_contract_find(call, HQ_ACTION_FAIL, ENOMEM, -1), args,
			       current_break, splits);
}

Test(condition, of_munmap_is_that_the_mapping_would_be_split)
{
	cr_assert(met(HQ_CALL_MUNMAP, 4096, 4096, 0, 0, always));
	cr_assert_not(met(HQ_CALL_MUNMAP, 4096, 4096, 0, 0, never));
	cr_assert_not(met(HQ_CALL_MUNMAP, 4096, 4096, 0, 0, NULL));
}

Test(condition, of_mprotect_is_commit_or_split_and_asks_only_if_it_must)
{
	cr_assert(met(HQ_CALL_MPROTECT, 4096, 4096, PROT_READ | PROT_WRITE, 0, never));
	cr_assert_eq(asked, 0);
	cr_assert(met(HQ_CALL_MPROTECT, 4096, 4096, PROT_NONE, 0, always));
	cr_assert_not(met(HQ_CALL_MPROTECT, 4096, 4096, PROT_NONE, 0, never));
	cr_assert_not(met(HQ_CALL_MPROTECT, 4096, 0, PROT_WRITE, 0, always));
}

Test(condition, of_mremap_and_brk_is_growth)
{
	cr_assert(met(HQ_CALL_MREMAP, 4096, 4096, 8192, 0, NULL));
	cr_assert_not(met(HQ_CALL_MREMAP, 4096, 8192, 8192, 0, NULL));
	cr_assert(met(HQ_CALL_BRK, 5000, 0, 0, 4096, NULL));
	cr_assert_not(met(HQ_CALL_BRK, 0, 0, 0, 4096, NULL));
	cr_assert_not(met(HQ_CALL_BRK, 5000, 0, 0, UINT64_MAX, NULL));
}

Test(result, of_a_failing_brk_is_the_break_and_of_others_the_errno)
{
	cr_assert_eq(hq_contract_result(hq_contract_find(HQ_CALL_BRK, HQ_ACTION_FAIL, ENOMEM, -1),
					12345),
		     12345);
	cr_assert_eq(hq_contract_result(hq_contract_find(HQ_CALL_MMAP, HQ_ACTION_FAIL, ENOMEM, -1),
					12345),
		     -ENOMEM);
}

/* ---- the question about mappings ---- */

static bool inside(int fd, const char *start, size_t length)
{
	/* The text is read from its beginning where the kernel has no query. */
	lseek(fd, 0, SEEK_SET);
	return hq_split_inside(fd, (uint64_t)(uintptr_t)start, (uint64_t)(uintptr_t)start + length);
}

static void expect_split_answers(int fd, const char *three)
{
	cr_expect(inside(fd, three + PAGE, PAGE), "the middle splits");
	cr_expect_not(inside(fd, three, PAGE), "the first page is an end");
	cr_expect_not(inside(fd, three + 2 * PAGE, PAGE), "the last page is an end");
	cr_expect_not(inside(fd, three, 3 * PAGE), "all of it");
	cr_expect_not(inside(fd, three + PAGE, 4 * PAGE), "beyond the end");
	cr_expect_not(inside(fd, three + PAGE, 0), "nothing");
}

Test(split, is_told_for_the_middle_of_a_mapping_only)
{
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	expect_split_answers(fd, map_three());
	close(fd);
}

/* A copy of the text knows no ioctl: the way of kernels before 6.11. */
Test(split, is_told_from_the_text_where_there_is_no_query)
{
	char *three = map_three();
	const int copy = memfd_create("maps", MFD_CLOEXEC);
	const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[4096];
	ssize_t got;

	while ((got = read(fd, text, sizeof(text))) > 0)
		cr_assert_eq(write(copy, text, (size_t)got), got);
	expect_split_answers(copy, three);
	close(fd);
	close(copy);
}

Test(split, is_denied_where_nothing_is_known)
{
	cr_assert_not(hq_split_inside(-1, 4096, 8192));
}
