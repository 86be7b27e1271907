/* SPDX-License-Identifier: MIT */
/*
 * A program that lives in one of the ways that make supervision hard, named by its first argument,
 * and then asks for a purge. It exits with 0 if the purge was refused in every process and thread
 * it asked in, with 1 if one was granted, and with 100 and more if it could not do what it is for.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BROKEN   100
#define CHILDREN 50
#define THREADS  300

static const char *self_path;
static pthread_barrier_t all_here;

static bool granted(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const bool done = page != MAP_FAILED && !madvise(page, 4096, MADV_DONTNEED);

	munmap(page, 4096);
	return done;
}

static void *ask_with_all(void *argument)
{
	pthread_barrier_wait(&all_here);
	return granted() ? argument : NULL;
}

/* How many of them were granted it, all being alive at once; at most 99. */
static int run_threads(void)
{
	pthread_t threads[THREADS];
	pthread_attr_t small;
	int grants = 0;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 * 1024);
	pthread_barrier_init(&all_here, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], &small, ask_with_all, &all_here))
			return BROKEN;
	for (int i = 0; i < THREADS; i++) {
		void *done;

		pthread_join(threads[i], &done);
		grants += done != NULL;
	}
	fprintf(stderr, "%d granted\n", grants);
	return grants != 0;
}

static int run_children(void)
{
	int grants = 0, status;

	for (int i = 0; i < CHILDREN; i++) {
		const pid_t child = fork();

		if (child < 0)
			return BROKEN;
		if (child == 0) {
			execl(self_path, self_path, "plain", (char *)NULL);
			_exit(BROKEN);
		}
	}
	for (int i = 0; i < CHILDREN; i++) {
		if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) >= BROKEN)
			return BROKEN + 1;
		grants += WEXITSTATUS(status);
	}
	return grants != 0;
}

static int run_closed(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	return granted();
}

static int run_session(void)
{
	const pid_t child = fork();
	int status;

	if (child == 0)
		_exit(setsid() < 0 ? BROKEN : granted());
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return BROKEN;
	return WEXITSTATUS(status);
}

static int run_elsewhere(void)
{
	return chdir("/") ? BROKEN : granted();
}

/* Past every function that a preloaded library could stand before. */
static int run_blocked(void)
{
	const uint64_t all = UINT64_MAX;

	if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all)))
		return BROKEN;
	return granted();
}

static int run_plain(void)
{
	return granted();
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{ "blocked", run_blocked },     { "children", run_children }, { "closed", run_closed },
	{ "elsewhere", run_elsewhere }, { "plain", run_plain },       { "session", run_session },
	{ "threads", run_threads },
};

int main(int argc, char **argv)
{
	self_path = argv[0];
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	return BROKEN + 9;
}
