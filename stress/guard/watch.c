/* SPDX-License-Identifier: MIT */
/*
 * What is looked at around a call: overlap and the same block twice, alignment, zeroes from calloc,
 * what realloc keeps, usable size, errno, and frees of what is no live block.
 *
 * An allocator may call its own exported functions, and then calls of the guard nest: the inner one
 * enters a block that the outer one returns, and a free within a realloc is of a block that was
 * left already. So only outermost calls judge frees, and a block that an inner call entered is left
 * before the outer one enters it.
 */
#include "stress/guard/guard.h"

#include <errno.h>
#include <string.h>

#define CALLS_AT_ONCE 64u /* counted by a thread before the wire is told */
#define USABLE_EVERY  16u
#define DIGEST_BYTES  256u /* of either end of what realloc has to keep */
#define SLACK_BYTE    0xc5u

/* ---- counting and drawing ---- */

static void count_call(void)
{
	if (++hq_guard_self.calls >= CALLS_AT_ONCE)
		hq_guard_count_calls();
}

/* Uniform gaps, so that no pattern of a program's requests escapes or is always hit. */
static bool draw(void)
{
	struct hq_guard_self *self = &hq_guard_self;

	if (hq_guard.every == 1)
		return true;
	if (self->to_skip) {
		self->to_skip--;
		return false;
	}
	self->drawn = self->drawn * 6364136223846793005ull + (uintptr_t)self;
	self->to_skip = (uint32_t)(self->drawn >> 33) % (2 * hq_guard.every - 1);
	return true;
}

static void frees_are_unknown(void)
{
	hq_store_relaxed(&hq_guard.frees_unknown, 1);
}

/* ---- the known bytes behind a block ---- */

static bool may_have_tail(uint64_t address, uint64_t size)
{
	return hq_guard.tails && address % HQ_BLOCKS_UNIT == 0 && size < HQ_BLOCKS_COVERED;
}

static uint64_t tail_word(uint64_t address)
{
	return (hq_guard.tail_key ^ address * 0x9e3779b97f4a7c15ull) & ~7ull;
}

static size_t with_tail(size_t size)
{
	if (!hq_guard.tails || size >= HQ_BLOCKS_COVERED - 2 * HQ_BLOCKS_UNIT)
		return size;
	return ((size + 7) & ~(size_t)7) + HQ_BLOCKS_UNIT;
}

static void put_tail(uint8_t *block, const struct hq_guard_call *call)
{
	const uint64_t slack = call->ask - HQ_BLOCKS_UNIT - call->size;
	const uint64_t word = tail_word((uintptr_t)block) | slack;

	memset(block + call->size, SLACK_BYTE, slack);
	memcpy(block + call->ask - HQ_BLOCKS_UNIT, &word, sizeof(word));
}

static void tail_is_damaged(uint64_t block, uint64_t offset, uint8_t expected, uint8_t got,
			    uint64_t caller)
{
	hq_guard_event((struct hq_event){ .kind = HQ_EVENT_PROGRAM_TAIL,
					  .address = block,
					  .size = offset & ~7ull,
					  .offset = offset,
					  .expected = expected,
					  .got = got },
		       caller);
}

/* Bytes that the program asked for, of a block entered with `size`; its tail is looked at. */
static uint64_t check_tail(const uint8_t *block, uint64_t size, uint64_t caller)
{
	const uint64_t address = (uintptr_t)block, end = size - HQ_BLOCKS_UNIT;
	const uint64_t expected = tail_word(address);
	uint64_t word, slack;

	memcpy(&word, block + end, sizeof(word));
	slack = word & 7;
	if ((word ^ expected) >> 3) {
		const uint32_t byte = (uint32_t)__builtin_ctzll((word ^ expected) & ~7ull) / 8;

		tail_is_damaged(address, end + byte, (uint8_t)(expected >> 8 * byte),
				(uint8_t)(word >> 8 * byte), caller);
		return end > 7 ? end - 7 : 0;
	}
	for (uint64_t at = end - slack; slack <= end && at < end; at++) {
		if (block[at] == SLACK_BYTE)
			continue;
		tail_is_damaged(address, at, SLACK_BYTE, block[at], caller);
		break;
	}
	return slack <= end ? end - slack : 0;
}

/* Bytes that certainly belong to the program, of a block entered with `size`. */
static uint64_t sure_size(const void *block, uint64_t size, uint64_t caller)
{
	if (may_have_tail((uintptr_t)block, size))
		return check_tail(block, size, caller);
	return size - (HQ_BLOCKS_UNIT - 1);
}

/* ---- results ---- */

static struct hq_event event_of(uint32_t kind, const void *block, uint64_t size)
{
	return (struct hq_event){ .kind = kind, .address = (uintptr_t)block, .size = size };
}

static void check_alignment(const struct hq_guard_call *call, const void *block)
{
	struct hq_event event;

	if (((uintptr_t)block & (call->alignment - 1)) == 0)
		return;
	event = event_of(HQ_EVENT_ALIGNMENT, block, call->size);
	event.expected = call->alignment;
	event.got = (uintptr_t)block & (call->alignment - 1);
	hq_guard_event(event, call->caller);
}

static void check_usable(const struct hq_guard_call *call, void *block)
{
	struct hq_event event;
	size_t usable;

	if (!hq_guard.next.usable_is_its_own || hq_guard_self.calls % USABLE_EVERY)
		return;
	usable = hq_guard.next.usable_size(block);
	/* tcmalloc says 0 of every block until its constructor has run, which may come late. */
	if (usable >= call->ask || usable == 0)
		return;
	event = event_of(HQ_EVENT_USABLE, block, call->size);
	event.expected = call->ask;
	event.got = usable;
	hq_guard_event(event, call->caller);
}

static void overlaps(const struct hq_guard_call *call, const void *block, uint64_t offset)
{
	struct hq_event event = event_of(HQ_EVENT_OVERLAP, block, call->size);

	/* Two blocks share bits now: whoever is freed first takes those of both. */
	frees_are_unknown();
	event.offset = offset;
	hq_guard_event(event, call->caller);
}

static void enter(const struct hq_guard_call *call, void *block)
{
	uint64_t offset = 0;

	switch (hq_blocks_enter(&hq_guard.blocks, (uintptr_t)block, call->ask, &offset)) {
	case HQ_BLOCKS_ENTERED:
		break;
	case HQ_BLOCKS_OVERLAP:
		overlaps(call, block, offset);
		break;
	case HQ_BLOCKS_UNWATCHED:
		frees_are_unknown();
		hq_fetch_add_relaxed(&hq_guard.wire->guard.unwatched, 1);
		return;
	}
	if (call->ask > call->size && may_have_tail((uintptr_t)block, call->ask))
		put_tail(block, call);
}

static void refused(const struct hq_guard_call *call, int failure)
{
	struct hq_event event;

	if (failure == ENOMEM || call->size == 0)
		return;
	event = event_of(HQ_EVENT_ERRNO_NULL, NULL, call->size);
	event.expected = ENOMEM;
	event.got = (uint64_t)failure;
	hq_guard_event(event, call->caller);
}

struct hq_guard_call hq_guard_begin(size_t size, size_t alignment, uint64_t caller)
{
	struct hq_guard_call call = {
		.caller = caller, .size = size, .ask = size, .alignment = alignment
	};

	if (!hq_guard.watches)
		return call;
	count_call();
	hq_guard_self.depth++;
	call.ask = with_tail(size);
	call.watched = draw();
	return call;
}

/* True if the block was entered by an inner call, and is not to be entered again. */
static bool was_nested(const struct hq_guard_call *call, void *block)
{
	const bool nested = hq_guard_self.nested == (uintptr_t)block && block;

	if (nested && call->watched)
		hq_blocks_leave(&hq_guard.blocks, (uintptr_t)block);
	hq_guard_self.nested = --hq_guard_self.depth ? (uintptr_t)block : 0;
	return nested && !call->watched;
}

void *hq_guard_end(const struct hq_guard_call *call, void *block, int failure)
{
	uint64_t offset = 0;

	if (!hq_guard.watches || was_nested(call, block))
		return block;
	if (!block) {
		refused(call, failure);
		return NULL;
	}
	check_alignment(call, block);
	if (call->watched) {
		enter(call, block);
		check_usable(call, block);
	} else if (hq_blocks_touch(&hq_guard.blocks, (uintptr_t)block, call->size, &offset)) {
		overlaps(call, block, offset);
	}
	return block;
}

/* ---- malloc and the aligned functions ---- */

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

	return hq_guard_end(&call, block, hq_guard_failure(block, errno));
}

/* ---- calloc ---- */

/* The first byte that is not zero; `size` if there is none. */
static uint64_t first_nonzero(const uint8_t *block, uint64_t size)
{
	uint64_t at = 0;

	for (; at + 64 <= size; at += 64) {
		uint64_t words[8];

		memcpy(words, block + at, sizeof(words));
		if (words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] |
		    words[7])
			break;
	}
	while (at < size && block[at] == 0)
		at++;
	return at;
}

static void check_zero(const struct hq_guard_call *call, const uint8_t *block)
{
	const uint64_t size = call->size < HQ_BLOCKS_COVERED ? call->size : HQ_BLOCKS_COVERED;
	const uint64_t at = first_nonzero(block, size);
	struct hq_event event;

	if (at == size)
		return;
	event = event_of(HQ_EVENT_NONZERO, block, call->size);
	event.offset = at;
	event.got = block[at];
	hq_guard_event(event, call->caller);
}

/* The product has no room in a size: there can be no such block. */
static void *calloc_too_much(size_t count, size_t size, uint64_t caller)
{
	void *const block = hq_guard.next.calloc(count, size);
	struct hq_event event;

	if (!hq_guard.watches || !block)
		return block;
	frees_are_unknown();
	event = event_of(HQ_EVENT_USABLE, block, SIZE_MAX);
	event.expected = SIZE_MAX;
	if (hq_guard.next.usable_is_its_own)
		event.got = hq_guard.next.usable_size(block);
	hq_guard_event(event, caller);
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

/* ---- free and realloc ---- */

/* True if it is the program's fault for certain. */
static bool is_no_block(void *block, uint64_t caller)
{
	if (hq_guard.every != 1 || hq_guard_self.depth || hq_load_relaxed(&hq_guard.frees_unknown))
		return false;
	hq_guard_event(event_of(HQ_EVENT_PROGRAM_FREE, block, 0), caller);
	return true;
}

void hq_guard_free(void *block, uint64_t caller)
{
	const int before = errno;
	struct hq_event event;
	uint64_t size;

	if (!block || hq_guard_arena_owns(block))
		return;
	if (!hq_guard.watches) {
		hq_guard.next.free(block);
		return;
	}
	count_call();
	size = hq_blocks_leave(&hq_guard.blocks, (uintptr_t)block);
	if (size)
		sure_size(block, size, caller);
	/* What the allocator does with such a block is not its fault, so it does not see it. */
	if (!size && is_no_block(block, caller))
		return;
	hq_guard_self.depth++;
	hq_guard.next.free(block);
	if (--hq_guard_self.depth || errno == before)
		return;
	event = event_of(HQ_EVENT_ERRNO_FREE, block, size);
	event.expected = (uint64_t)before;
	event.got = (uint64_t)errno;
	hq_guard_event(event, caller);
}

static uint64_t mix(uint64_t digest, const uint8_t *from, uint64_t size)
{
	for (uint64_t at = 0; at < size; at += 8) {
		uint64_t word = 0;

		memcpy(&word, from + at, size - at < 8 ? size - at : 8);
		digest = (digest ^ word) * 0x9e3779b97f4a7c15ull;
		digest ^= digest >> 32;
	}
	return digest;
}

static uint64_t digest_of(const uint8_t *block, uint64_t size)
{
	const uint64_t part = size < DIGEST_BYTES ? size : DIGEST_BYTES;

	return mix(mix(size, block, part), block + size - part, part);
}

/* A block before realloc, and what has to be there afterwards. */
struct kept {
	uint64_t size; /* as it was entered; 0: nothing is known of it */
	uint64_t bytes, digest;
};

static struct kept take_out(void *block, size_t size, uint64_t caller)
{
	struct kept kept = { .size = hq_blocks_leave(&hq_guard.blocks, (uintptr_t)block) };

	if (!kept.size)
		return kept;
	kept.bytes = sure_size(block, kept.size, caller);
	kept.bytes = kept.bytes < size ? kept.bytes : size;
	kept.digest = digest_of(block, kept.bytes);
	return kept;
}

static void check_kept(const struct kept *kept, const void *block, uint64_t caller)
{
	struct hq_event event;
	uint64_t digest;

	if (!kept->size || (digest = digest_of(block, kept->bytes)) == kept->digest)
		return;
	event = event_of(HQ_EVENT_REALLOC, block, kept->bytes);
	event.expected = kept->digest;
	event.got = digest;
	hq_guard_event(event, caller);
}

/* The old block is still there, as it was. */
static void put_back(const struct kept *kept, void *block, uint64_t caller)
{
	uint64_t offset;

	if (!kept->size)
		return;
	check_kept(kept, block, caller);
	hq_blocks_enter(&hq_guard.blocks, (uintptr_t)block, kept->size, &offset);
}

/* Whether no bytes are a block or NULL is for the allocator to say, but a block needs its tail. */
static void *realloc_to_nothing(void *block, uint64_t caller)
{
	struct hq_guard_call call;
	void *rest = hq_guard.next.realloc(block, 0);

	if (!rest || !hq_guard.tails)
		return rest;
	hq_guard.next.free(rest);
	call = hq_guard_begin(0, 1, caller);
	rest = hq_guard.next.malloc(call.ask);
	return hq_guard_end(&call, rest, rest ? 0 : errno);
}

static void *move_from_arena(void *block, size_t size, uint64_t caller)
{
	struct hq_guard_call call = hq_guard_begin(size, hq_guard_promised(size), caller);
	void *moved = hq_guard.next.malloc(call.ask);
	const size_t room = hq_guard_arena_room(block);

	moved = hq_guard_end(&call, moved, moved ? 0 : errno);
	if (moved)
		memcpy(moved, block, size < room ? size : room);
	return moved;
}

void *hq_guard_realloc(void *block, size_t size, uint64_t caller)
{
	struct hq_guard_call call;
	struct kept kept = { .size = 0 };
	void *moved;

	if (hq_guard_arena_owns(block))
		return move_from_arena(block, size, caller);
	if (!hq_guard.watches)
		return hq_guard.next.realloc(block, size);
	if (block)
		kept = take_out(block, size, caller);
	if (block && !kept.size)
		is_no_block(block, caller);
	if (block && size == 0 && hq_guard.tails)
		return realloc_to_nothing(block, caller);
	call = hq_guard_begin(size, hq_guard_promised(size), caller);
	moved = hq_guard.next.realloc(block, call.ask);
	if (!moved && size != 0)
		put_back(&kept, block, caller);
	moved = hq_guard_end(&call, moved, moved ? 0 : errno);
	if (moved && size != 0)
		check_kept(&kept, moved, caller);
	return moved;
}

/* A program may use all that it is told of, but not the tail. */
size_t hq_guard_usable_size(void *block)
{
	uint64_t size;

	if (!block || hq_guard_arena_owns(block))
		return block ? hq_guard_arena_room(block) : 0;
	if (hq_guard.watches && hq_guard.tails) {
		size = hq_blocks_size(&hq_guard.blocks, (uintptr_t)block);
		if (size && may_have_tail((uintptr_t)block, size))
			return check_tail(block, size, HQ_GUARD_CALLER);
	}
	return hq_guard.next.usable_size(block);
}
