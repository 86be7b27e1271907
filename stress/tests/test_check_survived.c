/* SPDX-License-Identifier: MIT */
/* How a target can end, and what is said about it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "stress/tests/observed.h"

static struct hq_findings ended(enum hq_outcome outcome, int status)
{
	struct hq_observations seen = observed_good();

	seen.outcome = outcome;
	seen.status = status;
	return observed_check("survived", &seen);
}

#define ASSERT_ONE(findings_, gap_, text_)                                                         \
	do {                                                                                       \
		cr_assert_eq((findings_).count, 1);                                                \
		cr_assert_eq((findings_).list[0].gap, gap_);                                       \
		cr_assert(strstr((findings_).list[0].text, text_), "%s",                           \
			  (findings_).list[0].text);                                               \
	} while (0)

Test(survived, exit_status_0_is_quiet)
{
	cr_assert_eq(ended(HQ_OUTCOME_EXITED, 0).count, 0);
}

Test(survived, another_exit_status_is_a_finding)
{
	ASSERT_ONE(ended(HQ_OUTCOME_EXITED, 3), false, "exited with status 3");
}

Test(survived, a_crash_is_a_finding_with_the_name_of_the_signal)
{
	ASSERT_ONE(ended(HQ_OUTCOME_SIGNALED, SIGSEGV), false,
		   "killed by SIGSEGV (Segmentation fault)");
	ASSERT_ONE(ended(HQ_OUTCOME_SIGNALED, SIGABRT), false, "killed by SIGABRT (Aborted)");
}

Test(survived, a_signal_without_a_name_is_told_by_number)
{
	ASSERT_ONE(ended(HQ_OUTCOME_SIGNALED, 63), false, "killed by signal 63");
}

Test(survived, an_out_of_memory_kill_is_a_finding)
{
	ASSERT_ONE(ended(HQ_OUTCOME_OOM_KILLED, SIGKILL), false, "out-of-memory killer");
}

Test(survived, a_timeout_is_a_finding)
{
	ASSERT_ONE(ended(HQ_OUTCOME_TIMEOUT, 0), false, "still working at the time limit");
}

Test(survived, an_interrupted_run_is_a_gap)
{
	ASSERT_ONE(ended(HQ_OUTCOME_INTERRUPTED, 0), true, "interrupted");
}

Test(survived, a_target_that_did_not_start_is_a_finding_with_the_reason)
{
	struct hq_observations seen = observed_good();

	seen.outcome = HQ_OUTCOME_NOT_STARTED;
	strcpy(seen.failure, "libfoo.so: no such file");
	ASSERT_ONE(observed_check("survived", &seen), false,
		   "did not start: libfoo.so: no such file");
}

Test(survived, a_hang_names_its_threads_as_evidence)
{
	struct hq_observations seen = observed_good();

	seen.outcome = HQ_OUTCOME_HUNG;
	seen.stuck_count = 2;
	seen.stuck[0] = (struct hq_stuck_thread){ .tid = 4711,
						  .state = 'R',
						  .comm = "worker 2",
						  .call = "madvise",
						  .calls_per_second = 61000 };
	seen.stuck[1] = (struct hq_stuck_thread){ .tid = 4712,
						  .state = 'S',
						  .comm = "worker 3",
						  .call = "futex",
						  .calls_per_second = -1,
						  .wchan = "futex_wait_queue" };
	struct hq_findings findings = observed_check("survived", &seen);

	ASSERT_ONE(findings, false, "the target hung");
	cr_assert_str_eq(findings.list[0].evidence,
			 "tid 4711 (worker 2) R in madvise, 61000 calls/s\n"
			 "tid 4712 (worker 3) S in futex, waits in futex_wait_queue\n"
			 "it had run for 4.1 s");
}

Test(survived, a_hang_of_many_threads_leaves_room_for_what_comes_after_them)
{
	struct hq_observations seen = observed_good();

	seen.outcome = HQ_OUTCOME_HUNG;
	seen.stuck_count = HQ_STUCK_MAX;
	for (size_t i = 0; i < HQ_STUCK_MAX; i++)
		seen.stuck[i] = (struct hq_stuck_thread){ .tid = 4194304,
							  .state = 'S',
							  .comm = "worker 12345678",
							  .call = "futex",
							  .calls_per_second = 1,
							  .wchan = "futex_wait_queue_me" };
	struct hq_findings findings = observed_check("survived", &seen);

	cr_assert(strstr(findings.list[0].evidence, "\nand 10 more threads\nit had run for 4.1 s"));
}

Test(survived, a_crash_shows_the_last_fault_as_injected)
{
	struct hq_observations seen = observed_good();
	struct hq_fault_seen fault = { .fault = { .time_ns = GATE_NS + 1204 * HQ_MS,
						  .args = { 0x7f0000001000, 4096, MADV_FREE },
						  .result = -EAGAIN,
						  .call = HQ_CALL_MADVISE },
				       .tid = 12 };

	seen.outcome = HQ_OUTCOME_SIGNALED;
	seen.status = SIGSEGV;
	seen.rule_count = 1;
	strcpy(seen.rules[0].name, "refuse-free");
	seen.faults = &fault;
	seen.fault_count = 1;
	struct hq_findings findings = observed_check("survived", &seen);

	cr_assert_str_eq(findings.list[0].evidence,
			 "it had run for 4.1 s\n"
			 "injected last, +1.204 s, in thread 12: rule 'refuse-free': "
			 "madvise(0x7f0000001000, 4096, MADV_FREE) answered EAGAIN");
}

Test(survived, a_driver_that_failed_is_a_finding)
{
	struct hq_observations seen = observed_good();

	seen.driver_used = true;
	seen.driver_status = 2;
	ASSERT_ONE(observed_check("survived", &seen), false, "driver exited with status 2");
	seen.driver_status = -1;
	ASSERT_ONE(observed_check("survived", &seen), false, "driver did not finish");
}

Test(survived, a_driver_that_an_interrupt_ended_is_no_finding)
{
	struct hq_observations seen = observed_good();

	seen.driver_used = true;
	seen.driver_status = -1;
	seen.outcome = HQ_OUTCOME_INTERRUPTED;
	ASSERT_ONE(observed_check("survived", &seen), true, "interrupted");
}
