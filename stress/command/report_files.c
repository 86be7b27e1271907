/* SPDX-License-Identifier: MIT */
/*
 * Opening, writing and naming report files.
 */
#include "stress/command/report_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/plan/words.h"

/* A regular file is written beside its final place and renamed; a device or a pipe in place. */
static int open_file(struct hq_report_file *file, const char *path, struct hq_error *error)
{
	struct stat status;
	const bool in_place = stat(path, &status) == 0 && !S_ISREG(status.st_mode);

	if (snprintf(file->path, sizeof(file->path), "%s", path) >= PATH_MAX - 16)
		return hq_error_set(error, "the path of a report is too long");
	snprintf(file->temporary, sizeof(file->temporary), "%.*s.tmp%d", PATH_MAX - 16, path,
		 (int)getpid());
	file->stream = fopen(in_place ? path : file->temporary, "we");
	if (!file->stream) {
		const int status_code = -errno;

		file->temporary[0] = '\0';
		hq_error_set(error, "cannot write %.400s: %s", path, strerror(-status_code));
		return status_code;
	}
	if (in_place)
		file->temporary[0] = '\0';
	return 0;
}

static int find_format(const char *const *formats, const char *name, const char **format,
		       struct hq_error *error)
{
	for (size_t i = 0; formats[i]; i++) {
		if (!strcmp(formats[i], name)) {
			*format = formats[i];
			return 0;
		}
	}
	const char *nearest = hq_suggest(name, formats);

	if (nearest)
		return hq_error_set(error, "unknown format '%s'; did you mean '%s'?", name,
				    nearest);
	return hq_error_set(error, "unknown format '%s'; see 'heapquake list formats'", name);
}

static bool has_standard(const struct hq_report_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (!files->list[i].path[0])
			return true;
	}
	return false;
}

/* "text", "json:FILE". What has no file goes to --output, or to the standard stream. */
static int add(struct hq_report_files *files, char *text, const char *output,
	       const char *const *formats, struct hq_error *error)
{
	char *path = strchr(text, ':');
	struct hq_report_file *file = &files->list[files->count];
	int status;

	if (path)
		*path++ = '\0';
	if (files->count == HQ_REPORT_FILES_MAX)
		return hq_error_set(error, "more than %d formats", HQ_REPORT_FILES_MAX);
	status = find_format(formats, text, &file->format, error);
	if (status)
		return status;
	if (path && !*path)
		return hq_error_set(error, "format %s: no file follows the ':'", text);
	if (!path && has_standard(files))
		return hq_error_set(error, "two reports for one stream; write %s:FILE", text);
	if (path || output)
		status = open_file(file, path ? path : output, error);
	else
		file->stream = files->standard;
	if (!status)
		files->count++;
	return status;
}

static int add_list(struct hq_report_files *files, const char *list, const char *output,
		    bool *output_is_used, const char *const *formats, struct hq_error *error)
{
	char **words;
	int status = hq_words_split_at(list, ",", &words);

	if (status || !words)
		return status ? status : hq_error_set(error, "--format is empty");
	for (size_t i = 0; !status && words[i]; i++) {
		const bool is_for_output = !strchr(words[i], ':') && output;

		if (is_for_output && *output_is_used)
			status = hq_error_set(error, "two reports for one file; write %s:FILE",
					      words[i]);
		else
			status = add(files, words[i], output, formats, error);
		*output_is_used = *output_is_used || is_for_output;
	}
	hq_words_free(words);
	return status;
}

int hq_report_files_open(const struct hq_settings *settings, bool program_owns_stdout,
			 const char *const *formats, struct hq_report_files *files,
			 struct hq_error *error)
{
	static char *const only_text[] = { "text", NULL };
	char *const *lists = settings->formats ? settings->formats : only_text;
	bool output_is_used = false;
	int status = 0;

	*files = (struct hq_report_files){ .standard = program_owns_stdout ? stderr : stdout };
	for (size_t i = 0; !status && lists[i]; i++)
		status = add_list(files, lists[i], settings->output, &output_is_used, formats,
				  error);
	if (!status && settings->output && !output_is_used)
		status = hq_error_set(error,
				      "--output has no report left: every --format has a file");
	return status;
}

static bool wants_color(uint32_t when, FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (when != HQ_COLOR_AUTO)
		return when == HQ_COLOR_ALWAYS;
	return !(no_color && *no_color) && term && strcmp(term, "dumb") != 0 &&
	       isatty(fileno(stream));
}

/* Closes a file and gives it its name. */
static int finish(struct hq_report_file *file)
{
	FILE *stream = file->stream;
	int status = fflush(stream) || ferror(stream) ? -EIO : 0;

	if (!file->path[0])
		return status;
	file->stream = NULL;
	if (fclose(stream) && !status)
		status = -errno;
	if (!status && file->temporary[0] && rename(file->temporary, file->path))
		status = -errno;
	if (!status)
		file->temporary[0] = '\0';
	return status;
}

static int write_one(struct hq_report_file *file, const struct hq_report_source *source,
		     uint32_t color)
{
	const int status = source->write(source->cookie, file->format, file->stream,
					 wants_color(color, file->stream));
	const int finished = finish(file);

	return status ? status : finished;
}

/* True if somebody who looks at the terminal has seen the text report, which ends with the last
 * line. */
static bool shows_text(const struct hq_report_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (!files->list[i].path[0] && strcmp(files->list[i].format, "text") == 0)
			return true;
	}
	return false;
}

int hq_report_files_write(struct hq_report_files *files, const struct hq_report_source *source,
			  const struct hq_settings *settings, struct hq_error *error)
{
	int first = 0;

	for (size_t i = 0; i < files->count; i++) {
		struct hq_report_file *file = &files->list[i];
		const int status = write_one(file, source, settings->color);

		if (status && !first)
			hq_error_set(error, "cannot write the %s report%s%.300s: %s", file->format,
				     file->path[0] ? " to " : "", file->path, strerror(-status));
		first = first ? first : status;
	}
	/* stdout may be read by a program now: the line for people goes to stderr. */
	if (!shows_text(files))
		fprintf(has_standard(files) ? stderr : files->standard, "%s\n", source->last_line);
	return first;
}

void hq_report_files_close(struct hq_report_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		struct hq_report_file *file = &files->list[i];

		if (file->path[0] && file->stream)
			fclose(file->stream);
		if (file->temporary[0])
			unlink(file->temporary);
	}
	files->count = 0;
}
