/* SPDX-License-Identifier: MIT */
/*
 * Both sides of the probe of an allocator library. The child is killed if it does not answer in
 * time: what is preloaded may be broken in any way.
 */
#include "stress/plan/allocator_probe.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/clock.h"
#include "injectors/units.h"
#include "stress/plan/allocator.h"
#include "stress/plan/words.h"

#define DEADLINE_MS 5000
#define ANSWER_MAX  4096

/* ---- the child's side ---- */

static const char *provider(const void *symbol)
{
	Dl_info info;

	return symbol && dladdr(symbol, &info) && info.dli_fname ? info.dli_fname : "";
}

/* A symbol, but only from the file that provides malloc. */
static void *own_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);

	if (!symbol || strcmp(provider(symbol), provider(dlsym(RTLD_DEFAULT, "malloc"))) != 0)
		return NULL;
	return symbol;
}

static bool say_bedrock(void)
{
	const char *(*version)(void) = (const char *(*)(void))own_symbol("bedrock_version");

	if (version)
		printf("family bedrock\nversion %s\n", version());
	return version != NULL;
}

/* 209 is 2.0.9; later ones say 2212 for 2.2.12 and 30103 for 3.1.3. */
static void print_mimalloc(int version)
{
	const int unit = version >= 10000 ? 100 : 10;
	const int last = version >= 1000 ? 100 : 10;

	printf("family mimalloc\nversion %d.%d.%d\n", version / last / unit, version / last % unit,
	       version % last);
}

static bool say_mimalloc(void)
{
	int (*version)(void) = (int (*)(void))own_symbol("mi_version");

	if (version)
		print_mimalloc(version());
	return version != NULL;
}

static bool say_tcmalloc(void)
{
	typedef const char *version_fn(int *, int *, const char **);
	version_fn *version = (version_fn *)own_symbol("tc_version");
	const char *patch = "";
	int major, minor;

	if (!version)
		return false;
	version(&major, &minor, &patch);
	printf("family tcmalloc\nversion %d.%d%s\n", major, minor, patch ? patch : "");
	return true;
}

static bool say_jemalloc(void)
{
	typedef int mallctl_fn(const char *, void *, size_t *, void *, size_t);
	mallctl_fn *mallctl = (mallctl_fn *)own_symbol("mallctl");
	const char *version = "";
	size_t size = sizeof(version);

	if (!mallctl)
		return false;
	if (mallctl("version", &version, &size, NULL, 0) != 0)
		version = "";
	printf("family jemalloc\nversion %s\n", version);
	return true;
}

static bool say_glibc(void)
{
	if (!own_symbol("gnu_get_libc_version"))
		return false;
	printf("family glibc\nversion %s\n", gnu_get_libc_version());
	return true;
}

int hq_allocator_answer_probe(void)
{
	printf("malloc %s\nfree %s\n", provider(dlsym(RTLD_DEFAULT, "malloc")),
	       provider(dlsym(RTLD_DEFAULT, "free")));
	/* bedrock first: it may carry other allocators' entry points as well. */
	if (!say_bedrock() && !say_mimalloc() && !say_tcmalloc() && !say_jemalloc())
		say_glibc();
	return fflush(stdout) ? 1 : 0;
}

/* ---- the asker's side ---- */

/* Our environment, with the library as the only one that is preloaded. */
static int make_environment(const char *library, char ***environment)
{
	char *preload;
	int status = asprintf(&preload, "LD_PRELOAD=%s", library) < 0 ? -ENOMEM : 0;

	*environment = NULL;
	if (status)
		return status;
	for (size_t i = 0; !status && environ[i]; i++) {
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
			status = hq_words_add(environment, environ[i]);
	}
	if (!status)
		status = hq_words_add(environment, preload);
	free(preload);
	return status;
}

static pid_t start(const char *program, char **environment, int output)
{
	char *const arguments[] = { (char *)program, (char *)HQ_ALLOCATOR_PROBE, NULL };
	const pid_t pid = fork();

	if (pid != 0)
		return pid;
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execve(program, arguments, environment);
	_exit(127);
}

static int64_t now_ms(void)
{
	return (int64_t)(hq_now_ns() / HQ_MS);
}

/* What the child writes until it closes its end or the deadline passes. */
static int read_answer(int fd, char answer[ANSWER_MAX])
{
	const int64_t deadline = now_ms() + DEADLINE_MS;
	size_t length = 0;

	for (;;) {
		struct pollfd waited = { .fd = fd, .events = POLLIN };
		const int64_t left = deadline - now_ms();
		ssize_t got = -1;

		answer[length] = '\0';
		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&waited, 1, (int)left) > 0)
			got = read(fd, answer + length, ANSWER_MAX - 1 - length);
		if (got == 0)
			return 0;
		if (got > 0)
			length += (size_t)got;
	}
}

static int reap(pid_t pid, int status)
{
	int wait_status = 0;

	if (status)
		kill(pid, SIGKILL);
	while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
		;
	if (status)
		return status;
	return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0 ? 0 : -ECHILD;
}

static int ask(const char *program, const char *library, char answer[ANSWER_MAX])
{
	int ends[2], status = pipe2(ends, O_CLOEXEC) ? -errno : 0;
	char **environment = NULL;
	pid_t pid = -1;

	answer[0] = '\0';
	if (status)
		return status;
	status = make_environment(library, &environment);
	if (!status) {
		pid = start(program, environment, ends[1]);
		status = pid < 0 ? -errno : 0;
	}
	close(ends[1]);
	if (!status)
		status = reap(pid, read_answer(ends[0], answer));
	close(ends[0]);
	hq_words_free(environment);
	return status;
}

/* The line that begins with `word`, without it; "" if there is none. */
static void take_line(const char *answer, const char *word, char *text, size_t size)
{
	const size_t length = strlen(word);

	text[0] = '\0';
	for (const char *line = answer; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, word, length) == 0 && line[length] == ' ') {
			line += length + 1;
			snprintf(text, size, "%.*s", (int)strcspn(line, "\n"), line);
			return;
		}
	}
}

/* "ERROR: ld.so: object 'x' from LD_PRELOAD cannot be preloaded (REASON): ignored." */
static bool take_linker_error(const char *answer, char *text, size_t size)
{
	static const char words[] = "cannot be preloaded (";
	const char *at = strstr(answer, words);

	if (!at)
		return false;
	at += sizeof(words) - 1;
	snprintf(text, size, "cannot be preloaded (%.*s)", (int)strcspn(at, ")"), at);
	return true;
}

static int fail(struct hq_allocator_probe *probe, int status, const char *answer)
{
	if (take_linker_error(answer, probe->failure, sizeof(probe->failure)))
		return -ELIBACC;
	if (status == -ETIMEDOUT)
		snprintf(probe->failure, sizeof(probe->failure),
			 "a program with it did not start within %d s", DEADLINE_MS / 1000);
	else if (status == -ECHILD)
		snprintf(probe->failure, sizeof(probe->failure),
			 "a program with it does not start: %.*s", (int)strcspn(answer, "\n"),
			 answer);
	else
		snprintf(probe->failure, sizeof(probe->failure), "%s", strerror(-status));
	return status;
}

/* "5.3.0-0-g54eaed1d..." is jemalloc's way to add the commit it was built from. */
static void cut_commit(char *version)
{
	char *commit = strstr(version, "-0-g");

	if (commit)
		*commit = '\0';
}

int hq_allocator_probe(const char *program, const char *library, struct hq_allocator_probe *probe)
{
	char answer[ANSWER_MAX], version[64];
	const int status = ask(program, library, answer);

	*probe = (struct hq_allocator_probe){ .failure = "" };
	if (status || strstr(answer, "cannot be preloaded"))
		return fail(probe, status, answer);
	take_line(answer, "malloc", probe->malloc_path, sizeof(probe->malloc_path));
	take_line(answer, "free", probe->free_path, sizeof(probe->free_path));
	take_line(answer, "family", probe->family, sizeof(probe->family));
	take_line(answer, "version", version, sizeof(version));
	cut_commit(version);
	strcpy(probe->version, version + strcspn(version, "0123456789"));
	return 0;
}
