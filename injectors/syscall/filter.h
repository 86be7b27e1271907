/* SPDX-License-Identifier: MIT */
/*
 * seccomp filters for a set of rules. The filter itself tests what it can (architecture, call,
 * advice value, length, anonymous or not, where the call comes from), so that only calls that might
 * match a rule leave the kernel. Pure: rules in, program out; no allocation, used on both sides.
 */
#ifndef HQ_INJECTORS_SYSCALL_FILTER_H
#define HQ_INJECTORS_SYSCALL_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/rule.h"

#define HQ_FILTER_MAX    4096 /* BPF_MAXINSNS */
#define HQ_FILTER_RANGES 256  /* executable ranges at most */

/* Calls are looked at only if they come from start <= ip < end. */
struct hq_filter_range {
	uint64_t start;
	uint64_t end;
};

struct hq_filter_spec {
	const struct hq_rule *rules;
	size_t rule_count;
	uint32_t action; /* SECCOMP_RET_TRAP, SECCOMP_RET_USER_NOTIF, or 0: see below */
	const struct hq_filter_range *ranges; /* NULL: wherever the call comes from */
	size_t range_count;
	int guard_sigsys; /* also divert rt_sigprocmask and rt_sigaction (trap needs it) */
	/* Code of which only what guard_sigsys names is diverted; may be NULL. */
	const struct hq_filter_range *guard_ranges;
	size_t guard_range_count;
};

/*
 * Writes the program and its length. With action 0 each rule is answered in the filter itself by
 * SECCOMP_RET_ERRNO (a lie is errno 0), which only FAIL and LIE rules without when, probability,
 * times and window can be. Returns 0, -E2BIG (too many ranges or rules) or -EINVAL.
 */
int hq_filter_build(const struct hq_filter_spec *spec, struct sock_filter *program, size_t room,
		    size_t *length);

#endif
