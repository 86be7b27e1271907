/* SPDX-License-Identifier: MIT */
/* The file of a trace: what is written is read, and nothing that is damaged is taken for a trace.
 */
#include "stress/tests/trace_file.h"

#include <zlib.h>

#define COUNT 40000u /* more than two parts */

static struct hq_trace_op written[COUNT], got[COUNT];

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* Operations of all kinds by three threads, with up to 64 live blocks. */
static uint32_t make_ops(uint32_t count)
{
	uint32_t live[64], live_count = 0, blocks = 0;
	uint64_t state = 1, tick = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t kind = (uint32_t)draw(&state) % HQ_TRACE_KIND_COUNT;
		struct hq_trace_op *const op = &written[i];

		tick += draw(&state) % 3 ? 0 : draw(&state) % 1000;
		*op = (struct hq_trace_op){ .tick = tick, .thread = i < 3 ? i : draw(&state) % 3 };
		if (live_count == 64 || (live_count > 0 && !hq_trace_makes_block(kind))) {
			const uint32_t chosen = (uint32_t)draw(&state) % live_count;

			op->kind = live_count < 64 ? (uint8_t)kind : HQ_TRACE_FREE;
			op->block = live[chosen];
			if (op->kind == HQ_TRACE_FREE)
				live[chosen] = live[--live_count];
		} else {
			op->kind = hq_trace_makes_block(kind) ? (uint8_t)kind : HQ_TRACE_MALLOC;
			op->block = live[live_count++] = blocks++;
		}
		if (op->kind != HQ_TRACE_FREE)
			op->size = draw(&state) >> draw(&state) % 31;
		if (op->kind == HQ_TRACE_ALIGNED)
			op->alignment_shift = (uint8_t)(draw(&state) % 13);
	}
	return blocks;
}

static struct trace_file write_ops(uint32_t count, uint64_t bytes_max, struct hq_trace_info *info)
{
	const int fd = trace_file_make();
	struct hq_trace_writer writer;

	cr_assert_eq(hq_trace_writer_open(&writer, fd, bytes_max, 1000), 0);
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(hq_trace_write(&writer, &written[i]), 0);
	cr_assert_eq(hq_trace_writer_finish(&writer), 0);
	*info = writer.info;
	hq_trace_writer_close(&writer);
	return trace_file_take(fd);
}

Test(trace_file, what_was_written_is_read)
{
	const uint32_t blocks = make_ops(COUNT);
	struct hq_trace_info info;
	struct trace_file file = write_ops(COUNT, UINT64_MAX, &info);
	struct hq_error error;

	cr_assert_eq(trace_file_read(file.data, file.size, got, COUNT, &error), COUNT, "%s",
		     error.text);
	cr_expect_str_eq(error.text, "");
	for (uint32_t i = 0; i < COUNT; i++) {
		cr_assert_eq(got[i].tick, written[i].tick, "%u", i);
		cr_assert_eq(got[i].size, written[i].size, "%u", i);
		cr_assert_eq(got[i].block, written[i].block, "%u", i);
		cr_assert_eq(got[i].thread, written[i].thread, "%u", i);
		cr_assert_eq(got[i].kind, written[i].kind, "%u", i);
		cr_assert_eq(got[i].alignment_shift, written[i].alignment_shift, "%u", i);
	}
	cr_expect_eq(info.blocks, blocks);
	cr_expect_eq(info.threads, 3);
	trace_file_drop(&file);
}

Test(trace_file, trace_without_operations_is_one)
{
	struct hq_trace_info info;
	struct trace_file file = write_ops(0, HQ_TRACE_FILE_MIN, &info);
	struct hq_error error;

	cr_expect_eq(trace_file_read(file.data, file.size, got, COUNT, &error), 0);
	cr_expect_str_eq(error.text, "");
	trace_file_drop(&file);
}

Test(trace_file, bound_is_kept_and_what_is_beyond_is_counted)
{
	struct hq_trace_info info;
	struct hq_error error;

	make_ops(COUNT);
	struct trace_file file = write_ops(COUNT, 100000, &info);

	cr_expect_leq(file.size, 100000);
	cr_expect_gt(info.cut, 0);
	cr_expect_eq(info.ops + info.cut, COUNT);
	cr_expect_eq(trace_file_read(file.data, file.size, got, COUNT, &error), info.ops, "%s",
		     error.text);
	cr_expect_str_eq(error.text, "");
	trace_file_drop(&file);
}

Test(trace_file, trace_that_ends_too_early_is_refused_wherever_it_ends)
{
	struct hq_trace_info info;
	struct hq_error error;

	make_ops(20000);
	struct trace_file file = write_ops(20000, UINT64_MAX, &info);

	for (uint64_t size = 0; size < file.size; size += size < 300 ? 1 : 997) {
		trace_file_read(file.data, size, got, COUNT, &error);
		cr_expect_neq(error.text[0], '\0', "%lu of %lu bytes", size, file.size);
	}
	trace_file_drop(&file);
}

Test(trace_file, error_tells_the_place)
{
	struct hq_trace_info info;
	struct hq_error error;

	make_ops(COUNT);
	struct trace_file file = write_ops(COUNT, UINT64_MAX, &info);

	trace_file_read(file.data, file.size - 1, got, COUNT, &error);
	cr_expect_not_null(strstr(error.text, "operation 40000: the file ends here"), "%s",
			   error.text);
	trace_file_read(file.data, 64, got, COUNT, &error);
	cr_expect_str_eq(error.text, "it ends at byte 64, within its header");
	trace_file_read((const uint8_t *)"#!/bin/sh", 9, got, COUNT, &error);
	cr_expect_str_eq(error.text, "it ends at byte 9, within its header");
	trace_file_drop(&file);
}

Test(trace_file, flipped_bits_are_found_or_do_no_harm)
{
	struct hq_trace_info info;
	struct hq_error error;
	uint64_t state = 7, refused = 0;

	make_ops(3000);
	struct trace_file file = write_ops(3000, UINT64_MAX, &info);

	for (uint32_t round = 0; round < 3000; round++) {
		const uint64_t at = round < file.size ? round : draw(&state) % file.size;
		const uint8_t bit = (uint8_t)(1u << draw(&state) % 8);

		file.data[at] ^= bit;
		trace_file_read(file.data, file.size, got, COUNT, &error);
		refused += error.text[0] != '\0';
		file.data[at] ^= bit;
	}
	cr_expect_eq(refused, 3000);
	trace_file_drop(&file);
}

/* Checksums do not stop one who makes them: what is behind them must hold as well. */
Test(trace_file, nonsense_with_right_checksums_never_crashes)
{
	struct hq_trace_info info;
	struct hq_error error;
	uint64_t state = 9, refused = 0;
	uint8_t *raw, *packed;

	make_ops(3000);
	struct trace_file file = write_ops(3000, UINT64_MAX, &info);
	uint8_t *const head = file.data + HQ_TRACE_HEADER_BYTES;
	const uint32_t raw_bytes = hq_trace_get32(head + 4);
	uLongf length = raw_bytes;

	raw = malloc(raw_bytes);
	packed = malloc(HQ_TRACE_HEADER_BYTES + 2 * HQ_TRACE_HEAD_BYTES + compressBound(raw_bytes));
	cr_assert_eq(uncompress(raw, &length, head + HQ_TRACE_HEAD_BYTES, hq_trace_get32(head)), 0);
	memcpy(packed, file.data, HQ_TRACE_HEADER_BYTES);
	for (uint32_t round = 0; round < 2000; round++) {
		const uint32_t at = (uint32_t)draw(&state) % raw_bytes;
		const uint8_t before = raw[at];
		uint8_t *const part = packed + HQ_TRACE_HEADER_BYTES;
		uint64_t size;

		length = compressBound(raw_bytes);
		raw[at] = (uint8_t)draw(&state);
		cr_assert_eq(compress2(part + HQ_TRACE_HEAD_BYTES, &length, raw, raw_bytes, 1), 0);
		memcpy(part, head, HQ_TRACE_HEAD_BYTES);
		hq_trace_put32(part, (uint32_t)length);
		hq_trace_put32(part + 12, (uint32_t)crc32(crc32(0, part, 12),
							  part + HQ_TRACE_HEAD_BYTES, length));
		size = HQ_TRACE_HEADER_BYTES + HQ_TRACE_HEAD_BYTES + length;
		memcpy(packed + size, file.data + file.size - HQ_TRACE_HEAD_BYTES,
		       HQ_TRACE_HEAD_BYTES);
		trace_file_read(packed, size + HQ_TRACE_HEAD_BYTES, got, COUNT, &error);
		refused += error.text[0] != '\0';
		raw[at] = before;
	}
	cr_expect_gt(refused, 200);
	free(raw);
	free(packed);
	trace_file_drop(&file);
}
