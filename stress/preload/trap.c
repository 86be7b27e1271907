/* SPDX-License-Identifier: MIT */
/*
 * The trap: a seccomp filter turns calls that a rule may name into SIGSYS, and the handler, in the
 * thread itself, decides, and answers or re-issues the call.
 *
 * The handler calls nothing of the C library and never touches errno. It re-issues calls from this
 * library's own text, which the filter does not listen to. While it runs every signal but SIGSYS is
 * blocked, so no other handler of the same thread can come between two of its stores. It uses the
 * thread's own stack and little of it: glibc leaves 16 KiB untouched when a thread that ends gives
 * its stack back, and the call that does so is one that traps.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <time.h>

#include "injectors/syscall/judge.h"
#include "injectors/syscall/raw.h"
#include "injectors/syscall/split.h"
#include "injectors/syscall/wake.h"
#include "stress/preload/preload.h"
#include "stress/preload/registers.h"

#define SA_RESTORER_FLAG 0x04000000ul
#define SECCOMP_CODE     1 /* si_code SYS_SECCOMP */

#if defined(__x86_64__)
/* Byte for byte what unwinders look for to recognise a signal frame. */
void hq_trap_restorer(void) __attribute__((visibility("hidden")));
__asm__(".text\n"
	".balign 16\n"
	".globl hq_trap_restorer\n"
	".hidden hq_trap_restorer\n"
	".type hq_trap_restorer, @function\n"
	"nop\n"
	"hq_trap_restorer:\n"
	"	movq $15, %rax\n"
	"	syscall\n"
	".size hq_trap_restorer, . - hq_trap_restorer\n");
#endif

static bool splits(uint64_t address, uint64_t length)
{
	const uint64_t page = hq_preload.page_bytes;
	const long fd =
		hq_raw4(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	bool result;

	if (fd < 0)
		return false;
	result = hq_split_inside((int)fd, address, (address + length + page - 1) & ~(page - 1));
	hq_raw1(SYS_close, fd);
	return result;
}

static int64_t reissue(long number, const uint64_t args[6])
{
	return hq_raw6(number, (long)args[0], (long)args[1], (long)args[2], (long)args[3],
		       (long)args[4], (long)args[5]);
}

static int64_t delay(const struct hq_rule *rule, long number, const uint64_t args[6])
{
	const struct timespec wait = { .tv_sec = (time_t)(rule->delay_ns / 1000000000ull),
				       .tv_nsec = (long)(rule->delay_ns % 1000000000ull) };

	hq_raw3(SYS_nanosleep, (long)&wait, 0, 0);
	return reissue(number, args);
}

static int64_t shrink(const struct hq_rule *rule, long number, const uint64_t args[6])
{
	const uint64_t length = hq_judge_shrunk(rule, args[1], hq_preload.page_bytes);

	return hq_raw3(number, (long)args[0], (long)length, (long)args[2]);
}

static int64_t act(const struct hq_judgement *judgement, const struct hq_judge_call *call,
		   long number)
{
	switch (judgement->rule->action) {
	case HQ_ACTION_FAIL:
		return hq_contract_result(judgement->row, call->current_break);
	case HQ_ACTION_DELAY:
		return delay(judgement->rule, number, call->args);
	case HQ_ACTION_SHRINK:
		return shrink(judgement->rule, number, call->args);
	default:
		return 0; /* Only calls that return 0 on success can lie. */
	}
}

/* Asks the kernel for the time only where there is no counter. */
static void extend_wake(uint64_t lasts_ns)
{
	struct hq_plane *plane = hq_preload.plane;

	hq_wake_extend(plane, plane->ns_per_tick ? hq_tick_now() : hq_raw_now_ns(), lasts_ns);
}

static int64_t judged(enum hq_call kind, long number, const uint64_t args[6])
{
	struct hq_plane_thread *slot = hq_identity_slot();
	struct hq_judge_call call = { .call = kind, .args = args, .splits = splits };
	struct hq_judgement judgement;
	int64_t result;

	if (!slot)
		return reissue(number, args);
	if (kind == HQ_CALL_BRK)
		call.current_break = (uint64_t)hq_raw1(number, 0);
	if (hq_preload.needs_clock)
		call.now_ns = hq_raw_now_ns();
	judgement = hq_judge(hq_preload.plane, slot, &call);
	if (!judgement.rule)
		return reissue(number, args);
	extend_wake(judgement.rule->action == HQ_ACTION_DELAY ? judgement.rule->delay_ns : 0);
	result = act(&judgement, &call, number);
	extend_wake(0);
	hq_judge_record(slot, &judgement, &call, hq_raw_now_ns(), result);
	return result;
}

static void on_sigsys(int signal, siginfo_t *info, void *context)
{
	const long number = info->si_syscall;
	const enum hq_call kind = hq_call_of_number(number);
	ucontext_t *ucontext = context;
	uint64_t args[6];
	int64_t result;

	if (info->si_code != SECCOMP_CODE) {
		hq_mask_forward(signal, info, context);
		return;
	}
	hq_registers_args(ucontext, args);
	if (kind != HQ_CALL_COUNT) {
		result = judged(kind, number, args);
	} else if (number == SYS_rt_sigprocmask) {
		result = hq_mask_sigprocmask(args, hq_registers_mask(ucontext));
	} else if (number == SYS_rt_sigaction) {
		result = hq_mask_sigaction(args);
	} else if (!hq_mask_wait(number, args, &result)) {
		hq_mask_forward(signal, info, context);
		return;
	}
	hq_registers_set_result(ucontext, result);
}

static int install_handler(void)
{
	const uint64_t sigsys = HQ_SIGSYS_BIT;
	const struct hq_kernel_sigaction action = {
		.handler = (void *)on_sigsys,
#if defined(__x86_64__)
		.flags = SA_SIGINFO | SA_NODEFER | SA_RESTORER_FLAG,
		.restorer = (void *)hq_trap_restorer,
#else
		.flags = SA_SIGINFO | SA_NODEFER,
#endif
		.mask = ~HQ_SIGSYS_BIT,
	};
	const long ret = hq_raw4(SYS_rt_sigaction, SIGSYS, (long)&action,
				 (long)&hq_preload.program_sigsys, sizeof(uint64_t));

	if (ret)
		return (int)ret;
	/* The program that started this one may have blocked it. */
	return (int)hq_raw4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&sigsys, 0, sizeof(uint64_t));
}

/* All threads get it; a thread that already has a filter of its own makes that impossible. */
static int install_filter(struct sock_filter *program, size_t length)
{
	struct sock_fprog fprog = { .len = (unsigned short)length, .filter = program };
	const unsigned long flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	long ret = hq_raw6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);

	if (ret)
		return (int)ret;
	ret = hq_raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, (long)flags, (long)&fprog);
	if (ret == -EINVAL)
		ret = hq_raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			      (long)&fprog);
	return ret > 0 ? -ESRCH : (int)ret;
}

static int build_and_install(uint32_t action, bool guard)
{
	struct sock_filter program[HQ_FILTER_MAX];
	struct hq_ranges ranges;
	struct hq_filter_spec spec = {
		.rules = hq_preload.plane->rules,
		.rule_count = hq_preload.plane->rule_count,
		.action = action,
		.ranges = ranges.all,
		.guard_sigsys = guard,
		.guard_ranges = ranges.guard,
	};
	size_t length;
	int ret = hq_ranges_find(&ranges);

	if (ret < 0)
		return ret;
	spec.range_count = ranges.all_count;
	spec.guard_range_count = ranges.guard_count;
	ret = hq_filter_build(&spec, program, HQ_FILTER_MAX, &length);
	return ret ? ret : install_filter(program, length);
}

int hq_trap_arm(void)
{
	int ret;

	hq_preload.needs_clock = hq_judge_needs_clock(hq_preload.plane);
	if (hq_preload.plane->rule_count == 0)
		return 0;
	switch (hq_preload.wire->config.mechanism) {
	case HQ_MECHANISM_TRAP:
		ret = install_handler();
		return ret ? ret : build_and_install(SECCOMP_RET_TRAP, true);
	case HQ_MECHANISM_STATIC:
		return build_and_install(0, false);
	default:
		return 0;
	}
}
