/* SPDX-License-Identifier: MIT */
/* RLIMIT_AS on a child: it refuses, it leaves what was mapped before alone, and it proves itself.
 */
#include "injectors/injector.h"
#include "injectors/tests/child.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define MIB (1024ull * 1024)

static _Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
static struct hq_injector_run run;
static const struct hq_injector *injector;

static void choose(const char *words)
{
	struct hq_error error = { "" };

	injector = hq_injector_find("address-space-limit");
	cr_assert_not_null(injector);
	cr_assert_eq(hq_options_default(injector->options, options, &error), 0);
	cr_assert_eq(hq_options_parse(injector->options, options, words, &error), 0, "%s",
		     error.text);
	run = (struct hq_injector_run){ .options = options };
	cr_assert_eq(injector->prepare(&run), 0);
}

static double measured(const char *name)
{
	struct hq_measure measures[HQ_MEASURES_MAX];
	const size_t count = injector->measure(&run, measures, HQ_MEASURES_MAX);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(measures[i].name, name))
			return measures[i].value;
	return -1;
}

static bool reserves(size_t bytes)
{
	return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) !=
	       MAP_FAILED;
}

/* Ready; then, under the limit: 60 MiB fit, 60 more do not; 0 if so. */
static int meet_limit(struct child *self, void *cookie)
{
	bool first, second;

	(void)cookie;
	child_say(self);
	if (!child_hear(self))
		return 9;
	first = reserves(60 * MIB);
	second = reserves(60 * MIB) || errno != ENOMEM;
	child_say(self);
	child_hear(self);
	return (first ? 0 : 1) | (second ? 2 : 0);
}

static int meet_and_look(void)
{
	struct child child;
	int status;

	child_start(&child, meet_limit, NULL);
	run.target = child.pid;
	cr_assert(child_hear(&child));
	cr_assert_eq(injector->start(&run), 0, "%s", run.error.text);
	child_say(&child);
	cr_assert(child_hear(&child));
	injector->stop(&run);
	child_say(&child);
	status = child_end(&child);
	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

Test(address_space_limit, reserved_space_is_refused_beyond_what_was_mapped_at_the_start)
{
	choose("limit=64MiB");
	cr_assert_eq(meet_and_look(), 0);
	cr_assert_eq(measured("fired"), 1);
	cr_assert_geq(measured("peak"), 60.0 * MIB);
	injector->restore(&run);
}

Test(address_space_limit, a_limit_that_is_far_away_refuses_nothing_and_has_not_fired)
{
	choose("limit=1GiB");
	cr_assert_eq(meet_and_look(), 2);
	cr_assert_eq(measured("fired"), 0);
	injector->restore(&run);
}

static int enter_and_reserve(struct child *self, void *cookie)
{
	struct rlimit limit;

	(void)self;
	(void)cookie;
	if (injector->enter(&run) != 0 || getrlimit(RLIMIT_AS, &limit) != 0)
		return 1;
	return limit.rlim_cur == 256 * MIB && !reserves(256 * MIB) ? 0 : 2;
}

Test(address_space_limit, from_the_start_it_is_set_before_the_target_is_executed)
{
	struct child child;

	choose("limit=256MiB from=start");
	child_start(&child, enter_and_reserve, NULL);
	cr_assert_eq(child_end(&child), 0);
	injector->restore(&run);
}

Test(address_space_limit, a_target_that_is_gone_is_an_error_with_a_reason)
{
	choose("limit=64MiB");
	run.target = 0x3fffffff;
	cr_assert_neq(injector->start(&run), 0);
	cr_assert_neq(run.error.text[0], '\0');
	injector->stop(&run);
	cr_assert_eq(measured("fired"), 0);
	injector->restore(&run);
}

Test(address_space_limit, restore_may_be_called_twice)
{
	choose("limit=64MiB");
	injector->restore(&run);
	injector->restore(&run);
	cr_assert_eq(measured("fired"), -1);
}
