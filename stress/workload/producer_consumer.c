/* SPDX-License-Identifier: MIT */
/*
 * Producers and consumers: some threads only allocate, the others only free. An allocator whose
 * caches are filled by free and emptied by malloc of the same thread has none to empty here, and
 * too much of the other; what lies in the queues is bounded, so memory has to be.
 *
 * An operation is one item from when it was due until its consumer has looked at it and freed it.
 */
#include <errno.h>

#include "injectors/atomic.h"
#include "injectors/units.h"
#include "stress/workload/arrivals.h"
#include "stress/workload/mailbox.h"
#include "stress/workload/table.h"

#define WAIT_NS (20 * HQ_US)

struct producer_consumer_options {
	uint64_t producers, consumers;
	uint64_t items;
	uint64_t queue;
	struct hq_sizes size;
	struct hq_arrivals_options arrivals;
};

struct producer_consumer {
	struct hq_mailbox *queues; /* of each producer, for each consumer */
	_Atomic uint32_t producers_done;
};

#define AT(field) offsetof(struct producer_consumer_options, field)

static const struct hq_option options[] = {
	{ "producers", HQ_OPTION_COUNT, AT(producers), "1", 1, 32, NULL, "threads that allocate" },
	{ "consumers", HQ_OPTION_COUNT, AT(consumers), "1", 1, 32, NULL, "threads that free" },
	{ "items", HQ_OPTION_COUNT, AT(items), "200k", 1, 1000000000000, NULL,
	  "items of each producer, to one consumer after another" },
	{ "queue", HQ_OPTION_COUNT, AT(queue), "256", 1, HQ_MAILBOX_ROOM, NULL,
	  "items on their way from one producer to one consumer, at most" },
	{ "size", HQ_OPTION_SIZES, AT(size), "32B..8KiB log", 1, 1ull << 36, NULL,
	  "size of an item" },
	HQ_ARRIVALS_OPTIONS(struct producer_consumer_options, arrivals, "10k/s",
			    "items of each producer, for constant and poisson"),
	{ .name = NULL },
};

static int producer_consumer_validate(const void *values, struct hq_error *error)
{
	const struct producer_consumer_options *const chosen = values;

	return hq_arrivals_validate(&chosen->arrivals, error);
}

static uint32_t producer_consumer_threads(const void *values)
{
	const struct producer_consumer_options *const chosen = values;

	return (uint32_t)(chosen->producers + chosen->consumers);
}

static int producer_consumer_prepare(struct hq_work *work)
{
	const struct producer_consumer_options *const chosen = work->options;
	struct producer_consumer *const shared = hq_host_map(sizeof(*shared));

	if (shared == NULL)
		return -ENOMEM;
	shared->queues = hq_mailboxes_make(chosen->producers * chosen->consumers, chosen->queue);
	work->shared = shared;
	return shared->queues == NULL ? -ENOMEM : 0;
}

static struct hq_mailbox *queue_of(const struct hq_work *work, uint64_t producer, uint64_t consumer)
{
	const struct producer_consumer_options *const chosen = work->options;
	const struct producer_consumer *const shared = work->shared;

	return &shared->queues[producer * chosen->consumers + consumer];
}

/* Waits for room. When the run ends the item is freed here. */
static void send(struct hq_mailbox *queue, struct hq_block *item, uint64_t due_ns,
		 struct hq_heap *heap)
{
	while (!hq_mailbox_put(queue, item, due_ns)) {
		if (hq_host_stopping()) {
			hq_block_free(heap, item);
			return;
		}
		hq_host_sleep_ns(WAIT_NS);
		hq_heap_alive(heap);
	}
}

static void produce(struct hq_work *work, uint32_t producer, struct hq_heap *heap)
{
	const struct producer_consumer_options *const chosen = work->options;
	struct producer_consumer *const shared = work->shared;
	struct hq_random random = hq_random_stream(work->seed, producer, 0);
	struct hq_arrivals arrivals;

	hq_arrivals_start(&arrivals, &chosen->arrivals, work->seed, producer);
	for (uint64_t i = 0; i < chosen->items && !hq_host_stopping(); i++) {
		const uint64_t size = hq_random_size(&random, &chosen->size);
		const uint64_t due_ns = hq_arrivals_await(&arrivals, heap);
		struct hq_block item;

		if (hq_block_alloc(heap, &item, size))
			send(queue_of(work, producer, i % chosen->consumers), &item, due_ns, heap);
		else
			hq_heap_missed(heap);
		hq_heap_alive(heap);
	}
	/* Pairs with the acquire in consume: the last items are in the queues. */
	hq_fetch_add_acq_rel(&shared->producers_done, 1);
}

/* One item of each producer at most, so that none has to wait for all of another. */
static bool consume_some(struct hq_work *work, uint32_t consumer, struct hq_heap *heap)
{
	const struct producer_consumer_options *const chosen = work->options;
	bool any = false;

	for (uint64_t producer = 0; producer < chosen->producers; producer++) {
		struct hq_parcel parcel;

		if (!hq_mailbox_take(queue_of(work, producer, consumer), &parcel))
			continue;
		hq_arrivals_begin_due(heap, parcel.word);
		hq_block_free(heap, &parcel.block);
		hq_heap_op_end(heap);
		any = true;
	}
	return any;
}

static void consume(struct hq_work *work, uint32_t consumer, struct hq_heap *heap)
{
	const struct producer_consumer_options *const chosen = work->options;
	struct producer_consumer *const shared = work->shared;

	while (!hq_host_stopping()) {
		/* Pairs with the increment in produce: looked at before the queues. */
		const bool last = hq_load_acquire(&shared->producers_done) == chosen->producers;

		if (consume_some(work, consumer, heap))
			continue;
		if (last)
			return;
		hq_host_sleep_ns(WAIT_NS);
		hq_heap_alive(heap);
	}
}

static void producer_consumer_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct producer_consumer_options *const chosen = work->options;

	if (thread < chosen->producers)
		produce(work, thread, heap);
	else
		consume(work, thread - (uint32_t)chosen->producers, heap);
}

/* What is left when the run was ended early. */
static void producer_consumer_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct producer_consumer_options *const chosen = work->options;

	if (thread < chosen->producers)
		return;
	for (uint64_t producer = 0; producer < chosen->producers; producer++)
		hq_mailbox_empty(queue_of(work, producer, thread - chosen->producers), heap);
}

const struct hq_workload hq_workload_producer_consumer = {
	.name = "producer-consumer",
	.help = "some threads only allocate, the others only free",
	.options = options,
	.options_size = sizeof(struct producer_consumer_options),
	.validate = producer_consumer_validate,
	.threads = producer_consumer_threads,
	.prepare = producer_consumer_prepare,
	.run = producer_consumer_run,
	.release = producer_consumer_release,
};
