/* SPDX-License-Identifier: MIT */
/*
 * HdrHistogram logs. Our buckets are HdrHistogram's for lowest value 1 and 3 significant digits, so
 * counts go over one by one and nothing is rounded a second time. A line of the log is
 *
 *	Tag=malloc,START,LENGTH,MAX,BASE64
 *
 * START and LENGTH in seconds, MAX in milliseconds (the unit its Java writer uses by default).
 * BASE64 is a big-endian envelope { cookie, length } around a zlib stream, which holds a big-endian
 * header and the counts, each a zig-zag LEB128 number; a negative one stands for so many zeros.
 * Source of the format: the encoder and log writer of HdrHistogram and HdrHistogram_c.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "stress/report/hlog.h"
#include "stress/wire/hist.h"

#define COOKIE_V2            0x1c849303u
#define COOKIE_V2_COMPRESSED 0x1c849304u
#define COOKIE_ZIGZAG        0x10u /* word size 1: variable length */

#define SIGNIFICANT_DIGITS 3
#define HEADER_BYTES       40
#define ENVELOPE_BYTES     8
#define LEB128_BYTES       9

/* Largest value that has a bucket of its own. */
#define HIGHEST_VALUE (((uint64_t)HQ_HIST_LINEAR << HQ_HIST_OCTAVES) - 1)

static void put_be32(unsigned char *out, uint32_t value)
{
	value = htobe32(value);
	memcpy(out, &value, sizeof(value));
}

static void put_be64(unsigned char *out, uint64_t value)
{
	value = htobe64(value);
	memcpy(out, &value, sizeof(value));
}

/* Returns the number of bytes; the ninth carries 8 bits, so that none needs a tenth. */
static size_t put_zigzag(unsigned char *out, int64_t signed_value)
{
	uint64_t value = ((uint64_t)signed_value << 1) ^ (uint64_t)(signed_value >> 63);
	size_t length = 0;

	while (value > 0x7f && length < LEB128_BYTES - 1) {
		out[length++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	out[length++] = (unsigned char)value;
	return length;
}

/* One past the last bucket that holds anything. */
static uint32_t used_buckets(const struct hq_hist *hist)
{
	uint32_t used = HQ_HIST_BUCKETS;

	while (used > 0 && hq_load_relaxed(&hist->buckets[used - 1]) == 0)
		used--;
	return used;
}

static size_t put_counts(unsigned char *out, const struct hq_hist *hist)
{
	const uint32_t used = used_buckets(hist);
	size_t length = 0;

	for (uint32_t i = 0; i < used;) {
		const uint32_t count = hq_load_relaxed(&hist->buckets[i]);
		int64_t zeros = 0;

		if (count > 0) {
			length += put_zigzag(out + length, count);
			i++;
			continue;
		}
		for (; i < used && hq_load_relaxed(&hist->buckets[i]) == 0; i++)
			zeros++;
		length += put_zigzag(out + length, -zeros);
	}
	return length;
}

/* The histogram, not yet compressed. Returns its length; `out` has room for every bucket. */
static size_t encode(const struct hq_hist *hist, unsigned char *out)
{
	const double conversion_ratio = 1.0;
	const size_t payload = put_counts(out + HEADER_BYTES, hist);
	uint64_t ratio_bits;

	memcpy(&ratio_bits, &conversion_ratio, sizeof(ratio_bits));
	put_be32(out, COOKIE_V2 | COOKIE_ZIGZAG);
	put_be32(out + 4, (uint32_t)payload);
	put_be32(out + 8, 0); /* normalizing index offset */
	put_be32(out + 12, SIGNIFICANT_DIGITS);
	put_be64(out + 16, 1); /* lowest discernible value */
	put_be64(out + 24, HIGHEST_VALUE);
	put_be64(out + 32, ratio_bits);
	return HEADER_BYTES + payload;
}

/* Compressed, in its envelope: *out is to be freed. */
static int compress_histogram(const struct hq_hist *hist, unsigned char **out, size_t *length)
{
	unsigned char *plain = malloc(HEADER_BYTES + LEB128_BYTES * (size_t)HQ_HIST_BUCKETS);
	unsigned char *packed = NULL;
	int status = -ENOMEM;

	if (!plain)
		return -ENOMEM;
	const size_t plain_length = encode(hist, plain);
	uLongf packed_length = compressBound(plain_length);

	packed = malloc(ENVELOPE_BYTES + packed_length);
	if (packed &&
	    compress(packed + ENVELOPE_BYTES, &packed_length, plain, plain_length) == Z_OK) {
		put_be32(packed, COOKIE_V2_COMPRESSED | COOKIE_ZIGZAG);
		put_be32(packed + 4, (uint32_t)packed_length);
		*out = packed;
		*length = ENVELOPE_BYTES + packed_length;
		packed = NULL;
		status = 0;
	}
	free(packed);
	free(plain);
	return status;
}

static void put_base64(const unsigned char *data, size_t length, FILE *stream)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

	for (size_t i = 0; i < length; i += 3) {
		const size_t left = length - i;
		const uint32_t bits = (uint32_t)data[i] << 16 |
				      (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
				      (left > 2 ? data[i + 2] : 0);

		putc(digits[bits >> 18], stream);
		putc(digits[bits >> 12 & 63], stream);
		putc(left > 1 ? digits[bits >> 6 & 63] : '=', stream);
		putc(left > 2 ? digits[bits & 63] : '=', stream);
	}
}

static int write_line(const struct hq_hist *hist, const char *tag, double seconds, FILE *stream)
{
	unsigned char *packed;
	size_t length;
	const int status = compress_histogram(hist, &packed, &length);

	if (status)
		return status;
	fprintf(stream, "Tag=%s,0.000,%.3f,%.3f,", tag, seconds,
		(double)hq_load_relaxed(&hist->max_ns) / 1e6);
	put_base64(packed, length, stream);
	putc('\n', stream);
	free(packed);
	return 0;
}

const char *hq_hlog_tag(enum hq_latency call, enum hq_band band, enum hq_window window,
			char tag[HQ_HLOG_TAG])
{
	static const char *const calls[HQ_LATENCY_COUNT] = {
		[HQ_LATENCY_MALLOC] = "malloc",
		[HQ_LATENCY_FREE] = "free",
		[HQ_LATENCY_REALLOC] = "realloc",
		[HQ_LATENCY_OP] = "op",
	};
	static const char *const windows[] = {
		[HQ_WINDOW_CLEAN] = ".clean",
		[HQ_WINDOW_FAULTED] = ".faulted",
		[HQ_WINDOW_ALL] = "",
	};

	snprintf(tag, HQ_HLOG_TAG, "%s%s%s%s", calls[call], band == HQ_BAND_ALL ? "" : "@",
		 band == HQ_BAND_ALL ? "" : hq_band_name(band), windows[window]);
	return tag;
}

/* All of it, then what is apart: the same places in each of these for a call and for a band. */
static int visit_windows(const struct hq_observations *observations, enum hq_latency call,
			 enum hq_band band, hq_hlog_visit *visit, void *cookie)
{
	static const enum hq_window order[] = { HQ_WINDOW_ALL, HQ_WINDOW_CLEAN, HQ_WINDOW_FAULTED };
	const size_t count = hq_latency_was_faulted(observations) ? 3 : 1;
	char tag[HQ_HLOG_TAG];
	int status = 0;

	for (size_t i = 0; i < count && !status; i++) {
		const struct hq_hist *hist = hq_latency_seen_in(observations, call, band, order[i]);

		if (hist && hq_hist_count(hist) > 0)
			status = visit(hist, hq_hlog_tag(call, band, order[i], tag), cookie);
	}
	return status;
}

int hq_hlog_each(const struct hq_observations *observations, hq_hlog_visit *visit, void *cookie)
{
	int status = 0;

	for (int i = 0; i < HQ_LATENCY_COUNT * (HQ_BAND_COUNT + 1) && !status; i++) {
		const enum hq_latency call = (enum hq_latency)(i / (HQ_BAND_COUNT + 1));
		const int place = i % (HQ_BAND_COUNT + 1);
		const enum hq_band band = place ? (enum hq_band)(place - 1) : HQ_BAND_ALL;

		status = visit_windows(observations, call, band, visit, cookie);
	}
	return status;
}

struct line_writer {
	FILE *stream;
	double seconds; /* until the work ended */
};

static int visit_line(const struct hq_hist *hist, const char *tag, void *cookie)
{
	const struct line_writer *writer = cookie;

	return write_line(hist, tag, writer->seconds, writer->stream);
}

int hq_hlog_write(const struct hq_observations *observations, FILE *stream)
{
	const uint64_t ended_ns =
		observations->worked_ns ? observations->worked_ns : observations->end_ns;
	struct line_writer writer = { .stream = stream, .seconds = (double)ended_ns / 1e9 };

	fputs("#[Logged by heapquake: latencies in nanoseconds, time since the work began]\n"
	      "#[Histogram log format version 1.2]\n"
	      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
	      "\"Interval_Compressed_Histogram\"\n",
	      stream);
	return hq_hlog_each(observations, visit_line, &writer);
}
