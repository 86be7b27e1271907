/* SPDX-License-Identifier: MIT */
/*
 * Rules as text: the inline form that parses back to an equal rule, and the name of a rule that was
 * given none.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "injectors/names.h"
#include "injectors/units.h"

static const char *action_text(const struct hq_rule *rule)
{
	switch (rule->action) {
	case HQ_ACTION_FAIL:
		return hq_errno_name((int)rule->error);
	case HQ_ACTION_LIE:
		return "lie";
	case HQ_ACTION_DELAY:
		return "delay";
	default:
		return "shrink";
	}
}

/* "madvise-EAGAIN", "brk-mmap-ENOMEM", "4-calls-delay". */
void hq_rule_make_name(const struct hq_rule *rule, char name[HQ_RULE_NAME_SIZE])
{
	const int count = __builtin_popcount(rule->calls);
	size_t used = 0;

	if (count > 2)
		used = (size_t)snprintf(name, HQ_RULE_NAME_SIZE, "%d-calls-", count);
	for (uint32_t call = 0; count <= 2 && call < HQ_CALL_COUNT; call++)
		if (rule->calls & 1u << call)
			used += (size_t)snprintf(name + used, HQ_RULE_NAME_SIZE - used, "%s-",
						 hq_call_names[call]);
	snprintf(name + used, HQ_RULE_NAME_SIZE - used, "%s", action_text(rule));
}

struct out {
	char *text;
	size_t size;
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *format, ...)
{
	va_list arguments;

	if (out->used >= out->size)
		return;
	va_start(arguments, format);
	out->used +=
		(size_t)vsnprintf(out->text + out->used, out->size - out->used, format, arguments);
	va_end(arguments);
}

static void put_names(struct out *out, const struct hq_rule *rule)
{
	const char *separator = "";

	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++) {
		if (rule->calls & 1u << call) {
			put(out, "%s%s", separator, hq_call_names[call]);
			separator = ",";
		}
	}
	separator = ":advice=";
	for (int advice = 0; advice < 64; advice++) {
		if (rule->advices >> advice & 1) {
			put(out, "%s%s", separator, hq_advice_name(advice) + 5);
			separator = ",";
		}
	}
}

static void put_arguments(struct out *out, const struct hq_rule *rule)
{
	char from[HQ_UNITS_TEXT], to[HQ_UNITS_TEXT];

	if (rule->length_min == rule->length_max)
		put(out, ":length=%s", hq_units_print_size(from, rule->length_min));
	else if (rule->length_max != UINT64_MAX)
		put(out, ":length=%s..%s", hq_units_print_size(from, rule->length_min),
		    hq_units_print_size(to, rule->length_max));
	else if (rule->length_min != 0)
		put(out, ":length=%s..", hq_units_print_size(from, rule->length_min));
	if (rule->mapping != HQ_MAPPING_ANY)
		put(out, ":kind=%s", rule->mapping == HQ_MAPPING_FILE ? "file" : "anonymous");
}

static void put_action(struct out *out, const struct hq_rule *rule)
{
	char text[HQ_UNITS_TEXT];

	switch (rule->action) {
	case HQ_ACTION_FAIL:
		put(out, ":error=%s", hq_errno_name((int)rule->error));
		break;
	case HQ_ACTION_LIE:
		put(out, ":lie");
		break;
	case HQ_ACTION_DELAY:
		put(out, ":delay=%s", hq_units_print_duration(text, rule->delay_ns));
		break;
	case HQ_ACTION_SHRINK:
		put(out, ":shrink=%s", hq_units_print_share(text, rule->shrink));
		break;
	}
}

static void put_when(struct out *out, const struct hq_rule *rule)
{
	const bool is_single = rule->when_first == rule->when_last;

	if (rule->when_first == 1 && rule->when_last == UINT64_MAX && rule->when_step == 1)
		return;
	put(out, ":when=%" PRIu64, rule->when_first);
	if (rule->when_last == UINT64_MAX)
		put(out, "+");
	else if (!is_single)
		put(out, "..%" PRIu64 "%s", rule->when_last, rule->when_step != 1 ? "+" : "");
	if (rule->when_step != 1 && !is_single)
		put(out, "%" PRIu64, rule->when_step);
}

static void put_chance(struct out *out, const struct hq_rule *rule)
{
	char from[HQ_UNITS_TEXT], to[HQ_UNITS_TEXT];

	if (rule->probability != HQ_RULE_ALWAYS)
		put(out, ":probability=%s",
		    hq_units_print_share(from, (double)rule->probability / HQ_RULE_TWO_TO_64));
	if (rule->times != UINT64_MAX)
		put(out, ":times=%s", hq_units_print_count(from, rule->times));
	if (rule->window_start_ns == 0 && rule->window_end_ns == UINT64_MAX)
		return;
	put(out, ":window=%s..%s", hq_units_print_duration(from, rule->window_start_ns),
	    rule->window_end_ns == UINT64_MAX ? ""
					      : hq_units_print_duration(to, rule->window_end_ns));
}

const char *hq_rule_print(const struct hq_rule *rule, char *text, size_t size)
{
	struct out out = { .text = text, .size = size };
	char usual[HQ_RULE_NAME_SIZE];

	put_names(&out, rule);
	put_arguments(&out, rule);
	put_action(&out, rule);
	put_when(&out, rule);
	put_chance(&out, rule);
	if (!rule->required)
		put(&out, ":optional");
	hq_rule_make_name(rule, usual);
	if (strcmp(usual, rule->name) != 0)
		put(&out, ":name=%s", rule->name);
	return text;
}
