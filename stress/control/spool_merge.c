/* SPDX-License-Identifier: MIT */
/*
 * Bringing what many threads recorded into one order: each thread's records follow each other, and
 * of all threads the one whose next stamp is least comes next. A heap holds the threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "stress/control/spool.h"

struct segment {
	const struct hq_spool_head *head;
};

/* A thread's place among its segments. */
struct stream {
	const struct segment *next, *end;
	const uint64_t *at, *stop; /* in the segment before `next` */
	uint64_t stamp;            /* of the record at `at`, never less than the one before */
	uint32_t thread;
	uint16_t space;
};

struct merge {
	const struct hq_spool *spool;
	struct hq_trace_builder *builder;
	struct segment *segments;
	size_t segment_count;
	struct stream *heap; /* the least stamp first */
	size_t count;
	uint32_t *open; /* streams of each space that have not ended */

	uint32_t last_space; /* of the first process: its blocks stay until the end */
	uint64_t damaged;    /* segments that a broken program wrote into */
};

/* ---- segments ---- */

static int by_thread(const void *a, const void *b)
{
	const struct hq_spool_head *const x = ((const struct segment *)a)->head;
	const struct hq_spool_head *const y = ((const struct segment *)b)->head;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static const struct hq_spool_head *behind(const struct hq_spool_head *head)
{
	return (const void *)((const uint64_t *)(head + 1) + head->words);
}

static int find_segments(struct merge *merge, const void *data)
{
	const struct hq_spool_head *const end =
		(const void *)((const char *)data + merge->spool->bytes);
	size_t count = 0;

	for (const struct hq_spool_head *head = data; head < end; head = behind(head))
		count++;
	merge->segments = calloc(count + 1, sizeof(*merge->segments));
	if (!merge->segments)
		return -ENOMEM;
	for (const struct hq_spool_head *head = data; head < end; head = behind(head))
		merge->segments[merge->segment_count++].head = head;
	qsort(merge->segments, count, sizeof(*merge->segments), by_thread);
	return 0;
}

/* ---- the heap ---- */

static void sink(struct merge *merge, size_t place)
{
	const struct stream stream = merge->heap[place];
	size_t child;

	while ((child = 2 * place + 1) < merge->count) {
		if (child + 1 < merge->count &&
		    merge->heap[child + 1].stamp < merge->heap[child].stamp)
			child++;
		if (stream.stamp <= merge->heap[child].stamp)
			break;
		merge->heap[place] = merge->heap[child];
		place = child;
	}
	merge->heap[place] = stream;
}

/* ---- records ---- */

/* What lies at the stream's place is a whole record of a known kind. */
static bool is_sound(const struct stream *stream)
{
	const uint64_t left = (uint64_t)(stream->stop - stream->at);
	const uint64_t kind = left > 1 ? stream->at[1] >> HQ_RAW_KIND_SHIFT & 0xff : UINT64_MAX;

	return kind <= HQ_SEEN_RESIZE_TO && left >= hq_raw_words_of(kind) &&
	       stream->at[1] >> HQ_RAW_ALIGN_SHIFT <= HQ_TRACE_ALIGNMENT_MAX;
}

/* Goes on to the next record, of whichever segment; false: there is none. */
static bool settle(struct merge *merge, struct stream *stream)
{
	for (;;) {
		if (stream->at < stream->stop && is_sound(stream)) {
			if (stream->at[0] > stream->stamp)
				stream->stamp = stream->at[0];
			return true;
		}
		merge->damaged += stream->at < stream->stop;
		if (stream->next == stream->end)
			return false;
		stream->at = (const uint64_t *)(stream->next->head + 1);
		stream->stop = stream->at + stream->next->head->words;
		stream->next++;
	}
}

static uint64_t time_of(const struct hq_spool *spool, uint64_t stamp)
{
	const uint64_t ticks = spool->stamps[1] - spool->stamps[0];
	const uint64_t ns = spool->times_ns[1] - spool->times_ns[0];

	if (stamp <= spool->stamps[0] || ticks == 0)
		return 0;
	return (uint64_t)((unsigned __int128)(stamp - spool->stamps[0]) * ns / ticks);
}

static int build_record(struct merge *merge, struct stream *stream)
{
	const uint64_t word = stream->at[1];
	struct hq_trace_event event = {
		.time_ns = time_of(merge->spool, stream->stamp),
		.address = word & HQ_RAW_ADDRESS,
		.thread = stream->thread,
		.space = stream->space,
		.kind = (uint8_t)(word >> HQ_RAW_KIND_SHIFT),
		.alignment_shift = (uint8_t)(word >> HQ_RAW_ALIGN_SHIFT),
	};

	if (hq_raw_words_of(event.kind) == HQ_RAW_RECORD)
		event.size = stream->at[2];
	stream->at += hq_raw_words_of(event.kind);
	/* A size that cannot be was written by a program that writes where it should not. */
	if (event.address && event.size > HQ_TRACE_SIZE_MAX) {
		merge->damaged++;
		return 0;
	}
	return hq_trace_build(merge->builder, &event);
}

/* With its last thread, a process is gone, unless it is the one that the trace is of. */
static int stream_ended(struct merge *merge, const struct stream *stream)
{
	const struct hq_trace_event event = {
		.time_ns = time_of(merge->spool, stream->stamp),
		.thread = stream->thread,
		.space = stream->space,
		.kind = HQ_SEEN_END,
	};

	if (--merge->open[stream->space] > 0 || stream->space == merge->last_space)
		return 0;
	return hq_trace_build(merge->builder, &event);
}

/* ---- all of it ---- */

static int open_streams(struct merge *merge)
{
	const struct hq_raw *const raw = merge->spool->raw;
	size_t first = 0;

	merge->heap = calloc(merge->segment_count + 1, sizeof(*merge->heap));
	merge->open = calloc(HQ_RAW_SPACES + 1, sizeof(*merge->open));
	if (!merge->heap || !merge->open)
		return -ENOMEM;
	for (size_t i = 1; i <= merge->segment_count; i++) {
		const uint32_t thread = merge->segments[first].head->thread;
		struct stream stream = { .next = &merge->segments[first],
					 .end = &merge->segments[i],
					 .thread = thread,
					 .space = (uint16_t)raw->thread[thread].space };

		if (i < merge->segment_count && merge->segments[i].head->thread == thread)
			continue;
		first = i;
		if (!settle(merge, &stream))
			continue;
		merge->heap[merge->count++] = stream;
		merge->open[stream.space]++;
		if (raw->thread[thread].process == hq_load_relaxed(&raw->process) &&
		    stream.space >= merge->last_space)
			merge->last_space = stream.space;
	}
	for (size_t i = merge->count; i-- > 0;)
		sink(merge, i);
	return 0;
}

static int merge_streams(struct merge *merge)
{
	int status = 0;

	while (!status && merge->count > 0) {
		struct stream *const stream = &merge->heap[0];

		status = build_record(merge, stream);
		if (!settle(merge, stream)) {
			if (!status)
				status = stream_ended(merge, stream);
			*stream = merge->heap[--merge->count];
		}
		if (merge->count > 0)
			sink(merge, 0);
	}
	return status;
}

int hq_spool_merge(const struct hq_spool *spool, struct hq_trace_builder *builder)
{
	struct merge merge = { .spool = spool, .builder = builder };
	void *data = MAP_FAILED;
	int status = 0;

	if (spool->bytes > 0) {
		data = mmap(NULL, spool->bytes, PROT_READ, MAP_PRIVATE, spool->fd, 0);
		status = data == MAP_FAILED ? -errno : find_segments(&merge, data);
		if (!status)
			status = open_streams(&merge);
		if (!status)
			status = merge_streams(&merge);
	}
	free(merge.segments);
	free(merge.heap);
	free(merge.open);
	if (data != MAP_FAILED)
		munmap(data, spool->bytes);
	return status ? status
		      : hq_trace_builder_finish(builder, hq_spool_lost(spool) + merge.damaged);
}
