/* SPDX-License-Identifier: MIT */
/*
 * The injector that does nothing: the smallest example of one, and a name for scenarios that want
 * to compare a run with injectors to the same run without. It claims to have fired, since doing
 * nothing is all that it was asked for.
 */
#include "injectors/builtin.h"

static size_t measure(struct hq_injector_run *run, struct hq_measure *out, size_t room)
{
	(void)run;
	return hq_measure_add(out, room, 0, "fired", "", 1);
}

const struct hq_injector hq_injector_none = {
	.name = "none",
	.help = "does nothing; the empty example",
	.measure = measure,
};
