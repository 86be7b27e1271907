/* SPDX-License-Identifier: MIT */
/*
 * The shared memory between two real processes: what one writes the other reads, also after a
 * SIGKILL, and a target that is pointed at something else refuses it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress/wire/wire.h"

static struct hq_wire *wire;
static int fd = -1;

static void name_wire(pid_t pid, int descriptor)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, descriptor);
	setenv(HQ_WIRE_ENV, path, 1);
}

static void make(void)
{
	cr_assert_eq(hq_wire_create(&wire, &fd), 0);
	name_wire(getpid(), fd);
}

static void drop(void)
{
	hq_wire_destroy(wire, fd);
}

TestSuite(wire, .init = make, .fini = drop, .timeout = 30);

Test(wire, a_new_wire_is_empty_and_names_itself)
{
	cr_expect_eq(wire->magic, HQ_WIRE_MAGIC);
	cr_expect_eq(wire->version, HQ_WIRE_VERSION);
	cr_expect_eq(wire->size, sizeof(struct hq_wire));
	cr_expect_eq(hq_load_relaxed(&wire->status.state), HQ_TARGET_STARTING);
	cr_expect_eq(hq_load_relaxed(&wire->plane.claimed), 0);
}

Test(wire, its_descriptor_is_not_inherited_by_programs)
{
	cr_assert_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Pages of the file that are in memory. */
static size_t resident_pages(void)
{
	const size_t count = sizeof(*wire) / page_size();
	unsigned char *map = malloc(count + 1);
	size_t resident = 0;

	cr_assert_eq(mincore(wire, count * page_size(), map), 0);
	for (size_t i = 0; i < count; i++)
		resident += map[i] & 1;
	free(map);
	return resident;
}

Test(wire, populate_makes_the_named_workers_resident_and_not_the_others)
{
	const size_t wanted = offsetof(struct hq_wire, workers) + 3 * sizeof(struct hq_wire_worker);

	cr_assert_eq(hq_wire_populate(wire, 3), 0);
	cr_expect_geq(resident_pages(), wanted / page_size());
	cr_expect_leq(resident_pages(), wanted / page_size() + 2);
}

Test(wire, populate_keeps_what_is_written_and_refuses_too_many_workers)
{
	cr_expect_eq(hq_wire_populate(wire, HQ_WIRE_WORKERS + 1), -EINVAL);
	wire->workers[0].mallocs = 5;
	cr_expect_eq(hq_wire_populate(wire, 1), 0);
	cr_expect_eq(wire->workers[0].mallocs, 5);
}

Test(wire, attaching_finds_the_same_memory)
{
	struct hq_wire *second;

	cr_assert_eq(hq_wire_attach(&second), 0);
	wire->config.seed = 42;
	cr_expect_neq((void *)second, (void *)wire);
	cr_expect_eq(second->config.seed, 42);
	hq_wire_destroy(second, -1);
}

Test(wire, attaching_without_a_name_says_so)
{
	struct hq_wire *second;

	unsetenv(HQ_WIRE_ENV);
	cr_assert_eq(hq_wire_attach(&second), -ENOENT);
}

Test(wire, attaching_to_a_file_that_is_gone_says_so)
{
	struct hq_wire *second;

	setenv(HQ_WIRE_ENV, "/proc/self/fd/1000000", 1);
	cr_assert_eq(hq_wire_attach(&second), -ENOENT);
}

Test(wire, attaching_to_a_file_that_is_too_short_is_refused)
{
	struct hq_wire *second;

	cr_assert_eq(ftruncate(fd, 4096), 0);
	cr_assert_eq(hq_wire_attach(&second), -EPROTO);
}

Test(wire, attaching_to_another_version_is_refused)
{
	struct hq_wire *second;

	wire->version++;
	cr_assert_eq(hq_wire_attach(&second), -EPROTO);
	wire->version--;
	wire->magic++;
	cr_assert_eq(hq_wire_attach(&second), -EPROTO);
}

#define RECORDS 20000u

/* Writes numbered events as fast as it can, waiting for room until they all went in. */
static void write_events(void)
{
	struct hq_wire *own;

	if (hq_wire_attach(&own) != 0)
		_exit(2);
	struct hq_wire_worker *worker = &own->workers[1];

	for (uint64_t n = 0; n < RECORDS;) {
		const int64_t slot = hq_ring_reserve(&worker->ring, HQ_WIRE_EVENTS);

		if (slot < 0) {
			usleep(50);
			continue;
		}
		worker->events[slot] = (struct hq_event){ .op = n, .got = ~n };
		hq_ring_publish(&worker->ring);
		hq_hist_record(&worker->hist[HQ_LATENCY_OP], n);
		n++;
	}
	_exit(0);
}

Test(wire, events_cross_between_processes_whole_and_in_order)
{
	struct hq_wire_worker *worker = &wire->workers[1];
	const pid_t child = fork();
	int status;

	if (child == 0)
		write_events();
	for (uint64_t n = 0; n < RECORDS;) {
		const int64_t slot = hq_ring_peek(&worker->ring, HQ_WIRE_EVENTS);

		if (slot < 0)
			continue;
		cr_assert_eq(worker->events[slot].op, n);
		cr_assert_eq(worker->events[slot].got, ~n);
		hq_ring_taken(&worker->ring);
		n++;
	}
	waitpid(child, &status, 0);
	cr_expect_eq(status, 0);
	cr_expect_eq(hq_hist_count(&worker->hist[HQ_LATENCY_OP]), RECORDS);
}

/* Publishes forever; nobody takes, so the ring fills, drops and counts. */
static void overflow_until_killed(void)
{
	struct hq_wire *own;

	if (hq_wire_attach(&own) != 0)
		_exit(2);
	struct hq_wire_worker *worker = &own->workers[0];

	for (uint64_t n = 0;; n++) {
		const int64_t slot = hq_ring_reserve(&worker->ring, HQ_WIRE_EVENTS);

		if (slot < 0)
			continue;
		worker->events[slot].op = n;
		hq_ring_publish(&worker->ring);
	}
}

Test(wire, the_last_records_of_a_killed_process_stay_readable)
{
	struct hq_wire_worker *worker = &wire->workers[0];
	const pid_t child = fork();
	uint64_t taken = 0;
	int64_t slot;
	int status;

	if (child == 0)
		overflow_until_killed();
	while (hq_load_relaxed(&worker->ring.dropped) == 0)
		usleep(100);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	cr_expect(WIFSIGNALED(status));
	for (; (slot = hq_ring_peek(&worker->ring, HQ_WIRE_EVENTS)) >= 0; taken++) {
		cr_expect_eq(worker->events[slot].op, taken);
		hq_ring_taken(&worker->ring);
	}
	cr_expect_eq(taken, HQ_WIRE_EVENTS);
}
