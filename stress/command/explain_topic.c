/* SPDX-License-Identifier: MIT */
/*
 * The topics of `heapquake explain` that are no part: the languages, the verdicts, the keys of a
 * scenario.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "stress/check/check.h"
#include "stress/command/explain.h"
#include "stress/command/help.h"
#include "stress/plan/scenario.h"

static void print_rule(void)
{
	puts("A rule says which system calls are hit, when, and what happens to them.\n"
	     "\n"
	     "  RULE  = CALLS { ':' WORD }\n"
	     "  CALLS = call { ',' call }          brk madvise mincore mmap mprotect mremap\n"
	     "                                     munmap\n"
	     "  WORD  = which calls\n"
	     "            advice=NAME{,NAME}       madvise only: FREE DONTNEED HUGEPAGE ...\n"
	     "            length=SIZE | SIZE..[SIZE] | ..SIZE\n"
	     "            kind=anonymous|file      mmap only\n"
	     "          what happens, exactly one of\n"
	     "            error=ERRNO              fail with it (brk: report the old break)\n"
	     "            lie                      answer success and do nothing\n"
	     "            delay=DURATION           wait, then let the call through\n"
	     "            shrink=SHARE             madvise only: do it for that share of the "
	     "length\n"
	     "          when\n"
	     "            when=N | N+ | N+STEP | N..M | N..M+STEP   the n-th such call of a "
	     "thread\n"
	     "            probability=SHARE\n"
	     "            times=N                  at most N times in each thread\n"
	     "            window=DURATION..[DURATION]   since the work began\n"
	     "          and\n"
	     "            name=WORD                in reports, and in inject.NAME.fired\n"
	     "            optional                 not firing is no reason for INCONCLUSIVE\n"
	     "\n"
	     "  --inject 'madvise:advice=FREE:error=EINVAL:when=1+'\n"
	     "\n"
	     "In a scenario the same words are keys; 'fail' and 'error' mean the same:\n"
	     "\n"
	     "  inject:\n"
	     "    - refuse-free: { call: madvise, advice: FREE, fail: EINVAL, window: 0s..3s }\n"
	     "\n"
	     "Only what a kernel could do is accepted: heapquake explain contract.");
}

static void print_contract(void)
{
	puts("What each call may legally show. Rules for anything else are refused; a call that "
	     "does\n"
	     "not meet the condition is let through and not counted as eligible.");
	for (size_t i = 0; i < hq_contract_count; i++)
		hq_explain_contract_row(&hq_contract[i]);
}

static const struct verdict_meaning {
	enum hq_verdict verdict;
	const char *meaning;
} verdict_meanings[] = {
	{ HQ_VERDICT_ERROR, "heapquake itself failed" },
	{ HQ_VERDICT_FAIL, "a finding against the target" },
	{ HQ_VERDICT_XPASS, "a known failure was not seen" },
	{ HQ_VERDICT_INCONCLUSIVE, "quiet, but something required never happened" },
	{ HQ_VERDICT_SKIP, "a capability is missing; the reason says which" },
	{ HQ_VERDICT_XFAIL, "a known failure was seen" },
	{ HQ_VERDICT_PASS, "no finding, every required rule fired, every recorder complete" },
};

static void print_verdict(const struct verdict_meaning *row)
{
	printf("%-13s %s\n", hq_verdict_name(row->verdict), row->meaning);
}

static void print_verdicts(void)
{
	for (size_t i = 0; i < sizeof(verdict_meanings) / sizeof(*verdict_meanings); i++)
		print_verdict(&verdict_meanings[i]);
	puts("\n"
	     "Where verdicts are joined, the upper one wins. Exit statuses: heapquake explain "
	     "exit.");
}

bool hq_explain_verdict(const char *name)
{
	for (size_t i = 0; i < sizeof(verdict_meanings) / sizeof(*verdict_meanings); i++) {
		if (strcasecmp(hq_verdict_name(verdict_meanings[i].verdict), name) == 0) {
			print_verdict(&verdict_meanings[i]);
			return true;
		}
	}
	return false;
}

static void print_exit(void)
{
	hq_help_exit_statuses(stdout);
}

static void print_expect(void)
{
	puts("An expectation is METRIC OP VALUE, with OP one of <= >= < > == != and VALUE one of\n"
	     "\n"
	     "  a number with the metric's unit          rss.idle(5s) <= 64MiB\n"
	     "  [number *] clean                         latency.malloc.p99_9 <= 3 * clean\n"
	     "  [number *] another metric                rss.peak <= 2 * heap.requested_peak\n"
	     "\n"
	     "and the last two may go on with '+ number'. 'clean' is the same metric in runs "
	     "without\n"
	     "faults, which alternate with the others. Metrics: heapquake explain metrics.\n"
	     "\n"
	     "A bound against 'clean' is broken when the ranks of the runs say so and would say "
	     "it\n"
	     "by chance in at most 1 of 1,000 cases (run: false-alarm), which takes 7 pairs of "
	     "runs.\n"
	     "It holds as soon as the ranks say that, with at most 1 in 20 (run: missed): 3 "
	     "pairs,\n"
	     "usually. When all pairs have run and neither is so, the case is INCONCLUSIVE.\n"
	     "\n"
	     "Without any expectation the checkers still hold: heapquake list checkers.");
}

static void print_guard(void)
{
	puts("--guard puts a library between any program and its allocator, and judges each call:\n"
	     "\n"
	     "  the allocator   overlap, alignment, calloc-zero, realloc, usable-size, errno,\n"
	     "                  null-errno\n"
	     "  the program     program-free: a free of what is no live block (it is not handed "
	     "on)\n"
	     "                  program-tail: a write behind a block\n"
	     "\n"
	     "  --guard          every block; malloc and free take 2 to 5 times as long\n"
	     "  --guard=canary   known bytes behind every block as well: 8 to 15 bytes more each\n"
	     "  --guard=1/64     one block in 64, the others are handed on after a look at a "
	     "word;\n"
	     "                   unknown frees are not judged\n"
	     "\n"
	     "A finding tells the block, its size, who allocated and who freed it where (of the "
	     "last\n"
	     "32,768 addresses or so), its live neighbours, and the calls that led there. "
	     "Metrics:\n"
	     "guard.calls, guard.left_blocks, guard.left_bytes (what was not freed at exit).\n"
	     "\n"
	     "It takes 1/32 of what is live, 1 MiB, and address space: 33 MiB, and 1 MiB for each\n"
	     "32 MiB where blocks are. Where a limit leaves no room for that, blocks are not "
	     "watched,\n"
	     "and a gap says so. In a scenario: target: { guard: full }.");
}

static void print_contracts(void)
{
	puts("Checkers that a scenario asks for. Most hold in every run and need not be named, "
	     "unless\n"
	     "their options are to be set; those on request look only where they are asked for:\n"
	     "\n"
	     "  contracts:\n"
	     "    - idle-falls: { within: 3s, keep: 25% }\n"
	     "\n"
	     "  --contract idle-falls:within=3s:keep=25%\n"
	     "\n"
	     "heapquake list checkers names them, heapquake explain NAME tells what each promises, "
	     "what\n"
	     "it must have seen, and its options.");
}

static void print_keys(const char *section)
{
	for (const struct hq_scenario_key *key = hq_scenario_keys; key->section; key++) {
		if (strcmp(key->section, section) == 0)
			printf("  %-12s %s\n", key->name, key->help);
	}
}

static void print_scenario(void)
{
	puts("A scenario is a YAML file:\n");
	print_keys("");
	puts("\nMore: heapquake explain target, inject, rule, expect, contracts, known, run.");
}

static void print_target(void)
{
	puts("What is put to the test:\n");
	print_keys("target");
	puts("\n{run} in an argument stands for the folder of the run. With a 'command' there is "
	     "no\n"
	     "'workload'. LD_PRELOAD is heapquake's own.");
}

static void print_inject(void)
{
	puts("A list of what goes wrong. An item with 'call' is a rule (heapquake explain rule), "
	     "any\n"
	     "other an injector with its options (heapquake list injectors):\n"
	     "\n"
	     "  inject:\n"
	     "    - refuse-free: { call: madvise, advice: FREE, fail: EINVAL }\n"
	     "    - migrate: { rate: 500/s }\n"
	     "    - often: { injector: migrate, rate: 5k/s, optional: true }\n");
	print_keys("inject");
}

static void print_known(void)
{
	puts("What is known to fail, and why; a version fits every version that begins with it:\n"
	     "\n"
	     "  known:\n"
	     "    mimalloc-2.0.9: { verdict: fail, because: \"spins while madvise answers EAGAIN\" "
	     "}\n");
	print_keys("known");
}

/* The default of memory-cap is no constant: it depends on the machine. */
bool hq_explain_run_options(const char *only)
{
	bool found = false;

	for (const struct hq_option *option = hq_run_option_table; option->name; option++) {
		struct hq_option one[] = { *option, { .name = NULL } };

		if (only && strcmp(option->name, only) != 0)
			continue;
		if (strcmp(option->name, "memory-cap") == 0)
			one[0].fallback = NULL;
		hq_explain_options(one, "default: three quarters of what is available");
		found = true;
	}
	return found;
}

static void print_run(void)
{
	puts("How a scenario is run:\n");
	hq_explain_run_options(NULL);
}

static void print_mechanism(void)
{
	puts("How matching system calls are caught, all without root:\n"
	     "\n"
	     "  auto    trap where it works, else notify\n"
	     "  trap    in the thread itself: cheapest, and can do everything\n"
	     "  notify  by a supervisor: static programs, other libcs, valgrind; cannot shrink\n"
	     "  static  by the kernel's filter alone: only 'fail' and 'lie', always, uncounted");
}

static void print_units(void)
{
	puts("Units are compulsory:\n"
	     "\n"
	     "  SIZE      64B 4KiB 1.5MiB 2GiB        kB and MB are refused as ambiguous\n"
	     "  DURATION  10ns 5us 20ms 1.5s 3m 1h\n"
	     "  COUNT     400 400k 2M 1G              thousands\n"
	     "  RATE      500/s 2.5k/s\n"
	     "  SHARE     25% 0.25\n"
	     "  SIZES     64B, 1KiB..2KiB uniform, 16B..4KiB log");
}

const struct hq_explain_topic hq_explain_topics[] = {
	{ "contract", "which faults a kernel could produce", print_contract },
	{ "contracts", "checkers that a scenario asks for", print_contracts },
	{ "exit", "exit statuses", print_exit },
	{ "expect", "the language of expectations", print_expect },
	{ "guard", "the heap guard before any program", print_guard },
	{ "inject", "rules and injectors in a scenario", print_inject },
	{ "known", "known failures in a scenario", print_known },
	{ "mechanism", "how system calls are caught", print_mechanism },
	{ "metrics", "every metric, with unit and source", hq_explain_metrics },
	{ "rule", "the language of rules", print_rule },
	{ "run", "how a scenario is run", print_run },
	{ "scenario", "the keys of a scenario file", print_scenario },
	{ "target", "what is put to the test", print_target },
	{ "units", "how numbers are written", print_units },
	{ "verdicts", "PASS, FAIL and the others", print_verdicts },
	{ NULL, NULL, NULL },
};
