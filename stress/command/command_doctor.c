/* SPDX-License-Identifier: MIT */
/*
 * `heapquake doctor`: one line for each thing that scenarios may need. It reports and never fails:
 * what is missing makes cases SKIP, and those say so themselves.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "stress/plan/allocator.h"
#include "stress/command/commands.h"
#include "stress/command/doctor.h"
#include "stress/plan/programs.h"

static size_t print(const char *name, const struct hq_diagnosis *diagnosis)
{
	static const char *const words[] = {
		[HQ_HEALTH_OK] = "ok",
		[HQ_HEALTH_MISSING] = "missing",
		[HQ_HEALTH_NOTE] = "",
	};

	printf("  %-8s %-24s %s\n", words[diagnosis->health], name, diagnosis->text);
	return diagnosis->health == HQ_HEALTH_MISSING;
}

static size_t run_probes(const char *heading, const struct hq_doctor_probe *probes)
{
	size_t missing = 0;

	puts(heading);
	for (; probes->name; probes++) {
		struct hq_diagnosis diagnosis = { .health = HQ_HEALTH_NOTE, .text = "unknown" };

		/* Children inherit what is not yet written. */
		fflush(stdout);
		probes->probe(&diagnosis);
		missing += print(probes->name, &diagnosis);
	}
	return missing;
}

static size_t check_allocators(const char *program)
{
	struct hq_allocators allocators = { .program = program };
	size_t missing = 0;

	puts("Allocators");
	for (const char *const *name = hq_allocator_names(); *name; name++) {
		struct hq_diagnosis diagnosis;
		struct hq_allocator allocator;
		struct hq_error error;

		fflush(stdout);
		if (hq_allocator_locate(&allocators, *name, &allocator, &error))
			hq_diagnose(&diagnosis, HQ_HEALTH_MISSING, "%.200s", error.text);
		else if (allocator.missing[0])
			hq_diagnose(&diagnosis, HQ_HEALTH_MISSING, "%s", allocator.missing);
		else
			hq_diagnose(&diagnosis, HQ_HEALTH_OK, "%s %.150s", allocator.version,
				    allocator.library);
		missing += print(*name, &diagnosis);
	}
	return missing;
}

static size_t check_programs(void)
{
	size_t missing = 0;

	puts("Programs that scenarios may use");
	for (const char *const *name = hq_program_names; *name; name++) {
		struct hq_diagnosis diagnosis;
		char path[PATH_MAX];

		if (hq_need_find(*name, path, sizeof(path)) == 0)
			hq_diagnose(&diagnosis, HQ_HEALTH_OK, "%.200s", path);
		else
			hq_diagnose(&diagnosis, HQ_HEALTH_MISSING, "Debian: apt-get install %s",
				    hq_program_package(*name));
		missing += print(*name, &diagnosis);
	}
	return missing;
}

int hq_command_doctor(struct hq_invocation *invocation)
{
	size_t missing = run_probes("What the kernel allows", hq_doctor_capabilities);

	missing += check_allocators(invocation->path);
	missing += check_programs();
	run_probes("This machine", hq_doctor_facts);
	printf("%zu missing\n", missing);
	return HQ_EXIT_OK;
}
