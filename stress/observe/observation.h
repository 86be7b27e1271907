/* SPDX-License-Identifier: MIT */
/*
 * Observations: everything that is known of one finished run, as plain data. Recorders write them,
 * checkers read them; after the run nothing else is asked, neither a process nor a clock.
 *
 * Resident memory here is anonymous resident memory (statm resident minus shared): what an
 * allocator can answer for. File pages and our own shared memory are left out. See facts in
 * docs/design.md.
 */
#ifndef HQ_STRESS_OBSERVE_OBSERVATION_H
#define HQ_STRESS_OBSERVE_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "injectors/injector.h"
#include "injectors/rule.h"
#include "injectors/syscall/plane.h"
#include "stress/wire/wire.h"

enum hq_outcome {
	HQ_OUTCOME_EXITED,      /* status holds the exit status */
	HQ_OUTCOME_SIGNALED,    /* status holds the signal */
	HQ_OUTCOME_OOM_KILLED,  /* SIGKILL, and the group's own kill counter rose */
	HQ_OUTCOME_HUNG,        /* the watchdog killed it; see hang */
	HQ_OUTCOME_TIMEOUT,     /* still making progress at the wall-clock limit */
	HQ_OUTCOME_OVER_CAP,    /* held more than the safety cap, and was killed for it */
	HQ_OUTCOME_NOT_STARTED, /* never became ready; see failure */
	HQ_OUTCOME_INTERRUPTED, /* we were asked to stop */
};

struct hq_sample {
	uint64_t time_ns; /* since `go` */
	uint64_t rss_bytes;
};

/* Latencies of one window, merged over all threads. */
struct hq_latencies {
	struct hq_hist *hist; /* HQ_LATENCY_COUNT of them; NULL without */
	/* The same by size, rounded up by 1/128 at most; NULL where there was no such call. */
	struct hq_hist *bands[HQ_LATENCY_SIZED][HQ_BAND_COUNT];
};

/* What the target has mapped. */
struct hq_space {
	uint64_t mapped_bytes; /* private anonymous memory that may be read or written */
	uint64_t space_bytes;  /* address space in all: reservations, files and our own as well */
	uint64_t mappings;     /* how many; 0: it was not read */
	uint64_t threads;
};

struct hq_space_sample {
	uint64_t time_ns; /* since `go` */
	struct hq_space space;
};

/* One part of the work, over all threads: the longest wall time, and sums of the rest. */
struct hq_part_seen {
	uint64_t runs; /* of a thread */
	uint64_t wall_ns, cpu_ns, faults;
};

enum hq_quiet_point {
	HQ_QUIET_WORKED, /* the work is done, its data are held */
	HQ_QUIET_FREED,  /* everything was freed just now */
	HQ_QUIET_IDLE,   /* some time later; the last of these is the last reading of all */
};

/* A reading at a quiet point. */
struct hq_quiet {
	uint64_t time_ns; /* since `go` */
	uint64_t rss_bytes;
	uint64_t lazyfree_bytes;
	enum hq_quiet_point point;
	struct hq_space space;
};

/* One thread of a hung target. */
struct hq_stuck_thread {
	pid_t tid;
	char state; /* as in /proc: R S D ... */
	char comm[16];
	char call[32];           /* "madvise", "user code", "unknown" */
	double calls_per_second; /* of that call; below 0: not counted */
	bool at_least;           /* the rate was taken while ptrace slowed the thread down */
	char wchan[48];
};

/* How a limit of the program's own was kept, all workers together; see enum hq_limit_word. */
struct hq_limit_seen {
	/* Sums of bytes and counts; of EARLY and ROW_CPU the least, of HARD, SOFT, PEAK, LEFT and
	 * of times the most. */
	uint64_t words[HQ_LIMIT_WORDS];
	uint64_t workers;        /* that had a limit; 0: there was none */
	uint64_t admitted_least; /* of one worker */
};

#define HQ_STUCK_MAX 16

struct hq_injection_result {
	char name[32];
	struct hq_measure measures[HQ_MEASURES_MAX];
	size_t measure_count;
	uint32_t required;
};

struct hq_rule_total {
	char name[HQ_RULE_NAME_SIZE];
	uint64_t seen, eligible, fired;
	uint32_t required;
	uint32_t calls;         /* bit set of 1u << enum hq_call */
	uint32_t action;        /* enum hq_action */
	uint64_t window_end_ns; /* since the gate opened; UINT64_MAX: no end */
};

struct hq_fault_seen {
	struct hq_fault fault;
	uint64_t thread_key;
	pid_t tid;
};

/* What the same work cost beside `scale` of something; the cheapest thread's. */
struct hq_cost {
	uint64_t scale;
	uint64_t cpu_ns;
};

/* What perf_event_open can count; sorted by the metric they become. See counters.h. */
enum hq_counter {
	HQ_COUNTER_BRANCH_MISSES,
	HQ_COUNTER_BRANCHES,
	HQ_COUNTER_BUS_CYCLES,
	HQ_COUNTER_CACHE_MISSES,
	HQ_COUNTER_CACHE_REFERENCES,
	HQ_COUNTER_CYCLES,
	HQ_COUNTER_DTLB_MISSES,
	HQ_COUNTER_INSTRUCTIONS,
	HQ_COUNTER_ITLB_MISSES,
	HQ_COUNTER_CONTEXT_SWITCHES,
	HQ_COUNTER_CPU_MIGRATIONS,
	HQ_COUNTER_MAJOR_FAULTS,
	HQ_COUNTER_MINOR_FAULTS,
	HQ_COUNTER_TASK_CLOCK,
	HQ_COUNTER_COUNT
};

/* System calls that are traced; sorted by name. See calls.h. */
enum hq_traced {
	HQ_TRACED_BRK,
	HQ_TRACED_FUTEX,
	HQ_TRACED_MADVISE,
	HQ_TRACED_MMAP,
	HQ_TRACED_MPROTECT,
	HQ_TRACED_MREMAP,
	HQ_TRACED_MUNMAP,
	HQ_TRACED_PROCESS_MADVISE,
	HQ_TRACED_COUNT
};

struct hq_traced_seen {
	uint64_t count, total_ns, max_ns;
};

/* Since `go`, of the target and all that it started; of calls that came to their end. */
struct hq_calls_seen {
	bool known;
	int status; /* -errno if they could not be traced; 0 without `known`: nobody tried */
	struct hq_traced_seen kinds[HQ_TRACED_COUNT];
	struct hq_traced_seen waits; /* of futex: those that waited */
	uint64_t advised_bytes;      /* MADV_DONTNEED and MADV_FREE */
	uint64_t unmapped_bytes;     /* by munmap, mremap, brk, and mmap of nothing over it */
	uint64_t lost;               /* records: then the rest is too low */
};

struct hq_counted {
	bool known;
	bool user_only; /* what the kernel did for the target is not in it */
	int status;     /* -errno if it could not be counted; 0 without `known`: nobody tried */
	double value;   /* scaled up by 1 / running */
	double running; /* share of the time in which it was counted */
};

/* Ranges that the kernel was made to refuse when they were given back, joined where they overlap.
 */
struct hq_refused_range {
	uint64_t address;
	uint64_t bytes;
	uint64_t resident_bytes; /* in the end */
	uint64_t last_ns;        /* CLOCK_MONOTONIC of the last refusal */
	uint32_t call;           /* enum hq_call */
};

#define HQ_REFUSED_SHOWN 4

struct hq_refused {
	bool was_read;         /* the target's pages were looked at, at the last quiet point */
	uint64_t calls;        /* that were refused */
	uint64_t ranges;       /* that they make */
	uint64_t bytes;        /* of these */
	uint64_t bytes_unread; /* of these, not looked at */
	uint64_t resident_bytes;
	struct hq_refused_range worst[HQ_REFUSED_SHOWN]; /* those of which most is resident */
};

/* What a run may leave behind, in numbers. */
struct hq_residue_counts {
	uint32_t processes, threads, descriptors; /* of the process that drives the run */
	uint32_t groups;                          /* that bear our name */
};

struct hq_residue {
	bool known;
	struct hq_residue_counts left; /* more than before the run */
	bool affinity, limits;         /* of the process that drives the run: changed */
	uint32_t target_processes;     /* descendants of the target that outlived it */
};

#define HQ_QUIET_MAX  64
#define HQ_SPACES_MAX 256

struct hq_observations {
	/* How it ended. */
	enum hq_outcome outcome;
	int status;
	char failure[256];
	struct hq_stuck_thread stuck[HQ_STUCK_MAX];
	size_t stuck_count;
	bool driver_used;
	int driver_status; /* exit status of the driver; -1: did not finish */

	/* When, all since `go`; 0 where never reached. */
	uint64_t worked_ns, freed_ns, end_ns;
	uint64_t wall_ns; /* spawn to reap */
	/* CLOCK_MONOTONIC when the gate opened: what the times of events and faults count from. */
	uint64_t gate_open_ns;

	/* Resident memory. */
	bool has_samples;
	struct hq_sample *samples;
	size_t sample_count;
	uint64_t samples_missed; /* ticks at which the sampler was late by more than a period */
	uint64_t rss_start_bytes;
	uint64_t rss_peak_bytes;  /* the larger of the samples' maximum and VmHWM less shared */
	uint64_t tree_peak_bytes; /* the same of a program with its children; 0: not followed */
	struct hq_quiet quiet[HQ_QUIET_MAX];
	size_t quiet_count;
	double sampler_core_share; /* CPU time of the sampler over wall time */

	/* Address space: before the work, at the last reading, and the most of each. */
	struct hq_space space_start, space_end, space_peak;
	struct hq_space_sample spaces[HQ_SPACES_MAX]; /* while the target works and idles */
	size_t space_count;
	struct hq_refused refused;

	/* The kernel's counters. */
	bool has_usage;
	uint64_t minor_faults, major_faults, voluntary_switches, involuntary_switches, migrations;
	bool has_migrations; /* kernels without CONFIG_SCHED_DEBUG do not tell */
	uint64_t user_ns, system_ns;
	struct hq_counted counted[HQ_COUNTER_COUNT]; /* with all that the target started */
	uint64_t minor_faults_start; /* before `go`, of the first process; of it after: */
	struct hq_calls_seen calls;

	/* The host's workers, summed; only with a built-in workload. */
	bool is_host;
	uint64_t lives; /* threads that came and went while it worked */
	uint64_t ops, mallocs, frees, reallocs, nulls, missed, requested_peak_bytes;
	/* The same from readings in which no thread moved meanwhile: never above the truth. */
	uint64_t requested_sure_bytes;
	uint64_t children;    /* of fork, that have ended */
	uint64_t freed_bytes; /* ever */
	struct hq_cost costs[HQ_WIRE_COSTS];
	size_t cost_count;
	uint64_t signals_taken, signals_done, signal_nulls, signal_damaged; /* see wire.h */
	uint64_t requested_last_bytes; /* at the last reading */
	uint64_t refused_at_bytes; /* live and asked for, at the NULL where that was least; 0: none
				    */
	uint64_t arena_looks;      /* how often the allocator said which arena serves a thread */
	uint64_t weighed_bytes, usable_bytes;    /* of blocks that were weighed; see wire.h */
	uint64_t last_null_ns;                   /* since `go`; 0: no NULL */
	uint64_t had_most_bytes, had_last_bytes; /* of a workload that takes all; see wire.h */
	struct hq_limit_seen limit;
	struct hq_part_seen *parts; /* HQ_WIRE_PARTS of them; NULL without */
	struct hq_hist *hist;       /* HQ_LATENCY_COUNT of them, merged; NULL without */
	/* The same by size, rounded up by 1/128 at most; NULL where there was no such call. */
	struct hq_hist *bands[HQ_LATENCY_SIZED][HQ_BAND_COUNT];
	struct hq_latencies apart[HQ_WINDOW_COUNT]; /* the same in clean and in faulted windows */
	struct hq_event *events;
	size_t event_count;
	uint64_t events_dropped;
	uint64_t unwatched;  /* blocks that the host could not watch for an overlap */
	uint64_t unwritten;  /* writes to files of the workload that failed */
	int unwritten_error; /* errno of the last one */

	/* What the allocator says of itself; only where a contract or the scenario asked for it. */
	struct hq_stats_record *stats; /* in order; time_ns since `go` */
	size_t stats_count;
	uint64_t stats_dropped;
	uint64_t page_bytes;     /* of the machine */
	uint32_t stats_promises; /* enum hq_stats_promise */

	/* What the guards saw; its events are among those above. */
	bool guarded;
	uint32_t guard_programs; /* that were watched */
	uint32_t guard_refused;  /* that bring a malloc of their own, and were not */
	uint64_t guard_calls, guard_unwatched;
	struct hq_guard_detail *details; /* of events of the guard, see hq_event.detail */
	size_t detail_count;
	bool guard_left_known;
	uint64_t guard_left_count, guard_left_bytes; /* live when the first process left */

	/* Faults. */
	bool armed; /* the mechanism was in place (true as well when there are no rules) */
	struct hq_rule_total rules[HQ_RULES_MAX];
	size_t rule_count;
	struct hq_fault_seen *faults;
	size_t fault_count;
	uint64_t faults_dropped;
	uint32_t threads_claimed, threads_unclaimed;
	uint32_t processes_unarmed; /* programs that the target started, without the filter */
	struct hq_residue residue;
	struct hq_injection_result injections[HQ_MEASURES_MAX];
	size_t injection_count;
};

/* A peak. */
static inline void hq_raise_to(uint64_t *value, uint64_t other)
{
	if (other > *value)
		*value = other;
}

/* 0 for what was before, or never. */
static inline uint64_t hq_since_ns(uint64_t time_ns, uint64_t origin_ns)
{
	return time_ns > origin_ns ? time_ns - origin_ns : 0;
}

/* True for the advice that gives pages back, of a range or of several. */
bool hq_fault_is_purge(const struct hq_fault *fault);
/* The same of one range, which the first two arguments are. */
bool hq_fault_is_purge_of_range(const struct hq_fault *fault);

/* Latencies of a call, of one band or of all; NULL if none were recorded. */
const struct hq_hist *hq_latency_seen(const struct hq_observations *observations,
				      enum hq_latency call, enum hq_band band);
const struct hq_hist *hq_latency_seen_in(const struct hq_observations *observations,
					 enum hq_latency call, enum hq_band band,
					 enum hq_window window);

/* True if some latency was recorded in the wake of a fault. */
bool hq_latency_was_faulted(const struct hq_observations *observations);

/* Frees the arrays. */
void hq_observations_clear(struct hq_observations *observations);

#endif
