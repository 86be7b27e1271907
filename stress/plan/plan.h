/* SPDX-License-Identifier: MIT */
/*
 * A plan: one case, resolved. A scenario file is read once (scenario.c); for each allocator and
 * seed it becomes a plan: defaults filled in, units turned into numbers, libraries located. A plan
 * is immutable once made and prints as a scenario that runs again (plan_print.c).
 */
#ifndef HQ_STRESS_PLAN_PLAN_H
#define HQ_STRESS_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "injectors/injector.h"
#include "injectors/option.h"
#include "injectors/rule.h"
#include "stress/check/asked.h"
#include "stress/check/check.h"
#include "stress/wire/wire.h"
#include "stress/workload/workload.h"

#define HQ_PLAN_INJECTIONS   8
#define HQ_PLAN_EXPECTATIONS 32
#define HQ_PLAN_CONTRACTS    64
#define HQ_DEFAULT_SEED      42

struct hq_injection {
	const struct hq_injector *injector;
	char name[32]; /* as the scenario calls it; the injector's own name by default */
	bool required;
	_Alignas(16) unsigned char options[HQ_OPTION_STRUCT_MAX];
};

/* When the counters of perf_event_open run. */
enum hq_counting {
	HQ_COUNTING_AUTO, /* where an expectation or a comparison asks for what they count */
	HQ_COUNTING_ALWAYS,
	HQ_COUNTING_NEVER,
};

struct hq_plan {
	char scenario[64]; /* file name without .yaml, or "command" */
	char path[256];    /* "" for a command line */
	char question[200];
	char tags[128]; /* "decay madvise quick" */

	/* Target. */
	bool is_host;
	char allocator[64]; /* as asked for: a name, or a path */
	char version[64];   /* as the allocator said when it was located; "" if it does not say */
	char library[256];  /* file to preload; "" for glibc's own */
	char family[32];    /* name of the allocator that the library is, also for a path; "" if
			       unknown */
	char **command;     /* NULL-terminated; NULL for the host. {run} in an argument is the run's
			       folder */
	char **env;         /* NULL-terminated NAME=VALUE, added to ours; NULL: none */
	char **driver; /* NULL-terminated: run beside the program; its end ends the run. NULL: none
			*/
	char **needs;  /* NULL-terminated: what else must be installed; NULL: nothing */
	uint32_t guard_every; /* the heap guard watches one block in that many; 0: no guard */
	bool guard_tails;     /* and puts known bytes behind each */
	char ready_file[256]; /* wait for this file before the driver starts; "" : do not wait */
	int stop_signal; /* sent to the program when the driver has ended; SIGTERM by default */

	/* Work. */
	const struct hq_workload *workload; /* NULL for a program */
	_Alignas(16) unsigned char workload_options[HQ_OPTION_STRUCT_MAX];

	/* What goes wrong. */
	struct hq_rule rules[HQ_RULES_MAX];
	size_t rule_count;
	struct hq_injection injections[HQ_PLAN_INJECTIONS];
	size_t injection_count;
	enum hq_mechanism mechanism; /* AUTO until the run resolves it by probing */

	/* What must hold. */
	struct hq_expectation expectations[HQ_PLAN_EXPECTATIONS];
	size_t expectation_count;
	struct hq_asked contracts[HQ_PLAN_CONTRACTS]; /* asked for, or with options */
	size_t contract_count;
	struct hq_known known;

	/* How. */
	uint64_t seed;
	uint64_t timeout_ns; /* wall-clock limit of one run */
	uint64_t hang_ns;    /* no progress for that long is a hang */
	uint64_t settle_ns;  /* idle time after everything was freed: the longest any expectation
				asks for */
	uint64_t sample_period_ns; /* 1 ms */
	uint64_t stats_period_ns; /* 20 ms; statistics are taken only where a contract needs them */
	enum hq_counting counters;
	enum hq_counting calls;    /* system calls are traced */
	uint64_t memory_cap_bytes; /* a target that holds more is killed; 0: no cap */
	uint32_t pairs;            /* clean and faulted runs each at most, alternating; 1 faulted
				      run if not needs_clean */
	struct hq_confidence confidence; /* of bounds against clean */
	bool needs_clean;
	char extra_arguments[2048]; /* for the repro line: options given by hand that shape the
				      plan, quoted */
	char skip_reason[200]; /* not "": the case cannot run (allocator or program not installed)
				*/
};

struct hq_scenario;
struct hq_allocator;

/*
 * Makes the plan of a scenario for one allocator and seed; the scenario may be cleared afterwards.
 * What cannot run here gets a skip_reason. 0, or -EINVAL with a sentence for what can run nowhere.
 */
int hq_plan_resolve(const struct hq_scenario *scenario, const struct hq_allocator *allocator,
		    uint64_t seed, struct hq_plan *plan, struct hq_error *error);

/*
 * The plan's entry for that checker in *contract (which may be NULL); a new one has the defaults.
 * 0 or -EINVAL with a sentence.
 */
int hq_plan_contract(struct hq_plan *plan, const struct hq_checker *checker,
		     struct hq_asked **contract, struct hq_error *error);

/* Frees the string lists. */
void hq_plan_clear(struct hq_plan *plan);

/* Writes the plan as a scenario file that parses back to an equal plan. 0 or -errno. */
int hq_plan_print(const struct hq_plan *plan, FILE *stream);

#endif
