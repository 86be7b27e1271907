/* SPDX-License-Identifier: MIT */
/*
 * The table of failures that a kernel can really show, and the test of a call against a row.
 *
 * Linked into the target as well: data and pure functions, no libc. What no row names is refused.
 * The first row that fits is the answer, so a call's narrower rows come first. `source` says where
 * the failure comes from; where it cannot be made here on purpose it begins with "not producible
 * here".
 *
 * Deliberately absent: lies of brk, mmap, mprotect, mremap and munmap (no kernel reports success
 * for a mapping it did not change), EAGAIN of mmap and mremap (only for locked memory), and munmap
 * failing where it merely cuts an end off (the map count does not grow), ENOMEM of mincore
 * (part of the range is not mapped, which an allocator's own memory is), and lies of
 * process_madvise (which answers with the bytes that it has advised, so that one would have to read
 * the ranges).
 *
 * What a call alone does not show is not asked: an mprotect that asks for writing counts as making
 * memory writable, although the memory may have been so before.
 */
#include <errno.h>
#include <sys/mman.h>

#include "injectors/contract.h"

#define ADVICE(name) (1ull << MADV_##name)

/* Advice that is stored in the mapping's flags, so that mappings may have to be split. */
#define FLAG_ADVICES                                                                               \
	(ADVICE(NORMAL) | ADVICE(RANDOM) | ADVICE(SEQUENTIAL) | ADVICE(DONTFORK) |                 \
	 ADVICE(DOFORK) | ADVICE(MERGEABLE) | ADVICE(UNMERGEABLE) | ADVICE(HUGEPAGE) |             \
	 ADVICE(NOHUGEPAGE) | ADVICE(DONTDUMP) | ADVICE(DODUMP) | ADVICE(WIPEONFORK) |             \
	 ADVICE(KEEPONFORK))
/* Advice that acts on pages and refuses locked ones. */
#define PAGE_ADVICES (ADVICE(DONTNEED) | ADVICE(FREE) | ADVICE(COLD) | ADVICE(PAGEOUT))
/* Known to every kernel that has madvise: never EINVAL for a sound range. */
#define OLD_ADVICES (ADVICE(NORMAL) | ADVICE(RANDOM) | ADVICE(SEQUENTIAL) | ADVICE(WILLNEED))
/* Pure hints: doing nothing is within their documented meaning. */
#define HINT_ADVICES                                                                               \
	(OLD_ADVICES | ADVICE(MERGEABLE) | ADVICE(HUGEPAGE) | ADVICE(NOHUGEPAGE) | ADVICE(COLD) |  \
	 ADVICE(PAGEOUT) | ADVICE(FREE))

#define NOTHING_CHANGED "nothing changed"
#define AFTER_THE_WAIT  "what the call itself does, later"
#define NOT_HERE        "not producible here: "

const struct hq_contract_row hq_contract[] = {
	{ HQ_CALL_BRK, HQ_ACTION_FAIL, ENOMEM, 0, HQ_CONDITION_GROW, "the old break",
	  NOTHING_CHANGED, "brk(2), C library/kernel differences; RLIMIT_DATA, mm/mmap.c brk()" },
	{ HQ_CALL_BRK, HQ_ACTION_DELAY, 0, 0, HQ_CONDITION_NONE, "as the call", AFTER_THE_WAIT,
	  "mmap_lock is held by another thread, or direct reclaim" },

	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, EAGAIN, FLAG_ADVICES, HQ_CONDITION_NONE, "-1 and EAGAIN",
	  "mappings before the one that failed keep the advice",
	  "madvise(2); mm/madvise.c turns ENOMEM of a split (map count, slab) into EAGAIN" },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, EAGAIN, 0, HQ_CONDITION_NONE, "-1 and EAGAIN",
	  "pages may be untouched or partly treated",
	  NOT_HERE
	  "madvise(2) EAGAIN 'a kernel resource was temporarily unavailable', any advice" },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, ENOMEM, 0, HQ_CONDITION_NONE, "-1 and ENOMEM",
	  "the mapped part of the range is treated",
	  "madvise(2) ENOMEM: part of the range is not mapped; WILLNEED, POPULATE: no memory" },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, EINVAL, PAGE_ADVICES, HQ_CONDITION_NONE, "-1 and EINVAL",
	  "pages before the locked mapping are treated",
	  "madvise(2) EINVAL: locked or huge pages; FREE before 4.5, COLD and PAGEOUT before 5.4" },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, EINVAL, ~(OLD_ADVICES | PAGE_ADVICES), HQ_CONDITION_NONE,
	  "-1 and EINVAL", NOTHING_CHANGED,
	  NOT_HERE
	  "madvise(2) EINVAL: advice unknown to an older kernel or left out of its build" },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, EPERM, 0, HQ_CONDITION_NONE, "-1 and EPERM",
	  NOTHING_CHANGED,
	  "a sandbox's seccomp filter (SECCOMP_RET_ERRNO); sealed memory, mseal(2)" },
	{ HQ_CALL_MADVISE, HQ_ACTION_FAIL, ENOSYS, 0, HQ_CONDITION_NONE, "-1 and ENOSYS",
	  NOTHING_CHANGED, "a sandbox's seccomp filter; kernels without CONFIG_ADVISE_SYSCALLS" },
	{ HQ_CALL_MADVISE, HQ_ACTION_LIE, 0, HINT_ADVICES, HQ_CONDITION_NONE, "0",
	  "pages keep content and stay resident",
	  "madvise(2): hints; FREE frees only under pressure, PAGEOUT needs swap" },
	{ HQ_CALL_MADVISE, HQ_ACTION_LIE, 0, 0, HQ_CONDITION_NONE, "0",
	  "pages keep content and stay resident",
	  NOT_HERE "QEMU user-mode emulation before 7.1, nanos before 2026 ignore all advice" },
	{ HQ_CALL_MADVISE, HQ_ACTION_SHRINK, 0, HINT_ADVICES, HQ_CONDITION_NONE, "0",
	  "the tail of the range keeps content and stays resident",
	  NOT_HERE "mm/madvise.c skips shared, locked and large folios one by one and returns 0" },
	{ HQ_CALL_MADVISE, HQ_ACTION_SHRINK, 0, ADVICE(DONTNEED), HQ_CONDITION_NONE, "0",
	  "the tail of the range keeps content and stays resident",
	  NOT_HERE "user-mode emulation as for the lie, where it ignores only part of a heap" },
	{ HQ_CALL_MADVISE, HQ_ACTION_DELAY, 0, 0, HQ_CONDITION_NONE, "as the call", AFTER_THE_WAIT,
	  "mmap_lock is held by another thread, or direct reclaim" },

	{ HQ_CALL_MINCORE, HQ_ACTION_FAIL, EAGAIN, 0, HQ_CONDITION_NONE, "-1 and EAGAIN",
	  "no page is told of",
	  NOT_HERE "mincore(2) EAGAIN: the kernel has no page of its own for the answer" },
	{ HQ_CALL_MINCORE, HQ_ACTION_FAIL, EPERM, 0, HQ_CONDITION_NONE, "-1 and EPERM",
	  "no page is told of", "a sandbox's seccomp filter (SECCOMP_RET_ERRNO)" },
	{ HQ_CALL_MINCORE, HQ_ACTION_FAIL, ENOSYS, 0, HQ_CONDITION_NONE, "-1 and ENOSYS",
	  "no page is told of", "a sandbox's seccomp filter; kernels without CONFIG_MMU" },
	{ HQ_CALL_MINCORE, HQ_ACTION_DELAY, 0, 0, HQ_CONDITION_NONE, "as the call", AFTER_THE_WAIT,
	  "mmap_lock is held by another thread" },

	{ HQ_CALL_MMAP, HQ_ACTION_FAIL, ENOMEM, 0, HQ_CONDITION_NONE, "-1 and ENOMEM",
	  NOTHING_CHANGED, "mmap(2) ENOMEM: RLIMIT_DATA, RLIMIT_AS, overcommit, map count" },
	{ HQ_CALL_MMAP, HQ_ACTION_DELAY, 0, 0, HQ_CONDITION_NONE, "as the call", AFTER_THE_WAIT,
	  "mmap_lock is held by another thread, or direct reclaim" },

	{ HQ_CALL_MPROTECT, HQ_ACTION_FAIL, ENOMEM, 0, HQ_CONDITION_COMMIT, "-1 and ENOMEM",
	  "mappings before the one that failed are changed",
	  "mprotect(2) ENOMEM; mm/mprotect.c mprotect_fixup(): RLIMIT_DATA, overcommit, map "
	  "count" },
	{ HQ_CALL_MPROTECT, HQ_ACTION_DELAY, 0, 0, HQ_CONDITION_NONE, "as the call", AFTER_THE_WAIT,
	  "mmap_lock is held by another thread, or direct reclaim" },

	{ HQ_CALL_MREMAP, HQ_ACTION_FAIL, ENOMEM, 0, HQ_CONDITION_GROW, "-1 and ENOMEM",
	  "the old mapping is untouched", "mremap(2) ENOMEM: RLIMIT_DATA, RLIMIT_AS, no room" },
	{ HQ_CALL_MREMAP, HQ_ACTION_DELAY, 0, 0, HQ_CONDITION_NONE, "as the call", AFTER_THE_WAIT,
	  "mmap_lock is held by another thread, or direct reclaim" },

	{ HQ_CALL_MUNMAP, HQ_ACTION_FAIL, ENOMEM, 0, HQ_CONDITION_SPLIT, "-1 and ENOMEM",
	  "the range stays mapped", "munmap(2) ENOMEM: the split would exceed vm.max_map_count" },
	{ HQ_CALL_MUNMAP, HQ_ACTION_DELAY, 0, 0, HQ_CONDITION_NONE, "as the call", AFTER_THE_WAIT,
	  "mmap_lock is held by another thread" },

	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, EPERM, 0, HQ_CONDITION_NONE, "-1 and EPERM",
	  NOTHING_CHANGED, "a sandbox's seccomp filter (SECCOMP_RET_ERRNO)" },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, ENOSYS, 0, HQ_CONDITION_NONE, "-1 and ENOSYS",
	  NOTHING_CHANGED, "a sandbox's seccomp filter; kernels before 5.10" },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, EINVAL, 0, HQ_CONDITION_NONE, "-1 and EINVAL",
	  NOTHING_CHANGED,
	  "mm/madvise.c: before 6.13 only COLD, PAGEOUT, WILLNEED and COLLAPSE; locked pages" },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, ENOMEM, 0, HQ_CONDITION_NONE, "-1 and ENOMEM",
	  "the mapped part of the first range is treated, no other one",
	  "process_madvise(2) ENOMEM: part of the first range is not mapped" },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_FAIL, EAGAIN, 0, HQ_CONDITION_NONE, "-1 and EAGAIN",
	  "pages of the first range may be partly treated, of no other one",
	  NOT_HERE "mm/madvise.c: what madvise says of the first range" },
	{ HQ_CALL_PROCESS_MADVISE, HQ_ACTION_DELAY, 0, 0, HQ_CONDITION_NONE, "as the call",
	  AFTER_THE_WAIT, "mmap_lock is held by another thread, or direct reclaim" },
};

const size_t hq_contract_count = sizeof(hq_contract) / sizeof(hq_contract[0]);

/* An advice above 63 has no bit: only rows for all advices hold for it. */
static bool row_holds(const struct hq_contract_row *row, int advice)
{
	if (row->advices == 0 || advice == -1)
		return true;
	return advice >= 0 && advice < 64 && (row->advices >> advice & 1);
}

const struct hq_contract_row *hq_contract_find(enum hq_call call, enum hq_action action, int error,
					       int advice)
{
	const int wanted = action == HQ_ACTION_FAIL ? error : 0;

	for (size_t i = 0; i < hq_contract_count; i++) {
		const struct hq_contract_row *row = &hq_contract[i];

		if (row->call == call && row->action == action && row->error == wanted &&
		    row_holds(row, advice))
			return row;
	}
	return NULL;
}

static bool grows(const struct hq_contract_row *row, const uint64_t args[6], uint64_t current_break)
{
	if (row->call == HQ_CALL_BRK)
		return args[0] > current_break;
	return args[2] > args[1];
}

bool hq_contract_met(const struct hq_contract_row *row, const uint64_t args[6],
		     uint64_t current_break, bool (*splits)(uint64_t address, uint64_t length))
{
	switch (row->condition) {
	case HQ_CONDITION_NONE:
		return true;
	case HQ_CONDITION_SPLIT:
		return splits && splits(args[0], args[1]);
	case HQ_CONDITION_COMMIT:
		return args[1] != 0 &&
		       ((args[2] & PROT_WRITE) || (splits && splits(args[0], args[1])));
	case HQ_CONDITION_GROW:
		return grows(row, args, current_break);
	case HQ_CONDITION_ANON:
		return (args[3] & MAP_ANONYMOUS) != 0;
	}
	return false;
}

int64_t hq_contract_result(const struct hq_contract_row *row, uint64_t current_break)
{
	if (row->call == HQ_CALL_BRK)
		return (int64_t)current_break;
	return -(int64_t)row->error;
}
