/* SPDX-License-Identifier: MIT */
/*
 * heapquake: finds the command, parses its options, runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stress/plan/allocator.h"
#include "stress/command/help.h"
#include "stress/command/program_options.h"
#include "stress/command/version.h"

static int refuse_option(const char *word)
{
	fprintf(stderr,
		"heapquake: '%s' must follow a command, as in 'heapquake run %s ...'\n"
		"Try 'heapquake --help'.\n",
		word, word);
	return HQ_EXIT_USAGE;
}

static int refuse_command(const char *word)
{
	const char *names[32] = { NULL };

	for (size_t i = 0; hq_commands[i].name && i + 1 < 32; i++)
		names[i] = hq_commands[i].name;
	const char *nearest = hq_suggest(word, names);

	fprintf(stderr, "heapquake: unknown command '%s'", word);
	if (nearest)
		fprintf(stderr, "; did you mean '%s'?", nearest);
	fputs("\nTry 'heapquake --help'.\n", stderr);
	return HQ_EXIT_USAGE;
}

static int run_command(const struct hq_command *command, char *const *arguments, const char *path)
{
	struct hq_invocation invocation;
	struct hq_error error;
	int status;

	if (hq_invocation_parse(command, arguments, &invocation, &error)) {
		fprintf(stderr, "heapquake %s: %s\nTry 'heapquake %s --help'.\n", command->name,
			error.text, command->name);
		status = HQ_EXIT_USAGE;
	} else if (invocation.settings.help) {
		hq_help_command(command, stdout);
		status = HQ_EXIT_OK;
	} else {
		strcpy(invocation.path, path);
		status = command->run(&invocation);
	}
	hq_invocation_clear(&invocation);
	return status;
}

/* A full disk or a closed pipe must not look like success. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	fprintf(stderr, "heapquake: cannot write to stdout: %s\n", strerror(errno));
	return status ? status : HQ_EXIT_ERROR;
}

static int dispatch(char *const *arguments, const char *path)
{
	const char *word = arguments[1];

	if (!word) {
		hq_help_brief(stderr);
		return HQ_EXIT_USAGE;
	}
	if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "help") == 0) {
		hq_help_full(stdout);
		return HQ_EXIT_OK;
	}
	if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
		puts("heapquake " HQ_VERSION);
		return HQ_EXIT_OK;
	}
	if (strcmp(word, HQ_ALLOCATOR_PROBE) == 0)
		return hq_allocator_answer_probe();
	if (word[0] == '-')
		return refuse_option(word);
	const struct hq_command *command = hq_command_find(word);

	return command ? run_command(command, arguments + 2, path) : refuse_command(word);
}

/*
 * Whoever started us may have closed standard files. Something must stand in their place, or the
 * next pipe would be taken for one; it cannot be written to, so that output is still lost aloud.
 */
static void fill_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	(void)argc;
	fill_standard_files();
	/* Who started us may ignore it, and then the kernel keeps nothing of how our children
	 * ended. */
	signal(SIGCHLD, SIG_DFL);
	if (length < 0) {
		fprintf(stderr, "heapquake: /proc/self/exe: %s\n", strerror(errno));
		return HQ_EXIT_ERROR;
	}
	path[length] = '\0';
	return finish(dispatch(argv, path));
}
