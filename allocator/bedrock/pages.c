/* SPDX-License-Identifier: MIT */
/*
 * Runs of pages: taken, charged, given back, lent out.
 */
#include "allocator/bedrock/pages.h"

#include <errno.h>
#include <string.h>

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/fit.h"
#include "allocator/bedrock/os.h"

/* Credit above this goes back to the limit. */
#define BEDROCK_PAGES_CREDIT_MAX (2 * BEDROCK_LIMIT_BATCH_BYTES >> BEDROCK_PAGE_SHIFT)

void bedrock_pages_init(struct bedrock_pages *pages, struct bedrock_arena *arena,
			struct bedrock_space *space)
{
	bedrock_lock_init(&pages->lock, BEDROCK_RANK_PAGES);
	pages->arena = arena;
	pages->space = space;
}

static void bedrock_pages_bucket_add(struct bedrock_pages *pages, struct bedrock_chunk *chunk)
{
	uint32_t bucket = bedrock_fit_bucket(chunk->longest_free);
	struct bedrock_chunk *next = pages->buckets[bucket];

	chunk->bucket = bucket;
	chunk->bucket_prev = NULL;
	chunk->bucket_next = next;
	if (next)
		next->bucket_prev = chunk;
	pages->buckets[bucket] = chunk;
	pages->bucket_bits |= UINT64_C(1) << bucket;
}

static void bedrock_pages_bucket_remove(struct bedrock_pages *pages, struct bedrock_chunk *chunk)
{
	if (chunk->bucket_next)
		chunk->bucket_next->bucket_prev = chunk->bucket_prev;
	if (chunk->bucket_prev)
		chunk->bucket_prev->bucket_next = chunk->bucket_next;
	else
		pages->buckets[chunk->bucket] = chunk->bucket_next;
	if (!pages->buckets[chunk->bucket])
		pages->bucket_bits &= ~(UINT64_C(1) << chunk->bucket);
}

static void bedrock_pages_set_longest(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
				      uint32_t longest_free)
{
	chunk->longest_free = longest_free;
	if (bedrock_fit_bucket(longest_free) == chunk->bucket)
		return;
	bedrock_pages_bucket_remove(pages, chunk);
	bedrock_pages_bucket_add(pages, chunk);
}

void bedrock_pages_link(struct bedrock_pages *pages, struct bedrock_chunk *chunk)
{
	chunk->all_prev = NULL;
	chunk->all_next = pages->all;
	if (pages->all)
		pages->all->all_prev = chunk;
	pages->all = chunk;
	pages->chunk_count++;
	bedrock_pages_bucket_add(pages, chunk);
}

void bedrock_pages_unlink(struct bedrock_pages *pages, struct bedrock_chunk *chunk)
{
	if (chunk->all_next)
		chunk->all_next->all_prev = chunk->all_prev;
	if (chunk->all_prev)
		chunk->all_prev->all_next = chunk->all_next;
	else
		pages->all = chunk->all_next;
	pages->chunk_count--;
	bedrock_pages_bucket_remove(pages, chunk);
}

/* Give back the credit above `keep_pages`. */
static uint64_t bedrock_pages_cut_credit(struct bedrock_pages *pages, uint64_t keep_pages)
{
	uint64_t pages_over = 0;

	if (pages->credit_pages > keep_pages)
		pages_over = pages->credit_pages - keep_pages;
	pages->credit_pages -= pages_over;
	bedrock_limit_uncharge(&pages->space->limit, pages_over << BEDROCK_PAGE_SHIFT);
	return pages_over << BEDROCK_PAGE_SHIFT;
}

/* Spend credit, and draw more if there is too little. */
static int bedrock_pages_reserve(struct bedrock_pages *pages, uint32_t count)
{
	if (bedrock_unlikely(count > pages->credit_pages)) {
		uint64_t missing_bytes = (count - pages->credit_pages) << BEDROCK_PAGE_SHIFT;
		uint64_t drawn_bytes;
		int rc = bedrock_limit_draw(&pages->space->limit, missing_bytes, &drawn_bytes);

		if (rc)
			return rc;
		pages->credit_pages += drawn_bytes >> BEDROCK_PAGE_SHIFT;
	}
	pages->credit_pages -= count;
	return 0;
}

/* The same for pages that are put into use at once. */
static int bedrock_pages_spend(struct bedrock_pages *pages, uint32_t count)
{
	int rc = bedrock_pages_reserve(pages, count);

	if (!rc)
		bedrock_count_owned(&pages->charged_pages, count);
	return rc;
}

/* Keep what has become credit for the next, but only far from the limit. */
static void bedrock_pages_add_credit(struct bedrock_pages *pages, uint32_t count)
{
	bool is_near = bedrock_limit_is_near(&pages->space->limit);

	pages->credit_pages += count;
	bedrock_pages_cut_credit(pages, is_near ? 0 : BEDROCK_PAGES_CREDIT_MAX);
}

/* The reverse of spending. */
static void bedrock_pages_earn(struct bedrock_pages *pages, uint32_t count)
{
	bedrock_count_owned(&pages->charged_pages, -(int64_t)count);
	bedrock_pages_add_credit(pages, count);
}

/* Charge what is not charged yet of a range that is about to be used. */
static int bedrock_pages_charge(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
				struct bedrock_range range)
{
	struct bedrock_range whole = bedrock_chunk_whole_os_pages(range);

	/* As a rule the pages rested here since they were used before. */
	if (bedrock_bitmap_next_clear(&chunk->charged, whole.first) >= whole.first + whole.count)
		return 0;
	int rc = bedrock_pages_spend(pages,
				     whole.count - bedrock_bitmap_count(&chunk->charged, whole));

	if (!rc)
		bedrock_bitmap_set(&chunk->charged, whole);
	return rc;
}

void bedrock_pages_forget(struct bedrock_pages *pages, uint32_t charged_count)
{
	bedrock_lock_take(&pages->lock);
	bedrock_pages_earn(pages, charged_count);
	bedrock_lock_give(&pages->lock);
}

uint64_t bedrock_pages_return_credit(struct bedrock_pages *pages)
{
	bedrock_lock_take(&pages->lock);
	uint64_t returned_bytes = bedrock_pages_cut_credit(pages, 0);

	bedrock_lock_give(&pages->lock);
	return returned_bytes;
}

/*
 * Put free pages into use: they rest nowhere any more. They are charged already. -> how many of
 * them were dirty, and so in memory.
 */
static uint32_t bedrock_pages_claim(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
				    struct bedrock_range range)
{
	uint32_t dirty_count = 0;

	for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++) {
		uint32_t count = bedrock_bitmap_clear(&chunk->rest[kind], range);

		if (count == 0)
			continue;
		dirty_count += kind == BEDROCK_REST_DIRTY ? count : 0;
		bedrock_bitmap_clear(&chunk->aged[kind], range);
		bedrock_count_owned(&pages->rest_pages[kind], -(int64_t)count);
	}
	struct bedrock_range around = bedrock_bitmap_clear_run(&chunk->used, range.first);

	bedrock_bitmap_set(&chunk->used, range);
	chunk->used_count += range.count;
	bedrock_count_owned(&pages->used_pages, range.count);
	/* Only a cut into the longest run can change the longest run. */
	if (around.count == chunk->longest_free)
		bedrock_pages_set_longest(pages, chunk,
					  bedrock_bitmap_longest_clear(&chunk->used).count);
	return dirty_count;
}

/* The reverse: pages out of use rest in `kind`, or are clean. */
static void bedrock_pages_unclaim(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
				  enum bedrock_rest kind, struct bedrock_range range)
{
	if (kind != BEDROCK_REST_COUNT) {
		uint32_t count = bedrock_bitmap_set(&chunk->rest[kind], range);

		bedrock_count_owned(&pages->rest_pages[kind], count);
	}
	bedrock_bitmap_clear(&chunk->used, range);
	chunk->used_count -= range.count;
	bedrock_count_owned(&pages->used_pages, -(int64_t)range.count);
	struct bedrock_range around = bedrock_bitmap_clear_run(&chunk->used, range.first);

	if (around.count > chunk->longest_free)
		bedrock_pages_set_longest(pages, chunk, around.count);
	bedrock_assert_slow(bedrock_chunk_is_valid(chunk));
}

/* A huge page in a chunk would make more resident than was charged. */
static bool bedrock_pages_are_small(const struct bedrock_pages *pages)
{
	return bedrock_limit_is_set(&pages->space->limit) || pages->space->thp == BEDROCK_THP_NEVER;
}

/* Map another chunk, for a run of so many pages. The lock is dropped meanwhile. */
static int bedrock_pages_grow(struct bedrock_pages *pages, uint32_t page_count)
{
	struct bedrock_range header = { .first = 0, .count = BEDROCK_CHUNK_HEADER_PAGES };
	uint32_t header_count = bedrock_chunk_whole_os_pages(header).count;
	void *address;
	/*
	 * With the run that is to follow: no chunk is mapped in vain. Not counted before there is a
	 * chunk: the child of a fork that comes in between does not get one.
	 */
	int rc = bedrock_pages_reserve(pages, header_count + page_count);

	if (rc)
		return rc;
	bedrock_lock_give(&pages->lock);
	rc = bedrock_space_map(pages->space, BEDROCK_CHUNK_BYTES, &address);
	bool is_small = bedrock_pages_are_small(pages);

	if (!rc && is_small)
		bedrock_os_keep_small(address, BEDROCK_CHUNK_BYTES);
	if (!rc)
		bedrock_chunk_init(address, pages->arena);
	bedrock_lock_take(&pages->lock);
	if (rc)
		bedrock_pages_add_credit(pages, header_count + page_count);
	if (rc)
		return rc;
	bedrock_pages_link(pages, address);
	/* The first limit of all is told to the chunks that are linked: it may have come before. */
	if (!is_small && bedrock_pages_are_small(pages))
		bedrock_os_keep_small(address, BEDROCK_CHUNK_BYTES);
	pages->credit_pages += page_count;
	bedrock_count_owned(&pages->charged_pages, header_count);
	return 0;
}

static void bedrock_pages_write_map(struct bedrock_chunk *chunk, struct bedrock_range range,
				    unsigned class_index)
{
	/* Nobody holds a pointer into the later pages of a large block. */
	if (class_index == BEDROCK_CLASS_LARGE)
		range.count = 1;
	memset(chunk->key_of + range.first, (int)(class_index << BEDROCK_KEY_SHIFT), range.count);
	for (uint32_t page = range.first; page < range.first + range.count; page++)
		chunk->head_of[page] = (uint16_t)range.first;
}

static struct bedrock_run *bedrock_pages_make_run(struct bedrock_chunk *chunk,
						  struct bedrock_range range, unsigned class_index)
{
	struct bedrock_run *run = &chunk->runs[range.first];

	bedrock_pages_write_map(chunk, range, class_index);
	run->page_count = (uint16_t)range.count;
	run->class_index = (uint8_t)class_index;
	return run;
}

static int bedrock_pages_begin_run(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
				   struct bedrock_range range, unsigned class_index,
				   struct bedrock_run **out, bool *is_zero)
{
	int rc = bedrock_pages_charge(pages, chunk, range);

	if (rc)
		return rc;
	bool is_resident = bedrock_pages_claim(pages, chunk, range) == range.count;

	*is_zero = bedrock_bitmap_set(&chunk->touched, range) == range.count;
	*out = bedrock_pages_make_run(chunk, range, class_index);
	(*out)->is_resident = is_resident;
	bedrock_assert_slow(bedrock_chunk_is_valid(chunk));
	return 0;
}

/* The lock is held. */
static int bedrock_pages_alloc_locked(struct bedrock_pages *pages,
				      const struct bedrock_pages_request *request,
				      struct bedrock_run **out, bool *is_zero)
{
	struct bedrock_range range = { .count = request->page_count };
	struct bedrock_chunk *chunk = bedrock_fit_find(pages, request, &range.first);

	if (chunk)
		return bedrock_pages_begin_run(pages, chunk, range, request->class_index, out,
					       is_zero);
	int rc = request->may_grow ? bedrock_pages_grow(pages, request->page_count) : -ENOMEM;

	if (rc)
		return rc;
	chunk = bedrock_fit_find(pages, request, &range.first);
	rc = chunk ? bedrock_pages_begin_run(pages, chunk, range, request->class_index, out,
					     is_zero)
		   : -ENOMEM;
	/* Somebody may have freed such a run meanwhile; what was to pay for ours is credit then. */
	bedrock_pages_add_credit(pages, 0);
	return rc;
}

int bedrock_pages_alloc(struct bedrock_pages *pages, const struct bedrock_pages_request *request,
			struct bedrock_run **out, bool *is_zero)
{
	struct bedrock_pages_request frugal = *request;

	bedrock_lock_take(&pages->lock);
	int rc = bedrock_pages_alloc_locked(pages, request, out, is_zero);

	if (bedrock_unlikely(rc == -EDQUOT)) {
		/* Pages that rest here cost nothing: better those than to purge them for others. */
		frugal.is_frugal = true;
		frugal.is_growing = false;
		frugal.may_grow = false;
		if (bedrock_pages_alloc_locked(pages, &frugal, out, is_zero) == 0)
			rc = 0;
	}
	bedrock_lock_give(&pages->lock);
	return rc;
}

void bedrock_pages_free(struct bedrock_pages *pages, struct bedrock_run *run)
{
	struct bedrock_chunk *chunk = bedrock_run_chunk(run);
	struct bedrock_range range = {
		.first = bedrock_run_first(run),
		.count = run->page_count,
	};

	bedrock_lock_take(&pages->lock);
	bedrock_pages_write_map(chunk, range, BEDROCK_CLASS_NONE);
	bedrock_pages_unclaim(pages, chunk, BEDROCK_REST_DIRTY, range);
	bedrock_lock_give(&pages->lock);
}

void bedrock_pages_shrink(struct bedrock_pages *pages, struct bedrock_run *run, uint32_t count)
{
	struct bedrock_range tail = {
		.first = bedrock_run_first(run) + count,
		.count = run->page_count - count,
	};

	bedrock_lock_take(&pages->lock);
	run->page_count = (uint16_t)count;
	bedrock_pages_unclaim(pages, bedrock_run_chunk(run), BEDROCK_REST_DIRTY, tail);
	bedrock_lock_give(&pages->lock);
}

int bedrock_pages_extend(struct bedrock_pages *pages, struct bedrock_run *run, uint32_t count)
{
	struct bedrock_chunk *chunk = bedrock_run_chunk(run);
	struct bedrock_range more = {
		.first = bedrock_run_first(run) + run->page_count,
		.count = count - run->page_count,
	};
	int rc = -ENOMEM;

	bedrock_lock_take(&pages->lock);
	if (more.first + more.count <= BEDROCK_CHUNK_PAGES &&
	    bedrock_bitmap_next_set(&chunk->used, more.first) >= more.first + more.count)
		rc = bedrock_pages_charge(pages, chunk, more);
	if (!rc) {
		bedrock_pages_claim(pages, chunk, more);
		bedrock_bitmap_set(&chunk->touched, more);
		run->page_count = (uint16_t)count;
	}
	bedrock_lock_give(&pages->lock);
	return rc;
}

/* Where a run of at least `count` pages lies that begins with the free pages before this one. */
static struct bedrock_range bedrock_pages_around(const struct bedrock_chunk *chunk,
						 struct bedrock_range own, uint32_t count)
{
	struct bedrock_range whole = own;

	if (!bedrock_bitmap_test(&chunk->used, own.first - 1))
		whole.first = bedrock_bitmap_clear_run(&chunk->used, own.first - 1).first;
	whole.count = own.first + own.count - whole.first;
	if (whole.count < count)
		whole.count = count;
	return whole;
}

int bedrock_pages_extend_down(struct bedrock_pages *pages, struct bedrock_run **run, uint32_t count)
{
	struct bedrock_chunk *chunk = bedrock_run_chunk(*run);
	struct bedrock_range own = {
		.first = bedrock_run_first(*run),
		.count = (*run)->page_count,
	};
	uint32_t own_end = own.first + own.count;
	int rc = -ENOMEM;

	bedrock_lock_take(&pages->lock);
	struct bedrock_range whole = bedrock_pages_around(chunk, own, count);
	uint32_t end = whole.first + whole.count;
	struct bedrock_range below = { .first = whole.first, .count = own.first - whole.first };
	struct bedrock_range above = { .first = own_end, .count = end - own_end };

	if (below.count > 0 && end <= BEDROCK_CHUNK_PAGES &&
	    bedrock_bitmap_next_set(&chunk->used, own_end) >= end)
		rc = bedrock_pages_charge(pages, chunk, whole);
	if (!rc) {
		bedrock_pages_claim(pages, chunk, below);
		if (above.count > 0)
			bedrock_pages_claim(pages, chunk, above);
		bedrock_bitmap_set(&chunk->touched, whole);
		bedrock_pages_write_map(chunk, own, BEDROCK_CLASS_NONE);
		*run = bedrock_pages_make_run(chunk, whole, BEDROCK_CLASS_LARGE);
	}
	bedrock_lock_give(&pages->lock);
	return rc;
}

/* Length of the run of bits set in both maps, from `first` on, where both are set. */
static uint32_t bedrock_pages_common_run(const struct bedrock_bitmap *a,
					 const struct bedrock_bitmap *b, uint32_t first)
{
	uint32_t end_a = bedrock_bitmap_next_clear(a, first);
	uint32_t end_b = bedrock_bitmap_next_clear(b, first);

	return (end_a < end_b ? end_a : end_b) - first;
}

uint32_t bedrock_pages_isolate(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
			       enum bedrock_rest kind, struct bedrock_bitmap *wanted,
			       struct bedrock_range *ranges, uint32_t range_max)
{
	struct bedrock_range done = { .first = 0, .count = 0 };
	uint32_t found = 0;
	uint32_t page;

	bedrock_lock_take(&pages->lock);
	while (found < range_max) {
		page = bedrock_bitmap_next_set(wanted, done.count);
		if (page == BEDROCK_BITMAP_BITS)
			break;
		done.count = page + 1;
		if (!bedrock_bitmap_test(&chunk->rest[kind], page))
			continue;
		struct bedrock_range range = {
			.first = page,
			.count = bedrock_pages_common_run(wanted, &chunk->rest[kind], page),
		};

		bedrock_pages_claim(pages, chunk, range);
		ranges[found++] = range;
		done.count = range.first + range.count;
	}
	bedrock_lock_give(&pages->lock);
	bedrock_bitmap_clear(wanted, done);
	return found;
}

/*
 * What is advised is whole pages of the kernel. The ends, if any, are resident still: they are
 * dirty, together with what comes to lie beside them, until such a page is complete.
 */
static void bedrock_pages_unclaim_inner(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
					enum bedrock_rest kind, struct bedrock_range range,
					struct bedrock_range inner)
{
	struct bedrock_range head = { .first = range.first, .count = range.count };
	struct bedrock_range tail = { .first = inner.first + inner.count, .count = 0 };

	if (inner.count > 0) {
		head.count = inner.first - range.first;
		tail.count = range.first + range.count - tail.first;
		bedrock_pages_unclaim(pages, chunk, kind, inner);
	}
	if (head.count > 0)
		bedrock_pages_unclaim(pages, chunk, BEDROCK_REST_DIRTY, head);
	if (tail.count > 0)
		bedrock_pages_unclaim(pages, chunk, BEDROCK_REST_DIRTY, tail);
}

void bedrock_pages_release(struct bedrock_pages *pages, struct bedrock_chunk *chunk,
			   enum bedrock_rest kind, struct bedrock_range range)
{
	struct bedrock_range inner = bedrock_chunk_inner_os_pages(range);

	bedrock_lock_take(&pages->lock);
	if (kind == BEDROCK_REST_COUNT)
		bedrock_pages_earn(pages, bedrock_bitmap_clear(&chunk->charged, inner));
	/* Otherwise pages that have been through madvise are never believed to be zero. */
	if (kind == BEDROCK_REST_COUNT && pages->space->is_purge_trusted)
		bedrock_bitmap_clear(&chunk->touched, inner);
	bedrock_pages_unclaim_inner(pages, chunk, kind, range, inner);
	bedrock_lock_give(&pages->lock);
}

bool bedrock_pages_is_valid(const struct bedrock_pages *pages)
{
	struct bedrock_range whole = { .first = 0, .count = BEDROCK_CHUNK_PAGES };
	uint64_t rest[BEDROCK_REST_COUNT] = { 0, 0 };
	uint64_t used = 0;
	uint64_t charged = 0;
	uint32_t chunks = 0;

	for (const struct bedrock_chunk *chunk = pages->all; chunk; chunk = chunk->all_next) {
		if (!bedrock_chunk_is_valid(chunk))
			return false;
		if (chunk->bucket != bedrock_fit_bucket(chunk->longest_free))
			return false;
		for (int kind = 0; kind < BEDROCK_REST_COUNT; kind++)
			rest[kind] += bedrock_bitmap_count(&chunk->rest[kind], whole);
		used += chunk->used_count;
		charged += bedrock_bitmap_count(&chunk->charged, whole);
		chunks++;
	}
	for (uint32_t bucket = 0; bucket < BEDROCK_BUCKET_COUNT; bucket++) {
		if ((pages->buckets[bucket] != NULL) != (pages->bucket_bits >> bucket & 1))
			return false;
	}
	return chunks == pages->chunk_count && used == bedrock_load_relaxed(&pages->used_pages) &&
	       charged == bedrock_load_relaxed(&pages->charged_pages) &&
	       pages->credit_pages <= BEDROCK_PAGES_CREDIT_MAX &&
	       rest[0] == bedrock_load_relaxed(&pages->rest_pages[0]) &&
	       rest[1] == bedrock_load_relaxed(&pages->rest_pages[1]);
}
