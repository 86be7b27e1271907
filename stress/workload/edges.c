/* SPDX-License-Identifier: MIT */
/*
 * Edges: asks for what lies at the borders and looks at the answers. Nothing, one byte, sizes
 * around powers of two, alignments larger than the block; and what must be refused: more than there
 * can be, products that wrap, alignments that are none. Blocks are used to the last byte that
 * malloc_usable_size allows, with others beside them.
 *
 * What each thread asks for depends on its own stream alone. No more than a few MiB are live; what
 * is too large is never touched. Whether nothing is answered with NULL or with a block is up to the
 * allocator, but the answers must agree: with the first one, or with what `malloc-zero` says.
 */
#include <errno.h>

#include "injectors/atomic.h"
#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

#define NEIGHBOURS      16u
#define WINDOW          8u  /* blocks live at a time in a walk through sizes */
#define SHIFT_MAX       20u /* the walk ends at 1 MiB */
#define LARGE_SHIFT     22u /* one block beyond the classes of any allocator here: 4 MiB */
#define ALIGN_SHIFT_MIN 3u
#define WHOLE_SHIFT_MAX 16u /* up to here blocks are as large as their alignment */
#define ZEROED_BYTES    (128u * 1024u)
#define ZEROED          8u

enum zero_rule { ZERO_OF_MALLOC, ZERO_OF_MEMALIGN, ZERO_OF_REALLOC, ZERO_RULES };

enum malloc_zero { MALLOC_ZERO_FIRST, MALLOC_ZERO_BLOCK, MALLOC_ZERO_NULL };
static const char *const malloc_zero_names[] = { "first", "block", "null", NULL };

struct edges_options {
	uint64_t threads;
	uint64_t rounds;
	uint64_t alignment;   /* the largest */
	uint32_t malloc_zero; /* enum malloc_zero */
	uint32_t reserved;
};

/* Whoever answers first sets the rule: 1 + enum hq_zero_answer. */
struct edges_shared {
	_Atomic uint32_t rules[ZERO_RULES];
};

struct edges {
	const struct edges_options *options;
	struct edges_shared *shared;
	struct hq_heap *heap;
	struct hq_random random;
};

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, offsetof(struct edges_options, threads), "2", 1, 64, NULL,
	  "threads" },
	{ "rounds", HQ_OPTION_COUNT, offsetof(struct edges_options, rounds), "8", 1, 1000000, NULL,
	  "rounds of each thread" },
	{ "alignment", HQ_OPTION_SIZE, offsetof(struct edges_options, alignment), "4MiB", 8,
	  1ull << 30, NULL, "the largest alignment that must be served" },
	{ "malloc-zero", HQ_OPTION_ENUM, offsetof(struct edges_options, malloc_zero), "first", 0, 0,
	  malloc_zero_names, "answer to malloc(0): as the first one, a block, or NULL" },
	{ .name = NULL },
};

static uint32_t edges_threads(const void *values)
{
	return (uint32_t)((const struct edges_options *)values)->threads;
}

static int edges_prepare(struct hq_work *work)
{
	const struct edges_options *const chosen = work->options;
	struct edges_shared *const shared = hq_host_map(sizeof(*shared));

	if (shared == NULL)
		return -ENOMEM;
	if (chosen->malloc_zero != MALLOC_ZERO_FIRST)
		hq_store_relaxed(&shared->rules[ZERO_OF_MALLOC],
				 chosen->malloc_zero == MALLOC_ZERO_BLOCK ? 1 + HQ_ZERO_BLOCK
									  : 1 + HQ_ZERO_NULL);
	work->shared = shared;
	return 0;
}

/* ---- blocks that can be had ---- */

static void free_all(struct edges *self, struct hq_block *blocks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		hq_block_free(self->heap, &blocks[i]);
}

static void take(struct edges *self, struct hq_block *block, uint64_t size)
{
	const uint64_t kind = hq_random_below(&self->random, 3);
	const uint64_t alignment = 1ull << hq_random_below(&self->random, 13);
	bool given;

	hq_block_free(self->heap, block);
	if (kind == 0)
		given = hq_block_alloc(self->heap, block, size);
	else if (kind == 1)
		given = hq_block_calloc(self->heap, block, size);
	else
		given = hq_block_aligned(self->heap, block, alignment, size);
	if (!given)
		hq_heap_missed(self->heap);
	hq_block_use_all(self->heap, block);
}

static void sizes_around_powers(struct edges *self)
{
	struct hq_block blocks[WINDOW] = { { .address = NULL } };
	uint32_t next = 0;

	for (uint32_t shift = 0; shift <= SHIFT_MAX; shift++) {
		for (uint64_t beside = shift == 0 ? 1 : 0; beside < 3; beside++)
			take(self, &blocks[next++ % WINDOW], (1ull << shift) + beside - 1);
	}
	free_all(self, blocks, WINDOW);
	take(self, &blocks[0], (1ull << LARGE_SHIFT) + hq_random_below(&self->random, 3) - 1);
	free_all(self, blocks, 1);
}

/* Blocks of one size, each used whole in random order: none may reach into another. */
static void neighbours(struct edges *self)
{
	const uint64_t size = 1 + hq_random_below(&self->random, 2048);
	struct hq_block blocks[NEIGHBOURS] = { { .address = NULL } };

	for (uint32_t i = 0; i < NEIGHBOURS; i++) {
		if (!hq_block_alloc(self->heap, &blocks[i], size))
			hq_heap_missed(self->heap);
	}
	for (uint32_t i = 0; i < NEIGHBOURS; i++)
		hq_block_use_all(self->heap, &blocks[hq_random_below(&self->random, NEIGHBOURS)]);
	free_all(self, blocks, NEIGHBOURS);
}

/* An alignment may be larger than the block, and the size no multiple of it. */
static void alignments(struct edges *self)
{
	struct hq_block blocks[WINDOW] = { { .address = NULL } };
	uint32_t next = 0;

	for (uint32_t shift = ALIGN_SHIFT_MIN; 1ull << shift <= self->options->alignment; shift++) {
		const uint64_t alignment = 1ull << shift;
		const uint64_t largest = shift <= WHOLE_SHIFT_MAX ? alignment + 1 : 4096;
		const uint64_t sizes[] = { 1, largest - 2, largest - 1, largest,
					   1 + hq_random_below(&self->random, largest) };

		for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct hq_block *const block = &blocks[next++ % WINDOW];

			hq_block_free(self->heap, block);
			if (!hq_block_aligned(self->heap, block, alignment, sizes[i]))
				hq_heap_missed(self->heap);
		}
	}
	free_all(self, blocks, WINDOW);
}

/* ---- what must be refused ---- */

/* Above the limit by a little, by a page and more, by half, by all. */
static uint64_t size_beyond(struct hq_random *random)
{
	const uint64_t near = hq_random_below(random, 1ull << hq_random_below(random, 21));

	switch (hq_random_below(random, 4)) {
	case 0:
		return (uint64_t)PTRDIFF_MAX + near;
	case 1:
		return (uint64_t)PTRDIFF_MAX - near;
	case 2:
		return UINT64_MAX - near;
	default:
		return UINT64_MAX / 2 + UINT64_MAX / 4 + near;
	}
}

static void sizes_beyond(struct edges *self)
{
	static const enum hq_asked_call calls[] = { HQ_ASKED_MALLOC, HQ_ASKED_REALLOC };

	for (uint32_t i = 0; i < 16; i++)
		hq_heap_impossible(self->heap,
				   &(struct hq_ask){ .call = calls[i % 2],
						     .count = 1,
						     .size = size_beyond(&self->random) });
	hq_heap_impossible(
		self->heap,
		&(struct hq_ask){ .call = HQ_ASKED_MALLOC, .count = 1, .size = UINT64_MAX });
}

/* The product is a little more than 2^64, or than 2^63; the low bits alone would be a small block.
 */
static void products_beyond(struct edges *self)
{
	static const enum hq_asked_call calls[] = { HQ_ASKED_CALLOC, HQ_ASKED_REALLOCARRAY };

	for (uint32_t i = 0; i < 16; i++) {
		const uint64_t size = 2 + hq_random_below(&self->random, 1ull << (4 + 4 * (i % 8)));
		const uint64_t whole = i % 4 == 3 ? (uint64_t)PTRDIFF_MAX : UINT64_MAX;
		const uint64_t count = whole / size + 1 + hq_random_below(&self->random, 8);
		const bool turned = hq_random_below(&self->random, 2) != 0;

		hq_heap_impossible(self->heap, &(struct hq_ask){ .call = calls[i / 8],
								 .count = turned ? size : count,
								 .size = turned ? count : size });
	}
}

/* The sum of both wraps, or the alignment alone is more than the address space. */
static void alignments_beyond(struct edges *self)
{
	static const enum hq_asked_call calls[] = { HQ_ASKED_POSIX_MEMALIGN,
						    HQ_ASKED_ALIGNED_ALLOC };

	for (uint32_t i = 0; i < 16; i++) {
		const bool far = i % 4 < 2;
		const uint64_t shift = far ? 57 + hq_random_below(&self->random, 7)
					   : 3 + hq_random_below(&self->random, 18);
		const uint64_t alignment = 1ull << shift;
		const uint64_t size = far ? alignment : size_beyond(&self->random) & -alignment;

		hq_heap_impossible(self->heap, &(struct hq_ask){ .call = calls[i % 2],
								 .count = 1,
								 .size = size,
								 .alignment = alignment });
	}
}

/* Sizes that do not fit into 32 bits, in bytes and in pages. */
static void more_than_32_bits(struct edges *self)
{
	static const uint64_t sizes[] = { (1ull << 32) + 16, ((1ull << 32) + 2) << 12 };

	for (uint32_t i = 0; i < 2; i++) {
		hq_heap_vast(
			self->heap,
			&(struct hq_ask){ .call = HQ_ASKED_MALLOC, .count = 1, .size = sizes[i] });
		hq_heap_vast(self->heap, &(struct hq_ask){ .call = HQ_ASKED_POSIX_MEMALIGN,
							   .count = 1,
							   .size = sizes[i],
							   .alignment = 1ull << 16 });
	}
}

static void no_alignments(struct edges *self)
{
	static const uint64_t alignments[] = {
		0, 1, 2, 3, 4, 7, 12, 24, 4095, 4097, (1ull << 63) + 1, UINT64_MAX
	};

	for (uint32_t i = 0; i < sizeof(alignments) / sizeof(alignments[0]); i++)
		hq_heap_bad_alignment(self->heap, alignments[i],
				      1 + hq_random_below(&self->random, 4096));
}

static void growth_beyond(struct edges *self)
{
	struct hq_block block;

	for (uint32_t i = 0; i < 8; i++) {
		const uint64_t size = 1 + hq_random_below(&self->random, 1ull << (4 + 2 * (i % 8)));
		const uint64_t beyond = size_beyond(&self->random);

		if (!hq_block_alloc(self->heap, &block, size)) {
			hq_heap_missed(self->heap);
			continue;
		}
		hq_block_grow_beyond(self->heap, &block, beyond);
		if (block.address != NULL && !hq_block_resize(self->heap, &block, 2 * size))
			hq_heap_missed(self->heap);
		hq_block_free(self->heap, &block);
	}
}

/* ---- nothing ---- */

/* A refusal sets no rule; where it breaks one, the checker knows whether there was a cause. */
static void compare_zero(struct edges *self, enum zero_rule which, enum hq_asked_call call,
			 const void *address, enum hq_zero_answer got)
{
	_Atomic uint32_t *const rule = &self->shared->rules[which];
	uint32_t known = 0;

	if (got != HQ_ZERO_TAKEN && got != HQ_ZERO_REFUSED &&
	    hq_cas_acq_rel(rule, &known, 1 + (uint32_t)got))
		return;
	known = hq_load_relaxed(rule);
	if (got == HQ_ZERO_REFUSED && known != 1 + HQ_ZERO_BLOCK)
		return;
	if (known != 1 + (uint32_t)got)
		hq_heap_zero_broken(self->heap, call, address,
				    known == 0 ? HQ_ZERO_BLOCK : known - 1, got);
}

/* Of two live blocks without a size, neither is the other. */
static void compare_addresses(struct edges *self, enum hq_asked_call call, void *const *addresses,
			      uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (addresses[i] != NULL && addresses[i] == addresses[count])
			hq_heap_zero_broken(self->heap, call, addresses[i], HQ_ZERO_BLOCK,
					    HQ_ZERO_TAKEN);
	}
}

static void free_zeroes(struct edges *self, void *const *addresses, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bool again = false;

		for (uint32_t j = 0; j < i; j++)
			again = again || addresses[j] == addresses[i];
		if (!again)
			hq_heap_free(self->heap, addresses[i], 0);
	}
}

static void nothing(struct edges *self)
{
	static const struct {
		enum hq_asked_call call;
		enum zero_rule rule;
	} ways[] = {
		{ HQ_ASKED_MALLOC, ZERO_OF_MALLOC },           { HQ_ASKED_CALLOC, ZERO_OF_MALLOC },
		{ HQ_ASKED_REALLOC, ZERO_OF_MALLOC },          { HQ_ASKED_MALLOC, ZERO_OF_MALLOC },
		{ HQ_ASKED_POSIX_MEMALIGN, ZERO_OF_MEMALIGN }, { HQ_ASKED_MALLOC, ZERO_OF_MALLOC },
	};
	void *addresses[sizeof(ways) / sizeof(ways[0])];
	const uint32_t count = sizeof(ways) / sizeof(ways[0]);

	for (uint32_t i = 0; i < count; i++) {
		const enum hq_zero_answer got =
			hq_heap_zero(self->heap, ways[i].call, &addresses[i]);

		compare_zero(self, ways[i].rule, ways[i].call, addresses[i], got);
		compare_addresses(self, ways[i].call, addresses, i);
	}
	free_zeroes(self, addresses, count);
}

/* What realloc to nothing answers; a block without a size can be grown again. */
static void to_nothing(struct edges *self)
{
	struct hq_block blocks[ZEROED] = { { .address = NULL } };

	for (uint32_t i = 0; i < ZEROED; i++) {
		const uint64_t size =
			i % 2 ? ZEROED_BYTES : 1 + hq_random_below(&self->random, 512);
		void *address;

		if (!hq_block_alloc(self->heap, &blocks[i], size)) {
			hq_heap_missed(self->heap);
			continue;
		}
		const enum hq_zero_answer got = hq_block_to_zero(self->heap, &blocks[i], &address);

		compare_zero(self, ZERO_OF_REALLOC, HQ_ASKED_REALLOC, address, got);
		blocks[i] = (struct hq_block){ .address = got == HQ_ZERO_BLOCK ? address : NULL };
	}
	for (uint32_t i = 0; i < ZEROED; i += 2) {
		if (blocks[i].address != NULL && !hq_block_resize(self->heap, &blocks[i], 100))
			hq_heap_missed(self->heap);
	}
	free_all(self, blocks, ZEROED);
}

/* ---- the rounds ---- */

static void (*const steps[])(struct edges *self) = {
	nothing,           sizes_around_powers, neighbours,    sizes_beyond,  products_beyond,
	alignments,        alignments_beyond,   no_alignments, growth_beyond, to_nothing,
	more_than_32_bits, neighbours,          nothing,
};

static void edges_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct edges_options *const chosen = work->options;
	struct edges self = { .options = chosen,
			      .shared = work->shared,
			      .heap = heap,
			      .random = hq_random_stream(work->seed, thread, 0) };

	for (uint64_t round = 0; round < chosen->rounds; round++) {
		for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			if (hq_host_stopping())
				return;
			hq_heap_op_begin(heap);
			steps[i](&self);
			hq_heap_op_end(heap);
		}
	}
}

/* Every step frees what it took. */
static void edges_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	(void)work;
	(void)thread;
	(void)heap;
}

const struct hq_workload hq_workload_edges = {
	.name = "edges",
	.help = "what lies at the borders: nothing, too much, odd alignments, all of a block",
	.options = options,
	.options_size = sizeof(struct edges_options),
	.threads = edges_threads,
	.prepare = edges_prepare,
	.run = edges_run,
	.release = edges_release,
};
