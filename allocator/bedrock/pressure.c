/* SPDX-License-Identifier: MIT */
/*
 * Reading the pressure stall information: the control group's own where it is the root that we
 * see, as in a container; else the machine's.
 */
#include "allocator/bedrock/pressure.h"

#include <string.h>

#include "allocator/bedrock/os.h"
#include "allocator/bedrock/text.h"

#define BEDROCK_PRESSURE_BYTES 256u
#define BEDROCK_NS_PER_US      1000u

static const char *const bedrock_pressure_paths[] = {
	"/sys/fs/cgroup/memory.pressure",
	"/proc/pressure/memory",
};

#define BEDROCK_PRESSURE_PATHS (sizeof(bedrock_pressure_paths) / sizeof(bedrock_pressure_paths[0]))

bool bedrock_pressure_parse(const char *text, uint64_t *out_us)
{
	static const char line[] = "some ";
	static const char key[] = " total=";

	if (strncmp(text, line, sizeof(line) - 1) != 0)
		return false;
	const char *at = strstr(text, key);
	const char *end = strchr(text, '\n');

	if (!at || (end && at > end))
		return false;
	at += sizeof(key) - 1;
	return bedrock_text_read_number(&at, out_us);
}

static bool bedrock_pressure_read(uint64_t *out_us)
{
	char text[BEDROCK_PRESSURE_BYTES];

	for (size_t i = 0; i < BEDROCK_PRESSURE_PATHS; i++) {
		if (bedrock_os_read_file(bedrock_pressure_paths[i], text, sizeof(text)) > 0 &&
		    bedrock_pressure_parse(text, out_us))
			return true;
	}
	return false;
}

bool bedrock_pressure_look(struct bedrock_pressure_watch *watch, uint64_t now_ns)
{
	struct bedrock_pressure_watch last = *watch;

	if (now_ns < last.next_ns)
		return false;
	*watch = (struct bedrock_pressure_watch){
		.next_ns = now_ns + BEDROCK_PRESSURE_INTERVAL_NS,
		.looked_ns = now_ns,
	};
	watch->has_looked = bedrock_pressure_read(&watch->stalled_us);
	if (!watch->has_looked)
		watch->next_ns = now_ns + BEDROCK_PRESSURE_HOLIDAY_NS;
	/* The total falls when the process is moved to another group. */
	if (!watch->has_looked || !last.has_looked || watch->stalled_us < last.stalled_us)
		return false;
	uint64_t stalled_ns = (watch->stalled_us - last.stalled_us) * BEDROCK_NS_PER_US;

	return stalled_ns >= (now_ns - last.looked_ns) / BEDROCK_PRESSURE_SHARE;
}
