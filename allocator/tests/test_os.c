/* SPDX-License-Identifier: MIT */
/*
 * The door to the kernel: results as 0 or -errno, and errno left alone.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <sys/syscall.h>

#include "allocator/bedrock/atomic.h"
#include "allocator/bedrock/os.h"
#include "allocator/tests/faults.h"

Test(os, every_failure_is_returned_and_errno_is_as_before)
{
	void *address = NULL;

	fault_install();
	faults.mmap.error = ENOMEM;
	faults.munmap.error = ENOMEM;
	faults.mremap.error = EFAULT;
	faults.madvise.error = EAGAIN;
	faults.thread.error = EPERM;
	errno = 99;
	cr_assert_eq(bedrock_os_map(NULL, 4096, &address), -ENOMEM);
	cr_assert_null(address);
	cr_assert_eq(bedrock_os_unmap(&address, 4096), -ENOMEM);
	cr_assert_eq(bedrock_os_resize(&address, 4096, 8192), -EFAULT);
	cr_assert_eq(bedrock_os_move(&address, 4096, 8192, NULL), -EFAULT);
	cr_assert_eq(bedrock_os_purge(&address, 4096), -EAGAIN);
	cr_assert_eq(bedrock_os_purge_lazily(&address, 4096), -EAGAIN);
	cr_assert_eq(bedrock_os_thread_start(NULL, NULL, 65536), -EPERM);
	cr_assert_eq(errno, 99);
}

static void *map_without_errno(void *address, size_t bytes, int protection, int flags, int fd,
			       off_t at)
{
	(void)address, (void)bytes, (void)protection, (void)flags, (void)fd, (void)at;
	errno = 0;
	return MAP_FAILED;
}

Test(os, failure_that_names_no_errno_is_a_failure_all_the_same)
{
	void *address = NULL;

	bedrock_os_table.mmap = map_without_errno;
	cr_assert_lt(bedrock_os_map(NULL, 4096, &address), 0);
	cr_assert_null(address);
}

Test(os, mapping_is_known_as_mapped_until_it_is_unmapped)
{
	void *address;

	cr_assert_eq(bedrock_os_map(NULL, 65536, &address), 0);
	cr_assert(bedrock_os_is_mapped(address));
	cr_assert_eq(bedrock_os_unmap(address, 65536), 0);
	cr_assert_not(bedrock_os_is_mapped(address));
}

Test(os, purged_pages_of_an_honest_kernel_are_zero)
{
	char *address;

	cr_assert_eq(bedrock_os_map(NULL, 65536, (void **)&address), 0);
	memset(address, 1, 65536);
	cr_assert_eq(bedrock_os_purge(address, 65536), 0);
	cr_assert_eq(address[0], 0);
	cr_assert_eq(address[65535], 0);
}

Test(os, cpu_agrees_with_what_the_process_may_use)
{
	cr_assert_geq(bedrock_os_cpu_count(), 1);
	cr_assert_lt(bedrock_os_cpu(), 1u << 16);
}

/* The kernel keeps the number of the CPU for this thread no more. -> is that so? */
static bool end_rseq(void)
{
#if __has_include(<sys/rseq.h>)
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;

	return syscall(SYS_rseq, area, 32, 1 /* unregister */, RSEQ_SIG) == 0;
#else
	return true;
#endif
}

Test(os, cpu_that_getcpu_does_not_tell_is_the_first_and_errno_is_as_before)
{
	if (!end_rseq())
		cr_skip_test("the kernel goes on to keep the CPU number, getcpu is not asked");
	fault_install();
	faults.getcpu.error = ENOSYS;
	errno = 99;
	cr_assert_eq(bedrock_os_cpu(), 0);
	cr_assert_eq(faults.getcpu.hit, 1);
	cr_assert_eq(errno, 99);
}

/* What bedrock_os_write makes of six letters, as far as it gets. */
static ssize_t write_letters(char out[16])
{
	int ends[2];

	memset(out, 0, 16);
	cr_assert_eq(pipe(ends), 0);
	errno = 99;
	bedrock_os_write(ends[1], "letter", 6);
	cr_assert_eq(errno, 99);
	close(ends[1]);
	ssize_t length = read(ends[0], out, 16);

	close(ends[0]);
	return length;
}

Test(os, message_is_written_by_one_call)
{
	char text[16];

	fault_install();
	cr_assert_eq(write_letters(text), 6);
	cr_assert_eq(faults.write.seen, 1);
}

Test(os, message_is_lost_at_the_first_refusal)
{
	const int errors[] = { EAGAIN, EBADF, EIO, ENOSPC, EPIPE };
	char text[16];

	fault_install();
	for (int i = 0; i < 5; i++) {
		faults.write.error = errors[i];
		cr_assert_eq(write_letters(text), 0);
		cr_assert_eq(faults.write.hit, (unsigned)i + 1);
	}
}

Test(os, message_that_a_signal_interrupts_is_written_after_it)
{
	char text[16];

	fault_install();
	faults.write.error = EINTR;
	faults.write.most = 3;
	cr_assert_eq(write_letters(text), 6);
	cr_assert_str_eq(text, "letter");
	cr_assert_eq(faults.write.seen, 4);
}

Test(os, message_that_only_signals_answer_is_given_up)
{
	char text[16];

	fault_install();
	faults.write.error = EINTR;
	cr_assert_eq(write_letters(text), 0);
	cr_assert_eq(faults.write.seen, 8);
}

Test(os, message_that_is_taken_in_parts_is_whole)
{
	char text[16];

	fault_install();
	faults.write.lies = true;
	cr_assert_eq(write_letters(text), 6);
	cr_assert_str_eq(text, "letter");
	cr_assert_eq(faults.write.seen, 6);
}

Test(os, files_and_links_that_are_refused_are_errors_and_leave_no_descriptor)
{
	char text[16];
	int before = dup(0);

	close(before);
	fault_install();
	errno = 99;
	faults.readlink.error = EINVAL;
	cr_assert_eq(bedrock_os_read_link("/proc/self/exe", text, sizeof(text)), -EINVAL);
	faults.open.error = EMFILE;
	cr_assert_eq(bedrock_os_read_file("/proc/self/stat", text, sizeof(text)), -EMFILE);
	faults.open.error = 0;
	faults.read.error = EIO;
	cr_assert_eq(bedrock_os_read_file("/proc/self/stat", text, sizeof(text)), -EIO);
	cr_assert_eq(errno, 99);
	int after = dup(0);

	cr_assert_eq(before, after);
}

Test(os, clock_does_not_run_backwards)
{
	uint64_t before_ns = bedrock_os_now_ns();

	cr_assert_gt(before_ns, 0);
	cr_assert_geq(bedrock_os_now_ns(), before_ns);
}

Test(os, clock_that_the_kernel_does_not_know_is_replaced)
{
	uint64_t before_ns = bedrock_os_now_ns();

	fault_install();
	faults.clock_gettime.error = EINVAL;
	errno = 99;
	cr_assert_geq(bedrock_os_now_ns(), before_ns);
	cr_assert_eq(faults.clock_gettime.hit, 1);
	cr_assert_eq(errno, 99);
}

Test(os, wait_that_is_cut_short_returns_and_errno_is_as_before, .timeout = 10)
{
	_Atomic(uint32_t) word = 1;
	const int errors[] = { EINTR, EAGAIN };

	fault_install();
	for (int i = 0; i < 2; i++) {
		faults.futex.error = errors[i];
		errno = 99;
		bedrock_os_wait(&word, 1, UINT64_C(100000000000));
		cr_assert_eq(faults.futex.hit, (unsigned)i + 1);
		cr_assert_eq(errno, 99);
	}
}

static _Atomic(uint32_t) is_started;
static sigset_t thread_mask;

static void *thread_main(void *argument)
{
	(void)argument;
	pthread_sigmask(SIG_SETMASK, NULL, &thread_mask);
	bedrock_store_release(&is_started, 1);
	bedrock_os_wake(&is_started, 1);
	return NULL;
}

Test(os, started_thread_blocks_every_signal_but_sigsys, .timeout = 10)
{
	sigset_t own_before;
	sigset_t own_after;

	sigemptyset(&own_before);
	sigemptyset(&own_after);
	pthread_sigmask(SIG_SETMASK, NULL, &own_before);
	cr_assert_eq(bedrock_os_thread_start(thread_main, NULL, 256 << 10), 0);
	while (!bedrock_load_acquire(&is_started))
		bedrock_os_wait(&is_started, 0, 1000000000);
	pthread_sigmask(SIG_SETMASK, NULL, &own_after);
	for (int number = 1; number <= SIGRTMAX; number++)
		cr_assert_eq(sigismember(&own_before, number), sigismember(&own_after, number));
	cr_assert(sigismember(&thread_mask, SIGTERM));
	cr_assert(sigismember(&thread_mask, SIGALRM));
	cr_assert(sigismember(&thread_mask, SIGSEGV));
	cr_assert_not(sigismember(&thread_mask, SIGSYS));
}
