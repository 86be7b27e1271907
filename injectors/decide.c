/* SPDX-License-Identifier: MIT */
/*
 * Matching and deciding. Linked into the controller and into the preloaded library, where it runs
 * in a signal handler of a process that may be broken: no allocation, no lock, no libc, no clock.
 * Whether a rule fires is a pure function of (seed, rule, thread key, n, fired); what other threads
 * do never enters it.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "injectors/syscall/judge.h"

/* Indexed by enum hq_call. */
static const long call_numbers[HQ_CALL_COUNT] = {
	[HQ_CALL_BRK] = SYS_brk,           [HQ_CALL_MADVISE] = SYS_madvise,
	[HQ_CALL_MINCORE] = SYS_mincore,   [HQ_CALL_MMAP] = SYS_mmap,
	[HQ_CALL_MPROTECT] = SYS_mprotect, [HQ_CALL_MREMAP] = SYS_mremap,
	[HQ_CALL_MUNMAP] = SYS_munmap,     [HQ_CALL_PROCESS_MADVISE] = SYS_process_madvise,
};

long hq_call_number(enum hq_call call)
{
	return call_numbers[call];
}

enum hq_call hq_call_of_number(long number)
{
	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++)
		if (call_numbers[call] == number)
			return (enum hq_call)call;
	return HQ_CALL_COUNT;
}

uint64_t hq_call_length(enum hq_call call, const uint64_t args[6])
{
	switch (call) {
	case HQ_CALL_BRK:
	case HQ_CALL_PROCESS_MADVISE:
		return 0;
	case HQ_CALL_MREMAP:
		return args[2];
	default:
		return args[1];
	}
}

/* The kernel takes the advice as an int: the upper half of the register is ignored. */
static bool advice_matches(const struct hq_rule *rule, uint64_t advice_register)
{
	const uint32_t advice = (uint32_t)advice_register;

	if (rule->advices == 0)
		return true;
	return advice < 64 && (rule->advices >> advice & 1);
}

static bool mapping_matches(const struct hq_rule *rule, uint64_t flags)
{
	const bool anonymous = (flags & MAP_ANONYMOUS) != 0;

	return rule->mapping == HQ_MAPPING_ANY ||
	       anonymous == (rule->mapping == HQ_MAPPING_ANONYMOUS);
}

bool hq_rule_matches(const struct hq_rule *rule, enum hq_call call, const uint64_t args[6])
{
	const int advice = hq_call_advice_argument(call);

	if (!(rule->calls & 1u << call))
		return false;
	if (advice >= 0 && !advice_matches(rule, args[advice]))
		return false;
	if (call == HQ_CALL_MMAP && !mapping_matches(rule, args[3]))
		return false;
	if (!hq_call_has_length(call))
		return true;
	const uint64_t length = hq_call_length(call, args);

	return length >= rule->length_min && length <= rule->length_max;
}

/* The finalizer of splitmix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t value)
{
	value += 0x9e3779b97f4a7c15ull;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

static uint64_t hash_of_call(uint64_t seed, uint32_t rule_index, uint64_t thread_key, uint64_t n)
{
	return mix(mix(mix(mix(seed) ^ rule_index) ^ thread_key) ^ n);
}

bool hq_rule_fires(const struct hq_rule *rule, uint32_t rule_index, uint64_t seed,
		   uint64_t thread_key, uint64_t n, uint64_t fired)
{
	if (n < rule->when_first || n > rule->when_last || fired >= rule->times)
		return false;
	if ((n - rule->when_first) % rule->when_step != 0)
		return false;
	return rule->probability == HQ_RULE_ALWAYS ||
	       hash_of_call(seed, rule_index, thread_key, n) < rule->probability;
}

bool hq_rule_in_window(const struct hq_rule *rule, uint64_t since_gate_ns)
{
	return since_gate_ns >= rule->window_start_ns && since_gate_ns < rule->window_end_ns;
}

uint64_t hq_thread_key(uint64_t parent_key, uint64_t child_index)
{
	const uint64_t key = mix(mix(parent_key) ^ child_index);

	return key ? key : 1; /* 0 marks an empty slot. */
}

/* ---- one call against all rules ---- */

static bool has_window(const struct hq_rule *rule)
{
	return rule->window_start_ns != 0 || rule->window_end_ns != UINT64_MAX;
}

bool hq_judge_needs_clock(const struct hq_plane *plane)
{
	for (uint32_t i = 0; i < plane->rule_count; i++)
		if (has_window(&plane->rules[i]))
			return true;
	return false;
}

static bool gate_lets(const struct hq_plane *plane, const struct hq_rule *rule, uint64_t now_ns)
{
	/* Pairs with the controller's release: gate_open_ns is written before the gate opens. */
	if (!hq_load_acquire(&plane->gate))
		return false;
	if (!has_window(rule))
		return true;
	const uint64_t opened_ns = hq_load_relaxed(&plane->gate_open_ns);

	return hq_rule_in_window(rule, now_ns > opened_ns ? now_ns - opened_ns : 0);
}

static const struct hq_contract_row *row_of(const struct hq_rule *rule,
					    const struct hq_judge_call *call)
{
	const int argument = hq_call_advice_argument(call->call);
	const int advice = argument >= 0 ? (int)call->args[argument] : -1;
	const struct hq_contract_row *row = hq_contract_find(
		call->call, (enum hq_action)rule->action, (int)rule->error, advice);

	if (row && !hq_contract_met(row, call->args, call->current_break, call->splits))
		return NULL;
	return row;
}

struct hq_judgement hq_judge(const struct hq_plane *plane, struct hq_plane_thread *thread,
			     const struct hq_judge_call *call)
{
	const uint64_t key = hq_load_relaxed(&thread->key);
	struct hq_judgement judgement = { .rule = NULL };

	for (uint32_t i = 0; i < plane->rule_count && i < HQ_RULES_MAX; i++) {
		const struct hq_rule *rule = &plane->rules[i];
		struct hq_plane_count *count = &thread->counts[i];
		const struct hq_contract_row *row;

		if (!hq_rule_matches(rule, call->call, call->args))
			continue;
		hq_count_own(&count->seen, 1);
		if (!gate_lets(plane, rule, call->now_ns) || !(row = row_of(rule, call)))
			continue;
		hq_count_own(&count->eligible, 1);
		const uint64_t n = hq_load_relaxed(&count->seen);
		const uint64_t fired = hq_load_relaxed(&count->fired);

		if (judgement.rule || !hq_rule_fires(rule, i, plane->seed, key, n, fired))
			continue;
		hq_count_own(&count->fired, 1);
		judgement =
			(struct hq_judgement){ .rule = rule, .row = row, .n = n, .rule_index = i };
	}
	return judgement;
}

void hq_judge_record(struct hq_plane_thread *thread, const struct hq_judgement *judgement,
		     const struct hq_judge_call *call, uint64_t time_ns, int64_t result)
{
	const int64_t index = hq_ring_reserve(&thread->ring, HQ_PLANE_FAULTS);
	const int advice = hq_call_advice_argument(call->call);

	if (index < 0)
		return;
	thread->faults[index] = (struct hq_fault){
		.time_ns = time_ns,
		.n = judgement->n,
		.args = { call->args[0], call->args[1], call->args[advice > 2 ? advice : 2] },
		.result = result,
		.rule = judgement->rule_index,
		.call = call->call,
	};
	hq_ring_publish(&thread->ring);
}

uint64_t hq_judge_shrunk(const struct hq_rule *rule, uint64_t length, uint64_t page_bytes)
{
	const uint64_t share = (uint64_t)((double)length * rule->shrink);

	return share > length ? length : share / page_bytes * page_bytes;
}
