/* SPDX-License-Identifier: MIT */
/*
 * Bursts with silence between them: does memory come back? Each round fills up to `burst` bytes,
 * holds them, frees them in random order and pauses. The blocks of the last round stay until
 * release; then the process idles, in silence or with a small allocation now and then (`pulse`),
 * since some allocators decay only when they are called.
 *
 * With `turns` one thread bursts at a time, each in turn, as requests do that a pool hands to
 * whichever thread is free: what each thread keeps for itself adds up. With `hand-on` besides, a
 * burst is freed by the thread that comes next; in one round none calls again after it has filled.
 *
 * What a round asks for depends on (seed, thread, round) alone. How many rounds there are depends
 * on the clock only when `for` is longer than the rounds take: a time window of a fault is crossed
 * at any speed of the machine.
 */
#include <errno.h>

#include "injectors/atomic.h"
#include "injectors/units.h"
#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/workload.h"

#define BLOCKS_MAX         (64u << 20)   /* of one thread */
#define SLEEP_SLICE_NS     (200 * HQ_MS) /* a sleep shows as progress that often */
#define IDLE_PERIOD_MIN_NS (1 * HQ_MS)   /* faster pulses come several at a time */
#define PULSE_BYTES        64u
#define TURN_LOOK_NS       (1 * HQ_MS)
#define GROWN_MAX          4u /* times the first burst */

struct idle_decay_options {
	uint64_t threads;
	uint64_t burst;
	uint64_t grow;
	uint64_t rounds;
	struct hq_sizes size;
	uint64_t hold;
	uint64_t pause;
	uint64_t for_ns;
	double pulse;
	bool turns;
	bool hand_on;
};

/* Blocks 0 .. count - 1 are live, or were refused. */
struct idle_decay_thread {
	struct hq_block *blocks;
	uint64_t count;
};

struct idle_decay_shared {
	_Atomic uint64_t turn; /* whose it is writes it */
	struct idle_decay_thread threads[64];
};

#define AT(field) offsetof(struct idle_decay_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, 64, NULL,
	  "threads that share the burst" },
	{ "burst", HQ_OPTION_SIZE, AT(burst), "64MiB", 4096, 1ull << 40, NULL,
	  "bytes live at the top of a round, over all threads" },
	{ "grow", HQ_OPTION_SIZE, AT(grow), "0", 0, 1ull << 40, NULL,
	  "by so much each burst is larger than the one before, up to four times the first" },
	{ "rounds", HQ_OPTION_COUNT, AT(rounds), "3", 1, 1000000000, NULL,
	  "rounds of each thread" },
	{ "size", HQ_OPTION_SIZES, AT(size), "64B..64KiB log", 16, 1ull << 36, NULL,
	  "size of a block" },
	{ "hold", HQ_OPTION_DURATION, AT(hold), "20ms", 0, 0, NULL,
	  "how long a full burst is held" },
	{ "pause", HQ_OPTION_DURATION, AT(pause), "100ms", 0, 0, NULL,
	  "silence between two rounds" },
	{ "for", HQ_OPTION_DURATION, AT(for_ns), "0", 0, 0, NULL,
	  "further rounds until that long after the start" },
	{ "pulse", HQ_OPTION_RATE, AT(pulse), "0/s", 0, 0, NULL,
	  "small allocations while the process idles at the end" },
	{ "turns", HQ_OPTION_BOOL, AT(turns), "no", 0, 0, NULL,
	  "one thread at a time has the whole burst, each in turn" },
	{ "hand-on", HQ_OPTION_BOOL, AT(hand_on), "no", 0, 0, NULL,
	  "with turns: whoever has the next turn frees the burst, before its own" },
	{ .name = NULL },
};

static uint64_t thread_bytes(const struct idle_decay_options *chosen, uint64_t round)
{
	const uint64_t most = GROWN_MAX * chosen->burst;
	const bool full = chosen->grow != 0 && round > most / chosen->grow;
	const uint64_t grown = full ? most : chosen->burst + chosen->grow * round;

	return (grown < most ? grown : most) / (chosen->turns ? 1 : chosen->threads);
}

/* As many as there can be: all of the smallest size, in the largest burst. */
static uint64_t blocks_room(const struct idle_decay_options *chosen)
{
	const uint64_t last_round = chosen->grow ? GROWN_MAX * chosen->burst / chosen->grow + 1 : 0;

	return thread_bytes(chosen, last_round) / chosen->size.min_bytes + 1;
}

static int idle_decay_validate(const void *values, struct hq_error *error)
{
	const struct idle_decay_options *const chosen = values;

	if (blocks_room(chosen) > BLOCKS_MAX)
		return hq_error_set(error,
				    "burst is more than %u blocks of the smallest size a thread",
				    BLOCKS_MAX);
	if (chosen->turns && chosen->for_ns != 0)
		return hq_error_set(error, "with turns the rounds have an end: leave `for` out");
	if (chosen->hand_on && (!chosen->turns || chosen->threads < 2))
		return hq_error_set(error, "hand-on needs turns, and two threads");
	if (chosen->pulse > 1e6)
		return hq_error_set(error, "pulse is at most 1M/s");
	return 0;
}

static uint32_t idle_decay_threads(const void *values)
{
	return (uint32_t)((const struct idle_decay_options *)values)->threads;
}

static int idle_decay_prepare(struct hq_work *work)
{
	const struct idle_decay_options *const chosen = work->options;
	struct idle_decay_shared *const shared = hq_host_map(sizeof(*shared));

	if (shared == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < work->thread_count; i++) {
		shared->threads[i].blocks =
			hq_host_map(blocks_room(chosen) * sizeof(struct hq_block));
		if (shared->threads[i].blocks == NULL)
			return -ENOMEM;
	}
	work->shared = shared;
	return 0;
}

/* A refused block counts as if it were there: the round has the same requests, and an end. */
static void fill(struct idle_decay_thread *self, const struct hq_sizes *sizes, uint64_t goal_bytes,
		 struct hq_random *random, struct hq_heap *heap)
{
	uint64_t bytes = 0;

	self->count = 0;
	while (bytes < goal_bytes && !hq_host_stopping()) {
		uint64_t size = hq_random_size(random, sizes);

		if (size > goal_bytes - bytes && bytes != 0)
			break;
		hq_heap_op_begin(heap);
		if (!hq_block_alloc(heap, &self->blocks[self->count], size))
			hq_heap_missed(heap);
		hq_heap_op_end(heap);
		self->count++;
		bytes += size;
	}
}

/* In random order, as caches and queries end in practice; each block is exchanged with the last. */
static void empty(struct idle_decay_thread *self, struct hq_random *random, struct hq_heap *heap)
{
	while (self->count > 0) {
		struct hq_block *const chosen = &self->blocks[hq_random_below(random, self->count)];

		hq_heap_op_begin(heap);
		hq_block_free(heap, chosen);
		hq_heap_op_end(heap);
		*chosen = self->blocks[--self->count];
	}
}

static void sleep_alive(struct hq_heap *heap, uint64_t ns)
{
	while (ns > 0 && !hq_host_stopping()) {
		const uint64_t slice_ns = ns < SLEEP_SLICE_NS ? ns : SLEEP_SLICE_NS;

		hq_host_sleep_ns(slice_ns);
		hq_heap_alive(heap);
		ns -= slice_ns;
	}
}

static bool is_last(const struct idle_decay_options *chosen, uint64_t round)
{
	return hq_host_stopping() ||
	       (round + 1 >= chosen->rounds && hq_host_since_gate_ns() >= chosen->for_ns);
}

static void run_together(const struct hq_work *work, uint32_t thread,
			 struct idle_decay_thread *self, struct hq_heap *heap)
{
	const struct idle_decay_options *const chosen = work->options;

	for (uint64_t round = 0;; round++) {
		/* Purposes 0 .. are the rounds. */
		struct hq_random random = hq_random_stream(work->seed, thread, (uint32_t)round);

		fill(self, &chosen->size, thread_bytes(chosen, round), &random, heap);
		sleep_alive(heap, chosen->hold);
		if (is_last(chosen, round))
			return;
		empty(self, &random, heap);
		sleep_alive(heap, chosen->pause);
	}
}

static void await_turn(const struct idle_decay_shared *shared, uint64_t turn, struct hq_heap *heap)
{
	/* Pairs with the release of the thread before: its blocks are freed, or ours to free. */
	while (hq_load_acquire(&shared->turn) != turn && !hq_host_stopping())
		sleep_alive(heap, TURN_LOOK_NS);
}

/* The burst of the turn before. */
static void empty_last(struct idle_decay_shared *shared, uint64_t turn, uint32_t thread_count,
		       struct hq_random *random, struct hq_heap *heap)
{
	if (turn > 0)
		empty(&shared->threads[(turn - 1) % thread_count], random, heap);
}

static void run_in_turn(const struct hq_work *work, uint32_t thread,
			struct idle_decay_shared *shared, struct hq_heap *heap)
{
	const struct idle_decay_options *const chosen = work->options;
	const uint64_t turns = chosen->rounds * work->thread_count;
	struct idle_decay_thread *const self = &shared->threads[thread];

	for (uint64_t turn = thread; turn < turns && !hq_host_stopping();
	     turn += work->thread_count) {
		const uint64_t round = turn / work->thread_count;
		struct hq_random random = hq_random_stream(work->seed, thread, (uint32_t)round);

		await_turn(shared, turn, heap);
		if (chosen->hand_on)
			empty_last(shared, turn, work->thread_count, &random, heap);
		fill(self, &chosen->size, thread_bytes(chosen, round), &random, heap);
		sleep_alive(heap, chosen->hold);
		if (turn + 1 == turns)
			return;
		if (!chosen->hand_on)
			empty(self, &random, heap);
		sleep_alive(heap, chosen->pause);
		/* Pairs with the acquire of the next thread. */
		hq_store_release(&shared->turn, turn + 1);
	}
}

static void idle_decay_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct idle_decay_shared *const shared = work->shared;

	if (((const struct idle_decay_options *)work->options)->turns)
		run_in_turn(work, thread, shared, heap);
	else
		run_together(work, thread, &shared->threads[thread], heap);
}

static void idle_decay_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct idle_decay_shared *const shared = work->shared;
	struct idle_decay_thread *const self = &shared->threads[thread];
	struct hq_random random = hq_random_stream(work->seed, thread, UINT32_MAX);

	empty(self, &random, heap);
}

static uint64_t idle_decay_period_ns(const void *values)
{
	const double pulse = ((const struct idle_decay_options *)values)->pulse;

	if (pulse <= 0)
		return 0;
	const double period_ns = (double)HQ_S / pulse;

	if (period_ns > (double)HQ_S * 3600)
		return HQ_S * 3600;
	return period_ns < (double)IDLE_PERIOD_MIN_NS ? IDLE_PERIOD_MIN_NS : (uint64_t)period_ns;
}

static void idle_decay_idle(struct hq_work *work, struct hq_heap *heap)
{
	const struct idle_decay_options *const chosen = work->options;
	const double due = chosen->pulse * (double)idle_decay_period_ns(chosen) / (double)HQ_S;

	for (uint64_t i = 0; i == 0 || (double)i < due; i++) {
		struct hq_block block;

		if (!hq_block_alloc(heap, &block, PULSE_BYTES))
			hq_heap_missed(heap);
		hq_block_free(heap, &block);
	}
}

const struct hq_workload hq_workload_idle_decay = {
	.name = "idle-decay",
	.help = "bursts of allocations with silence between and after them",
	.options = options,
	.options_size = sizeof(struct idle_decay_options),
	.validate = idle_decay_validate,
	.threads = idle_decay_threads,
	.prepare = idle_decay_prepare,
	.run = idle_decay_run,
	.release = idle_decay_release,
	.idle = idle_decay_idle,
	.idle_period_ns = idle_decay_period_ns,
};
