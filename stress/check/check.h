/* SPDX-License-Identifier: MIT */
/*
 * Checkers: pure functions, observations in, findings out. They know no process and no clock. A new
 * checker is one file with one `const struct hq_checker`, and one row in stress/check/table.c.
 *
 *   finding  the target broke a promise                            -> FAIL
 *   gap      something required was not observed or did not happen -> INCONCLUSIVE
 */
#ifndef HQ_STRESS_CHECK_CHECK_H
#define HQ_STRESS_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"
#include "injectors/option.h"
#include "stress/observe/observation.h"

#define HQ_FINDINGS_MAX 32

struct hq_finding {
	char checker[24];
	bool gap;
	char text[360];     /* one sentence: what broke, where */
	char evidence[640]; /* lines of detail, "" if none */
	uint64_t count;     /* how often this very thing was seen; at least 1 */
	uint64_t time_ns;   /* CLOCK_MONOTONIC of the first time; 0: it has no one moment */
};

struct hq_findings {
	struct hq_finding list[HQ_FINDINGS_MAX];
	size_t count;
	size_t left_out; /* found no room */
};

/*
 * Appends one; both return the entry so that evidence can be added, or NULL when there is no room.
 */
__attribute__((format(printf, 3, 4))) struct hq_finding *
hq_finding_add(struct hq_findings *findings, const char *checker, const char *format, ...);
__attribute__((format(printf, 3, 4))) struct hq_finding *
hq_gap_add(struct hq_findings *findings, const char *checker, const char *format, ...);

/* What the host does beside its work only for those who ask. */
enum hq_takes {
	HQ_TAKES_STATS = 1,    /* reads what the allocator says of itself, now and then */
	HQ_TAKES_RELEASE = 2,  /* asks it to give memory back, once everything was freed */
	HQ_TAKES_REFUSED = 4,  /* notes what is live when an allocation is refused */
	HQ_TAKES_COUNTERS = 8, /* is counted by perf_event_open; the host has no part in that */
	HQ_TAKES_CALLS = 16,   /* its system calls are traced; nor in that */
};

struct hq_checker {
	const char *name;
	const char *promise; /* one line, as `explain` prints it */
	const char *needs;   /* what it must have seen to be able to say PASS */
	bool on_request;     /* looks only where a scenario asks for it under `contracts` */
	bool needs_faults;   /* on request: judges what was injected, and nothing without it */
	const struct hq_option *options; /* NULL: none */
	size_t options_size;
	uint32_t takes; /* enum hq_takes */
	/* How long the target must be left idle, where it is asked for; NULL: not at all. */
	uint64_t (*idle_ns)(const void *options);
	/* `options` is NULL for a checker without any. */
	void (*check)(const struct hq_observations *observations, const void *options,
		      struct hq_findings *findings);
};

/* Sorted by name, NULL-terminated; each looks at every run, but those on request. */
extern const struct hq_checker *const hq_checkers[];

/* ---- metrics: metric.c ---- */

enum hq_unit {
	HQ_UNIT_COUNT,
	HQ_UNIT_BYTES,
	HQ_UNIT_NS,
	HQ_UNIT_PER_SECOND,
	HQ_UNIT_SHARE,
	HQ_UNIT_BYTES_PER_SECOND
};

/* One row of the metric table, as `explain metrics` prints it. */
struct hq_metric_info {
	const char *pattern; /* "rss.idle(T)", "latency.CALL.QUANTILE", "inject.NAME.COUNTER" */
	enum hq_unit unit;
	const char *source;
	const char *help;
	bool host_only; /* needs a built-in workload */
};
extern const struct hq_metric_info hq_metrics[];
extern const size_t hq_metric_count;

/*
 * The value of a metric. 0; -ENOENT: no such metric (error suggests one); -ENODATA: exists but was
 * not observed in this run (error says why).
 */
int hq_metric_get(const struct hq_observations *observations, const char *name, double *value,
		  enum hq_unit *unit, struct hq_error *error);

/* ---- the expectation language: expect.c, judge.c ----
 *
 *   EXPECTATION = METRIC OP VALUE
 *   OP          = '<=' | '>=' | '<' | '>' | '==' | '!='
 *   VALUE       = number with the metric's unit
 *               | [ number '*' ] 'clean'          the same metric in the clean runs of the pair
 *               | [ number '*' ] METRIC           another metric of this run
 *               and either of the last two may be followed by '+' number-with-unit
 */
struct hq_expectation {
	char text[160]; /* as written */
	char metric[64];
	char op[3];
	enum hq_unit unit;
	double factor;
	double constant;
	bool against_clean;
	char other[64]; /* "": none */
};

/* Parses and type-checks against the metric table. `is_host` false refuses metrics of the host. */
int hq_expectation_parse(const char *text, bool is_host, struct hq_expectation *expectation,
			 struct hq_error *error);

/*
 * Longest T of any rss.idle(T) or other idle metric in it, 0 if none: how long the run must settle.
 */
uint64_t hq_expectation_idle_ns(const struct hq_expectation *expectation);

/* The rule or injector NAME in inject.NAME.COUNTER (left or right side), "" if none. */
const char *hq_expectation_inject_name(const struct hq_expectation *expectation, char name[64]);

/*
 * True if it can hold only where something went wrong: it is about an injection, or asks for NULLs.
 */
bool hq_expectation_needs_faults(const struct hq_expectation *expectation);

/* How sure an answer about a bound against clean runs must be; see against.c. */
struct hq_confidence {
	double false_alarm; /* how often a target at its bound is accused, at most */
	double missed;      /* how often a look may let it pass */
};

/* How many pairs of runs it takes at least until a bound can be seen to be broken. */
size_t hq_confidence_pairs(const struct hq_confidence *confidence);

/* The runs of a case. */
struct hq_series {
	const struct hq_observations *const *runs;
	size_t run_count;
	const struct hq_observations *const *clean_runs;
	size_t clean_count;
	struct hq_confidence confidence;
};

/* What the host has to do for it: enum hq_takes. */
uint32_t hq_expectation_takes(const struct hq_expectation *expectation);

/*
 * Judges the runs of a case: of each metric the median over the runs is taken. A broken expectation
 * is a finding of checker "expect" with both values; a metric that was not observed is a gap.
 * Counts of faults (inject.*) are judged on the smallest of the runs, and too few of them are a
 * gap. Against `clean` the ranks decide, and what they cannot tell is a gap.
 */
void hq_expectation_judge(const struct hq_expectation *expectation, const struct hq_series *series,
			  struct hq_findings *findings);

/*
 * True when no further pair of runs is needed: it does not ask for clean runs, it holds, or it
 * cannot be observed. A bound that seems to be broken is not settled before all pairs have run, so
 * that the rate of false alarms is that of one look.
 */
bool hq_expectation_is_settled(const struct hq_expectation *expectation,
			       const struct hq_series *series);

/* ---- verdicts: verdict.c ---- */

enum hq_verdict { /* in rising order of precedence when verdicts are joined */
		  HQ_VERDICT_PASS,
		  HQ_VERDICT_XFAIL,
		  HQ_VERDICT_SKIP,
		  HQ_VERDICT_INCONCLUSIVE,
		  HQ_VERDICT_XPASS,
		  HQ_VERDICT_FAIL,
		  HQ_VERDICT_ERROR,
};

/* What is known to go wrong for the allocator of this case. */
struct hq_known {
	bool present;
	enum hq_verdict verdict; /* FAIL or INCONCLUSIVE */
	bool sometimes;          /* seen in some runs only: not seeing it is a PASS, not an XPASS */
	char because[200];
	char checkers[64]; /* "": any; else every finding must be from one of these, "errno,expect"
			    */
};

const char *hq_verdict_name(enum hq_verdict verdict); /* "PASS" ... */

/* Findings against what is known. */
enum hq_verdict hq_verdict_judge(const struct hq_findings *findings, const struct hq_known *known);

#endif
