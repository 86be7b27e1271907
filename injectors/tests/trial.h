/* SPDX-License-Identifier: MIT */
/*
 * One injector on a small child, step by step, as the controller drives it.
 */
#ifndef HQ_INJECTORS_TESTS_TRIAL_H
#define HQ_INJECTORS_TESTS_TRIAL_H

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "injectors/injector.h"
#include "injectors/option.h"
#include "injectors/tests/child.h"

/* One injector with its options, ready to be run on a child. */
struct trial {
	const struct hq_injector *injector;
	struct hq_injector_run run;
	_Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
	struct child child;
};

static struct trial trial;

static inline void choose(const char *name, const char *options)
{
	struct hq_error error = { "" };

	trial.injector = hq_injector_find(name);
	cr_assert_not_null(trial.injector);
	trial.run.options = trial.options;
	trial.run.seed = 42;
	cr_assert_eq(hq_options_default(trial.injector->options, trial.options, &error), 0, "%s",
		     error.text);
	cr_assert_eq(hq_options_parse(trial.injector->options, trial.options, options, &error), 0,
		     "%s", error.text);
}

static inline void choose_or_skip(const char *name, const char *options)
{
	struct hq_error reason = { "" };

	choose(name, options);
	if (trial.injector->probe && trial.injector->probe(trial.options, &reason))
		cr_skip_test("%s", reason.text);
}

static inline void prepare(void)
{
	if (trial.injector->prepare)
		cr_assert_eq(trial.injector->prepare(&trial.run), 0, "%s", trial.run.error.text);
}

/* Starts the child, has it enter, and opens the gate. */
static inline void start_on(int (*body)(struct child *self, void *cookie))
{
	child_start(&trial.child, body, &trial.run);
	cr_assert(child_hear(&trial.child));
	trial.run.target = trial.child.pid;
	if (trial.injector->start)
		cr_assert_eq(trial.injector->start(&trial.run), 0, "%s", trial.run.error.text);
}

static inline void tick_for(int ms)
{
	for (int waited = 0; waited < ms; waited += 20) {
		usleep(20000);
		if (trial.injector->tick)
			trial.injector->tick(&trial.run);
	}
}

static inline void stop(void)
{
	if (trial.injector->stop)
		trial.injector->stop(&trial.run);
}

static inline double measured(const char *name)
{
	struct hq_measure measures[HQ_MEASURES_MAX];
	const size_t count = trial.injector->measure(&trial.run, measures, HQ_MEASURES_MAX);

	for (size_t i = 0; i < count; i++)
		if (strcmp(measures[i].name, name) == 0)
			return measures[i].value;
	return -1;
}

/* A loaded machine may take long for what is over in a moment on another. */
static inline void tick_until(const char *name, double at_least)
{
	for (int round = 0; round < 100 && measured(name) < at_least; round++)
		tick_for(100);
}

static inline void restore(void)
{
	if (trial.injector->restore) {
		trial.injector->restore(&trial.run);
		trial.injector->restore(&trial.run);
	}
	cr_expect_null(trial.run.state);
}

#endif
