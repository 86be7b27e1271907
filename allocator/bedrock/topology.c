/* SPDX-License-Identifier: MIT */
/*
 * Reads the list of siblings of each CPU. Runs inside the first allocation: a number at a time, out
 * of files as small as that.
 */
#include "allocator/bedrock/topology.h"

#include <errno.h>
#include <stdbool.h>

#include "allocator/bedrock/os.h"
#include "allocator/bedrock/text.h"

#define BEDROCK_TOPOLOGY_ROOT "/sys/devices/system/cpu/"

/* The number that a string begins with. -> how many characters, 0 if it is none. */
static size_t bedrock_topology_number(const char *text, uint32_t *out)
{
	size_t at = 0;
	uint32_t number = 0;

	for (; at < 6 && text[at] >= '0' && text[at] <= '9'; at++)
		number = number * 10 + (uint32_t)(text[at] - '0');
	*out = number;
	return at;
}

/* One more than the highest CPU there may be, from a list like "0-3,8-11". */
static uint32_t bedrock_topology_cpu_count(void)
{
	char list[256];
	uint32_t highest = 0;
	ssize_t length = bedrock_os_read_file(BEDROCK_TOPOLOGY_ROOT "present", list, sizeof(list));

	if (length <= 0)
		return 0;
	for (const char *at = list; *at; at++) {
		uint32_t number;
		size_t digits = bedrock_topology_number(at, &number);

		if (digits > 0)
			at += digits - 1;
		if (digits > 0 && number > highest)
			highest = number;
	}
	return highest < BEDROCK_TOPOLOGY_CPUS ? highest + 1 : BEDROCK_TOPOLOGY_CPUS;
}

/* The first of the siblings of a CPU, itself if that cannot be learnt. -> was it? */
static bool bedrock_topology_first_sibling(uint32_t cpu, uint32_t *out)
{
	char path[BEDROCK_TEXT_BYTES];
	char list[64];
	struct bedrock_text text;

	bedrock_text_init(&text, bedrock_text_to_string, path);
	bedrock_text_add(&text, BEDROCK_TOPOLOGY_ROOT "cpu");
	bedrock_text_add_number(&text, cpu);
	bedrock_text_add(&text, "/topology/thread_siblings_list");
	bedrock_text_flush(&text);
	*out = cpu;
	/* A CPU that is offline has no such file. */
	if (bedrock_os_read_file(path, list, sizeof(list)) <= 0)
		return false;
	if (bedrock_topology_number(list, out) > 0 && *out <= cpu)
		return true;
	*out = cpu;
	return false;
}

int bedrock_topology_read(struct bedrock_topology *topology)
{
	uint32_t cpu_count = bedrock_topology_cpu_count();
	uint32_t known_count = 0;

	topology->core_count = 0;
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		uint32_t first;

		known_count += bedrock_topology_first_sibling(cpu, &first);
		topology->core_of[cpu] =
			first < cpu ? topology->core_of[first] : (uint16_t)topology->core_count++;
	}
	topology->cpu_count = known_count > 0 ? cpu_count : 0;
	return known_count > 0 ? 0 : -ENOENT;
}
