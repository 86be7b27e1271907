/* SPDX-License-Identifier: MIT */
/*
 * A scenario file, read and checked against the tables of the parts it names: everything that does
 * not depend on which allocator and which seed it is run with. plan.c makes plans of it.
 *
 *   scenario  contains  a plan without allocator and seed, the allocators it asks for,
 *                       and what is known to go wrong with some of them
 */
#ifndef HQ_STRESS_PLAN_SCENARIO_H
#define HQ_STRESS_PLAN_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "stress/plan/complaint.h"
#include "stress/plan/plan.h"

#define HQ_SCENARIO_KNOWN 16

struct hq_scenario_known {
	char allocator[32];
	char version[32]; /* "": every version; else its beginning */
	struct hq_known known;
};

#define HQ_COMPARE_PAIRS     128
#define HQ_COMPARE_PUBLISHED 8
#define HQ_COMPARE_BESIDE    6

/* A change that somebody published, as text: "-51%". */
struct hq_published {
	char metric[72];
	char change[40];
};

/* What the scenario is compared for. */
struct hq_scenario_compare {
	char **sides[2]; /* settings of A and B, as for --set; NULL: none */
	char **beside;  /* a setting for each further side, HQ_COMPARE_BESIDE at most; NULL: none */
	char **claims;  /* NULL: none */
	uint64_t pairs; /* 0: as usual */
	char source[200];
	struct hq_published published[HQ_COMPARE_PUBLISHED];
	size_t published_count;
};

struct hq_scenario {
	struct hq_plan plan; /* its allocator, library, seed and known are not filled in */
	char **allocators;   /* names, paths or "all"; NULL: any */
	bool has_seed;       /* plan.seed is the file's own */
	bool has_memory_cap; /* plan.memory_cap_bytes is the file's own */
	uint64_t settle_ns;  /* as the file asks; the plan's also covers the expectations */
	struct hq_scenario_known known[HQ_SCENARIO_KNOWN];
	size_t known_count;
	struct hq_scenario_compare compare;
};

/* Reads and checks a file. 0, or -errno with at least one complaint; clear it in either case. */
int hq_scenario_read(const char *path, struct hq_scenario *scenario,
		     struct hq_complaints *complaints);

/* The same after the settings (yaml_set.h; NULL: none) have been put on top of the file. */
int hq_scenario_read_with(const char *path, char *const *settings, struct hq_scenario *scenario,
			  struct hq_complaints *complaints);

/* The same for text in memory; `path` is what complaints call it and where the name comes from. */
int hq_scenario_parse(const char *text, size_t length, const char *path,
		      struct hq_scenario *scenario, struct hq_complaints *complaints);

/* A scenario without a file, for `-- PROG ARG...`: the program must survive. 0 or -ENOMEM. */
int hq_scenario_of_command(char *const *command, struct hq_scenario *scenario);

/*
 * Adds what the command line says: an inline rule or "INJECTOR:option=value:...", an expectation,
 * or a contract "NAME:option=value:...", which sets options of one that is there already. 0 or
 * -EINVAL with a sentence.
 */
int hq_scenario_add_injection(struct hq_scenario *scenario, const char *text,
			      struct hq_error *error);
int hq_scenario_add_expectation(struct hq_scenario *scenario, const char *text,
				struct hq_error *error);
int hq_scenario_add_contract(struct hq_scenario *scenario, const char *text,
			     struct hq_error *error);

/*
 * The same work without what goes wrong: injections, expectations and contracts that need them, and
 * what is known to go wrong because of them leave. A scenario that injects nothing stays as it is.
 */
void hq_scenario_drop_faults(struct hq_scenario *scenario);

/*
 * Checks what no single value shows: expectations name only what is injected, there is time for
 * them, the mechanism can do what the rules say. 0 or -EINVAL with a sentence.
 */
int hq_scenario_check(const struct hq_scenario *scenario, struct hq_error *error);

/*
 * Idle time after everything was freed: the file's own, or the longest that an expectation or a
 * contract asks for.
 */
uint64_t hq_scenario_settle_ns(const struct hq_scenario *scenario);

void hq_scenario_clear(struct hq_scenario *scenario);

/* ---- what explain prints ---- */

/* Keys of a section with one line of help; name NULL ends the list. */
struct hq_scenario_key {
	const char *section; /* "" for the top level */
	const char *name;
	const char *help;
};
extern const struct hq_scenario_key hq_scenario_keys[];

/* The keys of `run`, typed. */
extern const struct hq_option hq_run_option_table[];

#endif
