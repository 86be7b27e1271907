/* SPDX-License-Identifier: MIT */
/*
 * The limit of a control group, read from trees that are made up here.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "allocator/bedrock/cgroup.h"
#include "allocator/bedrock/os.h"

static char root[] = "/tmp/bedrock-cgroup-XXXXXX";

static void setup(void)
{
	cr_assert_not_null(mkdtemp(root));
}

static void teardown(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(cgroup, .init = setup, .fini = teardown, .timeout = 20);

/* Write a file of the tree, making its folders. */
static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
}

static uint64_t limit_of(const char *membership)
{
	return bedrock_cgroup_bound_of(root, membership, BEDROCK_CGROUP_MAX);
}

static uint64_t high_of(const char *membership)
{
	return bedrock_cgroup_bound_of(root, membership, BEDROCK_CGROUP_HIGH);
}

Test(cgroup, version_2_gives_the_least_limit_on_the_way_up)
{
	put("/a/b/c/memory.max", "max\n");
	put("/a/b/memory.max", "50000000\n");
	put("/a/memory.max", "40000000\n");
	cr_assert_eq(limit_of("0::/a/b/c\n"), 40000000);
	put("/a/b/c/memory.max", "30000000\n");
	cr_assert_eq(limit_of("0::/a/b/c\n"), 30000000);
}

Test(cgroup, version_1_is_found_among_the_other_controllers)
{
	put("/memory/job/memory.limit_in_bytes", "70000000\n");
	put("/memory/memory.limit_in_bytes", "9223372036854771712\n");
	cr_assert_eq(limit_of("9:cpu,cpuacct:/x\n4:hugetlb,memory:/job\n0::/\n"), 70000000);
}

Test(cgroup, path_from_outside_of_a_container_leads_to_its_root)
{
	put("/memory.max", "60000000\n");
	cr_assert_eq(limit_of("0::/docker/0123456789\n"), 60000000);
}

Test(cgroup, no_limit_and_nonsense_are_no_limit)
{
	put("/a/memory.max", "max\n");
	cr_assert_eq(limit_of("0::/a\n"), 0);
	cr_assert_eq(limit_of("0::/\n"), 0);
	cr_assert_eq(limit_of(""), 0);
	cr_assert_eq(limit_of("\n:\n::\n0:"), 0);
	put("/a/memory.max", "");
	cr_assert_eq(limit_of("0::/a\n"), 0);
	put("/memory.limit_in_bytes", "5\n");
	cr_assert_eq(limit_of("3:memories,mem:/\n"), 0);
}

Test(cgroup, high_is_the_least_on_the_way_up_and_apart_from_the_limit)
{
	put("/a/b/memory.max", "50000000\n");
	put("/a/b/memory.high", "max\n");
	cr_assert_eq(high_of("0::/a/b\n"), 0);
	put("/a/memory.high", "20000000\n");
	put("/memory.high", "30000000\n");
	cr_assert_eq(high_of("0::/a/b\n"), 20000000);
	cr_assert_eq(limit_of("0::/a/b\n"), 50000000);
}

Test(cgroup, soft_limit_of_version_1_is_no_high)
{
	put("/memory/a/memory.soft_limit_in_bytes", "20000000\n");
	put("/memory/a/memory.high", "20000000\n");
	cr_assert_eq(high_of("4:memory:/a\n"), 0);
}

Test(cgroup, path_that_is_too_long_is_cut_to_the_root)
{
	char membership[2048] = "0::/";

	memset(membership + 4, 'x', 1500);
	put("/memory.max", "60000000\n");
	cr_assert_eq(limit_of(membership), 60000000);
}

static int refuse_open(const char *path, int flags, ...)
{
	(void)path;
	(void)flags;
	errno = EMFILE;
	return -1;
}

Test(cgroup, files_that_cannot_be_opened_mean_no_limit_and_errno_is_kept)
{
	bedrock_os_table.open = refuse_open;
	errno = 7;
	cr_assert_eq(bedrock_cgroup_bytes(BEDROCK_CGROUP_MAX), 0);
	cr_assert_eq(errno, 7);
}
