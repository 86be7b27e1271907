/* SPDX-License-Identifier: MIT */
/*
 * A server that keeps to a memory limit of its own, by one of the trackers of tracker.h. Requests
 * insert rows, each a block of its own. Up to the soft limit each one is admitted, beyond it the
 * fewer, the nearer the hard limit is; no row is inserted beyond that. Who is refused has the
 * oldest request of its thread flushed, so that the load finds its place between the two.
 *
 * A round ends when all threads have flushed everything: then nothing may count as used any more.
 *
 * What is really held is counted beside the tracker, in one word that every row is added to after
 * it was allocated and taken off before it is freed: never more than the truth. Mistakes can be
 * made on purpose, to see that each is seen.
 */
#include <errno.h>

#include "injectors/units.h"
#include "stress/workload/arrivals.h"
#include "stress/workload/heap.h"
#include "stress/workload/table.h"
#include "stress/workload/tracker.h"

#define BLOCKS_MAX (1u << 22)
#define LOOK_NS    50000u

/* Purposes of random streams; each request has one more, for its rows. */
enum { PURPOSE_CHANCES, PURPOSE_ARRIVALS, PURPOSE_REQUESTS };

/* The first ones are the tracker's: enum hq_tracker_mistake. */
enum mistake {
	MISTAKE_FORGETFUL = HQ_TRACKER_UNLOCKED + 1,
	MISTAKE_TIMID,
	MISTAKE_UNFAIR,
};

static const char *const mistakes[] = { "none",      "late",  "lasting", "unlocked",
					"forgetful", "timid", "unfair",  NULL };

struct limited_server_options {
	uint64_t threads, rounds, requests, rows, hold;
	struct hq_sizes size;
	uint64_t hard, soft, batch, period, checks;
	uint32_t tracker; /* enum hq_tracker_form */
	uint32_t mistake; /* enum mistake */
	struct hq_arrivals_options arrivals;
};

struct shared {
	struct hq_tracker tracker;
	_Alignas(HQ_TRACKER_LINE) _Atomic uint64_t held_bytes;
	_Alignas(HQ_TRACKER_LINE) _Atomic uint64_t arrived; /* at the ends of rounds */
	struct server *servers;
};

/* One thread's. */
struct server {
	const struct limited_server_options *chosen;
	struct shared *shared;
	struct hq_heap *heap;
	uint32_t thread;
	uint64_t seed;
	struct hq_random chances;
	struct hq_arrivals arrivals;
	struct hq_block *blocks; /* a ring of `hold` requests, each `rows` */
	uint64_t oldest, held;   /* requests */
	uint64_t window_ns, window_taken, window_given;
	uint64_t total_ns; /* of the figure that it went by last */
	uint64_t meetings;
	uint64_t round_cpu_ns;
	uint64_t seen[HQ_LIMIT_WORDS];
};

#define AT(field) offsetof(struct limited_server_options, field)

static const struct hq_option options[] = {
	{ "threads", HQ_OPTION_COUNT, AT(threads), "4", 1, HQ_WIRE_WORKERS, NULL,
	  "threads that serve" },
	{ "rounds", HQ_OPTION_COUNT, AT(rounds), "2", 1, 1000000, NULL,
	  "how often the server is filled and emptied" },
	{ "requests", HQ_OPTION_COUNT, AT(requests), "2k", 1, 100000000, NULL,
	  "requests of each thread and round" },
	{ "rows", HQ_OPTION_COUNT, AT(rows), "16", 1, 100000, NULL, "rows of a request" },
	{ "hold", HQ_OPTION_COUNT, AT(hold), "500", 1, 1000000, NULL,
	  "requests that each thread holds until the oldest is flushed" },
	{ "size", HQ_OPTION_SIZES, AT(size), "256B..4KiB log", 16, 1ull << 36, NULL,
	  "size of a row" },
	{ "hard", HQ_OPTION_SIZE, AT(hard), "24MiB", 4096, 1ull << 40, NULL,
	  "limit beyond which no row is inserted" },
	{ "soft", HQ_OPTION_SIZE, AT(soft), "16MiB", 0, 1ull << 40, NULL,
	  "limit beyond which requests are refused, with a chance that grows to 1" },
	{ "tracker", HQ_OPTION_ENUM, AT(tracker), "striped", 0, 0, hq_tracker_forms,
	  "how it knows what it uses: striped counters, a cached total, or credit" },
	{ "batch", HQ_OPTION_SIZE, AT(batch), "256KiB", 1, 1ull << 36, NULL,
	  "credit that a thread charges at once" },
	{ "period", HQ_OPTION_DURATION, AT(period), "50ms", 1000000, 3600000000000, NULL,
	  "how long a cached total is gone by" },
	{ "checks", HQ_OPTION_COUNT, AT(checks), "20k", 0, 1000000000, NULL,
	  "checks that each thread makes in a row beforehand, to be timed" },
	{ "mistake", HQ_OPTION_ENUM, AT(mistake), "none", 0, 0, mistakes,
	  "one to make on purpose: what the checkers of limits are tried on" },
	HQ_ARRIVALS_OPTIONS(struct limited_server_options, arrivals, "500/s",
			    "requests of each thread, for constant and poisson"),
	{ .name = NULL },
};

static int limited_server_validate(const void *values, struct hq_error *error)
{
	const struct limited_server_options *const chosen = values;

	if (chosen->soft > chosen->hard)
		return hq_error_set(error, "the soft limit is above the hard one");
	if (chosen->size.max_bytes > chosen->hard)
		return hq_error_set(error, "a row may be larger than the hard limit");
	if (chosen->hold > BLOCKS_MAX / chosen->rows)
		return hq_error_set(error, "each thread holds more than %u rows", BLOCKS_MAX);
	if (chosen->mistake == HQ_TRACKER_LATE && chosen->tracker != HQ_TRACKER_CREDIT)
		return hq_error_set(error, "mistake late needs tracker credit");
	if ((chosen->mistake == HQ_TRACKER_LASTING || chosen->mistake == HQ_TRACKER_UNLOCKED) &&
	    chosen->tracker != HQ_TRACKER_CACHED)
		return hq_error_set(error, "mistake %s needs tracker cached",
				    mistakes[chosen->mistake]);
	return hq_arrivals_validate(&chosen->arrivals, error);
}

static uint32_t limited_server_threads(const void *values)
{
	return (uint32_t)((const struct limited_server_options *)values)->threads;
}

/* What the tracker may do by design. */
static void note_design(const struct hq_tracker_settings *settings,
			const struct limited_server_options *chosen, uint64_t *seen)
{
	const uint64_t request_bytes = chosen->size.max_bytes * chosen->rows;
	const uint64_t ahead_bytes[] = {
		[HQ_TRACKER_STRIPED] = chosen->size.max_bytes,
		[HQ_TRACKER_CACHED] = request_bytes,
		[HQ_TRACKER_CREDIT] = 0,
	};

	seen[HQ_LIMIT_HARD_BYTES] = chosen->hard;
	seen[HQ_LIMIT_SOFT_BYTES] = chosen->soft;
	seen[HQ_LIMIT_STALE_NS] = hq_tracker_stale_ns(settings);
	seen[HQ_LIMIT_STRANDED_BYTES] = hq_tracker_stranded_bytes(settings);
	seen[HQ_LIMIT_AHEAD_BYTES] = ahead_bytes[settings->form];
	seen[HQ_LIMIT_REQUEST_BYTES] = request_bytes;
}

static int limited_server_prepare(struct hq_work *work)
{
	const struct limited_server_options *const chosen = work->options;
	struct shared *const shared = hq_host_map(sizeof(*shared));
	const struct hq_tracker_settings settings = {
		.form = chosen->tracker,
		.mistake =
			chosen->mistake <= HQ_TRACKER_UNLOCKED ? chosen->mistake : HQ_TRACKER_SOUND,
		.hard_bytes = chosen->hard,
		.soft_bytes = chosen->soft,
		.batch_bytes = chosen->batch,
		.period_ns = chosen->period,
	};

	if (shared == NULL)
		return -ENOMEM;
	shared->servers = hq_host_map(work->thread_count * sizeof(*shared->servers));
	if (shared->servers == NULL)
		return -ENOMEM;
	hq_tracker_start(&shared->tracker, &settings);
	for (uint32_t i = 0; i < work->thread_count; i++) {
		struct server *const self = &shared->servers[i];

		*self = (struct server){
			.chosen = chosen, .shared = shared, .thread = i, .seed = work->seed
		};
		self->blocks = hq_host_map(chosen->hold * chosen->rows * sizeof(*self->blocks));
		if (self->blocks == NULL)
			return -ENOMEM;
		note_design(&settings, chosen, self->seen);
	}
	work->shared = shared;
	return 0;
}

static void at_least(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
}

/* ---- rows ---- */

static void note_taken(struct server *self, uint64_t bytes)
{
	const uint64_t held_bytes = hq_fetch_add_relaxed(&self->shared->held_bytes, bytes) + bytes;

	at_least(&self->seen[HQ_LIMIT_PEAK_BYTES], held_bytes);
	self->window_taken += bytes;
}

/* False: beyond the limit. A NULL is not: the row is given up alone. */
static bool insert_row(struct server *self, struct hq_block *row, uint64_t size)
{
	struct hq_tracker *const tracker = &self->shared->tracker;

	*row = (struct hq_block){ .address = NULL };
	if (!hq_tracker_charge(tracker, self->thread, size))
		return false;
	if (hq_block_alloc(self->heap, row, size)) {
		note_taken(self, size);
	} else {
		hq_heap_missed(self->heap);
		hq_tracker_discharge(tracker, self->thread, size);
	}
	return true;
}

/* `forgotten` rows go on to count, by mistake. */
static void free_rows(struct server *self, struct hq_block *rows, uint64_t count,
		      uint64_t forgotten)
{
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t size = rows[i].size;

		if (rows[i].address == NULL)
			continue;
		hq_fetch_add_relaxed(&self->shared->held_bytes, -size);
		self->window_given += size;
		hq_block_free(self->heap, &rows[i]);
		if (i >= forgotten)
			hq_tracker_discharge(&self->shared->tracker, self->thread, size);
	}
}

static struct hq_block *request_at(const struct server *self, uint64_t place)
{
	return &self->blocks[place % self->chosen->hold * self->chosen->rows];
}

static void flush_oldest(struct server *self, uint64_t forgotten)
{
	if (self->held == 0)
		return;
	free_rows(self, request_at(self, self->oldest++), self->chosen->rows, forgotten);
	self->held--;
}

/* ---- requests ---- */

/* A figure that was taken before the one that this thread has gone by already is wrong. */
static void note_age(struct server *self)
{
	const uint64_t total_ns = hq_tracker_taken_ns(&self->shared->tracker);
	const uint64_t now_ns = hq_tracker_clock_ns();

	if (self->seen[HQ_LIMIT_STALE_NS] == 0)
		return;
	if (now_ns > total_ns)
		at_least(&self->seen[HQ_LIMIT_OLDEST_NS], now_ns - total_ns);
	self->seen[HQ_LIMIT_BACK] += total_ns < self->total_ns;
	self->total_ns = total_ns;
}

static double chance_of_refusal(const struct server *self, uint64_t figure_bytes)
{
	struct hq_tracker_settings settings = self->shared->tracker.settings;

	if (self->chosen->mistake == MISTAKE_TIMID)
		settings.soft_bytes /= 4;
	if (self->chosen->mistake == MISTAKE_UNFAIR && self->thread % 2 == 1 &&
	    figure_bytes > settings.soft_bytes / 8)
		return 1;
	return hq_tracker_refusal(&settings, figure_bytes);
}

/*
 * What all held when a request was refused for a figure: what they did just before and after it was
 * read, whichever is more. Nothing is known where the thread may have been off its CPU in between,
 * unless figures are old anyway.
 */
static void note_refusal(struct server *self, uint64_t before_bytes, uint64_t before_ns)
{
	const uint64_t after_bytes = hq_load_relaxed(&self->shared->held_bytes);
	const bool is_exact = self->seen[HQ_LIMIT_STALE_NS] == 0;
	uint64_t *const early = &self->seen[HQ_LIMIT_EARLY_BYTES];
	/* At least 1: 0 means that there was none. */
	const uint64_t held_bytes = (before_bytes > after_bytes ? before_bytes : after_bytes) | 1;

	if (is_exact && hq_host_now_ns() - before_ns > LOOK_NS)
		return;
	if (*early == 0 || held_bytes < *early)
		*early = held_bytes;
}

static bool is_admitted(struct server *self, uint64_t now_ns)
{
	const uint64_t held_bytes = hq_load_relaxed(&self->shared->held_bytes);
	const uint64_t figure_bytes = hq_tracker_figure(&self->shared->tracker, self->thread);
	const double chance = chance_of_refusal(self, figure_bytes);

	note_age(self);
	if (!hq_random_chance(&self->chances, chance))
		return true;
	note_refusal(self, held_bytes, now_ns);
	return false;
}

/* What the rows are depends on the request alone, whatever was refused before. */
static bool insert(struct server *self, uint64_t request)
{
	struct hq_random random =
		hq_random_stream(self->seed, self->thread, PURPOSE_REQUESTS + (uint32_t)request);
	struct hq_block *const rows = request_at(self, self->oldest + self->held);

	for (uint64_t i = 0; i < self->chosen->rows; i++) {
		const uint64_t size = hq_random_size(&random, &self->chosen->size);

		if (!insert_row(self, &rows[i], size)) {
			free_rows(self, rows, i, 0);
			return false;
		}
	}
	self->held++;
	return true;
}

static void end_window(struct server *self, uint64_t now_ns)
{
	if (now_ns - self->window_ns < HQ_LIMIT_WINDOW_NS)
		return;
	at_least(&self->seen[HQ_LIMIT_TAKEN_BYTES], self->window_taken);
	at_least(&self->seen[HQ_LIMIT_GIVEN_BYTES], self->window_given);
	self->window_taken = self->window_given = 0;
	self->window_ns = now_ns;
}

static void serve(struct server *self, uint64_t request)
{
	const uint64_t start_ns = hq_host_now_ns();

	end_window(self, start_ns);
	hq_arrivals_begin(&self->arrivals, self->heap);
	if (self->held == self->chosen->hold)
		flush_oldest(self, 0);
	const uint64_t begun_ns = hq_host_now_ns();

	if (is_admitted(self, begun_ns) && insert(self, request)) {
		self->seen[HQ_LIMIT_ADMITTED]++;
		self->seen[HQ_LIMIT_ROWS] += self->chosen->rows;
	} else {
		self->seen[HQ_LIMIT_REFUSED]++;
		flush_oldest(self, self->chosen->mistake == MISTAKE_FORGETFUL);
	}
	hq_heap_op_end(self->heap);
	at_least(&self->seen[HQ_LIMIT_STEP_NS], hq_host_now_ns() - begun_ns);
}

static void flush_all(struct server *self)
{
	while (self->held > 0) {
		flush_oldest(self, 0);
		hq_heap_alive(self->heap);
	}
}

/* ---- rounds ---- */

static void report(const struct server *self)
{
	for (int word = 0; word < HQ_LIMIT_WORDS; word++)
		hq_heap_limit(self->heap, (enum hq_limit_word)word, self->seen[word]);
}

/* Waits for all threads. False: the run ends. */
static bool meet(struct server *self)
{
	const uint64_t awaited = ++self->meetings * self->chosen->threads;

	/* Pairs with the acquire below: what was counted before is seen by all. */
	hq_fetch_add_acq_rel(&self->shared->arrived, 1);
	while (hq_load_acquire(&self->shared->arrived) < awaited) {
		if (hq_host_stopping())
			return false;
		hq_host_sleep_ns(HQ_MS / 2);
		hq_heap_alive(self->heap);
	}
	return true;
}

/* Nothing is held by anyone. Two periods are enough for every figure to be a new one. */
static void look_at_quiet(struct server *self)
{
	struct hq_tracker *const tracker = &self->shared->tracker;
	const uint64_t stale_ns = self->seen[HQ_LIMIT_STALE_NS];

	if (stale_ns > 0)
		hq_host_sleep_ns(stale_ns + 20 * HQ_MS);
	at_least(&self->seen[HQ_LIMIT_LEFT_BYTES], hq_tracker_figure(tracker, self->thread));
	self->seen[HQ_LIMIT_QUIETS]++;
	hq_heap_alive(self->heap);
}

/* Of a row that is checked, counted and taken off again. */
static void time_checks(struct server *self)
{
	struct hq_tracker *const tracker = &self->shared->tracker;
	const uint64_t start_ns = hq_host_cpu_ns();

	for (uint64_t i = 0; i < self->chosen->checks; i++) {
		if (hq_tracker_charge(tracker, self->thread, 1))
			hq_tracker_discharge(tracker, self->thread, 1);
	}
	self->seen[HQ_LIMIT_CHECKS] = self->chosen->checks;
	self->seen[HQ_LIMIT_CHECKS_CPU_NS] = hq_host_cpu_ns() - start_ns;
	hq_heap_alive(self->heap);
}

/* Nobody is at a total, or goes by none, when the first request comes. */
static bool prepare_figure(struct server *self)
{
	time_checks(self);
	if (!meet(self))
		return false;
	if (self->thread == 0)
		hq_tracker_figure(&self->shared->tracker, 0);
	return meet(self);
}

static void serve_round(struct server *self, uint64_t round)
{
	const uint64_t requests = self->chosen->requests;
	const uint64_t start_ns = hq_host_cpu_ns();

	/* Nobody has waited during the silence between rounds. */
	hq_arrivals_start(&self->arrivals, &self->chosen->arrivals, self->seed, self->thread);
	self->window_ns = hq_host_now_ns();
	for (uint64_t i = 0; i < requests && !hq_host_stopping(); i++)
		serve(self, round * requests + i);
	self->round_cpu_ns = hq_host_cpu_ns() - start_ns;
}

/* While everything is flushed, faster than ever, nobody is judged by what is held. */
static bool empty(struct server *self)
{
	if (!meet(self))
		return false;
	const uint64_t start_ns = hq_host_cpu_ns();

	flush_all(self);
	self->round_cpu_ns += hq_host_cpu_ns() - start_ns;
	return meet(self);
}

/* What else runs on the machine only adds: the cheapest round counts. */
static void note_cost(struct server *self, uint64_t rows_before)
{
	uint64_t *const least_ns = &self->seen[HQ_LIMIT_ROW_CPU_NS];
	const uint64_t rows = self->seen[HQ_LIMIT_ROWS] - rows_before;
	const uint64_t row_ns = rows > 0 ? self->round_cpu_ns / rows : 0;

	if (row_ns > 0 && (*least_ns == 0 || row_ns < *least_ns))
		*least_ns = row_ns;
}

static void limited_server_run(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct shared *const shared = work->shared;
	struct server *const self = &shared->servers[thread];
	bool goes_on;

	self->heap = heap;
	self->chances = hq_random_stream(work->seed, thread, PURPOSE_CHANCES);
	goes_on = prepare_figure(self);
	for (uint64_t round = 0; goes_on && round < self->chosen->rounds; round++) {
		const uint64_t rows = self->seen[HQ_LIMIT_ROWS];

		serve_round(self, round);
		goes_on = empty(self);
		note_cost(self, rows);
		if (goes_on && thread == 0)
			look_at_quiet(self);
		goes_on = goes_on && meet(self);
		report(self);
	}
}

static void limited_server_release(struct hq_work *work, uint32_t thread, struct hq_heap *heap)
{
	struct server *const self = &((struct shared *)work->shared)->servers[thread];

	self->heap = heap;
	flush_all(self);
}

const struct hq_workload hq_workload_limited_server = {
	.name = "limited-server",
	.help = "a server that tracks its memory, and refuses requests rather than pass its limit",
	.options = options,
	.options_size = sizeof(struct limited_server_options),
	.validate = limited_server_validate,
	.threads = limited_server_threads,
	.prepare = limited_server_prepare,
	.run = limited_server_run,
	.release = limited_server_release,
};
