/* SPDX-License-Identifier: MIT */
/*
 * Finding allocators. The tests start the heapquake that lies two folders above them; where it, or
 * an allocator, is missing they are skipped.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stress/plan/allocator.h"

static char program[PATH_MAX];
static struct hq_allocators allocators;

static void find_program(void)
{
	char self[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	cr_assert_gt(length, 0);
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(program, sizeof(program), "%.4000s/../../heapquake", self);
	allocators = (struct hq_allocators){ .program = program };
}

TestSuite(allocator, .init = find_program);

static struct hq_allocator find(const char *name)
{
	struct hq_allocator allocator;
	struct hq_error error = { .text = "" };

	if (access(program, X_OK) != 0)
		cr_skip_test("heapquake is not built");
	cr_assert_eq(hq_allocator_locate(&allocators, name, &allocator, &error), 0, "%s",
		     error.text);
	if (allocator.missing[0])
		cr_skip_test("%s", allocator.missing);
	return allocator;
}

Test(allocator, glibc_is_the_library_that_this_program_runs_on)
{
	const struct hq_allocator allocator = find("glibc");

	cr_assert_eq(access(allocator.library, R_OK), 0);
	cr_assert_str_not_empty(allocator.version);
}

Test(allocator, own_is_no_library_and_no_family)
{
	const struct hq_allocator allocator = find(HQ_ALLOCATOR_OWN);

	cr_assert_str_empty(allocator.library);
	cr_assert_str_empty(allocator.family);
}

Test(allocator, jemalloc_is_found_with_path_and_version)
{
	const struct hq_allocator allocator = find("jemalloc");

	cr_assert_eq(allocator.library[0], '/');
	cr_assert_str_eq(allocator.family, "jemalloc");
	cr_assert(allocator.version[0] >= '0' && allocator.version[0] <= '9');
}

Test(allocator, path_of_a_library_is_recognised_by_its_family)
{
	const struct hq_allocator named = find("mimalloc");
	const struct hq_allocator by_path = find(named.library);

	cr_assert_str_eq(by_path.family, "mimalloc");
	cr_assert_str_eq(by_path.version, named.version);
}

Test(allocator, second_search_is_answered_from_what_was_found)
{
	find("tcmalloc");
	allocators.program = "/nonexistent";
	find("tcmalloc");
	cr_assert_eq(allocators.count, 1);
}

static void refuse(const char *asked, const char *word)
{
	struct hq_allocator allocator;
	struct hq_error error = { .text = "" };

	if (access(program, X_OK) != 0)
		cr_skip_test("heapquake is not built");
	cr_assert_neq(hq_allocator_locate(&allocators, asked, &allocator, &error), 0);
	cr_assert(strstr(error.text, word), "%s: %s", asked, error.text);
}

Test(allocator, unknown_name_is_answered_with_the_nearest)
{
	refuse("jemallok", "did you mean 'jemalloc'");
}

Test(allocator, missing_file_is_refused)
{
	refuse("/nonexistent/libx.so", "No such file");
}

Test(allocator, file_that_is_no_library_is_refused)
{
	refuse("/etc/passwd", "cannot be preloaded");
}

Test(allocator, library_without_malloc_is_refused)
{
	const char *library = "/lib/x86_64-linux-gnu/libm.so.6";

	if (access(library, R_OK) != 0)
		cr_skip_test("no %s", library);
	refuse(library, "does not provide malloc");
}

Test(allocator, version_fits_by_whole_numbers_only)
{
	const struct hq_allocator allocator = { .version = "2.0.9" };

	cr_assert(hq_allocator_has_version(&allocator, "2"));
	cr_assert(hq_allocator_has_version(&allocator, "2.0.9"));
	cr_assert_not(hq_allocator_has_version(&allocator, "2.0.91"));
	cr_assert_not(hq_allocator_has_version(&allocator, "2.1"));
	const struct hq_allocator newer = { .version = "2.01" };

	cr_assert_not(hq_allocator_has_version(&newer, "2.0"));
}

Test(allocator, name_is_checked_without_looking_for_the_library)
{
	struct hq_error error;

	cr_assert_eq(hq_allocator_check_name("all", &error), 0);
	cr_assert_eq(hq_allocator_check_name("mimalloc", &error), 0);
	cr_assert_eq(hq_allocator_check_name("./libx.so", &error), 0);
	cr_assert_neq(hq_allocator_check_name("libx.so", &error), 0);
}
