/* SPDX-License-Identifier: MIT */
/*
 * Control groups: finding our own on machines of every kind (from their /proc texts), the files of
 * both versions (on a folder that looks like a group), and a real group where one can be made.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/cgroup.h"
#include "injectors/proc.h"
#include "injectors/tests/child.h"

static const char systemd_mounts[] =
	"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	"31 23 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char systemd_groups[] = "0::/user.slice/user-1000.slice/session-2.scope\n";

static const char hybrid_mounts[] =
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
	"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char hybrid_groups[] =
	"9:name=systemd:/\n4:memory:/a/b\n3:cpuset,memoryless:/c\n0::/\n";

static const char container_mounts[] =
	"900 800 0:30 /docker/abc /sys/fs/cgroup/memory ro,nosuid master:17 - cgroup cgroup "
	"rw,hugetlb,memory\n";
static const char container_groups[] = "4:hugetlb,memory:/docker/abc/inner\n0::/\n";

Test(cgroup, the_own_group_is_found_below_the_mount)
{
	char path[HQ_CGROUP_PATH_SIZE];

	cr_assert_eq(hq_cgroup_locate(systemd_mounts, systemd_groups, HQ_CGROUP_V2, path), 0);
	cr_expect_str_eq(path, "/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope");
	cr_assert_eq(hq_cgroup_locate(hybrid_mounts, hybrid_groups, HQ_CGROUP_V1, path), 0);
	cr_expect_str_eq(path, "/sys/fs/cgroup/memory/a/b");
	cr_assert_eq(hq_cgroup_locate(hybrid_mounts, hybrid_groups, HQ_CGROUP_V2, path), 0);
	cr_expect_str_eq(path, "/sys/fs/cgroup/unified");
}

Test(cgroup, a_mount_that_shows_only_a_part_takes_that_part_off_the_path)
{
	char path[HQ_CGROUP_PATH_SIZE];

	cr_assert_eq(hq_cgroup_locate(container_mounts, container_groups, HQ_CGROUP_V1, path), 0);
	cr_expect_str_eq(path, "/sys/fs/cgroup/memory/inner");
}

Test(cgroup, a_hierarchy_that_is_not_mounted_is_not_found)
{
	char path[HQ_CGROUP_PATH_SIZE];

	cr_expect_eq(hq_cgroup_locate(systemd_mounts, systemd_groups, HQ_CGROUP_V1, path), -ENOENT);
	cr_expect_eq(hq_cgroup_locate(container_mounts, container_groups, HQ_CGROUP_V2, path),
		     -ENOENT);
	cr_expect_eq(hq_cgroup_locate("", "", HQ_CGROUP_V2, path), -ENOENT);
	cr_expect_eq(hq_cgroup_locate("nonsense - cgroup2\n", "::\n:\n0\n", HQ_CGROUP_V2, path),
		     -ENOENT);
}

Test(cgroup, a_path_that_does_not_fit_is_refused)
{
	char path[HQ_CGROUP_PATH_SIZE];
	char groups[HQ_CGROUP_PATH_SIZE + 64] = "0::/";

	memset(groups + 4, 'x', HQ_CGROUP_PATH_SIZE);
	cr_expect_eq(hq_cgroup_locate(systemd_mounts, groups, HQ_CGROUP_V2, path), -ENOENT);
}

/* ---- a folder that looks like a group ---- */

static struct hq_cgroup fake;

static void write_fake(const char *name, const char *text)
{
	char path[HQ_CGROUP_PATH_SIZE + 64];

	snprintf(path, sizeof(path), "%s/%s", fake.path, name);
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
}

static void expect_fake(const char *name, const char *text)
{
	char path[HQ_CGROUP_PATH_SIZE + 64], got[256];

	snprintf(path, sizeof(path), "%s/%s", fake.path, name);
	cr_expect_geq(hq_proc_read(path, got, sizeof(got)), 0, "%s", path);
	cr_expect_str_eq(got, text, "%s holds \"%s\"", name, got);
}

static void make_fake(enum hq_cgroup_version version)
{
	fake = (struct hq_cgroup){ .version = version, .procs_fd = -1 };
	strcpy(fake.path, "/tmp/heapquake-test-XXXXXX");
	cr_assert_not_null(mkdtemp(fake.path));
}

static void drop_fake(void)
{
	char command[HQ_CGROUP_PATH_SIZE + 16];

	if (strncmp(fake.path, "/tmp/heapquake-test-", 20) != 0)
		return;
	snprintf(command, sizeof(command), "rm -r %s", fake.path);
	cr_expect_eq(system(command), 0);
}

TestSuite(cgroup_files, .fini = drop_fake);

Test(cgroup_files, v2_limits_memory_and_swap_and_throttles)
{
	const struct hq_cgroup_limits limits = { 64u << 20, 48u << 20, 8u << 20 };
	struct hq_error reason = { "" };

	make_fake(HQ_CGROUP_V2);
	write_fake("memory.max", "max\n");
	write_fake("memory.high", "max\n");
	write_fake("memory.swap.max", "max\n");
	cr_assert_eq(hq_cgroup_limit(&fake, &limits, &reason), 0, "%s", reason.text);
	expect_fake("memory.max", "67108864");
	expect_fake("memory.high", "50331648");
	expect_fake("memory.swap.max", "8388608");
}

Test(cgroup_files, v2_without_swap_needs_no_limit_for_it)
{
	const struct hq_cgroup_limits limits = { .max_bytes = 64u << 20 };
	struct hq_error reason = { "" };

	make_fake(HQ_CGROUP_V2);
	write_fake("memory.max", "max\n");
	write_fake("memory.high", "max\n");
	cr_expect_eq(hq_cgroup_limit(&fake, &limits, &reason), 0, "%s", reason.text);
	expect_fake("memory.high", "max\n");
}

Test(cgroup_files, v1_limits_memory_and_swaps_nothing)
{
	const struct hq_cgroup_limits limits = { .max_bytes = 64u << 20 };
	struct hq_error reason = { "" };

	make_fake(HQ_CGROUP_V1);
	write_fake("memory.limit_in_bytes", "9223372036854771712\n");
	write_fake("memory.memsw.limit_in_bytes", "9223372036854771712\n");
	write_fake("memory.swappiness", "60\n");
	cr_assert_eq(hq_cgroup_limit(&fake, &limits, &reason), 0, "%s", reason.text);
	expect_fake("memory.limit_in_bytes", "67108864");
	expect_fake("memory.memsw.limit_in_bytes", "69206016");
	expect_fake("memory.swappiness", "0");
}

Test(cgroup_files, v1_cannot_throttle_and_says_so)
{
	const struct hq_cgroup_limits limits = { .max_bytes = 64u << 20, .high_bytes = 1u << 20 };
	struct hq_error reason = { "" };

	make_fake(HQ_CGROUP_V1);
	cr_expect_eq(hq_cgroup_limit(&fake, &limits, &reason), -EOPNOTSUPP);
	cr_expect_not_null(strstr(reason.text, "v2"));
}

Test(cgroup_files, a_limit_that_cannot_be_written_names_file_and_reason)
{
	const struct hq_cgroup_limits limits = { .max_bytes = 64u << 20 };
	struct hq_error reason = { "" };

	make_fake(HQ_CGROUP_V2);
	cr_expect_eq(hq_cgroup_limit(&fake, &limits, &reason), -ENOENT);
	cr_expect_not_null(strstr(reason.text, "memory.max: No such file"), "%s", reason.text);
}

Test(cgroup_files, v2_counts_are_read)
{
	struct hq_cgroup_counts counts;

	make_fake(HQ_CGROUP_V2);
	write_fake("memory.events", "low 0\nhigh 2\nmax 35\noom 4\noom_kill 3\noom_group_kill 9\n");
	write_fake("memory.current", "4096\n");
	write_fake("memory.peak", "8192\n");
	hq_cgroup_read(&fake, &counts);
	cr_expect_eq(counts.failures, 37);
	cr_expect_eq(counts.kills, 3);
	cr_expect_eq(counts.now_bytes, 4096);
	cr_expect_eq(counts.peak_bytes, 8192);
}

Test(cgroup_files, a_kernel_without_a_peak_gives_the_present_use)
{
	struct hq_cgroup_counts counts;

	make_fake(HQ_CGROUP_V2);
	write_fake("memory.current", "4096\n");
	hq_cgroup_read(&fake, &counts);
	cr_expect_eq(counts.peak_bytes, 4096);
	cr_expect_eq(counts.kills, 0);
}

Test(cgroup_files, v1_counts_are_read)
{
	struct hq_cgroup_counts counts;

	make_fake(HQ_CGROUP_V1);
	write_fake("memory.failcnt", "5\n");
	write_fake("memory.memsw.failcnt", "6\n");
	write_fake("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	write_fake("memory.usage_in_bytes", "4096\n");
	write_fake("memory.max_usage_in_bytes", "8192\n");
	hq_cgroup_read(&fake, &counts);
	cr_expect_eq(counts.failures, 11);
	cr_expect_eq(counts.kills, 1);
	cr_expect_eq(counts.peak_bytes, 8192);
}

Test(cgroup_files, a_parent_without_the_memory_controller_is_refused_and_left_clean)
{
	struct hq_error reason = { "" };
	struct hq_cgroup group;

	make_fake(HQ_CGROUP_V2);
	cr_expect_eq(hq_cgroup_create_in(&group, HQ_CGROUP_V2, fake.path, &reason), -ENOENT);
	cr_expect_not_null(strstr(reason.text, "subtree_control"), "%s", reason.text);
	cr_expect_eq(rmdir(fake.path), 0, "something was left");
	cr_expect_eq(hq_cgroup_create_in(&group, HQ_CGROUP_V2, fake.path, &reason), -ENOENT);
	cr_expect_not_null(strstr(reason.text, "mkdir"), "%s", reason.text);
	fake.path[0] = '\0';
}

/* ---- real groups ---- */

static struct hq_cgroup group;

static void create_or_skip(void)
{
	struct hq_error reason = { "" };

	if (hq_cgroup_create(&group, HQ_CGROUP_V2, &reason) &&
	    hq_cgroup_create(&group, HQ_CGROUP_V1, &reason))
		cr_skip_test("%s", reason.text);
}

static int enter_and_stay(struct child *self, void *cookie)
{
	(void)cookie;
	if (hq_cgroup_enter(&group))
		return 1;
	child_say(self);
	child_hear(self);
	return 0;
}

Test(cgroup_real, two_groups_of_one_process_have_two_names)
{
	struct hq_error reason = { "" };
	struct hq_cgroup other;

	create_or_skip();
	cr_assert_eq(hq_cgroup_create(&other, group.version, &reason), 0, "%s", reason.text);
	cr_expect_str_neq(group.path, other.path);
	cr_expect_eq(hq_cgroup_destroy(&other), 0);
	cr_expect_eq(hq_cgroup_destroy(&group), 0);
}

Test(cgroup_real, destroying_kills_the_inhabitants_and_may_be_repeated, .timeout = 60)
{
	char path[HQ_CGROUP_PATH_SIZE];
	struct child child;

	create_or_skip();
	strcpy(path, group.path);
	child_start(&child, enter_and_stay, NULL);
	cr_assert(child_hear(&child));
	cr_expect_eq(hq_cgroup_destroy(&group), 0);
	cr_expect_eq(hq_cgroup_destroy(&group), 0);
	cr_expect(WIFSIGNALED(child_end(&child)));
	cr_expect_eq(access(path, F_OK), -1);
}

/* Makes a group and dies without a word, with a process left in it. */
static int leave_behind(struct child *self, void *cookie)
{
	struct hq_error reason;
	struct hq_cgroup *mine = cookie;

	if (hq_cgroup_create(mine, HQ_CGROUP_V2, &reason) &&
	    hq_cgroup_create(mine, HQ_CGROUP_V1, &reason))
		return 77;
	if (fork() == 0) {
		alarm(50);
		hq_cgroup_enter(mine);
		child_say(self);
		for (;;)
			pause();
	}
	child_say(self);
	return 0;
}

Test(cgroup_real, sweeping_removes_what_a_dead_process_left_and_nothing_of_the_living,
     .timeout = 60)
{
	struct hq_cgroup *left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child child;

	create_or_skip();
	child_start(&child, leave_behind, left);
	cr_assert(child_hear(&child) && child_hear(&child));
	cr_assert_eq(child_end(&child), 0);
	cr_assert_eq(access(left->path, F_OK), 0);
	hq_cgroup_sweep();
	cr_expect_eq(access(left->path, F_OK), -1, "%s is still there", left->path);
	cr_expect_eq(access(group.path, F_OK), 0, "a living process lost its group");
	cr_expect_eq(hq_cgroup_destroy(&group), 0);
}
