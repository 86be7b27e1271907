/* SPDX-License-Identifier: MIT */
/*
 * A plan as a scenario file that runs again. Everything is written out, defaults included, so that
 * a later version with other defaults still does the same.
 */
#include "stress/plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/plan/allocator.h"
#include "stress/plan/guard.h"
#include "stress/plan/words.h"

#define OPTION_ROOM 1024

/* Text that YAML takes as it is everywhere, also inside { }. */
static bool is_plain(const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "+-._/()*%<>=?; ";
	static const char first[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/";
	const size_t length = strlen(text);

	return length > 0 && strchr(first, text[0]) && text[strspn(text, plain)] == '\0' &&
	       text[length - 1] != ' ';
}

static void print_quoted(FILE *stream, const char *text)
{
	fputc('"', stream);
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(stream, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(stream, "\\x%02x", c);
		else
			fputc(c, stream);
	}
	fputc('"', stream);
}

static void print_text(FILE *stream, const char *text)
{
	if (is_plain(text))
		fputs(text, stream);
	else
		print_quoted(stream, text);
}

/* Text of the user's own, which other YAML readers would take for a number or a truth value. */
static void print_string(FILE *stream, const char *text)
{
	static const char *const truths[] = { "true", "false", "yes", "no", "on", "off", "null" };
	bool is_string = is_plain(text) && !(text[0] >= '0' && text[0] <= '9');

	for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++)
		is_string = is_string && strcasecmp(text, truths[i]) != 0;
	if (is_string)
		fputs(text, stream);
	else
		print_quoted(stream, text);
}

static void print_entry(FILE *stream, const char *indent, const char *key, const char *value)
{
	fprintf(stream, "%s%s: ", indent, key);
	print_text(stream, value);
	fputc('\n', stream);
}

static void print_words(FILE *stream, const char *indent, const char *key, char *const *words)
{
	fprintf(stream, "%s%s: [", indent, key);
	for (size_t i = 0; words[i]; i++) {
		fputs(i ? ", " : "", stream);
		print_string(stream, words[i]);
	}
	fputs("]\n", stream);
}

static void print_tags(const struct hq_plan *plan, FILE *stream)
{
	char **tags;

	if (hq_words_split_at(plan->tags, " ", &tags) == 0 && tags)
		print_words(stream, "", "tags", tags);
	hq_words_free(tags);
}

/* ---- target and work ---- */

static void print_env(const struct hq_plan *plan, FILE *stream)
{
	fputs("  env:\n", stream);
	for (size_t i = 0; plan->env[i]; i++) {
		const char *equals = strchr(plan->env[i], '=');

		fprintf(stream, "    %.*s: ", (int)(equals - plan->env[i]), plan->env[i]);
		print_string(stream, equals + 1);
		fputc('\n', stream);
	}
}

static void print_target(const struct hq_plan *plan, FILE *stream)
{
	const bool is_named = hq_allocator_is_known(plan->allocator) ||
			      strcmp(plan->allocator, HQ_ALLOCATOR_OWN) == 0;
	char stop[32], guard[32];

	fputs("target:\n", stream);
	print_entry(stream, "  ", "allocator", is_named ? plan->allocator : plan->library);
	if (plan->guard_every)
		print_entry(stream, "  ", "guard", hq_guard_print(plan, guard, sizeof(guard)));
	if (plan->env)
		print_env(plan, stream);
	if (plan->command)
		print_words(stream, "  ", "command", plan->command);
	if (plan->driver)
		print_words(stream, "  ", "driver", plan->driver);
	if (plan->needs)
		print_words(stream, "  ", "needs", plan->needs);
	if (plan->ready_file[0]) {
		fputs("  ready: { file: ", stream);
		print_text(stream, plan->ready_file);
		fputs(" }\n", stream);
	}
	if (plan->command) {
		snprintf(stop, sizeof(stop), "SIG%s", sigabbrev_np(plan->stop_signal));
		print_entry(stream, "  ", "stop", stop);
	}
}

/* "threads: 4, rows: 400k", led by `separator` if there is any. */
static void print_options(const struct hq_option *table, const void *values, const char *separator,
			  FILE *stream)
{
	char text[OPTION_ROOM];

	for (const struct hq_option *option = table; option && option->name; option++) {
		fprintf(stream, "%s%s: ", separator, option->name);
		print_text(stream, hq_option_print(option, values, text, sizeof(text)));
		separator = ", ";
	}
}

static void print_workload(const struct hq_plan *plan, FILE *stream)
{
	if (!plan->workload)
		return;
	fprintf(stream, "workload:\n  %s: {", plan->workload->name);
	print_options(plan->workload->options, plan->workload_options, " ", stream);
	fputs(" }\n", stream);
}

/* ---- what goes wrong ---- */

static void print_rule_word(const char *word, const char **separator, FILE *stream)
{
	const char *equals = strchr(word, '=');
	const int length = equals ? (int)(equals - word) : (int)strlen(word);

	if (strncmp(word, "name=", 5) == 0)
		return;
	fprintf(stream, "%s%.*s: ", *separator, length, word);
	print_text(stream, equals ? equals + 1 : "true");
	*separator = ", ";
}

/* The inline form, word by word, as a map. */
static void print_rule(const struct hq_rule *rule, FILE *stream)
{
	const char *separator = ", ";
	char text[512], **words;

	if (hq_words_split_at(hq_rule_print(rule, text, sizeof(text)), ":", &words) || !words)
		return;
	fputs("  - ", stream);
	print_text(stream, rule->name);
	fputs(": { call: ", stream);
	print_text(stream, words[0]);
	for (size_t i = 1; words[i]; i++)
		print_rule_word(words[i], &separator, stream);
	fputs(" }\n", stream);
	hq_words_free(words);
}

static void print_injection(const struct hq_injection *injection, FILE *stream)
{
	fputs("  - ", stream);
	print_text(stream, injection->name);
	fprintf(stream, ": { injector: %s", injection->injector->name);
	print_options(injection->injector->options, injection->options, ", ", stream);
	fputs(injection->required ? " }\n" : ", optional: true }\n", stream);
}

static void print_inject(const struct hq_plan *plan, FILE *stream)
{
	if (plan->rule_count + plan->injection_count == 0)
		return;
	fputs("inject:\n", stream);
	for (size_t i = 0; i < plan->rule_count; i++)
		print_rule(&plan->rules[i], stream);
	for (size_t i = 0; i < plan->injection_count; i++)
		print_injection(&plan->injections[i], stream);
}

/* ---- what must hold, and how ---- */

static void print_expect(const struct hq_plan *plan, FILE *stream)
{
	if (plan->expectation_count == 0)
		return;
	fputs("expect:\n", stream);
	for (size_t i = 0; i < plan->expectation_count; i++) {
		fputs("  - ", stream);
		print_text(stream, plan->expectations[i].text);
		fputc('\n', stream);
	}
}

static void print_contracts(const struct hq_plan *plan, FILE *stream)
{
	fputs(plan->contract_count ? "contracts:\n" : "", stream);
	for (size_t i = 0; i < plan->contract_count; i++) {
		const struct hq_asked *contract = &plan->contracts[i];
		const bool has_options = contract->checker->options != NULL;

		fprintf(stream, "  - %s%s", contract->checker->name, has_options ? ": {" : "");
		print_options(contract->checker->options, contract->options, " ", stream);
		fputs(has_options ? " }\n" : "\n", stream);
	}
}

static void print_known(const struct hq_plan *plan, FILE *stream)
{
	const struct hq_known *known = &plan->known;

	if (!known->present)
		return;
	fprintf(stream, "known:\n  %s:\n", plan->family);
	print_entry(stream, "    ", "verdict",
		    known->verdict == HQ_VERDICT_INCONCLUSIVE ? "inconclusive" : "fail");
	print_entry(stream, "    ", "because", known->because);
	if (known->sometimes)
		print_entry(stream, "    ", "sometimes", "true");
	if (known->checkers[0])
		print_entry(stream, "    ", "checker", known->checkers);
}

static void print_run(const struct hq_plan *plan, FILE *stream)
{
	static const char *const mechanisms[] = {
		[HQ_MECHANISM_AUTO] = "auto",     [HQ_MECHANISM_TRAP] = "trap",
		[HQ_MECHANISM_NOTIFY] = "notify", [HQ_MECHANISM_STATIC] = "static",
		[HQ_MECHANISM_NONE] = "auto",
	};
	static const char *const countings[] = {
		[HQ_COUNTING_AUTO] = "auto",
		[HQ_COUNTING_ALWAYS] = "always",
		[HQ_COUNTING_NEVER] = "never",
	};
	char text[HQ_UNITS_TEXT];

	fputs("run:\n", stream);
	print_entry(stream, "  ", "timeout", hq_units_print_duration(text, plan->timeout_ns));
	print_entry(stream, "  ", "hang", hq_units_print_duration(text, plan->hang_ns));
	print_entry(stream, "  ", "settle", hq_units_print_duration(text, plan->settle_ns));
	print_entry(stream, "  ", "sample", hq_units_print_duration(text, plan->sample_period_ns));
	print_entry(stream, "  ", "statistics",
		    hq_units_print_duration(text, plan->stats_period_ns));
	print_entry(stream, "  ", "calls", countings[plan->calls]);
	print_entry(stream, "  ", "counters", countings[plan->counters]);
	fprintf(stream, "  pairs: %" PRIu32 "\n", plan->pairs);
	fprintf(stream, "  false-alarm: %g%%\n", plan->confidence.false_alarm * 100.0);
	fprintf(stream, "  missed: %g%%\n", plan->confidence.missed * 100.0);
	print_entry(stream, "  ", "memory-cap", hq_units_print_size(text, plan->memory_cap_bytes));
	print_entry(stream, "  ", "mechanism", mechanisms[plan->mechanism]);
	fprintf(stream, "  seed: %" PRIu64 "\n", plan->seed);
}

int hq_plan_print(const struct hq_plan *plan, FILE *stream)
{
	print_entry(stream, "", "question", plan->question);
	print_entry(stream, "", "name", plan->scenario);
	print_tags(plan, stream);
	print_target(plan, stream);
	print_workload(plan, stream);
	print_inject(plan, stream);
	print_expect(plan, stream);
	print_contracts(plan, stream);
	print_known(plan, stream);
	print_run(plan, stream);
	return ferror(stream) ? -EIO : 0;
}
