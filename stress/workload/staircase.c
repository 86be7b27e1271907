/* SPDX-License-Identifier: MIT */
/*
 * Staircase: memory is filled with blocks of one size, all but a few of each row are freed, and the
 * next step is filled with larger ones, which fit into none of the holes that are one block long.
 * No allocator that cannot move blocks can serve it well (J. M. Robson, 1971 and 1974: the worst
 * case grows with the logarithm of the largest size); how well it does depends on whether it gives
 * the pages between two survivors back, or lets another size have them.
 */
#include <errno.h>

#include "injectors/units.h"
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

#define BLOCKS_MAX 10000000u
#define LARGEST    (1ull << 32)

struct staircase_options {
	uint64_t threads;
	uint64_t steps;
	uint64_t first;
	uint64_t factor;
	uint64_t bytes;
	uint64_t keep;
	uint64_t row;
};

#define AT(field) offsetof(struct staircase_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL, "threads" },
	{ "steps", HQ_OPTION_COUNT, AT(steps), "8", 1, 32, NULL, "steps, each of one size" },
	{ "first", HQ_OPTION_SIZE, AT(first), "24B", 1, LARGEST, NULL,
	  "size of a block at the first step" },
	{ "factor", HQ_OPTION_COUNT, AT(factor), "2", 2, 1000, NULL,
	  "how many times larger it is at the next step" },
	{ "bytes", HQ_OPTION_SIZE, AT(bytes), "8MiB", HQ_KIB, 1ull << 40, NULL,
	  "bytes that each thread allocates at a step" },
	{ "keep", HQ_OPTION_COUNT, AT(keep), "1", 1, 1000000, NULL,
	  "blocks that survive the step, of each row" },
	{ "row", HQ_OPTION_COUNT, AT(row), "8", 1, 1000000, NULL, "blocks in a row" },
	{ .name = NULL },
};

/* Blocks of all steps: there are never more. */
static uint64_t room(const struct staircase_options *chosen)
{
	uint64_t size = chosen->first, blocks = 0;

	for (uint64_t step = 0; step < chosen->steps; step++, size *= chosen->factor)
		blocks += chosen->bytes / size + 1;
	return blocks;
}

static int staircase_validate(const void *values, struct hq_error *error)
{
	const struct staircase_options *const chosen = values;
	uint64_t size = chosen->first;

	for (uint64_t step = 1; step < chosen->steps && size <= LARGEST; step++)
		size *= chosen->factor;
	if (size > LARGEST)
		return hq_error_set(error, "first, factor and steps lead to blocks above 4 GiB");
	if (room(chosen) > BLOCKS_MAX)
		return hq_error_set(error, "the steps have more than %u blocks", BLOCKS_MAX);
	if (chosen->keep > chosen->row)
		return hq_error_set(error, "more blocks of a row are kept than there are");
	return 0;
}

static uint32_t staircase_threads(const void *values)
{
	return (uint32_t)((const struct staircase_options *)values)->threads;
}

static int staircase_prepare(struct hq_work *work)
{
	return hq_piles_prepare(work, room(work->options));
}

static void staircase_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct staircase_options *const chosen = work->options;
	struct hq_pile *const pile = hq_pile_of(work, thread);
	uint64_t size = chosen->first;

	for (uint64_t step = 0; step < chosen->steps; step++, size *= chosen->factor) {
		const uint64_t first = pile->used;

		for (uint64_t bytes = 0; bytes < chosen->bytes; bytes += size) {
			if (hq_host_stopping())
				return;
			hq_pile_add(pile, heap, size);
		}
		hq_pile_thin(pile, heap, first, chosen->keep, chosen->row);
	}
}

const struct hq_workload hq_workload_staircase = {
	.name = "staircase",
	.help = "ever larger blocks, of which a few survive and hold the holes apart",
	.options = options,
	.options_size = sizeof(struct staircase_options),
	.validate = staircase_validate,
	.threads = staircase_threads,
	.prepare = staircase_prepare,
	.run = staircase_run,
	.release = hq_piles_release,
};
