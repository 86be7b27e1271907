/* SPDX-License-Identifier: MIT */
/*
 * The shadow's two levels. Blocks of different threads share words at their ends, so the first and
 * the last word of a block are changed by atomic or / and; the words between belong to one block
 * alone and are plainly stored. When a broken allocator hands the same block to two threads at
 * once, at least its first word tells, because both or it.
 */
#include "stress/host/shadow.h"

#include <errno.h>
#include <stddef.h>

#include "injectors/atomic.h"
#include "stress/host/system.h"

#define GRANULE_SHIFT 3u
#define WORD_SHIFT    6u /* granules in a word */
#define LEAF_SHIFT    24u
#define LEAF_WORDS    (1ull << (LEAF_SHIFT - GRANULE_SHIFT - WORD_SHIFT))
#define LEAF_COUNT    (1ull << (HQ_SHADOW_ADDRESS_BITS - LEAF_SHIFT))
#define NONE          UINT64_MAX

#define BATCH_LEAVES_MAX 64u

struct hq_shadow_leaf {
	_Atomic uint64_t words[LEAF_WORDS];
};

/* One mapping. */
struct hq_shadow_batch {
	_Atomic uint32_t taken; /* leaves; may count on when there are no more */
	uint32_t count;
	uint64_t padding[7];
	struct hq_shadow_leaf leaves[];
};

/* The words of a block, counted from address 0. */
struct span {
	uint64_t first;
	uint64_t first_mask;
	uint64_t last;
	uint64_t last_mask; /* 0 if the first word is also the last */
};

int hq_shadow_init(struct hq_shadow *shadow)
{
	*shadow =
		(struct hq_shadow){ .leaves = hq_system_map(LEAF_COUNT * sizeof(*shadow->leaves)) };
	return shadow->leaves != NULL ? 0 : -ENOMEM;
}

static uint64_t batch_bytes(uint32_t count)
{
	return sizeof(struct hq_shadow_batch) + count * sizeof(struct hq_shadow_leaf);
}

/* As many leaves, or as few as there is room for under a limit; the first one is taken. */
static struct hq_shadow_batch *make_batch(uint32_t count)
{
	struct hq_shadow_batch *batch;

	while ((batch = hq_system_map(batch_bytes(count))) == NULL && count > 1)
		count /= 2;
	if (batch != NULL) {
		batch->count = count;
		hq_store_relaxed(&batch->taken, 1);
	}
	return batch;
}

/* NULL: there is no memory. */
static struct hq_shadow_leaf *take_leaf(struct hq_shadow *shadow)
{
	for (;;) {
		/* Pairs with the exchange below. */
		struct hq_shadow_batch *batch = hq_load_acquire(&shadow->batch);
		const uint32_t at = batch != NULL ? hq_fetch_add_relaxed(&batch->taken, 1) : 0;

		if (batch != NULL && at < batch->count)
			return &batch->leaves[at];
		const uint32_t more = batch != NULL ? 2 * batch->count : 1;
		struct hq_shadow_batch *const made =
			make_batch(more < BATCH_LEAVES_MAX ? more : BATCH_LEAVES_MAX);

		if (made == NULL)
			return NULL;
		/* Pairs with the acquire above, in other threads. */
		if (hq_cas_acq_rel(&shadow->batch, &batch, made))
			return &made->leaves[0];
		hq_system_unmap(made, batch_bytes(made->count));
	}
}

/* A leaf that another thread has made meanwhile is taken in vain, and lies idle. */
static struct hq_shadow_leaf *make_leaf(struct hq_shadow *shadow, uint64_t index)
{
	struct hq_shadow_leaf *const made = take_leaf(shadow);
	struct hq_shadow_leaf *present = NULL;

	if (made == NULL)
		return NULL;
	/* Pairs with the acquire in find_leaf, here and in other threads. */
	if (hq_cas_acq_rel(&shadow->leaves[index], &present, made))
		return made;
	return present;
}

/* The leaf of a word, made if it is missing and wanted. */
static struct hq_shadow_leaf *find_leaf(struct hq_shadow *shadow, uint64_t word, bool make)
{
	const uint64_t index = word / LEAF_WORDS;
	/* Pairs with the exchange in make_leaf. */
	struct hq_shadow_leaf *const leaf = hq_load_acquire(&shadow->leaves[index]);

	return leaf == NULL && make ? make_leaf(shadow, index) : leaf;
}

/* False if the block lies outside the table, or is empty. */
static bool span_of(const void *address, uint64_t size, struct span *span)
{
	const uint64_t start = (uint64_t)(uintptr_t)address;
	const uint64_t limit = 1ull << HQ_SHADOW_ADDRESS_BITS;

	if (size == 0 || start >= limit || size > limit - start)
		return false;
	const uint64_t first = start >> GRANULE_SHIFT;
	const uint64_t last = (start + size - 1) >> GRANULE_SHIFT;
	const uint64_t from_first = ~0ull << (first & 63);
	const uint64_t to_last = ~0ull >> (63 - (last & 63));
	const bool one_word = first >> WORD_SHIFT == last >> WORD_SHIFT;

	*span = (struct span){ .first = first >> WORD_SHIFT,
			       .first_mask = one_word ? from_first & to_last : from_first,
			       .last = last >> WORD_SHIFT,
			       .last_mask = one_word ? 0 : to_last };
	return true;
}

/* The first granule that `shared` bits of a word stand for. */
static uint64_t granule_of(uint64_t word, uint64_t shared)
{
	return (word << WORD_SHIFT) + (uint64_t)__builtin_ctzll(shared);
}

/* Both return the first granule that was set before, or NONE. */
static uint64_t set_edge(struct hq_shadow *shadow, uint64_t word, uint64_t mask)
{
	struct hq_shadow_leaf *const leaf = mask != 0 ? find_leaf(shadow, word, true) : NULL;

	if (leaf == NULL) {
		if (mask != 0)
			hq_fetch_add_relaxed(&shadow->unchecked, 1);
		return NONE;
	}
	const uint64_t shared = hq_fetch_or_relaxed(&leaf->words[word % LEAF_WORDS], mask) & mask;

	return shared != 0 ? granule_of(word, shared) : NONE;
}

static uint64_t set_between(struct hq_shadow *shadow, uint64_t from, uint64_t end)
{
	uint64_t found = NONE;

	while (from < end) {
		struct hq_shadow_leaf *const leaf = find_leaf(shadow, from, true);
		const uint64_t leaf_end = (from / LEAF_WORDS + 1) * LEAF_WORDS;
		const uint64_t run_end = leaf_end < end ? leaf_end : end;

		for (; leaf != NULL && from < run_end; from++) {
			_Atomic uint64_t *const word = &leaf->words[from % LEAF_WORDS];
			const uint64_t shared = hq_load_relaxed(word);

			if (shared != 0 && found == NONE)
				found = granule_of(from, shared);
			hq_store_relaxed(word, ~0ull);
		}
		from = run_end;
	}
	return found;
}

bool hq_shadow_set(struct hq_shadow *shadow, const void *address, uint64_t size,
		   uint64_t *shared_offset)
{
	const uint64_t start = (uint64_t)(uintptr_t)address;
	struct span span;

	if (!span_of(address, size, &span)) {
		if (size != 0)
			hq_fetch_add_relaxed(&shadow->unchecked, 1);
		return true;
	}
	const uint64_t first = set_edge(shadow, span.first, span.first_mask);
	const uint64_t between = set_between(shadow, span.first + 1, span.last);
	const uint64_t last = set_edge(shadow, span.last, span.last_mask);
	const uint64_t found = first != NONE ? first : between != NONE ? between : last;

	if (found == NONE)
		return true;
	/* The granule may begin before the block does. */
	*shared_offset = found << GRANULE_SHIFT > start ? (found << GRANULE_SHIFT) - start : 0;
	return false;
}

static void clear_edge(struct hq_shadow *shadow, uint64_t word, uint64_t mask)
{
	struct hq_shadow_leaf *const leaf = mask != 0 ? find_leaf(shadow, word, false) : NULL;

	if (leaf != NULL)
		hq_fetch_and_relaxed(&leaf->words[word % LEAF_WORDS], ~mask);
}

static void clear_between(struct hq_shadow *shadow, uint64_t from, uint64_t end)
{
	while (from < end) {
		struct hq_shadow_leaf *const leaf = find_leaf(shadow, from, false);
		const uint64_t leaf_end = (from / LEAF_WORDS + 1) * LEAF_WORDS;
		const uint64_t run_end = leaf_end < end ? leaf_end : end;

		for (; leaf != NULL && from < run_end; from++)
			hq_store_relaxed(&leaf->words[from % LEAF_WORDS], 0);
		from = run_end;
	}
}

void hq_shadow_clear(struct hq_shadow *shadow, const void *address, uint64_t size)
{
	struct span span;

	if (!span_of(address, size, &span))
		return;
	clear_edge(shadow, span.first, span.first_mask);
	clear_between(shadow, span.first + 1, span.last);
	clear_edge(shadow, span.last, span.last_mask);
}

static bool is_live(const struct hq_shadow *shadow, uint64_t granule)
{
	const uint64_t word = granule >> WORD_SHIFT;
	/* Pairs with the exchange in make_leaf. */
	struct hq_shadow_leaf *const leaf = hq_load_acquire(&shadow->leaves[word / LEAF_WORDS]);

	return leaf != NULL &&
	       (hq_load_relaxed(&leaf->words[word % LEAF_WORDS]) >> (granule & 63) & 1) != 0;
}

bool hq_shadow_next(const struct hq_shadow *shadow, uint64_t from, uint64_t end, uint64_t *found)
{
	const uint64_t limit = 1ull << HQ_SHADOW_ADDRESS_BITS;
	const uint64_t last = end < limit ? end : limit;

	for (uint64_t granule = from >> GRANULE_SHIFT; granule << GRANULE_SHIFT < last; granule++) {
		if (!is_live(shadow, granule))
			continue;
		*found = granule << GRANULE_SHIFT > from ? granule << GRANULE_SHIFT : from;
		return true;
	}
	return false;
}

bool hq_shadow_last(const struct hq_shadow *shadow, uint64_t from, uint64_t end, uint64_t *found)
{
	const uint64_t limit = 1ull << HQ_SHADOW_ADDRESS_BITS;
	const uint64_t first = from < limit ? from : limit;

	for (uint64_t granule = first >> GRANULE_SHIFT; granule > end >> GRANULE_SHIFT; granule--) {
		if (!is_live(shadow, granule - 1))
			continue;
		*found = (granule << GRANULE_SHIFT) - 1;
		return true;
	}
	return false;
}
