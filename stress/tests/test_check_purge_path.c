/* SPDX-License-Identifier: MIT */
/* purge-path: malloc that waits, pages given back twice, and runs that do not say. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stress/tests/observed.h"
#include "stress/wire/hist.h"

#define FAULTS 10

static struct hq_hist hist[HQ_LATENCY_COUNT];
static struct hq_fault_seen faults[FAULTS];

/* Ten purges of 4 MiB each, 32 MiB freed, and a thousand mallocs of 1 us. */
static struct hq_observations purging(void)
{
	struct hq_observations seen = observed_good();

	memset(hist, 0, sizeof(hist));
	for (int i = 0; i < 1000; i++)
		hq_hist_record(&hist[HQ_LATENCY_MALLOC], 1000);
	for (size_t i = 0; i < FAULTS; i++)
		faults[i].fault =
			(struct hq_fault){ .call = HQ_CALL_MADVISE,
					   .args = { 0x10000, 4 * HQ_MIB,
						     i % 2 ? MADV_FREE : MADV_DONTNEED } };
	seen.rules[0] = (struct hq_rule_total){ .name = "slow",
						.fired = FAULTS,
						.calls = 1u << HQ_CALL_MADVISE,
						.action = HQ_ACTION_DELAY };
	seen.rule_count = 1;
	seen.hist = hist;
	seen.faults = faults;
	seen.fault_count = FAULTS;
	seen.freed_bytes = 32 * HQ_MIB;
	return seen;
}

static struct hq_findings judge(const struct hq_observations *seen)
{
	return observed_check("purge-path:stall=20ms:advised=2:slack=0", seen);
}

Test(purge_path, quick_calls_and_one_purge_a_page_are_good)
{
	const struct hq_observations seen = purging();

	cr_assert_eq(judge(&seen).count, 0);
}

Test(purge_path, one_call_in_a_thousand_may_wait)
{
	const struct hq_observations seen = purging();

	hq_hist_record(&hist[HQ_LATENCY_MALLOC], 50 * HQ_MS);
	cr_assert_eq(judge(&seen).count, 0);
}

Test(purge_path, more_calls_that_wait_are_a_finding)
{
	const struct hq_observations seen = purging();

	for (int i = 0; i < 5; i++)
		hq_hist_record(&hist[HQ_LATENCY_MALLOC], 50 * HQ_MS);
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert_not(found.list[0].gap);
	cr_assert(strstr(found.list[0].text, "malloc waits while pages are given back"));
	cr_assert(strstr(found.list[0].evidence, "10 purges were slowed down"), "%s",
		  found.list[0].evidence);
}

Test(purge_path, pages_given_back_more_often_than_freed_are_a_finding)
{
	struct hq_observations seen = purging();

	seen.freed_bytes = 20 * HQ_MIB;
	cr_assert_eq(judge(&seen).count, 0);
	seen.freed_bytes = 20 * HQ_MIB - 1;
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert(strstr(found.list[0].text, "(40 MiB advised, 20 MiB freed)"), "%s",
		  found.list[0].text);
}

Test(purge_path, other_advice_is_no_purge)
{
	struct hq_observations seen = purging();

	seen.freed_bytes = 1;
	for (size_t i = 0; i < FAULTS; i++)
		faults[i].fault.args[2] = MADV_HUGEPAGE;
	const struct hq_findings found = judge(&seen);

	cr_assert_eq(found.count, 1);
	cr_assert(found.list[0].gap);
	cr_assert_str_eq(found.list[0].text, "no purge was met by a rule");
}

Test(purge_path, lost_records_leave_a_gap_unless_there_are_too_many_already)
{
	struct hq_observations seen = purging();

	seen.faults_dropped = 1;
	cr_assert(judge(&seen).list[0].gap);
	seen.freed_bytes = 1;
	cr_assert_not(judge(&seen).list[0].gap);
}

Test(purge_path, without_latencies_it_cannot_tell)
{
	struct hq_observations seen = purging();

	seen.hist = NULL;
	cr_assert(judge(&seen).list[0].gap);
	seen = purging();
	memset(hist, 0, sizeof(hist));
	cr_assert(judge(&seen).list[0].gap);
}

Test(purge_path, purges_that_were_refused_and_not_slowed_down_leave_a_gap)
{
	struct hq_observations seen = purging();

	seen.rules[0].action = HQ_ACTION_FAIL;
	cr_assert_eq(judge(&seen).count, 1);
	cr_assert_str_eq(judge(&seen).list[0].text, "no purge was slowed down by a rule");
	seen.rules[0].action = HQ_ACTION_DELAY;
	seen.rules[0].fired = 0;
	cr_assert(judge(&seen).list[0].gap);
	seen.rules[0].fired = FAULTS;
	seen.rules[0].calls = 1u << HQ_CALL_MUNMAP;
	cr_assert(judge(&seen).list[0].gap);
}
