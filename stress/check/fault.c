/* SPDX-License-Identifier: MIT */
/*
 * Faults in words. Whatever a reader is shown of them says that it was injected by us, and by which
 * rule, so that nobody searches a kernel for a failure that we made.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "injectors/rule.h"
#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/value.h"

const char *hq_since_gate(const struct hq_observations *observations, uint64_t time_ns,
			  char text[HQ_UNITS_TEXT])
{
	char number[HQ_UNITS_TEXT - 1];

	text[0] = '\0';
	if (observations->gate_open_ns == 0 || time_ns < observations->gate_open_ns)
		return text;
	hq_value_print(number, sizeof(number), HQ_UNIT_NS,
		       (double)(time_ns - observations->gate_open_ns));
	snprintf(text, HQ_UNITS_TEXT, "+%s", number);
	return text;
}

/* A target may set any errno, also those that no call of the kernel plane knows. */
const char *hq_errno_print(uint64_t value, char text[HQ_UNITS_TEXT])
{
	const char *known = value > 0 && value < 4096 ? strerrorname_np((int)value) : NULL;

	if (known)
		snprintf(text, HQ_UNITS_TEXT, "%s", known);
	else
		snprintf(text, HQ_UNITS_TEXT, "%" PRIu64, value);
	return text;
}

const char *hq_fault_result(const struct hq_fault *fault, char text[HQ_UNITS_TEXT])
{
	if (fault->result < 0 && fault->result > -4096)
		snprintf(text, HQ_UNITS_TEXT, "%s", hq_errno_name((int)-fault->result));
	else if (fault->result == 0)
		snprintf(text, HQ_UNITS_TEXT, "0");
	else
		snprintf(text, HQ_UNITS_TEXT, "0x%" PRIx64, (uint64_t)fault->result);
	return text;
}

const char *hq_fault_rule(const struct hq_observations *observations, const struct hq_fault *fault)
{
	return fault->rule < observations->rule_count ? observations->rules[fault->rule].name : "?";
}

/* The third argument: an advice by its name, all else as it is. */
static void print_last_argument(const struct hq_fault *fault, char text[HQ_UNITS_TEXT])
{
	const char *advice = NULL;

	if (hq_call_advice_argument((enum hq_call)fault->call) >= 0 && fault->args[2] < 256)
		advice = hq_advice_name((int)fault->args[2]);
	if (advice)
		snprintf(text, HQ_UNITS_TEXT, "%s", advice);
	else
		snprintf(text, HQ_UNITS_TEXT, "0x%" PRIx64, fault->args[2]);
}

const char *hq_fault_print(const struct hq_observations *observations,
			   const struct hq_fault_seen *seen, char text[HQ_FAULT_TEXT])
{
	const struct hq_fault *fault = &seen->fault;
	const char *call = fault->call < HQ_CALL_COUNT ? hq_call_name(fault->call) : "?";
	char result[HQ_UNITS_TEXT], last[HQ_UNITS_TEXT];

	hq_fault_result(fault, result);
	print_last_argument(fault, last);
	if (fault->call == HQ_CALL_BRK)
		snprintf(text, HQ_FAULT_TEXT, "rule '%s': brk(0x%" PRIx64 ") answered %s",
			 hq_fault_rule(observations, fault), fault->args[0], result);
	else
		snprintf(text, HQ_FAULT_TEXT,
			 "rule '%s': %s(0x%" PRIx64 ", %" PRIu64 ", %s) answered %s",
			 hq_fault_rule(observations, fault), call, fault->args[0], fault->args[1],
			 last, result);
	return text;
}

const struct hq_fault_seen *hq_fault_before(const struct hq_observations *observations,
					    uint64_t time_ns, uint64_t within_ns)
{
	const struct hq_fault_seen *best = NULL;

	for (size_t i = 0; i < observations->fault_count; i++) {
		const struct hq_fault_seen *seen = &observations->faults[i];

		if (seen->fault.time_ns > time_ns || time_ns - seen->fault.time_ns > within_ns)
			continue;
		if (!best || seen->fault.time_ns >= best->fault.time_ns)
			best = seen;
	}
	return best;
}

void hq_evidence_fault(const struct hq_observations *observations, uint64_t time_ns,
		       const char *label, struct hq_finding *finding)
{
	const struct hq_fault_seen *seen = hq_fault_before(observations, time_ns, UINT64_MAX);
	char text[HQ_FAULT_TEXT], since[HQ_UNITS_TEXT];

	if (!seen)
		return;
	hq_since_gate(observations, seen->fault.time_ns, since);
	hq_evidence_line(finding, "%s%s%s, in thread %d: %s", label, since[0] ? ", " : "", since,
			 (int)seen->tid, hq_fault_print(observations, seen, text));
}
