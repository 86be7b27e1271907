/* SPDX-License-Identifier: MIT */
/*
 * One way for things to go wrong: a descriptor with its own options, probe, hooks and counters.
 *
 * A new injector is one file with one `const struct hq_injector`, and one row in injectors/table.c.
 * Hooks run in this order, any may be NULL:
 *
 *   sweep     at the start of every heapquake: remove what a dead run of ours left on the machine
 *
 *   probe     can it work here? by doing, with the reason if not
 *
 *   prepare   in the controller, before the target exists
 *
 *   enter     in the target's process between fork and exec: async-signal-safe calls only
 *
 *   start     in the controller, when the target is ready, just before the gate opens
 *
 *   tick      in the controller, some ten times a second while the target works
 *
 *   stop      in the controller, when the gate has closed
 *
 *   measure   after stop: what was really achieved
 *
 *   restore   in the controller, on every way out, also after a failed prepare: puts back what
 *             changed
 */
#ifndef HQ_INJECTORS_INJECTOR_H
#define HQ_INJECTORS_INJECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "injectors/error.h"
#include "injectors/option.h"

#define HQ_MEASURES_MAX 8

/* One counted effect. The one named "fired" tells whether the injector did anything at all. */
struct hq_measure {
	char name[32];
	char unit[16]; /* "", "B", "ns", "/s" */
	double value;
};

struct hq_injector_run {
	const void *options; /* the injector's own struct */
	void *state;         /* the injector's own, made by prepare and freed by restore */
	pid_t target;        /* from start on */
	uint64_t seed;
	const char *folder; /* the run's folder, for logs of helpers */
	struct hq_error error;
};

struct hq_injector {
	const char *name;
	const char *help; /* one line */
	const struct hq_option *options;
	size_t options_size;
	void (*sweep)(void);
	int (*probe)(const void *options, struct hq_error *reason); /* 0 or -errno */
	int (*prepare)(struct hq_injector_run *run);                /* 0 or -errno and run->error */
	int (*enter)(struct hq_injector_run *run);                  /* 0 or -errno */
	int (*start)(struct hq_injector_run *run);                  /* 0 or -errno and run->error */
	void (*tick)(struct hq_injector_run *run);
	void (*stop)(struct hq_injector_run *run);
	void (*restore)(struct hq_injector_run *run);
	size_t (*measure)(struct hq_injector_run *run, struct hq_measure *out, size_t room);
};

/* Sorted by name, NULL-terminated. */
extern const struct hq_injector *const hq_injectors[];
const struct hq_injector *hq_injector_find(const char *name);

#endif
