/* SPDX-License-Identifier: MIT */
/*
 * Where a thread's records go: it takes a chunk, fills it, leaves it to the controller and takes
 * the next. Without a free one, and for threads beyond all room, calls are counted as lost.
 *
 * Nobody tells when a thread has made its last call. Most say that they end; the controller looks
 * for those that could not.
 */
#include "injectors/syscall/raw.h"
#include "stress/recorder/recorder.h"

#define SKIPS 64u /* calls that are lost without looking for a chunk again */

static void take_index(struct hq_recorder_self *self)
{
	struct hq_raw *const raw = hq_recorder.raw;
	const uint32_t index = hq_fetch_add_relaxed(&raw->threads, 1);
	struct hq_raw_thread *thread;

	if (index >= HQ_RAW_THREADS) {
		/* So that it never wraps, whatever comes. */
		hq_fetch_add_relaxed(&raw->threads, -1u);
		return;
	}
	thread = &raw->thread[index];
	thread->space = hq_recorder.space;
	thread->process = (uint32_t)hq_raw1(SYS_getpid, 0);
	thread->id = (uint32_t)hq_raw1(SYS_gettid, 0);
	/* Pairs with the acquire of the controller: it is written. */
	hq_store_release(&thread->ready, 1);
	self->index = index + 1;
}

static struct hq_raw_chunk *find_free(struct hq_raw *raw, uint32_t thread)
{
	const uint32_t start = hq_fetch_add_relaxed(&raw->next, 1);

	for (uint32_t i = 0; i < HQ_RAW_CHUNKS; i++) {
		struct hq_raw_chunk *const chunk = &raw->chunk[(start + i) % HQ_RAW_CHUNKS];
		uint32_t state = HQ_RAW_FREE;

		/* Pairs with the release of the controller: it has read what was there. */
		if (hq_load_relaxed(&chunk->state) == HQ_RAW_FREE &&
		    hq_cas_acq_rel(&chunk->state, &state,
				   HQ_RAW_TAKEN | thread << HQ_RAW_OWNER_SHIFT))
			return chunk;
	}
	return NULL;
}

static void leave_chunk(struct hq_recorder_self *self)
{
	/* Pairs with the acquire of the controller: all is written. */
	if (self->chunk)
		hq_store_release(&self->chunk->state, HQ_RAW_FULL | (self->index - 1)
									    << HQ_RAW_OWNER_SHIFT);
	self->chunk = NULL;
}

static struct hq_raw_chunk *lose(struct hq_recorder_self *self)
{
	struct hq_raw *const raw = hq_recorder.raw;

	if (self->index)
		hq_count_own(&raw->thread[self->index - 1].lost, 1);
	else
		hq_fetch_add_relaxed(&raw->lost_threads, 1);
	return NULL;
}

struct hq_raw_chunk *hq_recorder_take_chunk(void)
{
	struct hq_recorder_self *const self = &hq_recorder_self;
	struct hq_raw *raw;

	if (HQ_BETWEEN_UNLIKELY(!hq_load_relaxed(hq_recorder.is_own)))
		hq_recorder_forked();
	raw = hq_recorder.raw;
	if (!raw)
		return NULL;
	leave_chunk(self);
	if (hq_load_relaxed(&raw->stop))
		return lose(self);
	if (self->to_skip > 0 && self->to_skip--)
		return lose(self);
	if (self->index == 0)
		take_index(self);
	if (self->index)
		self->chunk = find_free(raw, self->index - 1);
	if (!self->chunk) {
		self->to_skip = SKIPS;
		return lose(self);
	}
	self->chunk->number = self->chunks++;
	if (hq_recorder.has_key)
		pthread_setspecific(hq_recorder.key, self);
	return self->chunk;
}

static void thread_ends(void *argument)
{
	leave_chunk(argument);
}

__attribute__((constructor)) static void start(void)
{
	if (hq_recorder_ready() && hq_recorder.raw)
		hq_recorder.has_key = pthread_key_create(&hq_recorder.key, thread_ends) == 0;
}
