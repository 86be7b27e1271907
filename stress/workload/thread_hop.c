/* SPDX-License-Identifier: MIT */
/*
 * Tasks that hop through a pool of threads: a task holds blocks, and each thread that it comes to
 * replaces some of them and passes it on. At every hop blocks are freed that threads before have
 * asked for, and whatever a thread keeps for itself it keeps once for each thread of the pool.
 *
 * Threads form a ring, and each takes tasks in the order in which the one before passed them on. So
 * which thread does what for which task, and in which order, depends on the seed alone.
 */
#include <errno.h>

#include "injectors/atomic.h"
#include "injectors/units.h"
#include "stress/workload/mailbox.h"
#include "stress/workload/pile.h"
#include "stress/workload/table.h"

#define WAIT_NS (20 * HQ_US)

struct thread_hop_options {
	uint64_t threads;
	uint64_t tasks;
	uint64_t hops;
	uint64_t blocks;
	uint64_t replace;
	struct hq_sizes size;
};

struct task {
	struct hq_pile *pile;
	struct hq_random random;
	uint64_t hops; /* that it has made */
};

struct thread_hop {
	struct task *tasks;
	struct hq_mailbox *inboxes; /* of each thread: tasks, by their index */
	_Atomic uint32_t done;      /* tasks that have made all their hops */
};

#define AT(field) offsetof(struct thread_hop_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "4", 1, HQ_WIRE_WORKERS, NULL,
	  "threads of the pool" },
	{ "tasks", HQ_OPTION_COUNT, AT(tasks), "16", 1, HQ_MAILBOX_ROOM, NULL,
	  "tasks in the pool" },
	{ "hops", HQ_OPTION_COUNT, AT(hops), "2k", 1, 1000000000, NULL, "hops of each task" },
	{ "blocks", HQ_OPTION_COUNT, AT(blocks), "200", 1, 1000000, NULL,
	  "blocks that a task holds" },
	{ "replace", HQ_OPTION_COUNT, AT(replace), "20", 1, 1000000, NULL,
	  "of these are replaced at a hop" },
	{ "size", HQ_OPTION_SIZES, AT(size), "32B..8KiB log", 1, 1ull << 32, NULL,
	  "size of a block" },
	{ .name = NULL },
};

static uint32_t thread_hop_threads(const void *values)
{
	return (uint32_t)((const struct thread_hop_options *)values)->threads;
}

static int thread_hop_prepare(struct hq_work *work)
{
	const struct thread_hop_options *const chosen = work->options;
	struct thread_hop *const shared = hq_host_map(sizeof(*shared));
	struct hq_pile *const piles = hq_piles_make((uint32_t)chosen->tasks, chosen->blocks);

	if (shared == NULL || piles == NULL)
		return -ENOMEM;
	shared->tasks = hq_host_map(chosen->tasks * sizeof(*shared->tasks));
	shared->inboxes = hq_mailboxes_make(work->thread_count, HQ_MAILBOX_ROOM);
	if (shared->tasks == NULL || shared->inboxes == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < chosen->tasks; i++)
		shared->tasks[i] = (struct task){ .pile = &piles[i],
						  .random = hq_random_stream(work->seed, i, 0) };
	work->shared = shared;
	return 0;
}

static bool replace(const void *context, struct hq_heap *heap, struct hq_block *block,
		    struct hq_random *random)
{
	const struct thread_hop_options *const chosen = context;
	const uint64_t size = hq_random_size(random, &chosen->size);

	hq_block_free(heap, block);
	return hq_block_alloc(heap, block, size);
}

/* What a task does on each thread that it comes to. */
static void hop(struct hq_work *work, uint32_t thread, uint64_t index, struct hq_heap *heap)
{
	const struct thread_hop_options *const chosen = work->options;
	struct thread_hop *const shared = work->shared;
	struct task *const task = &shared->tasks[index];
	const struct hq_block none = { .address = NULL };

	hq_turnover_run(&(struct hq_turnover){ .pile = task->pile,
					       .random = &task->random,
					       .turn = replace,
					       .context = chosen },
			heap, chosen->replace);
	/* There is room for all tasks in each mailbox. */
	if (++task->hops < chosen->hops)
		hq_mailbox_put(&shared->inboxes[(thread + 1) % chosen->threads], &none, index);
	else
		hq_fetch_add_acq_rel(&shared->done, 1);
}

static void thread_hop_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct thread_hop_options *const chosen = work->options;
	struct thread_hop *const shared = work->shared;
	struct hq_parcel parcel;

	for (uint64_t i = thread; i < chosen->tasks; i += chosen->threads)
		hop(work, thread, i, heap);
	while (!hq_host_stopping()) {
		if (hq_mailbox_take(&shared->inboxes[thread], &parcel)) {
			hop(work, thread, parcel.word, heap);
			continue;
		}
		/* Pairs with the increment in hop. */
		if (hq_load_acquire(&shared->done) == chosen->tasks)
			return;
		hq_host_sleep_ns(WAIT_NS);
		hq_heap_alive(heap);
	}
}

static void thread_hop_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct thread_hop_options *const chosen = work->options;
	const struct thread_hop *const shared = work->shared;

	for (uint64_t i = thread; i < chosen->tasks; i += chosen->threads)
		hq_pile_empty(shared->tasks[i].pile, heap);
}

const struct hq_workload hq_workload_thread_hop = {
	.name = "thread-hop",
	.help = "tasks that hop from thread to thread, with their blocks",
	.options = options,
	.options_size = sizeof(struct thread_hop_options),
	.threads = thread_hop_threads,
	.prepare = thread_hop_prepare,
	.run = thread_hop_run,
	.release = thread_hop_release,
};
