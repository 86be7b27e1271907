/* SPDX-License-Identifier: MIT */
/*
 * Matching and deciding: which calls a rule means, and that a schedule depends on seed, rule,
 * thread and count alone.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "injectors/syscall/judge.h"

#define CALLS 20000u

static struct hq_rule parsed(const char *text)
{
	struct hq_rule rule;
	struct hq_error error;

	cr_assert_eq(hq_rule_parse(text, &rule, &error), 0, "%s: %s", text, error.text);
	return rule;
}

static bool matches(const char *text, enum hq_call call, uint64_t a, uint64_t b, uint64_t c,
		    uint64_t d)
{
	const struct hq_rule rule = parsed(text);
	const uint64_t args[6] = { a, b, c, d, 0, 0 };

	return hq_rule_matches(&rule, call, args);
}

static uint32_t fired_of(const struct hq_rule *rule, uint32_t index, uint64_t seed, uint64_t key,
			 bool *schedule)
{
	uint32_t fired = 0;

	for (uint64_t n = 1; n <= CALLS; n++) {
		schedule[n - 1] = hq_rule_fires(rule, index, seed, key, n, fired);
		fired += schedule[n - 1];
	}
	return fired;
}

Test(matching, of_advice_ignores_the_upper_half_of_the_register)
{
	cr_assert(matches("madvise:advice=FREE:lie", HQ_CALL_MADVISE, 0, 4096, MADV_FREE, 0));
	cr_assert(matches("madvise:advice=FREE:lie", HQ_CALL_MADVISE, 0, 4096,
			  0xffffffff00000000ull | MADV_FREE, 0));
	cr_assert_not(matches("madvise:advice=FREE:lie", HQ_CALL_MADVISE, 0, 4096, MADV_COLD, 0));
	cr_assert_not(matches("madvise:advice=FREE:lie", HQ_CALL_MADVISE, 0, 4096, 72, 0));
	cr_assert(matches("madvise:lie", HQ_CALL_MADVISE, 0, 4096, 102, 0));
}

Test(matching, of_a_call_that_is_not_named_fails)
{
	cr_assert_not(matches("mmap,brk:error=ENOMEM", HQ_CALL_MADVISE, 0, 4096, 4, 0));
	cr_assert(matches("mmap,brk:error=ENOMEM", HQ_CALL_BRK, 0, 0, 0, 0));
}

Test(matching, of_length_is_inclusive_at_both_ends)
{
	const char *text = "mmap:error=ENOMEM:length=4KiB..8KiB";

	cr_assert_not(matches(text, HQ_CALL_MMAP, 0, 4095, 0, 0));
	cr_assert(matches(text, HQ_CALL_MMAP, 0, 4096, 0, 0));
	cr_assert(matches(text, HQ_CALL_MMAP, 0, 8192, 0, 0));
	cr_assert_not(matches(text, HQ_CALL_MMAP, 0, 8193, 0, 0));
}

Test(matching, of_mremap_looks_at_the_new_length)
{
	cr_assert(matches("mremap:error=ENOMEM:length=8KiB", HQ_CALL_MREMAP, 0, 4096, 8192, 0));
	cr_assert_not(matches("mremap:error=ENOMEM:length=8KiB", HQ_CALL_MREMAP, 0, 8192, 4096, 0));
}

Test(matching, of_kind_tells_anonymous_from_file_mappings)
{
	const uint64_t anonymous = MAP_PRIVATE | MAP_ANONYMOUS;

	cr_assert(matches("mmap:kind=anonymous:error=ENOMEM", HQ_CALL_MMAP, 0, 1, 3, anonymous));
	cr_assert_not(matches("mmap:kind=anonymous:error=ENOMEM", HQ_CALL_MMAP, 0, 1, 3, 2));
	cr_assert(matches("mmap:kind=file:error=ENOMEM", HQ_CALL_MMAP, 0, 1, 3, MAP_PRIVATE));
	cr_assert_not(matches("mmap:kind=file:error=ENOMEM", HQ_CALL_MMAP, 0, 1, 3, anonymous));
}

Test(firing, follows_the_forms_of_when)
{
	static const struct {
		const char *text;
		const char *expected; /* for n = 1..12 */
	} forms[] = {
		{ "madvise:lie", "xxxxxxxxxxxx" },
		{ "madvise:lie:when=3", "..x........." },
		{ "madvise:lie:when=3+", "..xxxxxxxxxx" },
		{ "madvise:lie:when=3+2", "..x.x.x.x.x." },
		{ "madvise:lie:when=3..9", "..xxxxxxx..." },
		{ "madvise:lie:when=3..9+2", "..x.x.x.x..." },
		{ "madvise:lie:when=2+:times=3", ".xxx........" },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct hq_rule rule = parsed(forms[i].text);
		uint64_t fired = 0;

		for (uint64_t n = 1; n <= 12; n++) {
			const bool fires = hq_rule_fires(&rule, 0, 42, 1, n, fired);

			cr_expect_eq(fires, forms[i].expected[n - 1] == 'x', "%s at %d",
				     forms[i].text, (int)n);
			fired += fires;
		}
	}
}

Test(firing, with_the_same_seed_gives_the_same_schedule)
{
	const struct hq_rule rule = parsed("madvise:lie:probability=0.3");
	static bool first[CALLS], second[CALLS];

	fired_of(&rule, 2, 42, HQ_THREAD_KEY_MAIN, first);
	fired_of(&rule, 2, 42, HQ_THREAD_KEY_MAIN, second);
	cr_assert_eq(memcmp(first, second, sizeof(first)), 0);
}

/* Two independent schedules of share 0.3 agree in 0.58 of all calls. */
static void expect_independent(const bool *a, const bool *b, const char *what)
{
	uint32_t equal = 0;

	for (uint32_t i = 0; i < CALLS; i++)
		equal += a[i] == b[i];
	cr_expect_gt(equal, CALLS * 0.56, "%s: %u equal", what, equal);
	cr_expect_lt(equal, CALLS * 0.60, "%s: %u equal", what, equal);
}

Test(firing, differs_by_seed_rule_and_thread_without_correlation)
{
	const struct hq_rule rule = parsed("madvise:lie:probability=0.3");
	static bool base[CALLS], other[CALLS];

	fired_of(&rule, 0, 42, HQ_THREAD_KEY_MAIN, base);
	fired_of(&rule, 0, 43, HQ_THREAD_KEY_MAIN, other);
	expect_independent(base, other, "seed");
	fired_of(&rule, 1, 42, HQ_THREAD_KEY_MAIN, other);
	expect_independent(base, other, "rule");
	fired_of(&rule, 0, 42, hq_thread_key(HQ_THREAD_KEY_MAIN, 0), other);
	expect_independent(base, other, "thread");
	memmove(other, base + 1, CALLS - 1);
	expect_independent(base, other, "next call");
}

Test(firing, comes_close_to_the_probability)
{
	static const double shares[] = { 0.01, 0.1, 0.5, 0.9 };
	static bool schedule[CALLS];

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		struct hq_rule rule = parsed("madvise:lie");
		double share;

		rule.probability = (uint64_t)(shares[i] * 18446744073709551616.0);
		share = fired_of(&rule, 0, 7, 99, schedule) / (double)CALLS;
		/* Four standard deviations of 20000 draws are below 0.015. */
		cr_expect_gt(share, shares[i] - 0.015, "%f", share);
		cr_expect_lt(share, shares[i] + 0.015, "%f", share);
	}
}

Test(thread_keys, of_siblings_and_generations_all_differ)
{
	static uint64_t keys[64 * 65];
	size_t count = 0;

	for (uint64_t i = 0; i < 64; i++) {
		const uint64_t child = hq_thread_key(HQ_THREAD_KEY_MAIN, i);

		keys[count++] = child;
		for (uint64_t j = 0; j < 64; j++)
			keys[count++] = hq_thread_key(child, j);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			cr_assert_neq(keys[i], keys[j], "%zu and %zu", i, j);
}

Test(window, is_open_from_its_start_until_before_its_end)
{
	const struct hq_rule rule = parsed("madvise:lie:window=1ms..2ms");

	cr_assert_not(hq_rule_in_window(&rule, 999999));
	cr_assert(hq_rule_in_window(&rule, 1000000));
	cr_assert(hq_rule_in_window(&rule, 1999999));
	cr_assert_not(hq_rule_in_window(&rule, 2000000));
}

/* ---- one call against all rules ---- */

static struct hq_plane *plane_with(const char *first, const char *second)
{
	struct hq_plane *plane = mmap(NULL, sizeof(*plane), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(plane, MAP_FAILED);
	plane->rules[plane->rule_count++] = parsed(first);
	if (second)
		plane->rules[plane->rule_count++] = parsed(second);
	plane->gate = 1;
	plane->threads[0].key = HQ_THREAD_KEY_MAIN;
	return plane;
}

static struct hq_judgement judge(struct hq_plane *plane, uint64_t advice, uint64_t time_ns)
{
	const uint64_t args[6] = { 4096, 4096, advice, 0, 0, 0 };
	const struct hq_judge_call call = { .call = HQ_CALL_MADVISE,
					    .args = args,
					    .now_ns = time_ns };

	return hq_judge(plane, &plane->threads[0], &call);
}

Test(judging, with_the_gate_shut_counts_what_it_sees_and_hits_nothing)
{
	struct hq_plane *plane = plane_with("madvise:error=EAGAIN:when=2", NULL);

	plane->gate = 0;
	cr_assert_null(judge(plane, MADV_FREE, 0).rule);
	cr_assert_eq(plane->threads[0].counts[0].seen, 1);
	cr_assert_eq(plane->threads[0].counts[0].eligible, 0);
	plane->gate = 1;
	cr_assert_eq(judge(plane, MADV_FREE, 0).n, 2);
	cr_assert_null(judge(plane, MADV_FREE, 0).rule);
	cr_assert_eq(plane->threads[0].counts[0].seen, 3);
	cr_assert_eq(plane->threads[0].counts[0].eligible, 2);
	cr_assert_eq(plane->threads[0].counts[0].fired, 1);
}

Test(judging, outside_the_window_is_not_eligible)
{
	struct hq_plane *plane = plane_with("madvise:error=EAGAIN:window=10ns..20ns", NULL);

	plane->gate_open_ns = 100;
	cr_assert(hq_judge_needs_clock(plane));
	cr_assert_null(judge(plane, MADV_FREE, 109).rule);
	cr_assert_not_null(judge(plane, MADV_FREE, 110).rule);
	cr_assert_null(judge(plane, MADV_FREE, 120).rule);
	cr_assert_null(judge(plane, MADV_FREE, 50).rule, "before the gate opened");
	cr_assert_eq(plane->threads[0].counts[0].eligible, 1);
}

Test(judging, by_two_rules_lets_the_first_act_and_counts_for_both)
{
	struct hq_plane *plane = plane_with("madvise:error=EAGAIN:when=2+", "madvise:lie");

	cr_assert_eq(judge(plane, MADV_FREE, 0).rule_index, 1);
	cr_assert_eq(judge(plane, MADV_FREE, 0).rule_index, 0);
	cr_assert_eq(plane->threads[0].counts[0].fired, 1);
	cr_assert_eq(plane->threads[0].counts[1].fired, 1);
	cr_assert_eq(plane->threads[0].counts[1].seen, 2);
	cr_assert_eq(plane->threads[0].counts[1].eligible, 2);
}

Test(judging, leaves_alone_what_the_contract_does_not_allow_for_this_advice)
{
	struct hq_plane *plane = plane_with("madvise:error=EINVAL", NULL);

	cr_assert_null(judge(plane, MADV_WILLNEED, 0).rule);
	cr_assert_not_null(judge(plane, MADV_FREE, 0).rule);
	cr_assert_eq(plane->threads[0].counts[0].seen, 2);
	cr_assert_eq(plane->threads[0].counts[0].eligible, 1);
}

Test(judging, writes_down_what_the_caller_was_told)
{
	struct hq_plane *plane = plane_with("madvise:error=EAGAIN", NULL);
	const uint64_t args[6] = { 4096, 8192, MADV_FREE, 0, 0, 0 };
	const struct hq_judge_call call = { .call = HQ_CALL_MADVISE, .args = args };
	const struct hq_judgement judgement = hq_judge(plane, &plane->threads[0], &call);
	const struct hq_fault *fault = &plane->threads[0].faults[0];

	hq_judge_record(&plane->threads[0], &judgement, &call, 77, -EAGAIN);
	cr_assert_eq(plane->threads[0].ring.head, 1);
	cr_assert_eq(fault->n, 1);
	cr_assert_eq(fault->time_ns, 77);
	cr_assert_eq(fault->args[1], 8192);
	cr_assert_eq(fault->result, -EAGAIN);
	cr_assert_eq(fault->call, HQ_CALL_MADVISE);
}

Test(judging, with_a_full_ring_drops_and_counts_but_still_fires)
{
	struct hq_plane *plane = plane_with("madvise:error=EAGAIN", NULL);
	const uint64_t args[6] = { 0 };
	const struct hq_judge_call call = { .call = HQ_CALL_MADVISE, .args = args };

	for (int i = 0; i < HQ_PLANE_FAULTS + 10; i++) {
		const struct hq_judgement judgement = hq_judge(plane, &plane->threads[0], &call);

		cr_assert_not_null(judgement.rule);
		hq_judge_record(&plane->threads[0], &judgement, &call, 0, -EAGAIN);
	}
	cr_assert_eq(plane->threads[0].counts[0].fired, HQ_PLANE_FAULTS + 10);
	cr_assert_eq(plane->threads[0].ring.head, HQ_PLANE_FAULTS);
	cr_assert_eq(plane->threads[0].ring.dropped, 10);
}

Test(judging, shrinks_to_whole_pages)
{
	const struct hq_rule rule = parsed("madvise:advice=FREE:shrink=50%");

	cr_assert_eq(hq_judge_shrunk(&rule, 8 * 4096, 4096), 4 * 4096);
	cr_assert_eq(hq_judge_shrunk(&rule, 3 * 4096, 4096), 4096);
	cr_assert_eq(hq_judge_shrunk(&rule, 4096, 4096), 0);
	cr_assert_eq(hq_judge_shrunk(&rule, 0, 4096), 0);
}
