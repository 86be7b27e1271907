/* SPDX-License-Identifier: MIT */
/*
 * Runs the tests of one program one after the other, each in a child of its own.
 *
 *	PROGRAM [SUITE/NAME...]
 *
 * The tests named are left out: those that the machine at hand cannot run. Every other one is; a
 * name that is no test's, and a program without any test, are failures. Prints a line for each test
 * that did not pass, and "N passed, N failed, N skipped".
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "allocator/tests/plain/criterion/criterion.h"
#include "allocator/tests/plain/criterion/redirect.h"

#define PLAIN_FAILED  101
#define PLAIN_SKIPPED 102
/* Emulators are slow, and what is wrong is not that. */
#define PLAIN_PATIENCE  3
#define PLAIN_TIMEOUT_S 60

static struct {
	struct plain_test *first;
	struct plain_test **end;
	bool has_failed;
	int stderr_fd;
} plain = { .end = &plain.first, .stderr_fd = -1 };

void plain_register(struct plain_test *test)
{
	*plain.end = test;
	plain.end = &test->next;
}

static void plain_say(const char *file, int line, const char *what, const char *format,
		      va_list arguments)
{
	dprintf(1, "%s:%d: not so: %s ", file, line, what);
	vdprintf(1, format, arguments);
	dprintf(1, "\n");
}

void plain_fail(const char *file, int line, const char *what, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	plain_say(file, line, what, format, arguments);
	va_end(arguments);
	_exit(PLAIN_FAILED);
}

void plain_note(const char *file, int line, const char *what, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	plain_say(file, line, what, format, arguments);
	va_end(arguments);
	plain.has_failed = true;
}

void plain_skip(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	dprintf(1, "skipped: ");
	vdprintf(1, format, arguments);
	dprintf(1, "\n");
	va_end(arguments);
	_exit(PLAIN_SKIPPED);
}

void cr_redirect_stderr(void)
{
	FILE *file = tmpfile();

	if (!file || dup2(fileno(file), STDERR_FILENO) < 0)
		plain_skip("no temporary file: errno %d", errno);
	plain.stderr_fd = fileno(file);
}

bool plain_stderr_is(const char *text)
{
	char there[4096];

	fflush(stderr);
	ssize_t got = pread(plain.stderr_fd, there, sizeof(there), 0);

	return got == (ssize_t)strlen(text) && memcmp(there, text, (size_t)got) == 0;
}

static const struct plain_test *plain_suite_of(const struct plain_test *test)
{
	static const struct plain_test none;

	for (const struct plain_test *suite = plain.first; suite; suite = suite->next) {
		if (!suite->run && strcmp(suite->suite, test->suite) == 0)
			return suite;
	}
	return &none;
}

static void plain_call(void (*function)(void))
{
	if (function)
		function();
}

static _Noreturn void plain_run(const struct plain_test *test)
{
	const struct plain_test *suite = plain_suite_of(test);
	double timeout = test->timeout > 0 ? test->timeout : suite->timeout;

	alarm(PLAIN_PATIENCE * (timeout > 0 ? (unsigned)timeout : PLAIN_TIMEOUT_S));
	plain_call(suite->init);
	plain_call(test->init);
	test->run();
	plain_call(test->fini);
	plain_call(suite->fini);
	fflush(NULL);
	_exit(plain.has_failed ? PLAIN_FAILED : 0);
}

/* -> 0, PLAIN_FAILED or PLAIN_SKIPPED. Children of the child go with it. */
static int plain_judge(const struct plain_test *test)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		setpgid(0, 0);
		plain_run(test);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return PLAIN_FAILED;
	kill(-child, SIGKILL);
	if (WIFEXITED(status) && WEXITSTATUS(status) == PLAIN_SKIPPED)
		return PLAIN_SKIPPED;
	bool is_good = test->signal ? WIFSIGNALED(status) && WTERMSIG(status) == test->signal
				    : WIFEXITED(status) && WEXITSTATUS(status) == 0;

	if (!is_good)
		printf("not ok: %s/%s: status 0x%x\n", test->suite, test->name, (unsigned)status);
	return is_good ? 0 : PLAIN_FAILED;
}

/* Is the test one of those to be left out? It is taken off the list then. */
static bool plain_is_left_out(const struct plain_test *test, int count, char **names)
{
	size_t suite_bytes = strlen(test->suite);

	for (int i = 0; i < count; i++) {
		const char *name = names[i];

		if (name && strncmp(name, test->suite, suite_bytes) == 0 &&
		    name[suite_bytes] == '/' && strcmp(name + suite_bytes + 1, test->name) == 0) {
			names[i] = NULL;
			return true;
		}
	}
	return false;
}

static int plain_count_wrong_names(int count, char **names)
{
	int wrong = 0;

	for (int i = 0; i < count; i++) {
		if (!names[i])
			continue;
		printf("not ok: %s: there is no such test\n", names[i]);
		wrong++;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	int passed = 0, failed = 0, skipped = 0;

	for (const struct plain_test *test = plain.first; test; test = test->next) {
		int verdict;

		if (!test->run)
			continue;
		fflush(stdout);
		verdict = plain_is_left_out(test, argc - 1, argv + 1) ? PLAIN_SKIPPED
								      : plain_judge(test);
		passed += verdict == 0;
		failed += verdict == PLAIN_FAILED;
		skipped += verdict == PLAIN_SKIPPED;
	}
	failed += plain_count_wrong_names(argc - 1, argv + 1);
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed > 0 || passed + skipped == 0;
}
