/* SPDX-License-Identifier: MIT */
/*
 * What a target prints. One thread reads both pipes; it ends when asked to, not at end of file,
 * since a grandchild of the target may hold a pipe open.
 */
#include "stress/control/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "injectors/thread.h"

#define CAPTURE_BOUND (4u << 20) /* bytes kept of each stream */
#define READ_BYTES    16384u
#define LAST_READS    128u /* of each stream, once it is over: more than a pipe holds */

struct capture_stream {
	int pipe_fd;
	int file_fd;
	uint64_t kept_bytes;
	uint64_t lost_bytes;
};

struct hq_capture {
	struct capture_stream streams[2];
	pthread_t thread;
	_Atomic uint32_t stopping;
};

static void keep(struct capture_stream *stream, const char *data, size_t length)
{
	const uint64_t room = CAPTURE_BOUND - stream->kept_bytes;
	const size_t wanted = length < room ? length : (size_t)room;
	const ssize_t written = wanted ? write(stream->file_fd, data, wanted) : 0;
	const size_t kept = written > 0 ? (size_t)written : 0;

	stream->kept_bytes += kept;
	stream->lost_bytes += length - kept;
}

/* True while there was something to read. */
static int read_some(struct capture_stream *stream)
{
	char data[READ_BYTES];
	const ssize_t got = stream->pipe_fd < 0 ? 0 : read(stream->pipe_fd, data, sizeof(data));

	if (got > 0)
		keep(stream, data, (size_t)got);
	if (got == 0 && stream->pipe_fd >= 0) {
		close(stream->pipe_fd);
		stream->pipe_fd = -1;
	}
	return got > 0;
}

static void *capture_main(void *cookie)
{
	struct hq_capture *capture = cookie;

	for (uint32_t left = LAST_READS; left;) {
		const uint32_t stopping = hq_load_relaxed(&capture->stopping);
		struct pollfd fds[2] = {
			{ .fd = capture->streams[0].pipe_fd, .events = POLLIN },
			{ .fd = capture->streams[1].pipe_fd, .events = POLLIN },
		};

		poll(fds, 2, stopping ? 0 : 20);
		const int some = read_some(&capture->streams[0]) | read_some(&capture->streams[1]);

		/* `stopping` was read before the pipes: the target was gone then, so empty means
		 * empty, and what goes on writing is none of it. */
		if (stopping)
			left = some ? left - 1 : 0;
	}
	return NULL;
}

static int open_stream(struct capture_stream *stream, const char *folder, const char *name,
		       int *child_fd)
{
	char path[4096];
	int fds[2];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	stream->file_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (stream->file_fd < 0)
		return -errno;
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	stream->pipe_fd = fds[0];
	*child_fd = fds[1];
	return fcntl(fds[0], F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static void close_streams(struct hq_capture *capture)
{
	for (int i = 0; i < 2; i++) {
		if (capture->streams[i].pipe_fd >= 0)
			close(capture->streams[i].pipe_fd);
		if (capture->streams[i].file_fd >= 0)
			close(capture->streams[i].file_fd);
	}
}

int hq_capture_start(struct hq_capture **out, const char *folder, const char *out_name,
		     const char *err_name, int *out_fd, int *err_fd)
{
	struct hq_capture *capture = calloc(1, sizeof(*capture));
	int result;

	*out_fd = *err_fd = -1;
	if (!capture)
		return -ENOMEM;
	for (int i = 0; i < 2; i++)
		capture->streams[i].pipe_fd = capture->streams[i].file_fd = -1;
	result = open_stream(&capture->streams[0], folder, out_name, out_fd);
	if (!result)
		result = open_stream(&capture->streams[1], folder, err_name, err_fd);
	if (!result)
		result = hq_thread_start(&capture->thread, capture_main, capture);
	if (!result) {
		*out = capture;
		return 0;
	}
	close_streams(capture);
	if (*out_fd >= 0)
		close(*out_fd);
	if (*err_fd >= 0)
		close(*err_fd);
	free(capture);
	return result;
}

void hq_capture_stop(struct hq_capture *capture)
{
	if (!capture)
		return;
	hq_store_relaxed(&capture->stopping, 1);
	pthread_join(capture->thread, NULL);
	for (int i = 0; i < 2; i++) {
		const struct capture_stream *stream = &capture->streams[i];

		if (stream->lost_bytes)
			dprintf(stream->file_fd, "\n[%" PRIu64 " more bytes were left out]\n",
				stream->lost_bytes);
	}
	close_streams(capture);
	free(capture);
}
