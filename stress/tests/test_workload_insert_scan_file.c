/* SPDX-License-Identifier: MIT */
/*
 * Files of the workload insert-scan: blocks and logs are written to them and synced as often as it
 * says, and a disk that does not take them is told and costs no row.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stress/tests/host_fixture.h"
#include "stress/workload/insert_scan.h"

#define SMALL "rows=3k batch=100 budget=128KiB block=4KiB cache=64KiB fan=3 "

static struct host_fixture fixture;
static struct host_fixture_run run;

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_insert_scan_file, .init = start, .timeout = 100);

static struct insert_scan_tally *tally(void)
{
	return &((struct insert_scan_shared *)run.work.shared)->tally;
}

static _Atomic uint64_t syncs;
static bool disk_is_full, disk_cannot_sync;

/* The workload's calls end here, in place of the C library's. */
ssize_t pwrite(int file, const void *from, size_t bytes, off_t offset)
{
	if (!disk_is_full)
		return syscall(SYS_pwrite64, file, from, bytes, offset);
	errno = ENOSPC;
	return -1;
}

int fdatasync(int file)
{
	cr_assert_geq(file, 0);
	hq_fetch_add_relaxed(&syncs, 1);
	errno = EIO;
	return disk_cannot_sync ? -1 : 0;
}

static uint64_t file_bytes(int file)
{
	struct stat status;

	cr_assert_eq(fstat(file, &status), 0);
	return (uint64_t)status.st_size;
}

static uint64_t unwritten(void)
{
	return hq_load_relaxed(&fixture.wire->status.unwritten);
}

Test(workload_insert_scan_file, blocks_and_logs_go_through_files)
{
	const struct insert_scan_shared *written;

	host_fixture_run(&fixture, &run, "insert-scan", SMALL "storage=file");
	host_fixture_expect_clean(&fixture);
	written = run.work.shared;
	cr_expect_gt(file_bytes(written->file), hq_load_relaxed(&tally()->bytes_flushed));
	cr_expect_gt(file_bytes(written->clients[0].log_file), 0);
	cr_expect_gt(file_bytes(written->clients[1].log_file), 0);
	cr_expect_eq(unwritten(), 0);
}

Test(workload_insert_scan_file, a_full_disk_is_told_and_loses_no_row)
{
	disk_is_full = true;
	host_fixture_run(&fixture, &run, "insert-scan", SMALL "storage=file");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
	cr_expect_gt(hq_load_relaxed(&tally()->bytes_flushed), 0);
	/* Every entry of the logs, and every block. */
	cr_expect_gt(unwritten(), 2 * 3000 / 100);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->status.unwritten_error), ENOSPC);
}

static uint64_t syncs_of(const char *options)
{
	hq_store_relaxed(&syncs, 0);
	host_fixture_run(&fixture, &run, "insert-scan", options);
	host_fixture_expect_clean(&fixture);
	return hq_load_relaxed(&syncs);
}

Test(workload_insert_scan_file, a_file_is_synced_as_often_as_it_says)
{
	const uint64_t none = syncs_of(SMALL "storage=file sync=none");
	const uint64_t flush = syncs_of(SMALL "storage=file sync=flush");
	const uint64_t log = syncs_of(SMALL "storage=file sync=log");

	cr_expect_eq(none, 0);
	cr_expect_gt(flush, hq_load_relaxed(&tally()->compactions));
	cr_expect_eq(log, flush + 2 * 3000 / 100);
	cr_expect_eq(unwritten(), 0);
}

Test(workload_insert_scan_file, a_disk_that_does_not_sync_is_told)
{
	disk_cannot_sync = true;
	cr_expect_eq(syncs_of(SMALL "storage=file sync=log"), unwritten());
	cr_expect_gt(unwritten(), 0);
	cr_expect_eq(hq_load_relaxed(&fixture.wire->status.unwritten_error), EIO);
}
