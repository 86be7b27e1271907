/* SPDX-License-Identifier: MIT */
/*
 * Reading /proc/PID/maps and statm of a target, and the series of such readings.
 */
#include "stress/observe/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "injectors/proc.h"
#include "injectors/units.h"

#define PERIOD_NS    (100 * HQ_MS)
#define REST_FACTOR  50u /* of the time that a reading took */
#define THREADS      20  /* field of stat, proc(5) */
#define BUFFER_BYTES 65536

/* "7f12-7f34 rw-p 0 00:00 0 [heap]": private, and no file behind it. */
static bool is_anonymous(const char *access, const char *inode)
{
	return access[0] && access[1] && access[2] && access[3] == 'p' && inode &&
	       strtoull(inode, NULL, 10) == 0;
}

/* The rest of the line behind that many words. */
static const char *behind_words(const char *text, int words)
{
	for (; text && words > 0; words--) {
		text = strchr(text, ' ');
		text = text ? text + 1 : NULL;
	}
	return text;
}

void hq_space_sum(const char *line, struct hq_space *space)
{
	char *rest;
	const uint64_t start = strtoull(line, &rest, 16);
	const uint64_t end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;

	if (end <= start || *rest != ' ')
		return;
	const char *const access = rest + 1;
	const char *const inode = behind_words(access, 3);

	space->mappings++;
	if (is_anonymous(access, inode) && (access[0] == 'r' || access[1] == 'w') &&
	    !strstr(inode, "[v"))
		space->mapped_bytes += end - start;
}

static bool read_maps(pid_t target, struct hq_space *space)
{
	char path[48], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)target);
	file = fopen(path, "re");
	if (!file)
		return false;
	setvbuf(file, NULL, _IOFBF, BUFFER_BYTES);
	for (bool whole = true; fgets(line, sizeof(line), file);) {
		if (whole)
			hq_space_sum(line, space);
		/* The end of a long path is no line of its own. */
		whole = strchr(line, '\n') != NULL;
	}
	fclose(file);
	return space->mappings > 0;
}

bool hq_space_read(pid_t target, struct hq_space *space)
{
	struct hq_space found = { .mappings = 0 };
	char text[1024];

	if (hq_proc_read_of(target, 0, "statm", text, sizeof(text)) <= 0)
		return false;
	found.space_bytes = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	if (!read_maps(target, &found))
		return false;
	if (hq_proc_read_of(target, 0, "stat", text, sizeof(text)) > 0) {
		const char *const threads = hq_proc_stat_field(text, THREADS);

		found.threads = threads ? strtoull(threads, NULL, 10) : 0;
	}
	*space = found;
	return true;
}

void hq_space_enter(const struct hq_space *space, struct hq_observations *seen)
{
	if (!seen->space_start.mappings)
		seen->space_start = *space;
	seen->space_end = *space;
	hq_raise_to(&seen->space_peak.mapped_bytes, space->mapped_bytes);
	hq_raise_to(&seen->space_peak.space_bytes, space->space_bytes);
	hq_raise_to(&seen->space_peak.mappings, space->mappings);
	hq_raise_to(&seen->space_peak.threads, space->threads);
}

/* Every second one goes, so that the rest still covers the whole time evenly. */
static void thin_out(struct hq_observations *seen)
{
	size_t kept = 0;

	for (size_t i = 0; i < seen->space_count; i += 2)
		seen->spaces[kept++] = seen->spaces[i];
	seen->space_count = kept;
}

bool hq_space_keep(const struct hq_space_sample *sample, struct hq_observations *seen)
{
	const bool full = seen->space_count == HQ_SPACES_MAX;

	if (full)
		thin_out(seen);
	seen->spaces[seen->space_count++] = *sample;
	return full;
}

/* On a busy machine most of the time that passes is not ours. */
void hq_space_follow(pid_t target, uint64_t time_ns, struct hq_space_pace *pace,
		     struct hq_observations *seen)
{
	const uint64_t began_ns = hq_thread_cpu_ns();
	struct hq_space_sample sample = { .time_ns = time_ns };

	if (time_ns < pace->due_ns || !hq_space_read(target, &sample.space))
		return;
	const uint64_t rest_ns = REST_FACTOR * (hq_thread_cpu_ns() - began_ns);

	if (!pace->period_ns)
		pace->period_ns = PERIOD_NS;
	hq_space_enter(&sample.space, seen);
	if (hq_space_keep(&sample, seen))
		pace->period_ns *= 2;
	pace->due_ns = time_ns + (rest_ns > pace->period_ns ? rest_ns : pace->period_ns);
}
