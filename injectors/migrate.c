/* SPDX-License-Identifier: MIT */
/*
 * Threads thrown from CPU to CPU: a thread of the controller pins every thread of the target to
 * another CPU again and again, and gives the original masks back at the end.
 *
 * It runs under SCHED_FIFO where that is permitted, since a busy target starves it otherwise
 * (measured: a fifth of the rate), and sleeps at least as long as a round takes, so that it never
 * takes more than half of a CPU.
 *
 * A move proves nothing by itself: the thread may sleep through it. What counts as fired is a
 * change that the thread could notice: it consumed CPU time while pinned to one CPU, having last
 * done so on another. The time is the scheduler's own (/proc/PID/task/TID/schedstat), brought up to
 * date by the move itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "injectors/builtin.h"
#include "injectors/clock.h"
#include "injectors/proc.h"
#include "injectors/thread.h"
#include "injectors/units.h"

#define THREADS_MAX     256
#define SCAN_PERIOD_NS  (20 * HQ_MS) /* how soon a new thread is found */
#define SHORTEST_NAP_NS (50 * HQ_US)
#define RATE_MIN        0.1
#define NO_CPU          -1
#define FIFO_PRIORITY   1
#define RESTORE_ROUNDS  8

struct settings {
	double rate;
};

static const struct hq_option options[] = {
	{ .name = "rate",
	  .kind = HQ_OPTION_RATE,
	  .offset = offsetof(struct settings, rate),
	  .fallback = "1k/s",
	  .help = "how often each thread of the target is moved" },
	{ .name = NULL },
};

/* One thread of the target. */
struct passenger {
	pid_t tid;
	int schedstat_fd;
	int pinned_cpu;      /* since the last move */
	int ran_cpu;         /* where it last consumed time */
	uint64_t runtime_ns; /* at the last move */
	cpu_set_t mask;      /* to be given back */
};

struct state {
	pid_t target;
	double rate;
	uint64_t random;
	int cpus[CPU_SETSIZE]; /* those that the target may use */
	int cpu_count;
	cpu_set_t mask; /* of the target when we started: for threads born since */
	pthread_t thread;
	bool running;
	_Atomic bool stopping; /* controller */

	/* The mover's own until it has been joined. */
	struct passenger passengers[THREADS_MAX];
	size_t count;
	uint64_t fired, moves, rounds;
	uint64_t moved_ns; /* how long it worked */
	size_t most_threads;
	bool fifo;
};

static int list_cpus(pid_t pid, cpu_set_t *mask, int cpus[CPU_SETSIZE], int *count)
{
	if (sched_getaffinity(pid, sizeof(*mask), mask))
		return -errno;
	*count = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, mask))
			cpus[(*count)++] = cpu;
	return 0;
}

static int check_rate(const struct settings *settings, struct hq_error *error)
{
	if (settings->rate >= RATE_MIN)
		return 0;
	return hq_error_set(error, "rate: %g/s is too slow; write at least 0.1/s", settings->rate);
}

static int probe(const void *values, struct hq_error *reason)
{
	int cpus[CPU_SETSIZE], count = 0;
	cpu_set_t mask;
	char text[64];
	int status = check_rate(values, reason);

	if (status)
		return status;
	status = list_cpus(0, &mask, cpus, &count);
	if (status) {
		hq_error_set(reason, "sched_getaffinity: %s", strerror(-status));
		return status;
	}
	if (count < 2) {
		hq_error_set(reason,
			     "only CPU %d may be used here (taskset, cpuset); two are needed",
			     cpus[0]);
		return -EOPNOTSUPP;
	}
	if (hq_proc_read("/proc/self/schedstat", text, sizeof(text)) <= 0) {
		hq_error_set(reason,
			     "/proc/PID/schedstat cannot be read (CONFIG_SCHED_INFO), so no "
			     "move could be proved");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* ---- the mover ---- */

static uint64_t next_random(struct state *state)
{
	uint64_t word = state->random += 0x9e3779b97f4a7c15u;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
	word = (word ^ word >> 27) * 0x94d049bb133111ebu;
	return word ^ word >> 31;
}

/* Any of the CPUs but that one. */
static int pick_cpu(struct state *state, int not_cpu)
{
	const int count = state->cpu_count;
	int index = (int)(next_random(state) % (uint64_t)count);

	if (state->cpus[index] == not_cpu)
		index = (index + 1) % count;
	return state->cpus[index];
}

static bool read_runtime(const struct passenger *passenger, uint64_t *runtime_ns)
{
	char text[96];
	const ssize_t length = pread(passenger->schedstat_fd, text, sizeof(text) - 1, 0);

	if (length <= 0)
		return false;
	text[length] = '\0';
	*runtime_ns = strtoull(text, NULL, 10);
	return true;
}

static void drop_passenger(struct state *state, size_t index)
{
	close(state->passengers[index].schedstat_fd);
	state->passengers[index] = state->passengers[--state->count];
}

/* False if the thread is no more. */
static bool move(struct state *state, struct passenger *passenger)
{
	const int cpu = pick_cpu(state, passenger->pinned_cpu);
	uint64_t runtime_ns;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(passenger->tid, sizeof(one), &one))
		return errno != ESRCH;
	state->moves++;
	if (!read_runtime(passenger, &runtime_ns))
		return false;
	if (passenger->pinned_cpu != NO_CPU && runtime_ns > passenger->runtime_ns) {
		if (passenger->ran_cpu != NO_CPU && passenger->ran_cpu != passenger->pinned_cpu)
			state->fired++;
		passenger->ran_cpu = passenger->pinned_cpu;
	}
	passenger->runtime_ns = runtime_ns;
	passenger->pinned_cpu = cpu;
	return true;
}

static bool is_aboard(const struct state *state, pid_t tid)
{
	for (size_t i = 0; i < state->count; i++)
		if (state->passengers[i].tid == tid)
			return true;
	return false;
}

/*
 * A thread that was there at the start gets its own mask back; one that was born since then has
 * inherited a pinned one, and gets that of the target.
 */
static void take_aboard(struct state *state, pid_t tid, bool is_start)
{
	struct passenger *passenger = &state->passengers[state->count];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)state->target, (int)tid);
	passenger->schedstat_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (passenger->schedstat_fd < 0)
		return;
	passenger->tid = tid;
	passenger->pinned_cpu = passenger->ran_cpu = NO_CPU;
	passenger->mask = state->mask;
	if (is_start)
		sched_getaffinity(tid, sizeof(passenger->mask), &passenger->mask);
	state->count++;
}

/* Returns how many threads were new. */
static size_t scan(struct state *state, bool is_start)
{
	pid_t tids[THREADS_MAX];
	const size_t found = hq_proc_threads(state->target, tids, THREADS_MAX);
	const size_t before = state->count;

	for (size_t i = 0; i < found && state->count < THREADS_MAX; i++)
		if (!is_aboard(state, tids[i]))
			take_aboard(state, tids[i], is_start);
	if (state->count > state->most_threads)
		state->most_threads = state->count;
	return state->count - before;
}

static void move_all(struct state *state)
{
	for (size_t i = state->count; i-- > 0;)
		if (!move(state, &state->passengers[i]))
			drop_passenger(state, i);
	state->rounds++;
}

static void give_back(struct state *state)
{
	for (size_t i = 0; i < state->count; i++)
		sched_setaffinity(state->passengers[i].tid, sizeof(cpu_set_t),
				  &state->passengers[i].mask);
}

/* A thread that is born while masks are given back may still inherit a pinned one: look again. */
static void give_all_back(struct state *state)
{
	size_t round = 0;

	do {
		give_back(state);
	} while (scan(state, false) && ++round < RESTORE_ROUNDS);
	while (state->count)
		drop_passenger(state, 0);
}

/* In pieces, so that a slow rate does not make stopping slow. */
static void sleep_until(const struct state *state, uint64_t ns)
{
	for (uint64_t now = hq_now_ns(); now < ns && !hq_load_relaxed(&state->stopping);
	     now = hq_now_ns()) {
		const uint64_t piece = ns < now + SCAN_PERIOD_NS ? ns : now + SCAN_PERIOD_NS;
		const struct timespec until = { .tv_sec = (time_t)(piece / HQ_S),
						.tv_nsec = (long)(piece % HQ_S) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
}

static void *move_until_stopped(void *argument)
{
	struct state *state = argument;
	const struct sched_param priority = { .sched_priority = FIFO_PRIORITY };
	const uint64_t period_ns = (uint64_t)(1e9 / state->rate);
	const uint64_t start = hq_now_ns();
	uint64_t next_round = start, next_scan = start + SCAN_PERIOD_NS;

	state->fifo = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) == 0;
	while (!hq_load_relaxed(&state->stopping)) {
		const uint64_t round_start = hq_now_ns();

		move_all(state);
		if (round_start >= next_scan) {
			scan(state, false);
			next_scan = round_start + SCAN_PERIOD_NS;
		}
		const uint64_t round_end = hq_now_ns();
		const uint64_t nap = round_end - round_start + SHORTEST_NAP_NS;

		next_round += period_ns;
		if (next_round < round_end + nap)
			next_round = round_end + nap;
		sleep_until(state, next_round);
	}
	state->moved_ns = hq_now_ns() - start;
	return NULL;
}

/* ---- hooks ---- */

static int prepare(struct hq_injector_run *run)
{
	const struct settings *settings = run->options;
	const int status = check_rate(settings, &run->error);
	struct state *state = status ? NULL : calloc(1, sizeof(*state));

	if (!state)
		return status ? status : -ENOMEM;
	state->rate = settings->rate;
	state->random = run->seed;
	run->state = state;
	return 0;
}

static int start_thread(struct state *state)
{
	const int status = hq_thread_start(&state->thread, move_until_stopped, state);

	state->running = status == 0;
	if (state->running)
		pthread_setname_np(state->thread, "hq-migrate");
	return status;
}

static int start(struct hq_injector_run *run)
{
	struct state *state = run->state;
	int status;

	state->target = run->target;
	status = list_cpus(run->target, &state->mask, state->cpus, &state->cpu_count);
	if (status) {
		hq_error_set(&run->error, "sched_getaffinity of the target: %s", strerror(-status));
		return status;
	}
	if (state->cpu_count < 2) {
		hq_error_set(&run->error, "the target may use only one CPU");
		return -EOPNOTSUPP;
	}
	scan(state, true);
	return start_thread(state);
}

static void stop(struct hq_injector_run *run)
{
	struct state *state = run->state;

	if (!state->running)
		return;
	hq_store_relaxed(&state->stopping, true);
	pthread_join(state->thread, NULL);
	state->running = false;
	give_all_back(state);
}

static void restore(struct hq_injector_run *run)
{
	struct state *state = run->state;

	if (!state)
		return;
	stop(run);
	while (state->count)
		drop_passenger(state, 0);
	free(state);
	run->state = NULL;
}

static size_t measure(struct hq_injector_run *run, struct hq_measure *out, size_t room)
{
	const struct state *state = run->state;
	size_t count = 0;

	if (!state)
		return 0;
	const double seconds = (double)state->moved_ns / 1e9;

	count = hq_measure_add(out, room, count, "fired", "", (double)state->fired);
	count = hq_measure_add(out, room, count, "moves", "", (double)state->moves);
	count = hq_measure_add(out, room, count, "rate", "/s",
			       seconds > 0 ? (double)state->rounds / seconds : 0);
	count = hq_measure_add(out, room, count, "threads", "", (double)state->most_threads);
	return hq_measure_add(out, room, count, "fifo", "", state->fifo);
}

const struct hq_injector hq_injector_migrate = {
	.name = "migrate",
	.help = "throws every thread of the target from CPU to CPU",
	.options = options,
	.options_size = sizeof(struct settings),
	.probe = probe,
	.prepare = prepare,
	.start = start,
	.stop = stop,
	.restore = restore,
	.measure = measure,
};
