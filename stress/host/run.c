/* SPDX-License-Identifier: MIT */
/*
 * The course of a run, as the controller sees it in status.state:
 *
 *   STARTING  find the workload, its options and the allocator; prepare; create the threads
 *   READY     wait for `go`
 *   WORKING   every thread runs
 *   WORKED    the data are still held, for one quiet reading; then every thread releases and exits
 *   FREED     idle until `finish`
 *
 * The threads exist before the first fault may be made, because pthread_create is libc's and may
 * fail; they touch the allocator only afterwards.
 */
#include "stress/host/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "injectors/option.h"
#include "injectors/units.h"
#include "injectors/clock.h"
#include "stress/host/heap_private.h"
#include "stress/host/phase.h"
#include "stress/host/stats.h"
#include "stress/host/system.h"
#include "stress/host/thread.h"
#include "stress/workload/workload.h"

#define POLL_NS       (500 * HQ_US)
#define QUIET_NS      (20 * HQ_MS)  /* how long the data are held for a quiet reading */
#define IDLE_STATS_NS (100 * HQ_MS) /* nobody is disturbed then, and each reads more */
#define EXIT_NS       (60 * HQ_S)   /* threads that have released everything must be gone by then */

struct run;

struct worker {
	struct run *run;
	struct hq_heap heap;
	struct hq_host_thread thread;
	uint32_t index;
};

struct run {
	struct hq_wire *wire;
	const struct hq_workload *workload;
	struct hq_work work;
	struct hq_allocator allocator;
	struct hq_shadow shadow;
	struct hq_phases phases;
	struct hq_stats_source stats;
	uint64_t stats_due_ns; /* the next record at a time that is not quiet */
	struct worker workers[HQ_WIRE_WORKERS];
	_Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
};

/* Writes the sentence and returns the exit status. */
__attribute__((format(printf, 2, 3))) static int fail(struct hq_wire *wire, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(wire->status.failure, sizeof(wire->status.failure), format, arguments);
	va_end(arguments);
	/* Pairs with the controller's acquire: the sentence is whole. */
	hq_store_release(&wire->status.state, HQ_TARGET_FAILED);
	return HQ_HOST_EXIT_FAILED;
}

static void reach(struct hq_wire *wire, enum hq_target_state state)
{
	/* Pairs with the controller's acquire: what belongs to the state was written before. */
	hq_store_release(&wire->status.state, (uint32_t)state);
}

/* Without memory for its books, as a limit may have it, the host cannot tell that blocks overlap.
 */
static void tell_unwatched(struct run *run)
{
	hq_store_relaxed(&run->wire->status.unwatched, hq_load_relaxed(&run->shadow.unchecked));
}

/* ---- statistics ---- */

static void take_stats(struct run *run, enum hq_stats_point point, uint32_t workers)
{
	if (run->wire->config.stats_period_ns != 0)
		hq_stats_take(&run->stats, run->wire, point, workers);
}

/* When there is next something to record; without statistics, never. */
static uint64_t await_stats_ns(const struct run *run)
{
	const uint64_t now_ns = hq_now_ns();

	if (run->wire->config.stats_period_ns == 0)
		return UINT64_MAX;
	return run->stats_due_ns > now_ns ? run->stats_due_ns - now_ns : 0;
}

static void take_stats_when_due(struct run *run, enum hq_stats_point point, uint32_t workers,
				uint64_t period_ns)
{
	if (await_stats_ns(run) != 0)
		return;
	take_stats(run, point, workers);
	run->stats_due_ns = hq_now_ns() + period_ns;
}

/* ---- start ---- */

static int read_plan(struct run *run)
{
	const struct hq_wire_config *const config = &run->wire->config;
	struct hq_error error = { "" };

	run->workload = hq_workload_find(config->workload);
	if (run->workload == NULL)
		return fail(run->wire, "unknown workload '%s'", config->workload);
	if (hq_options_default(run->workload->options, run->options, &error) != 0 ||
	    hq_options_parse(run->workload->options, run->options, config->options, &error) != 0)
		return fail(run->wire, "workload %s: %.200s", config->workload, error.text);
	if (run->workload->validate != NULL && run->workload->validate(run->options, &error) != 0)
		return fail(run->wire, "workload %s: %.200s", config->workload, error.text);
	run->work = (struct hq_work){ .options = run->options,
				      .seed = config->seed,
				      .thread_count = run->workload->threads(run->options) };
	if (run->work.thread_count > HQ_WIRE_WORKERS)
		return fail(run->wire, "workload %s asks for %u threads, at most %u are possible",
			    config->workload, run->work.thread_count, HQ_WIRE_WORKERS);
	return 0;
}

static void *work_through(void *argument)
{
	struct worker *const self = argument;
	struct run *const run = self->run;
	struct hq_wire_worker *const record = self->heap.worker;

	hq_store_relaxed(&record->tid, (uint32_t)hq_system_thread_id());
	hq_phase_arrive(&run->phases);
	hq_phase_await(&run->phases, HQ_PHASE_RUN);
	run->workload->run(&run->work, self->index, &self->heap);
	hq_phase_arrive(&run->phases);
	hq_phase_await(&run->phases, HQ_PHASE_RELEASE);
	run->workload->release(&run->work, self->index, &self->heap);
	hq_store_relaxed(&record->finished, 1);
	hq_phase_arrive(&run->phases);
	return NULL;
}

static int create_threads(struct run *run)
{
	for (uint32_t i = 0; i < run->work.thread_count; i++) {
		struct worker *const worker = &run->workers[i];
		const int error = hq_host_thread_create(&worker->thread, work_through, worker);

		if (error != 0)
			return fail(run->wire, "cannot create thread %u of %u: %s", i,
				    run->work.thread_count, strerror(error));
	}
	if (!hq_phase_gather(&run->phases, run->work.thread_count, hq_host_orphaned))
		return fail(run->wire, "the controller is gone");
	return 0;
}

/* The heap of worker 0 exists even without threads: the idle hook uses it. */
static void init_heaps(struct run *run)
{
	for (uint32_t i = 0; i == 0 || i < run->work.thread_count; i++) {
		struct worker *const worker = &run->workers[i];

		worker->run = run;
		worker->index = i;
		hq_heap_init(&worker->heap, &run->allocator, &run->shadow, run->wire, i);
	}
}

static int start(struct run *run)
{
	struct hq_wire_status *const status = &run->wire->status;
	int error = read_plan(run);

	if (error != 0)
		return error;
	hq_allocator_find(&run->allocator, status->provider, sizeof(status->provider),
			  status->version, sizeof(status->version));
	if (run->wire->config.stats_period_ns != 0)
		hq_stats_find(&run->stats, run->wire);
	if (hq_shadow_init(&run->shadow) != 0)
		return fail(run->wire, "no memory for the shadow of the heap");
	init_heaps(run);
	error = run->workload->prepare(&run->work);
	if (error != 0)
		return fail(run->wire, "workload %s cannot prepare: %s", run->workload->name,
			    strerror(-error));
	error = create_threads(run);
	if (error != 0)
		return error;
	take_stats(run, HQ_STATS_START, run->work.thread_count);
	hq_store_relaxed(&status->ready_ns, hq_now_ns());
	reach(run->wire, HQ_TARGET_READY);
	return 0;
}

static int await_go(struct hq_wire *wire)
{
	const uint64_t deadline_ns = hq_now_ns() + wire->config.deadline_ns;

	/* Pairs with the controller's release: its time of opening the gate is there. */
	while (hq_load_acquire(&wire->go) == 0) {
		if (hq_host_stopping())
			break;
		if (hq_host_orphaned() || hq_now_ns() >= deadline_ns)
			return fail(wire, "the controller never said go");
		hq_system_sleep_ns(POLL_NS);
	}
	return 0;
}

/* ---- work ---- */

/* Waits for the workers, and meanwhile records what is due. */
static bool gather(struct run *run, uint32_t phases)
{
	const uint32_t count = phases * run->work.thread_count;

	while (!hq_phase_wait(&run->phases, count, await_stats_ns(run))) {
		if (hq_host_orphaned())
			return false;
		take_stats_when_due(run, HQ_STATS_WORKING, run->work.thread_count,
				    run->wire->config.stats_period_ns);
	}
	return true;
}

/* The threads' destructors run in the allocator: they must be over before it counts as freed. */
static bool join_threads(struct run *run)
{
	const uint64_t deadline_ns = hq_now_ns() + EXIT_NS;

	for (uint32_t i = 0; i < run->work.thread_count; i++) {
		while (pthread_tryjoin_np(run->workers[i].thread.id, NULL) != 0) {
			if (hq_host_orphaned() || hq_now_ns() >= deadline_ns)
				return false;
			hq_system_sleep_ns(POLL_NS);
		}
	}
	return true;
}

static int work(struct run *run)
{
	struct hq_wire_status *const status = &run->wire->status;

	hq_host_gate_opened();
	reach(run->wire, HQ_TARGET_WORKING);
	hq_phase_open(&run->phases, HQ_PHASE_RUN);
	if (run->workload->beside != NULL)
		run->workload->beside(&run->work, &run->workers[0].heap);
	if (!gather(run, 2))
		return fail(run->wire, "the controller is gone");
	hq_store_relaxed(&status->worked_ns, hq_now_ns());
	tell_unwatched(run);
	reach(run->wire, HQ_TARGET_WORKED);
	take_stats(run, HQ_STATS_WORKED, run->work.thread_count);
	hq_host_sleep_ns(QUIET_NS);
	hq_phase_open(&run->phases, HQ_PHASE_RELEASE);
	if (!gather(run, 3) || !join_threads(run))
		return fail(run->wire, "the threads did not end");
	hq_store_relaxed(&status->freed_ns, hq_now_ns());
	take_stats(run, HQ_STATS_FREED, 0);
	if (run->wire->config.releases != 0)
		take_stats(run, HQ_STATS_RELEASED, 0);
	tell_unwatched(run);
	reach(run->wire, HQ_TARGET_FREED);
	return 0;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bounded by the life of the controller: how long it looks at an idle process is its own affair. */
static void idle(struct run *run)
{
	const struct hq_workload *const workload = run->workload;
	const uint64_t period_ns = workload->idle != NULL && workload->idle_period_ns != NULL
					   ? workload->idle_period_ns(run->options)
					   : 0;
	uint64_t due_ns = hq_now_ns() + period_ns;

	while (!hq_host_stopping() && !hq_host_orphaned()) {
		const uint64_t now_ns = hq_now_ns();
		const uint64_t rest_ns = due_ns > now_ns ? due_ns - now_ns : 0;

		hq_host_sleep_ns(smaller(period_ns != 0 ? rest_ns : QUIET_NS, await_stats_ns(run)));
		take_stats_when_due(run, HQ_STATS_IDLE, 0, IDLE_STATS_NS);
		if (period_ns == 0 || hq_host_stopping() || hq_now_ns() < due_ns)
			continue;
		workload->idle(&run->work, &run->workers[0].heap);
		due_ns = hq_now_ns() + period_ns;
	}
}

int hq_host_run(struct hq_wire *wire)
{
	struct run *const run = hq_host_map(sizeof(*run));
	int error;

	if (run == NULL)
		return fail(wire, "no memory for the host");
	run->wire = wire;
	error = start(run);
	if (error == 0)
		error = await_go(wire);
	if (error == 0)
		error = work(run);
	if (error == 0)
		idle(run);
	return error;
}
