/* SPDX-License-Identifier: MIT */
/*
 * The adversary of size classes: asks the allocator, through malloc_usable_size, where its classes
 * end, and then holds blocks of one byte more than fits into the class below, those for which most
 * of the next class is waste. What it asks for depends on the allocator, as with no other workload,
 * and on nothing else; the metric heap.waste says how much it got beyond.
 */
#include <errno.h>

#include "injectors/units.h"
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

#define BLOCKS_MAX  10000000u
#define CLASSES_MAX 64u
#define PROBES_MAX  100000u /* of allocators without classes, each size is one */

struct size_classes_options {
	uint64_t threads;
	uint64_t from, to;
	uint64_t classes;
	uint64_t bytes;
	uint64_t rounds;
};

/* Sizes for which most is wasted, the worst first. */
struct worst {
	struct {
		uint64_t size, usable;
	} classes[CLASSES_MAX];
	uint64_t count, wanted;
};

#define AT(field) offsetof(struct size_classes_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL, "threads" },
	{ "from", HQ_OPTION_SIZE, AT(from), "256B", 1, 1ull << 32, NULL,
	  "smallest size that is tried" },
	{ "to", HQ_OPTION_SIZE, AT(to), "64KiB", 1, 1ull << 32, NULL,
	  "largest size that is tried" },
	{ "classes", HQ_OPTION_COUNT, AT(classes), "8", 1, CLASSES_MAX, NULL,
	  "sizes that are asked for, the most wasteful ones" },
	{ "bytes", HQ_OPTION_SIZE, AT(bytes), "4MiB", HQ_KIB, 1ull << 40, NULL,
	  "bytes of each such size that each thread holds" },
	{ "rounds", HQ_OPTION_COUNT, AT(rounds), "3", 1, 1000000, NULL,
	  "how often they are taken; they are held at the end" },
	{ .name = NULL },
};

static int size_classes_validate(const void *values, struct hq_error *error)
{
	const struct size_classes_options *const chosen = values;

	if (chosen->from > chosen->to)
		return hq_error_set(error, "from is above to");
	if (chosen->classes * (chosen->bytes / chosen->from + 1) > BLOCKS_MAX)
		return hq_error_set(error, "bytes of the smallest blocks are more than %u of them",
				    BLOCKS_MAX);
	return 0;
}

static uint32_t size_classes_threads(const void *values)
{
	return (uint32_t)((const struct size_classes_options *)values)->threads;
}

static int size_classes_prepare(struct hq_work *work)
{
	const struct size_classes_options *const chosen = work->options;

	return hq_piles_prepare(work, chosen->classes * (chosen->bytes / chosen->from + 1));
}

static bool is_worse(uint64_t usable, uint64_t size, uint64_t than_usable, uint64_t than_size)
{
	return (unsigned __int128)usable * than_size > (unsigned __int128)than_usable * size;
}

/* Sorted in; the least bad one falls out when there is no more room. */
static void note(struct worst *worst, uint64_t size, uint64_t usable)
{
	uint64_t at = worst->count;

	while (at > 0 &&
	       is_worse(usable, size, worst->classes[at - 1].usable, worst->classes[at - 1].size))
		at--;
	if (at == worst->wanted)
		return;
	if (worst->count < worst->wanted)
		worst->count++;
	for (uint64_t i = worst->count - 1; i > at; i--)
		worst->classes[i] = worst->classes[i - 1];
	worst->classes[at].size = size;
	worst->classes[at].usable = usable;
}

/* One byte beyond a class is the first of the next one, and it ends where that is full. */
static void look(const struct size_classes_options *chosen, struct worst *worst,
		 struct hq_heap *heap)
{
	uint64_t size = chosen->from;

	for (uint32_t i = 0; i < PROBES_MAX && size <= chosen->to && !hq_host_stopping(); i++) {
		struct hq_block block;

		if (!hq_block_alloc(heap, &block, size)) {
			hq_heap_missed(heap);
			return;
		}
		hq_block_use_all(heap, &block);
		const uint64_t usable = block.size;

		hq_block_free(heap, &block);
		hq_heap_alive(heap);
		note(worst, size, usable);
		size = usable + 1;
	}
}

static void hold(const struct size_classes_options *chosen, const struct worst *worst,
		 struct hq_pile *pile, struct hq_heap *heap)
{
	for (uint64_t i = 0; i < worst->count; i++) {
		const uint64_t size = worst->classes[i].size;

		for (uint64_t bytes = 0; bytes < chosen->bytes && !hq_host_stopping();
		     bytes += size)
			hq_pile_add(pile, heap, size);
	}
}

static void size_classes_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct size_classes_options *const chosen = work->options;
	struct hq_pile *const pile = hq_pile_of(work, thread);
	struct worst worst = { .wanted = chosen->classes };

	look(chosen, &worst, heap);
	for (uint64_t round = 0; round < chosen->rounds && !hq_host_stopping(); round++) {
		hq_pile_empty(pile, heap);
		hold(chosen, &worst, pile, heap);
	}
	hq_pile_weigh(pile, heap);
}

const struct hq_workload hq_workload_size_classes = {
	.name = "size-classes",
	.help = "blocks of the sizes for which this allocator wastes most",
	.options = options,
	.options_size = sizeof(struct size_classes_options),
	.validate = size_classes_validate,
	.threads = size_classes_threads,
	.prepare = size_classes_prepare,
	.run = size_classes_run,
	.release = hq_piles_release,
};
