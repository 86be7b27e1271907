/* SPDX-License-Identifier: MIT */
/*
 * Latency logs, read back by a decoder of our own that follows the published format: base64,
 * envelope, zlib, header, zig-zag LEB128 counts.
 */
#include <criterion/criterion.h>
#include <endian.h>
#include <string.h>
#include <zlib.h>

#include "stress/report/hlog.h"
#include "stress/tests/observed.h"
#include "stress/wire/hist.h"

static struct hq_hist hist[HQ_LATENCY_COUNT];

struct decoded {
	char tag[24];
	double start, length, max;
	uint32_t significant_digits;
	uint64_t lowest, highest;
	double ratio;
	size_t counted; /* counts up to the last one written */
	uint64_t counts[HQ_HIST_BUCKETS];
};

static char *written(const struct hq_observations *observations)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	cr_assert_eq(hq_hlog_write(observations, stream), 0);
	fclose(stream);
	return text;
}

static size_t from_base64(const char *text, unsigned char *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	uint32_t bits = 0;
	unsigned int held = 0;
	size_t length = 0;

	for (; *text && *text != '\n' && *text != '='; text++) {
		const char *digit = strchr(digits, *text);

		cr_assert(digit, "'%c' is no base64", *text);
		bits = bits << 6 | (uint32_t)(digit - digits);
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[length++] = (unsigned char)(bits >> held);
		}
	}
	return length;
}

static uint32_t be32_at(const unsigned char *data)
{
	uint32_t value;

	memcpy(&value, data, sizeof(value));
	return be32toh(value);
}

static uint64_t be64_at(const unsigned char *data)
{
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	return be64toh(value);
}

static int64_t read_zigzag(const unsigned char **data)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < 9; i++) {
		const unsigned char byte = *(*data)++;

		value |= (uint64_t)(i < 8 ? byte & 0x7f : byte) << (7 * i);
		if (i == 8 || !(byte & 0x80))
			break;
	}
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static void decode_histogram(const unsigned char *data, size_t length, struct decoded *decoded)
{
	static unsigned char plain[40 + 9 * HQ_HIST_BUCKETS];
	uLongf plain_length = sizeof(plain);
	uint64_t ratio_bits;

	cr_assert_eq(be32_at(data), 0x1c849314);
	cr_assert_eq(be32_at(data + 4), length - 8);
	cr_assert_eq(uncompress(plain, &plain_length, data + 8, length - 8), Z_OK);
	cr_assert_eq(be32_at(plain), 0x1c849313);
	cr_assert_eq(be32_at(plain + 4), plain_length - 40);
	cr_assert_eq(be32_at(plain + 8), 0);
	decoded->significant_digits = be32_at(plain + 12);
	decoded->lowest = be64_at(plain + 16);
	decoded->highest = be64_at(plain + 24);
	ratio_bits = be64_at(plain + 32);
	memcpy(&decoded->ratio, &ratio_bits, sizeof(ratio_bits));
	for (const unsigned char *at = plain + 40; at < plain + plain_length;) {
		const int64_t value = read_zigzag(&at);

		if (value < 0)
			decoded->counted += (size_t)-value;
		else
			decoded->counts[decoded->counted++] = (uint64_t)value;
		cr_assert_leq(decoded->counted, HQ_HIST_BUCKETS);
	}
}

/* The line with that tag; NULL: there is none. */
static struct decoded *decode(const char *log, const char *tag)
{
	static struct decoded decoded;
	static unsigned char packed[9 * HQ_HIST_BUCKETS];
	char prefix[32];
	int used = 0;

	memset(&decoded, 0, sizeof(decoded));
	snprintf(prefix, sizeof(prefix), "\nTag=%s,", tag);
	const char *line = strstr(log, prefix);

	if (!line)
		return NULL;
	cr_assert_eq(sscanf(line, "\nTag=%23[^,],%lf,%lf,%lf,%n", decoded.tag, &decoded.start,
			    &decoded.length, &decoded.max, &used),
		     4);
	decode_histogram(packed, from_base64(line + used, packed), &decoded);
	return &decoded;
}

static struct hq_observations observed(void)
{
	struct hq_observations seen = observed_good();

	seen.hist = hist;
	return seen;
}

static void assert_same_counts(const struct decoded *decoded, const struct hq_hist *expected)
{
	for (uint32_t i = 0; i < HQ_HIST_BUCKETS; i++)
		cr_assert_eq(decoded->counts[i], hq_load_relaxed(&expected->buckets[i]), "%u", i);
}

Test(hlog, counts_come_back_one_by_one)
{
	const struct hq_observations seen = observed();
	uint64_t value = 1;

	for (int i = 0; i < 100000; i++) {
		value = value * 6364136223846793005u + 1442695040888963407u;
		hq_hist_record(&hist[HQ_LATENCY_MALLOC], value >> (28 + i % 36));
	}
	char *log = written(&seen);
	const struct decoded *decoded = decode(log, "malloc");

	assert_same_counts(decoded, &hist[HQ_LATENCY_MALLOC]);
	free(log);
}

Test(hlog, the_header_describes_the_layout_of_the_buckets)
{
	const struct hq_observations seen = observed();

	hq_hist_record(&hist[HQ_LATENCY_FREE], 5);
	char *log = written(&seen);
	const struct decoded *decoded = decode(log, "free");

	cr_assert_eq(decoded->significant_digits, 3);
	cr_assert_eq(decoded->lowest, 1);
	cr_assert_eq(decoded->highest, (UINT64_C(1) << 37) - 1);
	cr_assert_eq(decoded->ratio, 1.0);
	cr_assert_eq(decoded->counted, 6);
	free(log);
}

Test(hlog, what_faults_took_has_lines_of_its_own_where_there_were_any)
{
	static struct hq_hist clean[HQ_LATENCY_COUNT], faulted[HQ_LATENCY_COUNT], band;
	struct hq_observations seen = observed();

	hq_hist_record(&hist[HQ_LATENCY_MALLOC], 7);
	hq_hist_record(&clean[HQ_LATENCY_MALLOC], 7);
	seen.apart[HQ_WINDOW_CLEAN].hist = clean;
	seen.apart[HQ_WINDOW_FAULTED].hist = faulted;
	char *log = written(&seen);

	cr_assert_null(decode(log, "malloc.clean"));
	free(log);
	hq_hist_record(&faulted[HQ_LATENCY_MALLOC], 2000);
	hq_hist_record(&band, 3000);
	seen.apart[HQ_WINDOW_FAULTED].bands[HQ_LATENCY_MALLOC][HQ_BAND_64KIB] = &band;
	log = written(&seen);
	assert_same_counts(decode(log, "malloc"), &hist[HQ_LATENCY_MALLOC]);
	assert_same_counts(decode(log, "malloc.clean"), &clean[HQ_LATENCY_MALLOC]);
	assert_same_counts(decode(log, "malloc.faulted"), &faulted[HQ_LATENCY_MALLOC]);
	assert_same_counts(decode(log, "malloc@64KiB.faulted"), &band);
	cr_assert_null(decode(log, "malloc@64KiB.clean"));
	free(log);
}

Test(hlog, bands_of_sizes_have_a_line_and_a_tag_of_their_own)
{
	static struct hq_hist band;
	struct hq_observations seen = observed();

	hq_hist_record(&hist[HQ_LATENCY_MALLOC], 7);
	hq_hist_record(&band, 1000);
	seen.bands[HQ_LATENCY_MALLOC][HQ_BAND_64KIB] = &band;
	char *log = written(&seen);

	assert_same_counts(decode(log, "malloc"), &hist[HQ_LATENCY_MALLOC]);
	assert_same_counts(decode(log, "malloc@64KiB"), &band);
	cr_assert_null(decode(log, "malloc@256B"));
	free(log);
}

Test(hlog, first_and_last_bucket_survive)
{
	const struct hq_observations seen = observed();

	hq_hist_record(&hist[HQ_LATENCY_OP], 0);
	hq_hist_record(&hist[HQ_LATENCY_OP], UINT64_MAX / 2);
	char *log = written(&seen);
	const struct decoded *decoded = decode(log, "op");

	cr_assert_eq(decoded->counted, HQ_HIST_BUCKETS);
	cr_assert_eq(decoded->counts[0], 1);
	cr_assert_eq(decoded->counts[HQ_HIST_BUCKETS - 1], 1);
	free(log);
}

Test(hlog, the_largest_count_survives)
{
	const struct hq_observations seen = observed();

	hq_store_relaxed(&hist[HQ_LATENCY_REALLOC].buckets[2047], UINT32_MAX);
	hq_store_relaxed(&hist[HQ_LATENCY_REALLOC].buckets[2048], 64);
	char *log = written(&seen);
	const struct decoded *decoded = decode(log, "realloc");

	assert_same_counts(decoded, &hist[HQ_LATENCY_REALLOC]);
	free(log);
}

Test(hlog, a_line_tells_interval_and_maximum)
{
	const struct hq_observations seen = observed();

	hq_hist_record(&hist[HQ_LATENCY_MALLOC], 2500000);
	char *log = written(&seen);
	const struct decoded *decoded = decode(log, "malloc");

	cr_assert_eq(decoded->start, 0.0);
	cr_assert_eq(decoded->length, 1.0);
	cr_assert_eq(decoded->max, 2.5);
	free(log);
}

Test(hlog, calls_without_a_sample_have_no_line)
{
	const struct hq_observations seen = observed();

	hq_hist_record(&hist[HQ_LATENCY_MALLOC], 1);
	char *log = written(&seen);

	cr_assert(decode(log, "malloc"));
	cr_assert_null(decode(log, "free"));
	free(log);
}

Test(hlog, without_histograms_the_log_is_its_header)
{
	const struct hq_observations seen = observed_good();
	char *log = written(&seen);

	cr_assert(strstr(log, "#[Histogram log format version 1.2]\n"));
	cr_assert(strstr(log, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
			      "\"Interval_Compressed_Histogram\"\n"));
	cr_assert_null(strstr(log, "Tag="));
	free(log);
}

Test(hlog, no_line_of_the_header_is_longer_than_its_readers_take)
{
	const struct hq_observations seen = observed_good();
	char *log = written(&seen);
	char *save = NULL;

	for (char *line = strtok_r(log, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		cr_assert_lt(strlen(line), 127);
	free(log);
}
