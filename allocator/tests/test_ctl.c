/* SPDX-License-Identifier: MIT */
/*
 * bedrock_ctl: every name reads what it says, and every wrong use is answered as mallctl would.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"

#define MIB ((size_t)1 << 20)

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.dirty_decay_ms = -1;
	bedrock_store_relaxed(&bedrock_heap.arena_count, 4);
}

TestSuite(ctl, .init = setup, .timeout = 30);

static int read_bytes(const char *name, void *out, size_t bytes)
{
	size_t room_bytes = bytes;
	const int rc = bedrock_ctl(name, out, &room_bytes, NULL, 0);

	cr_assert(rc || room_bytes == bytes);
	return rc;
}

static size_t size_of(const char *name)
{
	size_t value = 0;

	cr_assert_eq(read_bytes(name, &value, sizeof(value)), 0, "%s", name);
	return value;
}

static void raise_epoch(void)
{
	uint64_t one = 1;

	cr_assert_eq(bedrock_ctl("epoch", NULL, NULL, &one, sizeof(one)), 0);
}

Test(ctl, names_that_do_not_exist_are_enoent)
{
	const char *const names[] = {
		"",
		"stat",
		"stats",
		"stats.allocated.",
		"stats.alloc",
		"arena.0",
		"arena.4.purge",
		"arena.x.purge",
		"arena..purge",
		"arena.99999.purge",
		"opt.",
		"opt.nothing",
		"thread.tcache",
		"versions",
		"arena.0.purge.now",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert_eq(bedrock_ctl(names[i], NULL, NULL, NULL, 0), ENOENT, "%s", names[i]);
	cr_assert_eq(bedrock_ctl(NULL, NULL, NULL, NULL, 0), ENOENT);
}

Test(ctl, constants_and_counts_are_read)
{
	const char *version = NULL;
	unsigned count = 0;

	cr_assert_eq(read_bytes("version", &version, sizeof(version)), 0);
	cr_assert_str_eq(version, bedrock_version());
	cr_assert_eq(read_bytes("arenas.narenas", &count, sizeof(count)), 0);
	cr_assert_eq(count, 4);
	cr_assert_eq(size_of("arenas.page"), 4096);
	cr_assert_eq(size_of("arenas.quantum"), 16);
}

Test(ctl, wrong_size_is_einval_and_copies_what_fits)
{
	uint64_t value = UINT64_MAX;
	size_t bytes = 4;

	cr_assert_eq(bedrock_ctl("arenas.page", &value, &bytes, NULL, 0), EINVAL);
	cr_assert_eq(bytes, 4);
	cr_assert_eq(value, UINT64_C(0xffffffff00001000));
	bytes = 8;
	cr_assert_eq(bedrock_ctl("arenas.narenas", &value, &bytes, NULL, 0), EINVAL);
	cr_assert_eq(bytes, sizeof(unsigned));
	cr_assert_eq(bedrock_ctl("epoch", NULL, NULL, &value, 4), EINVAL);
	cr_assert_eq(bedrock_ctl("epoch", NULL, NULL, NULL, 8), EINVAL);
}

Test(ctl, what_cannot_be_written_is_eperm)
{
	const char *const names[] = { "version",       "stats.allocated", "arenas.narenas",
				      "opt.narenas",   "opt.tcache",      "arenas.page",
				      "arena.0.purge", "arena.0.decay",   "thread.tcache.flush" };
	uint64_t value = 1;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert_eq(bedrock_ctl(names[i], NULL, NULL, &value, sizeof(value)), EPERM, "%s",
			     names[i]);
	size_t bytes = sizeof(value);

	cr_assert_eq(bedrock_ctl("arena.0.purge", &value, &bytes, NULL, 0), EPERM);
}

Test(ctl, statistics_stand_still_until_the_epoch_is_raised)
{
	uint64_t first = 0;
	uint64_t second = 0;

	raise_epoch();
	cr_assert_eq(read_bytes("epoch", &first, sizeof(first)), 0);
	const size_t before = size_of("stats.allocated");
	void *block = bedrock_malloc(5 * MIB);

	cr_assert_eq(size_of("stats.allocated"), before);
	raise_epoch();
	cr_assert_geq(size_of("stats.allocated"), before + 5 * MIB);
	cr_assert_eq(read_bytes("epoch", &second, sizeof(second)), 0);
	cr_assert_eq(second, first + 1);
	bedrock_free(block);
}

Test(ctl, statistics_are_those_of_the_snapshot_and_in_order)
{
	struct bedrock_stats stats;
	void *block = bedrock_malloc(300000);

	raise_epoch();
	bedrock_stats_read(&stats);
	cr_assert_eq(size_of("stats.allocated"), stats.allocated_bytes);
	cr_assert_eq(size_of("stats.active"), stats.active_bytes);
	cr_assert_eq(size_of("stats.resident"), stats.resident_bytes);
	cr_assert_eq(size_of("stats.mapped"), stats.mapped_bytes);
	cr_assert_eq(size_of("stats.retained"), stats.retained_bytes);
	cr_assert_eq(size_of("stats.metadata"), stats.metadata_bytes);
	bedrock_free(block);
}

Test(ctl, decay_times_are_read_and_changed_for_all_arenas)
{
	ssize_t value = 0;
	ssize_t next = 250;
	size_t bytes = sizeof(value);

	cr_assert_eq(bedrock_ctl("arenas.dirty_decay_ms", &value, &bytes, &next, sizeof(next)), 0);
	cr_assert_eq(value, -1);
	cr_assert_eq(bedrock_heap.options.dirty_decay_ms, 250);
	cr_assert_eq(read_bytes("arenas.dirty_decay_ms", &value, sizeof(value)), 0);
	cr_assert_eq(value, 250);
	next = -2;
	cr_assert_eq(bedrock_ctl("arenas.muzzy_decay_ms", NULL, NULL, &next, sizeof(next)), EFAULT);
	cr_assert_eq(bedrock_heap.options.muzzy_decay_ms, 0);
}

static uint64_t dirty_bytes(void)
{
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	return stats.dirty_bytes;
}

Test(ctl, purge_gives_back_one_arena_or_all)
{
	char name[32];
	uint32_t count;
	const char *const all[] = { "arena.all.purge", "arena.4096.purge" };

	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	snprintf(name, sizeof(name), "arena.%u.purge", bedrock_thread_arena(&count));
	bedrock_free(bedrock_malloc(MIB));
	cr_assert_geq(dirty_bytes(), MIB);
	cr_assert_eq(bedrock_ctl(name, NULL, NULL, NULL, 0), 0);
	cr_assert_lt(dirty_bytes(), MIB);
	for (int i = 0; i < 2; i++) {
		bedrock_free(bedrock_malloc(MIB));
		bedrock_free(bedrock_malloc(5 * MIB));
		cr_assert_geq(dirty_bytes(), 6 * MIB);
		cr_assert_eq(bedrock_ctl(all[i], NULL, NULL, NULL, 0), 0);
		cr_assert_eq(dirty_bytes(), 0);
	}
}

Test(ctl, decay_of_an_arena_gives_back_only_what_is_due)
{
	bedrock_heap.options.dirty_decay_ms = 1000000;
	bedrock_free(bedrock_malloc(MIB));
	cr_assert_eq(bedrock_ctl("arena.all.decay", NULL, NULL, NULL, 0), 0);
	cr_assert_eq(bedrock_ctl("arena.0.decay", NULL, NULL, NULL, 0), 0);
	cr_assert_geq(dirty_bytes(), MIB);
	bedrock_heap.options.dirty_decay_ms = 0;
	for (uint32_t i = 0; i < 4; i++) {
		if (bedrock_heap_arena_at(&bedrock_heap, i))
			bedrock_store_relaxed(
				&bedrock_heap_arena_at(&bedrock_heap, i)->decay.stages[0].next_ns,
				0);
	}
	cr_assert_eq(bedrock_ctl("arena.all.decay", NULL, NULL, NULL, 0), 0);
	cr_assert_lt(dirty_bytes(), MIB);
}

Test(ctl, options_are_read_in_their_types)
{
	bool is_on = false;
	unsigned count = 77;
	ssize_t ms = 0;
	size_t bytes = 0;
	const char *word = NULL;

	cr_assert_eq(read_bytes("opt.tcache", &is_on, sizeof(is_on)), 0);
	cr_assert_eq(is_on, true);
	cr_assert_eq(read_bytes("opt.narenas", &count, sizeof(count)), 0);
	cr_assert_eq(count, 0);
	cr_assert_eq(read_bytes("opt.dirty_decay_ms", &ms, sizeof(ms)), 0);
	cr_assert_eq(ms, -1);
	cr_assert_eq(read_bytes("opt.oversize_threshold", &bytes, sizeof(bytes)), 0);
	cr_assert_eq(bytes, 64 * MIB);
	cr_assert_eq(read_bytes("opt.percpu_arena", &word, sizeof(word)), 0);
	cr_assert_str_eq(word, "percpu");
}

Test(ctl, every_option_has_a_name_here)
{
	const struct bedrock_option *option;

	for (size_t i = 0; (option = bedrock_options_at(i)); i++) {
		char name[64];

		snprintf(name, sizeof(name), "opt.%s", option->name);
		cr_assert_eq(bedrock_ctl(name, NULL, NULL, NULL, 0), 0, "%s", name);
	}
}

Test(ctl, arena_of_a_thread_can_be_chosen_where_cpus_do_not_decide)
{
	unsigned index = 3;
	unsigned seen = 0;

	cr_assert_eq(bedrock_ctl("thread.arena", NULL, NULL, &index, sizeof(index)), EPERM);
	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	cr_assert_eq(bedrock_ctl("thread.arena", NULL, NULL, &index, sizeof(index)), 0);
	cr_assert_eq(read_bytes("thread.arena", &seen, sizeof(seen)), 0);
	cr_assert_eq(seen, 3);
	index = 4;
	cr_assert_eq(bedrock_ctl("thread.arena", NULL, NULL, &index, sizeof(index)), EFAULT);
}

Test(ctl, thread_without_a_cache_cannot_choose_now)
{
	unsigned index = 1;

	bedrock_heap.options.percpu_arena = BEDROCK_PERCPU_DISABLED;
	bedrock_heap.options.is_tcache = false;
	cr_assert_eq(bedrock_ctl("thread.arena", NULL, NULL, &index, sizeof(index)), EAGAIN);
	cr_assert_eq(bedrock_ctl("thread.tcache.flush", NULL, NULL, NULL, 0), EFAULT);
}

Test(ctl, flush_empties_the_cache_of_the_caller)
{
	struct bedrock_stats stats;

	bedrock_free(bedrock_malloc(1000));
	bedrock_stats_read(&stats);
	cr_assert_gt(stats.allocated_bytes, 0);
	cr_assert_eq(bedrock_ctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
	bedrock_stats_read(&stats);
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(ctl, background_thread_is_switched)
{
	bool is_on = true;
	bool was_on = true;
	size_t bytes = sizeof(was_on);

	cr_assert_eq(bedrock_ctl("background_thread", &was_on, &bytes, &is_on, sizeof(is_on)), 0);
	cr_assert_eq(was_on, false);
	cr_assert_eq(bedrock_heap.options.is_background_thread, true);
	is_on = false;
	cr_assert_eq(bedrock_ctl("background_thread", NULL, NULL, &is_on, sizeof(is_on)), 0);
	cr_assert_eq(bedrock_heap.options.is_background_thread, false);
}
