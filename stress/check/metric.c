/* SPDX-License-Identifier: MIT */
/*
 * Metrics: the numbers that an expectation can be about. One row says name, unit, source and how
 * the value is taken from the observations; a value that was not observed is never invented. The
 * table and the functions that its rows name are one thing, and long for their number.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/check/metric.h"
#include "stress/check/slope.h"
#include "stress/wire/hist.h"

/* What must have been recorded for a row to have a value. */
enum need {
	NEED_NOTHING,
	NEED_SAMPLES,
	NEED_USAGE,
	NEED_HOST,
	NEED_WORKED,
	NEED_GUARD,
	NEED_LEFT,
	NEED_MIGRATIONS,
	NEED_SPACE,
	NEED_TREE
};

static hq_metric_getter get_cpu_total, get_inject, get_latency_count, get_latency_max,
	get_latency_mean, get_latency_quantile, get_ops_rate, get_sampler_share, get_tree_peak,
	get_waste;

#define FIELD(field)     offsetof(struct hq_observations, field), NULL
#define GETTER(function) 0, function

/* X(pattern, unit, source, help, host only, need, FIELD or GETTER), sorted by pattern. */
#define METRICS(X)                                                                                 \
	X("calls.KIND.count", COUNT, "tracepoints",                                                \
	  "calls of brk, futex, madvise, mmap, mprotect, mremap, munmap or process_madvise",       \
	  false, NEED_NOTHING, GETTER(hq_metric_get_calls_count))                                  \
	X("calls.KIND.max", NS, "tracepoints", "the longest of these", false, NEED_NOTHING,        \
	  GETTER(hq_metric_get_calls_max))                                                         \
	X("calls.KIND.time", NS, "tracepoints", "time in these, of all threads", false,            \
	  NEED_NOTHING, GETTER(hq_metric_get_calls_time))                                          \
	X("calls.advised", BYTES, "tracepoints",                                                   \
	  "given back by MADV_DONTNEED and MADV_FREE, touched or not", false, NEED_NOTHING,        \
	  GETTER(hq_metric_get_calls_field))                                                       \
	X("calls.lock_wait_max", NS, "tracepoints", "the longest wait at a futex", false,          \
	  NEED_NOTHING, GETTER(hq_metric_get_calls_field))                                         \
	X("calls.lock_wait_time", NS, "tracepoints",                                               \
	  "waits at futexes: locks, conditions, ends of threads", false, NEED_NOTHING,             \
	  GETTER(hq_metric_get_calls_field))                                                       \
	X("calls.lock_waits", COUNT, "tracepoints", "how many of these", false, NEED_NOTHING,      \
	  GETTER(hq_metric_get_calls_field))                                                       \
	X("calls.lost", COUNT, "tracepoints",                                                      \
	  "records that found no room; then nothing else of calls is told", false, NEED_NOTHING,   \
	  GETTER(hq_metric_get_calls_lost))                                                        \
	X("calls.unmapped", BYTES, "tracepoints",                                                  \
	  "given back by munmap, mremap, brk and mmap of nothing over it, touched or not", false,  \
	  NEED_NOTHING, GETTER(hq_metric_get_calls_field))                                         \
	X("cpu.migrations", COUNT, "the kernel's scheduler", "moves of threads between CPUs",      \
	  false, NEED_MIGRATIONS, FIELD(migrations))                                               \
	X("cpu.system", NS, "rusage", "CPU time in the kernel", false, NEED_USAGE,                 \
	  FIELD(system_ns))                                                                        \
	X("cpu.total", NS, "rusage", "CPU time of user and kernel together", false, NEED_USAGE,    \
	  GETTER(get_cpu_total))                                                                   \
	X("cpu.user", NS, "rusage", "CPU time in user code", false, NEED_USAGE, FIELD(user_ns))    \
	X("faults.major", COUNT, "rusage", "page faults that waited for a device", false,          \
	  NEED_USAGE, FIELD(major_faults))                                                         \
	X("faults.minor", COUNT, "rusage", "page faults served from memory", false, NEED_USAGE,    \
	  FIELD(minor_faults))                                                                     \
	X("guard.calls", COUNT, "guard", "calls of the malloc family that the guard saw", false,   \
	  NEED_GUARD, FIELD(guard_calls))                                                          \
	X("guard.left_blocks", COUNT, "guard", "blocks still live when the program left", false,   \
	  NEED_LEFT, FIELD(guard_left_count))                                                      \
	X("guard.left_bytes", BYTES, "guard", "bytes of the blocks that were still live", false,   \
	  NEED_LEFT, FIELD(guard_left_bytes))                                                      \
	X("hardware.branch_misses", COUNT, "perf_event_open",                                      \
	  "branches that were predicted wrongly", false, NEED_NOTHING,                             \
	  GETTER(hq_metric_get_counter))                                                           \
	X("hardware.branches", COUNT, "perf_event_open", "branches that were taken or not", false, \
	  NEED_NOTHING, GETTER(hq_metric_get_counter))                                             \
	X("hardware.bus_cycles", COUNT, "perf_event_open", "cycles of the bus", false,             \
	  NEED_NOTHING, GETTER(hq_metric_get_counter))                                             \
	X("hardware.cache_misses", COUNT, "perf_event_open",                                       \
	  "references that the last cache could not serve", false, NEED_NOTHING,                   \
	  GETTER(hq_metric_get_counter))                                                           \
	X("hardware.cache_references", COUNT, "perf_event_open", "references to the last cache",   \
	  false, NEED_NOTHING, GETTER(hq_metric_get_counter))                                      \
	X("hardware.cycles", COUNT, "perf_event_open", "cycles of the processor", false,           \
	  NEED_NOTHING, GETTER(hq_metric_get_counter))                                             \
	X("hardware.dtlb_misses", COUNT, "perf_event_open", "loads whose page was not in the TLB", \
	  false, NEED_NOTHING, GETTER(hq_metric_get_counter))                                      \
	X("hardware.instructions", COUNT, "perf_event_open", "instructions that were completed",   \
	  false, NEED_NOTHING, GETTER(hq_metric_get_counter))                                      \
	X("hardware.itlb_misses", COUNT, "perf_event_open",                                        \
	  "fetches of code whose page was not in the TLB", false, NEED_NOTHING,                    \
	  GETTER(hq_metric_get_counter))                                                           \
	X("hardware.running", SHARE, "perf_event_open",                                            \
	  "least share of the time in which one of these was counted; below 1 they are scaled",    \
	  false, NEED_NOTHING, GETTER(hq_metric_get_counters_running))                             \
	X("heap.children", COUNT, "host", "children of fork that used the heap and ended", true,   \
	  NEED_HOST, FIELD(children))                                                              \
	X("heap.frees", COUNT, "host", "calls of free", true, NEED_HOST, FIELD(frees))             \
	X("heap.last_null", NS, "host", "when the last NULL came; 0 without any", true, NEED_HOST, \
	  FIELD(last_null_ns))                                                                     \
	X("heap.mallocs", COUNT, "host", "calls of malloc, calloc and the aligned family", true,   \
	  NEED_HOST, FIELD(mallocs))                                                               \
	X("heap.nulls", COUNT, "host", "allocations that were answered with NULL", true,           \
	  NEED_HOST, FIELD(nulls))                                                                 \
	X("heap.reallocs", COUNT, "host", "calls of realloc", true, NEED_HOST, FIELD(reallocs))    \
	X("heap.requested_peak", BYTES, "host", "most bytes requested and live at one time", true, \
	  NEED_HOST, FIELD(requested_peak_bytes))                                                  \
	X("heap.waste", SHARE, "host, malloc_usable_size",                                         \
	  "usable bytes beyond those asked for, as a share of them, in the blocks that a "         \
	  "workload holds at its end and weighs",                                                  \
	  true, NEED_HOST, GETTER(get_waste))                                                      \
	X("inject.NAME.COUNTER", COUNT, "rules and injectors",                                     \
	  "of a rule: seen, eligible, fired; of an injector: what it measures", false,             \
	  NEED_NOTHING, GETTER(get_inject))                                                        \
	X("latency.CALL.QUANTILE", NS, "host, every call",                                         \
	  "p50, p90, p99, p99_9, p99_99 of malloc, free, realloc or op; "                          \
	  "malloc@4KiB: of sizes above 256 B up to that, as @256B, @64KiB, @1MiB, @above; "        \
	  "with .clean or .faulted behind: outside or in the wake of faults",                      \
	  true, NEED_HOST, GETTER(get_latency_quantile))                                           \
	X("latency.CALL.count", COUNT, "host, every call", "number of timed calls", true,          \
	  NEED_HOST, GETTER(get_latency_count))                                                    \
	X("latency.CALL.max", NS, "host, every call", "the slowest call", true, NEED_HOST,         \
	  GETTER(get_latency_max))                                                                 \
	X("latency.CALL.mean", NS, "host, every call", "mean of all calls", true, NEED_HOST,       \
	  GETTER(get_latency_mean))                                                                \
	X("limit.checks", PER_SECOND, "host",                                                      \
	  "checks of the program's own limit in a row, a second of CPU time", true, NEED_HOST,     \
	  GETTER(hq_metric_get_limit_checks))                                                      \
	X("limit.overshoot", BYTES, "host", "held beyond the program's own hard limit, the most",  \
	  true, NEED_HOST, GETTER(hq_metric_get_limit_overshoot))                                  \
	X("limit.refused", SHARE, "host",                                                          \
	  "share of the requests that were refused for the program's own limit", true, NEED_HOST,  \
	  GETTER(hq_metric_get_limit_refused))                                                     \
	X("limit.row_cpu", NS, "host",                                                             \
	  "CPU time of a row below a limit, of the thread and round that took least", true,        \
	  NEED_HOST, GETTER(hq_metric_get_limit_row_cpu))                                          \
	X("mapped.end", BYTES, "maps",                                                             \
	  "private anonymous memory that may be read or written, at the last reading", false,      \
	  NEED_SPACE, FIELD(space_end.mapped_bytes))                                               \
	X("mapped.peak", BYTES, "maps", "the most such memory that was seen", false, NEED_SPACE,   \
	  FIELD(space_peak.mapped_bytes))                                                          \
	X("mapped.start", BYTES, "maps",                                                           \
	  "private anonymous memory that may be read or written, before the work", false,          \
	  NEED_SPACE, FIELD(space_start.mapped_bytes))                                             \
	X("memory.faulted", BYTES, "rusage, /proc/PID/stat",                                       \
	  "page faults of the work times the size of a page", false, NEED_USAGE,                   \
	  GETTER(hq_metric_get_faulted))                                                           \
	X("memory.faulted_again", BYTES, "the same, statm",                                        \
	  "of these, beyond what the peak needed: it had been given back", false, NEED_USAGE,      \
	  GETTER(hq_metric_get_faulted_again))                                                     \
	X("memory.given_back", BYTES, "the same, smaps",                                           \
	  "resident at the start and faulted, but not resident at the end", false, NEED_USAGE,     \
	  GETTER(hq_metric_get_given_back))                                                        \
	X("ops.count", COUNT, "host", "operations of the workload that were completed", true,      \
	  NEED_HOST, FIELD(ops))                                                                   \
	X("ops.missed", COUNT, "host", "operations given up because of a NULL", true, NEED_HOST,   \
	  FIELD(missed))                                                                           \
	X("ops.rate", PER_SECOND, "host", "operations per second of work", true, NEED_HOST,        \
	  GETTER(get_ops_rate))                                                                    \
	X("perf.context_switches", COUNT, "perf_event_open",                                       \
	  "switches away from a thread of the target", false, NEED_NOTHING,                        \
	  GETTER(hq_metric_get_counter))                                                           \
	X("perf.cpu_migrations", COUNT, "perf_event_open",                                         \
	  "moves of the target's threads between CPUs", false, NEED_NOTHING,                       \
	  GETTER(hq_metric_get_counter))                                                           \
	X("perf.major_faults", COUNT, "perf_event_open",                                           \
	  "page faults that waited for a device, of all that it started", false, NEED_NOTHING,     \
	  GETTER(hq_metric_get_counter))                                                           \
	X("perf.minor_faults", COUNT, "perf_event_open",                                           \
	  "page faults served from memory, of all that it started", false, NEED_NOTHING,           \
	  GETTER(hq_metric_get_counter))                                                           \
	X("perf.task_clock", NS, "perf_event_open",                                                \
	  "CPU time of the target with all that it started", false, NEED_NOTHING,                  \
	  GETTER(hq_metric_get_counter))                                                           \
	X("rss.end", BYTES, "smaps_rollup, else sampler", "resident memory at the end of the run", \
	  false, NEED_SAMPLES, GETTER(hq_metric_get_rss_end))                                      \
	X("rss.idle(T)", BYTES, "sampler", "resident memory a time T after everything was freed",  \
	  true, NEED_SAMPLES, GETTER(hq_metric_get_rss_idle))                                      \
	X("rss.kept(T)", BYTES, "sampler, smaps_rollup",                                           \
	  "rss.idle(T) without what the kernel may take back (LazyFree)", true, NEED_SAMPLES,      \
	  GETTER(hq_metric_get_rss_kept))                                                          \
	X("rss.lazyfree", BYTES, "smaps_rollup", "LazyFree in the last quiet reading", false,      \
	  NEED_NOTHING, GETTER(hq_metric_get_rss_lazyfree))                                        \
	X("rss.median", BYTES, "sampler", "resident memory, median of the samples", false,         \
	  NEED_SAMPLES, GETTER(hq_metric_get_rss_median))                                          \
	X("rss.peak", BYTES, "sampler, VmHWM", "most resident memory at one time", false,          \
	  NEED_SAMPLES, FIELD(rss_peak_bytes))                                                     \
	X("rss.slope", BYTES_PER_SECOND, "sampler",                                                \
	  "how fast resident memory rises in the second half of the work", false, NEED_SAMPLES,    \
	  GETTER(hq_metric_get_rss_slope))                                                         \
	X("rss.start", BYTES, "sampler", "resident memory before the work", false, NEED_SAMPLES,   \
	  FIELD(rss_start_bytes))                                                                  \
	X("rss.tree_peak", BYTES, "smaps_rollup, statm, VmHWM",                                    \
	  "most resident memory at one time of a program with the processes it started", false,    \
	  NEED_TREE, GETTER(get_tree_peak))                                                        \
	X("rss.worked", BYTES, "sampler",                                                          \
	  "resident memory when the work is done and its data are still held", true, NEED_SAMPLES, \
	  GETTER(hq_metric_get_rss_worked))                                                        \
	X("sampler.share", SHARE, "sampler", "share of one core that watching took", false,        \
	  NEED_SAMPLES, GETTER(get_sampler_share))                                                 \
	X("space.end", BYTES, "statm", "address space at the last reading", false, NEED_SPACE,     \
	  FIELD(space_end.space_bytes))                                                            \
	X("space.peak", BYTES, "statm", "the most address space that was seen", false, NEED_SPACE, \
	  FIELD(space_peak.space_bytes))                                                           \
	X("space.start", BYTES, "statm", "address space before the work, reservations included",   \
	  false, NEED_SPACE, FIELD(space_start.space_bytes))                                       \
	X("stats.active", BYTES, "the allocator",                                                  \
	  "bytes in pages that hold blocks, when its data are held", true, NEED_NOTHING,           \
	  GETTER(hq_metric_get_stat))                                                              \
	X("stats.allocated", BYTES, "the allocator",                                               \
	  "bytes in blocks, as the allocator counts them, when its data are held", true,           \
	  NEED_NOTHING, GETTER(hq_metric_get_stat))                                                \
	X("stats.cached", BYTES, "the allocator",                                                  \
	  "bytes in free blocks that are kept, when its data are held", true, NEED_NOTHING,        \
	  GETTER(hq_metric_get_stat))                                                              \
	X("stats.dirty", BYTES, "the allocator",                                                   \
	  "bytes in free pages that are in memory, when its data are held", true, NEED_NOTHING,    \
	  GETTER(hq_metric_get_stat))                                                              \
	X("stats.lock_wait_time", NS, "the allocator",                                             \
	  "time in waits for locks of its, of all threads, until its data are held", true,         \
	  NEED_NOTHING, GETTER(hq_metric_get_stat))                                                \
	X("stats.lock_waits", COUNT, "the allocator", "how many of these", true, NEED_NOTHING,     \
	  GETTER(hq_metric_get_stat))                                                              \
	X("stats.mapped", BYTES, "the allocator",                                                  \
	  "bytes of address space, as the allocator counts them, when its data are held", true,    \
	  NEED_NOTHING, GETTER(hq_metric_get_stat))                                                \
	X("stats.metadata", BYTES, "the allocator",                                                \
	  "bytes in its own structures, when its data are held", true, NEED_NOTHING,               \
	  GETTER(hq_metric_get_stat))                                                              \
	X("stats.muzzy", BYTES, "the allocator",                                                   \
	  "bytes in free pages that the kernel may take, when its data are held", true,            \
	  NEED_NOTHING, GETTER(hq_metric_get_stat))                                                \
	X("stats.purged", BYTES, "the allocator",                                                  \
	  "bytes that it gave back until its data are held, lazily or not", true, NEED_NOTHING,    \
	  GETTER(hq_metric_get_stat))                                                              \
	X("stats.purges", COUNT, "the allocator", "calls by which it did", true, NEED_NOTHING,     \
	  GETTER(hq_metric_get_stat))                                                              \
	X("stats.resident", BYTES, "the allocator",                                                \
	  "bytes in memory, as the allocator counts them, when its data are held", true,           \
	  NEED_NOTHING, GETTER(hq_metric_get_stat))                                                \
	X("stats.retained", BYTES, "the allocator",                                                \
	  "bytes of address space without blocks or memory, when its data are held", true,         \
	  NEED_NOTHING, GETTER(hq_metric_get_stat))                                                \
	X("switches.involuntary", COUNT, "rusage", "times a thread was put off its CPU", false,    \
	  NEED_USAGE, FIELD(involuntary_switches))                                                 \
	X("switches.voluntary", COUNT, "rusage", "times a thread went to wait", false, NEED_USAGE, \
	  FIELD(voluntary_switches))                                                               \
	X("threads.lived", COUNT, "host", "threads that came and went while it worked", true,      \
	  NEED_HOST, FIELD(lives))                                                                 \
	X("time.wall", NS, "controller", "from start to end of the target", false, NEED_NOTHING,   \
	  FIELD(wall_ns))                                                                          \
	X("time.work", NS, "host", "from the start of the work to its end", true, NEED_WORKED,     \
	  FIELD(worked_ns))                                                                        \
	X("vma.end", COUNT, "maps", "mappings at the last reading", false, NEED_SPACE,             \
	  FIELD(space_end.mappings))                                                               \
	X("vma.peak", COUNT, "maps", "the most mappings that were seen", false, NEED_SPACE,        \
	  FIELD(space_peak.mappings))                                                              \
	X("vma.start", COUNT, "maps", "mappings before the work", false, NEED_SPACE,               \
	  FIELD(space_start.mappings))

#define INFO(pattern_, unit_, source_, help_, host_, need_, ...)                                   \
	{ .pattern = pattern_,                                                                     \
	  .unit = HQ_UNIT_##unit_,                                                                 \
	  .source = source_,                                                                       \
	  .help = help_,                                                                           \
	  .host_only = host_ },

const struct hq_metric_info hq_metrics[] = { METRICS(INFO) };
const size_t hq_metric_count = sizeof(hq_metrics) / sizeof(hq_metrics[0]);

#define ACCESS(pattern_, unit_, source_, help_, host_, need_, ...) { need_, __VA_ARGS__ },

static const struct access {
	enum need need;
	size_t offset; /* of a uint64_t in the observations; without `get` */
	hq_metric_getter *get;
} accesses[] = { METRICS(ACCESS) };

static int get_sampler_share(const struct hq_observations *observations,
			     const struct hq_metric_name *name, double *value,
			     struct hq_error *error)
{
	(void)name, (void)error;
	*value = observations->sampler_core_share;
	return 0;
}

/* What the sampler saw of the program alone, more often, is a part of it. */
static int get_tree_peak(const struct hq_observations *observations,
			 const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	const uint64_t tree_bytes = observations->tree_peak_bytes;
	const uint64_t own_bytes = observations->rss_peak_bytes;

	(void)name, (void)error;
	*value = (double)(tree_bytes > own_bytes ? tree_bytes : own_bytes);
	return 0;
}

/* ---- the work ---- */

static int get_cpu_total(const struct hq_observations *observations,
			 const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	(void)name, (void)error;
	*value = (double)observations->user_ns + (double)observations->system_ns;
	return 0;
}

static int get_ops_rate(const struct hq_observations *observations,
			const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	(void)name;
	if (observations->worked_ns == 0)
		return hq_metric_no_data(error, "the work was not completed");
	*value = (double)observations->ops * 1e9 / (double)observations->worked_ns;
	return 0;
}

static int get_waste(const struct hq_observations *observations, const struct hq_metric_name *name,
		     double *value, struct hq_error *error)
{
	const uint64_t asked = observations->weighed_bytes;

	(void)name;
	if (asked == 0)
		return hq_metric_no_data(error, "no blocks were weighed");
	*value = (double)(observations->usable_bytes - asked) / (double)asked;
	return 0;
}

static int get_latency_count(const struct hq_observations *observations,
			     const struct hq_metric_name *name, double *value,
			     struct hq_error *error)
{
	const struct hq_hist *hist =
		hq_latency_seen_in(observations, name->call, name->band, name->window);

	if (!observations->hist)
		return hq_metric_no_data(error, "latency was not recorded");
	*value = hist ? (double)hq_hist_count(hist) : 0;
	return 0;
}

static int no_such_call(const struct hq_metric_name *name, struct hq_error *error)
{
	static const char *const why[] = {
		[HQ_WINDOW_CLEAN] = "there was no such call outside the wake of faults",
		[HQ_WINDOW_FAULTED] = "there was no such call in the wake of a fault",
		[HQ_WINDOW_ALL] = "there was no such call",
	};

	return hq_metric_no_data(error, why[name->window]);
}

/* The histogram of the call, if it holds anything. */
static int find_latency(const struct hq_observations *observations,
			const struct hq_metric_name *name, const struct hq_hist **hist,
			struct hq_error *error)
{
	double count;
	const int status = get_latency_count(observations, name, &count, error);

	if (status)
		return status;
	if (count == 0)
		return no_such_call(name, error);
	*hist = hq_latency_seen_in(observations, name->call, name->band, name->window);
	return 0;
}

static int get_latency_max(const struct hq_observations *observations,
			   const struct hq_metric_name *name, double *value, struct hq_error *error)
{
	const struct hq_hist *hist;
	const int status = find_latency(observations, name, &hist, error);

	if (status)
		return status;
	*value = (double)hq_load_relaxed(&hist->max_ns);
	return 0;
}

static int get_latency_mean(const struct hq_observations *observations,
			    const struct hq_metric_name *name, double *value,
			    struct hq_error *error)
{
	const struct hq_hist *hist;
	const int status = find_latency(observations, name, &hist, error);

	if (status)
		return status;
	*value = hq_hist_mean_ns(hist);
	return 0;
}

static int get_latency_quantile(const struct hq_observations *observations,
				const struct hq_metric_name *name, double *value,
				struct hq_error *error)
{
	const struct hq_hist *hist;
	const int status = find_latency(observations, name, &hist, error);

	if (status)
		return status;
	*value = (double)hq_hist_quantile(hist, name->quantile);
	return 0;
}

/* ---- what was injected ---- */

static const struct hq_rule_total *find_rule(const struct hq_observations *observations,
					     const char *name)
{
	for (size_t i = 0; i < observations->rule_count; i++) {
		if (!strcmp(observations->rules[i].name, name))
			return &observations->rules[i];
	}
	return NULL;
}

static const struct hq_injection_result *find_injection(const struct hq_observations *observations,
							const char *name)
{
	for (size_t i = 0; i < observations->injection_count; i++) {
		if (!strcmp(observations->injections[i].name, name))
			return &observations->injections[i];
	}
	return NULL;
}

static const struct hq_measure *find_measure(const struct hq_injection_result *injection,
					     const char *name)
{
	for (size_t i = 0; injection && i < injection->measure_count; i++) {
		if (!strcmp(injection->measures[i].name, name))
			return &injection->measures[i];
	}
	return NULL;
}

static enum hq_unit measure_unit(const struct hq_measure *measure)
{
	if (!strcmp(measure->unit, "B"))
		return HQ_UNIT_BYTES;
	if (!strcmp(measure->unit, "ns"))
		return HQ_UNIT_NS;
	if (!strcmp(measure->unit, "/s"))
		return HQ_UNIT_PER_SECOND;
	return HQ_UNIT_COUNT;
}

static int unknown_inject(const struct hq_observations *observations,
			  const struct hq_metric_name *name, struct hq_error *error)
{
	const char *list[HQ_RULES_MAX + HQ_MEASURES_MAX + 1];
	size_t count = 0;

	for (size_t i = 0; i < observations->rule_count && i < HQ_RULES_MAX; i++)
		list[count++] = observations->rules[i].name;
	for (size_t i = 0; i < observations->injection_count && i < HQ_MEASURES_MAX; i++)
		list[count++] = observations->injections[i].name;
	list[count] = NULL;
	const char *near = hq_suggest(name->inject, list);

	if (near)
		hq_error_set(error, "nothing called '%s' was injected; did you mean '%s'?",
			     name->inject, near);
	else
		hq_error_set(error, "nothing called '%s' was injected", name->inject);
	return -ENOENT;
}

static int unknown_counter(const struct hq_injection_result *injection,
			   const struct hq_metric_name *name, struct hq_error *error)
{
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; injection && i < injection->measure_count; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.24s", i ? ", " : "",
					 injection->measures[i].name);
	hq_error_set(error, "'%s' has no counter '%s'; it has: %s", name->inject, name->counter,
		     injection ? list : "eligible, fired, seen");
	return -ENOENT;
}

static int get_inject(const struct hq_observations *observations, const struct hq_metric_name *name,
		      double *value, struct hq_error *error)
{
	const struct hq_rule_total *rule = find_rule(observations, name->inject);
	const struct hq_injection_result *injection = find_injection(observations, name->inject);
	const struct hq_measure *measure = find_measure(injection, name->counter);

	if (!rule && !injection)
		return unknown_inject(observations, name, error);
	if (!rule && !measure)
		return unknown_counter(injection, name, error);
	if (!rule)
		*value = measure->value;
	else if (!strcmp(name->counter, "seen"))
		*value = (double)rule->seen;
	else if (!strcmp(name->counter, "eligible"))
		*value = (double)rule->eligible;
	else if (!strcmp(name->counter, "fired"))
		*value = (double)rule->fired;
	else
		return unknown_counter(NULL, name, error);
	return 0;
}

/* The unit of this run's value: for an injector's own measure only the run can tell. */
static enum hq_unit unit_of(const struct hq_observations *observations,
			    const struct hq_metric_name *name)
{
	const struct hq_measure *measure = NULL;

	if (name->inject[0] && !find_rule(observations, name->inject))
		measure = find_measure(find_injection(observations, name->inject), name->counter);
	return measure ? measure_unit(measure) : hq_metrics[name->row].unit;
}

/* ---- all together ---- */

static int check_need(const struct hq_observations *observations, enum need need,
		      struct hq_error *error)
{
	if (need == NEED_SAMPLES && !observations->has_samples)
		return hq_metric_no_data(error, "resident memory was not sampled");
	if (need == NEED_USAGE && !observations->has_usage)
		return hq_metric_no_data(error, "the kernel's counters were not read");
	if (need == NEED_MIGRATIONS && !observations->has_migrations)
		return hq_metric_no_data(error, "the kernel did not tell of moves between CPUs");
	if (need == NEED_HOST && !observations->is_host)
		return hq_metric_no_data(error, "only a built-in workload has it");
	if (need == NEED_SPACE && observations->space_end.mappings == 0)
		return hq_metric_no_data(error, "the target's mappings were not read");
	if (need == NEED_TREE && observations->tree_peak_bytes == 0)
		return hq_metric_no_data(error, "the processes of a program were not followed");
	if (need == NEED_WORKED && observations->worked_ns == 0)
		return hq_metric_no_data(error, "the work was not completed");
	if ((need == NEED_GUARD || need == NEED_LEFT) && !observations->guarded)
		return hq_metric_no_data(error, "there was no --guard");
	if (need == NEED_LEFT && !observations->guard_left_known)
		return hq_metric_no_data(error, "the program did not leave by exit");
	return 0;
}

int hq_metric_get(const struct hq_observations *observations, const char *text, double *value,
		  enum hq_unit *unit, struct hq_error *error)
{
	struct hq_metric_name name;
	int status = hq_metric_name_parse(text, &name, error);

	if (status)
		return status;
	const struct access *access = &accesses[name.row];

	status = check_need(observations, access->need, error);
	if (status)
		return status;
	if (access->get) {
		status = access->get(observations, &name, value, error);
	} else {
		uint64_t field;

		memcpy(&field, (const char *)observations + access->offset, sizeof(field));
		*value = (double)field;
	}
	if (status == 0)
		*unit = unit_of(observations, &name);
	return status;
}
