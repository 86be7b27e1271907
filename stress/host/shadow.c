/* SPDX-License-Identifier: MIT */
/*
 * The shadow's two levels. Blocks of different threads share words at their ends, so the first and the
 * last word of a block are changed by atomic or / and; the words between belong to one block alone and
 * are plainly stored. When a broken allocator hands the same block to two threads at once, at least
 * its first word tells, because both or it.
 */
#include "stress/host/shadow.h"

#include <errno.h>
#include <stddef.h>

#include "injectors/atomic.h"
#include "stress/host/system.h"

#define GRANULE_SHIFT 3u
#define LEAF_SHIFT 24u
#define LEAF_GRANULES (1ull << (LEAF_SHIFT - GRANULE_SHIFT))
#define LEAF_COUNT (1ull << (HQ_SHADOW_ADDRESS_BITS - LEAF_SHIFT))

struct hq_shadow_leaf {
	_Atomic uint64_t words[LEAF_GRANULES / 64];
};

/* first <= granule < end, counted from address 0. */
struct span {
	uint64_t first;
	uint64_t end;
};

int hq_shadow_init(struct hq_shadow *shadow)
{
	*shadow = (struct hq_shadow){ .leaves = hq_system_map(LEAF_COUNT * sizeof(*shadow->leaves)) };
	return shadow->leaves != NULL ? 0 : -ENOMEM;
}

static struct hq_shadow_leaf *make_leaf(struct hq_shadow *shadow, uint64_t index)
{
	struct hq_shadow_leaf *const made = hq_system_map(sizeof(*made));
	struct hq_shadow_leaf *present = NULL;

	if (made == NULL)
		return NULL;
	/* Pairs with the acquire in find_leaf, here and in other threads. */
	if (hq_cas_acq_rel(&shadow->leaves[index], &present, made))
		return made;
	hq_system_unmap(made, sizeof(*made));
	return present;
}

static struct hq_shadow_leaf *find_leaf(struct hq_shadow *shadow, uint64_t granule, bool make)
{
	const uint64_t index = granule / LEAF_GRANULES;
	/* Pairs with the exchange in make_leaf. */
	struct hq_shadow_leaf *const leaf = hq_load_acquire(&shadow->leaves[index]);

	return leaf == NULL && make ? make_leaf(shadow, index) : leaf;
}

/* False if the block lies outside the table. */
static bool span_of(const void *address, uint64_t size, struct span *span)
{
	const uint64_t start = (uint64_t)(uintptr_t)address;
	const uint64_t limit = 1ull << HQ_SHADOW_ADDRESS_BITS;

	if (start >= limit || size > limit - start)
		return false;
	*span = (struct span){ .first = start >> GRANULE_SHIFT,
			       .end = (start + size + 7) >> GRANULE_SHIFT };
	return true;
}

/* The bits of granules `from` .. below `end` that lie in the word of `from`; *next is what follows. */
static uint64_t word_mask(uint64_t from, uint64_t end, uint64_t *next)
{
	const uint64_t word_end = (from | 63) + 1;

	*next = end < word_end ? end : word_end;
	return (*next - from == 64 ? ~0ull : (1ull << (*next - from)) - 1) << (from & 63);
}

static bool is_edge(const struct span *span, uint64_t from, uint64_t next)
{
	return from == span->first || next == span->end;
}

/* Sets bits and returns what was set before. */
static uint64_t take(_Atomic uint64_t *word, uint64_t mask, bool edge)
{
	if (edge)
		return hq_fetch_or_relaxed(word, mask) & mask;
	const uint64_t before = hq_load_relaxed(word);

	hq_store_relaxed(word, ~0ull);
	return before;
}

bool hq_shadow_set(struct hq_shadow *shadow, const void *address, uint64_t size,
		   uint64_t *shared_offset)
{
	const uint64_t start = (uint64_t)(uintptr_t)address;
	struct span span;
	bool alone = true;

	if (!span_of(address, size, &span)) {
		hq_fetch_add_relaxed(&shadow->unchecked, 1);
		return true;
	}
	for (uint64_t from = span.first, next; from < span.end; from = next) {
		const uint64_t mask = word_mask(from, span.end, &next);
		struct hq_shadow_leaf *const leaf = find_leaf(shadow, from, true);

		if (leaf == NULL) {
			hq_fetch_add_relaxed(&shadow->unchecked, 1);
			return alone;
		}
		const uint64_t shared = take(&leaf->words[from % LEAF_GRANULES / 64], mask,
					     is_edge(&span, from, next));

		if (shared == 0 || !alone)
			continue;
		const uint64_t granule = (from & ~63ull) + (uint64_t)__builtin_ctzll(shared);

		alone = false;
		*shared_offset = granule << GRANULE_SHIFT > start ?
					 (granule << GRANULE_SHIFT) - start : 0;
	}
	return alone;
}

void hq_shadow_clear(struct hq_shadow *shadow, const void *address, uint64_t size)
{
	struct span span;

	if (!span_of(address, size, &span))
		return;
	for (uint64_t from = span.first, next; from < span.end; from = next) {
		const uint64_t mask = word_mask(from, span.end, &next);
		struct hq_shadow_leaf *const leaf = find_leaf(shadow, from, false);

		if (leaf == NULL)
			continue;
		_Atomic uint64_t *const word = &leaf->words[from % LEAF_GRANULES / 64];

		if (is_edge(&span, from, next))
			hq_fetch_and_relaxed(word, ~mask);
		else
			hq_store_relaxed(word, 0);
	}
}
