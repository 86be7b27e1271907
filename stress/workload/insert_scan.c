/* SPDX-License-Identifier: MIT */
/*
 * Insert and scan, as a storage engine does, from a request to the block in which its rows end.
 * This file has the options, gives each thread its role and frees what is there at the end;
 * insert_scan.h says how the parts work together.
 */
#include "stress/workload/insert_scan.h"

#include <errno.h>

#include "injectors/units.h"
#include "stress/workload/table.h"

#define WAIT_NS (200 * HQ_US)

#define AT(field) offsetof(struct insert_scan_options, field)

static const char *const ends[] = { "scans", "inserts", NULL };
static const char *const storages[] = { "memory", "file", NULL };
static const char *const syncs[] = { "none", "flush", "log", NULL };
static const char *const statistics[] = { "off", "row", "batch", NULL };

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "2", 1, INSERT_SCAN_CLIENTS, NULL,
	  "clients that insert rows" },
	{ "flushers", HQ_OPTION_COUNT, AT(flushers), "1", 1, 62, NULL,
	  "threads that write full memtables to blocks, and compact them" },
	{ "scanners", HQ_OPTION_COUNT, AT(scanners), "1", 0, 62, NULL, "threads that scan" },
	{ "rows", HQ_OPTION_COUNT, AT(rows), "60k", 1, 100000000, NULL, "rows of each client" },
	{ "batch", HQ_OPTION_COUNT, AT(batch), "500", 1, 1000000, NULL, "rows in a request" },
	{ "columns", HQ_OPTION_COUNT, AT(columns), "6", 1, INSERT_SCAN_COLUMNS, NULL,
	  "values in a row" },
	{ "value", HQ_OPTION_SIZES, AT(value), "4B..256B log", 1, 1ull << 20, NULL,
	  "size of a value" },
	{ "budget", HQ_OPTION_SIZE, AT(budget), "4MiB", 4096, 1ull << 34, NULL,
	  "bytes of rows in a memtable" },
	{ "block", HQ_OPTION_SIZE, AT(block), "32KiB", 1024, 1ull << 26, NULL,
	  "bytes of rows in a block" },
	{ "cache", HQ_OPTION_SIZE, AT(cache), "4MiB", 4096, 1ull << 36, NULL,
	  "bytes of blocks in the cache" },
	{ "fan", HQ_OPTION_COUNT, AT(fan), "4", 0, INSERT_SCAN_FAN, NULL,
	  "rowsets that a compaction merges; below 2: none" },
	{ "bloom", HQ_OPTION_COUNT, AT(bloom_bits), "10", 0, 64, NULL,
	  "bits of bloom filter a row; 0: none" },
	{ "updates", HQ_OPTION_SHARE, AT(updates), "5%", 0, 0, NULL,
	  "updates of older rows, for each row" },
	{ "lookups", HQ_OPTION_SHARE, AT(lookups), "1%", 0, 0, NULL,
	  "look-ups of older rows, for each row" },
	{ "scan-share", HQ_OPTION_SHARE, AT(scan_share), "25%", 0, 0, NULL,
	  "share of flushes that are followed by a scan of an eighth of the keys" },
	{ "passes", HQ_OPTION_COUNT, AT(passes), "2", 0, 1000000, NULL,
	  "scans of everything by each scanner, after the last insert" },
	{ "end", HQ_OPTION_ENUM, AT(end), "scans", 0, 0, ends,
	  "end after the scans of everything, or after the inserts" },
	{ "storage", HQ_OPTION_ENUM, AT(storage), "memory", 0, 0, storages,
	  "blocks in memory; or blocks and logs in files in $TMPDIR" },
	{ "sync", HQ_OPTION_ENUM, AT(sync), "none", 0, 0, syncs,
	  "fdatasync of a file: never, after each flush and compaction, after each log entry too" },
	{ "statistics", HQ_OPTION_ENUM, AT(statistics), "off", 0, 0, statistics,
	  "counters, histograms and a trace of rows: none, added to row by row, once a batch" },
	{ "lose", HQ_OPTION_COUNT, AT(lose), "0", 0, 1000000, NULL,
	  "rows of each memtable to lose on purpose, which the scans must find out" },
	{ .name = NULL },
};

static int insert_scan_validate(const void *values, struct hq_error *error)
{
	const struct insert_scan_options *const chosen = values;

	if (chosen->threads + chosen->flushers + chosen->scanners > HQ_WIRE_WORKERS)
		return hq_error_set(error,
				    "threads, flushers and scanners together are more than %u",
				    HQ_WIRE_WORKERS);
	if (chosen->sync != INSERT_SCAN_SYNC_NONE && chosen->storage != INSERT_SCAN_IN_FILE)
		return hq_error_set(error, "sync needs storage=file");
	return 0;
}

static uint32_t insert_scan_threads(const void *values)
{
	const struct insert_scan_options *const chosen = values;

	return (uint32_t)(chosen->threads + chosen->flushers + chosen->scanners);
}

static int prepare_client(const struct insert_scan_options *chosen,
			  struct insert_scan_client *client)
{
	client->log_file = -1;
	client->versions = hq_host_map(chosen->rows * sizeof(client->versions[0]));
	if (client->versions == NULL)
		return -ENOMEM;
	return chosen->storage == INSERT_SCAN_IN_FILE ? insert_scan_file_open(&client->log_file)
						      : 0;
}

static void prepare_locks(struct insert_scan_shared *shared)
{
	pthread_mutex_init(&shared->lock, NULL);
	pthread_mutex_init(&shared->statistics.lock, NULL);
	for (uint32_t i = 0; i < INSERT_SCAN_SHARDS; i++) {
		pthread_mutex_init(&shared->deltas[i].lock, NULL);
		pthread_mutex_init(&shared->cache[i].lock, NULL);
	}
}

static int insert_scan_prepare(struct hq_work *work)
{
	const struct insert_scan_options *const chosen = work->options;
	struct insert_scan_shared *const shared = hq_host_map(sizeof(*shared));
	int failed = 0;

	if (shared == NULL)
		return -ENOMEM;
	shared->slots = hq_host_map(INSERT_SCAN_SLOTS * sizeof(*shared->slots));
	if (shared->slots == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < INSERT_SCAN_SLOTS; i++)
		hq_store_relaxed(&shared->slots[i].number, i);
	prepare_locks(shared);
	shared->file = -1;
	if (chosen->storage == INSERT_SCAN_IN_FILE)
		failed = insert_scan_file_open(&shared->file);
	for (uint64_t i = 0; failed == 0 && i < chosen->threads; i++)
		failed = prepare_client(chosen, &shared->clients[i]);
	work->shared = shared;
	return failed;
}

struct role {
	void (*run)(struct insert_scan *self);
	uint32_t index;
};

static struct role role_of(const struct insert_scan_options *chosen, uint32_t thread)
{
	const uint32_t clients = (uint32_t)chosen->threads;
	const uint32_t flushers = (uint32_t)chosen->flushers;

	if (thread < clients)
		return (struct role){ .run = insert_scan_client_run, .index = thread };
	if (thread < clients + flushers)
		return (struct role){ .run = insert_scan_flusher_run, .index = thread - clients };
	return (struct role){ .run = insert_scan_scanner_run,
			      .index = thread - clients - flushers };
}

static struct insert_scan view_of(const struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	return (struct insert_scan){ .options = work->options,
				     .shared = work->shared,
				     .heap = heap,
				     .seed = work->seed,
				     .index = role_of(work->options, thread).index,
				     .thread = thread };
}

static void insert_scan_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct insert_scan self = view_of(work, thread, heap);

	role_of(work->options, thread).run(&self);
}

/* After an early end there are memtables that no flusher has come to. */
static void insert_scan_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct insert_scan self = view_of(work, thread, heap);
	struct insert_scan_shared *const shared = self.shared;

	if (thread < self.options->threads) {
		for (uint32_t i = 0; i < INSERT_SCAN_SLOTS; i++)
			insert_scan_memtable_drop_part(&self, &shared->slots[i], thread);
	}
	if (thread != 0)
		return;
	for (uint64_t i = 0; i < hq_load_relaxed(&shared->rowset_count); i++)
		insert_scan_rowset_release(&self, shared->rowsets[i]);
	insert_scan_delta_clear(&self);
	insert_scan_cache_clear(&self);
	insert_scan_statistics_finish(&self);
}

/* ---- waiting for each other ---- */

bool insert_scan_wait(void)
{
	if (hq_host_stopping())
		return false;
	hq_host_sleep_ns(WAIT_NS);
	return true;
}

bool insert_scan_is_beyond(struct insert_scan *self, uint64_t number)
{
	for (uint64_t i = 0; i < self->options->threads; i++) {
		struct insert_scan_client *const client = &self->shared->clients[i];

		/* Pairs with the last release in the client: it opens no more. */
		if (hq_load_acquire(&client->left) != UINT64_MAX ||
		    hq_load_relaxed(&client->opened) > number)
			return false;
	}
	return true;
}

enum insert_scan_await insert_scan_await_flushed(struct insert_scan *self, uint64_t number)
{
	struct insert_scan_memtable *const table = &self->shared->slots[number % INSERT_SCAN_SLOTS];

	/* Pairs with the release in the flusher, which makes the slot the next number's. */
	while (hq_load_acquire(&table->number) <= number) {
		if (insert_scan_is_beyond(self, number))
			return INSERT_SCAN_NEVER;
		if (!insert_scan_wait())
			return INSERT_SCAN_STOPPED;
	}
	return INSERT_SCAN_DONE;
}

const struct hq_workload hq_workload_insert_scan = {
	.name = "insert-scan",
	.help = "a storage engine: requests, log, memtables, blocks, compaction, cache, scans",
	.options = options,
	.options_size = sizeof(struct insert_scan_options),
	.validate = insert_scan_validate,
	.threads = insert_scan_threads,
	.prepare = insert_scan_prepare,
	.run = insert_scan_run,
	.release = insert_scan_release,
};
