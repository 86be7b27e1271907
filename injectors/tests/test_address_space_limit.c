/* SPDX-License-Identifier: MIT */
/* RLIMIT_AS on a child: it refuses, it leaves what was mapped before alone, and it proves itself.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "injectors/tests/trial.h"

#define MIB (1024ull * 1024)

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

static int look_on(int (*body)(struct child *self, void *cookie), const char *options)
{
	int status;

	choose("address-space-limit", options);
	prepare();
	start_on(body);
	child_say(&trial.child);
	cr_assert(child_hear(&trial.child));
	stop();
	child_say(&trial.child);
	status = child_end(&trial.child);
	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

Test(address_space_limit, reserved_space_is_refused_beyond_what_was_mapped_at_the_start)
{
	cr_assert_eq(look_on(meet_limit, "limit=64MiB"), 0);
	cr_assert_eq(measured("fired"), 1);
	cr_assert_geq(measured("peak"), 60.0 * MIB);
	restore();
}

Test(address_space_limit, a_limit_that_is_far_away_refuses_nothing_and_has_not_fired)
{
	cr_assert_eq(look_on(meet_limit, "limit=1GiB"), 2);
	cr_assert_eq(measured("fired"), 0);
	restore();
}

/* Much was mapped once, before the limit; under it `bytes` more are. */
static int map_less_than_before(struct child *self, size_t bytes)
{
	void *const once = mmap(NULL, 512 * MIB, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (once == MAP_FAILED || munmap(once, 512 * MIB) != 0)
		return 1;
	child_say(self);
	if (!child_hear(self) || !reserves(bytes))
		return 2;
	child_say(self);
	child_hear(self);
	return 0;
}

static int map_little(struct child *self, void *cookie)
{
	(void)cookie;
	return map_less_than_before(self, MIB);
}

static int map_nearly_all(struct child *self, void *cookie)
{
	(void)cookie;
	return map_less_than_before(self, 62 * MIB);
}

Test(address_space_limit, a_peak_from_before_the_limit_is_no_proof)
{
	cr_assert_eq(look_on(map_little, "limit=64MiB"), 0);
	cr_assert_eq(measured("fired"), 0);
	cr_assert_geq(measured("peak"), 1.0 * MIB);
	cr_assert_lt(measured("peak"), 8.0 * MIB);
	restore();
}

Test(address_space_limit, what_comes_near_the_limit_below_an_older_peak_is_proof)
{
	cr_assert_eq(look_on(map_nearly_all, "limit=64MiB"), 0);
	cr_assert_eq(measured("fired"), 1);
	restore();
}

static int enter_and_reserve(struct child *self, void *cookie)
{
	struct rlimit limit;

	(void)self;
	(void)cookie;
	if (trial.injector->enter(&trial.run) != 0 || getrlimit(RLIMIT_AS, &limit) != 0)
		return 1;
	return limit.rlim_cur == 256 * MIB && !reserves(256 * MIB) ? 0 : 2;
}

Test(address_space_limit, from_the_start_it_is_set_before_the_target_is_executed)
{
	struct child child;

	choose("address-space-limit", "limit=256MiB from=start");
	prepare();
	child_start(&child, enter_and_reserve, NULL);
	cr_assert_eq(child_end(&child), 0);
	restore();
}

Test(address_space_limit, a_target_that_is_gone_is_an_error_with_a_reason)
{
	choose("address-space-limit", "limit=64MiB");
	prepare();
	trial.run.target = 0x3fffffff;
	cr_assert_neq(trial.injector->start(&trial.run), 0);
	cr_assert_neq(trial.run.error.text[0], '\0');
	stop();
	cr_assert_eq(measured("fired"), 0);
	restore();
	cr_assert_eq(measured("fired"), -1);
}
