/* SPDX-License-Identifier: MIT */
/*
 * What the supervisor has to find out about a process from outside, by /proc alone: it reads
 * nobody's memory. The trap needs none of this, it is inside.
 */
#ifndef HQ_INJECTORS_SYSCALL_LOOKUP_H
#define HQ_INJECTORS_SYSCALL_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HQ_LOOKUP_UNKNOWN UINT64_MAX

/* What is known of one process; zeroed, it knows nothing yet. */
struct hq_lookup {
	pid_t process;
	bool has_exempt;
	uint64_t exempt_start, exempt_end; /* the exempt program's text; both 0: not loaded */
	uint64_t break_start;              /* where the heap of this program begins */
	uint64_t break_known;              /* the break after the last call that is accounted for */
	uint64_t break_asked;              /* what the call after that asked for; 0: nothing */
};

/* The process that a thread belongs to; the thread itself if that cannot be told. */
pid_t hq_lookup_process_of(pid_t thread);

/*
 * The break before this call, to the byte, or HQ_LOOKUP_UNKNOWN. A call that is let through cannot
 * be seen to end, so it is told from the heap's mapping at the next one whether it succeeded;
 * hq_lookup_break_asked must be called for each brk that is let through.
 */
uint64_t hq_lookup_break(struct hq_lookup *lookup);
void hq_lookup_break_asked(struct hq_lookup *lookup, uint64_t asked);

/* As hq_contract_met's `splits`, for that process. */
bool hq_lookup_splits(const struct hq_lookup *lookup, uint64_t address, uint64_t length);

/* True if `address` lies in code of the executable file `path` in that process. */
bool hq_lookup_is_exempt(struct hq_lookup *lookup, const char *path, uint64_t address);

#endif
