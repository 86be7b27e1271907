/* SPDX-License-Identifier: MIT */
/*
 * Taking what the target wrote. The target may be broken enough to write anywhere, into the shared
 * memory as well: every loop here is bounded by our own constants, and records that cannot be true
 * are counted as dropped instead of being handed to a checker.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/observe/drain.h"
#include "stress/observe/limit_seen.h"

#define FAULTS_MAX (1u << 18) /* 20 MiB */
#define EVENTS_MAX (1u << 16)
#define STATS_MAX  (1u << 16)
#define ROOM_FIRST 256u

/*
 * Room for one more entry: lists grow by doubling whenever their length is a power of two, so that
 * no length needs to be stored. False at the bound or without memory.
 */
static bool make_room(void **list, size_t count, size_t entry_size, size_t max)
{
	if (count >= max)
		return false;
	if (count && (count < ROOM_FIRST || (count & (count - 1))))
		return true;
	void *grown = realloc(*list, (count ? 2 * count : ROOM_FIRST) * entry_size);

	if (!grown)
		return false;
	*list = grown;
	return true;
}

static void keep_fault(struct hq_observations *seen, const struct hq_plane_thread *thread,
		       const struct hq_fault *fault)
{
	if (fault->rule >= HQ_RULES_MAX || fault->call >= HQ_CALL_COUNT ||
	    !make_room((void **)&seen->faults, seen->fault_count, sizeof(seen->faults[0]),
		       FAULTS_MAX)) {
		seen->faults_dropped++;
		return;
	}
	seen->faults[seen->fault_count++] = (struct hq_fault_seen){
		.fault = *fault,
		.thread_key = hq_load_relaxed(&thread->key),
		.tid = (pid_t)hq_load_relaxed(&thread->tid),
	};
}

static void drain_thread(struct hq_plane_thread *thread, struct hq_observations *seen)
{
	for (size_t i = 0; i < HQ_PLANE_FAULTS; i++) {
		const int64_t slot = hq_ring_peek(&thread->ring, HQ_PLANE_FAULTS);

		if (slot < 0)
			return;
		keep_fault(seen, thread, &thread->faults[slot]);
		hq_ring_taken(&thread->ring);
	}
}

static void keep_event(struct hq_observations *seen, const struct hq_event *event)
{
	if (event->kind >= HQ_EVENT_KIND_COUNT ||
	    (event->worker >= HQ_WIRE_WORKERS && event->worker != HQ_EVENT_GUARD) ||
	    !make_room((void **)&seen->events, seen->event_count, sizeof(seen->events[0]),
		       EVENTS_MAX)) {
		seen->events_dropped++;
		return;
	}
	seen->events[seen->event_count++] = *event;
}

static void drain_worker(struct hq_wire_worker *worker, struct hq_observations *seen)
{
	for (size_t i = 0; i < HQ_WIRE_EVENTS; i++) {
		const int64_t slot = hq_ring_peek(&worker->ring, HQ_WIRE_EVENTS);

		if (slot < 0)
			return;
		keep_event(seen, &worker->events[slot]);
		hq_ring_taken(&worker->ring);
	}
}

static void drain_stats(struct hq_wire_stats *stats, struct hq_observations *seen)
{
	for (size_t i = 0; i < HQ_STATS_ROOM; i++) {
		const int64_t slot = hq_ring_peek(&stats->ring, HQ_STATS_ROOM);

		if (slot < 0)
			return;
		if (stats->records[slot].point < HQ_STATS_POINT_COUNT &&
		    make_room((void **)&seen->stats, seen->stats_count, sizeof(seen->stats[0]),
			      STATS_MAX))
			seen->stats[seen->stats_count++] = stats->records[slot];
		else
			seen->stats_dropped++;
		hq_ring_taken(&stats->ring);
	}
}

static uint32_t threads_claimed(const struct hq_wire *wire)
{
	const uint32_t claimed = hq_load_relaxed(&wire->plane.claimed);

	return claimed < HQ_PLANE_THREADS ? claimed : HQ_PLANE_THREADS;
}

static uint32_t worker_count(const struct hq_wire *wire)
{
	const uint32_t count = wire->config.worker_count;

	return count < HQ_WIRE_WORKERS ? count : HQ_WIRE_WORKERS;
}

/* One worker may free what another one asked for, so only the sum over all means something. */
static uint64_t requested_bytes(const struct hq_wire *wire)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < worker_count(wire); i++)
		sum += hq_load_relaxed(&wire->workers[i].requested_bytes);
	return (int64_t)sum > 0 ? sum : 0;
}

/*
 * Counts what takes away: after each of these calls a sum may be smaller. Pairs with the release of
 * hq_heap_free and hq_heap_resize: who sees the call counted sees it in the sum.
 */
static uint64_t taken_away(const struct hq_wire_worker *worker)
{
	return hq_load_acquire(&worker->frees) + hq_load_acquire(&worker->reallocs);
}

/*
 * A sum of words that change while they are read may be more than ever was. If no word differs when
 * it is read again, and nothing was taken away in between, so much was live at one time.
 */
static bool requested_for_sure(const struct hq_wire *wire, uint64_t *bytes)
{
	uint64_t words[HQ_WIRE_WORKERS], taken[HQ_WIRE_WORKERS];
	bool same = true;

	for (uint32_t i = 0; i < worker_count(wire); i++) {
		taken[i] = taken_away(&wire->workers[i]);
		/* Pairs with the release in hq_heap_enter, here and below. */
		words[i] = hq_load_acquire(&wire->workers[i].requested_bytes);
	}
	*bytes = 0;
	for (uint32_t i = 0; i < worker_count(wire); i++) {
		*bytes += words[i];
		same = same && words[i] == hq_load_acquire(&wire->workers[i].requested_bytes) &&
		       taken[i] == taken_away(&wire->workers[i]);
	}
	return same && (int64_t)*bytes > 0;
}

void hq_drain(struct hq_wire *wire, struct hq_observations *seen)
{
	const uint64_t requested = requested_bytes(wire);
	uint64_t sure;

	for (uint32_t i = 0; i < threads_claimed(wire); i++)
		drain_thread(&wire->plane.threads[i], seen);
	for (uint32_t i = 0; i < worker_count(wire); i++)
		drain_worker(&wire->workers[i], seen);
	drain_stats(&wire->stats, seen);
	seen->requested_last_bytes = requested;
	if (requested > seen->requested_peak_bytes)
		seen->requested_peak_bytes = requested;
	if (requested_for_sure(wire, &sure) && sure > seen->requested_sure_bytes)
		seen->requested_sure_bytes = sure;
}

static void total_rules(const struct hq_plane *plane, uint32_t threads,
			struct hq_observations *seen)
{
	seen->rule_count = plane->rule_count < HQ_RULES_MAX ? plane->rule_count : HQ_RULES_MAX;
	for (size_t r = 0; r < seen->rule_count; r++) {
		struct hq_rule_total *total = &seen->rules[r];

		memset(total, 0, sizeof(*total));
		memcpy(total->name, plane->rules[r].name, sizeof(total->name) - 1);
		total->required = plane->rules[r].required;
		total->calls = plane->rules[r].calls;
		total->action = plane->rules[r].action;
		total->window_end_ns = plane->rules[r].window_end_ns;
		for (uint32_t t = 0; t < threads; t++) {
			const struct hq_plane_count *count = &plane->threads[t].counts[r];

			total->seen += hq_load_relaxed(&count->seen);
			total->eligible += hq_load_relaxed(&count->eligible);
			total->fired += hq_load_relaxed(&count->fired);
		}
	}
}

static void total_slots(const struct hq_plane *plane, uint32_t threads,
			struct hq_observations *seen)
{
	seen->threads_claimed = threads;
	seen->threads_unclaimed = hq_load_relaxed(&plane->claimed) - threads;
	seen->processes_unarmed = hq_load_relaxed(&plane->unarmed);
	for (uint32_t t = 0; t < threads; t++)
		seen->faults_dropped += hq_load_relaxed(&plane->threads[t].ring.dropped);
}

/* Most bands of most workloads stay empty, and take no memory. */
static void add_band(struct hq_hist **merged, const struct hq_coarse_hist *hist)
{
	if (hq_coarse_count(hist) == 0)
		return;
	if (!*merged)
		*merged = calloc(1, sizeof(**merged));
	if (*merged)
		hq_hist_add_coarse(*merged, hist);
}

static void total_band(const struct hq_wire *wire, int call, int band, struct hq_observations *seen)
{
	for (uint32_t i = 0; i < worker_count(wire); i++) {
		const struct hq_wire_worker *worker = &wire->workers[i];
		const struct hq_coarse_hist *clean = &worker->bands[call][band];
		const struct hq_coarse_hist *faulted = &worker->faulted_bands[call][band];

		add_band(&seen->bands[call][band], clean);
		add_band(&seen->bands[call][band], faulted);
		add_band(&seen->apart[HQ_WINDOW_CLEAN].bands[call][band], clean);
		add_band(&seen->apart[HQ_WINDOW_FAULTED].bands[call][band], faulted);
	}
}

static void total_bands(const struct hq_wire *wire, struct hq_observations *seen)
{
	for (int call = 0; call < HQ_LATENCY_SIZED; call++)
		for (int band = 0; band < HQ_BAND_COUNT; band++)
			total_band(wire, call, band, seen);
}

static struct hq_hist *merge_kinds(const struct hq_wire *wire, bool clean, bool faulted)
{
	struct hq_hist *merged = calloc(HQ_LATENCY_COUNT, sizeof(*merged));

	for (uint32_t i = 0; merged && i < worker_count(wire); i++) {
		const struct hq_wire_worker *worker = &wire->workers[i];

		for (int kind = 0; kind < HQ_LATENCY_COUNT; kind++) {
			if (clean)
				hq_hist_add(&merged[kind], &worker->hist[kind]);
			if (faulted)
				hq_hist_add(&merged[kind], &worker->faulted_hist[kind]);
		}
	}
	return merged;
}

static void total_kinds(const struct hq_wire *wire, struct hq_observations *seen)
{
	seen->hist = merge_kinds(wire, true, true);
	seen->apart[HQ_WINDOW_CLEAN].hist = merge_kinds(wire, true, false);
	seen->apart[HQ_WINDOW_FAULTED].hist = merge_kinds(wire, false, true);
}

static void total_workers(const struct hq_wire *wire, struct hq_observations *seen)
{
	for (uint32_t i = 0; i < worker_count(wire); i++) {
		const struct hq_wire_worker *worker = &wire->workers[i];

		seen->ops += hq_load_relaxed(&worker->ops);
		seen->mallocs += hq_load_relaxed(&worker->mallocs);
		seen->frees += hq_load_relaxed(&worker->frees);
		seen->reallocs += hq_load_relaxed(&worker->reallocs);
		seen->nulls += hq_load_relaxed(&worker->nulls);
		seen->children += hq_load_relaxed(&worker->children);
		seen->freed_bytes += hq_load_relaxed(&worker->freed_bytes);
		seen->signals_taken += hq_load_relaxed(&worker->signals_taken);
		seen->signals_done += hq_load_relaxed(&worker->signals_done);
		seen->signal_nulls += hq_load_relaxed(&worker->signal_nulls);
		seen->signal_damaged += hq_load_relaxed(&worker->signal_damaged);
		seen->arena_looks += hq_load_relaxed(&worker->arena_looks);
		seen->weighed_bytes += hq_load_relaxed(&worker->weighed_bytes);
		seen->usable_bytes += hq_load_relaxed(&worker->usable_bytes);
		seen->lives += hq_load_relaxed(&worker->lives);
		seen->missed += hq_load_relaxed(&worker->faults_missed);
		seen->had_most_bytes += hq_load_relaxed(&worker->had_most_bytes);
		seen->had_last_bytes += hq_load_relaxed(&worker->had_last_bytes);
		seen->events_dropped += hq_load_relaxed(&worker->ring.dropped);
	}
}

/* Of each step that every worker has measured, the cheapest. */
static void total_costs(const struct hq_wire *wire, struct hq_observations *seen)
{
	for (size_t step = 0; step < HQ_WIRE_COSTS && worker_count(wire) > 0; step++) {
		struct hq_cost best = { .cpu_ns = UINT64_MAX };

		for (uint32_t i = 0; i < worker_count(wire); i++) {
			const struct hq_wire_cost *cost = &wire->workers[i].costs[step];
			const uint64_t cpu_ns = hq_load_relaxed(&cost->cpu_ns);

			best.scale = hq_load_relaxed(&cost->scale);
			if (best.scale == 0)
				return;
			best.cpu_ns = cpu_ns < best.cpu_ns ? cpu_ns : best.cpu_ns;
		}
		seen->costs[seen->cost_count++] = best;
	}
}

static void finish_stats(const struct hq_wire *wire, uint64_t go_ns, struct hq_observations *seen)
{
	seen->stats_promises = hq_load_relaxed(&wire->status.stats_promises);
	seen->stats_dropped += hq_load_relaxed(&wire->stats.ring.dropped);
	for (size_t i = 0; i < seen->stats_count; i++)
		seen->stats[i].time_ns = hq_since_ns(seen->stats[i].time_ns, go_ns);
}

/* 0: no worker was refused anything. */
static uint64_t refused_at_bytes(const struct hq_wire *wire)
{
	uint64_t least = 0;

	for (uint32_t i = 0; i < worker_count(wire); i++) {
		const uint64_t one = hq_load_relaxed(&wire->workers[i].refused_at_bytes);

		if (one != 0 && (least == 0 || one < least))
			least = one;
	}
	return least;
}

static uint64_t last_null_ns(const struct hq_wire *wire)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < worker_count(wire); i++) {
		const uint64_t one_ns = hq_load_relaxed(&wire->workers[i].last_null_ns);

		last_ns = one_ns > last_ns ? one_ns : last_ns;
	}
	return last_ns;
}

static void end_sites(struct hq_guard_block *block)
{
	block->allocated_at[HQ_EVENT_SITE - 1] = '\0';
	block->freed_at[HQ_EVENT_SITE - 1] = '\0';
}

/* What the target wrote is taken with care: it may be broken. The place in the list + 1, or 0. */
static uint32_t keep_detail(struct hq_observations *seen, const struct hq_guard_detail *detail)
{
	struct hq_guard_detail *kept;

	if (!detail->trail[0][0] && !detail->block.address)
		return 0;
	if (!make_room((void **)&seen->details, seen->detail_count, sizeof(seen->details[0]),
		       HQ_GUARD_EVENTS))
		return 0;
	kept = &seen->details[seen->detail_count++];
	*kept = *detail;
	end_sites(&kept->block);
	end_sites(&kept->before);
	end_sites(&kept->behind);
	for (int i = 0; i < HQ_GUARD_TRAIL; i++)
		kept->trail[i][HQ_EVENT_SITE - 1] = '\0';
	return (uint32_t)seen->detail_count;
}

/* A thread that was killed while it wrote has left an entry that is not whole. */
static void drain_guard(const struct hq_guard_log *log, struct hq_observations *seen)
{
	const uint32_t claimed = hq_load_relaxed(&log->claimed);

	for (uint32_t i = 0; i < claimed && i < HQ_GUARD_EVENTS; i++) {
		/* Pairs with the guard's release. */
		const bool whole = hq_load_acquire(&log->entries[i].whole);
		struct hq_event event = log->entries[i].event;

		event.site[HQ_EVENT_SITE - 1] = '\0';
		if (whole && event.worker == HQ_EVENT_GUARD) {
			event.detail = keep_detail(seen, &log->entries[i].detail);
			keep_event(seen, &event);
		} else {
			seen->events_dropped++;
		}
	}
	seen->events_dropped += hq_load_relaxed(&log->overrun);
	seen->guard_programs = hq_load_relaxed(&log->attached);
	seen->guard_refused = hq_load_relaxed(&log->refused);
	seen->guard_calls = hq_load_relaxed(&log->calls);
	seen->guard_unwatched = hq_load_relaxed(&log->unwatched);
	/* Pairs with the guard's release. */
	seen->guard_left_known = hq_load_acquire(&log->left_known);
	seen->guard_left_count = hq_load_relaxed(&log->left_count);
	seen->guard_left_bytes = hq_load_relaxed(&log->left_bytes);
}

/* A part is one piece of work that all threads share: it takes as long as the slowest of them. */
static void total_part(const struct hq_wire *wire, uint32_t index, struct hq_part_seen *part)
{
	for (uint32_t i = 0; i < worker_count(wire); i++) {
		const struct hq_wire_part *of = &wire->workers[i].parts[index];
		const uint64_t runs = hq_load_relaxed(&of->runs);
		const uint64_t wall_ns = hq_load_relaxed(&of->wall_ns);

		part->runs = runs > part->runs ? runs : part->runs;
		part->wall_ns = wall_ns > part->wall_ns ? wall_ns : part->wall_ns;
		part->cpu_ns += hq_load_relaxed(&of->cpu_ns);
		part->faults += hq_load_relaxed(&of->faults);
	}
}

static void total_parts(const struct hq_wire *wire, struct hq_observations *seen)
{
	seen->parts = calloc(HQ_WIRE_PARTS, sizeof(seen->parts[0]));
	for (uint32_t i = 0; seen->parts && i < HQ_WIRE_PARTS; i++)
		total_part(wire, i, &seen->parts[i]);
}

void hq_drain_finish(struct hq_wire *wire, uint64_t go_ns, struct hq_observations *seen)
{
	const uint32_t threads = threads_claimed(wire);

	hq_drain(wire, seen);
	total_rules(&wire->plane, threads, seen);
	total_slots(&wire->plane, threads, seen);
	seen->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	seen->is_host = wire->config.is_host;
	seen->gate_open_ns = hq_load_relaxed(&wire->plane.gate_open_ns);
	seen->guarded = wire->config.guard_every != 0;
	if (seen->guarded)
		drain_guard(&wire->guard, seen);
	if (!seen->is_host)
		return;
	total_workers(wire, seen);
	total_kinds(wire, seen);
	total_bands(wire, seen);
	total_costs(wire, seen);
	total_parts(wire, seen);
	hq_limit_total(wire->workers, worker_count(wire), &seen->limit);
	finish_stats(wire, go_ns, seen);
	seen->unwatched = hq_load_relaxed(&wire->status.unwatched);
	seen->unwritten = hq_load_relaxed(&wire->status.unwritten);
	seen->unwritten_error = (int)hq_load_relaxed(&wire->status.unwritten_error);
	seen->refused_at_bytes = refused_at_bytes(wire);
	seen->last_null_ns = hq_since_ns(last_null_ns(wire), go_ns);
	seen->worked_ns = hq_since_ns(hq_load_relaxed(&wire->status.worked_ns), go_ns);
	seen->freed_ns = hq_since_ns(hq_load_relaxed(&wire->status.freed_ns), go_ns);
}

uint64_t hq_drain_fired(const struct hq_wire *wire)
{
	uint64_t fired = 0;

	for (uint32_t t = 0; t < threads_claimed(wire); t++)
		for (size_t r = 0; r < HQ_RULES_MAX; r++)
			fired += hq_load_relaxed(&wire->plane.threads[t].counts[r].fired);
	return fired;
}

uint64_t hq_drain_ops(const struct hq_wire *wire)
{
	uint64_t ops = 0;

	for (uint32_t i = 0; i < worker_count(wire); i++)
		ops += hq_load_relaxed(&wire->workers[i].ops);
	return ops;
}
