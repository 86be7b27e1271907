/* SPDX-License-Identifier: MIT */
/*
 * The preloaded library in small programs (targets/calls.c), one situation each: whether an
 * injected failure arrives in main, threads, forks, spawned programs and signal handlers, and what
 * is counted. The program's exit status is the number of failures that it saw itself.
 */
#include "stress/tests/preload_run.h"

/* ---- where it arrives ---- */

static void arrives(const char *situation, int failures)
{
	struct run run = prepare(REFUSE);

	cr_assert_eq(run_it(&run, situation), failures, "in %s", situation);
	cr_assert_eq(run.wire->plane.armed, 1);
	cr_assert_eq(run.wire->status.preloaded, 1);
	cr_assert_geq(total(&run, 0).fired, (uint64_t)failures);
	hq_wire_destroy(run.wire, run.fd);
}

Test(trap, arrives_in_main)
{
	arrives("main", 3);
}

Test(trap, arrives_at_a_system_call_without_libc)
{
	arrives("inline", 1);
}

Test(trap, arrives_in_a_created_thread)
{
	arrives("thread", 3);
}

Test(trap, arrives_in_fifty_threads_that_come_and_go)
{
	arrives("threads", 50);
}

Test(trap, arrives_in_a_storm_of_threads)
{
	arrives("storm", 48);
}

Test(trap, arrives_in_a_forked_child)
{
	arrives("fork", 3);
}

Test(trap, arrives_in_a_child_forked_past_the_library)
{
	arrives("rawfork", 3);
}

Test(trap, arrives_after_fork_and_exec)
{
	arrives("exec", 3);
}

Test(trap, arrives_after_vfork_and_exec)
{
	arrives("vfork", 3);
}

Test(trap, arrives_in_a_spawned_program)
{
	arrives("spawn", 3);
}

Test(trap, arrives_in_a_program_run_by_system)
{
	arrives("system", 3);
}

Test(trap, arrives_in_a_signal_handler)
{
	arrives("handler", 3);
}

Test(trap, arrives_in_a_signal_handler_that_blocks_every_signal)
{
	arrives("fillset", 3);
}

Test(trap, arrives_in_a_handler_on_an_alternate_stack)
{
	arrives("altstack", 3);
}

Test(trap, arrives_with_all_signals_blocked)
{
	arrives("blocked", 6);
}

Test(trap, arrives_while_the_program_waits_for_a_signal_with_all_others_blocked)
{
	arrives("suspend", 12);
}

Test(trap, arrives_beside_a_sigsys_handler_of_the_program)
{
	arrives("sigsys", 3);
}

Test(trap, answers_bad_pointers_as_the_kernel_does)
{
	arrives("efault", 3);
}

Test(trap, survives_the_cancellation_of_a_thread)
{
	arrives("cancel", 3);
}

Test(trap, leaves_a_static_program_that_is_executed_alone)
{
	struct run run = prepare(REFUSE);
	char other[PATH_MAX];

	snprintf(other, sizeof(other), "%s/targets/static_madvise", run.build);
	if (access(other, X_OK))
		cr_skip_test("no static program was built");
	cr_assert_eq(finish(start(&run, "other", other)), 0);
}

Test(trap, of_an_executed_program_goes_on_in_a_slot_that_was_never_used)
{
	struct run run = prepare(REFUSE);

	cr_assert_eq(run_it(&run, "exec"), 3);
	cr_assert_eq(run.wire->plane.claimed, 2);
	cr_assert_eq(run.wire->plane.threads[1].exited, 0);
	cr_assert_eq(run.wire->plane.threads[1].counts[0].fired, 3);
}

Test(trap, of_an_executed_program_leaves_counts_of_the_one_before)
{
	struct run run = prepare("mmap,madvise:delay=1us");

	cr_assert_eq(run_it(&run, "exec"), 0);
	cr_assert_gt(run.wire->plane.claimed, 1);
	for (uint32_t i = 1; i < slots(&run); i++)
		cr_assert_neq(run.wire->plane.threads[i].key, run.wire->plane.threads[i - 1].key);
}

Test(trap, leaves_errno_alone)
{
	struct run run = prepare("madvise:advice=COLD:delay=1us");

	cr_assert_eq(run_it(&run, "errno"), 0);
	cr_assert_eq(total(&run, 0).fired, 1);
}

Test(trap, passes_calls_of_too_many_threads_through)
{
	struct run run = prepare(REFUSE);

	cr_assert_eq(run_it(&run, "many"), 1, "255 of 300 threads have a slot");
	cr_assert_gt(run.wire->plane.claimed, HQ_PLANE_THREADS);
}

/* The number of madvise calls in a log of strace. */
static uint64_t count_in_log(const char *path)
{
	FILE *log = fopen(path, "re");
	char line[1024];
	uint64_t count = 0;

	while (log && fgets(line, sizeof(line), log))
		count += strstr(line, "madvise(") != NULL;
	if (log)
		fclose(log);
	return count;
}

static uint64_t seen_by_strace(const struct run *run, const char *situation)
{
	char path[] = "/tmp/heapquake-strace-XXXXXX";
	const int fd = mkstemp(path);
	const pid_t pid = fork();
	uint64_t count;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(PATIENCE_S);
		execlp("strace", "strace", "-f", "-o", path, "-e", "trace=madvise", run->calls,
		       situation, (char *)NULL);
		_exit(127);
	}
	count = finish(pid) == 127 ? 0 : count_in_log(path);
	close(fd);
	unlink(path);
	return count;
}

Test(trap, counts_the_calls_that_strace_counts)
{
	static const char *const situations[] = { "main", "thread", "fork", "exec", "calls" };

	for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++) {
		struct run run = prepare("madvise:error=EAGAIN");
		const uint64_t expected = seen_by_strace(&run, situations[i]);

		if (expected == 0)
			cr_skip_test("strace cannot be used here");
		run.wire->plane.gate = 0;
		run_it(&run, situations[i]);
		cr_expect_eq(total(&run, 0).seen, expected, "%s: %d instead of %d", situations[i],
			     (int)total(&run, 0).seen, (int)expected);
		hq_wire_destroy(run.wire, run.fd);
	}
}

/* ---- what is done ---- */

Test(trap, makes_brk_report_the_old_break)
{
	struct run run = prepare("brk:error=ENOMEM");

	cr_assert_eq(run_it(&run, "brk"), 1);
	cr_assert_gt(total(&run, 0).seen, total(&run, 0).fired,
		     "asking for the break is no growth");
}

Test(trap, that_lies_leaves_every_page)
{
	struct run run = prepare("madvise:advice=DONTNEED:lie");

	cr_assert_eq(run_it(&run, "keep"), 8);
}

Test(trap, that_shrinks_does_the_first_part)
{
	struct run run = prepare("madvise:advice=DONTNEED:shrink=50%");

	cr_assert_eq(run_it(&run, "keep"), 4);
}

Test(trap, that_delays_does_the_call_later)
{
	struct run run = prepare("madvise:advice=DONTNEED:delay=30ms");

	cr_assert_geq(run_it(&run, "slow"), 30);
	cr_assert_eq(run.wire->plane.threads[0].faults[0].result, 0);
}

Test(trap, fails_munmap_only_where_it_splits)
{
	struct run run = prepare("munmap:error=ENOMEM");

	cr_assert_eq(run_it(&run, "unmap"), 1);
	cr_assert_eq(total(&run, 0).eligible, 1);
}

Test(trap, with_the_gate_shut_fires_nothing_and_counts)
{
	struct run run = prepare(REFUSE);

	run.wire->plane.gate = 0;
	cr_assert_eq(run_it(&run, "main"), 0);
	cr_assert_eq(total(&run, 0).seen, 3);
	cr_assert_eq(total(&run, 0).eligible, 0);
}

Test(trap, outside_its_window_fires_nothing)
{
	struct run run = prepare(REFUSE ":window=1h..2h");

	cr_assert_eq(run_it(&run, "main"), 0);
	cr_assert_eq(total(&run, 0).seen, 3);
	cr_assert_eq(total(&run, 0).eligible, 0);
}

Test(trap, with_two_rules_counts_each_for_itself)
{
	struct run run = prepare(REFUSE ":when=2");

	add_rule(&run, "madvise:lie:when=1+");
	cr_assert_eq(run_it(&run, "main"), 1);
	cr_assert_eq(total(&run, 0).fired, 1);
	cr_assert_eq(total(&run, 1).fired, 2);
	cr_assert_eq(total(&run, 1).seen, 3);
}

Test(trap, whose_ring_overflows_drops_and_counts)
{
	struct run run = prepare(REFUSE);
	const struct hq_plane_thread *thread = &run.wire->plane.threads[0];

	cr_assert_eq(run_it(&run, "calls"), 1);
	cr_assert_eq(thread->counts[0].fired, 1000);
	cr_assert_eq(thread->ring.head, HQ_PLANE_FAULTS);
	cr_assert_eq(thread->ring.dropped, 1000 - HQ_PLANE_FAULTS);
}

Test(trap, of_a_killed_program_leaves_a_readable_record)
{
	struct run run = prepare(REFUSE);
	const struct hq_plane_thread *thread = &run.wire->plane.threads[0];
	const pid_t pid = start(&run, "forever", NULL);
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t fired;

	for (int i = 0; i < 20000 && hq_load_relaxed(&thread->counts[0].fired) < 100; i++)
		nanosleep(&pause, NULL);
	kill(pid, SIGKILL);
	cr_assert_eq(finish(pid), -SIGKILL);
	fired = thread->counts[0].fired;
	cr_assert_geq(fired, 100);
	/* The kill can fall between the count and the record. */
	cr_assert_leq(fired - (thread->ring.head + thread->ring.dropped), 1);
	cr_assert_eq(thread->faults[0].n, 1);
	cr_assert_eq(thread->faults[0].result, -EAGAIN);
}

/* ---- the same seed ---- */

/* Threads by key, each with the calls that were hit. */
static uint64_t fingerprint(const struct run *run)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < slots(run); i++) {
		const struct hq_plane_thread *thread = &run->wire->plane.threads[i];

		for (uint64_t f = 0; f < thread->ring.head; f++)
			sum += hq_thread_key(hq_thread_key(thread->key, thread->faults[f].n),
					     thread->faults[f].rule);
	}
	return sum;
}

static uint64_t run_with_seed(uint64_t seed)
{
	struct run run = prepare(REFUSE ":probability=0.3");
	uint64_t print;

	run.wire->plane.seed = seed;
	cr_assert_eq(run_it(&run, "some"), 0);
	print = fingerprint(&run);
	hq_wire_destroy(run.wire, run.fd);
	return print;
}

Test(trap, with_the_same_seed_makes_the_same_faults)
{
	const uint64_t first = run_with_seed(7);

	cr_assert_eq(run_with_seed(7), first);
	cr_assert_eq(run_with_seed(7), first);
	cr_assert_neq(run_with_seed(8), first);
}
