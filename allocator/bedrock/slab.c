/* SPDX-License-Identifier: MIT */
/*
 * Taking blocks from slabs, and returning them.
 *
 * A taker prefers, in this order: a slab with returned blocks, slabs waiting on the pending
 * list, a slab with blocks never handed out, a new slab. So memory that was in use is used
 * again before memory that never was, and the resident set stays small.
 */
#include "allocator/bedrock/slab.h"

#include <errno.h>

#include "allocator/bedrock/arena.h"
#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/link.h"
#include "allocator/bedrock/misuse.h"
#include "allocator/bedrock/tell.h"

#define BEDROCK_REMOTE_COUNT_SHIFT  48
#define BEDROCK_REMOTE_POINTER_MASK ((UINT64_C(1) << BEDROCK_REMOTE_COUNT_SHIFT) - 1)

/* While a list is returned: how many slabs it is sorted by at a time. */
#define BEDROCK_SHEAF_SLOTS 16u

/* Blocks of one slab, gathered for one push. */
struct bedrock_sheaf {
	struct bedrock_run *run;
	void *head;
	void *tail;
	uint32_t count;
};

/* Bit s of `used` is set exactly if slots[s] holds a sheaf. */
struct bedrock_sheaves {
	uint32_t used;
	struct bedrock_sheaf slots[BEDROCK_SHEAF_SLOTS];
};

/* Where the first blocks of a slab lie. */
struct bedrock_slab_bounds {
	uintptr_t start;
	uint32_t bytes;
	uint32_t block_bytes;
	uint32_t inverse;
};

/* Of those that were carved, for who holds the lock; of all that fit, for others. */
static inline struct bedrock_slab_bounds bedrock_slab_bounds(const struct bedrock_run *run,
							     uint32_t count)
{
	return (struct bedrock_slab_bounds){
		.start = (uintptr_t)bedrock_run_start(run),
		.bytes = count * run->block_bytes,
		.block_bytes = run->block_bytes,
		.inverse = bedrock_class_inverse_table[run->class_index],
	};
}

/* Does one of those blocks begin here? */
static inline bool bedrock_slab_has(const struct bedrock_slab_bounds *bounds, const void *address)
{
	uint64_t offset_bytes = (uintptr_t)address - bounds->start;
	/* Exact for a multiple; for anything else no number of blocks is right. */
	uint64_t index = offset_bytes * bounds->inverse >> 32;

	return offset_bytes < bounds->bytes && index * bounds->block_bytes == offset_bytes;
}

__attribute__((noinline, cold)) void bedrock_slab_accuse(const void *block)
{
	const struct bedrock_run *run = bedrock_chunk_slab_of(block);

	bedrock_misuse_link(block, bedrock_run_start(run), run->block_bytes,
			    *(const uintptr_t *)block);
}

/* The next block in a list of one slab, which has one. */
static inline void *bedrock_slab_step(const struct bedrock_slab_bounds *bounds, void *block)
{
	void *next = bedrock_link_next(block);

	if (bedrock_unlikely(!bedrock_slab_has(bounds, next)))
		bedrock_slab_accuse(block);
	return next;
}

void bedrock_bin_init(struct bedrock_bin *bin)
{
	bedrock_lock_init(&bin->lock, BEDROCK_RANK_BIN);
}

static void bedrock_slab_unlist(struct bedrock_bin *bin, struct bedrock_run *run)
{
	unsigned list = run->listed;

	if (list == BEDROCK_SLAB_UNLISTED)
		return;
	run->next->prev = run->prev;
	run->prev->next = run->next;
	if (bin->lists[list] == run)
		bin->lists[list] = run->next == run ? NULL : run->next;
	run->listed = BEDROCK_SLAB_UNLISTED;
}

/* Put a slab on the list it belongs to. Fuller slabs come first, so that others may drain. */
static void bedrock_slab_list(struct bedrock_bin *bin, struct bedrock_run *run)
{
	unsigned list = run->free_count > 0 ? BEDROCK_SLAB_PARTIAL : BEDROCK_SLAB_CARVING;
	struct bedrock_run *first = bin->lists[list];

	if (run->free_count == 0 && run->carved_count == run->capacity)
		return;
	run->listed = (uint8_t)list;
	if (!first) {
		run->next = run;
		run->prev = run;
		bin->lists[list] = run;
		return;
	}
	run->next = first;
	run->prev = first->prev;
	first->prev->next = run;
	first->prev = run;
	if (run->free_count * 2 <= run->capacity)
		bin->lists[list] = run;
}

static void bedrock_slab_relist(struct bedrock_bin *bin, struct bedrock_run *run)
{
	bedrock_slab_unlist(bin, run);
	bedrock_slab_list(bin, run);
	bedrock_assert_slow(bedrock_slab_is_valid(run));
}

static int bedrock_slab_create(struct bedrock_arena *arena, unsigned class_index,
			       enum bedrock_effort effort)
{
	const struct bedrock_pages_request request = {
		.page_count = bedrock_class_slab_pages(class_index),
		.align_pages = 1,
		.class_index = class_index,
		.may_grow = effort == BEDROCK_EFFORT_CHUNK,
		.is_frugal = effort == BEDROCK_EFFORT_REST,
	};
	struct bedrock_bin *bin = &arena->bins[class_index];
	struct bedrock_run *run;
	bool is_zero;
	int rc = bedrock_pages_alloc(&arena->pages, &request, &run, &is_zero);

	if (rc)
		return rc;
	bedrock_store_relaxed(&run->remote, 0);
	run->free = NULL;
	run->free_count = 0;
	run->carved_count = 0;
	run->block_bytes = (uint32_t)bedrock_class_bytes(class_index);
	run->capacity = (uint16_t)(run->page_count * BEDROCK_PAGE_BYTES / run->block_bytes);
	run->listed = BEDROCK_SLAB_UNLISTED;
	/* Blocks may have been hidden there: see watch.h. */
	if (bedrock_unlikely(arena->pages.space->is_watched))
		bedrock_tell_shown(bedrock_run_start(run), run->page_count * BEDROCK_PAGE_BYTES);
	bedrock_store_relaxed(&bin->slab_count, bedrock_load_relaxed(&bin->slab_count) + 1);
	bedrock_slab_list(bin, run);
	return 0;
}

static void bedrock_slab_retire(struct bedrock_arena *arena, struct bedrock_bin *bin,
				struct bedrock_run *run)
{
	bedrock_slab_unlist(bin, run);
	bedrock_count_owned(&bin->blocks_idle, -(int64_t)run->free_count);
	bedrock_store_relaxed(&bin->slab_count, bedrock_load_relaxed(&bin->slab_count) - 1);
	bedrock_pages_free(&arena->pages, run);
}

/* Move what others have returned into the free list, and see what has become of the slab. */
static void bedrock_slab_absorb(struct bedrock_arena *arena, struct bedrock_bin *bin,
				struct bedrock_run *run, bool keep_one)
{
	void *last = run->remote_last;
	/* Pairs with the CAS in bedrock_sheaf_push; from here on the slab may be pushed again. */
	uint64_t remote = bedrock_exchange_acq_rel(&run->remote, 0);
	uint32_t count = (uint32_t)(remote >> BEDROCK_REMOTE_COUNT_SHIFT);

	if (bedrock_unlikely(run->free_count + count > run->carved_count))
		bedrock_misuse_excess(bedrock_run_start(run), run->block_bytes);
	if (run->free)
		bedrock_link_set(last, run->free);
	run->free = (void *)(uintptr_t)(remote & BEDROCK_REMOTE_POINTER_MASK);
	run->free_count = (uint16_t)(run->free_count + count);
	bedrock_count_owned(&bin->blocks_out, -(int64_t)count);
	bedrock_count_owned(&bin->blocks_idle, count);
	bedrock_slab_relist(bin, run);
	if (run->free_count < run->carved_count)
		return;
	bool is_only = bin->lists[BEDROCK_SLAB_PARTIAL] == run && run->next == run &&
		       !bin->lists[BEDROCK_SLAB_CARVING];

	if (!keep_one || !is_only)
		bedrock_slab_retire(arena, bin, run);
}

/* Absorb up to `most` of the slabs that have been waiting. The bin's lock is held. */
static void bedrock_bin_collect(struct bedrock_arena *arena, struct bedrock_bin *bin, bool keep_one,
				uint32_t most)
{
	struct bedrock_run *run = bedrock_load_relaxed(&bin->backlog);
	bool is_taken = false;

	for (uint32_t i = 0; i < most; i++) {
		if (!run && !is_taken) {
			/* Pairs with the release in bedrock_pending_push. */
			run = bedrock_exchange_acquire(&bin->pending, NULL);
			is_taken = true;
		}
		if (!run)
			break;
		/* Read before absorbing: afterwards the link may belong to the next push. */
		struct bedrock_run *next = run->pending_next;

		bedrock_sub_relaxed(&arena->pending_pages, run->page_count);
		bedrock_slab_absorb(arena, bin, run, keep_one);
		run = next;
	}
	bedrock_store_relaxed(&bin->backlog, run);
}

void bedrock_slab_collect(struct bedrock_arena *arena, unsigned class_index, bool keep_one)
{
	struct bedrock_bin *bin = &arena->bins[class_index];

	bedrock_lock_take(&bin->lock);
	bedrock_bin_collect(arena, bin, keep_one, UINT32_MAX);
	struct bedrock_run *first = bin->lists[BEDROCK_SLAB_PARTIAL];

	/* An empty slab was kept as the only one; others, if any, came before it. */
	if (!keep_one && first && first->prev->free_count == first->prev->carved_count)
		bedrock_slab_retire(arena, bin, first->prev);
	bedrock_lock_give(&bin->lock);
}

/* Cut up to `want` blocks off the free list; the whole list if that is not more. */
static struct bedrock_list bedrock_slab_take_free(struct bedrock_run *run, uint32_t want)
{
	struct bedrock_list list = { .head = run->free, .count = run->free_count };

	if (list.count > want) {
		const struct bedrock_slab_bounds bounds =
			bedrock_slab_bounds(run, run->carved_count);
		void *last = list.head;

		for (uint32_t i = 1; i < want; i++)
			last = bedrock_slab_step(&bounds, last);
		run->free = bedrock_slab_step(&bounds, last);
		bedrock_link_set(last, NULL);
		list.count = want;
	} else {
		run->free = NULL;
	}
	run->free_count = (uint16_t)(run->free_count - list.count);
	return list;
}

static char *bedrock_slab_block(const struct bedrock_run *run, uint32_t index)
{
	return bedrock_run_start(run) + (size_t)index * run->block_bytes;
}

/* Blocks that were never handed out. */
static struct bedrock_list bedrock_slab_carve(struct bedrock_run *run, uint32_t want)
{
	uint32_t room = (uint32_t)(run->capacity - run->carved_count);
	struct bedrock_list list = {
		.head = bedrock_slab_block(run, run->carved_count),
		.count = want < room ? want : room,
		.is_fresh = true,
		.is_resident = run->is_resident,
	};

	run->carved_count = (uint16_t)(run->carved_count + list.count);
	return list;
}

static struct bedrock_list bedrock_slab_give(struct bedrock_bin *bin, struct bedrock_run *run,
					     uint32_t want)
{
	struct bedrock_list list;

	if (run->free_count > 0) {
		list = bedrock_slab_take_free(run, want);
		bedrock_count_owned(&bin->blocks_idle, -(int64_t)list.count);
	} else {
		list = bedrock_slab_carve(run, want);
	}
	bedrock_count_owned(&bin->blocks_out, list.count);
	return list;
}

/*
 * How many slabs a taker collects. One that has something is enough, and the others may become
 * fuller meanwhile; but where slabs are large, pages that others could use are worth the look.
 */
static uint32_t bedrock_collect_most(unsigned class_index)
{
	return bedrock_class_bytes(class_index) < BEDROCK_PAGE_BYTES ? 1 : UINT32_MAX;
}

/* A slab with something to give, or NULL. The bin's lock is held. */
static struct bedrock_run *bedrock_slab_find(struct bedrock_arena *arena, unsigned class_index,
					     enum bedrock_effort effort)
{
	struct bedrock_bin *bin = &arena->bins[class_index];

	if (bin->lists[BEDROCK_SLAB_PARTIAL])
		return bin->lists[BEDROCK_SLAB_PARTIAL];
	while (bedrock_bin_has_waiting(bin)) {
		bedrock_bin_collect(arena, bin, true, bedrock_collect_most(class_index));
		if (bin->lists[BEDROCK_SLAB_PARTIAL])
			return bin->lists[BEDROCK_SLAB_PARTIAL];
	}
	if (bin->lists[BEDROCK_SLAB_CARVING] || effort == BEDROCK_EFFORT_REUSE)
		return bin->lists[BEDROCK_SLAB_CARVING];
	if (bedrock_slab_create(arena, class_index, effort))
		return NULL;
	return bin->lists[BEDROCK_SLAB_CARVING];
}

int bedrock_slab_take(struct bedrock_arena *arena, unsigned class_index, uint32_t want,
		      enum bedrock_effort effort, struct bedrock_list *out)
{
	struct bedrock_bin *bin = &arena->bins[class_index];

	bedrock_lock_take(&bin->lock);
	struct bedrock_run *run = bedrock_slab_find(arena, class_index, effort);

	if (run) {
		*out = bedrock_slab_give(bin, run, want);
		/* Still first in its list as long as it has something of the same kind to give. */
		if (run->free_count == 0)
			bedrock_slab_relist(bin, run);
	}
	bedrock_lock_give(&bin->lock);
	return run ? 0 : -ENOMEM;
}

static void bedrock_pending_push(struct bedrock_bin *bin, struct bedrock_run *run)
{
	struct bedrock_run *head = bedrock_load_relaxed(&bin->pending);

	do
		run->pending_next = head;
	while (!bedrock_cas_weak_release(&bin->pending, &head, run));
}

/* Hand a slab its blocks. After that the slab may vanish, unless we owe it the pending push. */
static void bedrock_sheaf_push(unsigned class_index, const struct bedrock_sheaf *sheaf)
{
	struct bedrock_run *run = sheaf->run;
	struct bedrock_arena *arena = bedrock_run_chunk(run)->arena;
	uint64_t head = (uint64_t)(uintptr_t)sheaf->head;
	uint64_t old = bedrock_load_relaxed(&run->remote);
	uint64_t new;

	do {
		uint64_t count = (old >> BEDROCK_REMOTE_COUNT_SHIFT) + sheaf->count;
		uintptr_t next = (uintptr_t)(old & BEDROCK_REMOTE_POINTER_MASK);

		bedrock_link_set(sheaf->tail, (void *)next);
		new = count << BEDROCK_REMOTE_COUNT_SHIFT | head;
		/* Pairs with the exchange in bedrock_slab_absorb. */
	} while (!bedrock_cas_weak_acq_rel(&run->remote, &old, new));
	if (old != 0)
		return;
	run->remote_last = sheaf->tail;
	/* The blocks just pushed keep the slab alive until the pending list knows of it. */
	bedrock_add_relaxed(&arena->pending_pages, run->page_count);
	bedrock_pending_push(&arena->bins[class_index], run);
}

/* Add a chain to the sheaf of its slab; what another slab had in its place is handed over. */
static void bedrock_sheaf_add(unsigned class_index, struct bedrock_sheaves *sheaves,
			      const struct bedrock_sheaf *chain)
{
	uintptr_t hash = (uintptr_t)chain->run / sizeof(*chain->run);
	uint32_t slot = (uint32_t)(hash ^ hash >> 6) % BEDROCK_SHEAF_SLOTS;
	struct bedrock_sheaf *sheaf = &sheaves->slots[slot];

	if (!(sheaves->used >> slot & 1)) {
		sheaves->used |= UINT32_C(1) << slot;
	} else if (sheaf->run == chain->run) {
		bedrock_link_set(chain->tail, sheaf->head);
		sheaf->head = chain->head;
		sheaf->count += chain->count;
		return;
	} else {
		bedrock_sheaf_push(class_index, sheaf);
	}
	*sheaf = *chain;
}

bool bedrock_slab_holds(unsigned class_index, const void *block)
{
	/* The page map is of use for what may be an address only. */
	if (!bedrock_link_is_plausible(block) || bedrock_chunk_class_of(block) != class_index ||
	    class_index >= BEDROCK_CLASS_COUNT)
		return false;
	const struct bedrock_run *run = bedrock_chunk_slab_of(block);
	const struct bedrock_slab_bounds bounds = bedrock_slab_bounds(run, run->capacity);

	return run->class_index == class_index && bedrock_slab_has(&bounds, block);
}

const void *bedrock_slab_block_around(const void *address, size_t *bytes)
{
	unsigned class_index = bedrock_chunk_class_of(address);

	if (class_index == BEDROCK_CLASS_NONE || class_index >= BEDROCK_CLASS_COUNT)
		return NULL;
	const struct bedrock_run *run = bedrock_chunk_slab_of(address);
	size_t index = (size_t)((const char *)address - bedrock_run_start(run)) / run->block_bytes;

	*bytes = run->block_bytes;
	return index < run->capacity ? bedrock_run_start(run) + index * run->block_bytes : NULL;
}

__attribute__((noinline, cold)) void bedrock_slab_refuse(const void *address)
{
	size_t bytes;
	const void *start = bedrock_slab_block_around(address, &bytes);

	if (start && start != address)
		bedrock_misuse_inside("free", address, start, bytes);
	bedrock_misuse_no_block("free", address);
}

/* What a block in a list links to is none. It may be what somebody wanted to free. */
static _Noreturn void bedrock_slab_blame(unsigned class_index, const void *block, const void *next)
{
	if (bedrock_link_is_plausible(next) && bedrock_chunk_class_of(next) == class_index)
		bedrock_slab_refuse(next);
	bedrock_slab_accuse(block);
}

/*
 * The longest chain of blocks of one slab, at most `most` of them, that the list begins with. The
 * slab's bounds tell for each further block whether it is one of them, without a look at the page
 * map.
 */
static struct bedrock_sheaf bedrock_chain_of_one_slab(void *head, uint32_t most)
{
	struct bedrock_sheaf chain = {
		.run = bedrock_chunk_slab_of(head),
		.head = head,
		.tail = head,
		.count = 1,
	};
	const uint32_t capacity = chain.run->capacity;
	const struct bedrock_slab_bounds bounds = bedrock_slab_bounds(chain.run, capacity);
	void *next = bedrock_link_next(head);

	/* A list that goes round in a circle ends here as well. */
	if (most > capacity)
		most = capacity + 1;
	/* The end of the list is outside as well: no slab begins at address 0. */
	while (chain.count < most && bedrock_slab_has(&bounds, next)) {
		chain.tail = next;
		chain.count++;
		next = bedrock_link_next(next);
	}
	if (bedrock_unlikely(chain.count > capacity))
		bedrock_misuse_excess((const void *)bounds.start, bounds.block_bytes);
	return chain;
}

void bedrock_slab_return(unsigned class_index, void *head)
{
	struct bedrock_sheaves sheaves;

	sheaves.used = 0;
	if (bedrock_unlikely(!bedrock_slab_holds(class_index, head)))
		bedrock_slab_refuse(head);
	while (head) {
		struct bedrock_sheaf chain = bedrock_chain_of_one_slab(head, UINT32_MAX);

		head = bedrock_link_next(chain.tail);
		if (bedrock_unlikely(head && !bedrock_slab_holds(class_index, head)))
			bedrock_slab_blame(class_index, chain.tail, head);
		bedrock_sheaf_add(class_index, &sheaves, &chain);
	}
	for (uint32_t left = sheaves.used; left; left &= left - 1)
		bedrock_sheaf_push(class_index, &sheaves.slots[__builtin_ctz(left)]);
}

void *bedrock_slab_return_first(unsigned class_index, void *head, uint32_t most, uint32_t *count)
{
	if (bedrock_unlikely(!bedrock_slab_holds(class_index, head)))
		bedrock_slab_refuse(head);
	struct bedrock_sheaf chain = bedrock_chain_of_one_slab(head, most);
	void *rest = bedrock_link_next(chain.tail);

	/* What may be an address is looked at when somebody comes for it. */
	if (bedrock_unlikely(rest && !bedrock_link_is_plausible(rest)))
		bedrock_slab_accuse(chain.tail);
	bedrock_sheaf_push(class_index, &chain);
	*count = chain.count;
	/* Whoever comes for the rest soon finds both lines it needs at hand. */
	if (rest) {
		__builtin_prefetch(rest);
		__builtin_prefetch(&bedrock_chunk_slab_of(rest)->remote, 1);
	}
	return rest;
}

/* Make fresh blocks as if they had never been carved. The bin's lock is held. */
static void bedrock_slab_uncarve(struct bedrock_arena *arena, struct bedrock_bin *bin,
				 struct bedrock_run *run, uint32_t count)
{
	run->carved_count = (uint16_t)(run->carved_count - count);
	bedrock_count_owned(&bin->blocks_out, -(int64_t)count);
	bedrock_slab_relist(bin, run);
	if (run->free_count == run->carved_count)
		bedrock_slab_retire(arena, bin, run);
}

static void bedrock_slab_link(const struct bedrock_run *run, struct bedrock_sheaf *sheaf)
{
	char *block = sheaf->head;

	for (uint32_t i = 1; i < sheaf->count; i++, block += run->block_bytes)
		bedrock_link_set(block, block + run->block_bytes);
	sheaf->tail = block;
}

void bedrock_slab_return_fresh(unsigned class_index, void *first, uint32_t count)
{
	struct bedrock_run *run = bedrock_chunk_slab_of(first);
	struct bedrock_arena *arena = bedrock_run_chunk(run)->arena;
	struct bedrock_bin *bin = &arena->bins[class_index];
	struct bedrock_sheaf sheaf = { .run = run, .head = first, .count = count };

	bedrock_lock_take(&bin->lock);
	bool is_last = (char *)first == bedrock_slab_block(run, run->carved_count - count);

	if (is_last)
		bedrock_slab_uncarve(arena, bin, run, count);
	bedrock_lock_give(&bin->lock);
	if (is_last)
		return;
	/* Somebody has carved behind them: they have to go the way of all blocks. */
	bedrock_slab_link(run, &sheaf);
	bedrock_sheaf_push(class_index, &sheaf);
}
