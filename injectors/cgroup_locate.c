/* SPDX-License-Identifier: MIT */
/*
 * Where the directory of our own control group is: what /proc/self/cgroup says, seen through the
 * mount that shows it. In a container the mount may show only a part of the tree; then the part
 * that is out of sight is taken off the path.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/cgroup.h"

#define LINE_SIZE 1024

struct mount {
	char root[256];  /* which directory of the tree is mounted */
	char point[256]; /* where */
};

/* Copies the line at *text and moves on; false at the end. Lines that are too long are cut. */
static bool next_line(const char **text, char line[LINE_SIZE])
{
	const size_t length = strcspn(*text, "\n");

	if (**text == '\0')
		return false;
	snprintf(line, LINE_SIZE, "%.*s", (int)length, *text);
	*text += length + ((*text)[length] == '\n');
	return true;
}

/* True if the list, separated by commas, has that word. */
static bool has_word(const char *list, const char *word)
{
	const size_t length = strlen(word);

	for (;;) {
		const size_t span = strcspn(list, ",");

		if (span == length && strncmp(list, word, length) == 0)
			return true;
		if (list[span] == '\0')
			return false;
		list += span + 1;
	}
}

/* A line is: id parent device root point options [more] - type source super-options. */
static bool parse_mount(const char *line, enum hq_cgroup_version version, struct mount *mount)
{
	char type[32], options[256];
	const char *tail = strstr(line, " - ");

	if (!tail || sscanf(tail, " - %31s %*s %255s", type, options) != 2 ||
	    sscanf(line, "%*s %*s %*s %255s %255s", mount->root, mount->point) != 2)
		return false;
	if (version == HQ_CGROUP_V2)
		return strcmp(type, "cgroup2") == 0;
	return strcmp(type, "cgroup") == 0 && has_word(options, "memory");
}

static bool find_mount(const char *mountinfo, enum hq_cgroup_version version, struct mount *mount)
{
	char line[LINE_SIZE];

	while (next_line(&mountinfo, line))
		if (parse_mount(line, version, mount))
			return true;
	return false;
}

/* A line is: hierarchy:controllers:path, and v2 is hierarchy 0 without controllers. */
static bool find_membership(const char *membership, enum hq_cgroup_version version, char *path,
			    size_t size)
{
	char line[LINE_SIZE];

	while (next_line(&membership, line)) {
		char *controllers = strchr(line, ':');
		char *own = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!own)
			continue;
		*controllers++ = '\0';
		*own++ = '\0';
		if (version == HQ_CGROUP_V2 ? strcmp(line, "0") == 0 && *controllers == '\0'
					    : has_word(controllers, "memory")) {
			snprintf(path, size, "%s", own);
			return true;
		}
	}
	return false;
}

int hq_cgroup_locate(const char *mountinfo, const char *membership, enum hq_cgroup_version version,
		     char path[HQ_CGROUP_PATH_SIZE])
{
	struct mount mount;
	char own[LINE_SIZE];
	const char *visible = own;

	if (!find_mount(mountinfo, version, &mount) ||
	    !find_membership(membership, version, own, sizeof(own)))
		return -ENOENT;
	const size_t root = strlen(mount.root);

	if (strcmp(mount.root, "/") != 0 && strncmp(own, mount.root, root) == 0 &&
	    (own[root] == '/' || own[root] == '\0'))
		visible = own + root;
	if (strcmp(visible, "/") == 0)
		visible = "";
	if (snprintf(path, HQ_CGROUP_PATH_SIZE, "%s%s", mount.point, visible) >=
	    HQ_CGROUP_PATH_SIZE)
		return -ENOENT;
	return 0;
}
