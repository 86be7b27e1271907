/* SPDX-License-Identifier: MIT */
/*
 * Pressure stall information: what counts as pressure, how often it is read, and what happens
 * where it cannot be.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "allocator/bedrock/os.h"
#include "allocator/bedrock/pressure.h"

#define SECOND_NS UINT64_C(1000000000)

static char content[256];
static unsigned opens;
static int open_error;
static struct bedrock_pressure_watch watch;
static uint64_t now_ns;

static int fake_open(const char *path, int flags, ...)
{
	(void)flags;
	opens++;
	if (!open_error && strcmp(path, "/proc/pressure/memory") == 0)
		return 1000;
	errno = open_error ? open_error : ENOENT;
	return -1;
}

static ssize_t fake_read(int fd, void *out, size_t bytes)
{
	size_t length = strlen(content) < bytes ? strlen(content) : bytes;

	cr_assert_eq(fd, 1000);
	memcpy(out, content, length);
	return (ssize_t)length;
}

static ssize_t refuse_read(int fd, void *out, size_t bytes)
{
	(void)fd, (void)out, (void)bytes;
	errno = EOPNOTSUPP;
	return -1;
}

static int fake_close(int fd)
{
	cr_assert_eq(fd, 1000);
	return 0;
}

static void setup(void)
{
	bedrock_os_table.open = fake_open;
	bedrock_os_table.read = fake_read;
	bedrock_os_table.close = fake_close;
	now_ns = 5 * SECOND_NS;
}

TestSuite(pressure, .init = setup, .timeout = 20);

static bool look_after_ms(uint64_t ms, uint64_t stalled_us)
{
	now_ns += ms * 1000000;
	snprintf(content, sizeof(content),
		 "some avg10=1.00 avg60=0.50 avg300=0.10 total=%llu\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=999999999\n",
		 (unsigned long long)stalled_us);
	return bedrock_pressure_look(&watch, now_ns);
}

Test(pressure, first_look_only_learns_where_the_total_stands)
{
	cr_assert_not(look_after_ms(0, 123456789));
}

Test(pressure, tenth_of_the_time_is_pressure_and_less_is_not)
{
	look_after_ms(0, 5000000);
	cr_assert(look_after_ms(1000, 5100000));
	cr_assert_not(look_after_ms(1000, 5199999));
	cr_assert_not(look_after_ms(1000, 5199999));
	cr_assert_not(look_after_ms(2000, 5399998), "of two seconds");
	cr_assert(look_after_ms(1000, 5499998));
}

Test(pressure, file_is_read_once_in_a_second_at_most)
{
	look_after_ms(0, 0);
	unsigned first = opens;

	for (int i = 0; i < 9; i++)
		cr_assert_not(look_after_ms(100, 900000));
	cr_assert_eq(opens, first);
	cr_assert(look_after_ms(100, 900000));
	cr_assert_gt(opens, first);
}

Test(pressure, file_that_cannot_be_read_is_left_alone_for_a_minute)
{
	errno = 0;
	open_error = EACCES;
	look_after_ms(0, 0);
	unsigned first = opens;

	cr_assert_not(look_after_ms(59999, 0));
	cr_assert_eq(opens, first);
	open_error = 0;
	cr_assert_not(look_after_ms(1, 0));
	cr_assert_gt(opens, first);
	cr_assert(look_after_ms(1000, 500000));
	cr_assert_eq(errno, 0);
}

Test(pressure, total_that_falls_is_a_new_start)
{
	look_after_ms(0, 9000000);
	cr_assert_not(look_after_ms(1000, 10));
	cr_assert(look_after_ms(1000, 500010));
}

Test(pressure, text_of_another_shape_is_refused)
{
	const char *bad[] = { "",
			      "some",
			      "some avg10=0.00\nfull total=5\n",
			      "full total=5\n",
			      "some avg10=0.00 total=\n",
			      "some avg10=0.00 total=-1\n" };
	uint64_t us;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_not(bedrock_pressure_parse(bad[i], &us), "%s", bad[i]);
	cr_assert(bedrock_pressure_parse("some avg10=0.00 total=17", &us));
	cr_assert_eq(us, 17);
}

/* What a kernel says that was started with psi=0. */
Test(pressure, file_that_opens_and_cannot_be_read_is_left_alone_as_well)
{
	bedrock_os_table.read = refuse_read;
	cr_assert_not(look_after_ms(0, 0));
	unsigned first = opens;

	cr_assert_not(look_after_ms(2000, 0));
	cr_assert_eq(opens, first);
	bedrock_os_table.read = fake_read;
	cr_assert_not(look_after_ms(60000, 0));
	cr_assert_gt(opens, first);
}
