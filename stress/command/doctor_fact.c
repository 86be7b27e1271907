/* SPDX-License-Identifier: MIT */
/*
 * Facts of this machine that explain results, and make two of them comparable or not.
 */
#include "stress/command/doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "injectors/units.h"

void hq_diagnose(struct hq_diagnosis *diagnosis, enum hq_health health, const char *format, ...)
{
	va_list arguments;

	diagnosis->health = health;
	va_start(arguments, format);
	vsnprintf(diagnosis->text, sizeof(diagnosis->text), format, arguments);
	va_end(arguments);
}

const char *hq_doctor_read_line(const char *path, char *text, int size)
{
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (!file)
		return text;
	if (!fgets(text, size, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	fclose(file);
	return text;
}

static void probe_kernel(struct hq_diagnosis *diagnosis)
{
	struct utsname name;

	if (uname(&name) == 0)
		hq_diagnose(diagnosis, HQ_HEALTH_NOTE, "%s %s %s", name.sysname, name.release,
			    name.machine);
}

static void probe_processors(struct hq_diagnosis *diagnosis)
{
	const long count = sysconf(_SC_NPROCESSORS_ONLN);

	hq_diagnose(diagnosis, HQ_HEALTH_NOTE, "%ld online%s", count,
		    count < 2 ? "; races between CPUs cannot show here" : "");
}

static void probe_memory(struct hq_diagnosis *diagnosis)
{
	uint64_t total_kib = 0, available_kib = 0, swap_kib = 0;
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "MemTotal: %" SCNu64, &total_kib);
		sscanf(line, "MemAvailable: %" SCNu64, &available_kib);
		sscanf(line, "SwapTotal: %" SCNu64, &swap_kib);
	}
	if (file)
		fclose(file);
	hq_diagnose(diagnosis, HQ_HEALTH_NOTE,
		    "%" PRIu64 " MiB, %" PRIu64 " MiB available, swap %" PRIu64 " MiB",
		    total_kib / 1024, available_kib / 1024, swap_kib / 1024);
}

static void probe_clock(struct hq_diagnosis *diagnosis)
{
	char source[64];

	hq_doctor_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			    source, sizeof(source));
	if (strcmp(source, "tsc") == 0 || strcmp(source, "arch_sys_counter") == 0 ||
	    strcmp(source, "kvm-clock") == 0)
		hq_diagnose(diagnosis, HQ_HEALTH_NOTE, "%s, read without a system call", source);
	else
		hq_diagnose(diagnosis, HQ_HEALTH_NOTE,
			    "%s; reading the time may need a system call",
			    source[0] ? source : "unknown");
}

/* "always [madvise] never" names its choice in brackets. */
static void probe_huge_pages(struct hq_diagnosis *diagnosis)
{
	char line[128];
	const char *open;

	hq_doctor_read_line("/sys/kernel/mm/transparent_hugepage/enabled", line, sizeof(line));
	open = strchr(line, '[');
	if (open)
		hq_diagnose(diagnosis, HQ_HEALTH_NOTE, "%.*s", (int)strcspn(open + 1, "]"),
			    open + 1);
	else
		hq_diagnose(diagnosis, HQ_HEALTH_NOTE, "not in this kernel");
}

static void probe_overcommit(struct hq_diagnosis *diagnosis)
{
	static const char *const modes[] = { "heuristic", "always", "never: mmap fails early" };
	char line[16];

	hq_doctor_read_line("/proc/sys/vm/overcommit_memory", line, sizeof(line));
	if (line[0] >= '0' && line[0] <= '2')
		hq_diagnose(diagnosis, HQ_HEALTH_NOTE, "%c (%s)", line[0], modes[line[0] - '0']);
	else
		hq_diagnose(diagnosis, HQ_HEALTH_NOTE, "unknown");
}

static void probe_map_count(struct hq_diagnosis *diagnosis)
{
	char line[32];

	hq_doctor_read_line("/proc/sys/vm/max_map_count", line, sizeof(line));
	hq_diagnose(diagnosis, HQ_HEALTH_NOTE, "%s", line[0] ? line : "unknown");
}

const struct hq_doctor_probe hq_doctor_facts[] = {
	{ "kernel", probe_kernel },
	{ "CPUs", probe_processors },
	{ "memory", probe_memory },
	{ "clock", probe_clock },
	{ "transparent huge pages", probe_huge_pages },
	{ "overcommit", probe_overcommit },
	{ "mappings per process", probe_map_count },
	{ 0 },
};
