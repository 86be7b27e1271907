/* SPDX-License-Identifier: MIT */
/*
 * Moving what was recorded out of shared memory. The file is bounded: beyond, the recorder is told
 * to stop.
 */
#include "stress/control/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "injectors/units.h"
#include "stress/observe/calibrate.h"

/* Between the two readings of the counter, so that its speed is known well enough. */
#define CALIBRATE_NS (50 * HQ_MS)

static int make_raw(struct hq_spool *spool)
{
	void *memory;

	spool->raw_fd = memfd_create("heapquake-record", MFD_CLOEXEC);
	if (spool->raw_fd < 0 || ftruncate(spool->raw_fd, sizeof(*spool->raw)))
		return -errno;
	memory = mmap(NULL, sizeof(*spool->raw), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		      spool->raw_fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	spool->raw = memory;
	return 0;
}

/* A file that is gone when it is closed, where the trace will be: there is room for that one. */
static int make_file(struct hq_spool *spool, const char *folder)
{
	char path[4096];

	spool->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (spool->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR)
		return -errno;
	if (snprintf(path, sizeof(path), "%s/.heapquake-XXXXXX", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	spool->fd = mkostemp(path, O_CLOEXEC);
	if (spool->fd < 0)
		return -errno;
	unlink(path);
	return 0;
}

static void read_clocks(struct hq_spool *spool, int when)
{
	spool->stamps[when] = hq_raw_stamp(spool->raw->uses_clock);
	spool->times_ns[when] = hq_raw_clock_ns();
}

int hq_spool_open(struct hq_spool *spool, const char *folder, uint64_t bytes_max,
		  bool with_children)
{
	int status;

	*spool = (struct hq_spool){ .raw_fd = -1, .fd = -1, .bytes_max = bytes_max };
	status = make_raw(spool);
	if (!status)
		status = make_file(spool, folder);
	if (status)
		return status;
	spool->raw->version = HQ_RAW_VERSION;
	spool->raw->size = sizeof(*spool->raw);
	spool->raw->with_children = with_children;
	spool->raw->uses_clock = hq_calibrate_ns_per_tick() == 0;
	spool->raw->magic = HQ_RAW_MAGIC;
	read_clocks(spool, 0);
	return 0;
}

void hq_spool_close(struct hq_spool *spool)
{
	if (spool->raw)
		munmap(spool->raw, sizeof(*spool->raw));
	if (spool->raw_fd >= 0)
		close(spool->raw_fd);
	if (spool->fd >= 0)
		close(spool->fd);
	*spool = (struct hq_spool){ .raw_fd = -1, .fd = -1 };
}

static int write_all(int fd, struct iovec *parts, int count)
{
	while (count > 0) {
		ssize_t written = writev(fd, parts, count);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		for (; count > 0 && (size_t)written >= parts->iov_len; parts++, count--)
			written -= (ssize_t)parts->iov_len;
		if (count > 0) {
			parts->iov_base = (char *)parts->iov_base + written;
			parts->iov_len -= (size_t)written;
		}
	}
	return 0;
}

/* Copies a chunk as far as it is written, and bounds what a damaged target may have put there. */
static int move_chunk(struct hq_spool *spool, struct hq_raw_chunk *chunk, uint32_t state)
{
	/* Pairs with the release in hq_recorder_publish. */
	const uint32_t used = hq_load_acquire(&chunk->used);
	struct hq_spool_head head = { .thread = state >> HQ_RAW_OWNER_SHIFT,
				      .number = chunk->number,
				      .words = used < HQ_RAW_WORDS ? used : HQ_RAW_WORDS };
	const size_t bytes = head.words * sizeof(uint64_t);
	struct iovec parts[] = { { &head, sizeof(head) }, { chunk->words, bytes } };

	if (used == 0 || head.thread >= HQ_RAW_THREADS)
		return 0;
	if (spool->bytes + sizeof(head) + bytes > spool->bytes_max) {
		spool->is_full = true;
		hq_store_relaxed(&spool->raw->stop, 1);
		hq_fetch_add_relaxed(&spool->raw->lost_threads, used / HQ_RAW_RECORD);
		return 0;
	}
	spool->bytes += sizeof(head) + bytes;
	return write_all(spool->fd, parts, 2);
}

static int move_and_free(struct hq_spool *spool, struct hq_raw_chunk *chunk, uint32_t state)
{
	const int status = move_chunk(spool, chunk, state);

	hq_store_relaxed(&chunk->used, 0);
	/* Pairs with the acquire in find_free: it was read. */
	hq_store_release(&chunk->state, HQ_RAW_FREE);
	return status;
}

int hq_spool_drain(struct hq_spool *spool)
{
	int status = 0;

	for (uint32_t i = 0; !status && i < HQ_RAW_CHUNKS; i++) {
		struct hq_raw_chunk *const chunk = &spool->raw->chunk[i];
		/* Pairs with the release in leave_chunk. */
		const uint32_t state = hq_load_acquire(&chunk->state);

		if ((state & HQ_RAW_STATE_MASK) == HQ_RAW_FULL)
			status = move_and_free(spool, chunk, state);
	}
	return status;
}

static bool is_gone(const struct hq_spool *spool, uint32_t index)
{
	const struct hq_raw_thread *const thread = &spool->raw->thread[index];

	/* Pairs with the release in take_index. */
	return index < HQ_RAW_THREADS && hq_load_acquire(&thread->ready) &&
	       syscall(SYS_tgkill, thread->process, thread->id, 0) && errno == ESRCH;
}

int hq_spool_reclaim(struct hq_spool *spool, pid_t process)
{
	int status = 0;

	/* In a pid namespace of its own, the program numbers its threads otherwise. */
	if (hq_load_relaxed(&spool->raw->process) != (uint32_t)process)
		return 0;
	for (uint32_t i = 0; !status && i < HQ_RAW_CHUNKS; i++) {
		struct hq_raw_chunk *const chunk = &spool->raw->chunk[i];
		uint32_t state = hq_load_acquire(&chunk->state);

		if ((state & HQ_RAW_STATE_MASK) == HQ_RAW_TAKEN &&
		    is_gone(spool, state >> HQ_RAW_OWNER_SHIFT))
			status = move_and_free(spool, chunk, state);
	}
	return status;
}

int hq_spool_finish(struct hq_spool *spool)
{
	int status;

	hq_store_relaxed(&spool->raw->stop, 1);
	status = hq_spool_drain(spool);
	for (uint32_t i = 0; !status && i < HQ_RAW_CHUNKS; i++) {
		struct hq_raw_chunk *const chunk = &spool->raw->chunk[i];
		const uint32_t state = hq_load_acquire(&chunk->state);

		if ((state & HQ_RAW_STATE_MASK) == HQ_RAW_TAKEN)
			status = move_chunk(spool, chunk, state);
	}
	while (hq_raw_clock_ns() - spool->times_ns[0] < CALIBRATE_NS)
		usleep(1000);
	read_clocks(spool, 1);
	return status;
}

uint64_t hq_spool_lost(const struct hq_spool *spool)
{
	const struct hq_raw *const raw = spool->raw;
	uint64_t lost = hq_load_relaxed(&raw->lost_threads);

	for (uint32_t i = 0; i < HQ_RAW_THREADS && i < hq_load_relaxed(&raw->threads); i++)
		lost += hq_load_relaxed(&raw->thread[i].lost);
	return lost;
}
