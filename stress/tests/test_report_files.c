/* SPDX-License-Identifier: MIT */
/* The files of a run: what they say, and that they are there whole or not at all. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/tests/observed.h"
#include "stress/tests/reported.h"

static char folder[64];
static int folder_fd = -1;

static void setup(void)
{
	strcpy(folder, "/tmp/hq-test-files-XXXXXX");
	cr_assert(mkdtemp(folder));
	folder_fd = open(folder, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	cr_assert_geq(folder_fd, 0);
}

static void teardown(void)
{
	DIR *directory = fdopendir(folder_fd);
	const struct dirent *entry;

	rewinddir(directory);
	while ((entry = readdir(directory))) {
		if (unlinkat(dirfd(directory), entry->d_name, 0))
			unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
	}
	closedir(directory);
	rmdir(folder);
}

TestSuite(files, .init = setup, .fini = teardown);

static size_t count_entries(void)
{
	DIR *directory = opendir(folder);
	size_t count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count - 2;
}

static char *content_of(const char *name)
{
	static char text[20000];
	const int fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC);

	cr_assert_geq(fd, 0, "%s", name);
	const ssize_t length = read(fd, text, sizeof(text) - 1);

	close(fd);
	cr_assert_geq(length, 0);
	text[length] = '\0';
	return text;
}

static json_t *json_of(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	cr_assert(root, "%s: %s", error.text, text);
	return root;
}

static struct hq_observations observed(void)
{
	static struct hq_sample samples[] = { { 1000, 4096 }, { 2000, 8192 }, { 3000, 8192 } };
	struct hq_observations seen = observed_good();

	seen.has_samples = true;
	seen.samples = samples;
	seen.sample_count = 3;
	seen.quiet_count = 2;
	seen.quiet[0] =
		(struct hq_quiet){ .time_ns = 2000, .rss_bytes = 8000, .lazyfree_bytes = 100 };
	seen.quiet[1] =
		(struct hq_quiet){ .time_ns = 9000, .rss_bytes = 7000, .lazyfree_bytes = 200 };
	return seen;
}

static void write_all(const struct hq_observations *seen)
{
	struct hq_result result = reported(HQ_VERDICT_FAIL, "bedrock");

	reported_fail(&result);
	cr_assert_eq(hq_run_files_write(folder_fd, &result, seen), 0);
}

Test(files, there_are_six_and_no_temporary_one_stays)
{
	const struct hq_observations seen = observed();

	write_all(&seen);
	cr_assert_eq(count_entries(), 6);
}

Test(files, the_verdict_is_the_result_with_a_schema_version)
{
	const struct hq_observations seen = observed();

	write_all(&seen);
	char *text = content_of("verdict.json");
	json_t *root = json_of(text);

	cr_assert_eq(strncmp(text, "{\n  \"schema_version\": 1,", 24), 0);
	cr_assert_str_eq(json_string_value(json_object_get(root, "verdict")), "FAIL");
	cr_assert_str_eq(json_string_value(json_object_get(root, "allocator")), "bedrock");
	json_decref(root);
}

Test(files, the_findings_are_a_list)
{
	const struct hq_observations seen = observed();

	write_all(&seen);
	json_t *root = json_of(content_of("findings.json"));

	cr_assert_eq(json_integer_value(json_object_get(root, "schema_version")), 1);
	cr_assert_eq(json_array_size(json_object_get(root, "findings")), 2);
	json_decref(root);
}

Test(files, samples_and_quiet_readings_are_in_order_of_time)
{
	const struct hq_observations seen = observed();

	write_all(&seen);
	cr_assert_str_eq(content_of("samples.csv"), "time_ns,rss_bytes,lazyfree_bytes\n"
						    "1000,4096,\n"
						    "2000,8192,\n"
						    "2000,8000,100\n"
						    "3000,8192,\n"
						    "9000,7000,200\n");
}

Test(files, faults_are_one_object_a_line_in_order_of_time)
{
	struct hq_observations seen = observed();
	struct hq_fault_seen faults[2] = {
		{ .fault = { .time_ns = GATE_NS + 900,
			     .n = 7,
			     .result = -EAGAIN,
			     .args = { 0x7f0000000000, 4096, MADV_FREE },
			     .call = HQ_CALL_MADVISE },
		  .thread_key = UINT64_MAX,
		  .tid = 12 },
		{ .fault = { .time_ns = GATE_NS + 100,
			     .n = 1,
			     .result = 0x555500000000,
			     .args = { 0x555500001000, 0, 0 },
			     .rule = 9,
			     .call = HQ_CALL_BRK },
		  .thread_key = HQ_THREAD_KEY_MAIN,
		  .tid = 11 },
	};

	seen.rule_count = 1;
	strcpy(seen.rules[0].name, "re\"fuse\xff");
	seen.faults = faults;
	seen.fault_count = 2;
	write_all(&seen);
	cr_assert_str_eq(content_of("faults.jsonl"),
			 "{\"time_ns\":100,\"thread\":\"0x6871\",\"tid\":11,\"rule\":\"?\",\"n\":1,"
			 "\"call\":\"brk\",\"args\":[\"0x555500001000\",\"0x0\",\"0x0\"],"
			 "\"result\":93823560581120,\"result_name\":\"0x555500000000\"}\n"
			 "{\"time_ns\":900,\"thread\":\"0xffffffffffffffff\",\"tid\":12,"
			 "\"rule\":\"re\\\"fuse\\\\xff\",\"n\":7,\"call\":\"madvise\","
			 "\"args\":[\"0x7f0000000000\",\"0x1000\",\"0x8\"],\"result\":-11,"
			 "\"result_name\":\"EAGAIN\"}\n");
}

Test(files, a_fault_without_a_gate_has_no_time)
{
	struct hq_observations seen = observed();
	struct hq_fault_seen fault = { .fault = { .time_ns = 5, .call = 99 } };

	seen.gate_open_ns = 0;
	seen.faults = &fault;
	seen.fault_count = 1;
	write_all(&seen);
	const char *text = content_of("faults.jsonl");

	cr_assert_eq(strncmp(text, "{\"time_ns\":null,", 16), 0, "%s", text);
	cr_assert(strstr(text, "\"call\":\"?\""));
}

Test(files, without_observations_they_are_empty_but_whole)
{
	const struct hq_observations nothing = { 0 };

	write_all(&nothing);
	cr_assert_str_eq(content_of("samples.csv"), "time_ns,rss_bytes,lazyfree_bytes\n");
	cr_assert_str_eq(content_of("faults.jsonl"), "");
	cr_assert(strstr(content_of("latency.hlog"), "Histogram log format"));
}

Test(files, older_ones_are_replaced)
{
	const struct hq_observations seen = observed(), nothing = { 0 };

	write_all(&seen);
	write_all(&nothing);
	cr_assert_eq(count_entries(), 6);
	cr_assert_str_eq(content_of("samples.csv"), "time_ns,rss_bytes,lazyfree_bytes\n");
}

Test(files, one_that_fails_does_not_keep_the_others_away)
{
	const struct hq_observations seen = observed();
	const struct hq_result result = reported(HQ_VERDICT_PASS, "bedrock");

	/* A folder is in the way: the rename fails. */
	cr_assert_eq(mkdirat(folder_fd, "samples.csv", 0755), 0);
	cr_assert_eq(hq_run_files_write(folder_fd, &result, &seen), -EISDIR);
	cr_assert_eq(count_entries(), 6);
	cr_assert_eq(faccessat(folder_fd, "latency.hlog", F_OK, 0), 0);
}

Test(files, a_folder_that_is_gone_is_an_error)
{
	const struct hq_observations seen = observed();
	const struct hq_result result = reported(HQ_VERDICT_PASS, "bedrock");

	cr_assert_eq(hq_run_files_write(-1, &result, &seen), -EBADF);
}
