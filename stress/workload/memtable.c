/* SPDX-License-Identifier: MIT */
/*
 * Memtables, as a storage engine does: clients insert batches of rows into memtables,
 * flushers encode frozen memtables into blocks and free their rows (which other threads allocated),
 * scanners read rows in key order through temporary buffers. This file has the options and gives
 * each thread its role; memtable.h says how the roles work together.
 */
#include "stress/workload/memtable.h"

#include <errno.h>

#include "injectors/units.h"
#include "stress/workload/table.h"

#define WAIT_NS (200 * HQ_US)

#define AT(field) offsetof(struct memtable_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, 62, NULL, "clients that insert rows" },
	{ "flushers", HQ_OPTION_COUNT, AT(flushers), "1", 1, 62, NULL,
	  "threads that encode and free full memtables" },
	{ "scanners", HQ_OPTION_COUNT, AT(scanners), "1", 0, 62, NULL,
	  "threads that read rows in key order" },
	{ "rows", HQ_OPTION_COUNT, AT(rows), "120k", 1, 1000000000000, NULL,
	  "rows of each client" },
	{ "batch", HQ_OPTION_COUNT, AT(batch), "512", 1, 1000000, NULL, "rows in a batch" },
	{ "fields-min", HQ_OPTION_COUNT, AT(fields_min), "2", 1, MEMTABLE_FIELDS, NULL,
	  "fewest fields in a row" },
	{ "fields-max", HQ_OPTION_COUNT, AT(fields_max), "10", 1, MEMTABLE_FIELDS, NULL,
	  "most fields in a row" },
	{ "value", HQ_OPTION_SIZES, AT(value), "8B..1KiB log", 1, 1ull << 32, NULL,
	  "size of a field" },
	{ "budget", HQ_OPTION_SIZE, AT(budget), "8MiB", 4096, 1ull << 40, NULL,
	  "bytes of rows in a memtable" },
	{ "scan-share", HQ_OPTION_SHARE, AT(scan_share), "25%", 0, 0, NULL,
	  "share of memtables that are scanned while others insert" },
	{ "passes", HQ_OPTION_COUNT, AT(passes), "2", 0, 1000000, NULL,
	  "scans of what is left after the last insert" },
	{ "cross", HQ_OPTION_SHARE, AT(cross), "90%", 0, 0, NULL,
	  "share of flushed rows that the flusher frees; their client frees the rest" },
	{ "cache", HQ_OPTION_COUNT, AT(cache), "64", 1, MEMTABLE_BLOCKS, NULL,
	  "encoded blocks of 256 KiB that a flusher keeps" },
	{ .name = NULL },
};

static int memtable_validate(const void *values, struct hq_error *error)
{
	const struct memtable_options *const chosen = values;

	if (chosen->fields_min > chosen->fields_max)
		return hq_error_set(error, "fields-min is above fields-max");
	if (chosen->threads + chosen->flushers + chosen->scanners > HQ_WIRE_WORKERS)
		return hq_error_set(error,
				    "threads, flushers and scanners together are more than %u",
				    HQ_WIRE_WORKERS);
	return 0;
}

static uint32_t memtable_threads(const void *values)
{
	const struct memtable_options *const chosen = values;

	return (uint32_t)(chosen->threads + chosen->flushers + chosen->scanners);
}

static int memtable_prepare(struct hq_work *work)
{
	const struct memtable_options *const chosen = work->options;
	struct memtable_shared *const shared = hq_host_map(sizeof(*shared));

	if (shared == NULL)
		return -ENOMEM;
	shared->clients = hq_host_map(chosen->threads * sizeof(*shared->clients));
	shared->flushers = hq_host_map(chosen->flushers * sizeof(*shared->flushers));
	if (shared->clients == NULL || shared->flushers == NULL)
		return -ENOMEM;
	work->shared = shared;
	return 0;
}

struct role {
	void (*run)(struct memtable *self);
	void (*release)(struct memtable *self); /* NULL: holds nothing */
	uint32_t index;
};

static struct role role_of(const struct memtable_options *chosen, uint32_t thread)
{
	const uint32_t clients = (uint32_t)chosen->threads;
	const uint32_t flushers = (uint32_t)chosen->flushers;

	if (thread < clients)
		return (struct role){ .run = memtable_client_run,
				      .release = memtable_client_release,
				      .index = thread };
	if (thread < clients + flushers)
		return (struct role){ .run = memtable_flusher_run,
				      .release = memtable_flusher_release,
				      .index = thread - clients };
	return (struct role){ .run = memtable_scanner_run, .index = thread - clients - flushers };
}

static struct memtable view_of(const struct hq_work *work, uint32_t index, struct hq_heap *heap)
{
	return (struct memtable){ .options = work->options,
				  .shared = work->shared,
				  .heap = heap,
				  .seed = work->seed,
				  .index = index };
}

static void memtable_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct role role = role_of(work->options, thread);
	struct memtable self = view_of(work, role.index, heap);

	role.run(&self);
}

static void memtable_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	const struct role role = role_of(work->options, thread);
	struct memtable self = view_of(work, role.index, heap);

	if (role.release != NULL)
		role.release(&self);
}

/* ---- waiting for each other ---- */

bool memtable_wait(void)
{
	if (hq_host_stopping())
		return false;
	hq_host_sleep_ns(WAIT_NS);
	return true;
}

enum memtable_await memtable_await_frozen(struct memtable *self, uint32_t client, uint64_t number)
{
	struct memtable_client *const of = &self->shared->clients[client];

	for (;;) {
		/* Pairs with the releases in the client: once it is done, `frozen` is final. */
		const bool done = hq_load_acquire(&of->done) != 0;

		if (hq_load_acquire(&of->frozen) > number)
			return MEMTABLE_FROZEN;
		if (done)
			return MEMTABLE_NEVER;
		if (!memtable_wait())
			return MEMTABLE_STOPPED;
	}
}

bool memtable_is_chosen(const struct memtable *self, uint32_t client, uint64_t number)
{
	struct hq_random random = hq_random_stream(self->seed + number, client, MEMTABLE_CHOICE);

	return self->options->scanners != 0 && hq_random_chance(&random, self->options->scan_share);
}

uint32_t memtable_scanner_of(const struct memtable *self, uint32_t client, uint64_t number)
{
	return (uint32_t)((client + number) % self->options->scanners);
}

const struct hq_workload hq_workload_memtable = {
	.name = "memtable",
	.help = "clients insert rows, flushers encode and free them, scanners read them",
	.options = options,
	.options_size = sizeof(struct memtable_options),
	.validate = memtable_validate,
	.threads = memtable_threads,
	.prepare = memtable_prepare,
	.run = memtable_run,
	.release = memtable_release,
};
