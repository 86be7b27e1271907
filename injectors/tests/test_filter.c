/* SPDX-License-Identifier: MIT */
/*
 * The compiled filters, run in a small interpreter of classic BPF: each branch, the length of the
 * way out for calls that nobody asked about, and agreement with the matcher on random calls.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/syscall/filter.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

struct built {
	struct sock_filter program[HQ_FILTER_MAX];
	size_t length;
};

static struct built built; /* one test, one filter; too large for the stack of a test */

/* Runs the program and counts its steps. Whatever the kernel would refuse fails the test. */
static uint32_t interpret(const struct built *filter, const struct seccomp_data *data, int *steps)
{
	uint32_t a = 0, cell[BPF_MEMWORDS] = { 0 };
	size_t at = 0;

	for (*steps = 1;; (*steps)++) {
		cr_assert_lt(at, filter->length, "ran off the end");
		const struct sock_filter *insn = &filter->program[at++];

		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			cr_assert_eq(insn->k % 4, 0);
			cr_assert_leq(insn->k + 4, sizeof(*data));
			memcpy(&a, (const char *)data + insn->k, 4);
			break;
		case BPF_LD | BPF_IMM:
			a = insn->k;
			break;
		case BPF_LD | BPF_MEM:
			a = cell[insn->k];
			break;
		case BPF_ST:
			cell[insn->k] = a;
			break;
		case BPF_JMP | BPF_JA:
			at += insn->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == insn->k ? insn->jt : insn->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			at += a > insn->k ? insn->jt : insn->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= insn->k ? insn->jt : insn->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			at += a & insn->k ? insn->jt : insn->jf;
			break;
		case BPF_RET | BPF_K:
			return insn->k;
		case BPF_RET | BPF_A:
			return a;
		default:
			cr_assert_fail("unknown instruction %#x", insn->code);
		}
	}
}

static struct hq_rule parsed(const char *text)
{
	struct hq_rule rule;
	struct hq_error error;

	cr_assert_eq(hq_rule_parse(text, &rule, &error), 0, "%s: %s", text, error.text);
	return rule;
}

/* The kernel checks more than an interpreter notices: jumps, and cells never written. */
static bool kernel_accepts(struct sock_filter *program, size_t length)
{
	const struct sock_fprog fprog = { .len = (unsigned short)length, .filter = program };
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
			_exit(0);
		_exit(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &fprog) && errno == EINVAL);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void build(const struct hq_filter_spec *spec)
{
	cr_assert_eq(hq_filter_build(spec, built.program, HQ_FILTER_MAX, &built.length), 0);
	cr_assert(kernel_accepts(built.program, built.length), "the kernel refuses the program");
}

static void build_rule(const char *text)
{
	const struct hq_rule rule = parsed(text);
	const struct hq_filter_spec spec = { .rules = &rule,
					     .rule_count = 1,
					     .action = SECCOMP_RET_TRAP };

	build(&spec);
}

static struct seccomp_data call_at(long number, uint64_t ip, uint64_t a, uint64_t b, uint64_t c)
{
	return (struct seccomp_data){
		.nr = (int)number, .arch = NATIVE, .instruction_pointer = ip, .args = { a, b, c }
	};
}

static uint32_t answer_to(const struct seccomp_data *data)
{
	int steps;

	return interpret(&built, data, &steps);
}

static bool traps(long number, uint64_t a, uint64_t b, uint64_t c)
{
	const struct seccomp_data data = call_at(number, 0, a, b, c);

	return answer_to(&data) == SECCOMP_RET_TRAP;
}

static bool traps_at(uint64_t ip)
{
	const struct seccomp_data data = call_at(SYS_madvise, ip, 0, 4096, MADV_FREE);

	return answer_to(&data) == SECCOMP_RET_TRAP;
}

Test(filter, lets_other_architectures_through)
{
	struct seccomp_data data = call_at(SYS_madvise, 0, 0, 4096, MADV_FREE);

	build_rule("madvise:error=EAGAIN");
	cr_assert_eq(answer_to(&data), SECCOMP_RET_TRAP);
	data.arch = AUDIT_ARCH_I386;
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ALLOW);
}

#if defined(__x86_64__)
Test(filter, lets_x32_calls_through)
{
	struct seccomp_data data = call_at(SYS_madvise | 0x40000000, 0, 0, 4096, MADV_FREE);

	build_rule("madvise:error=EAGAIN");
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ALLOW);
}
#endif

Test(filter, lets_calls_that_no_rule_names_through_within_a_few_steps)
{
	struct seccomp_data data = call_at(SYS_getppid, 0, 0, 0, 0);
	const struct hq_rule rule =
		parsed("brk,madvise,mincore,mmap,mprotect,mremap,munmap:delay=1ms");
	const struct hq_filter_spec spec = {
		.rules = &rule, .rule_count = 1, .action = SECCOMP_RET_TRAP, .guard_sigsys = 1
	};
	int steps;

	build(&spec);
	cr_assert_eq(interpret(&built, &data, &steps), SECCOMP_RET_ALLOW);
	cr_assert_leq(steps, 20);
	build_rule("madvise:error=EAGAIN");
	cr_assert_eq(interpret(&built, &data, &steps), SECCOMP_RET_ALLOW);
	cr_assert_leq(steps, 6);
}

Test(filter, tests_the_advice_where_process_madvise_has_it)
{
	struct seccomp_data data = call_at(SYS_process_madvise, 0, 3, 4096, MADV_FREE);

	build_rule("madvise,process_madvise:advice=FREE,DONTNEED:delay=1ms");
	cr_assert(traps(SYS_madvise, 0, 4096, MADV_FREE));
	data.args[3] = MADV_COLD;
	cr_assert_neq(answer_to(&data), SECCOMP_RET_TRAP);
	data.args[3] = MADV_DONTNEED;
	cr_assert_eq(answer_to(&data), SECCOMP_RET_TRAP);
}

Test(filter, tests_the_advice)
{
	build_rule("madvise:advice=FREE,DONTNEED,COLD:lie");
	cr_assert(traps(SYS_madvise, 0, 4096, MADV_FREE));
	cr_assert(traps(SYS_madvise, 0, 4096, MADV_DONTNEED));
	cr_assert(traps(SYS_madvise, 0, 4096, MADV_COLD));
	cr_assert(traps(SYS_madvise, 0, 4096, 0xffffffff00000000ull | MADV_COLD));
	cr_assert_not(traps(SYS_madvise, 0, 4096, MADV_PAGEOUT));
	cr_assert_not(traps(SYS_mmap, 0, 4096, MADV_FREE));
}

Test(filter, tests_lengths_of_more_than_32_bits)
{
	build_rule("munmap:error=ENOMEM:length=5GiB..9GiB");
	cr_assert_not(traps(SYS_munmap, 0, (5ull << 30) - 1, 0));
	cr_assert(traps(SYS_munmap, 0, 5ull << 30, 0));
	cr_assert(traps(SYS_munmap, 0, 7ull << 30, 0));
	cr_assert(traps(SYS_munmap, 0, 9ull << 30, 0));
	cr_assert_not(traps(SYS_munmap, 0, (9ull << 30) + 1, 0));
	cr_assert_not(traps(SYS_munmap, 0, 1ull << 40, 0));
	cr_assert_not(traps(SYS_munmap, 0, 4096, 0));
}

Test(filter, tests_the_new_length_of_mremap)
{
	build_rule("mremap:error=ENOMEM:length=8KiB..");
	cr_assert(traps(SYS_mremap, 0, 4096, 8192));
	cr_assert_not(traps(SYS_mremap, 0, 8192, 4096));
}

Test(filter, tests_the_kind_of_mapping)
{
	struct seccomp_data data = call_at(SYS_mmap, 0, 0, 4096, 3);

	build_rule("mmap:kind=anonymous:error=ENOMEM");
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ALLOW);
	data.args[3] = MAP_ANONYMOUS | MAP_PRIVATE;
	cr_assert_eq(answer_to(&data), SECCOMP_RET_TRAP);
	build_rule("mmap:kind=file:error=ENOMEM");
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ALLOW);
	data.args[3] = MAP_PRIVATE;
	cr_assert_eq(answer_to(&data), SECCOMP_RET_TRAP);
}

Test(filter, listens_to_its_ranges_only)
{
	const struct hq_filter_range ranges[] = { { 0x1000, 0x2000 },
						  { 0x7f0000000000, 0x7f0000001000 } };
	const struct hq_rule rule = parsed("madvise:error=EAGAIN");
	const struct hq_filter_spec spec = { .rules = &rule,
					     .rule_count = 1,
					     .action = SECCOMP_RET_TRAP,
					     .ranges = ranges,
					     .range_count = 2 };

	build(&spec);
	cr_assert_not(traps_at(0xfff));
	cr_assert(traps_at(0x1000));
	cr_assert(traps_at(0x1fff));
	cr_assert_not(traps_at(0x2000));
	cr_assert_not(traps_at(0x100001800));
	cr_assert_not(traps_at(0x7effffffffff));
	cr_assert(traps_at(0x7f0000000000));
	cr_assert(traps_at(0x7f0000000fff));
	cr_assert_not(traps_at(0x7f0000001000));
}

Test(filter, handles_a_range_across_4_gib)
{
	const struct hq_filter_range range = { 0x7effffff0000, 0x7f0200001000 };
	const struct hq_rule rule = parsed("madvise:error=EAGAIN");
	const struct hq_filter_spec spec = { .rules = &rule,
					     .rule_count = 1,
					     .action = SECCOMP_RET_TRAP,
					     .ranges = &range,
					     .range_count = 1 };

	build(&spec);
	cr_assert_not(traps_at(0x7efffffeffff));
	cr_assert(traps_at(0x7effffff0000));
	cr_assert(traps_at(0x7effffffffff));
	cr_assert(traps_at(0x7f0000000000));
	cr_assert(traps_at(0x7f01ffffffff));
	cr_assert(traps_at(0x7f0200000fff));
	cr_assert_not(traps_at(0x7f0200001000));
}

Test(filter, merges_neighbouring_ranges)
{
	struct hq_filter_range ranges[3] = { { 0x1000, 0x2000 },
					     { 0x2000, 0x3000 },
					     { 0x3000, 0x4000 } };
	const struct hq_rule rule = parsed("madvise:error=EAGAIN");
	struct hq_filter_spec spec = { .rules = &rule,
				       .rule_count = 1,
				       .action = SECCOMP_RET_TRAP,
				       .ranges = ranges,
				       .range_count = 3 };
	size_t merged;

	build(&spec);
	merged = built.length;
	cr_assert(traps_at(0x2000));
	cr_assert_not(traps_at(0x4000));
	ranges[1].start = 0x2800;
	build(&spec);
	cr_assert_gt(built.length, merged);
	cr_assert_not(traps_at(0x2000));
}

Test(filter, without_any_range_listens_to_nothing)
{
	const struct hq_filter_range none[1] = { { 0, 0 } };
	const struct hq_rule rule = parsed("madvise:error=EAGAIN");
	const struct hq_filter_spec spec = { .rules = &rule,
					     .rule_count = 1,
					     .action = SECCOMP_RET_TRAP,
					     .ranges = none,
					     .range_count = 0 };

	build(&spec);
	cr_assert_not(traps_at(0x1000));
}

static void build_guarded(void)
{
	static const struct hq_filter_range all = { 0x1000, 0x2000 }, guard = { 0x5000, 0x6000 };
	static struct hq_rule rule;

	rule = parsed("madvise:error=EAGAIN");
	build(&(struct hq_filter_spec){ .rules = &rule,
					.rule_count = 1,
					.action = SECCOMP_RET_TRAP,
					.ranges = &all,
					.range_count = 1,
					.guard_sigsys = 1,
					.guard_ranges = &guard,
					.guard_range_count = 1 });
}

static uint32_t guarded(long number, uint64_t ip, uint64_t a, uint64_t b)
{
	const struct seccomp_data data = call_at(number, ip, a, b, 0);

	return answer_to(&data);
}

Test(filter, guards_changes_of_the_signal_mask_and_not_readings)
{
	build_guarded();
	cr_assert_eq(guarded(SYS_rt_sigprocmask, 0x1000, SIG_BLOCK, 8), SECCOMP_RET_TRAP);
	cr_assert_eq(guarded(SYS_rt_sigprocmask, 0x1000, SIG_SETMASK, 1ull << 40),
		     SECCOMP_RET_TRAP);
	cr_assert_eq(guarded(SYS_rt_sigprocmask, 0x1000, SIG_SETMASK, 0), SECCOMP_RET_ALLOW);
	cr_assert_eq(guarded(SYS_rt_sigprocmask, 0x1000, SIG_UNBLOCK, 8), SECCOMP_RET_ALLOW);
	cr_assert_eq(guarded(SYS_rt_sigprocmask, 0x9000, SIG_BLOCK, 8), SECCOMP_RET_ALLOW);
}

Test(filter, guards_signal_actions_and_whatever_touches_sigsys)
{
	build_guarded();
	cr_assert_eq(guarded(SYS_rt_sigaction, 0x1000, SIGTERM, 8), SECCOMP_RET_TRAP);
	cr_assert_eq(guarded(SYS_rt_sigaction, 0x1000, SIGTERM, 0), SECCOMP_RET_ALLOW);
	cr_assert_eq(guarded(SYS_rt_sigaction, 0x1000, SIGSYS, 0), SECCOMP_RET_TRAP);
}

Test(filter, guards_waits_that_bring_a_mask)
{
	struct seccomp_data data = call_at(SYS_ppoll, 0x1000, 8, 1, 0);

	build_guarded();
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ALLOW);
	data.args[3] = 1ull << 40;
	cr_assert_eq(answer_to(&data), SECCOMP_RET_TRAP);
	cr_assert_eq(guarded(SYS_rt_sigsuspend, 0x1000, 8, 8), SECCOMP_RET_TRAP);
	cr_assert_eq(guarded(SYS_rt_sigsuspend, 0x9000, 8, 8), SECCOMP_RET_ALLOW);
	cr_assert_eq(guarded(SYS_epoll_pwait, 0x1000, 3, 8), SECCOMP_RET_ALLOW);
}

Test(filter, sends_clone3_back_to_clone)
{
	build_guarded();
	cr_assert_eq(guarded(SYS_clone3, 0x1000, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
	cr_assert_eq(guarded(SYS_clone3, 0x9000, 0, 0), SECCOMP_RET_ALLOW);
}

Test(filter, guards_code_whose_memory_calls_it_does_not_listen_to)
{
	build_guarded();
	cr_assert_eq(guarded(SYS_rt_sigprocmask, 0x5000, SIG_BLOCK, 8), SECCOMP_RET_TRAP);
	cr_assert_eq(guarded(SYS_madvise, 0x5000, 0, 4096), SECCOMP_RET_ALLOW);
	cr_assert_eq(guarded(SYS_madvise, 0x1000, 0, 4096), SECCOMP_RET_TRAP);
}

Test(static_filter, answers_with_the_errno_of_the_first_rule_that_matches)
{
	const struct hq_rule rules[] = { parsed("madvise:advice=FREE:error=EAGAIN"),
					 parsed("madvise:advice=FREE,DONTNEED:lie"),
					 parsed("mmap:error=ENOMEM:length=1MiB..") };
	const struct hq_filter_spec spec = { .rules = rules, .rule_count = 3 };
	struct seccomp_data data = call_at(SYS_madvise, 0, 0, 4096, MADV_FREE);

	build(&spec);
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ERRNO | EAGAIN);
	data.args[2] = MADV_DONTNEED;
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ERRNO);
	data = call_at(SYS_mmap, 0, 0, 1 << 20, 0);
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ERRNO | ENOMEM);
	data.args[1] = 4096;
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ALLOW);
}

Test(static_filter, spares_advice_for_which_the_fault_is_not_legal)
{
	const struct hq_rule rule = parsed("madvise:error=EINVAL");
	const struct hq_filter_spec spec = { .rules = &rule, .rule_count = 1 };
	struct seccomp_data data = call_at(SYS_madvise, 0, 0, 4096, MADV_WILLNEED);

	build(&spec);
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ALLOW);
	data.args[2] = MADV_FREE;
	cr_assert_eq(answer_to(&data), SECCOMP_RET_ERRNO | EINVAL);
}

Test(static_filter, refuses_rules_that_need_a_decider)
{
	static const char *const texts[] = {
		"madvise:delay=1ms",       "madvise:advice=FREE:shrink=50%",
		"madvise:lie:when=3",      "madvise:lie:probability=0.5",
		"madvise:lie:times=1",     "madvise:lie:window=0s..1s",
		"brk:error=ENOMEM",        "munmap:error=ENOMEM",
		"mprotect:error=ENOMEM",   "mremap:error=ENOMEM",
		"mmap,munmap:error=ENOMEM"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct hq_rule rule = parsed(texts[i]);
		const struct hq_filter_spec spec = { .rules = &rule, .rule_count = 1 };

		cr_expect_eq(hq_filter_build(&spec, built.program, HQ_FILTER_MAX, &built.length),
			     -EINVAL, "%s", texts[i]);
	}
}

Test(filter, that_does_not_fit_is_refused)
{
	const struct hq_rule rule = parsed("madvise:error=EAGAIN");
	static struct hq_filter_range ranges[HQ_FILTER_RANGES + 1];
	struct hq_filter_spec spec = { .rules = &rule,
				       .rule_count = 1,
				       .action = SECCOMP_RET_TRAP,
				       .ranges = ranges,
				       .range_count = HQ_FILTER_RANGES + 1 };
	size_t length = 0;

	cr_assert_eq(hq_filter_build(&spec, built.program, HQ_FILTER_MAX, &length), -E2BIG);
	spec.range_count = 0;
	for (size_t room = 0; room < 10; room++)
		cr_assert_eq(hq_filter_build(&spec, built.program, room, &length), -E2BIG);
	spec.rule_count = HQ_RULES_MAX + 1;
	cr_assert_eq(hq_filter_build(&spec, built.program, HQ_FILTER_MAX, &length), -E2BIG);
}

/* A small generator: Criterion's tests must be the same in every run. */
static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 20;
}

Test(filter, agrees_with_the_matcher_on_random_calls)
{
	const struct hq_rule rules[] = {
		parsed("madvise:advice=FREE,COLD:lie:length=8KiB..64KiB"),
		parsed("madvise:advice=HUGEPAGE:error=EAGAIN"),
		parsed("mmap:kind=file:error=ENOMEM"),
		parsed("mmap,munmap,mremap,mprotect:error=ENOMEM:length=..32KiB"),
		parsed("brk:error=ENOMEM:when=3"),
	};
	const size_t count = sizeof(rules) / sizeof(rules[0]);
	const struct hq_filter_spec spec = { .rules = rules,
					     .rule_count = count,
					     .action = SECCOMP_RET_USER_NOTIF };
	uint64_t state = 1;

	build(&spec);
	for (int i = 0; i < 100000; i++) {
		const enum hq_call call = (enum hq_call)(next_random(&state) % HQ_CALL_COUNT);
		const uint64_t args[6] = { next_random(&state), next_random(&state) % 32 * 4096,
					   next_random(&state) % 26, next_random(&state) % 64 };
		struct seccomp_data data = call_at(hq_call_number(call), next_random(&state),
						   args[0], args[1], args[2]);
		bool expected = false;

		data.args[3] = args[3];
		for (size_t rule = 0; rule < count; rule++)
			expected |= hq_rule_matches(&rules[rule], call, args);
		cr_assert_eq(answer_to(&data) == SECCOMP_RET_USER_NOTIF, expected,
			     "call %u length %#lx third %#lx flags %#lx", call,
			     (unsigned long)args[1], (unsigned long)args[2],
			     (unsigned long)args[3]);
	}
}
