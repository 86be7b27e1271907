/* SPDX-License-Identifier: MIT */
/*
 * What a process asks of the system when it starts, and each of its threads, and is refused.
 *
 * The heap has been set up when a test begins, before anything could be made to fail. So each test
 * forgets it, sets its fault, and has it set up again. Nothing was allocated yet. The handlers for
 * fork are there already and are refused the second time, as they would be called twice.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/living.h"

static void setup(void)
{
	memset(&bedrock_heap, 0, sizeof(bedrock_heap));
	unsetenv("BEDROCK_CONF");
	fault_install();
	faults.pthread_atfork.error = ENOMEM;
}

TestSuite(start, .init = setup, .timeout = 60);

static void start(void)
{
	errno = 99;
	bedrock_heap_ensure(&bedrock_heap);
	cr_assert_eq(errno, 99);
	bedrock_heap.options.is_background_thread = false;
}

/* Every kind of block is served, grown and given back. -> NULL, or the argument if not. */
static void *use(void *argument)
{
	const size_t sizes[] = { 10, 500, 5000, 60000, 300000, 5 << 20 };

	for (int i = 0; i < 60; i++) {
		size_t bytes = sizes[i % 6] + (size_t)i;
		char *block = bedrock_malloc(bytes);

		if (!block)
			return argument;
		memset(block, i, bytes);
		block = bedrock_realloc(block, bytes * 2);
		if (!block || block[bytes - 1] != i)
			return argument;
		bedrock_free(block);
	}
	bedrock_purge();
	return NULL;
}

static void use_in_thread(void)
{
	pthread_t thread;
	void *failed = NULL;

	cr_assert_eq(pthread_create(&thread, NULL, use, &faults), 0);
	cr_assert_eq(pthread_join(thread, &failed), 0);
	cr_assert_null(failed);
}

Test(start, pthread_key_create_refused_leaves_all_threads_without_cache)
{
	faults.pthread_key_create.error = EAGAIN;
	start();
	cr_assert_eq(faults.pthread_key_create.hit, 1);
	cr_assert_null(use(&faults));
	use_in_thread();
	cr_assert_eq(stats_now().thread_cache_count, 0);
	cr_assert_eq(stats_now().allocated_bytes, 0);
	cr_assert_eq(faults.pthread_setspecific.seen, 0);
	cr_assert_eq(faults.pthread_key_create.seen, 1);
}

Test(start, pthread_setspecific_refused_leaves_a_thread_without_cache_until_it_is_not)
{
	start();
	faults.pthread_setspecific.error = ENOMEM;
	cr_assert_null(use(&faults));
	cr_assert_gt(faults.pthread_setspecific.hit, 0);
	cr_assert_leq(faults.pthread_setspecific.seen, 60, "%u calls for 60 blocks",
		      faults.pthread_setspecific.seen);
	use_in_thread();
	cr_assert_eq(stats_now().thread_cache_count, 0);
	uint64_t metadata_bytes = stats_now().metadata_bytes;

	faults.pthread_setspecific.error = 0;
	cr_assert_null(use(&faults));
	cr_assert_eq(stats_now().thread_cache_count, 1);
	cr_assert_eq(stats_now().metadata_bytes, metadata_bytes, "one cache was tried again");
}

Test(start, pthread_atfork_refused_leaves_fork_to_a_quiet_process)
{
	int status = 1;

	start();
	cr_assert_eq(faults.pthread_atfork.hit, 1);
	use_in_thread();
	pid_t child = fork();

	if (child == 0) {
		alarm(20);
		_exit(use(&faults) != NULL);
	}
	cr_assert_gt(child, 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(status, 0);
}

Test(start, sched_getaffinity_refused_leaves_one_arena)
{
	const int errors[] = { EINVAL, EPERM, ENOSYS };

	for (int i = 0; i < 3; i++) {
		memset(&bedrock_heap, 0, sizeof(bedrock_heap));
		faults.sched_getaffinity.error = errors[i];
		start();
		cr_assert_eq(faults.sched_getaffinity.hit, (unsigned)i + 1);
		cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.arena_count), 1);
	}
	cr_assert_null(use(&faults));
}

Test(start, secure_getenv_that_tells_nothing_leaves_the_defaults)
{
	setenv("BEDROCK_CONF", "narenas:7,dirty_decay_ms:123", 1);
	faults.secure_getenv.error = EPERM;
	start();
	cr_assert_gt(faults.secure_getenv.hit, 0);
	cr_assert_eq(bedrock_heap.options.dirty_decay_ms, 500);
	cr_assert_neq(bedrock_load_relaxed(&bedrock_heap.arena_count), 7);
}

Test(start, readlink_refused_leaves_the_other_sources)
{
	const int errors[] = { EACCES, EINVAL, EIO, ELOOP, ENOENT, ENOMEM };

	setenv("BEDROCK_CONF", "narenas:7", 1);
	for (int i = 0; i < 6; i++) {
		memset(&bedrock_heap, 0, sizeof(bedrock_heap));
		faults.readlink.error = errors[i];
		start();
		cr_assert_eq(faults.readlink.hit, (unsigned)i + 1, "one call each");
		cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.arena_count), 7);
	}
}

Test(start, files_refused_leave_phycpu_with_arenas_by_cpu)
{
	struct fault *kinds[] = { &faults.open, &faults.read };

	setenv("BEDROCK_CONF", "percpu_arena:phycpu", 1);
	for (int i = 0; i < 2; i++) {
		memset(&bedrock_heap, 0, sizeof(bedrock_heap));
		kinds[i]->error = EIO;
		start();
		cr_assert_gt(kinds[i]->hit, 0);
		kinds[i]->error = 0;
		cr_assert_eq(bedrock_heap.options.percpu_arena, BEDROCK_PERCPU_CPU);
		cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.arena_count),
			     bedrock_os_cpu_count());
	}
}

Test(start, files_refused_leave_no_limit_of_the_control_group)
{
	struct fault *kinds[] = { &faults.open, &faults.read };

	setenv("BEDROCK_CONF", "memory_limit:cgroup", 1);
	for (int i = 0; i < 2; i++) {
		memset(&bedrock_heap, 0, sizeof(bedrock_heap));
		kinds[i]->error = EIO;
		start();
		cr_assert_gt(kinds[i]->hit, 0);
		kinds[i]->error = 0;
		cr_assert_gt(faults.write.seen, (unsigned)i, "a message");
	}
	cr_assert_null(use(&faults));
}

/* The files of a control group; NULL for one that is not there. */
static const char *group_max;
static const char *group_high;

static int open_text(const char *text)
{
	int fds[2];

	if (!text || pipe(fds)) {
		errno = ENOENT;
		return -1;
	}
	cr_assert_eq(write(fds[1], text, strlen(text)), (ssize_t)strlen(text));
	close(fds[1]);
	return fds[0];
}

static int group_open(const char *path, int flags, ...)
{
	(void)flags;
	if (strcmp(path, "/proc/self/cgroup") == 0)
		return open_text("0::/\n");
	if (strcmp(path, "/sys/fs/cgroup/memory.max") == 0)
		return open_text(group_max);
	if (strcmp(path, "/sys/fs/cgroup/memory.high") == 0)
		return open_text(group_high);
	return open_text(NULL);
}

static void start_in_group(const char *options, const char *max, const char *high)
{
	memset(&bedrock_heap, 0, sizeof(bedrock_heap));
	setenv("BEDROCK_CONF", options, 1);
	bedrock_os_table.open = group_open;
	group_max = max;
	group_high = high;
	start();
}

static uint64_t soft_bytes(void)
{
	return bedrock_load_relaxed(&bedrock_heap.space.limit.soft_bytes);
}

static uint64_t hard_bytes(void)
{
	return bedrock_load_relaxed(&bedrock_heap.space.limit.hard_bytes);
}

Test(start, high_of_the_control_group_makes_the_soft_limit_come_before_it)
{
	start_in_group("memory_limit:cgroup", "80000000\n", "40000000\n");
	cr_assert_eq(hard_bytes(), 80000000);
	cr_assert_eq(soft_bytes(), 35000000);
	start_in_group("memory_limit:50%", "80000000\n", "40000000\n");
	cr_assert_eq(hard_bytes(), 40000000);
	cr_assert_eq(soft_bytes(), 17500000);
	start_in_group("memory_limit:cgroup", "80000000\n", "90000000\n");
	cr_assert_eq(soft_bytes(), 70000000);
	start_in_group("memory_limit:cgroup", "80000000\n", "max\n");
	cr_assert_eq(soft_bytes(), 70000000);
	start_in_group("memory_limit:cgroup,soft_limit:60M", "80000000\n", "40000000\n");
	cr_assert_eq(soft_bytes(), UINT64_C(60) << 20);
}

Test(start, high_of_the_control_group_alone_makes_a_soft_limit_alone)
{
	start_in_group("memory_limit:cgroup", NULL, "400000000\n");
	cr_assert_gt(hard_bytes(), UINT64_C(1) << 50);
	cr_assert_eq(soft_bytes(), 350000000);
	cr_assert_null(use(&faults));
	start_in_group("memory_limit:cgroup,soft_limit:50%", "max\n", "400000000\n");
	cr_assert_eq(soft_bytes(), 200000000);
}

Test(start, message_that_is_lost_changes_nothing_else)
{
	setenv("BEDROCK_CONF", "no_such_option:1,narenas:7", 1);
	faults.write.error = EBADF;
	start();
	cr_assert_gt(faults.write.hit, 0);
	cr_assert_eq(bedrock_load_relaxed(&bedrock_heap.arena_count), 7);
	cr_assert_null(use(&faults));
}
