/* SPDX-License-Identifier: MIT */
/*
 * Trace: replays the allocation calls of a real program, recorded by `heapquake record`, with the
 * same threads, sizes, lifetimes and hand-overs: a block that one thread allocated and another one
 * freed goes from a driver thread to another, which waits for it.
 *
 * Blocks are stamped as everywhere, so content is checked; a request for nothing asks for one byte,
 * since what malloc(0) answers is a question of its own. A block that was refused stays away: its
 * free is left out.
 */
#include "stress/workload/trace.h"

#include <errno.h>
#include <linux/futex.h>

#include "injectors/atomic.h"
#include "injectors/syscall/raw.h"
#include "injectors/units.h"
#include "stress/workload/table.h"

#define SPINS       1000u
#define PARKED_NS   (2 * HQ_MS)  /* how late one is woken at worst */
#define NEAR_NS     (60 * HQ_US) /* nobody sleeps for less: steps so near are made at once */
#define GATHER_NS   (100 * HQ_US)
#define ALIVE_EVERY 1024u
#define THREADS_MAX 64u /* HQ_WIRE_WORKERS, and thread[] of a script */

struct trace_options {
	char file[HQ_OPTION_TEXT_SIZE];
	uint64_t speed;
	uint64_t loops;
	uint64_t copies;
	uint64_t threads;
	uint64_t touch;
};

struct trace_slot {
	struct hq_block block;
	_Atomic uint32_t turn; /* whoever hands the block on */
	uint32_t reserved;
};

/* One instance of the trace. */
struct trace_copy {
	struct trace_slot *slots;
	_Atomic uint32_t parked;  /* threads that wait for a turn in the kernel; counted by them */
	_Atomic uint32_t arrived; /* at ends of loops, of all threads */
};

struct trace_shared {
	struct hq_trace_script script;
	struct trace_copy copies[THREADS_MAX];
};

static const struct hq_option options[] = {
	{ "file", HQ_OPTION_TEXT, offsetof(struct trace_options, file), "redis", 0, 0, NULL,
	  "the trace: a path, or the name of one in scenarios/traces" },
	{ "speed", HQ_OPTION_COUNT, offsetof(struct trace_options, speed), "0", 0, 1000000, NULL,
	  "times as fast as recorded; 0: without any pause" },
	{ "loops", HQ_OPTION_COUNT, offsetof(struct trace_options, loops), "1", 1, 1000000, NULL,
	  "how often it is replayed, one after the other; what is left is freed in between" },
	{ "copies", HQ_OPTION_COUNT, offsetof(struct trace_options, copies), "1", 1, THREADS_MAX,
	  NULL, "how often it is replayed at one time, each by threads of its own" },
	{ "threads", HQ_OPTION_COUNT, offsetof(struct trace_options, threads), "0", 0, THREADS_MAX,
	  NULL,
	  "of each copy, among which recorded ones are dealt out; 0: as many, if 64 suffice" },
	{ "touch", HQ_OPTION_SIZE, offsetof(struct trace_options, touch), "1GiB", 0, 1ull << 47,
	  NULL, "bytes of each block that are written and checked, from its start" },
	{ .name = NULL },
};

/* Of one copy; 0: the trace cannot be read. */
static uint32_t threads_of_copy(const struct trace_options *chosen)
{
	const uint32_t most = THREADS_MAX / (uint32_t)chosen->copies;
	struct hq_trace_info info;
	struct hq_error error;

	if (hq_trace_script_info(chosen->file, &info, &error) || info.threads == 0)
		return 0;
	if (chosen->threads != 0 && chosen->threads < info.threads)
		return (uint32_t)chosen->threads;
	return info.threads < most ? info.threads : most;
}

static uint32_t trace_threads(const void *values)
{
	const struct trace_options *const chosen = values;
	const uint32_t threads = threads_of_copy(chosen);

	return threads ? threads * (uint32_t)chosen->copies : 1;
}

static int trace_validate(const void *values, struct hq_error *error)
{
	const struct trace_options *const chosen = values;

	if (hq_trace_script_check(chosen->file, error))
		return -EINVAL;
	if (trace_threads(values) > THREADS_MAX)
		return hq_error_set(error, "%u threads in %u copies are more than %u",
				    threads_of_copy(chosen), (uint32_t)chosen->copies, THREADS_MAX);
	return 0;
}

static int trace_prepare(struct hq_work *work)
{
	const struct trace_options *const chosen = work->options;
	struct trace_shared *const shared = hq_host_map(sizeof(*shared));
	int status;

	if (shared == NULL)
		return -ENOMEM;
	status = hq_trace_script_load(chosen->file, threads_of_copy(chosen), &shared->script);
	for (uint32_t i = 0; status == 0 && i < chosen->copies; i++) {
		shared->copies[i].slots =
			hq_host_map((shared->script.slots + 1) * sizeof(struct trace_slot));
		status = shared->copies[i].slots != NULL ? 0 : -ENOMEM;
	}
	work->shared = shared;
	return status;
}

/* ---- one thread's share ---- */

struct player {
	const struct trace_options *options;
	const struct hq_trace_script *script;
	struct trace_copy *copy;
	struct hq_heap *heap;
	uint32_t thread;    /* within the copy */
	uint64_t start_ns;  /* of this loop */
	uint64_t seen_tick; /* the latest that the clock was asked for */
};

static struct player player_of(const struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct trace_shared *const shared = work->shared;

	hq_heap_touch(heap, ((const struct trace_options *)work->options)->touch);
	return (struct player){ .options = work->options,
				.script = &shared->script,
				.copy = &shared->copies[thread / shared->script.threads],
				.heap = heap,
				.thread = thread % shared->script.threads };
}

/* ---- hand-overs ---- */

static bool is_turn(struct trace_slot *slot, uint32_t turn)
{
	/* Pairs with the release in hand_on: the block is there. */
	return (int32_t)(hq_load_acquire(&slot->turn) - turn) >= 0;
}

static void park(struct trace_copy *copy, struct trace_slot *slot, uint32_t turn)
{
	const struct timespec time = { .tv_nsec = PARKED_NS };
	const uint32_t seen = hq_load_relaxed(&slot->turn);

	hq_fetch_add_relaxed(&copy->parked, 1);
	if ((int32_t)(seen - turn) < 0)
		hq_raw4(SYS_futex, (long)&slot->turn, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen,
			(long)&time);
	hq_fetch_add_relaxed(&copy->parked, -1u);
}

/* False: the run ends early. */
static bool await_turn(struct player *player, struct trace_slot *slot, uint32_t turn)
{
	for (uint32_t i = 0; i < SPINS; i++) {
		if (is_turn(slot, turn))
			return true;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	while (!is_turn(slot, turn)) {
		if (hq_host_stopping())
			return false;
		park(player->copy, slot, turn);
		hq_heap_alive(player->heap);
	}
	return true;
}

/* Whoever parks just now may be overlooked, and then wakes by itself. */
static void hand_on(struct trace_copy *copy, struct trace_slot *slot, uint32_t turn)
{
	/* Pairs with the acquire in is_turn. */
	hq_store_release(&slot->turn, turn);
	if (hq_load_relaxed(&copy->parked) != 0)
		hq_raw3(SYS_futex, (long)&slot->turn, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX);
}

/* ---- steps ---- */

static bool call(struct player *player, const struct hq_trace_step *step, struct hq_block *block)
{
	const uint64_t size = step->size ? step->size : 1;

	switch (step->kind) {
	case HQ_TRACE_FREE:
		hq_block_free(player->heap, block);
		return true;
	case HQ_TRACE_CALLOC:
		return hq_block_calloc(player->heap, block, size);
	case HQ_TRACE_ALIGNED:
		return hq_block_aligned(player->heap, block, 1ull << step->shift, size);
	case HQ_TRACE_RESIZE:
		return hq_block_resize(player->heap, block, size);
	default:
		return hq_block_alloc(player->heap, block, size);
	}
}

/* False: the run ends early. */
static bool make_step(struct player *player, const struct hq_trace_step *step)
{
	struct trace_slot *const slot = &player->copy->slots[step->slot];

	if (step->waits && !await_turn(player, slot, step->turn))
		return false;
	if (!call(player, step, &slot->block))
		hq_heap_missed(player->heap);
	hq_heap_alive(player->heap);
	if (step->hands_on)
		hand_on(player->copy, slot, step->turn + 1);
	return true;
}

/* Waits until the step's time has come. */
static void keep_pace(struct player *player, const struct hq_trace_step *step)
{
	const uint64_t speed = player->options->speed;
	uint64_t due_ns, now_ns;

	if (speed == 0 || step->tick == player->seen_tick)
		return;
	player->seen_tick = step->tick;
	due_ns = player->start_ns + step->tick * player->script->info.tick_ns / speed;
	while ((now_ns = hq_host_now_ns()) + NEAR_NS < due_ns && !hq_host_stopping()) {
		hq_host_sleep_ns(due_ns - now_ns < HQ_S ? due_ns - now_ns : HQ_S);
		hq_heap_alive(player->heap);
	}
}

static bool play(struct player *player)
{
	const struct hq_trace_steps *const steps = &player->script->thread[player->thread];

	player->start_ns = hq_host_now_ns();
	player->seen_tick = 0;
	for (uint64_t i = 0; i < steps->count; i++) {
		if (i % ALIVE_EVERY == 0 && hq_host_stopping())
			return false;
		keep_pace(player, &steps->steps[i]);
		if (!make_step(player, &steps->steps[i]))
			return false;
	}
	return true;
}

/* ---- loops ---- */

/* Frees what is left in every so-manieth slot, and makes it as new. */
static void clear_share(struct player *player)
{
	for (uint32_t i = player->thread; i < player->script->slots; i += player->script->threads) {
		struct trace_slot *const slot = &player->copy->slots[i];

		if (slot->block.address != NULL)
			hq_block_free(player->heap, &slot->block);
		hq_store_relaxed(&slot->turn, 0);
		if (i / player->script->threads % ALIVE_EVERY == 0)
			hq_heap_alive(player->heap);
	}
}

/* The n-th time that all threads of a copy meet. False: the run ends early. */
static bool gather(struct player *player, uint32_t times)
{
	const uint32_t all = times * player->script->threads;

	hq_fetch_add_acq_rel(&player->copy->arrived, 1);
	/* Pairs with the release of the others: what they did to slots is done. */
	while ((int32_t)(hq_load_acquire(&player->copy->arrived) - all) < 0) {
		if (hq_host_stopping())
			return false;
		hq_host_sleep_ns(GATHER_NS);
		hq_heap_alive(player->heap);
	}
	return true;
}

static void trace_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct player player = player_of(work, thread, heap);
	uint32_t met = 0;

	for (uint64_t loop = 1; play(&player) && loop < player.options->loops; loop++) {
		if (!gather(&player, ++met))
			return;
		clear_share(&player);
		if (!gather(&player, ++met))
			return;
	}
}

static void trace_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct player player = player_of(work, thread, heap);

	clear_share(&player);
}

const struct hq_workload hq_workload_trace = {
	.name = "trace",
	.help = "the recorded allocation calls of a real program (heapquake record)",
	.options = options,
	.options_size = sizeof(struct trace_options),
	.validate = trace_validate,
	.threads = trace_threads,
	.prepare = trace_prepare,
	.run = trace_run,
	.release = trace_release,
};
