/* SPDX-License-Identifier: MIT */
/*
 * Reading the limit of a control group: /proc/self/cgroup says which, one file per level how much.
 *
 * In a container the path may be that of the outside, which does not exist in here; then only
 * the root of the tree, which is the container's own group, is found.
 */
#include "allocator/bedrock/cgroup.h"

#include <stdbool.h>
#include <string.h>

#include "allocator/bedrock/os.h"
#include "allocator/bedrock/text.h"

#define BEDROCK_CGROUP_PATH_BYTES       1024u
#define BEDROCK_CGROUP_MEMBERSHIP_BYTES 4096u
/* What version 1 says for no limit is a little below 2^63. */
#define BEDROCK_CGROUP_LEAST_UNLIMITED (UINT64_C(1) << 60)

/* Where a version of control groups keeps its limits. */
struct bedrock_cgroup_kind {
	/* The controllers' names as a line of the membership has them. */
	const char *controllers;
	const char *mount;
	/* NULL where there is none. */
	const char *files[BEDROCK_CGROUP_BOUND_COUNT];
};

static const struct bedrock_cgroup_kind bedrock_cgroup_kinds[] = {
	{ .controllers = "",
	  .mount = "",
	  .files = { [BEDROCK_CGROUP_MAX] = "/memory.max",
		     [BEDROCK_CGROUP_HIGH] = "/memory.high" } },
	{ .controllers = "memory",
	  .mount = "/memory",
	  .files = { [BEDROCK_CGROUP_MAX] = "/memory.limit_in_bytes" } },
};

#define BEDROCK_CGROUP_KIND_COUNT (sizeof(bedrock_cgroup_kinds) / sizeof(bedrock_cgroup_kinds[0]))

/* A path that is being put together; with is_cut it did not fit and means nothing. */
struct bedrock_cgroup_path {
	char text[BEDROCK_CGROUP_PATH_BYTES];
	size_t length;
	bool is_cut;
};

static void bedrock_cgroup_append(struct bedrock_cgroup_path *path, const char *text, size_t bytes)
{
	if (path->length + bytes >= sizeof(path->text)) {
		path->is_cut = true;
		return;
	}
	memcpy(path->text + path->length, text, bytes);
	path->length += bytes;
	path->text[path->length] = '\0';
}

/* A number at the start of the text; "max" and what is as good as no limit are UINT64_MAX. */
static uint64_t bedrock_cgroup_number(const char *text)
{
	uint64_t number;

	if (!bedrock_text_read_number(&text, &number) || number >= BEDROCK_CGROUP_LEAST_UNLIMITED)
		return UINT64_MAX;
	return number;
}

/* The limit of the group at the path, or UINT64_MAX. */
static uint64_t bedrock_cgroup_level(struct bedrock_cgroup_path path, const char *file)
{
	char text[64];

	bedrock_cgroup_append(&path, file, strlen(file));
	if (path.is_cut || bedrock_os_read_file(path.text, text, sizeof(text)) < 0)
		return UINT64_MAX;
	return bedrock_cgroup_number(text);
}

/* The least limit from the group up to the root of its tree. */
static uint64_t bedrock_cgroup_least(const char *root, const struct bedrock_cgroup_kind *kind,
				     enum bedrock_cgroup_bound bound, const char *group,
				     size_t group_bytes)
{
	struct bedrock_cgroup_path path = { .length = 0 };
	uint64_t least_bytes = UINT64_MAX;

	bedrock_cgroup_append(&path, root, strlen(root));
	bedrock_cgroup_append(&path, kind->mount, strlen(kind->mount));
	size_t root_length = path.length;

	bedrock_cgroup_append(&path, group, group_bytes);
	if (path.is_cut)
		path.length = root_length;
	path.is_cut = false;
	for (;;) {
		path.text[path.length] = '\0';
		uint64_t bytes = bedrock_cgroup_level(path, kind->files[bound]);

		least_bytes = bytes < least_bytes ? bytes : least_bytes;
		if (path.length <= root_length)
			return least_bytes;
		while (path.length > root_length && path.text[--path.length] != '/')
			continue;
	}
}

/* Does the comma-separated list contain the word? The empty word is in the empty list only. */
static bool bedrock_cgroup_lists(const char *list, size_t list_bytes, const char *word)
{
	size_t word_bytes = strlen(word);

	if (list_bytes == 0 || word_bytes == 0)
		return list_bytes == word_bytes;
	for (size_t at = 0; at + word_bytes <= list_bytes; at++) {
		bool is_start = at == 0 || list[at - 1] == ',';
		bool is_end = at + word_bytes == list_bytes || list[at + word_bytes] == ',';

		if (is_start && is_end && memcmp(list + at, word, word_bytes) == 0)
			return true;
	}
	return false;
}

/* One line "number:controllers:path". */
static uint64_t bedrock_cgroup_line(const char *root, const char *line, size_t bytes,
				    enum bedrock_cgroup_bound bound)
{
	uint64_t least_bytes = UINT64_MAX;
	const char *list = memchr(line, ':', bytes);
	const char *group = list ? memchr(list + 1, ':', bytes - (size_t)(list + 1 - line)) : NULL;

	if (!group)
		return UINT64_MAX;
	size_t list_bytes = (size_t)(group - list) - 1;

	group++;
	for (size_t i = 0; i < BEDROCK_CGROUP_KIND_COUNT; i++) {
		const struct bedrock_cgroup_kind *kind = &bedrock_cgroup_kinds[i];

		if (!kind->files[bound] ||
		    !bedrock_cgroup_lists(list + 1, list_bytes, kind->controllers))
			continue;
		uint64_t limit_bytes = bedrock_cgroup_least(root, kind, bound, group,
							    bytes - (size_t)(group - line));

		least_bytes = limit_bytes < least_bytes ? limit_bytes : least_bytes;
	}
	return least_bytes;
}

uint64_t bedrock_cgroup_bound_of(const char *root, const char *membership,
				 enum bedrock_cgroup_bound bound)
{
	uint64_t least_bytes = UINT64_MAX;

	while (*membership) {
		size_t bytes = strcspn(membership, "\n");
		uint64_t limit_bytes = bedrock_cgroup_line(root, membership, bytes, bound);

		least_bytes = limit_bytes < least_bytes ? limit_bytes : least_bytes;
		membership += bytes;
		membership += *membership == '\n';
	}
	return least_bytes == UINT64_MAX ? 0 : least_bytes;
}

uint64_t bedrock_cgroup_bytes(enum bedrock_cgroup_bound bound)
{
	char membership[BEDROCK_CGROUP_MEMBERSHIP_BYTES];

	if (bedrock_os_read_file("/proc/self/cgroup", membership, sizeof(membership)) < 0)
		return 0;
	return bedrock_cgroup_bound_of("/sys/fs/cgroup", membership, bound);
}
