/* SPDX-License-Identifier: MIT */
/*
 * Passes over chunks: which pages are due, and what the kernel says to them.
 */
#include "allocator/bedrock/pass.h"

#include <errno.h>

#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"

#define BEDROCK_NS_PER_MS           UINT64_C(1000000)
#define BEDROCK_PASS_BACKOFF_NS     (100 * BEDROCK_NS_PER_MS)
#define BEDROCK_PASS_BACKOFF_MAX_NS (2000 * BEDROCK_NS_PER_MS)
/* How long a kernel that refused MADV_FREE is not asked again. */
#define BEDROCK_LAZY_HOLIDAY_NS (2000 * BEDROCK_NS_PER_MS)
/* The same for a kernel that does not advise many ranges in one call: younger ones do. */
#define BEDROCK_TOGETHER_HOLIDAY_NS (60000 * BEDROCK_NS_PER_MS)
/* Ranges lent out at a time. */
#define BEDROCK_PASS_RANGES 32u

static const struct bedrock_range bedrock_pass_whole = { .first = 0, .count = BEDROCK_CHUNK_PAGES };

uint64_t bedrock_pass_backoff_ns(uint64_t least_ns, uint32_t failures)
{
	uint64_t backoff_ns = least_ns;

	if (backoff_ns < BEDROCK_PASS_BACKOFF_NS)
		backoff_ns = BEDROCK_PASS_BACKOFF_NS;
	for (uint32_t i = 0; i < failures && backoff_ns < BEDROCK_PASS_BACKOFF_MAX_NS; i++)
		backoff_ns *= 2;
	return backoff_ns;
}

/* The part of a range that consists of whole kernel pages. */
static size_t bedrock_pass_advisable(const struct bedrock_pass *pass,
				     const struct bedrock_chunk *chunk, struct bedrock_range range,
				     void **start)
{
	uintptr_t mask = pass->heap->os_page_bytes - 1;
	uintptr_t first = (uintptr_t)chunk + ((uintptr_t)range.first << BEDROCK_PAGE_SHIFT);
	uintptr_t end = first + ((uintptr_t)range.count << BEDROCK_PAGE_SHIFT);

	first = (first + mask) & ~mask;
	end &= ~mask;
	*start = (void *)first;
	return end > first ? end - first : 0;
}

/* MADV_FREE, where the kernel knows it. A kernel that does not is asked again now and then. */
static int bedrock_pass_advise_lazily(struct bedrock_pass *pass, void *start, size_t bytes)
{
	struct bedrock_heap *heap = pass->heap;

	if (pass->now_ns < bedrock_load_relaxed(&heap->lazy_again_ns))
		return -EINVAL;
	int rc = bedrock_os_purge_lazily(start, bytes);

	if (rc == -EINVAL || rc == -ENOSYS)
		bedrock_store_relaxed(&heap->lazy_again_ns, pass->now_ns + BEDROCK_LAZY_HOLIDAY_NS);
	if (rc)
		return rc;
	bedrock_add_relaxed(&heap->purges.lazy_calls, 1);
	bedrock_add_relaxed(&heap->purges.lazy_bytes, bytes);
	return 0;
}

static int bedrock_pass_advise_now(struct bedrock_pass *pass, void *start, size_t bytes)
{
	int rc = bedrock_os_purge(start, bytes);

	/* Under a limit, being given back is believed of what is seen to be gone only. */
	if (!rc && bedrock_limit_is_set(&pass->heap->space.limit) &&
	    bedrock_os_is_resident(start, bytes))
		rc = -EIO;
	if (rc)
		return rc;
	bedrock_add_relaxed(&pass->heap->purges.calls, 1);
	bedrock_add_relaxed(&pass->heap->purges.bytes, bytes);
	return 0;
}

/* Advise a range that is lent to us. -> the state it is in now. */
static enum bedrock_rest bedrock_pass_advise(struct bedrock_pass *pass,
					     const struct bedrock_chunk *chunk,
					     struct bedrock_range range)
{
	enum bedrock_rest state = pass->to;
	int rc = -EINVAL;
	void *start;
	size_t bytes = bedrock_pass_advisable(pass, chunk, range, &start);

	/* Smaller than a kernel page: it has to wait for its neighbours. */
	if (bytes == 0)
		return pass->from;
	pass->calls++;
	if (pass->to == BEDROCK_REST_MUZZY)
		rc = bedrock_pass_advise_lazily(pass, start, bytes);
	if (rc == -EINVAL || rc == -ENOSYS) {
		state = BEDROCK_REST_COUNT;
		rc = bedrock_pass_advise_now(pass, start, bytes);
	}
	if (rc) {
		pass->refusals++;
		bedrock_add_relaxed(&pass->heap->purges.failures, 1);
		return pass->from;
	}
	pass->refusals = 0;
	pass->done_bytes += bytes;
	return state;
}

/* A slow path has its own work to do, whatever the kernel takes for one call. */
static bool bedrock_pass_is_long(const struct bedrock_pass *pass)
{
	return pass->budget_bytes != UINT64_MAX && !pass->is_forced && pass->calls > 0 &&
	       bedrock_os_now_ns() - pass->now_ns >= BEDROCK_PASS_STALL_NS;
}

static bool bedrock_pass_is_over(const struct bedrock_pass *pass)
{
	return bedrock_pass_is_long(pass) || pass->refusals >= BEDROCK_PASS_REFUSALS_MAX ||
	       pass->done_bytes >= pass->budget_bytes ||
	       (pass->budget_bytes != UINT64_MAX && pass->calls >= BEDROCK_PASS_CALLS_MAX);
}

/* The pages that are due; the rest have now been seen once. */
static struct bedrock_bitmap bedrock_pass_due(const struct bedrock_pass *pass,
					      struct bedrock_chunk *chunk)
{
	struct bedrock_pages *pages = &pass->arena->pages;
	struct bedrock_bitmap due;

	bedrock_lock_take(&pages->lock);
	due = pass->is_all_due ? chunk->rest[pass->from] : chunk->aged[pass->from];
	chunk->aged[pass->from] = chunk->rest[pass->from];
	bedrock_lock_give(&pages->lock);
	return due;
}

/* What was due and is left for later stays due. */
static void bedrock_pass_keep_due(const struct bedrock_pass *pass, struct bedrock_chunk *chunk,
				  const struct bedrock_bitmap *left)
{
	struct bedrock_pages *pages = &pass->arena->pages;

	bedrock_lock_take(&pages->lock);
	for (uint32_t word = 0; word < BEDROCK_BITMAP_WORDS; word++)
		chunk->aged[pass->from].words[word] |=
			left->words[word] & chunk->rest[pass->from].words[word];
	bedrock_lock_give(&pages->lock);
}

/* A call for many ranges counts as one. */
static void bedrock_pass_note_together(struct bedrock_pass *pass, size_t bytes)
{
	struct bedrock_purge_counters *purges = &pass->heap->purges;
	bool is_lazy = pass->to == BEDROCK_REST_MUZZY;

	bedrock_add_relaxed(is_lazy ? &purges->lazy_calls : &purges->calls, 1);
	bedrock_add_relaxed(is_lazy ? &purges->lazy_bytes : &purges->bytes, bytes);
	pass->calls++;
	pass->refusals = 0;
	pass->done_bytes += bytes;
}

/* Ask for many ranges at once: one flush of the TLBs instead of one for each. -> bytes advised. */
static size_t bedrock_pass_ask_together(struct bedrock_pass *pass, const struct iovec *parts,
					uint32_t count)
{
	_Atomic(uint64_t) *again_ns = &pass->heap->together_again_ns;
	size_t bytes;

	bool is_lazy = pass->to == BEDROCK_REST_MUZZY;

	if (pass->now_ns < bedrock_load_relaxed(again_ns) ||
	    (is_lazy && pass->now_ns < bedrock_load_relaxed(&pass->heap->lazy_again_ns)))
		return 0;
	int rc = bedrock_os_purge_many(parts, count, is_lazy, &bytes);

	if (rc == -ENOSYS || rc == -EBADF || rc == -EINVAL || rc == -EPERM) {
		bedrock_store_relaxed(again_ns, pass->now_ns + BEDROCK_TOGETHER_HOLIDAY_NS);
	} else if (rc) {
		pass->refusals++;
		bedrock_add_relaxed(&pass->heap->purges.failures, 1);
	}
	return bytes;
}

/*
 * Advise ranges in one call. -> how many were, from the first on; the rest is to be advised one by
 * one. Under a limit each is looked at by itself, and a slow path waits for one at a time.
 */
static uint32_t bedrock_pass_advise_together(struct bedrock_pass *pass,
					     const struct bedrock_chunk *chunk,
					     const struct bedrock_range *ranges, uint32_t count)
{
	struct iovec parts[BEDROCK_PASS_RANGES];
	uint32_t done = 0;
	size_t done_bytes = 0;

	bool is_in_passing = pass->budget_bytes != UINT64_MAX && !pass->is_forced;

	if (count < 2 || is_in_passing || bedrock_limit_is_set(&pass->heap->space.limit))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		parts[i].iov_len =
			bedrock_pass_advisable(pass, chunk, ranges[i], &parts[i].iov_base);
		/* Smaller than a kernel page: it has to wait for its neighbours. */
		if (parts[i].iov_len == 0)
			return 0;
	}
	size_t bytes = bedrock_pass_ask_together(pass, parts, count);

	while (done < count && done_bytes + parts[done].iov_len <= bytes)
		done_bytes += parts[done++].iov_len;
	if (done > 0)
		bedrock_pass_note_together(pass, done_bytes);
	return done;
}

/* -> is there more to do in this chunk? */
static bool bedrock_pass_some_pages(struct bedrock_pass *pass, struct bedrock_chunk *chunk,
				    struct bedrock_bitmap *due)
{
	struct bedrock_pages *pages = &pass->arena->pages;
	struct bedrock_range ranges[BEDROCK_PASS_RANGES];
	uint32_t count =
		bedrock_pages_isolate(pages, chunk, pass->from, due, ranges, BEDROCK_PASS_RANGES);
	uint32_t done = bedrock_pass_advise_together(pass, chunk, ranges, count);

	for (uint32_t i = 0; i < done; i++)
		bedrock_pages_release(pages, chunk, pass->to, ranges[i]);
	for (uint32_t i = done; i < count; i++) {
		enum bedrock_rest state = pass->from;

		if (bedrock_pass_is_long(pass))
			bedrock_bitmap_set(due, ranges[i]);
		else if (pass->refusals < BEDROCK_PASS_REFUSALS_MAX)
			state = bedrock_pass_advise(pass, chunk, ranges[i]);
		bedrock_pages_release(pages, chunk, state, ranges[i]);
	}
	if (bedrock_pass_is_long(pass)) {
		bedrock_pass_keep_due(pass, chunk, due);
		return false;
	}
	/* Of pages whose age counts, the rest would not be seen as due again. */
	if (pass->is_all_due && bedrock_pass_is_over(pass))
		return false;
	return count > 0 && pass->refusals < BEDROCK_PASS_REFUSALS_MAX;
}

static bool bedrock_chunk_is_all_due(const struct bedrock_chunk *chunk, bool is_ageless)
{
	if (chunk->used_count > 0)
		return false;
	for (uint32_t word = 0; word < BEDROCK_BITMAP_WORDS && !is_ageless; word++) {
		for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++) {
			if (chunk->rest[kind].words[word] & ~chunk->aged[kind].words[word])
				return false;
		}
	}
	return true;
}

/* Take the chunk out of circulation if it is free, due, and not the arena's last. */
static bool bedrock_pass_take_chunk(const struct bedrock_pass *pass, struct bedrock_chunk *chunk)
{
	struct bedrock_pages *pages = &pass->arena->pages;
	bool is_taken;

	bedrock_lock_take(&pages->lock);
	is_taken = pages->chunk_count > 1 && bedrock_chunk_is_all_due(chunk, pass->is_all_due);
	if (is_taken) {
		bedrock_pages_unlink(pages, chunk);
		for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++) {
			struct bedrock_decay_stage *stage = &pass->arena->decay.stages[kind];

			if (stage->cursor == chunk)
				stage->cursor = chunk->all_next;
		}
		for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++)
			bedrock_sub_relaxed(
				&pages->rest_pages[kind],
				bedrock_bitmap_count(&chunk->rest[kind], bedrock_pass_whole));
	}
	bedrock_lock_give(&pages->lock);
	return is_taken;
}

/* The reverse, when the kernel would not have it. */
static void bedrock_pass_put_chunk(struct bedrock_pass *pass, struct bedrock_chunk *chunk)
{
	struct bedrock_pages *pages = &pass->arena->pages;

	bedrock_lock_take(&pages->lock);
	bedrock_pages_link(pages, chunk);
	for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++)
		bedrock_add_relaxed(&pages->rest_pages[kind],
				    bedrock_bitmap_count(&chunk->rest[kind], bedrock_pass_whole));
	bedrock_lock_give(&pages->lock);
}

/*
 * Of a free chunk, the pages that are in memory. Clean ones and those never used take address space
 * alone, and whoever asks how much was given back means memory.
 */
static uint64_t bedrock_chunk_rest_bytes(const struct bedrock_chunk *chunk)
{
	uint64_t pages = 0;

	for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++)
		pages += bedrock_bitmap_count(&chunk->rest[kind], bedrock_pass_whole);
	return pages << BEDROCK_PAGE_SHIFT;
}

/* -> is the chunk gone? */
static bool bedrock_pass_unmap(struct bedrock_pass *pass, struct bedrock_chunk *chunk)
{
	struct bedrock_decay *decay = &pass->arena->decay;

	if (pass->to != BEDROCK_REST_COUNT || pass->heap->options.is_retain)
		return false;
	if (decay->failed_unmaps > 0 && pass->now_ns < decay->unmap_again_ns)
		return false;
	if (!bedrock_pass_take_chunk(pass, chunk))
		return false;
	const uint64_t rest_bytes = bedrock_chunk_rest_bytes(chunk);
	uint32_t charged_count = bedrock_bitmap_count(&chunk->charged, bedrock_pass_whole);

	if (bedrock_space_unmap(pass->arena->pages.space, chunk, BEDROCK_CHUNK_BYTES)) {
		bedrock_pass_put_chunk(pass, chunk);
		decay->unmap_again_ns =
			pass->now_ns + bedrock_pass_backoff_ns(0, decay->failed_unmaps);
		decay->failed_unmaps += decay->failed_unmaps < 8;
		return false;
	}
	bedrock_pages_forget(&pass->arena->pages, charged_count);
	decay->failed_unmaps = 0;
	pass->done_bytes += rest_bytes;
	return true;
}

static void bedrock_pass_chunk(struct bedrock_pass *pass, struct bedrock_chunk *chunk)
{
	if (bedrock_pass_unmap(pass, chunk))
		return;
	struct bedrock_bitmap due = bedrock_pass_due(pass, chunk);

	while (bedrock_pass_some_pages(pass, chunk, &due))
		continue;
}

static struct bedrock_chunk *bedrock_pass_first_chunk(const struct bedrock_pass *pass)
{
	struct bedrock_pages *pages = &pass->arena->pages;

	bedrock_lock_take(&pages->lock);
	struct bedrock_chunk *first = pages->all;

	bedrock_lock_give(&pages->lock);
	return first;
}

/* From then on to the chunk's own turn, of which there is one in an interval; neighbours follow. */
static uint64_t bedrock_pass_to_turn_ns(const struct bedrock_pass *pass,
					const struct bedrock_chunk *chunk, uint64_t from_ns)
{
	uint64_t own_ns = (uintptr_t)chunk / BEDROCK_CHUNK_BYTES * pass->turn_ns;

	return (own_ns % pass->interval_ns + pass->interval_ns - from_ns % pass->interval_ns) %
	       pass->interval_ns;
}

/*
 * Who was looked at in turn is looked at again an interval later; who was not, one turn earlier
 * than that, and so comes nearer to its own.
 */
static void bedrock_pass_set_look(const struct bedrock_pass *pass, struct bedrock_chunk *chunk)
{
	uint64_t next_ns = pass->now_ns + pass->interval_ns - pass->turn_ns;
	uint64_t left_ns = bedrock_pass_to_turn_ns(pass, chunk, next_ns);

	chunk->look_ns[pass->from] = left_ns <= pass->turn_ns ? next_ns + left_ns : next_ns;
}

/* A new chunk waits for its turn, and so does one whose look is of a longer decay time. */
static bool bedrock_pass_is_turn(const struct bedrock_pass *pass, struct bedrock_chunk *chunk)
{
	uint64_t *look_ns = &chunk->look_ns[pass->from];

	if (*look_ns == 0 || *look_ns > pass->now_ns + pass->interval_ns)
		*look_ns = pass->now_ns + bedrock_pass_to_turn_ns(pass, chunk, pass->now_ns);
	return pass->is_all_due || pass->now_ns >= *look_ns;
}

/* Over the chunks, from where the last pass stopped. The decay lock keeps them in place. */
void bedrock_pass_chunks(struct bedrock_pass *pass, struct bedrock_decay_stage *stage)
{
	struct bedrock_chunk *chunk =
		stage->cursor ? stage->cursor : bedrock_pass_first_chunk(pass);

	while (chunk && !bedrock_pass_is_over(pass)) {
		struct bedrock_chunk *next = chunk->all_next;

		if (bedrock_pass_is_turn(pass, chunk)) {
			bedrock_pass_set_look(pass, chunk);
			bedrock_pass_chunk(pass, chunk);
		}
		chunk = next;
	}
	stage->cursor = chunk;
}
