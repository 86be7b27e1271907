/* SPDX-License-Identifier: MIT */
/*
 * The statistics of each allocator that is installed here, read by the host as it is really used:
 * what it knows, and that the numbers are those of the moment.
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
#include "stress/plan/allocator.h"
#include "stress/wire/wire.h"

#define MIB ((uint64_t)1 << 20)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static struct hq_wire *wire;
static int wire_fd;
static char build[200]; /* the folder that this program was built in */

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
	wire->config.worker_count = 2;
	wire->config.stats_period_ns = 5000000;
	wire->config.releases = 1;
	strcpy(wire->config.workload, "idle-decay");
	strcpy(wire->config.options, "threads=2 burst=32MiB rounds=1 hold=0 pause=0");
}

static void stop(void)
{
	if (wire != NULL)
		hq_wire_destroy(wire, wire_fd);
}

TestSuite(host_stats, .init = start, .fini = stop, .timeout = 100);

static void exec_host(const char *library)
{
	char text[300];

	snprintf(text, sizeof(text), "/proc/%d/fd/%d", getppid(), wire_fd);
	setenv(HQ_WIRE_ENV, text, 1);
	setenv("LD_PRELOAD", library, 1);
	snprintf(text, sizeof(text), "%s/heapquake-host", build);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(text, text, (char *)NULL);
	_exit(127);
}

/* Runs the host until it idles, and on until it has recorded something then. */
static void run(const char *library)
{
	int status;

	if (access(library, R_OK) != 0)
		cr_skip_test("%s is not there", library);
	const pid_t host = fork();

	cr_assert_geq(host, 0);
	if (host == 0)
		exec_host(library);
	hq_store_release(&wire->go, 1);
	for (int i = 0; i < 40000; i++) {
		const uint64_t head = hq_load_acquire(&wire->stats.ring.head);

		if (head > 0 &&
		    wire->stats.records[(head - 1) % HQ_STATS_ROOM].point == HQ_STATS_IDLE)
			break;
		usleep(1000);
	}
	hq_store_release(&wire->finish, 1);
	cr_assert_eq(waitpid(host, &status, 0), host);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", wire->status.failure);
}

static void run_installed(const char *name)
{
	struct hq_allocator allocator;
	struct hq_error error;
	char program[300];

	snprintf(program, sizeof(program), "%s/heapquake", build);
	if (access(program, X_OK) != 0)
		cr_skip_test("heapquake is not built");
	struct hq_allocators allocators = { .program = program };

	cr_assert_eq(hq_allocator_locate(&allocators, name, &allocator, &error), 0, "%s",
		     error.text);
	if (allocator.missing[0] != '\0')
		cr_skip_test("%s", allocator.missing);
	run(allocator.library);
}

static const struct hq_stats_record *record_at(enum hq_stats_point point)
{
	const uint64_t head = hq_load_acquire(&wire->stats.ring.head);

	for (uint64_t i = 0; i < head && i < HQ_STATS_ROOM; i++) {
		if (wire->stats.records[i].point == (uint32_t)point)
			return &wire->stats.records[i];
	}
	cr_assert_fail("there is no record at point %d", point);
	return NULL;
}

static bool knows(const struct hq_stats_record *record, enum hq_stat stat)
{
	return (record->known & 1u << stat) != 0;
}

/* What holds for every allocator, whatever it offers. */
static void expect_moments(void)
{
	const struct hq_stats_record *const begin = record_at(HQ_STATS_START);
	const struct hq_stats_record *const worked = record_at(HQ_STATS_WORKED);
	const struct hq_stats_record *const freed = record_at(HQ_STATS_FREED);
	const struct hq_stats_record *const released = record_at(HQ_STATS_RELEASED);

	cr_expect_eq(begin->live_bytes, 0);
	cr_expect_gt(worked->live_bytes, 24 * MIB);
	cr_expect_gt(worked->rss_bytes, worked->live_bytes);
	cr_expect_eq(worked->live_spread_bytes, 0);
	cr_expect_geq(worked->threads, 3);
	cr_expect_eq(worked->workers, 2);
	cr_expect_eq(freed->live_bytes, 0);
	cr_expect_neq(released->release, HQ_RELEASE_NONE);
	cr_expect_lt(released->rss_bytes, worked->rss_bytes);
	cr_expect_eq(hq_load_relaxed(&wire->stats.ring.dropped), 0);
}

/* The allocator's numbers at the moment at which the data are held. */
static void expect_numbers(void)
{
	const struct hq_stats_record *const worked = record_at(HQ_STATS_WORKED);

	cr_expect(knows(worked, HQ_STAT_ALLOCATED) && knows(worked, HQ_STAT_MAPPED));
	cr_expect_geq(worked->values[HQ_STAT_ALLOCATED], worked->live_bytes);
	cr_expect_geq(worked->values[HQ_STAT_MAPPED], worked->values[HQ_STAT_ALLOCATED]);
	for (int i = HQ_STAT_ALLOCATED; i <= HQ_STAT_MAPPED; i++) {
		if (knows(worked, (enum hq_stat)i))
			cr_expect_lt(worked->values[i], 1024 * MIB, "number %d", i);
	}
}

/* It was asked to give everything back, and says of so much at least that it did. */
static void expect_purges(uint64_t bytes)
{
	const struct hq_stats_record *const worked = record_at(HQ_STATS_WORKED);
	const struct hq_stats_record *const idle = record_at(HQ_STATS_IDLE);

	cr_expect(knows(idle, HQ_STAT_PURGES) && knows(idle, HQ_STAT_PURGED));
	cr_expect_gt(idle->values[HQ_STAT_PURGES], worked->values[HQ_STAT_PURGES]);
	cr_expect_gt(idle->values[HQ_STAT_PURGED], worked->values[HQ_STAT_PURGED] + bytes);
}

static void expect_all_of(const enum hq_stat *stats, size_t count)
{
	for (size_t i = 0; i < count; i++)
		cr_expect(knows(record_at(HQ_STATS_WORKED), stats[i]), "number %d", stats[i]);
}

#define EXPECT_KNOWN(...)                                                                          \
	do {                                                                                       \
		const enum hq_stat stats[] = { __VA_ARGS__ };                                      \
		expect_all_of(stats, sizeof(stats) / sizeof(stats[0]));                            \
	} while (0)

Test(host_stats, bedrock_tells_all_and_how_much_it_gave_back)
{
	run_installed("bedrock");
	expect_moments();
	expect_numbers();
	EXPECT_KNOWN(HQ_STAT_ACTIVE, HQ_STAT_RESIDENT, HQ_STAT_DIRTY, HQ_STAT_MUZZY, HQ_STAT_ARENAS,
		     HQ_STAT_BACKGROUND, HQ_STAT_CACHES, HQ_STAT_LAZY_PURGES, HQ_STAT_METADATA,
		     HQ_STAT_RETAINED);
	/* Whole chunks are unmapped, which is no purge. */
	expect_purges(0);
	cr_expect_eq(record_at(HQ_STATS_RELEASED)->release, HQ_RELEASE_BYTES);
}

Test(host_stats, faulty_tells_all_at_one_moment)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/libfaulty.so", build);
	run(path);
	expect_moments();
	expect_numbers();
	EXPECT_KNOWN(HQ_STAT_ACTIVE, HQ_STAT_RESIDENT, HQ_STAT_DIRTY, HQ_STAT_MUZZY,
		     HQ_STAT_BACKGROUND);
	cr_expect(hq_load_relaxed(&wire->status.stats_promises) & HQ_STATS_IS_ONE_MOMENT);
}

Test(host_stats, glibc_tells_blocks_and_address_space)
{
	run_installed("glibc");
	expect_moments();
	expect_numbers();
	cr_expect_not(knows(record_at(HQ_STATS_WORKED), HQ_STAT_RESIDENT));
}

Test(host_stats, jemalloc_tells_all)
{
	run_installed("jemalloc");
	expect_moments();
	expect_numbers();
	EXPECT_KNOWN(HQ_STAT_ACTIVE, HQ_STAT_RESIDENT, HQ_STAT_DIRTY, HQ_STAT_MUZZY, HQ_STAT_CACHED,
		     HQ_STAT_ARENAS, HQ_STAT_BACKGROUND, HQ_STAT_METADATA, HQ_STAT_RETAINED,
		     HQ_STAT_LOCK_WAITS, HQ_STAT_LOCK_WAIT_NS);
	expect_purges(24 * MIB);
}

Test(host_stats, mimalloc_tells_what_it_committed)
{
	run_installed("mimalloc");
	expect_moments();
	EXPECT_KNOWN(HQ_STAT_RESIDENT);
}

Test(host_stats, tcmalloc_tells_all_but_what_the_kernel_may_take)
{
	run_installed("tcmalloc");
	expect_moments();
	expect_numbers();
	EXPECT_KNOWN(HQ_STAT_ACTIVE, HQ_STAT_RESIDENT, HQ_STAT_DIRTY, HQ_STAT_CACHED,
		     HQ_STAT_RETAINED);
	expect_purges(24 * MIB);
	cr_expect_not(knows(record_at(HQ_STATS_WORKED), HQ_STAT_MUZZY));
}

Test(host_stats, without_being_asked_it_records_nothing)
{
	wire->config.stats_period_ns = 0;
	wire->config.releases = 0;
	strcpy(wire->config.options, "threads=2 burst=1MiB rounds=1 hold=0 pause=0");
	hq_store_release(&wire->go, 1);
	const pid_t host = fork();
	int status;

	cr_assert_geq(host, 0);
	if (host == 0)
		exec_host("");
	while (hq_load_acquire(&wire->status.state) < HQ_TARGET_FREED)
		usleep(1000);
	hq_store_release(&wire->finish, 1);
	cr_assert_eq(waitpid(host, &status, 0), host);
	cr_expect_eq(hq_load_acquire(&wire->stats.ring.head), 0);
}
