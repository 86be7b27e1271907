/* SPDX-License-Identifier: MIT */
/*
 * Files of insert-scan: without a name, so that nothing is left of them however the run ends. One
 * that does not take what is written, or does not sync, is told to the host: the engine can go on
 * without it, but then it was not measured what was asked for.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "stress/workload/insert_scan.h"

int insert_scan_file_open(int *file)
{
	const char *const folder = getenv("TMPDIR");

	*file = open(folder != NULL && folder[0] != '\0' ? folder : "/tmp",
		     O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return *file < 0 ? -errno : 0;
}

bool insert_scan_file_write(int file, const void *from, uint64_t bytes, uint64_t offset)
{
	for (uint64_t at = 0; at < bytes;) {
		const ssize_t done =
			pwrite(file, (const uint8_t *)from + at, bytes - at, (off_t)(offset + at));

		if (done > 0) {
			at += (uint64_t)done;
		} else if (done == 0 || errno != EINTR) {
			hq_host_unwritten(done == 0 ? ENOSPC : errno);
			return false;
		}
	}
	return true;
}

bool insert_scan_file_read(int file, void *to, uint64_t bytes, uint64_t offset)
{
	for (uint64_t at = 0; at < bytes;) {
		const ssize_t done =
			pread(file, (uint8_t *)to + at, bytes - at, (off_t)(offset + at));

		if (done > 0)
			at += (uint64_t)done;
		else if (done == 0 || errno != EINTR)
			return false;
	}
	return true;
}

void insert_scan_file_sync(int file)
{
	while (fdatasync(file) != 0) {
		if (errno != EINTR) {
			hq_host_unwritten(errno);
			return;
		}
	}
}
