/* SPDX-License-Identifier: MIT */
/*
 * Lazily freed pages: forbidden, hidden, and never gone.
 */
#include "stress/tests/recorded_moments.h"

static struct recorded recorded;

static void record(void)
{
	recorded_good(&recorded);
}

TestSuite(lazy_free, .init = record);

static void free_lazily(int moment, uint64_t mib, uint64_t counted_mib)
{
	recorded.moments[moment].lazyfree_bytes = mib * HQ_MIB;
	recorded.moments[moment].values[HQ_STAT_MUZZY] = counted_mib * HQ_MIB;
}

Test(lazy_free, pages_that_are_counted_and_gone_in_time_are_no_finding)
{
	free_lazily(AT_WORKED, 20, 20);
	free_lazily(AT_FREED, 40, 44);
	ASSERT_NOTHING("lazy-free", &recorded);
}

Test(lazy_free, any_are_a_finding_where_they_are_forbidden)
{
	free_lazily(AT_FREED, 40, 40);
	ASSERT_SAYS("lazy-free:forbidden=yes", &recorded, false, "40 MiB are lazily freed, which");
}

Test(lazy_free, more_than_is_counted_twice_are_a_finding)
{
	free_lazily(AT_FREED, 40, 20);
	recorded.moments[AT_FREED].values[HQ_STAT_DIRTY] = 4 * HQ_MIB;
	ASSERT_NOTHING("lazy-free", &recorded);
	free_lazily(AT_IDLE, 40, 20);
	ASSERT_SAYS("lazy-free", &recorded, false, "more than it counts");
	recorded_forget(&recorded, HQ_STAT_MUZZY);
	ASSERT_NOTHING("lazy-free", &recorded);
}

Test(lazy_free, those_that_stay_are_a_finding)
{
	free_lazily(AT_IDLE_LATE, 40, 40);
	ASSERT_SAYS("lazy-free", &recorded, false, "still lazily freed");
	ASSERT_NOTHING("lazy-free:within=0", &recorded);
}

Test(lazy_free, a_run_that_ends_before_they_had_to_be_gone_is_a_gap)
{
	ASSERT_SAYS("lazy-free:within=20s", &recorded, true, "ended before");
}

Test(lazy_free, a_run_in_which_nothing_was_freed_so_is_a_gap_where_it_is_required)
{
	ASSERT_NOTHING("lazy-free", &recorded);
	ASSERT_SAYS("lazy-free:required=yes", &recorded, true, "no page was lazily freed");
	free_lazily(AT_FREED, 40, 44);
	ASSERT_NOTHING("lazy-free:required=yes", &recorded);
}

Test(lazy_free, a_kernel_that_does_not_tell_is_a_gap)
{
	for (int i = 0; i < MOMENTS; i++)
		recorded.moments[i].has_lazyfree = 0;
	ASSERT_SAYS("lazy-free", &recorded, true, "kernel does not tell");
}

Test(lazy_free, pages_in_use_that_nobody_wrote_to_yet_are_not_hidden)
{
	free_lazily(AT_WORKED, 20, 0);
	recorded.moments[AT_WORKED].values[HQ_STAT_DIRTY] = 0;
	recorded.moments[AT_WORKED].values[HQ_STAT_ACTIVE] = 84 * HQ_MIB;
	ASSERT_NOTHING("lazy-free", &recorded);
	recorded.moments[AT_WORKED].values[HQ_STAT_ACTIVE] = 70 * HQ_MIB;
	free_lazily(AT_FREED, 20, 0);
	recorded.moments[AT_FREED].values[HQ_STAT_DIRTY] = 0;
	ASSERT_SAYS("lazy-free", &recorded, false, "more than it counts");
}

Test(lazy_free, pages_that_are_on_their_way_once_are_not_hidden)
{
	free_lazily(AT_WORKED, 20, 20);
	free_lazily(AT_IDLE, 20, 0);
	ASSERT_NOTHING("lazy-free", &recorded);
}

Test(lazy_free, pages_that_are_on_their_way_are_counted_in_the_next_reading_not_much_later)
{
	free_lazily(AT_START, 20, 20);
	free_lazily(AT_FREED, 40, 4);
	free_lazily(AT_RELEASED, 40, 4);
	recorded.moments[AT_FREED].values[HQ_STAT_DIRTY] = 0;
	ASSERT_SAYS("lazy-free", &recorded, false, "more than it counts");
	recorded.moments[AT_RELEASED].values[HQ_STAT_MUZZY] = 40 * HQ_MIB;
	ASSERT_NOTHING("lazy-free", &recorded);
}

Test(lazy_free, readings_at_work_without_lazyfree_stand_between_no_neighbours)
{
	free_lazily(AT_START, 20, 20);
	free_lazily(AT_WORKED, 30, 0);
	free_lazily(AT_FREED, 40, 0);
	recorded.moments[AT_WORKED].values[HQ_STAT_DIRTY] = 0;
	recorded.moments[AT_FREED].values[HQ_STAT_DIRTY] = 0;
	ASSERT_NOTHING("lazy-free", &recorded);
}
