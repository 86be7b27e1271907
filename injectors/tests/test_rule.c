/* SPDX-License-Identifier: MIT */
/*
 * The rule language: what each word sets, what is refused and with which sentence, and that what is
 * printed parses back to an equal rule.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/rule.h"

static struct hq_rule parsed(const char *text)
{
	struct hq_rule rule;
	struct hq_error error = { "" };

	cr_assert_eq(hq_rule_parse(text, &rule, &error), 0, "%s: %s", text, error.text);
	return rule;
}

static void refuses(const char *text, const char *sentence)
{
	struct hq_rule rule;
	struct hq_error error = { "" };

	cr_assert_eq(hq_rule_parse(text, &rule, &error), -EINVAL, "%s was accepted", text);
	cr_assert(strstr(error.text, sentence), "%s: '%s' lacks '%s'", text, error.text, sentence);
}

Test(rule, without_restrictions_means_every_call)
{
	const struct hq_rule rule = parsed("madvise:error=EAGAIN");

	cr_assert_eq(rule.calls, 1u << HQ_CALL_MADVISE);
	cr_assert_eq(rule.action, HQ_ACTION_FAIL);
	cr_assert_eq(rule.error, EAGAIN);
	cr_assert_eq(rule.advices, 0);
	cr_assert_eq(rule.length_min, 0);
	cr_assert_eq(rule.length_max, UINT64_MAX);
	cr_assert_eq(rule.when_first, 1);
	cr_assert_eq(rule.when_last, UINT64_MAX);
	cr_assert_eq(rule.when_step, 1);
	cr_assert_eq(rule.probability, HQ_RULE_ALWAYS);
	cr_assert_eq(rule.times, UINT64_MAX);
	cr_assert_eq(rule.window_end_ns, UINT64_MAX);
	cr_assert_eq(rule.required, 1);
	cr_assert_eq(rule.reserved, 0);
	cr_assert_str_eq(rule.name, "madvise-EAGAIN");
}

Test(rule, with_every_word_sets_every_field)
{
	const struct hq_rule rule =
		parsed("madvise:advice=FREE,MADV_DONTNEED:length=4KiB..1MiB:delay=20ms:when=3..9+2:"
		       "probability=25%:times=5:window=500ms..3s:optional:name=slow-free");

	cr_assert_eq(rule.advices, 1ull << MADV_FREE | 1ull << MADV_DONTNEED);
	cr_assert_eq(rule.length_min, 4096);
	cr_assert_eq(rule.length_max, 1u << 20);
	cr_assert_eq(rule.action, HQ_ACTION_DELAY);
	cr_assert_eq(rule.delay_ns, 20000000);
	cr_assert_eq(rule.when_first, 3);
	cr_assert_eq(rule.when_last, 9);
	cr_assert_eq(rule.when_step, 2);
	cr_assert_eq(rule.probability, 1ull << 62);
	cr_assert_eq(rule.times, 5);
	cr_assert_eq(rule.window_start_ns, 500000000);
	cr_assert_eq(rule.window_end_ns, 3000000000);
	cr_assert_eq(rule.required, 0);
	cr_assert_str_eq(rule.name, "slow-free");
}

Test(rule, of_a_scenario_takes_fail_and_flags_as_keys)
{
	struct hq_rule rule;
	struct hq_error error;

	hq_rule_init(&rule);
	cr_assert_eq(hq_rule_set(&rule, "fail", "EINVAL", &error), 0);
	cr_assert_eq(hq_rule_set(&rule, "optional", "true", &error), 0);
	cr_assert_eq(hq_rule_set(&rule, "lie", "false", &error), 0);
	cr_assert_eq(hq_rule_set(&rule, "call", "madvise", &error), 0);
	cr_assert_eq(hq_rule_set(&rule, "advice", "FREE", &error), 0);
	cr_assert_eq(hq_rule_finish(&rule, &error), 0, "%s", error.text);
	cr_assert_eq(rule.error, EINVAL);
	cr_assert_eq(rule.required, 0);
}

Test(rule, when_speaks_the_forms_of_strace)
{
	static const struct {
		const char *text;
		uint64_t first, last, step;
	} forms[] = {
		{ "madvise:lie:when=3", 3, 3, 1 },
		{ "madvise:lie:when=3+", 3, UINT64_MAX, 1 },
		{ "madvise:lie:when=3+2", 3, UINT64_MAX, 2 },
		{ "madvise:lie:when=3..9", 3, 9, 1 },
		{ "madvise:lie:when=3..9+2", 3, 9, 2 },
		{ "madvise:lie:when=3..3+2", 3, 3, 1 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct hq_rule rule = parsed(forms[i].text);

		cr_expect_eq(rule.when_first, forms[i].first, "%s", forms[i].text);
		cr_expect_eq(rule.when_last, forms[i].last, "%s", forms[i].text);
		cr_expect_eq(rule.when_step, forms[i].step, "%s", forms[i].text);
	}
}

Test(rule, when_in_a_wrong_spelling_is_refused)
{
	static const char *const spellings[] = {
		"0",      "x",   "-1",    "3-",   "3++",   "3+0",
		"3+x",    "3..", "..3",   "3..x", "3...9", "3..9+",
		"3..9+0", "3 ",  "3+2+1", "1e3",  "3..0",  "99999999999999999999"
	};

	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "madvise:lie:when=%s", spellings[i]);
		refuses(text, "when=");
	}
	refuses("madvise:lie:when=9..3", "is empty");
	refuses("madvise:lie:when=", "needs a value");
}

Test(rule, length_takes_one_size_or_a_range_with_open_ends)
{
	const struct hq_rule exact = parsed("mmap:error=ENOMEM:length=64KiB");
	const struct hq_rule above = parsed("mmap:error=ENOMEM:length=1MiB..");
	const struct hq_rule below = parsed("mmap:error=ENOMEM:length=..1MiB");

	cr_assert_eq(exact.length_min, 65536);
	cr_assert_eq(exact.length_max, 65536);
	cr_assert_eq(above.length_min, 1u << 20);
	cr_assert_eq(above.length_max, UINT64_MAX);
	cr_assert_eq(below.length_min, 0);
	cr_assert_eq(below.length_max, 1u << 20);
}

Test(rule, names_several_calls_and_is_named_after_them)
{
	const struct hq_rule two = parsed("brk,mmap:error=ENOMEM");
	const struct hq_rule four = parsed("mmap,munmap,mremap,mprotect:delay=1ms");

	cr_assert_eq(two.calls, 1u << HQ_CALL_BRK | 1u << HQ_CALL_MMAP);
	cr_assert_str_eq(two.name, "brk-mmap-ENOMEM");
	cr_assert_str_eq(four.name, "4-calls-delay");
}

Test(rule, with_an_unknown_name_is_refused_with_a_suggestion)
{
	refuses("madvice:error=EAGAIN", "unknown call 'madvice'; did you mean 'madvise'?");
	refuses("madvise:eror=EAGAIN", "unknown word 'eror'; did you mean 'error'?");
	refuses("madvise:error=EAGIAN", "unknown errno 'EAGIAN'; did you mean 'EAGAIN'?");
	refuses("madvise:advice=DONTNED:lie", "unknown advice 'DONTNED'; did you mean 'DONTNEED'?");
	refuses("mmap:kind=anonymus:error=ENOMEM", "did you mean 'anonymous'?");
	refuses("open:error=ENOENT", "unknown call 'open'");
}

Test(rule, without_call_or_action_is_refused)
{
	refuses("", "needs a value");
	refuses("madvise", "does nothing");
	refuses("madvise:when=3", "does nothing");
	refuses("madvise,:lie", "empty call name");
	refuses("madvise:advice=FREE,,COLD:lie", "empty advice name");
	refuses("madvise:", "unknown word ''");
}

Test(rule, with_two_actions_or_a_word_twice_is_refused)
{
	refuses("madvise:error=EAGAIN:lie", "one thing");
	refuses("madvise:delay=1ms:error=EAGAIN", "one thing");
	refuses("madvise:error=EAGAIN:fail=EINVAL", "one thing");
	refuses("madvise:lie:when=3:when=4", "'when' is given twice");
	refuses("madvise:lie:call=mmap", "'call' is given twice");
}

Test(rule, that_could_never_fire_is_refused)
{
	refuses("madvise:lie:window=3s..3s", "is empty");
	refuses("madvise:lie:window=3s..1s", "is empty");
	refuses("madvise:lie:window=3s", "is no range");
	refuses("madvise:lie:window=..3s", "is no range");
	refuses("madvise:lie:probability=0", "never fires");
	refuses("madvise:lie:times=0", "never fires");
	refuses("madvise:delay=0s", "does nothing");
	refuses("madvise:advice=FREE:shrink=1", "between 0 and 1");
	refuses("mmap:error=ENOMEM:length=1MiB..4KiB", "is empty");
	refuses("mmap:error=ENOMEM:length=..", "names no bound");
}

Test(rule, with_a_bad_unit_is_refused)
{
	struct hq_rule rule;
	struct hq_error error;
	static const char *const texts[] = {
		"mmap:error=ENOMEM:length=64",  "madvise:delay=20",
		"mmap:error=ENOMEM:length=1MB", "madvise:lie:window=0..3",
		"madvise:lie:probability=25",   "madvise:lie:times=x"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_eq(hq_rule_parse(texts[i], &rule, &error), -EINVAL, "%s", texts[i]);
}

Test(rule, whose_words_do_not_fit_its_calls_is_refused)
{
	refuses("mmap:advice=FREE:error=ENOMEM", "madvise, process_madvise or both");
	refuses("mmap,madvise:advice=FREE:delay=1ms", "madvise, process_madvise or both");
	refuses("munmap:kind=file:error=ENOMEM", "mmap alone");
	refuses("brk:length=4KiB:error=ENOMEM", "brk has no length");
	refuses("process_madvise:length=4KiB:error=ENOMEM", "process_madvise has no length");
}

Test(rule, that_no_kernel_could_carry_out_is_refused)
{
	refuses("munmap:error=EINVAL", "munmap never fails with EINVAL; it can with: ENOMEM");
	refuses("mmap:lie", "mmap cannot lie");
	refuses("munmap:lie", "munmap cannot lie");
	refuses("brk:error=EAGAIN", "brk never fails with EAGAIN");
	refuses("mincore:error=ENOMEM",
		"mincore never fails with ENOMEM; it can with: EAGAIN EPERM ENOSYS");
	refuses("mmap,madvise:error=EAGAIN", "mmap never fails with EAGAIN");
	refuses("madvise:advice=WILLNEED:error=EINVAL", "madvise MADV_WILLNEED never fails");
	refuses("mmap:shrink=50%", "mmap cannot be shrunk");
	refuses("madvise:advice=DONTDUMP:shrink=50%", "MADV_DONTDUMP cannot be shrunk");
}

Test(rule, with_a_bad_name_is_refused)
{
	refuses("madvise:lie:name=", "needs a value");
	refuses("madvise:lie:name=a b", "letters, digits");
	refuses("madvise:lie:name=abcdefghijklmnopqrstuvwxyz0123456789", "1 to 31 characters");
	refuses("madvise:lie:optional=maybe", "either true or false");
}

Test(rule, that_is_too_long_is_refused)
{
	char text[600];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	refuses(text, "at most");
}

Test(rule, printed_parses_back_to_an_equal_rule)
{
	static const char *const texts[] = {
		"madvise:error=EAGAIN",
		"madvise:advice=DONTNEED,FREE:lie:when=3",
		"madvise:advice=DONTNEED:shrink=0.3:when=3+",
		"mmap:kind=anonymous:error=ENOMEM:length=1MiB..:when=3+2",
		"mmap:kind=file:delay=1500us:length=..64KiB",
		"mmap:error=ENOMEM:length=64KiB:when=3..9",
		"munmap:error=ENOMEM:when=3..9+2:probability=0.1",
		"brk,mmap,mremap:error=ENOMEM:probability=0.000001:times=3",
		"mprotect:error=ENOMEM:window=0s..3s:optional",
		"madvise:delay=20ms:window=500ms..:name=slow",
		"madvise:lie:probability=33.3%",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct hq_rule rule = parsed(texts[i]);
		struct hq_rule again;
		char text[512];

		hq_rule_print(&rule, text, sizeof(text));
		again = parsed(text);
		cr_expect_eq(memcmp(&rule, &again, sizeof(rule)), 0, "%s printed as %s", texts[i],
			     text);
	}
}

Test(rule, printed_uses_the_words_of_the_inline_form)
{
	const struct hq_rule rule = parsed("madvise:when=1+:error=EAGAIN:advice=MADV_FREE");
	char text[512];

	cr_assert_str_eq(hq_rule_print(&rule, text, sizeof(text)),
			 "madvise:advice=FREE:error=EAGAIN");
}

Test(rule, printed_into_little_room_is_cut_and_terminated)
{
	const struct hq_rule rule = parsed("madvise:advice=FREE:error=EAGAIN:when=3");
	char text[12];

	cr_assert_str_eq(hq_rule_print(&rule, text, sizeof(text)), "madvise:adv");
}

Test(names, of_errnos_go_both_ways_and_numbers_stand_for_the_rest)
{
	cr_assert_str_eq(hq_errno_name(EAGAIN), "EAGAIN");
	cr_assert_eq(hq_errno_value("ENOMEM"), ENOMEM);
	cr_assert_eq(hq_errno_value("ENOSUCH"), 0);
	cr_assert_str_eq(hq_errno_name(4000), "E4000");
}

Test(names, of_advice_go_both_ways_with_and_without_prefix)
{
	cr_assert_str_eq(hq_advice_name(MADV_FREE), "MADV_FREE");
	cr_assert_null(hq_advice_name(7));
	cr_assert_eq(hq_advice_value("FREE"), MADV_FREE);
	cr_assert_eq(hq_advice_value("MADV_FREE"), MADV_FREE);
	cr_assert_eq(hq_advice_value("FREEZE"), -1);
}

Test(names, of_calls_and_their_numbers_belong_together)
{
	for (uint32_t call = 0; call < HQ_CALL_COUNT; call++)
		cr_expect_eq(hq_call_of_number(hq_call_number((enum hq_call)call)), call, "%s",
			     hq_call_name((enum hq_call)call));
	cr_assert_eq(hq_call_of_number(-1), HQ_CALL_COUNT);
}
