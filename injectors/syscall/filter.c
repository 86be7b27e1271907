/* SPDX-License-Identifier: MIT */
/*
 * Compiles rules into a seccomp filter. Linked into the target as well: no allocation, no libc.
 *
 * The program has four parts, and a call that no rule names leaves after the second:
 *
 *   1  other architectures and x32 are let through
 *   2  one comparison for each call of interest; no match: let through
 *   3  for each such call its rules: advice, length, kind of mapping; a match puts the answer
 *      into the filter's memory cell and goes on to
 *   4  the ranges of code: only a call that comes from one of them gets the answer. The guarded
 *      calls begin with the ranges that are for them alone and fall into those for all
 *
 * With `guard_sigsys` some more calls are treated: rt_sigprocmask, rt_sigaction and the waits of
 * guard.h, which could block the signal that the trap needs (the kernel kills a process that traps
 * while SIGSYS is blocked), and clone3, which can reset handlers in a child (CLONE_CLEAR_SIGHAND,
 * used by newer posix_spawn) behind a pointer that a filter cannot read: it is answered ENOSYS, and
 * every C library falls back to clone.
 *
 * Jumps of classic BPF reach 255 instructions forward. Within one rule they are short; every way
 * out of a rule that could be longer uses the unconditional jump, which has 32 bits.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "injectors/contract.h"
#include "injectors/syscall/filter.h"
#include "injectors/syscall/guard.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define X32_BIT      0x40000000u
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define FIELD(name)  ((uint32_t)offsetof(struct seccomp_data, name))
#define LOW(offset)  (offset) /* Both architectures are little-endian. */
#define HIGH(offset) ((offset) + 4)
#define ARG(i)       (FIELD(args) + (uint32_t)(i)*8)

#define NEXT_RULE   0xff /* placeholder in a conditional jump, patched when the rule ends */
#define ANSWER_CELL 0

/* Jumps to part 4 hold one of these as their distance until it is known. */
#define TO_RANGES       UINT32_MAX
#define TO_GUARD_RANGES (UINT32_MAX - 1)
#define TO_END          (UINT32_MAX - 2)

struct builder {
	struct sock_filter *program;
	size_t room;
	size_t length;
	bool overflow;
};

static void emit(struct builder *b, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	if (b->length >= b->room) {
		b->overflow = true;
		return;
	}
	b->program[b->length++] = (struct sock_filter){ .code = code, .jt = jt, .jf = jf, .k = k };
}

static void load(struct builder *b, uint32_t offset)
{
	emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
}

static void answer(struct builder *b, uint32_t value)
{
	emit(b, BPF_RET | BPF_K, 0, 0, value);
}

static void jump_if(struct builder *b, uint16_t test, uint32_t k, uint8_t jt, uint8_t jf)
{
	emit(b, (uint16_t)(BPF_JMP | test | BPF_K), jt, jf, k);
}

/* A match: remember the answer and go on to the ranges. */
static void matched(struct builder *b, uint32_t action, uint32_t ranges)
{
	emit(b, BPF_LD | BPF_IMM, 0, 0, action);
	emit(b, BPF_ST, 0, 0, ANSWER_CELL);
	emit(b, BPF_JMP | BPF_JA, 0, 0, ranges);
}

/*
 * No match: on to the end of the program. A jump and not an answer on the spot, since the kernel's
 * check of memory cells takes an answer for an instruction that the next one follows.
 */
static void missed(struct builder *b)
{
	emit(b, BPF_JMP | BPF_JA, 0, 0, TO_END);
}

/* Makes every placeholder since `start` jump to where the program now ends. */
static void patch_next_rule(struct builder *b, size_t start)
{
	for (size_t i = start; i < b->length; i++) {
		struct sock_filter *insn = &b->program[i];

		if (BPF_CLASS(insn->code) != BPF_JMP || BPF_OP(insn->code) == BPF_JA)
			continue;
		if (insn->jt == NEXT_RULE)
			insn->jt = (uint8_t)(b->length - i - 1);
		if (insn->jf == NEXT_RULE)
			insn->jf = (uint8_t)(b->length - i - 1);
	}
}

/* ---- what a filter can test of a rule ---- */

static void test_at_least(struct builder *b, uint32_t offset, uint64_t bound)
{
	if (bound == 0)
		return;
	load(b, HIGH(offset));
	jump_if(b, BPF_JGT, (uint32_t)(bound >> 32), 3, 0);
	jump_if(b, BPF_JEQ, (uint32_t)(bound >> 32), 0, NEXT_RULE);
	load(b, LOW(offset));
	jump_if(b, BPF_JGE, (uint32_t)bound, 0, NEXT_RULE);
}

static void test_at_most(struct builder *b, uint32_t offset, uint64_t bound)
{
	if (bound == UINT64_MAX)
		return;
	load(b, HIGH(offset));
	jump_if(b, BPF_JGT, (uint32_t)(bound >> 32), NEXT_RULE, 0);
	jump_if(b, BPF_JEQ, (uint32_t)(bound >> 32), 0, 2);
	load(b, LOW(offset));
	jump_if(b, BPF_JGT, (uint32_t)bound, NEXT_RULE, 0);
}

/* One comparison for each advice; the last one that fails leads to the next rule. */
static void test_advice(struct builder *b, int argument, uint64_t advices)
{
	uint32_t left = (uint32_t)__builtin_popcountll(advices);

	if (advices == 0)
		return;
	load(b, LOW(ARG(argument)));
	for (uint32_t advice = 0; advice < 64; advice++) {
		if (!(advices >> advice & 1))
			continue;
		left--;
		jump_if(b, BPF_JEQ, advice, (uint8_t)left, left ? 0 : NEXT_RULE);
	}
}

static void test_mapping(struct builder *b, uint32_t mapping)
{
	if (mapping == HQ_MAPPING_ANY)
		return;
	const bool anonymous = mapping == HQ_MAPPING_ANONYMOUS;

	load(b, LOW(ARG(3)));
	jump_if(b, BPF_JSET, MAP_ANONYMOUS, anonymous ? 0 : NEXT_RULE, anonymous ? NEXT_RULE : 0);
}

/* ---- rules answered in the filter itself ---- */

static bool is_unconditional(const struct hq_rule *rule)
{
	return (rule->action == HQ_ACTION_FAIL || rule->action == HQ_ACTION_LIE) &&
	       rule->when_first == 1 && rule->when_last == UINT64_MAX && rule->when_step == 1 &&
	       rule->probability == HQ_RULE_ALWAYS && rule->times == UINT64_MAX &&
	       rule->window_start_ns == 0 && rule->window_end_ns == UINT64_MAX;
}

/* The advices for which the fault is legal; 0 if it is for all of them. */
static uint64_t legal_advices(const struct hq_rule *rule)
{
	uint64_t legal = 0;

	for (int advice = 0; advice < 64; advice++)
		if (hq_contract_find(HQ_CALL_MADVISE, (enum hq_action)rule->action,
				     (int)rule->error, advice))
			legal |= 1ull << advice;
	return legal == UINT64_MAX ? 0 : legal;
}

/*
 * The filter cannot look at mappings or at the break, so a call whose contract has a condition
 * needs a decider.
 */
static bool is_static_call(const struct hq_rule *rule, enum hq_call call)
{
	if (call == HQ_CALL_MADVISE)
		return true;
	const struct hq_contract_row *row =
		hq_contract_find(call, (enum hq_action)rule->action, (int)rule->error, -1);

	return row && row->condition == HQ_CONDITION_NONE;
}

static bool is_static(const struct hq_rule *rule)
{
	if (!is_unconditional(rule))
		return false;
	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++)
		if ((rule->calls & 1u << call) && !is_static_call(rule, (enum hq_call)call))
			return false;
	return true;
}

static uint32_t static_answer(const struct hq_rule *rule)
{
	return SECCOMP_RET_ERRNO | (rule->action == HQ_ACTION_FAIL ? rule->error : 0);
}

/* ---- the parts ---- */

static uint32_t length_argument(enum hq_call call)
{
	return call == HQ_CALL_MREMAP ? ARG(2) : ARG(1);
}

static void emit_rule(struct builder *b, const struct hq_filter_spec *spec,
		      const struct hq_rule *rule, enum hq_call call)
{
	const size_t start = b->length;
	uint64_t advices = rule->advices;

	if (call == HQ_CALL_MADVISE && spec->action == 0) {
		const uint64_t legal = legal_advices(rule);

		advices = advices && legal ? advices & legal : advices | legal;
	}
	if (hq_call_advice_argument(call) >= 0)
		test_advice(b, hq_call_advice_argument(call), advices);
	if (call == HQ_CALL_MMAP)
		test_mapping(b, rule->mapping);
	if (hq_call_has_length(call)) {
		test_at_least(b, length_argument(call), rule->length_min);
		test_at_most(b, length_argument(call), rule->length_max);
	}
	matched(b, spec->action ? spec->action : static_answer(rule), TO_RANGES);
	patch_next_rule(b, start);
}

static void emit_call(struct builder *b, const struct hq_filter_spec *spec, enum hq_call call)
{
	for (size_t i = 0; i < spec->rule_count; i++)
		if (spec->rules[i].calls & 1u << call)
			emit_rule(b, spec, &spec->rules[i], call);
	missed(b);
}

/* Four instructions. */
static void test_pointer(struct builder *b, uint32_t offset)
{
	load(b, LOW(offset));
	jump_if(b, BPF_JEQ, 0, 0, 2);
	load(b, HIGH(offset));
	jump_if(b, BPF_JEQ, 0, NEXT_RULE, 0);
}

/* Reading a mask and unblocking cannot block SIGSYS; everything else is diverted. */
static void emit_sigprocmask(struct builder *b, const struct hq_filter_spec *spec)
{
	const size_t start = b->length;

	load(b, LOW(ARG(0)));
	jump_if(b, BPF_JEQ, SIG_UNBLOCK, NEXT_RULE, 0);
	test_pointer(b, ARG(1));
	matched(b, spec->action, TO_GUARD_RANGES);
	patch_next_rule(b, start);
	missed(b);
}

/* Asking for an action is harmless, but for SIGSYS, where the program must see its own. */
static void emit_sigaction(struct builder *b, const struct hq_filter_spec *spec)
{
	const size_t start = b->length;

	load(b, LOW(ARG(0)));
	jump_if(b, BPF_JEQ, SIGSYS, 4, 0);
	test_pointer(b, ARG(1));
	matched(b, spec->action, TO_GUARD_RANGES);
	patch_next_rule(b, start);
	missed(b);
}

static void emit_wait(struct builder *b, const struct hq_filter_spec *spec, int mask_argument)
{
	const size_t start = b->length;

	test_pointer(b, ARG(mask_argument));
	matched(b, spec->action, TO_GUARD_RANGES);
	patch_next_rule(b, start);
	missed(b);
}

static uint32_t calls_of_rules(const struct hq_filter_spec *spec)
{
	uint32_t calls = 0;

	for (size_t i = 0; i < spec->rule_count; i++)
		calls |= spec->rules[i].calls;
	return calls;
}

static void emit_architecture(struct builder *b)
{
	load(b, FIELD(arch));
	jump_if(b, BPF_JEQ, ARCHITECTURE, 1, 0);
	answer(b, SECCOMP_RET_ALLOW);
	load(b, FIELD(nr));
#ifdef X32_BIT
	jump_if(b, BPF_JGE, X32_BIT, 0, 1);
	answer(b, SECCOMP_RET_ALLOW);
#endif
}

/* The entry of the dispatch table for `number`, and its place; start_of patches its jump. */
static size_t emit_entry(struct builder *b, long number)
{
	jump_if(b, BPF_JEQ, (uint32_t)number, 0, 1);
	emit(b, BPF_JMP | BPF_JA, 0, 0, 0);
	return b->length - 1;
}

/* The part that begins here is the one of the dispatch entry at `entry`. */
static void start_of(struct builder *b, size_t entry)
{
	if (!b->overflow)
		b->program[entry].k = (uint32_t)(b->length - entry - 1);
}

struct dispatch {
	size_t calls[HQ_CALL_COUNT];
	size_t sigprocmask, sigaction, clone3;
	size_t waits[HQ_GUARDED_WAITS];
};

static void emit_dispatch(struct builder *b, const struct hq_filter_spec *spec, uint32_t calls,
			  struct dispatch *d)
{
	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++)
		if (calls & 1u << call)
			d->calls[call] = emit_entry(b, hq_call_number((enum hq_call)call));
	if (spec->guard_sigsys) {
		d->sigprocmask = emit_entry(b, SYS_rt_sigprocmask);
		d->sigaction = emit_entry(b, SYS_rt_sigaction);
		d->clone3 = emit_entry(b, SYS_clone3);
	}
	for (size_t i = 0; spec->guard_sigsys && i < HQ_GUARDED_WAITS; i++)
		d->waits[i] = emit_entry(b, hq_guarded_waits[i].number);
	answer(b, SECCOMP_RET_ALLOW);
}

static void emit_guards(struct builder *b, const struct hq_filter_spec *spec,
			const struct dispatch *d)
{
	start_of(b, d->sigprocmask);
	emit_sigprocmask(b, spec);
	start_of(b, d->sigaction);
	emit_sigaction(b, spec);
	start_of(b, d->clone3);
	matched(b, SECCOMP_RET_ERRNO | ENOSYS, TO_GUARD_RANGES);
	for (size_t i = 0; i < HQ_GUARDED_WAITS; i++) {
		start_of(b, d->waits[i]);
		emit_wait(b, spec, hq_guarded_waits[i].mask_argument);
	}
}

static void emit_parts(struct builder *b, const struct hq_filter_spec *spec, uint32_t calls,
		       const struct dispatch *d)
{
	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++) {
		if (!(calls & 1u << call))
			continue;
		start_of(b, d->calls[call]);
		emit_call(b, spec, (enum hq_call)call);
	}
	if (spec->guard_sigsys)
		emit_guards(b, spec, d);
}

static void answer_from_cell(struct builder *b)
{
	emit(b, BPF_LD | BPF_MEM, 0, 0, ANSWER_CELL);
	emit(b, BPF_RET | BPF_A, 0, 0, 0);
}

/* One piece of a range within 4 GiB: `low <= ip <= last` where the upper half is `high`. */
static void emit_piece(struct builder *b, uint32_t high, uint32_t low, uint32_t last)
{
	load(b, HIGH(FIELD(instruction_pointer)));
	jump_if(b, BPF_JEQ, high, 0, 5);
	load(b, LOW(FIELD(instruction_pointer)));
	jump_if(b, BPF_JGE, low, 0, 3);
	jump_if(b, BPF_JGT, last, 2, 0);
	answer_from_cell(b);
}

static void emit_range(struct builder *b, uint64_t start, uint64_t end)
{
	while (start < end) {
		const uint64_t next = (start >> 32) + 1;
		const uint64_t last = end - 1;
		const uint64_t stop = (last >> 32) < next ? last : (next << 32) - 1;

		emit_piece(b, (uint32_t)(start >> 32), (uint32_t)start, (uint32_t)stop);
		start = stop + 1;
	}
}

/* Neighbours become one range; the caller gives them in rising order, as the kernel lists them. */
static void emit_ranges(struct builder *b, const struct hq_filter_range *ranges, size_t count)
{
	for (size_t i = 0; i < count;) {
		const uint64_t start = ranges[i].start;
		uint64_t end = ranges[i].end;

		for (i++; i < count && ranges[i].start == end; i++)
			end = ranges[i].end;
		emit_range(b, start, end);
	}
}

/* Makes every jump that holds `placeholder` lead to where the program now ends. */
static void patch_jumps(struct builder *b, uint32_t placeholder)
{
	for (size_t i = 0; i < b->length; i++) {
		struct sock_filter *insn = &b->program[i];

		if (insn->code == (BPF_JMP | BPF_JA) && insn->k == placeholder)
			insn->k = (uint32_t)(b->length - i - 1);
	}
}

static void emit_where(struct builder *b, const struct hq_filter_spec *spec)
{
	patch_jumps(b, TO_GUARD_RANGES);
	emit_ranges(b, spec->guard_ranges, spec->ranges ? spec->guard_range_count : 0);
	patch_jumps(b, TO_RANGES);
	if (spec->ranges)
		emit_ranges(b, spec->ranges, spec->range_count);
	else
		answer_from_cell(b);
	patch_jumps(b, TO_END);
	answer(b, SECCOMP_RET_ALLOW);
}

int hq_filter_build(const struct hq_filter_spec *spec, struct sock_filter *program, size_t room,
		    size_t *length)
{
	struct builder b = { .program = program, .room = room };
	struct dispatch dispatch = { .calls = { 0 } };
	uint32_t calls;

	if (spec->rule_count > HQ_RULES_MAX || spec->range_count > HQ_FILTER_RANGES ||
	    spec->guard_range_count > HQ_FILTER_RANGES)
		return -E2BIG;
	for (size_t i = 0; i < spec->rule_count; i++)
		if (spec->action == 0 && !is_static(&spec->rules[i]))
			return -EINVAL;
	calls = calls_of_rules(spec);
	emit_architecture(&b);
	emit_dispatch(&b, spec, calls, &dispatch);
	emit_parts(&b, spec, calls, &dispatch);
	emit_where(&b, spec);
	if (b.overflow)
		return -E2BIG;
	*length = b.length;
	return 0;
}
