/* SPDX-License-Identifier: MIT */
/*
 * Parsing and checking of rules. The grammar stands in rule.h, printing is in rule_print.c.
 *
 * Every error says what was written, what is wrong with it and what would be right. A rule is
 * checked in two steps: each word alone (hq_rule_set), then the whole against the contract table
 * (hq_rule_finish), since a scenario gives the words in any order.
 *
 * Between init and finish the field `reserved` holds a bit for each word that was given, and
 * `action` is ACTION_NONE until one was named; finish leaves 0 and one action.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/contract.h"
#include "injectors/names.h"
#include "injectors/rule.h"
#include "injectors/units.h"

#define ACTION_NONE UINT32_MAX

struct word {
	const char *key;
	bool is_flag; /* may stand without a value */
	int (*set)(struct hq_rule *rule, const char *value, struct hq_error *error);
};

/* ---- lists of names ---- */

static int unknown_word(struct hq_error *error, const char *what, const char *word,
			const char *const *list)
{
	const char *near = hq_suggest(word, list);

	if (near)
		return hq_error_set(error, "unknown %s '%s'; did you mean '%s'?", what, word, near);
	return hq_error_set(error, "unknown %s '%s'", what, word);
}

/* Calls `add` for each part of a list separated by commas. */
static int for_each_name(const char *list, const char *what, struct hq_rule *rule,
			 int (*add)(struct hq_rule *rule, const char *name, struct hq_error *error),
			 struct hq_error *error)
{
	const char *part = list;

	for (;;) {
		const size_t length = strcspn(part, ",");
		char name[HQ_RULE_NAME_SIZE];
		int ret;

		if (length == 0)
			return hq_error_set(error, "empty %s name in '%s'", what, list);
		if (length >= sizeof(name))
			return hq_error_set(error, "unknown %s '%.*s'", what, (int)length, part);
		memcpy(name, part, length);
		name[length] = '\0';
		ret = add(rule, name, error);
		if (ret)
			return ret;
		if (part[length] == '\0')
			return 0;
		part += length + 1;
	}
}

static int add_call(struct hq_rule *rule, const char *name, struct hq_error *error)
{
	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++) {
		if (strcmp(name, hq_call_names[call]) == 0) {
			rule->calls |= 1u << call;
			return 0;
		}
	}
	return unknown_word(error, "call", name, hq_call_names);
}

static int add_advice(struct hq_rule *rule, const char *name, struct hq_error *error)
{
	const int advice = hq_advice_value(name);

	if (advice < 0)
		return unknown_word(error, "advice", name, hq_advice_words);
	rule->advices |= 1ull << advice;
	return 0;
}

/* ---- words ---- */

static int set_call(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	return for_each_name(value, "call", rule, add_call, error);
}

static int set_advice(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	return for_each_name(value, "advice", rule, add_advice, error);
}

/*
 * Splits "A..B", "A..", "..B" at the dots into two texts; an end that is missing is empty. Returns
 * false if there are no dots.
 */
static bool split_range(const char *text, char from[64], char to[64])
{
	const char *dots = strstr(text, "..");

	if (!dots || (size_t)(dots - text) >= 64)
		return false;
	memcpy(from, text, (size_t)(dots - text));
	from[dots - text] = '\0';
	snprintf(to, 64, "%s", dots + 2);
	return true;
}

static int set_length(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	char from[64], to[64];
	int ret = 0;

	if (!split_range(value, from, to)) {
		ret = hq_units_parse_size(value, &rule->length_min, error);
		rule->length_max = rule->length_min;
		return ret;
	}
	if (from[0] == '\0' && to[0] == '\0')
		return hq_error_set(error, "length '%s' names no bound; write 4KiB..1MiB", value);
	if (from[0] != '\0')
		ret = hq_units_parse_size(from, &rule->length_min, error);
	if (ret == 0 && to[0] != '\0')
		ret = hq_units_parse_size(to, &rule->length_max, error);
	if (ret == 0 && rule->length_min > rule->length_max)
		return hq_error_set(error, "length '%s' is empty: it ends before it starts", value);
	return ret;
}

static int set_kind(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	static const char *const kinds[] = { "anonymous", "file", NULL };

	if (strcmp(value, kinds[0]) == 0)
		rule->mapping = HQ_MAPPING_ANONYMOUS;
	else if (strcmp(value, kinds[1]) == 0)
		rule->mapping = HQ_MAPPING_FILE;
	else
		return unknown_word(error, "kind of mapping", value, kinds);
	return 0;
}

static int take_action(struct hq_rule *rule, enum hq_action action, struct hq_error *error)
{
	if (rule->action != ACTION_NONE)
		return hq_error_set(error, "a rule does one thing: error, lie, delay or shrink; "
					   "write a second rule for the second");
	rule->action = action;
	return 0;
}

static int set_error(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	const char *words[HQ_ERRNO_WORDS];
	const int number = hq_errno_value(value);

	if (number == 0) {
		hq_errno_words(words, HQ_ERRNO_WORDS);
		return unknown_word(error, "errno", value, words);
	}
	rule->error = (uint32_t)number;
	return take_action(rule, HQ_ACTION_FAIL, error);
}

static int parse_flag(const char *key, const char *value, bool *flag, struct hq_error *error)
{
	if (value[0] == '\0' || strcmp(value, "true") == 0 || strcmp(value, "yes") == 0)
		*flag = true;
	else if (strcmp(value, "false") == 0 || strcmp(value, "no") == 0)
		*flag = false;
	else
		return hq_error_set(error, "'%s' is either true or false, not '%s'", key, value);
	return 0;
}

static int set_lie(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	bool lie = false;
	const int ret = parse_flag("lie", value, &lie, error);

	return ret || !lie ? ret : take_action(rule, HQ_ACTION_LIE, error);
}

static int set_delay(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	const int ret = hq_units_parse_duration(value, &rule->delay_ns, error);

	if (ret)
		return ret;
	if (rule->delay_ns == 0)
		return hq_error_set(error, "a delay of 0 does nothing");
	return take_action(rule, HQ_ACTION_DELAY, error);
}

static int set_shrink(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	const int ret = hq_units_parse_share(value, &rule->shrink, error);

	if (ret)
		return ret;
	if (rule->shrink <= 0 || rule->shrink >= 1)
		return hq_error_set(error, "shrink=%s: the share that is done lies between 0 and 1",
				    value);
	return take_action(rule, HQ_ACTION_SHRINK, error);
}

/* Reads a whole number from 1 at *text and moves *text behind it. */
static bool take_number(const char **text, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*number = strtoull(*text, &end, 10);
	*text = end;
	return errno == 0 && *number > 0;
}

/* The five forms of strace: N, N+, N+STEP, N..M, N..M+STEP. */
static bool parse_when(struct hq_rule *rule, const char *text)
{
	if (!take_number(&text, &rule->when_first))
		return false;
	rule->when_last = rule->when_first;
	rule->when_step = 1;
	if (strncmp(text, "..", 2) == 0) {
		text += 2;
		if (!take_number(&text, &rule->when_last))
			return false;
	} else if (*text == '+') {
		rule->when_last = UINT64_MAX;
		if (text[1] == '\0')
			return true;
	}
	if (*text == '+') {
		text++;
		if (!take_number(&text, &rule->when_step))
			return false;
	}
	if (rule->when_first == rule->when_last)
		rule->when_step = 1; /* One call has no step: equal rules are equal structs. */
	return *text == '\0';
}

static int set_when(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	if (!parse_when(rule, value))
		return hq_error_set(error,
				    "when=%s: calls are counted from 1; write 3, 3+, 3+2, 3..9 or "
				    "3..9+2",
				    value);
	if (rule->when_last < rule->when_first)
		return hq_error_set(error, "when=%s is empty: it ends before it starts", value);
	return 0;
}

static int set_probability(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	double share;
	const int ret = hq_units_parse_share(value, &share, error);

	if (ret)
		return ret;
	if (share <= 0)
		return hq_error_set(error, "a probability of 0 never fires");
	rule->probability = share >= 1 ? HQ_RULE_ALWAYS : (uint64_t)(share * HQ_RULE_TWO_TO_64);
	if (rule->probability == 0)
		rule->probability = 1;
	return 0;
}

static int set_times(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	const int ret = hq_units_parse_count(value, &rule->times, error);

	if (ret == 0 && rule->times == 0)
		return hq_error_set(error, "times=0 never fires");
	return ret;
}

static int set_window(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	char from[64], to[64];
	int ret;

	if (!split_range(value, from, to) || from[0] == '\0')
		return hq_error_set(error, "window '%s' is no range; write 0s..3s or 500ms..",
				    value);
	ret = hq_units_parse_duration(from, &rule->window_start_ns, error);
	if (ret == 0 && to[0] != '\0')
		ret = hq_units_parse_duration(to, &rule->window_end_ns, error);
	if (ret == 0 && rule->window_start_ns >= rule->window_end_ns)
		return hq_error_set(error, "window '%s' is empty: it must end after it starts",
				    value);
	return ret;
}

static int set_optional(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	bool optional = false;
	const int ret = parse_flag("optional", value, &optional, error);

	if (ret == 0)
		rule->required = !optional;
	return ret;
}

static int set_name(struct hq_rule *rule, const char *value, struct hq_error *error)
{
	const size_t length = strlen(value);

	if (length == 0 || length >= HQ_RULE_NAME_SIZE)
		return hq_error_set(error, "name '%s': 1 to %d characters", value,
				    HQ_RULE_NAME_SIZE - 1);
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)value[i]) && !strchr("-_", value[i]))
			return hq_error_set(error, "name '%s': letters, digits, '-' and '_' only",
					    value);
	memcpy(rule->name, value, length + 1);
	return 0;
}

/* `fail` comes first: it is the scenario's word, and "error" near "errno" suggests better. */
static const struct word words[] = {
	{ "advice", false, set_advice },
	{ "call", false, set_call },
	{ "delay", false, set_delay },
	{ "error", false, set_error },
	{ "fail", false, set_error },
	{ "kind", false, set_kind },
	{ "length", false, set_length },
	{ "lie", true, set_lie },
	{ "name", false, set_name },
	{ "optional", true, set_optional },
	{ "probability", false, set_probability },
	{ "shrink", false, set_shrink },
	{ "times", false, set_times },
	{ "when", false, set_when },
	{ "window", false, set_window },
};

#define WORD_COUNT (sizeof(words) / sizeof(words[0]))

static int find_word(const char *key, uint32_t *index, struct hq_error *error)
{
	const char *keys[WORD_COUNT + 1] = { NULL };

	for (uint32_t i = 0; i < WORD_COUNT; i++) {
		keys[i] = words[i].key;
		if (strcmp(key, words[i].key) == 0) {
			*index = i;
			return 0;
		}
	}
	return unknown_word(error, "word", key, keys);
}

void hq_rule_init(struct hq_rule *rule)
{
	memset(rule, 0, sizeof(*rule));
	rule->action = ACTION_NONE;
	rule->length_max = UINT64_MAX;
	rule->when_first = 1;
	rule->when_last = UINT64_MAX;
	rule->when_step = 1;
	rule->probability = HQ_RULE_ALWAYS;
	rule->times = UINT64_MAX;
	rule->window_end_ns = UINT64_MAX;
	rule->required = 1;
}

int hq_rule_set(struct hq_rule *rule, const char *key, const char *value, struct hq_error *error)
{
	uint32_t index = 0;
	const int ret = find_word(key, &index, error);

	if (ret)
		return ret;
	if (rule->reserved & 1u << index)
		return hq_error_set(error, "'%s' is given twice", key);
	if (!words[index].is_flag && (!value || value[0] == '\0'))
		return hq_error_set(error, "'%s' needs a value", key);
	rule->reserved |= 1u << index;
	return words[index].set(rule, value ? value : "", error);
}

/* ---- the rule as a whole ---- */

/* " EAGAIN ENOMEM": what this call can fail with. */
static void list_errors(enum hq_call call, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < hq_contract_count; i++) {
		const struct hq_contract_row *row = &hq_contract[i];
		const char *name = hq_errno_name(row->error);

		if (row->call != call || row->action != HQ_ACTION_FAIL || strstr(text, name))
			continue;
		used += (size_t)snprintf(text + used, size - used, " %s", name);
	}
}

static int illegal(const struct hq_rule *rule, enum hq_call call, int advice,
		   struct hq_error *error)
{
	const char *of = advice < 0 ? "" : hq_advice_name(advice);
	char errors[128];

	if (rule->action == HQ_ACTION_SHRINK)
		return hq_error_set(error,
				    "%s%s%s cannot be shrunk: no kernel does part of it and "
				    "reports success",
				    hq_call_names[call], *of ? " " : "", of);
	if (rule->action == HQ_ACTION_LIE)
		return hq_error_set(error,
				    "%s%s%s cannot lie: no kernel reports success and does "
				    "nothing",
				    hq_call_names[call], *of ? " " : "", of);
	list_errors(call, errors, sizeof(errors));
	return hq_error_set(error, "%s%s%s never fails with %s; it can with:%s",
			    hq_call_names[call], *of ? " " : "", of,
			    hq_errno_name((int)rule->error), errors);
}

static bool legal(const struct hq_rule *rule, enum hq_call call, int advice)
{
	return hq_contract_find(call, (enum hq_action)rule->action, (int)rule->error, advice);
}

/* Each named advice must be able to show the fault; without a name, any row of the call will do. */
static int check_contract(const struct hq_rule *rule, enum hq_call call, struct hq_error *error)
{
	if (call != HQ_CALL_MADVISE || rule->advices == 0)
		return legal(rule, call, -1) ? 0 : illegal(rule, call, -1, error);
	for (int advice = 0; advice < 64; advice++)
		if ((rule->advices >> advice & 1) && !legal(rule, call, advice))
			return illegal(rule, call, advice, error);
	return 0;
}

static int check_words_fit(const struct hq_rule *rule, struct hq_error *error)
{
	if (rule->advices != 0 && rule->calls & ~HQ_CALLS_ADVISING)
		return hq_error_set(error,
				    "'advice' needs a rule for madvise, process_madvise or both");
	if (rule->mapping != HQ_MAPPING_ANY && rule->calls != 1u << HQ_CALL_MMAP)
		return hq_error_set(error, "'kind' needs a rule for mmap alone");
	if (rule->length_min == 0 && rule->length_max == UINT64_MAX)
		return 0;
	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++)
		if ((rule->calls & 1u << call) && !hq_call_has_length((enum hq_call)call))
			return hq_error_set(error, "%s has no length", hq_call_names[call]);
	return 0;
}

int hq_rule_finish(struct hq_rule *rule, struct hq_error *error)
{
	int ret;

	if (rule->calls == 0)
		return hq_error_set(error, "the rule names no call; add call: madvise");
	if (rule->action == ACTION_NONE)
		return hq_error_set(error,
				    "the rule does nothing; add error, lie, delay or shrink");
	ret = check_words_fit(rule, error);
	for (uint32_t call = 0; ret == 0 && call < HQ_CALL_COUNT; call++)
		if (rule->calls & 1u << call)
			ret = check_contract(rule, (enum hq_call)call, error);
	if (ret)
		return ret;
	if (rule->name[0] == '\0')
		hq_rule_make_name(rule, rule->name);
	rule->reserved = 0;
	return 0;
}

int hq_rule_parse(const char *text, struct hq_rule *rule, struct hq_error *error)
{
	char copy[512];
	const char *key = "call";
	char *value = copy;
	int ret = 0;

	if (strlen(text) >= sizeof(copy))
		return hq_error_set(error, "a rule has at most %zu characters", sizeof(copy) - 1);
	strcpy(copy, text);
	hq_rule_init(rule);
	for (char *part = copy; ret == 0 && part;) {
		char *next = strchr(part, ':');

		if (next)
			*next++ = '\0';
		if (part != copy) {
			value = part + strcspn(part, "=");
			if (*value == '=')
				*value++ = '\0';
			key = part;
		}
		ret = hq_rule_set(rule, key, value, error);
		part = next;
	}
	return ret ? ret : hq_rule_finish(rule, error);
}
