/* SPDX-License-Identifier: MIT */
/*
 * The rule language of the kernel plane: which call, which arguments, when, what happens.
 *
 * A rule is a plain struct without pointers: the controller parses it, shared memory carries it,
 * and the target (trap) or the supervisor (notification) decides by it. Parsing is in rule.c,
 * printing in rule_print.c; matching and deciding are in decide.c, which never allocates, locks or
 * calls libc.
 *
 * Grammar, inline form (strace's words; `heapquake explain rule` prints this table):
 *
 *   RULE     = CALLS { ':' WORD }
 *   CALLS    = call { ',' call }                 brk, madvise, mincore, mmap, mprotect, mremap,
 *                                                munmap, process_madvise
 *   WORD     = 'advice='  name{,name}            madvise, process_madvise: FREE DONTNEED
 *                                                HUGEPAGE NOHUGEPAGE COLLAPSE WILLNEED COLD ...
 *            | 'length='  SIZE | SIZE..[SIZE] | ..SIZE      length argument (mremap: the new one)
 *            | 'kind='    anonymous | file       mmap only
 *            | 'error='   ERRNO                  fail with it (brk: report the old break)
 *            | 'lie'                             answer success and do nothing
 *            | 'delay='   DURATION               wait, then let the call through
 *            | 'shrink='  SHARE                  do the call for that share of the length, in
 *                                                whole pages (madvise and the trap only)
 *            | 'when='    N | N+ | N+STEP | N..M | N..M+STEP    the n-th matching call of a
 *                                                thread
 *            | 'probability=' SHARE
 *            | 'times='   N                      fire at most N times in each thread
 *            | 'window='  DURATION..[DURATION]   since the gate opened
 *            | 'optional'                        not firing is no reason for INCONCLUSIVE
 *            | 'name='    word
 *
 * In a scenario the same words are keys: { call: madvise, advice: FREE, fail: EINVAL }; there
 * `fail` and `error` mean the same and `lie`, `optional` take true.
 */
#ifndef HQ_INJECTORS_RULE_H
#define HQ_INJECTORS_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"

enum hq_call {
	HQ_CALL_BRK,
	HQ_CALL_MADVISE,
	HQ_CALL_MINCORE,
	HQ_CALL_MMAP,
	HQ_CALL_MPROTECT,
	HQ_CALL_MREMAP,
	HQ_CALL_MUNMAP,
	HQ_CALL_PROCESS_MADVISE,
	HQ_CALL_COUNT,
};

enum hq_action {
	HQ_ACTION_FAIL,
	HQ_ACTION_LIE,
	HQ_ACTION_DELAY,
	HQ_ACTION_SHRINK,
};

enum hq_mapping_kind { HQ_MAPPING_ANY, HQ_MAPPING_ANONYMOUS, HQ_MAPPING_FILE };

#define HQ_RULES_MAX      16
#define HQ_RULE_NAME_SIZE 32
#define HQ_RULE_ALWAYS    UINT64_MAX

struct hq_rule {
	char name[HQ_RULE_NAME_SIZE];
	uint32_t calls;       /* bit set of 1u << enum hq_call */
	uint32_t action;      /* enum hq_action */
	uint32_t error;       /* errno, for FAIL */
	uint32_t mapping;     /* enum hq_mapping_kind */
	uint64_t advices;     /* bit set of 1ull << advice for 0..63; 0: any. */
	uint64_t length_min;  /* inclusive, bytes */
	uint64_t length_max;  /* inclusive; UINT64_MAX: no bound */
	uint64_t delay_ns;    /* for DELAY */
	double shrink;        /* for SHRINK: share of the length that is done */
	uint64_t when_first;  /* first n, from 1 */
	uint64_t when_last;   /* last n; UINT64_MAX: no end */
	uint64_t when_step;   /* from 1 */
	uint64_t probability; /* fires if hash < probability; HQ_RULE_ALWAYS: always */
	uint64_t times;       /* per thread; UINT64_MAX: no bound */
	uint64_t window_start_ns;
	uint64_t window_end_ns; /* exclusive; UINT64_MAX: no end */
	uint32_t required;      /* 0: may stay silent */
	uint32_t reserved;
};

/*
 * Counts of one rule in one thread; one writer, the thread itself (under notification the
 * supervisor). seen >= eligible >= fired. seen: matched; eligible: gate open and inside the window
 * and legal here; fired: a fault was made.
 */
struct hq_rule_count {
	uint64_t seen;
	uint64_t eligible;
	uint64_t fired;
};

/* ---- rule.c, rule_print.c, names.c: for the controller ---- */

/* A rule without restriction or action: matches nothing until `calls` is set. */
void hq_rule_init(struct hq_rule *rule);

/* Sets one word, e.g. ("call", "mmap,brk"), ("fail", "ENOMEM"), ("when", "3+2"). */
int hq_rule_set(struct hq_rule *rule, const char *key, const char *value, struct hq_error *error);

/*
 * Checks the rule as a whole: it names a call and exactly one action, the action is legal for each
 * of its calls by the contract table, the words fit the calls. Gives a nameless rule a name from
 * its words ("madvise-EAGAIN").
 */
int hq_rule_finish(struct hq_rule *rule, struct hq_error *error);

/* The inline form, whole: init, every word, finish. */
int hq_rule_parse(const char *text, struct hq_rule *rule, struct hq_error *error);

/* Writes the inline form, which parses back to an equal rule. Returns `text`. */
const char *hq_rule_print(const struct hq_rule *rule, char *text, size_t size);

const char *hq_call_name(enum hq_call call);
/* "EAGAIN" for EAGAIN, "E123" for one without a name; the reverse gives 0 for an unknown name. */
const char *hq_errno_name(int error);
int hq_errno_value(const char *name);
/* "MADV_FREE" for 8; NULL for an unknown one. Parsing takes the name with or without MADV_. */
const char *hq_advice_name(int advice);
int hq_advice_value(const char *name);

/* ---- decide.c: for both sides; pure, no libc ---- */

/* True if the rule's call and argument words match; `args` are the six raw arguments. */
bool hq_rule_matches(const struct hq_rule *rule, enum hq_call call, const uint64_t args[6]);

/*
 * Does the rule fire at the n-th matching call (from 1) of the thread named by `thread_key`, having
 * fired `fired` times in it? Depends on (seed, rule_index, thread_key, n, fired) alone.
 */
bool hq_rule_fires(const struct hq_rule *rule, uint32_t rule_index, uint64_t seed,
		   uint64_t thread_key, uint64_t n, uint64_t fired);

/* Gate and window: true if a call at `since_gate_ns` after the gate opened may be hit. */
bool hq_rule_in_window(const struct hq_rule *rule, uint64_t since_gate_ns);

/* The identity of a thread's child: the index-th thread (from 0) or process it started. */
uint64_t hq_thread_key(uint64_t parent_key, uint64_t child_index);
#define HQ_THREAD_KEY_MAIN 0x6871u /* the first thread of the target */

/* System call number of a call on this architecture, and back (HQ_CALL_COUNT: none of ours). */
long hq_call_number(enum hq_call call);
enum hq_call hq_call_of_number(long number);

/* The length argument of a call, or 0 of one that has none: see hq_call_has_length. */
uint64_t hq_call_length(enum hq_call call, const uint64_t args[6]);

/* brk has none, and of process_madvise they are in memory. */
static inline bool hq_call_has_length(enum hq_call call)
{
	return call != HQ_CALL_BRK && call != HQ_CALL_PROCESS_MADVISE;
}

/* Which argument is the advice, or -1 of a call that gives none. */
static inline int hq_call_advice_argument(enum hq_call call)
{
	return call == HQ_CALL_MADVISE ? 2 : call == HQ_CALL_PROCESS_MADVISE ? 3 : -1;
}

/* Calls that give advice, as a bit set. */
#define HQ_CALLS_ADVISING (1u << HQ_CALL_MADVISE | 1u << HQ_CALL_PROCESS_MADVISE)

#endif
