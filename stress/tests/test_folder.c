/* SPDX-License-Identifier: MIT */
/* Folders of results: no two cases share one, and no path is cut. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/control/folder.h"

static char base[] = "/tmp/hq-folder-XXXXXX";

static void setup(void)
{
	cr_assert_not_null(mkdtemp(base));
}

static void teardown(void)
{
	hq_folder_remove(base);
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static struct hq_plan *plan_of(const char *scenario, const char *allocator)
{
	struct hq_plan *plan = calloc(1, sizeof(*plan));

	cr_assert_not_null(plan);
	strcpy(plan->scenario, scenario);
	strcpy(plan->allocator, allocator);
	plan->seed = 42;
	return plan;
}

/* A path below the base that has at least as many characters. */
static void make_long(char *path, size_t length)
{
	strcpy(path, base);
	while (strlen(path) < length)
		strcat(path, "/results-of-today");
}

TestSuite(folder, .init = setup, .fini = teardown);

Test(folder, cases_of_two_libraries_with_one_file_name_get_two_folders)
{
	struct hq_plan *one = plan_of("fine", "/x/lib.so"), *other = plan_of("fine", "/y/lib.so");
	char first[HQ_FOLDER_SIZE], second[HQ_FOLDER_SIZE];

	cr_assert_eq(hq_folder_case(base, one, first, sizeof(first)), 0);
	cr_assert_eq(hq_folder_case(base, other, second, sizeof(second)), 0);
	cr_expect_str_neq(first, second);
	cr_expect(is_folder(first) && is_folder(second));
	free(one);
	free(other);
}

Test(folder, a_path_of_three_hundred_characters_is_kept_whole)
{
	struct hq_plan *plan = plan_of("fine", "glibc");
	char results[400], suite[HQ_FOLDER_SIZE], folder[HQ_FOLDER_SIZE];
	struct hq_error error = { "" };

	make_long(results, 300);
	cr_assert_eq(hq_folder_suite(results, suite, sizeof(suite), &error), 0, "%s", error.text);
	cr_assert_eq(hq_folder_case(suite, plan, folder, sizeof(folder)), 0);
	cr_expect_eq(strncmp(folder, suite, strlen(suite)), 0);
	cr_expect_str_eq(folder + strlen(suite), "/fine/glibc/42");
	cr_expect(is_folder(folder));
	free(plan);
}

Test(folder, a_path_that_would_be_cut_is_refused)
{
	struct hq_plan *plan = plan_of("fine", "glibc");
	char folder[40];

	cr_expect_lt(hq_folder_case(base, plan, folder, strlen(base) + 8), 0);
	free(plan);
}

Test(folder, suites_of_one_second_get_folders_of_their_own)
{
	char first[HQ_FOLDER_SIZE], second[HQ_FOLDER_SIZE];
	struct hq_error error = { "" };

	cr_assert_eq(hq_folder_suite(base, first, sizeof(first), &error), 0);
	cr_assert_eq(hq_folder_suite(base, second, sizeof(second), &error), 0);
	cr_expect_str_neq(first, second);
}
