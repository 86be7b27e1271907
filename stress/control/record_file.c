/* SPDX-License-Identifier: MIT */
/*
 * A file that is there whole or not at all: it is written under another name, in the same folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/control/record.h"

const char *hq_record_folder(const char *path, char *folder, size_t size)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		snprintf(folder, size, ".");
	else
		snprintf(folder, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
	return folder;
}

int hq_record_file_open(struct hq_record_file *file, const char *path, struct hq_error *error)
{
	const mode_t mask = umask(0);
	struct stat status;

	umask(mask);
	*file = (struct hq_record_file){ .fd = -1, .path = path };
	if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
		return hq_error_set(error, "%.300s is no file to write to", path);
	if (snprintf(file->draft, sizeof(file->draft), "%s.XXXXXX", path) >=
	    (int)sizeof(file->draft))
		return hq_error_set(error, "%.300s...: the name is too long", path);
	file->fd = mkostemp(file->draft, O_CLOEXEC);
	if (file->fd < 0 || fchmod(file->fd, 0666 & ~mask))
		return hq_error_set(error, "cannot write %.300s: %s", path, strerror(errno));
	return 0;
}

int hq_record_file_keep(struct hq_record_file *file, struct hq_error *error)
{
	if (rename(file->draft, file->path))
		return hq_error_set(error, "cannot write %.300s: %s", file->path, strerror(errno));
	file->draft[0] = '\0';
	return 0;
}

void hq_record_file_close(struct hq_record_file *file)
{
	if (file->fd < 0)
		return;
	close(file->fd);
	if (file->draft[0])
		unlink(file->draft);
	file->fd = -1;
}
