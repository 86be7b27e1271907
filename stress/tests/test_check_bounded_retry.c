/* SPDX-License-Identifier: MIT */
/* Retries with and without a bound, in requests that came back and in one that did not. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "stress/tests/observed.h"

static struct hq_findings look(const char *contract, uint64_t repeats, uint64_t took_ns)
{
	struct hq_observations seen = observed_good();
	struct hq_event event = { .time_ns = GATE_NS + HQ_S,
				  .size = 100,
				  .offset = took_ns,
				  .expected = HQ_CALL_MMAP,
				  .got = repeats,
				  .kind = HQ_EVENT_RETRY,
				  .asked = HQ_ASKED_CALLOC };

	seen.events = &event;
	seen.event_count = 1;
	return observed_check(contract, &seen);
}

Test(bounded_retry, a_few_retries_are_fine)
{
	cr_assert_eq(look("bounded-retry", 64, HQ_MS).count, 0);
}

Test(bounded_retry, more_than_the_bound_is_found)
{
	const struct hq_findings findings = look("bounded-retry", 65, HQ_MS);

	cr_assert_eq(findings.count, 1);
	cr_assert(strstr(findings.list[0].evidence, "calloc of 100 bytes was refused the same mmap "
						    "at least 65 times, and took 1 ms"),
		  "%s", findings.list[0].evidence);
}

Test(bounded_retry, several_retries_that_take_more_than_a_second_are_found)
{
	cr_assert_eq(look("bounded-retry", 8, HQ_S + 1).count, 1);
}

Test(bounded_retry, a_slow_request_without_retries_is_the_machine)
{
	cr_assert_eq(look("bounded-retry", 7, 10 * HQ_S).count, 0);
}

Test(bounded_retry, both_bounds_are_options)
{
	cr_assert_eq(look("bounded-retry:per-request=10", 11, HQ_MS).count, 1);
	cr_assert_eq(look("bounded-retry:per-request=2k", 1999, HQ_MS).count, 0);
	cr_assert_eq(look("bounded-retry:within=10ms", 8, 11 * HQ_MS).count, 1);
}

Test(bounded_retry, a_run_without_refusals_is_fine)
{
	const struct hq_observations seen = observed_good();

	cr_assert_eq(observed_check("bounded-retry", &seen).count, 0);
}

/* ---- a hang ---- */

#define FAULTS 200u

static struct hq_fault_seen faults[FAULTS];

/* Thread 7 was refused the same advice again and again, and was found in `call`. */
static struct hq_observations hung(const char *call)
{
	struct hq_observations seen = observed_good();

	for (size_t i = 0; i < FAULTS; i++)
		faults[i] =
			(struct hq_fault_seen){ .fault = { .time_ns = GATE_NS + i,
							   .result = -EAGAIN,
							   .args = { 0x2000, 8192, MADV_DONTNEED },
							   .call = HQ_CALL_MADVISE },
						.tid = i % 2 ? 7 : 8 };
	seen.outcome = HQ_OUTCOME_HUNG;
	seen.stuck_count = 1;
	seen.stuck[0].tid = 7;
	strcpy(seen.stuck[0].call, call);
	seen.faults = faults;
	seen.fault_count = FAULTS;
	return seen;
}

Test(bounded_retry, a_thread_that_spins_in_the_refused_call_is_found)
{
	const struct hq_observations seen = hung("madvise");
	const struct hq_findings findings = observed_check("bounded-retry", &seen);

	cr_assert_eq(findings.count, 1);
	cr_assert(strstr(findings.list[0].evidence, "refused at least 100 times in a row"), "%s",
		  findings.list[0].evidence);
	cr_assert_eq(observed_check("bounded-retry:per-request=100", &seen).count, 0);
}

Test(bounded_retry, a_thread_that_waits_elsewhere_is_not_blamed)
{
	const struct hq_observations seen = hung("futex");

	cr_assert_eq(observed_check("bounded-retry", &seen).count, 0);
}

Test(bounded_retry, refusals_of_different_ranges_are_no_retry)
{
	struct hq_observations seen = hung("madvise");

	for (size_t i = 0; i < FAULTS; i++)
		faults[i].fault.args[0] += i << 12;
	cr_assert_eq(observed_check("bounded-retry", &seen).count, 0);
}

Test(bounded_retry, the_same_in_a_run_that_ended_is_fine)
{
	struct hq_observations seen = hung("madvise");

	seen.outcome = HQ_OUTCOME_EXITED;
	cr_assert_eq(observed_check("bounded-retry", &seen).count, 0);
}

Test(bounded_retry, a_hang_without_any_fault_is_not_its_business)
{
	struct hq_observations seen = hung("madvise");

	seen.fault_count = 0;
	cr_assert_eq(observed_check("bounded-retry", &seen).count, 0);
}
