/* SPDX-License-Identifier: MIT */
/*
 * Finding scenario files. Folders are walked without following symbolic links, so no walk is
 * endless.
 */
#include "stress/plan/scenario_files.h"

#include <errno.h>
#include <fts.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/plan/words.h"

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_scenario_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && name[0] != '.' && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int walk(const char *folder, char ***files)
{
	char *const roots[] = { (char *)folder, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	int status = tree ? 0 : -errno;
	FTSENT *entry;

	while (!status && (entry = fts_read(tree))) {
		if (entry->fts_info == FTS_D && entry->fts_level > 0 && entry->fts_name[0] == '.')
			fts_set(tree, entry, FTS_SKIP);
		else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
			status = -entry->fts_errno;
		else if (entry->fts_info == FTS_F && is_scenario_name(entry->fts_name))
			status = hq_words_add(files, entry->fts_path);
	}
	if (tree)
		fts_close(tree);
	return status;
}

/* ./scenarios, or that of the checkout: build/heapquake and build/VARIANT/heapquake lie below it.
 */
static int find_folder(const char *program, char folder[PATH_MAX])
{
	static const char *const places[] = { "scenarios", "../scenarios", "../../scenarios" };
	char copy[PATH_MAX];

	if (is_folder("scenarios")) {
		strcpy(folder, "scenarios");
		return 0;
	}
	snprintf(copy, sizeof(copy), "%s", program);
	const char *beside = dirname(copy);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(folder, PATH_MAX, "%s/%s", beside, places[i]) < PATH_MAX &&
		    is_folder(folder))
			return 0;
	}
	return -ENOENT;
}

/* Files called NAME.yaml anywhere below the folder of scenarios. */
static int find_by_name(const char *name, const char *program, char ***files)
{
	char folder[PATH_MAX], wanted[NAME_MAX + 1];
	char **all = NULL;
	int status = find_folder(program, folder);

	if (!status)
		status = walk(folder, &all);
	snprintf(wanted, sizeof(wanted), "%s.yaml", name);
	bool found = false;

	for (size_t i = 0; !status && all && all[i]; i++) {
		if (strcmp(strrchr(all[i], '/') + 1, wanted) != 0)
			continue;
		status = hq_words_add(files, all[i]);
		found = true;
	}
	hq_words_free(all);
	return status ? status : found ? 0 : -ENOENT;
}

#define NEAR_MAX 512

/* The scenario whose name is nearest, in `near`; "" if none is near. */
static void find_near(const char *name, const char *program, char near[NAME_MAX + 1])
{
	char folder[PATH_MAX], **all = NULL;
	const char *names[NEAR_MAX + 1];
	size_t count = 0;

	near[0] = '\0';
	if (find_folder(program, folder) == 0 && walk(folder, &all) == 0) {
		for (; all && all[count] && count < NEAR_MAX; count++) {
			*strrchr(all[count], '.') = '\0';
			names[count] = strrchr(all[count], '/') + 1;
		}
		names[count] = NULL;
		const char *nearest = hq_suggest(name, names);

		snprintf(near, NAME_MAX + 1, "%s", nearest ? nearest : "");
	}
	hq_words_free(all);
}

static int refuse_word(const char *word, const char *program, int status, struct hq_error *error)
{
	char near[NAME_MAX + 1];

	find_near(word, program, near);
	if (status == -ENOENT && near[0])
		hq_error_set(error, "%.200s: no such scenario; did you mean '%.200s'?", word, near);
	else
		hq_error_set(error, "%.400s: %s", word, strerror(-status));
	return status;
}

static int find_word(const char *word, const char *program, char ***files)
{
	if (is_folder(word))
		return walk(word, files);
	if (access(word, F_OK) != 0 && !strchr(word, '/') && !is_scenario_name(word))
		return find_by_name(word, program, files);
	/* Whatever else is wrong with it is said with its path when it is read. */
	return access(word, F_OK) ? -errno : hq_words_add(files, word);
}

static int find_all(const char *program, char ***files, struct hq_error *error)
{
	char folder[PATH_MAX];
	int status = find_folder(program, folder);

	if (status) {
		hq_error_set(error, "there is no folder 'scenarios' here; name files or folders");
		return status;
	}
	status = walk(folder, files);
	if (status)
		hq_error_set(error, "%.400s: %s", folder, strerror(-status));
	return status;
}

int hq_scenario_files_find(char *const *words, const char *program, char ***files,
			   struct hq_error *error)
{
	int status = 0;

	*files = NULL;
	if (!words || !words[0])
		status = find_all(program, files, error);
	for (size_t i = 0; !status && words && words[i]; i++) {
		status = find_word(words[i], program, files);
		if (status)
			refuse_word(words[i], program, status, error);
	}
	if (status) {
		hq_words_free(*files);
		*files = NULL;
	}
	return status;
}
