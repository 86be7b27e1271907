/* SPDX-License-Identifier: MIT */
/*
 * Keeps SIGSYS deliverable. The kernel kills a process that traps while SIGSYS is blocked or has no
 * handler, and the C library blocks every signal when it starts and ends threads and when it
 * spawns. So all calls that could do it are trapped too and done here without SIGSYS. The program
 * is told that it succeeded: its own handler is remembered and called for a SIGSYS that is not
 * ours.
 *
 * Pointers are the program's. The kernel is asked whether they hold, so that a bad one gets EFAULT
 * as it would without us, and no crash in here.
 */
#include <errno.h>

#include "injectors/syscall/guard.h"
#include "injectors/syscall/raw.h"
#include "stress/preload/preload.h"

#define NEVER_BLOCKED (1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | HQ_SIGSYS_BIT)

/*
 * Reading a mask from there blocks what it names, for the rest of this handler only: the mask of
 * the program is put back when the handler returns, and nothing in here traps.
 */
static bool can_read(const void *address)
{
	return hq_raw4(SYS_rt_sigprocmask, SIG_BLOCK, (long)address, 0, sizeof(uint64_t)) == 0;
}

static bool can_write(void *address)
{
	return hq_raw4(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)address, sizeof(uint64_t)) == 0;
}

static bool can_read_action(const struct hq_kernel_sigaction *action)
{
	return can_read(&action->handler) && can_read(&action->mask);
}

static bool can_write_action(struct hq_kernel_sigaction *action)
{
	return can_write(&action->handler) && can_write(&action->mask);
}

/* The new mask takes effect when the kernel restores the context that it is written into. */
int64_t hq_mask_sigprocmask(const uint64_t args[6], uint64_t *current_mask)
{
	const uint64_t *set = (const uint64_t *)args[1];
	uint64_t *old_set = (uint64_t *)args[2];
	const uint64_t old = *current_mask;
	uint64_t next = old;

	if (args[3] != sizeof(uint64_t))
		return -EINVAL;
	if (set && !can_read(set))
		return -EFAULT;
	if (set) {
		switch ((int)args[0]) {
		case SIG_BLOCK:
			next = old | *set;
			break;
		case SIG_UNBLOCK:
			next = old & ~*set;
			break;
		case SIG_SETMASK:
			next = *set;
			break;
		default:
			return -EINVAL;
		}
	}
	*current_mask = next & ~NEVER_BLOCKED;
	if (old_set && !can_write(old_set))
		return -EFAULT;
	if (old_set)
		*old_set = old;
	return 0;
}

/*
 * A child of vfork shares our memory but not its parent's handlers: what it sets for SIGSYS is
 * forgotten, since it is about to exec.
 */
static int64_t set_program_sigsys(const struct hq_kernel_sigaction *action,
				  struct hq_kernel_sigaction *old)
{
	if (old && !can_write_action(old))
		return -EFAULT;
	if (old)
		*old = hq_preload.program_sigsys;
	if (action && (uint32_t)hq_raw1(SYS_getpid, 0) == hq_preload.process)
		hq_preload.program_sigsys = *action;
	return 0;
}

int64_t hq_mask_sigaction(const uint64_t args[6])
{
	const struct hq_kernel_sigaction *action = (const struct hq_kernel_sigaction *)args[1];
	struct hq_kernel_sigaction without;

	if (args[3] != sizeof(uint64_t))
		return -EINVAL;
	if (action && !can_read_action(action))
		return -EFAULT;
	if ((int)args[0] == SIGSYS)
		return set_program_sigsys(action, (struct hq_kernel_sigaction *)args[2]);
	if (!action)
		return hq_raw4(SYS_rt_sigaction, (long)args[0], 0, (long)args[2], (long)args[3]);
	without = *action;
	without.mask &= ~HQ_SIGSYS_BIT;
	return hq_raw4(SYS_rt_sigaction, (long)args[0], (long)&without, (long)args[2],
		       (long)args[3]);
}

/* The argument of pselect6. */
struct indirect {
	const uint64_t *mask;
	uint64_t size;
};

/*
 * Waits inside the handler, whose own mask the kernel replaces meanwhile: a signal that comes is
 * handled on top of it, as it would have been handled on top of the call.
 */
static int64_t wait_unmasked(const struct hq_guarded_wait *wait, const uint64_t args[6])
{
	const struct indirect *given = (const struct indirect *)args[wait->mask_argument];
	const uint64_t *mask = (const uint64_t *)given;
	struct indirect indirect;
	uint64_t without = 0;
	long with[6];

	if (wait->is_indirect && (!can_read(&given->mask) || !can_read(&given->size)))
		return -EFAULT;
	if (wait->is_indirect)
		mask = given->mask;
	if (mask && !can_read(mask))
		return -EFAULT;
	if (mask)
		without = *mask & ~HQ_SIGSYS_BIT;
	indirect.mask = mask ? &without : NULL;
	for (int i = 0; i < 6; i++)
		with[i] = (long)args[i];
	if (wait->is_indirect) {
		indirect.size = given->size;
		with[wait->mask_argument] = (long)&indirect;
	} else {
		with[wait->mask_argument] = (long)&without;
	}
	return hq_raw6(wait->number, with[0], with[1], with[2], with[3], with[4], with[5]);
}

bool hq_mask_wait(long number, const uint64_t args[6], int64_t *result)
{
	for (size_t i = 0; i < HQ_GUARDED_WAITS; i++) {
		if (hq_guarded_waits[i].number != number)
			continue;
		*result = wait_unmasked(&hq_guarded_waits[i], args);
		return true;
	}
	return false;
}

/* What would have happened without us: SIGSYS ends the process. */
static void die_of_sigsys(void)
{
	const struct hq_kernel_sigaction by_default = { .handler = NULL };

	hq_raw4(SYS_rt_sigaction, SIGSYS, (long)&by_default, 0, sizeof(uint64_t));
	hq_raw3(SYS_tgkill, hq_raw1(SYS_getpid, 0), hq_raw1(SYS_gettid, 0), SIGSYS);
}

void hq_mask_forward(int signal, siginfo_t *info, void *context)
{
	const struct hq_kernel_sigaction action = hq_preload.program_sigsys;

	if (action.handler == (void *)SIG_IGN && info->si_code <= 0)
		return;
	if (action.handler == (void *)SIG_DFL || action.handler == (void *)SIG_IGN) {
		die_of_sigsys();
		return;
	}
	((void (*)(int, siginfo_t *, void *))action.handler)(signal, info, context);
}
