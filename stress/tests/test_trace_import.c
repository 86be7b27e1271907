/* SPDX-License-Identifier: MIT */
/* What other tools wrote becomes a trace, and what they did not write is refused with its line. */
#include <stdio.h>
#include <zlib.h>

#include "stress/tests/trace_file.h"
#include "stress/trace/import.h"

#define ROOM 64u

static struct hq_trace_builder builder;
static struct hq_trace_op ops[ROOM];
static struct hq_error error;

/* As glibc 2.36 wrote it. */
static const char mtrace_text[] = "= Start\n"
				  "@ ./a b + c:[0x11de] + 0x560780da7610 0x64\n"
				  "@ ./a:[0x11f1] + 0x560780da7680 0x15\n"
				  "@ ./a:(main+0x5d)[0x1206] < 0x560780da7610\n"
				  "@ ./a:(main+0x5d)[0x1206] > 0x560780da76a0 0x3e8\n"
				  "@ ./a:[0x1258] ! 0x560780da76a0 0xfffffffffffff000\n"
				  "@ ./a:[0x1268] - 0x560780da76a0\n"
				  "- 0x560780da7680\n"
				  "@ ./a:[0x12a2] + 0x560780da7bb0 0x4d\n"
				  "= End\n";

/* As heaptrack 1.4 wrote it, with some places left out. */
static const char heaptrack_text[] = "v 10400 3\n"
				     "X ./a\n"
				     "I 1000 5e2990\n"
				     "s f /tmp/a\n"
				     "i 7fb11c243b9f 8 0 b 0\n"
				     "t 1 0\n"
				     "a 11c00 4\n"
				     "+ 0\n"
				     "a 64 8\n"
				     "+ 1\n"
				     "c 1f\n"
				     "+ 1\n"
				     "- 1\n"
				     "- 0\n"
				     "R 3c0\n"
				     "\n"
				     "# strings: 25\n";

static void stop(void)
{
	hq_trace_builder_close(&builder);
}

TestSuite(trace_import, .fini = stop);

/* Reads `text` as the format; the operations go to ops. How many; `error` tells what is wrong. */
static uint64_t import_bytes(const char *format, const void *bytes, size_t size)
{
	const int input = trace_file_make(), output = trace_file_make();
	struct trace_file file;
	uint64_t count = 0;
	char path[64];
	int status;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", input);
	cr_assert_eq(write(input, bytes, size), (ssize_t)size);
	hq_trace_builder_close(&builder);
	cr_assert_eq(hq_trace_builder_open(&builder, output, UINT64_MAX, 1000), 0);
	status = hq_import_file(hq_import_find(format), path, &builder, &error);
	close(input);
	if (!status)
		cr_assert_eq(hq_trace_builder_finish(&builder, 0), 0);
	file = trace_file_take(output);
	if (!status)
		count = trace_file_read(file.data, file.size, ops, ROOM, &error);
	trace_file_drop(&file);
	return count;
}

static uint64_t import_text(const char *format, const char *text)
{
	return import_bytes(format, text, strlen(text));
}

static void expect_op(uint32_t index, enum hq_trace_kind kind, uint32_t block, uint64_t size)
{
	cr_expect_eq(ops[index].kind, kind, "%u: kind %u", index, ops[index].kind);
	cr_expect_eq(ops[index].block, block, "%u: block %u", index, ops[index].block);
	cr_expect_eq(ops[index].size, size, "%u: size %lu", index, ops[index].size);
}

static void expect_mtrace(uint64_t count)
{
	cr_assert_eq(count, 6, "%lu: %s", count, error.text);
	expect_op(0, HQ_TRACE_MALLOC, 0, 0x64);
	expect_op(1, HQ_TRACE_MALLOC, 1, 0x15);
	expect_op(2, HQ_TRACE_RESIZE, 0, 0x3e8);
	expect_op(3, HQ_TRACE_FREE, 0, 0);
	expect_op(4, HQ_TRACE_FREE, 1, 0);
	expect_op(5, HQ_TRACE_MALLOC, 2, 0x4d);
	cr_expect_eq(builder.refused, 1);
	cr_expect_eq(builder.writer.info.repaired, 0);
}

Test(trace_import, mtrace_of_glibc_is_read)
{
	expect_mtrace(import_text("mtrace", mtrace_text));
}

Test(trace_import, compressed_file_is_read)
{
	char path[] = "/tmp/heapquake-import-XXXXXX";
	const int fd = mkstemp(path);
	uint8_t bytes[4096];
	gzFile file;
	ssize_t size;

	cr_assert_geq(fd, 0);
	file = gzopen(path, "wb");
	cr_assert_gt(gzwrite(file, mtrace_text, sizeof(mtrace_text) - 1), 0);
	gzclose(file);
	size = read(fd, bytes, sizeof(bytes));
	close(fd);
	unlink(path);
	expect_mtrace(import_bytes("mtrace", bytes, (size_t)size));
	cr_expect_eq(import_bytes("mtrace", bytes, (size_t)size - 30), 0);
	cr_expect_str_neq(error.text, "");
}

Test(trace_import, zero_bytes_end_no_line)
{
	static const char foreign[] = "= Start\n\0\nhello\n";
	static const char named[] = "@ ./a\0b:[0x1] + 0x10 0x64\n@ ./a:[0x2] - 0x10\n";

	cr_expect_eq(import_bytes("mtrace", foreign, sizeof(foreign) - 1), 0);
	cr_expect_not_null(strstr(error.text, "line 2 is none of mtrace: ?"), "%s", error.text);
	cr_expect_eq(import_bytes("mtrace", named, sizeof(named) - 1), 2, "%s", error.text);
}

Test(trace_import, line_of_any_length_is_one_line)
{
	char text[20000];
	size_t length = (size_t)snprintf(text, sizeof(text), "@ ./a:[0x1] + 0x10 0x64\n@ ");

	memset(text + length, 'x', 9000);
	strcpy(text + length + 9000, "\n- 0x10\nhello");
	cr_expect_eq(import_text("mtrace", text), 0);
	cr_expect_not_null(strstr(error.text, "line 2 is none of mtrace"), "%s", error.text);
}

Test(trace_import, heaptrack_is_read)
{
	const uint64_t count = import_text("heaptrack", heaptrack_text);

	cr_assert_eq(count, 5, "%lu: %s", count, error.text);
	expect_op(0, HQ_TRACE_MALLOC, 0, 0x11c00);
	expect_op(1, HQ_TRACE_MALLOC, 1, 0x64);
	expect_op(2, HQ_TRACE_MALLOC, 2, 0x64);
	/* The latest of its kind. */
	expect_op(3, HQ_TRACE_FREE, 2, 0);
	expect_op(4, HQ_TRACE_FREE, 0, 0);
	cr_expect_eq(ops[4].tick, 31000);
}

Test(trace_import, heaptrack_frees_beyond_what_was_given_out_are_left_out)
{
	cr_expect_eq(import_text("heaptrack", "v 10400 3\na 8 1\n+ 0\n- 0\n- 0\n"), 2);
	cr_expect_eq(builder.writer.info.repaired, 1);
}

Test(trace_import, wrong_lines_are_refused_with_their_number)
{
	static const struct {
		const char *format, *text, *word;
	} rows[] = {
		{ "mtrace", "= Start\nhello\n", "line 2 is none of mtrace: hello" },
		{ "mtrace", "+ 0x10\n", "line 1 is none of mtrace" },
		{ "mtrace", "+ 0x10 0x\n", "line 1 is none of mtrace" },
		{ "mtrace", "+ 0x10 0x20 0x30\n", "line 1 is none of mtrace" },
		{ "mtrace", "- 0x10 5\n", "line 1 is none of mtrace" },
		{ "mtrace", "- 0x11111111111111111\n", "line 1 is none of mtrace" },
		{ "mtrace", "+ 0x1000000000000 0x1\n", "line 1 is none of mtrace" },
		{ "mtrace", heaptrack_text, "line 1 is none of mtrace: v 10400 3" },
		{ "heaptrack", mtrace_text, "line 1 is none of heaptrack: = Start" },
		{ "heaptrack", "v 1 3\n+ 0\n", "line 2 is none of heaptrack: + 0" },
		{ "heaptrack", "v 1 3\na 8 1\n+ 1\n", "line 3 is none of heaptrack" },
		{ "heaptrack", "v 1 3\na\n", "line 2 is none of heaptrack" },
		{ "heaptrack", "v 1 3\na  \n", "line 2 is none of heaptrack" },
		{ "heaptrack", "v 1 3\na zz\n", "line 2 is none of heaptrack" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(import_text(rows[i].format, rows[i].text), 0);
		cr_expect_not_null(strstr(error.text, rows[i].word), "%zu: %s", i, error.text);
	}
}

Test(trace_import, bytes_of_any_kind_never_crash)
{
	char bytes[sizeof(mtrace_text) + sizeof(heaptrack_text)];
	uint64_t state = 5;

	for (uint32_t round = 0; round < 2000; round++) {
		const char *const from = round % 2 ? mtrace_text : heaptrack_text;
		const size_t size = strlen(from);

		memcpy(bytes, from, size);
		for (uint32_t i = 0; i < 3; i++) {
			state = state * 6364136223846793005ull + 1442695040888963407ull;
			bytes[(state >> 33) % size] = (char)(state >> 20);
		}
		import_bytes(round % 2 ? "mtrace" : "heaptrack", bytes, size);
	}
}

Test(trace_import, missing_file_is_an_error)
{
	cr_expect_neq(hq_import_file(&hq_import_mtrace, "/no/such", &builder, &error), 0);
	cr_expect_str_eq(error.text, "/no/such: No such file or directory");
	cr_expect_null(hq_import_find("valgrind"));
}
