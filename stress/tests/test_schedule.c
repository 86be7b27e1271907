/* SPDX-License-Identifier: MIT */
/*
 * Schedules of faults, read back from a run's folder and compared.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/plan/schedule.h"

static char folder[] = "/tmp/hq-schedule-XXXXXX";
static struct hq_schedule a, b;
static struct hq_error error;

static void make(void)
{
	cr_assert_not_null(mkdtemp(folder));
}

static void drop(void)
{
	char path[64];

	hq_schedule_clear(&a);
	hq_schedule_clear(&b);
	snprintf(path, sizeof(path), "%s/faults.jsonl", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/verdict.json", folder);
	unlink(path);
	rmdir(folder);
}

TestSuite(schedule, .init = make, .fini = drop);

static void put(const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	FILE *file = fopen(path, "w");

	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
}

#define FAULT(thread, n)                                                                           \
	"{\"time_ns\":" n "0,\"thread\":\"" thread "\",\"tid\":1,\"rule\":\"r\",\"n\":" n          \
	",\"call\":\"mmap\"}\n"

static struct hq_schedule_difference compare(const char *before, const char *now)
{
	put("faults.jsonl", before);
	cr_assert_eq(hq_schedule_read(folder, &a, &error), 0, "%s", error.text);
	put("faults.jsonl", now);
	cr_assert_eq(hq_schedule_read(folder, &b, &error), 0, "%s", error.text);
	return hq_schedule_compare(&a, &b);
}

Test(schedule, same_faults_in_another_order_are_the_same)
{
	const struct hq_schedule_difference difference =
		compare(FAULT("0x1", "3") FAULT("0x2", "5"), FAULT("0x2", "5") FAULT("0x1", "3"));

	cr_assert_eq(difference.common, 2);
	cr_assert_eq(difference.only_in_a, 0);
	cr_assert_eq(difference.only_in_b, 0);
}

Test(schedule, fault_of_one_run_only_is_named)
{
	const struct hq_schedule_difference difference =
		compare(FAULT("0x1", "3") FAULT("0x1", "4"), FAULT("0x1", "3") FAULT("0x1", "9"));

	cr_assert_eq(difference.common, 1);
	cr_assert_eq(difference.only_in_a, 1);
	cr_assert_str_eq(difference.first_only_in_a, "0x1 r 4 mmap");
	cr_assert_str_eq(difference.first_only_in_b, "0x1 r 9 mmap");
}

Test(schedule, no_faults_at_all_are_the_same)
{
	const struct hq_schedule_difference difference = compare("", "");

	cr_assert_eq(difference.common + difference.only_in_a + difference.only_in_b, 0);
}

Test(schedule, half_a_line_is_an_error)
{
	put("faults.jsonl", "{\"thread\":\"0x1\"");
	cr_assert_eq(hq_schedule_read(folder, &a, &error), -EINVAL);
	cr_assert(strstr(error.text, "faults.jsonl"));
}

Test(schedule, missing_file_is_an_error)
{
	cr_assert_eq(hq_schedule_read(folder, &a, &error), -ENOENT);
}

Test(schedule, verdict_is_read_from_its_file)
{
	char verdict[16];

	put("verdict.json", "{\"verdict\":\"FAIL\"}");
	cr_assert_eq(hq_schedule_read_verdict(folder, verdict, sizeof(verdict), &error), 0);
	cr_assert_str_eq(verdict, "FAIL");
	put("verdict.json", "[]");
	cr_assert_neq(hq_schedule_read_verdict(folder, verdict, sizeof(verdict), &error), 0);
}
