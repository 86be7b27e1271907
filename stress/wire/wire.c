/* SPDX-License-Identifier: MIT */
/*
 * The controller's side of the shared memory: making it, making parts of it resident, giving it
 * back.
 *
 * It is an unlinked file in memory, so nothing is left behind when the controller dies, and sparse:
 * only the parts that a run uses take up memory.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stress/wire/wire.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int hq_wire_create(struct hq_wire **wire, int *fd)
{
	struct hq_wire *made;
	int error;

	/* Targets open it by path, so no program that we start inherits it by accident. */
	*fd = memfd_create("heapquake-wire", MFD_CLOEXEC);
	if (*fd < 0)
		return -errno;
	if (ftruncate(*fd, sizeof(*made)) != 0)
		goto fail;
	made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (made == MAP_FAILED)
		goto fail;
	made->magic = HQ_WIRE_MAGIC;
	made->version = HQ_WIRE_VERSION;
	made->size = sizeof(*made);
	*wire = made;
	return 0;
fail:
	error = errno;
	close(*fd);
	*fd = -1;
	return -error;
}

void hq_wire_destroy(struct hq_wire *wire, int fd)
{
	if (wire)
		munmap(wire, sizeof(*wire));
	if (fd >= 0)
		close(fd);
}

/* For kernels before 5.14; adding nothing to a word dirties its page whoever else writes there. */
static void touch_pages(char *start, const char *end, size_t page_size)
{
	for (; start < end; start += page_size)
		hq_fetch_add_relaxed((_Atomic unsigned char *)start, 0);
}

int hq_wire_populate(struct hq_wire *wire, uint32_t worker_count)
{
	char *start = (char *)wire;
	const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

	if (worker_count > HQ_WIRE_WORKERS)
		return -EINVAL;
	const size_t size =
		offsetof(struct hq_wire, workers) + worker_count * sizeof(struct hq_wire_worker);

	if (madvise(start, size, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	touch_pages(start, start + size, page_size);
	return 0;
}
