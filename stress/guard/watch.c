/* SPDX-License-Identifier: MIT */
/*
 * What is looked at around a call: overlap and the same block twice, alignment, zeroes from calloc,
 * usable size, errno, and frees of what is no live block. The part that every call passes is in
 * watch.h; here is what happens when something is unusual.
 *
 * An allocator may call its own exported functions, and then calls of the guard nest: the inner one
 * enters a block that the outer one returns, and a free within a realloc is of a block that was
 * left already. So only outermost calls judge frees, and a block that an inner call entered is left
 * before the outer one enters it.
 */
#include "stress/guard/watch.h"

#include <errno.h>

/* ---- drawing ---- */

static uint32_t draw_gap(struct hq_guard_self *self)
{
	self->drawn = self->drawn * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(self->drawn >> 33) % (2 * hq_guard.every - 1);
}

/*
 * Uniform gaps, so that no pattern of a program's requests escapes or is always hit. The first gap
 * of a thread is drawn too, or threads that live shortly would be watched more than others.
 */
bool hq_guard_draw(struct hq_guard_self *self)
{
	const bool is_first = self->drawn == 0;

	if (self->to_skip) {
		self->to_skip--;
		return false;
	}
	if (is_first)
		self->drawn = (uintptr_t)self ^ (hq_fetch_add_relaxed(&hq_guard.threads, 1) + 1) *
							0x9e3779b97f4a7c15ull;
	self->calls += self->skips;
	self->skips = self->to_skip = draw_gap(self);
	return !is_first;
}

/* ---- results ---- */

void hq_guard_frees_are_unknown(void)
{
	hq_store_relaxed(&hq_guard.frees_unknown, 1);
}

struct hq_event hq_guard_event_of(uint32_t kind, const void *block, uint64_t size)
{
	return (struct hq_event){ .kind = kind, .address = (uintptr_t)block, .size = size };
}

static void check_alignment(const struct hq_guard_call *call, const void *block)
{
	struct hq_event event;

	if (((uintptr_t)block & (call->alignment - 1)) == 0)
		return;
	event = hq_guard_event_of(HQ_EVENT_ALIGNMENT, block, call->size);
	event.expected = call->alignment;
	event.got = (uintptr_t)block & (call->alignment - 1);
	hq_guard_event(event, call->caller, 0);
}

__attribute__((noinline)) static void check_usable(const struct hq_guard_call *call, void *block)
{
	struct hq_event event;
	size_t usable;

	hq_guard_self.to_ask = hq_guard.every == 1 ? HQ_GUARD_USABLE_EVERY : 1;
	if (!hq_guard.next.usable_is_its_own)
		return;
	usable = hq_guard.next.usable_size(block);
	/* tcmalloc says 0 of every block until its constructor has run, which may come late. */
	if (usable >= call->ask || usable == 0)
		return;
	event = hq_guard_event_of(HQ_EVENT_USABLE, block, call->size);
	event.expected = call->ask;
	event.got = usable;
	hq_guard_event(event, call->caller, 0);
}

void hq_guard_overlaps(const struct hq_guard_call *call, const void *block, uint64_t shared)
{
	struct hq_event event = hq_guard_event_of(HQ_EVENT_OVERLAP, block, call->size);

	/* Two blocks share bits now: whoever is freed first takes those of both. */
	hq_guard_frees_are_unknown();
	/* The unit that is shared may begin before the block does. */
	event.offset = shared > (uintptr_t)block ? shared - (uintptr_t)block : 0;
	hq_guard_event(event, call->caller, hq_blocks_holder(&hq_guard.blocks, shared));
}

void hq_guard_entered(const struct hq_guard_call *call, void *block)
{
	struct hq_guard_self *const self = &hq_guard_self;

	hq_origins_allocated(&hq_guard.origins, (uintptr_t)block, call->size, call->caller,
			     hq_guard_tid());
	if (HQ_GUARD_UNLIKELY(hq_guard.tails) && call->ask > call->size &&
	    hq_guard_may_have_tail((uintptr_t)block, call->ask))
		hq_guard_put_tail(block, call);
	if (HQ_GUARD_UNLIKELY(self->to_ask <= 1))
		check_usable(call, block);
	else
		self->to_ask--;
}

static void enter(const struct hq_guard_call *call, void *block)
{
	uint64_t offset = 0;

	switch (hq_blocks_enter(&hq_guard.blocks, (uintptr_t)block, call->ask, &offset)) {
	case HQ_BLOCKS_ENTERED:
		break;
	case HQ_BLOCKS_OVERLAP:
		hq_guard_overlaps(call, block, (uintptr_t)block + offset);
		break;
	case HQ_BLOCKS_UNWATCHED:
		hq_guard_frees_are_unknown();
		hq_fetch_add_relaxed(&hq_guard.wire->guard.unwatched, 1);
		return;
	}
	hq_guard_entered(call, block);
}

static void refused(const struct hq_guard_call *call, int failure)
{
	struct hq_event event;

	if (failure == ENOMEM || call->size == 0)
		return;
	event = hq_guard_event_of(HQ_EVENT_ERRNO_NULL, NULL, call->size);
	event.expected = ENOMEM;
	event.got = (uint64_t)failure;
	hq_guard_event(event, call->caller, 0);
}

bool hq_guard_was_nested(const struct hq_guard_call *call, void *block)
{
	const bool nested = hq_guard_self.nested == (uintptr_t)block && block;

	if (nested && call->watched)
		hq_blocks_leave(&hq_guard.blocks, (uintptr_t)block);
	hq_guard_self.nested = hq_guard_self.depth ? (uintptr_t)block : 0;
	return nested && !call->watched;
}

static void check_clear(const struct hq_guard_call *call, const void *block)
{
	uint64_t offset = 0;

	if (hq_blocks_touch(&hq_guard.blocks, (uintptr_t)block, call->size, &offset))
		hq_guard_overlaps(call, block, (uintptr_t)block + offset);
}

void *hq_guard_look(const struct hq_guard_call *call, void *block, int failure)
{
	if (!block) {
		refused(call, failure);
		return NULL;
	}
	check_alignment(call, block);
	if (call->watched)
		enter(call, block);
	else
		check_clear(call, block);
	return block;
}

void hq_guard_look_at_passed(void *block, size_t size, uint64_t caller)
{
	const struct hq_guard_call call = { .caller = caller, .size = size, .ask = size };

	if (!block)
		refused(&call, errno);
	/* An allocator that calls itself: its inner call's turn it was, and that one has looked. */
	else if (hq_guard_self.nested == (uintptr_t)block)
		hq_guard_self.nested = 0;
	else
		check_clear(&call, block);
}

/* ---- malloc and the aligned functions ---- */

/* An alignment that is refused is no failure of the allocator. */
static int failure_of(const void *block, int failure)
{
	return block || failure == EINVAL ? ENOMEM : failure;
}

void *hq_guard_malloc(size_t size, uint64_t caller)
{
	const struct hq_guard_call call = hq_guard_begin(size, hq_guard_promised(size), caller);
	void *const block = hq_guard.next.malloc(call.ask);

	return hq_guard_end(&call, block, block ? 0 : errno);
}

void *hq_guard_aligned(void *(*function)(size_t, size_t), size_t alignment, size_t size,
		       uint64_t caller)
{
	const struct hq_guard_call call = hq_guard_begin(size, hq_guard_sound(alignment), caller);
	void *const block = function(alignment, call.ask);

	return hq_guard_end(&call, block, block ? 0 : failure_of(block, errno));
}

int hq_guard_posix_memalign(void **result, size_t alignment, size_t size, uint64_t caller)
{
	const struct hq_guard_call call = hq_guard_begin(size, hq_guard_sound(alignment), caller);
	void *block = NULL;
	const int failure = hq_guard.next.posix_memalign(&block, alignment, call.ask);

	block = failure ? NULL : block;
	hq_guard_end(&call, block, failure_of(block, failure));
	if (!failure)
		*result = block;
	return failure;
}

void *hq_guard_paged(void *(*function)(size_t), size_t size, uint64_t caller)
{
	const size_t page = 4096; /* no machine has smaller ones */
	const struct hq_guard_call call = hq_guard_begin(size, page, caller);
	void *const block = function(call.ask);

	return hq_guard_end(&call, block, block ? 0 : errno);
}

/* ---- calloc ---- */

/* A word and two, anywhere in memory. */
typedef uint64_t word __attribute__((aligned(1), may_alias));
typedef uint64_t pair __attribute__((vector_size(16), aligned(1), may_alias));

#define LINE_BYTES 128u

static bool is_zero_line(const uint8_t *line)
{
	const pair *const pairs = (const pair *)line;
	const pair any = ((pairs[0] | pairs[1]) | (pairs[2] | pairs[3])) |
			 ((pairs[4] | pairs[5]) | (pairs[6] | pairs[7]));

	return (any[0] | any[1]) == 0;
}

/* The first byte that is not zero; `size` if there is none. The last lines may overlap. */
static uint64_t first_nonzero(const uint8_t *block, uint64_t size)
{
	uint64_t at = 0;

	while (size - at >= LINE_BYTES && is_zero_line(block + at))
		at += LINE_BYTES;
	if (at && size - at < LINE_BYTES && is_zero_line(block + size - LINE_BYTES))
		return size;
	while (size - at >= sizeof(word) && *(const word *)(block + at) == 0)
		at += sizeof(word);
	while (at < size && block[at] == 0)
		at++;
	return at;
}

__attribute__((noinline)) static void check_zero(const struct hq_guard_call *call,
						 const uint8_t *block)
{
	const uint64_t size = call->size < HQ_BLOCKS_COVERED ? call->size : HQ_BLOCKS_COVERED;
	const uint64_t at = first_nonzero(block, size);
	struct hq_event event;

	if (at == size)
		return;
	event = hq_guard_event_of(HQ_EVENT_NONZERO, block, call->size);
	event.offset = at;
	event.got = block[at];
	hq_guard_event(event, call->caller, 0);
}

/* The product has no room in a size: there can be no such block. */
static void *calloc_too_much(size_t count, size_t size, uint64_t caller)
{
	void *const block = hq_guard.next.calloc(count, size);
	struct hq_event event;

	if (!hq_guard.watches || !block)
		return block;
	hq_guard_frees_are_unknown();
	event = hq_guard_event_of(HQ_EVENT_USABLE, block, SIZE_MAX);
	event.expected = SIZE_MAX;
	if (hq_guard.next.usable_is_its_own)
		event.got = hq_guard.next.usable_size(block);
	hq_guard_event(event, caller, 0);
	return block;
}

void *hq_guard_calloc(size_t count, size_t size, uint64_t caller)
{
	struct hq_guard_call call;
	size_t total;
	void *block;

	if (__builtin_mul_overflow(count, size, &total))
		return calloc_too_much(count, size, caller);
	call = hq_guard_begin(total, hq_guard_promised(total), caller);
	block = call.ask == total ? hq_guard.next.calloc(count, size)
				  : hq_guard.next.calloc(1, call.ask);
	block = hq_guard_end(&call, block, block ? 0 : errno);
	if (block && call.watched)
		check_zero(&call, block);
	return block;
}

/* ---- free ---- */

bool hq_guard_is_no_block(void *block, uint64_t caller)
{
	if (hq_guard.every != 1 || hq_guard_self.depth || hq_load_relaxed(&hq_guard.frees_unknown))
		return false;
	hq_guard_event(hq_guard_event_of(HQ_EVENT_PROGRAM_FREE, block, 0), caller, 0);
	return true;
}

/* Takes a block out that is about to be freed: its size, 0 if it is not known. */
uint64_t hq_guard_leave(void *block, uint64_t caller)
{
	const uint64_t address = (uintptr_t)block;
	uint64_t size = hq_blocks_leave_quickly(&hq_guard.blocks, address);

	if (size == 0)
		size = hq_blocks_leave(&hq_guard.blocks, address);
	if (size != 0)
		hq_origins_freed(&hq_guard.origins, address, caller, hq_guard_tid());
	return size;
}

__attribute__((noinline, cold)) static void errno_changed(void *block, uint64_t size, int before,
							  uint64_t caller)
{
	struct hq_event event = hq_guard_event_of(HQ_EVENT_ERRNO_FREE, block, size);

	event.expected = (uint64_t)before;
	event.got = (uint64_t)errno;
	hq_guard_event(event, caller, 0);
}

void hq_guard_free(void *block, uint64_t caller)
{
	struct hq_guard_self *const self = &hq_guard_self;
	const int before = errno;
	uint64_t size;

	if (HQ_GUARD_UNLIKELY(!block || hq_between_arena_owns(block)))
		return;
	if (HQ_GUARD_UNLIKELY(!hq_guard.watches)) {
		hq_guard.next.free(block);
		return;
	}
	hq_guard_count(self);
	size = hq_guard_leave(block, caller);
	if (HQ_GUARD_UNLIKELY(hq_guard.tails) && size)
		hq_guard_sure_size(block, size, caller);
	/* What the allocator does with such a block is not its fault, so it does not see it. */
	if (HQ_GUARD_UNLIKELY(!size) && hq_guard_is_no_block(block, caller))
		return;
	self->depth++;
	hq_guard.next.free(block);
	if (HQ_GUARD_UNLIKELY(--self->depth == 0 && errno != before))
		errno_changed(block, size, before, caller);
}

/* A program may use all that it is told of, but not the tail. */
size_t hq_guard_usable_size(void *block, uint64_t caller)
{
	uint64_t size;

	if (!block || hq_between_arena_owns(block))
		return block ? hq_between_arena_room(block) : 0;
	if (hq_guard.watches && hq_guard.tails) {
		size = hq_blocks_size(&hq_guard.blocks, (uintptr_t)block);
		if (size && hq_guard_may_have_tail((uintptr_t)block, size))
			return hq_guard_sure_size(block, size, caller);
	}
	return hq_guard.next.usable_size(block);
}
