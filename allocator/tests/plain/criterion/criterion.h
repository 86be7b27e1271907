/* SPDX-License-Identifier: MIT */
/*
 * As much of Criterion as the allocator's unit tests use, for machines that have none: other C
 * libraries, and other processors under emulation. The same test files are compiled against it.
 *
 * Each test runs in a child of its own, one after the other; see allocator/tests/plain/runner.c. A
 * failed assertion ends the child at once, from whatever thread.
 */
#ifndef PLAIN_CRITERION_H
#define PLAIN_CRITERION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A test, or a suite where `run` is NULL: what a suite sets holds for its tests that do not. */
struct plain_test {
	const char *suite;
	const char *name;
	void (*run)(void);
	void (*init)(void);
	void (*fini)(void);
	/* The signal that the test is to die of. */
	int signal;
	/* In seconds. */
	double timeout;
	struct plain_test *next;
};

void plain_register(struct plain_test *test);

/* Say what is not so, and end the test; an `expect` lets it go on to fail at its end. */
_Noreturn void plain_fail(const char *file, int line, const char *what, const char *format, ...);
void plain_note(const char *file, int line, const char *what, const char *format, ...);

_Noreturn void plain_skip(const char *format, ...);

/* What has come on stderr since it was redirected, is it this? */
bool plain_stderr_is(const char *text);

#define PLAIN_REGISTER(Test_)                                                                      \
	__attribute__((constructor)) static void Test_##_register(void)                            \
	{                                                                                          \
		plain_register(&Test_);                                                            \
	}

#define Test(Suite, Name, ...)                                                                     \
	static void plain_##Suite##_##Name##_run(void);                                            \
	static struct plain_test plain_##Suite##_##Name = {                                        \
		.suite = #Suite, .name = #Name, .run = plain_##Suite##_##Name##_run, ##__VA_ARGS__ \
	};                                                                                         \
	PLAIN_REGISTER(plain_##Suite##_##Name)                                                     \
	static void plain_##Suite##_##Name##_run(void)

#define TestSuite(Suite, ...)                                                                      \
	static struct plain_test plain_suite_##Suite = { .suite = #Suite, ##__VA_ARGS__ };         \
	PLAIN_REGISTER(plain_suite_##Suite)                                                        \
	_Static_assert(1, "a semicolon follows")

/* Messages are literals: one may be missing. */
#define PLAIN_ASSERT(condition, what, ...)                                                         \
	((condition) ? (void)0 : plain_fail(__FILE__, __LINE__, what, "" __VA_ARGS__))
#define PLAIN_EXPECT(condition, what, ...)                                                         \
	((condition) ? (void)0 : plain_note(__FILE__, __LINE__, what, "" __VA_ARGS__))

#define cr_assert(x, ...)            PLAIN_ASSERT(x, #x, __VA_ARGS__)
#define cr_assert_not(x, ...)        PLAIN_ASSERT(!(x), "not " #x, __VA_ARGS__)
#define cr_assert_eq(a, b, ...)      PLAIN_ASSERT((a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)     PLAIN_ASSERT((a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)      PLAIN_ASSERT((a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)     PLAIN_ASSERT((a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)      PLAIN_ASSERT((a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)     PLAIN_ASSERT((a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_assert_null(x, ...)       PLAIN_ASSERT((x) == NULL, #x " is NULL", __VA_ARGS__)
#define cr_assert_not_null(x, ...)   PLAIN_ASSERT((x) != NULL, #x " is not NULL", __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)  PLAIN_ASSERT(!strcmp(a, b), #a " is " #b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) PLAIN_ASSERT(strcmp(a, b), #a " is not " #b, __VA_ARGS__)
#define cr_assert_str_empty(a, ...)  PLAIN_ASSERT(!(a)[0], #a " is empty", __VA_ARGS__)
#define cr_assert_fail(...)          PLAIN_ASSERT(false, "reached", __VA_ARGS__)
#define cr_assert_stderr_eq_str(text, ...)                                                         \
	PLAIN_ASSERT(plain_stderr_is(text), "stderr is " #text, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)  PLAIN_EXPECT((a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)  PLAIN_EXPECT((a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) PLAIN_EXPECT((a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) PLAIN_EXPECT((a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_skip_test(...)        plain_skip("" __VA_ARGS__)

#endif
