/* SPDX-License-Identifier: MIT */
/*
 * Sawtooth: memory rises to a peak and falls again, tooth after tooth, and what survives a fall is
 * scattered over all that was there. The next rise has to live with the holes: blocks that fit
 * nowhere are new memory on top of the old, and each tooth then stands higher than the one before.
 *
 * It ends on a peak, so what the holes cost can be read off at the end of the work.
 */
#include <errno.h>

#include "injectors/units.h"
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

#define BLOCKS_MAX 10000000u

struct sawtooth_options {
	uint64_t threads;
	uint64_t teeth;
	uint64_t peak;
	double keep;
	struct hq_sizes size;
};

#define AT(field) offsetof(struct sawtooth_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, HQ_WIRE_WORKERS, NULL, "threads" },
	{ "teeth", HQ_OPTION_COUNT, AT(teeth), "10", 1, 1000000, NULL,
	  "how often memory falls and rises again" },
	{ "peak", HQ_OPTION_SIZE, AT(peak), "16MiB", HQ_KIB, 1ull << 40, NULL,
	  "bytes that each thread rises to" },
	{ "keep", HQ_OPTION_SHARE, AT(keep), "20%", 0, 0, NULL,
	  "share of them that survives a fall, at random" },
	{ "size", HQ_OPTION_SIZES, AT(size), "32B..4KiB log", 1, 1ull << 36, NULL,
	  "size of a block" },
	{ .name = NULL },
};

static uint64_t room(const struct sawtooth_options *chosen)
{
	return chosen->peak / chosen->size.min_bytes + 1;
}

static int sawtooth_validate(const void *values, struct hq_error *error)
{
	if (room(values) > BLOCKS_MAX)
		return hq_error_set(error, "a peak of the smallest blocks are more than %u of them",
				    BLOCKS_MAX);
	return 0;
}

static uint32_t sawtooth_threads(const void *values)
{
	return (uint32_t)((const struct sawtooth_options *)values)->threads;
}

static int sawtooth_prepare(struct hq_work *work)
{
	return hq_piles_prepare(work, room(work->options));
}

/* A refused block counts as if it were there: a rise has an end. */
static void rise(const struct sawtooth_options *chosen, struct hq_pile *pile,
		 struct hq_random *random, struct hq_heap *heap)
{
	for (uint64_t bytes = pile->bytes; bytes < chosen->peak && !hq_host_stopping();) {
		const uint64_t size = hq_random_size(random, &chosen->size);

		hq_pile_add(pile, heap, size);
		bytes += size;
	}
}

static void fall(const struct sawtooth_options *chosen, struct hq_pile *pile,
		 struct hq_random *random, struct hq_heap *heap)
{
	const uint64_t floor_bytes = (uint64_t)(chosen->keep * (double)chosen->peak);

	while (pile->used > 0 && pile->bytes > floor_bytes)
		hq_pile_drop(pile, heap, hq_random_below(random, pile->used));
}

static void sawtooth_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct sawtooth_options *const chosen = work->options;
	struct hq_pile *const pile = hq_pile_of(work, thread);
	struct hq_random random = hq_random_stream(work->seed, thread, 0);

	rise(chosen, pile, &random, heap);
	for (uint64_t tooth = 0; tooth < chosen->teeth && !hq_host_stopping(); tooth++) {
		fall(chosen, pile, &random, heap);
		rise(chosen, pile, &random, heap);
	}
	hq_pile_weigh(pile, heap);
}

const struct hq_workload hq_workload_sawtooth = {
	.name = "sawtooth",
	.help = "memory rises and falls again and again, and what survives is scattered",
	.options = options,
	.options_size = sizeof(struct sawtooth_options),
	.validate = sawtooth_validate,
	.threads = sawtooth_threads,
	.prepare = sawtooth_prepare,
	.run = sawtooth_run,
	.release = hq_piles_release,
};
