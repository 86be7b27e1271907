/* SPDX-License-Identifier: MIT */
/*
 * A run's injections as one. Order is the scenario's on the way in and the reverse on the way out,
 * so that what was laid on last is taken off first.
 */
#include "stress/control/hurdles.h"

#include <errno.h>
#include <string.h>

static const struct hq_injector *injector_at(const struct hq_hurdles *hurdles, size_t index)
{
	return hurdles->plan->injections[index].injector;
}

int hq_hurdles_probe(const struct hq_plan *plan, struct hq_error *reason)
{
	for (size_t i = 0; i < plan->injection_count; i++) {
		const struct hq_injection *one = &plan->injections[i];
		struct hq_error why = { "" };
		const int result =
			one->injector->probe ? one->injector->probe(one->options, &why) : 0;

		if (result) {
			hq_error_set(reason, "%s: %.400s", one->name,
				     why.text[0] ? why.text : strerror(-result));
			return result;
		}
	}
	return 0;
}

static int describe(const struct hq_hurdles *hurdles, size_t index, const char *step, int result,
		    struct hq_error *error)
{
	const char *text = hurdles->runs[index].error.text;

	hq_error_set(error, "%s: cannot %s: %.400s", hurdles->plan->injections[index].name, step,
		     text[0] ? text : strerror(-result));
	return result;
}

int hq_hurdles_prepare(struct hq_hurdles *hurdles, const struct hq_plan *plan, const char *folder,
		       struct hq_error *error)
{
	memset(hurdles, 0, sizeof(*hurdles));
	hurdles->plan = plan;
	for (size_t i = 0; i < plan->injection_count; i++) {
		struct hq_injector_run *run = &hurdles->runs[i];

		run->options = plan->injections[i].options;
		run->seed = plan->seed;
		run->folder = folder;
		hurdles->prepared = i + 1;
		const int result = injector_at(hurdles, i)->prepare
					   ? injector_at(hurdles, i)->prepare(run)
					   : 0;

		if (result)
			return describe(hurdles, i, "be prepared", result, error);
	}
	return 0;
}

int hq_hurdles_enter(struct hq_hurdles *hurdles)
{
	for (size_t i = 0; i < hurdles->prepared; i++) {
		const struct hq_injector *one = injector_at(hurdles, i);
		const int result = one->enter ? one->enter(&hurdles->runs[i]) : 0;

		if (result)
			return result;
	}
	return 0;
}

int hq_hurdles_start(struct hq_hurdles *hurdles, pid_t target, struct hq_error *error)
{
	for (size_t i = 0; i < hurdles->prepared; i++) {
		const struct hq_injector *one = injector_at(hurdles, i);

		hurdles->runs[i].target = target;
		hurdles->started = i + 1;
		const int result = one->start ? one->start(&hurdles->runs[i]) : 0;

		if (result)
			return describe(hurdles, i, "start", result, error);
	}
	return 0;
}

void hq_hurdles_tick(struct hq_hurdles *hurdles)
{
	for (size_t i = 0; i < hurdles->started; i++)
		if (injector_at(hurdles, i)->tick)
			injector_at(hurdles, i)->tick(&hurdles->runs[i]);
}

void hq_hurdles_stop(struct hq_hurdles *hurdles)
{
	while (hurdles->started) {
		const size_t index = --hurdles->started;

		if (injector_at(hurdles, index)->stop)
			injector_at(hurdles, index)->stop(&hurdles->runs[index]);
	}
}

void hq_hurdles_measure(struct hq_hurdles *hurdles, struct hq_observations *seen)
{
	for (size_t i = 0; i < hurdles->prepared; i++) {
		const struct hq_injection *one = &hurdles->plan->injections[i];
		struct hq_injection_result *result = &seen->injections[seen->injection_count++];

		memset(result, 0, sizeof(*result));
		strcpy(result->name, one->name);
		result->required = one->required;
		if (one->injector->measure)
			result->measure_count = one->injector->measure(
				&hurdles->runs[i], result->measures, HQ_MEASURES_MAX);
	}
}

void hq_hurdles_restore(struct hq_hurdles *hurdles)
{
	hq_hurdles_stop(hurdles);
	while (hurdles->prepared) {
		const size_t index = --hurdles->prepared;

		if (injector_at(hurdles, index)->restore)
			injector_at(hurdles, index)->restore(&hurdles->runs[index]);
	}
}
