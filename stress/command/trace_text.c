/* SPDX-License-Identifier: MIT */
/*
 * What there is to say about a trace, and whether it is one.
 */
#include "stress/command/trace_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "injectors/units.h"
#include "stress/trace/reader.h"
#include "stress/wire/wire.h"

/* ---- checking ---- */

static int read_all(struct hq_trace_reader *reader, const uint8_t *data, uint64_t size,
		    struct hq_error *error)
{
	struct hq_trace_info info;
	struct hq_trace_op op;
	int status = hq_trace_read_info(data, size, &info, error);
	uint8_t *const live = status ? NULL : calloc(1, hq_trace_live_bytes(&info));

	if (!status && !live)
		status = hq_error_set(error, "out of memory");
	if (!status)
		status = hq_trace_reader_start(reader, data, size, live, error);
	while (!status && (status = hq_trace_next(reader, &op, error)) == 1)
		status = 0;
	free(live);
	return status;
}

static int read_mapped(const char *path, int fd, struct hq_trace_reader *reader,
		       struct hq_error *error)
{
	struct hq_error why;
	struct stat status;
	void *data;
	int result;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size == 0)
		return hq_error_set(error, "%.300s: it is no trace", path);
	data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		return hq_error_set(error, "%.300s: %s", path, strerror(errno));
	result = read_all(reader, data, (uint64_t)status.st_size, &why);
	if (result)
		hq_error_set(error, "%.200s: %.250s", path, why.text);
	munmap(data, (size_t)status.st_size);
	return result;
}

int hq_trace_check_file(const char *path, struct hq_trace_info *info, struct hq_error *error)
{
	struct hq_trace_reader *const reader = calloc(1, sizeof(*reader));
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int status;

	if (!reader)
		status = hq_error_set(error, "out of memory");
	else if (fd < 0)
		status = hq_error_set(error, "%.300s: %s", path, strerror(errno));
	else
		status = read_mapped(path, fd, reader, error);
	if (!status)
		*info = reader->info;
	if (fd >= 0)
		close(fd);
	free(reader);
	return status;
}

/* ---- telling ---- */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* To three digits or so: nobody needs a peak to the byte. */
static const char *size_text(char text[HQ_UNITS_TEXT], uint64_t bytes)
{
	if (bytes < HQ_KIB)
		snprintf(text, HQ_UNITS_TEXT, "%" PRIu64 " B", bytes);
	else if (bytes < HQ_MIB)
		snprintf(text, HQ_UNITS_TEXT, "%.1f KiB", (double)bytes / HQ_KIB);
	else
		snprintf(text, HQ_UNITS_TEXT, "%.1f MiB", (double)bytes / HQ_MIB);
	return text;
}

static void tell_info(const struct hq_trace_info *info, FILE *stream)
{
	const double seconds = (double)info->ticks * info->tick_ns / 1e9;
	char peak[HQ_UNITS_TEXT];

	fprintf(stream, "  %" PRIu64 " call%s of %" PRIu32 " thread%s in %.3f s\n", info->ops,
		plural(info->ops), info->threads, plural(info->threads), seconds);
	fprintf(stream, "  %" PRIu64 " block%s, %" PRIu64 " of them never freed", info->blocks,
		plural(info->blocks), info->left);
	fprintf(stream, "; at most %" PRIu64 " live, %s\n", info->peak_blocks,
		size_text(peak, info->peak_bytes));
	if (info->threads > HQ_WIRE_WORKERS)
		fprintf(stream, "  replayed by %u threads, among which they are dealt out\n",
			HQ_WIRE_WORKERS);
	if (info->lost || info->repaired || info->cut)
		fprintf(stream,
			"  %" PRIu64 " lost, %" PRIu64 " repaired, %" PRIu64
			" cut off at the bound\n",
			info->lost, info->repaired, info->cut);
}

void hq_trace_tell_file(const char *path, const struct hq_trace_info *info, FILE *stream)
{
	fprintf(stream, "%s: version %u\n", path, HQ_TRACE_VERSION);
	tell_info(info, stream);
}

static void tell_repairs(const struct hq_trace_repairs *repairs, FILE *stream)
{
	const struct {
		uint64_t count;
		const char *what;
	} kinds[] = {
		{ repairs->unknown_frees, "frees of what was allocated unseen: left out" },
		{ repairs->missing_frees, "frees that were not seen: put in" },
		{ repairs->unknown_resizes, "reallocs of what was allocated unseen: now mallocs" },
		{ repairs->torn_resizes, "reallocs whose end was not seen: now frees" },
		{ repairs->swapped, "frees that seemed to come before their malloc: put behind" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].count)
			fprintf(stream, "  repaired: %" PRIu64 " %s\n", kinds[i].count,
				kinds[i].what);
}

/* Why there is nothing, as far as it can be known. */
static void tell_nothing(const struct hq_record_outcome *outcome, FILE *stream)
{
	fputs(outcome->strangers
		      ? "  nothing was recorded: the program brings a malloc of its own\n"
		      : "  nothing was recorded: the program loads no library of ours (it is "
			"static, "
			"set-user-id, or of another C library), or allocates nothing\n",
	      stream);
}

void hq_trace_tell_outcome(const struct hq_record_outcome *outcome, const char *path, FILE *stream)
{
	char bytes[HQ_UNITS_TEXT];

	fprintf(stream, "heapquake record: %s, %s\n", path, size_text(bytes, outcome->bytes));
	tell_info(&outcome->info, stream);
	tell_repairs(&outcome->repairs, stream);
	if (outcome->refused)
		fprintf(stream, "  left out: %" PRIu64 " that were refused memory\n",
			outcome->refused);
	if (outcome->processes > 1)
		fprintf(stream,
			"  %" PRIu32 " processes; %" PRIu64
			" blocks of those that ended are freed with them\n",
			outcome->processes, outcome->closed);
	if (outcome->was_stopped || outcome->info.cut)
		fputs("  the trace ends before the program did; see --max-size\n", stream);
	if (outcome->info.ops == 0 && outcome->wall_ns)
		tell_nothing(outcome, stream);
}
