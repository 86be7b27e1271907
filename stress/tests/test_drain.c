/* SPDX-License-Identifier: MIT */
/*
 * Taking what a target wrote: order, sums, bounds, a killed target, and one that scribbled.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/tests/child.h"
#include "stress/observe/drain.h"

static struct hq_wire *wire;
static struct hq_observations seen;
static int fd = -1;

static void make(void)
{
	cr_assert_eq(hq_wire_create(&wire, &fd), 0);
	wire->config.is_host = 1;
	wire->config.worker_count = 2;
	wire->plane.rule_count = 2;
	strcpy(wire->plane.rules[0].name, "first");
	strcpy(wire->plane.rules[1].name, "second");
	wire->plane.rules[1].required = 1;
	wire->plane.claimed = 2;
}

static void drop(void)
{
	hq_observations_clear(&seen);
	hq_wire_destroy(wire, fd);
}

TestSuite(drain, .init = make, .fini = drop, .timeout = 60);

static void write_fault(uint32_t thread, struct hq_fault fault)
{
	struct hq_plane_thread *slot = &wire->plane.threads[thread];
	const int64_t index = hq_ring_reserve(&slot->ring, HQ_PLANE_FAULTS);

	if (index < 0)
		return;
	slot->faults[index] = fault;
	hq_ring_publish(&slot->ring);
}

static void write_event(uint32_t worker, struct hq_event event)
{
	struct hq_wire_worker *one = &wire->workers[worker];
	const int64_t index = hq_ring_reserve(&one->ring, HQ_WIRE_EVENTS);

	if (index < 0)
		return;
	one->events[index] = event;
	hq_ring_publish(&one->ring);
}

Test(drain, faults_carry_the_identity_of_their_thread)
{
	wire->plane.threads[1].key = 77;
	wire->plane.threads[1].tid = 88;
	write_fault(1, (struct hq_fault){ .n = 5, .rule = 1 });
	hq_drain(wire, &seen);
	cr_assert_eq(seen.fault_count, 1);
	cr_expect_eq(seen.faults[0].thread_key, 77);
	cr_expect_eq(seen.faults[0].tid, 88);
	cr_expect_eq(seen.faults[0].fault.n, 5);
}

Test(drain, many_rounds_of_events_stay_whole_and_in_order)
{
	uint64_t n = 0;

	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 100; i++)
			write_event(1, (struct hq_event){ .op = n++, .worker = 1 });
		hq_drain(wire, &seen);
	}
	cr_assert_eq(seen.event_count, 4000);
	for (uint64_t i = 0; i < 4000; i++)
		cr_assert_eq(seen.events[i].op, i);
	cr_expect_eq(seen.events_dropped, 0);
}

Test(drain, what_found_no_room_in_a_ring_is_counted)
{
	for (uint32_t i = 0; i < HQ_PLANE_FAULTS + 10; i++)
		write_fault(0, (struct hq_fault){ .n = i });
	for (uint32_t i = 0; i < HQ_WIRE_EVENTS + 20; i++)
		write_event(0, (struct hq_event){ .op = i });
	hq_drain_finish(wire, 0, &seen);
	cr_expect_eq(seen.fault_count, HQ_PLANE_FAULTS);
	cr_expect_eq(seen.faults_dropped, 10);
	cr_expect_eq(seen.event_count, HQ_WIRE_EVENTS);
	cr_expect_eq(seen.events_dropped, 20);
}

Test(drain, the_peak_of_requested_bytes_is_a_sum_in_which_one_worker_frees_for_another)
{
	wire->workers[0].requested_bytes = 1000;
	wire->workers[1].requested_bytes = (uint64_t)-300;
	hq_drain(wire, &seen);
	wire->workers[0].requested_bytes = 100;
	hq_drain(wire, &seen);
	cr_expect_eq(seen.requested_peak_bytes, 700);
}

Test(drain, counters_of_workers_and_rules_are_summed)
{
	wire->workers[0].mallocs = 3;
	wire->workers[1].mallocs = 4;
	wire->workers[1].faults_missed = 2;
	wire->plane.threads[0].counts[1].seen = 10;
	wire->plane.threads[1].counts[1].seen = 5;
	wire->plane.threads[1].counts[1].eligible = 4;
	wire->plane.threads[1].counts[1].fired = 2;
	cr_expect_eq(hq_drain_fired(wire), 2);
	hq_drain_finish(wire, 0, &seen);
	cr_expect(seen.is_host);
	cr_expect_eq(seen.mallocs, 7);
	cr_expect_eq(seen.missed, 2);
	cr_assert_eq(seen.rule_count, 2);
	cr_expect_str_eq(seen.rules[1].name, "second");
	cr_expect_eq(seen.rules[1].seen, 15);
	cr_expect_eq(seen.rules[1].eligible, 4);
	cr_expect_eq(seen.rules[1].fired, 2);
	cr_expect_eq(seen.rules[1].required, 1);
	cr_expect_eq(seen.rules[0].required, 0);
}

static void write_cost(uint32_t worker, uint32_t step, uint64_t scale, uint64_t cpu_ns)
{
	struct hq_wire_cost *cost = &wire->workers[worker].costs[step];

	hq_store_relaxed(&cost->cpu_ns, cpu_ns);
	hq_store_relaxed(&cost->scale, scale);
}

Test(drain, of_a_step_that_all_workers_measured_the_cheapest_cost_is_kept)
{
	write_cost(0, 0, 64, 900);
	write_cost(1, 0, 64, 700);
	write_cost(0, 1, 256, 800);
	write_cost(1, 1, 256, 950);
	write_cost(0, 2, 1024, 500);
	hq_drain_finish(wire, 0, &seen);
	cr_assert_eq(seen.cost_count, 2);
	cr_assert_eq(seen.costs[0].scale, 64);
	cr_assert_eq(seen.costs[0].cpu_ns, 700);
	cr_assert_eq(seen.costs[1].scale, 256);
	cr_assert_eq(seen.costs[1].cpu_ns, 800);
}

Test(drain, bands_of_sizes_are_merged_and_empty_ones_left_out)
{
	hq_coarse_record(&wire->workers[0].bands[HQ_LATENCY_FREE][HQ_BAND_1MIB], 100);
	hq_coarse_record(&wire->workers[1].bands[HQ_LATENCY_FREE][HQ_BAND_1MIB], 200);
	hq_drain_finish(wire, 0, &seen);
	const struct hq_hist *band = hq_latency_seen(&seen, HQ_LATENCY_FREE, HQ_BAND_1MIB);

	cr_assert_not_null(band);
	cr_expect_eq(hq_hist_count(band), 2);
	cr_expect_eq(hq_hist_quantile(band, 1), 200);
	cr_expect_null(hq_latency_seen(&seen, HQ_LATENCY_FREE, HQ_BAND_256B));
	cr_expect_null(hq_latency_seen(&seen, HQ_LATENCY_OP, HQ_BAND_256B));
}

Test(drain, histograms_are_merged)
{
	hq_hist_record(&wire->workers[0].hist[HQ_LATENCY_FREE], 100);
	hq_hist_record(&wire->workers[1].hist[HQ_LATENCY_FREE], 200);
	hq_drain_finish(wire, 0, &seen);
	cr_assert_not_null(seen.hist);
	cr_expect_eq(hq_hist_count(&seen.hist[HQ_LATENCY_FREE]), 2);
	cr_expect_eq(hq_hist_quantile(&seen.hist[HQ_LATENCY_FREE], 1), 200);
	cr_expect_eq(hq_hist_count(&seen.hist[HQ_LATENCY_MALLOC]), 0);
}

Test(drain, what_was_recorded_in_the_wake_of_faults_is_part_of_all_and_apart)
{
	hq_hist_record(&wire->workers[0].hist[HQ_LATENCY_FREE], 100);
	hq_drain_finish(wire, 0, &seen);
	cr_expect_not(hq_latency_was_faulted(&seen));
	hq_observations_clear(&seen);
	hq_hist_record(&wire->workers[1].faulted_hist[HQ_LATENCY_FREE], 200);
	hq_coarse_record(&wire->workers[1].faulted_bands[HQ_LATENCY_FREE][HQ_BAND_4KIB], 200);
	hq_drain_finish(wire, 0, &seen);
	const struct hq_hist *all = hq_latency_seen(&seen, HQ_LATENCY_FREE, HQ_BAND_ALL);
	const struct hq_hist *clean =
		hq_latency_seen_in(&seen, HQ_LATENCY_FREE, HQ_BAND_ALL, HQ_WINDOW_CLEAN);
	const struct hq_hist *faulted =
		hq_latency_seen_in(&seen, HQ_LATENCY_FREE, HQ_BAND_ALL, HQ_WINDOW_FAULTED);

	cr_expect(hq_latency_was_faulted(&seen));
	cr_expect_eq(hq_hist_count(all), 2);
	cr_expect_eq(hq_hist_count(clean), 1);
	cr_expect_eq(hq_hist_quantile(clean, 1), 100);
	cr_expect_eq(hq_hist_count(faulted), 1);
	cr_expect_eq(hq_hist_quantile(faulted, 1), 200);
	cr_expect_not_null(
		hq_latency_seen_in(&seen, HQ_LATENCY_FREE, HQ_BAND_4KIB, HQ_WINDOW_FAULTED));
	cr_expect_null(hq_latency_seen_in(&seen, HQ_LATENCY_FREE, HQ_BAND_4KIB, HQ_WINDOW_CLEAN));
	cr_expect_not_null(hq_latency_seen(&seen, HQ_LATENCY_FREE, HQ_BAND_4KIB));
}

Test(drain, a_program_has_no_workers_to_sum)
{
	wire->config.is_host = 0;
	wire->config.worker_count = 0;
	hq_drain_finish(wire, 0, &seen);
	cr_expect_not(seen.is_host);
	cr_expect_null(seen.hist);
}

Test(drain, times_count_from_go_and_are_zero_where_never_reached)
{
	wire->status.worked_ns = 1500;
	hq_drain_finish(wire, 1000, &seen);
	cr_expect_eq(seen.worked_ns, 500);
	cr_expect_eq(seen.freed_ns, 0);
}

Test(drain, more_threads_than_slots_are_counted_apart)
{
	wire->plane.claimed = HQ_PLANE_THREADS + 3;
	hq_drain_finish(wire, 0, &seen);
	cr_expect_eq(seen.threads_claimed, HQ_PLANE_THREADS);
	cr_expect_eq(seen.threads_unclaimed, 3);
}

Test(drain, sums_that_held_still_are_sure)
{
	wire->workers[0].requested_bytes = 300;
	wire->workers[1].requested_bytes = (uint64_t)-100;
	hq_drain(wire, &seen);
	wire->workers[0].requested_bytes = 120;
	hq_drain(wire, &seen);
	cr_expect_eq(seen.requested_sure_bytes, 200);
}

Test(drain, progress_is_the_sum_of_operations)
{
	wire->workers[0].ops = 3;
	wire->workers[1].ops = 4;
	cr_expect_eq(hq_drain_ops(wire), 7);
}

/* Publishes one fault and one event, then is killed. */
static int write_and_wait(struct child *self, void *cookie)
{
	(void)cookie;
	write_fault(0, (struct hq_fault){ .n = 42 });
	write_event(0, (struct hq_event){ .op = 43 });
	child_say(self);
	child_hear(self);
	return 0;
}

Test(drain, the_last_records_of_a_killed_target_are_taken)
{
	struct child child;

	child_start(&child, write_and_wait, NULL);
	cr_assert(child_hear(&child));
	child_kill(&child);
	hq_drain_finish(wire, 0, &seen);
	cr_assert_eq(seen.fault_count, 1);
	cr_expect_eq(seen.faults[0].fault.n, 42);
	cr_assert_eq(seen.event_count, 1);
	cr_expect_eq(seen.events[0].op, 43);
}

Test(drain, a_target_that_scribbled_over_everything_is_survived)
{
	uint64_t *words = (uint64_t *)(void *)&wire->config;
	const size_t count = (sizeof(*wire) - offsetof(struct hq_wire, config)) / sizeof(words[0]);
	uint64_t word = 42;

	for (size_t i = 0; i < count; i++)
		words[i] = word = word * 6364136223846793005u + 1442695040888963407u;
	for (int i = 0; i < 20; i++)
		hq_drain(wire, &seen);
	hq_drain_finish(wire, 0, &seen);
	cr_expect_leq(seen.rule_count, HQ_RULES_MAX);
	for (size_t i = 0; i < seen.fault_count; i++)
		cr_assert_lt(seen.faults[i].fault.rule, HQ_RULES_MAX);
	for (size_t i = 0; i < seen.event_count; i++)
		cr_assert_lt(seen.events[i].kind, HQ_EVENT_KIND_COUNT);
}

static void write_stats(struct hq_stats_record record)
{
	const int64_t index = hq_ring_reserve(&wire->stats.ring, HQ_STATS_ROOM);

	if (index < 0)
		return;
	wire->stats.records[index] = record;
	hq_ring_publish(&wire->stats.ring);
}

Test(drain, statistics_stay_in_order_and_get_times_since_go)
{
	for (uint64_t i = 0; i < 3 * HQ_STATS_ROOM; i++) {
		write_stats((struct hq_stats_record){ .time_ns = 1000 + i, .live_bytes = i });
		if (i % 50 == 0)
			hq_drain(wire, &seen);
	}
	wire->status.stats_promises = HQ_STATS_IS_TOUCHED;
	hq_drain_finish(wire, 1000, &seen);
	cr_assert_eq(seen.stats_count, 3 * HQ_STATS_ROOM);
	cr_expect_eq(seen.stats_promises, HQ_STATS_IS_TOUCHED);
	for (uint64_t i = 0; i < seen.stats_count; i++)
		cr_assert(seen.stats[i].live_bytes == i && seen.stats[i].time_ns == i);
}

Test(drain, statistics_beyond_the_room_and_impossible_ones_are_counted)
{
	write_stats((struct hq_stats_record){ .point = HQ_STATS_POINT_COUNT });
	for (uint64_t i = 0; i < HQ_STATS_ROOM; i++)
		write_stats((struct hq_stats_record){ .live_bytes = i });
	hq_drain_finish(wire, 0, &seen);
	cr_expect_eq(seen.stats_count, HQ_STATS_ROOM - 1);
	cr_expect_eq(seen.stats_dropped, 2);
}
