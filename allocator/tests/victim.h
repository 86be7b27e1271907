/* SPDX-License-Identifier: MIT */
/*
 * What a process says before it dies: a function is run in a forked child, whose stderr and end are
 * looked at.
 */
#ifndef BEDROCK_TESTS_VICTIM_H
#define BEDROCK_TESTS_VICTIM_H

#include <criterion/criterion.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VICTIM_SECONDS 120

struct victim {
	int status;
	char said[1024];
};

static inline void victim_run(struct victim *victim, void (*act)(void))
{
	size_t used = 0;
	ssize_t bytes;
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	pid_t child = fork();

	if (child == 0) {
		alarm(VICTIM_SECONDS);
		/* A sanitizer would report what the victim is there to do. */
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		dup2(ends[1], 2);
		act();
		_exit(0);
	}
	close(ends[1]);
	while ((bytes = read(ends[0], victim->said + used, sizeof(victim->said) - 1 - used)) > 0)
		used += (size_t)bytes;
	victim->said[used] = '\0';
	/* An emulator has the last word. */
	char *emulator = strstr(victim->said, "qemu: uncaught target signal");

	if (emulator)
		*emulator = '\0';
	close(ends[0]);
	cr_assert_eq(waitpid(child, &victim->status, 0), child);
}

/* It must be killed by this signal, and have said one line with these words in their order. */
static inline void victim_dies(void (*act)(void), int signal_number, const char *first,
			       const char *second)
{
	struct victim victim;

	victim_run(&victim, act);
	cr_assert(WIFSIGNALED(victim.status) && WTERMSIG(victim.status) == signal_number,
		  "status %x, said: %s", victim.status, victim.said);
	const char *at = strstr(victim.said, first);

	cr_assert(at && strstr(at, second), "said: %s", victim.said);
	cr_assert_eq(strncmp(victim.said, "bedrock: ", 9), 0, "said: %s", victim.said);
	cr_assert_eq(strchr(victim.said, '\n') + 1, victim.said + strlen(victim.said),
		     "said more than a line: %s", victim.said);
}

/* It must come to its end, without a word. */
static inline void victim_lives(void (*act)(void))
{
	struct victim victim;

	victim_run(&victim, act);
	cr_assert(WIFEXITED(victim.status) && WEXITSTATUS(victim.status) == 0,
		  "status %x, said: %s", victim.status, victim.said);
	cr_assert_str_eq(victim.said, "");
}

#endif
