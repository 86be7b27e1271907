/* SPDX-License-Identifier: MIT */
/*
 * BEDROCK_CONF: what is accepted, what is refused, and that a refusal spoils nothing else.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "allocator/bedrock/options.h"

static struct bedrock_options options;

static void setup(void)
{
	bedrock_options_init(&options);
	cr_redirect_stderr();
}

TestSuite(options, .init = setup);

Test(options, every_name_sets_its_own_field)
{
	const char *text = "dirty_decay_ms:7,muzzy_decay_ms:-1,background_thread:false,narenas:24,"
			   "percpu_arena:disabled,tcache:false,tcache_max:512,"
			   "oversize_threshold:123456789,retain:true,pressure:false";

	cr_assert_eq(bedrock_options_parse(&options, text), 0);
	cr_assert_eq(options.dirty_decay_ms, 7);
	cr_assert_eq(options.muzzy_decay_ms, -1);
	cr_assert_eq(options.is_background_thread, false);
	cr_assert_eq(options.arena_count, 24);
	cr_assert_eq(options.percpu_arena, BEDROCK_PERCPU_DISABLED);
	cr_assert_eq(options.is_tcache, false);
	cr_assert_eq(options.tcache_max_bytes, 512);
	cr_assert_eq(options.oversize_threshold_bytes, 123456789);
	cr_assert_eq(options.is_retain, true);
	cr_assert_eq(options.is_pressure, false);
}

Test(options, choice_takes_each_of_its_words_and_no_other)
{
	cr_assert_eq(options.thp, BEDROCK_THP_DEFAULT);
	cr_assert_eq(bedrock_options_parse(&options, "thp:always"), 0);
	cr_assert_eq(options.thp, BEDROCK_THP_ALWAYS);
	cr_assert_eq(bedrock_options_parse(&options, "thp:sometimes,thp:,thp:alway"), 3);
	cr_assert_eq(options.thp, BEDROCK_THP_ALWAYS);
	cr_assert_eq(bedrock_options_parse(&options, "thp:never"), 0);
	cr_assert_eq(options.thp, BEDROCK_THP_NEVER);
	cr_assert_eq(bedrock_options_parse(&options, "thp:default"), 0);
	cr_assert_eq(options.thp, BEDROCK_THP_DEFAULT);
}

Test(options, empty_text_and_empty_entries_are_no_error)
{
	cr_assert_eq(bedrock_options_parse(&options, ""), 0);
	cr_assert_eq(bedrock_options_parse(&options, ",,tcache:false,"), 0);
	cr_assert_eq(options.is_tcache, false);
}

Test(options, unknown_name_is_named_and_the_rest_still_counts)
{
	cr_assert_eq(bedrock_options_parse(&options, "dirty_decay:5,narenas:3"), 1);
	cr_assert_eq(options.arena_count, 3);
	cr_assert_stderr_eq_str("bedrock: BEDROCK_CONF: unknown option 'dirty_decay' ignored; "
				"did you mean 'dirty_decay_ms'?\n");
}

Test(options, bad_values_are_refused_and_leave_the_default)
{
	const char *bad[] = {
		"dirty_decay_ms",    "dirty_decay_ms:",   "dirty_decay_ms:-",
		"dirty_decay_ms:-2", "dirty_decay_ms:5s", "dirty_decay_ms:99999999999999999999",
		"narenas:0",         "narenas:257",       "tcache:yes",
		"tcache:",           "percpu_arena:core", "tcache_max:65537",
		"tcache: true",
	};
	struct bedrock_options before = options;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(bedrock_options_parse(&options, bad[i]), 1, "%s", bad[i]);
	cr_assert_eq(options.dirty_decay_ms, before.dirty_decay_ms);
	cr_assert_eq(options.arena_count, before.arena_count);
	cr_assert_eq(options.is_tcache, before.is_tcache);
	cr_assert_eq(options.tcache_max_bytes, before.tcache_max_bytes);
}

Test(options, the_last_of_several_values_wins)
{
	cr_assert_eq(bedrock_options_parse(&options, "narenas:2,narenas:5"), 0);
	cr_assert_eq(options.arena_count, 5);
}

Test(options, limits_are_sizes_shares_or_a_word)
{
	cr_assert_eq(bedrock_options_parse(&options, "memory_limit:64M,soft_limit:48MiB"), 0);
	cr_assert_eq(options.memory_limit, INT64_C(64) << 20);
	cr_assert_eq(options.soft_limit, INT64_C(48) << 20);
	cr_assert_eq(bedrock_options_parse(&options, "memory_limit:80%,soft_limit:90%"), 0);
	cr_assert_eq(options.memory_limit, -80);
	cr_assert_eq(options.soft_limit, -90);
	cr_assert_eq(bedrock_options_parse(&options, "memory_limit:cgroup,soft_limit:none"), 0);
	cr_assert_eq(options.memory_limit, -100);
	cr_assert_eq(options.soft_limit, -100);
	cr_assert_eq(bedrock_options_parse(&options, "memory_limit:0"), 0);
	cr_assert_eq(options.memory_limit, 0);
}

Test(options, bad_limits_are_refused)
{
	const char *text = "memory_limit:,memory_limit:64MB,memory_limit:0%,memory_limit:101%,"
			   "memory_limit:-5,memory_limit:none,soft_limit:cgroup,memory_limit:%";

	cr_assert_eq(bedrock_options_parse(&options, text), 8);
	cr_assert_eq(options.memory_limit, 0);
	cr_assert_eq(options.soft_limit, 0);
}

Test(options, words_and_flags_of_jemalloc_are_known)
{
	const char *text = "percpu_arena:phycpu,zero_realloc:alloc,abort_conf:true,"
			   "confirm_conf:true,trust_madvise:true,stats_print:true,"
			   "annotate:false";

	cr_assert_eq(bedrock_options_parse(&options, text), 0);
	cr_assert_eq(options.percpu_arena, BEDROCK_PERCPU_CORE);
	cr_assert_eq(options.zero_realloc, BEDROCK_ZERO_REALLOC_ALLOC);
	cr_assert_eq(options.is_abort_conf, true);
	cr_assert_eq(options.is_confirm_conf, true);
	cr_assert_eq(options.is_trust_madvise, true);
	cr_assert_eq(options.is_stats_print, true);
	cr_assert_eq(options.is_annotate, false);
}

Test(options, misspelt_word_is_named_with_the_nearest)
{
	cr_assert_eq(bedrock_options_parse(&options, "zero_realloc:aloc"), 1);
	cr_assert_stderr_eq_str("bedrock: BEDROCK_CONF: bad value in 'zero_realloc:aloc' ignored; "
				"did you mean 'alloc'?\n");
}

Test(options, name_like_none_and_name_without_end_get_no_suggestion)
{
	const char *text = "colour:1,"
			   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1";

	cr_assert_eq(bedrock_options_parse(&options, text), 2);
	cr_assert_stderr_eq_str("bedrock: BEDROCK_CONF: unknown option 'colour' ignored\n"
				"bedrock: BEDROCK_CONF: unknown option 'aaaaaaaaaaaaaaaaaaaaaaaaaaa"
				"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' ignored\n");
}

Test(options, names_are_found_and_in_order)
{
	const struct bedrock_option *option;

	for (size_t i = 0; (option = bedrock_options_at(i)); i++) {
		cr_assert_eq(bedrock_options_find(option->name, strlen(option->name)), option);
		cr_assert(i == 0 || strcmp(bedrock_options_at(i - 1)->name, option->name) < 0);
	}
	cr_assert_null(bedrock_options_find("narena", 6));
	cr_assert_eq(bedrock_options_get(&options, bedrock_options_find("dirty_decay_ms", 14)),
		     500);
	cr_assert_eq(bedrock_options_get(&options, bedrock_options_find("tcache", 6)), 1);
}

Test(options, confirmation_names_what_is_set_and_quiet_names_nothing)
{
	struct bedrock_options_source source = {
		.origin = "somewhere",
		.text = "narenas:2,nonsense:1",
		.is_quiet = true,
		.is_confirmed = true,
	};

	cr_assert_eq(bedrock_options_apply(&options, &source), 1);
	cr_assert_eq(options.arena_count, 2);
	cr_assert_stderr_eq_str("bedrock: somewhere: 'narenas:2' set\n");
}
