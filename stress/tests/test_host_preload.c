/* SPDX-License-Identifier: MIT */
/*
 * The host as it is really used: the program itself, with an allocator preloaded. Each planted bug
 * must be seen by the check that is for it, refusals must be lived with, and what a seed asks for
 * must not depend on the allocator.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "stress/wire/wire.h"

static struct hq_wire *wire;
static int wire_fd;
static char build[200]; /* the folder that this program was built in */

/* Sanitizers bring an allocator of their own, which must come first. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void start(void)
{
	const ssize_t length = readlink("/proc/self/exe", build, sizeof(build) - 1);
	char *const tail = length > 0 ? strstr(build, "/stress/tests/") : NULL;

	const char *const preloaded = getenv("LD_PRELOAD");

	if (SANITIZED || (preloaded != NULL && strstr(preloaded, "vgpreload") != NULL))
		cr_skip_test("a checker of memory brings an allocator of its own");
	cr_assert_not_null(tail);
	*tail = '\0';
	cr_assert_eq(hq_wire_create(&wire, &wire_fd), 0);
	wire->config.deadline_ns = 20000000000ull;
	wire->config.seed = 42;
}

static void stop(void)
{
	if (wire != NULL)
		hq_wire_destroy(wire, wire_fd);
}

TestSuite(host_preload, .init = start, .fini = stop, .timeout = 100);

static void exec_host(const char *library)
{
	char text[300];

	snprintf(text, sizeof(text), "/proc/%d/fd/%d", getppid(), wire_fd);
	setenv(HQ_WIRE_ENV, text, 1);
	snprintf(text, sizeof(text), "%s/targets/%s", build, library);
	if (library[0] != '\0')
		setenv("LD_PRELOAD", text, 1);
	snprintf(text, sizeof(text), "%s/heapquake-host", build);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(text, text, (char *)NULL);
	_exit(127);
}

/* Runs a workload to its end, or to that of the host. Returns the wait status. */
static int run(const char *workload, const char *options, const char *library)
{
	char path[300];
	int status;

	snprintf(path, sizeof(path), "%s/heapquake-host", build);
	if (access(path, X_OK) != 0)
		cr_skip_test("heapquake-host is not built");
	snprintf(path, sizeof(path), "%s/targets/%s", build, library);
	if (access(path, R_OK) != 0)
		cr_skip_test("the allocators of the tests are not built");
	snprintf(wire->config.workload, sizeof(wire->config.workload), "%s", workload);
	snprintf(wire->config.options, sizeof(wire->config.options), "%s", options);
	hq_store_release(&wire->go, 1);
	const pid_t host = fork();

	cr_assert_geq(host, 0);
	if (host == 0)
		exec_host(library);
	for (;;) {
		const pid_t gone = waitpid(host, &status, WNOHANG);

		if (gone != 0)
			return gone == host ? status : -1;
		if (hq_load_acquire(&wire->status.state) == HQ_TARGET_FREED)
			hq_store_release(&wire->finish, 1);
		usleep(500);
	}
}

static uint64_t events_of(uint32_t kind)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < HQ_WIRE_WORKERS; i++) {
		const struct hq_wire_worker *const worker = &wire->workers[i];
		const uint64_t head = hq_load_acquire(&worker->ring.head);

		for (uint64_t j = 0; j < head && j < HQ_WIRE_EVENTS; j++)
			count += kind == HQ_EVENT_KIND_COUNT || worker->events[j].kind == kind;
	}
	return count;
}

/* How the host ends is the broken allocator's affair; what it saw before that is ours. */
static void expect_seen(const char *bug, enum hq_event_kind kind)
{
	setenv("BROKEN", bug, 1);
	run("churn", "ops=20k realloc=30% calloc=30%", "lib_broken_allocator");
	cr_assert_gt(events_of((uint32_t)kind), 0);
}

Test(host_preload, an_overlap_is_seen)
{
	expect_seen("overlap", HQ_EVENT_OVERLAP);
}

Test(host_preload, a_write_into_another_block_is_seen)
{
	expect_seen("stomp", HQ_EVENT_CONTENT);
}

Test(host_preload, a_misaligned_block_is_seen)
{
	expect_seen("misaligned", HQ_EVENT_ALIGNMENT);
}

Test(host_preload, a_dirty_calloc_is_seen)
{
	expect_seen("dirty", HQ_EVENT_NONZERO);
}

Test(host_preload, a_realloc_that_loses_a_byte_is_seen)
{
	expect_seen("prefix", HQ_EVENT_REALLOC);
}

Test(host_preload, a_free_that_changes_errno_is_seen)
{
	expect_seen("errno", HQ_EVENT_ERRNO_FREE);
}

Test(host_preload, a_null_without_errno_is_seen)
{
	expect_seen("null", HQ_EVENT_ERRNO_NULL);
}

static uint64_t sum_of(const char *what)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < HQ_WIRE_WORKERS; i++) {
		const struct hq_wire_worker *const worker = &wire->workers[i];

		if (strcmp(what, "mallocs") == 0)
			sum += hq_load_relaxed(&worker->mallocs);
		else if (strcmp(what, "nulls") == 0)
			sum += hq_load_relaxed(&worker->nulls);
		else
			sum += hq_load_relaxed(&worker->requested_bytes);
	}
	return sum;
}

static void expect_lived_with(const char *workload, const char *options)
{
	const int status = run(workload, options, "lib_refusing_allocator");

	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
	cr_assert_eq(events_of(HQ_EVENT_KIND_COUNT), 0);
	cr_assert_gt(sum_of("nulls"), 0);
	cr_assert_eq(sum_of("bytes"), 0);
}

Test(host_preload, refusals_at_random_are_lived_with_in_churn)
{
	expect_lived_with("churn", "threads=3 ops=20k");
}

Test(host_preload, refusals_at_random_are_lived_with_in_idle_decay)
{
	expect_lived_with("idle-decay", "burst=4MiB hold=0 pause=0");
}

Test(host_preload, refusals_at_random_are_lived_with_in_memtables)
{
	expect_lived_with("memtable", "rows=5k budget=256KiB scan-share=50%");
}

Test(host_preload, the_object_that_provides_malloc_is_named)
{
	run("none", "", "lib_null_allocator");
	cr_assert_not_null(strstr(wire->status.provider, "lib_null_allocator"), "%s",
			   wire->status.provider);
	cr_assert_str_eq(wire->status.version, "");
}

Test(host_preload, the_number_of_requests_does_not_depend_on_the_allocator)
{
	run("memtable", "rows=3k budget=256KiB", "lib_null_allocator");
	const uint64_t mallocs = sum_of("mallocs");

	stop();
	start();
	run("memtable", "rows=3k budget=256KiB", "");
	cr_assert_gt(mallocs, 0);
	cr_assert_eq(sum_of("mallocs"), mallocs);
}
