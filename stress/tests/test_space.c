/* SPDX-License-Identifier: MIT */
/*
 * What a target has mapped: the lines of maps one by one, a real child, and the pace and thinning
 * of the series.
 */
#include <criterion/criterion.h>
#include <sys/mman.h>

#include "injectors/tests/child.h"
#include "injectors/units.h"
#include "stress/observe/space.h"

#define MEMORY (16 * HQ_MIB)

static struct hq_observations seen;
static struct child child;

static struct hq_space sum(const char *line)
{
	struct hq_space space = { .mappings = 0 };

	hq_space_sum(line, &space);
	return space;
}

Test(space, private_memory_without_a_file_is_mapped_memory)
{
	cr_expect_eq(sum("1000-3000 rw-p 00000000 00:00 0 \n").mapped_bytes, 0x2000);
	cr_expect_eq(sum("1000-3000 r--p 00000000 00:00 0\n").mapped_bytes, 0x2000);
	cr_expect_eq(sum("1000-3000 rw-p 00000000 00:00 0    [heap]\n").mapped_bytes, 0x2000);
}

Test(space, reservations_files_and_shared_memory_are_mappings_only)
{
	static const char *const lines[] = {
		"1000-3000 ---p 00000000 00:00 0 \n",
		"1000-3000 rw-p 00001000 08:01 1234   /usr/lib/libc.so.6\n",
		"1000-3000 rw-s 00000000 00:01 1024   /dev/zero (deleted)\n",
		"1000-3000 r-xp 00000000 00:00 0      [vdso]\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		cr_expect_eq(sum(lines[i]).mapped_bytes, 0, "%s", lines[i]);
		cr_expect_eq(sum(lines[i]).mappings, 1, "%s", lines[i]);
	}
}

Test(space, what_is_no_whole_line_is_left_out)
{
	static const char *const lines[] = {
		"",           "\n",          "1000", "1000-", "3000-1000 rw-p 0 00:00 0\n",
		"nonsense\n", "1000-3000\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		cr_expect_eq(sum(lines[i]).mappings, 0, "%s", lines[i]);
	/* Cut in the middle: a mapping, of which nothing more is known. */
	cr_expect_eq(sum("1000-3000 rw").mapped_bytes, 0);
	cr_expect_eq(sum("1000-3000 rw-p 00000000").mapped_bytes, 0);
}

/* Maps memory, then a reservation, then stripes, and says so each time. */
static int map_more(struct child *self, void *cookie)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory;

	(void)cookie;
	child_hear(self);
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	child_say(self);
	child_hear(self);
	mmap(NULL, MEMORY, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	child_say(self);
	child_hear(self);
	for (size_t i = 1; i < 101; i += 2)
		mprotect(memory + i * page, page, PROT_READ);
	child_say(self);
	child_hear(self);
	return 0;
}

static struct hq_space read_child(void)
{
	struct hq_space space = { .mappings = 0 };

	cr_assert(hq_space_read(child.pid, &space));
	return space;
}

static struct hq_space step(void)
{
	child_say(&child);
	cr_assert(child_hear(&child));
	return read_child();
}

Test(space, reading_of_a_child_tells_memory_reservation_and_stripes_apart, .timeout = 60)
{
	child_start(&child, map_more, NULL);
	const struct hq_space before = read_child();
	const struct hq_space memory = step(), reserved = step(), striped = step();

	child_kill(&child);
	cr_expect_geq(before.mappings, 4);
	cr_expect_eq(before.threads, 1);
	cr_expect_eq(memory.mapped_bytes - before.mapped_bytes, MEMORY);
	cr_expect_eq(memory.space_bytes - before.space_bytes, MEMORY);
	cr_expect_eq(reserved.mapped_bytes, memory.mapped_bytes);
	cr_expect_eq(reserved.space_bytes - memory.space_bytes, MEMORY);
	cr_expect_eq(striped.mappings - reserved.mappings, 100);
	cr_expect_eq(striped.mapped_bytes, memory.mapped_bytes);
}

Test(space, target_that_is_gone_is_not_read, .timeout = 60)
{
	struct hq_space space = { .mappings = 7 };
	struct hq_space_pace pace = { .due_ns = 0 };

	child_start(&child, map_more, NULL);
	child_kill(&child);
	cr_expect_not(hq_space_read(child.pid, &space));
	cr_expect_eq(space.mappings, 7);
	hq_space_follow(child.pid, 1, &pace, &seen);
	cr_expect_eq(seen.space_count, 0);
	cr_expect_eq(seen.space_end.mappings, 0);
}

Test(space, first_reading_is_the_start_and_the_last_one_the_end)
{
	const struct hq_space readings[] = { { 5, 50, 10, 1 }, { 9, 40, 20, 3 }, { 7, 60, 15, 2 } };

	for (size_t i = 0; i < 3; i++)
		hq_space_enter(&readings[i], &seen);
	cr_expect_eq(seen.space_start.mappings, 10);
	cr_expect_eq(seen.space_end.mappings, 15);
	cr_expect_eq(seen.space_peak.mapped_bytes, 9);
	cr_expect_eq(seen.space_peak.space_bytes, 60);
	cr_expect_eq(seen.space_peak.mappings, 20);
	cr_expect_eq(seen.space_peak.threads, 3);
}

Test(space, readings_keep_their_distance)
{
	struct hq_space_pace pace = { .due_ns = 0 };

	for (uint64_t ms = 0; ms < 50; ms++)
		hq_space_follow(getpid(), ms * HQ_MS, &pace, &seen);
	cr_expect_eq(seen.space_count, 1);
	hq_space_follow(getpid(), 3600 * HQ_S, &pace, &seen);
	cr_expect_eq(seen.space_count, 2);
}

Test(space, full_series_is_thinned_out_evenly)
{
	bool full = false;

	for (uint64_t i = 0; i <= HQ_SPACES_MAX; i++) {
		const struct hq_space_sample sample = { .time_ns = i };

		full = hq_space_keep(&sample, &seen);
	}
	cr_expect(full);
	cr_expect_eq(seen.space_count, HQ_SPACES_MAX / 2 + 1);
	for (size_t i = 0; i < seen.space_count; i++)
		cr_expect_eq(seen.spaces[i].time_ns, 2 * i);
}
