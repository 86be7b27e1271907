/* SPDX-License-Identifier: MIT */
/*
 * Building a trace: what is live by address, what becomes of each call that was seen.
 */
#include "stress/trace/builder.h"

#include <errno.h>
#include <stdlib.h>

/* Clocks of two processors agree better than this. */
#define SWAP_MAX_NS 5000u

int hq_trace_builder_open(struct hq_trace_builder *builder, int fd, uint64_t bytes_max,
			  uint32_t tick_ns)
{
	*builder = (struct hq_trace_builder){ .has_begun = false };
	return hq_trace_writer_open(&builder->writer, fd, bytes_max, tick_ns);
}

void hq_trace_builder_close(struct hq_trace_builder *builder)
{
	hq_trace_writer_close(&builder->writer);
	hq_live_clear(&builder->live);
	free(builder->threads);
	builder->threads = NULL;
}

uint64_t hq_trace_repairs_sum(const struct hq_trace_repairs *repairs)
{
	return repairs->unknown_frees + repairs->missing_frees + repairs->unknown_resizes +
	       repairs->torn_resizes + repairs->swapped;
}

static uint64_t key_of(const struct hq_trace_event *event)
{
	return event->address ? (uint64_t)event->space << HQ_LIVE_SPACE_SHIFT | event->address : 0;
}

/* NULL without memory. */
static struct hq_trace_thread *thread_of(struct hq_trace_builder *builder, uint32_t thread)
{
	const uint32_t room = 2 * thread + 16;

	if (thread >= builder->thread_count) {
		struct hq_trace_thread *const more =
			realloc(builder->threads, room * sizeof(*more));

		if (!more)
			return NULL;
		for (uint32_t i = builder->thread_count; i < room; i++)
			more[i] = (struct hq_trace_thread){ .number = 0 };
		builder->threads = more;
		builder->thread_count = room;
	}
	return &builder->threads[thread];
}

/* ---- what goes into the trace ---- */

static int emit(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
		struct hq_trace_op op)
{
	struct hq_trace_info *const info = &builder->writer.info;

	/* Threads are numbered as they come; one whose part was cut keeps its number. */
	if (thread->number == 0)
		thread->number = info->threads + 1;
	op.thread = thread->number - 1;
	op.tick = builder->tick;
	if (builder->live_bytes > info->peak_bytes)
		info->peak_bytes = builder->live_bytes;
	if (builder->live.count > info->peak_blocks)
		info->peak_blocks = builder->live.count;
	return hq_trace_write(&builder->writer, &op);
}

static int emit_free(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
		     const struct hq_live_block *block)
{
	builder->live_bytes -= block->size;
	return emit(builder, thread,
		    (struct hq_trace_op){ .kind = HQ_TRACE_FREE, .block = block->number });
}

static int enter(struct hq_trace_builder *builder, uint64_t key, struct hq_live_block block)
{
	builder->live_bytes += block.size;
	return hq_live_add(&builder->live, key, block);
}

/* An address that is about to be given out is free, whatever was seen. */
static int make_room(struct hq_trace_builder *builder, struct hq_trace_thread *thread, uint64_t key)
{
	struct hq_live_block block;

	if (!hq_live_take(&builder->live, key, &block))
		return 0;
	builder->repairs.missing_frees++;
	return emit_free(builder, thread, &block);
}

/* ---- frees that came too early ---- */

static void park(struct hq_trace_builder *builder, const struct hq_trace_event *event)
{
	builder->repairs.unknown_frees++;
	builder->parked[builder->parked_next++ % HQ_TRACE_PARKED] = (struct hq_trace_parked){
		.key = key_of(event), .time_ns = event->time_ns, .thread = event->thread
	};
}

/* Was the block that has just been made freed a moment before, by another thread? */
static int free_if_parked(struct hq_trace_builder *builder, const struct hq_trace_event *event)
{
	const uint64_t key = key_of(event);
	struct hq_live_block block;

	for (uint32_t i = 0; builder->parked_next > 0 && i < HQ_TRACE_PARKED; i++) {
		struct hq_trace_parked *const parked = &builder->parked[i];

		if (parked->key != key || parked->thread == event->thread ||
		    event->time_ns - parked->time_ns > SWAP_MAX_NS)
			continue;
		parked->key = 0;
		builder->repairs.unknown_frees--;
		builder->repairs.swapped++;
		hq_live_take(&builder->live, key, &block);
		return emit_free(builder, &builder->threads[parked->thread], &block);
	}
	return 0;
}

/* ---- calls ---- */

static int allocated(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
		     const struct hq_trace_event *event, enum hq_trace_kind kind)
{
	const uint64_t key = key_of(event);
	struct hq_live_block block;
	int status;

	if (key == 0) {
		builder->refused++;
		return 0;
	}
	status = make_room(builder, thread, key);
	block = (struct hq_live_block){ .number = (uint32_t)builder->writer.info.blocks,
					.size = event->size };
	if (!status)
		status = enter(builder, key, block);
	if (!status)
		status = emit(builder, thread,
			      (struct hq_trace_op){ .kind = (uint8_t)kind,
						    .block = block.number,
						    .size = event->size,
						    .alignment_shift = event->alignment_shift });
	return status ? status : free_if_parked(builder, event);
}

static int freed(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
		 const struct hq_trace_event *event)
{
	struct hq_live_block block;

	if (event->address == 0)
		return 0;
	if (hq_live_take(&builder->live, key_of(event), &block))
		return emit_free(builder, thread, &block);
	park(builder, event);
	return 0;
}

static int resize_begins(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
			 const struct hq_trace_event *event)
{
	thread->resizes = true;
	thread->key = key_of(event);
	thread->is_known = hq_live_take(&builder->live, thread->key, &thread->block);
	if (thread->is_known)
		builder->live_bytes -= thread->block.size;
	else
		builder->repairs.unknown_resizes++;
	return 0;
}

/* realloc said NULL: the block is there as it was, unless nothing was asked for. */
static int resize_refused(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
			  const struct hq_trace_event *event)
{
	builder->live_bytes += thread->block.size;
	if (event->size == 0)
		return emit_free(builder, thread, &thread->block);
	builder->refused++;
	return hq_live_add(&builder->live, thread->key, thread->block);
}

static int resize_ends(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
		       const struct hq_trace_event *event)
{
	const bool is_known = thread->resizes && thread->is_known;
	struct hq_live_block block = { .number = thread->block.number, .size = event->size };
	int status;

	if (!is_known && event->address == 0 && thread->resizes && event->size == 0) {
		thread->resizes = false;
		return 0;
	}
	thread->resizes = false;
	if (!is_known)
		return allocated(builder, thread, event, HQ_TRACE_MALLOC);
	if (event->address == 0)
		return resize_refused(builder, thread, event);
	status = make_room(builder, thread, key_of(event));
	if (!status)
		status = enter(builder, key_of(event), block);
	return status ? status
		      : emit(builder, thread,
			     (struct hq_trace_op){ .kind = HQ_TRACE_RESIZE,
						   .block = block.number,
						   .size = event->size });
}

/* The end of a realloc was lost. */
static int resize_is_torn(struct hq_trace_builder *builder, struct hq_trace_thread *thread)
{
	thread->resizes = false;
	builder->repairs.torn_resizes++;
	if (!thread->is_known)
		return 0;
	builder->live_bytes += thread->block.size;
	return emit_free(builder, thread, &thread->block);
}

static int process_ended(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
			 const struct hq_trace_event *event)
{
	struct hq_live_block block;
	uint64_t from = 0, key;
	int status = 0;

	while (!status && (key = hq_live_any(&builder->live, event->space, &from)) != 0) {
		hq_live_take(&builder->live, key, &block);
		builder->closed++;
		status = emit_free(builder, thread, &block);
	}
	return status;
}

static int take(struct hq_trace_builder *builder, struct hq_trace_thread *thread,
		const struct hq_trace_event *event)
{
	switch (event->kind) {
	case HQ_SEEN_FREE:
		return freed(builder, thread, event);
	case HQ_SEEN_MALLOC:
		return allocated(builder, thread, event, HQ_TRACE_MALLOC);
	case HQ_SEEN_CALLOC:
		return allocated(builder, thread, event, HQ_TRACE_CALLOC);
	case HQ_SEEN_ALIGNED:
		return allocated(builder, thread, event, HQ_TRACE_ALIGNED);
	case HQ_SEEN_RESIZE_FROM:
		return resize_begins(builder, thread, event);
	case HQ_SEEN_RESIZE_TO:
		return resize_ends(builder, thread, event);
	case HQ_SEEN_END:
		return process_ended(builder, thread, event);
	default:
		return -EINVAL;
	}
}

static void set_time(struct hq_trace_builder *builder, uint64_t time_ns)
{
	uint64_t tick;

	if (!builder->has_begun)
		builder->begin_ns = time_ns;
	builder->has_begun = true;
	if (time_ns < builder->begin_ns)
		return;
	tick = (time_ns - builder->begin_ns) / builder->writer.info.tick_ns;
	if (tick > builder->tick)
		builder->tick = tick;
}

int hq_trace_build(struct hq_trace_builder *builder, const struct hq_trace_event *event)
{
	struct hq_trace_thread *thread;
	int status = 0;

	/* What follows is only counted: what is live does not matter any more. */
	if (builder->writer.is_full) {
		builder->writer.info.cut += event->kind != HQ_SEEN_RESIZE_FROM;
		return 0;
	}
	if (event->thread >= HQ_TRACE_THREADS ||
	    (event->address && event->size > HQ_TRACE_SIZE_MAX) ||
	    event->alignment_shift > HQ_TRACE_ALIGNMENT_MAX ||
	    event->address >> HQ_LIVE_SPACE_SHIFT || builder->writer.info.blocks >= HQ_TRACE_BLOCKS)
		return -EINVAL;
	set_time(builder, event->time_ns);
	thread = thread_of(builder, event->thread);
	if (!thread)
		return -ENOMEM;
	if (thread->resizes && event->kind != HQ_SEEN_RESIZE_TO)
		status = resize_is_torn(builder, thread);
	return status ? status : take(builder, thread, event);
}

int hq_trace_builder_finish(struct hq_trace_builder *builder, uint64_t lost)
{
	builder->writer.info.lost = lost;
	builder->writer.info.repaired = hq_trace_repairs_sum(&builder->repairs);
	builder->writer.kept.lost = builder->writer.info.lost;
	builder->writer.kept.repaired = builder->writer.info.repaired;
	return hq_trace_writer_finish(&builder->writer);
}
