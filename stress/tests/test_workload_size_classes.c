/* SPDX-License-Identifier: MIT */
/* The workload size-classes: it finds where classes end, and asks for one byte more. */
#include "stress/tests/host_fixture.h"

static struct host_fixture fixture;
static struct host_fixture_run run;

/* Classes end at powers of two, and these are the blocks that are asked for. */
static uint32_t beyond, other;

static size_t power_above(size_t size)
{
	size_t power = 16;

	while (power < size)
		power *= 2;
	return power;
}

static void *note_power(size_t size)
{
	if (size > 16 && power_above(size - 1) == size - 1)
		beyond++;
	else
		other++;
	return malloc(power_above(size));
}

static size_t to_a_power(void *address)
{
	size_t power = 16;

	while (power * 2 <= malloc_usable_size(address))
		power *= 2;
	return power;
}

static void start(void)
{
	host_fixture_start(&fixture);
}

TestSuite(workload_size_classes, .init = start);

Test(workload_size_classes, everything_is_freed_and_nothing_is_found_on_a_sound_allocator)
{
	host_fixture_run(&fixture, &run, "size-classes",
			 "threads=2 from=256B to=8KiB classes=4 bytes=16KiB rounds=2");
	host_fixture_expect_clean(&fixture);
	cr_expect_eq(host_fixture_sum(&fixture).missed, 0);
}

Test(workload_size_classes, it_asks_for_one_byte_more_than_fits_into_a_class)
{
	fixture.allocator.malloc = note_power;
	fixture.allocator.usable_size = to_a_power;
	host_fixture_run(&fixture, &run, "size-classes",
			 "threads=1 from=1KiB to=20000B classes=3 bytes=64KiB rounds=1");
	host_fixture_expect_clean(&fixture);
	/* Four classes above 1 KiB end at a power of two; all that is held is one byte beyond. */
	cr_expect_gt(beyond, 3 * 64 * 1024 / 17000);
	cr_expect_leq(other, 2);
	/* Almost half of each block. */
	const struct hq_wire_worker *const worker = &fixture.wire->workers[0];

	cr_expect_gt(hq_load_relaxed(&worker->usable_bytes),
		     hq_load_relaxed(&worker->weighed_bytes) / 10 * 19);
}

Test(workload_size_classes, an_allocator_without_classes_ends_as_well)
{
	fixture.allocator.usable_size = NULL;
	host_fixture_run(&fixture, &run, "size-classes",
			 "threads=1 from=256B to=512B classes=3 bytes=4KiB rounds=1");
	host_fixture_expect_clean(&fixture);
}

Test(workload_size_classes, a_range_that_is_none_is_refused)
{
	host_fixture_expect_refuses("size-classes", "from=2KiB to=1KiB");
	host_fixture_expect_refuses("size-classes", "from=1B classes=64 bytes=1GiB");
}

Test(workload_size_classes, requests_of_each_thread_depend_on_the_seed_alone)
{
	host_fixture_expect_repeatable(
		"size-classes", "threads=2 from=256B to=8KiB classes=4 bytes=16KiB rounds=2");
}

Test(workload_size_classes, it_survives_refusals_at_random)
{
	host_fixture_expect_survives(
		"size-classes", "threads=2 from=256B to=4KiB classes=3 bytes=8KiB rounds=2", 5);
}

Test(workload_size_classes, it_survives_when_everything_is_refused)
{
	host_fixture_expect_survives(
		"size-classes", "threads=2 from=256B to=4KiB classes=3 bytes=8KiB rounds=2", 1);
}

Test(workload_size_classes, it_stops_early_when_told_and_frees_what_it_has)
{
	host_fixture_expect_stops("size-classes", "threads=2 rounds=1k");
}
