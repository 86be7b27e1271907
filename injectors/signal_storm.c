/* SPDX-License-Identifier: MIT */
/*
 * Signals for every thread of the target, as profilers and timers send them: each interrupts the
 * thread wherever it is, in the middle of an allocation too. Only a signal that the target catches
 * is sent (SigCgt), since any other would end it or be ignored.
 *
 * A signal that was sent proves nothing: it may be blocked for ever. What counts as fired is one
 * that the kernel no longer lists as pending for the thread (SigPnd) the next time round.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "injectors/builtin.h"
#include "injectors/clock.h"
#include "injectors/proc.h"
#include "injectors/thread.h"
#include "injectors/units.h"

#define THREADS_MAX     256
#define SHORTEST_NAP_NS (50 * HQ_US)
#define LONGEST_NAP_NS  (20 * HQ_MS) /* how soon a stop is noticed */
#define RATE_MIN        1.0
#define STATUS_BYTES    4096

static const char *const signal_names[] = { "USR1", "USR2", "PROF", "ALRM", NULL };
static const int signals[] = { SIGUSR1, SIGUSR2, SIGPROF, SIGALRM };

struct settings {
	double rate;
	uint32_t signal; /* index into signals */
};

static const struct hq_option options[] = {
	{ .name = "rate",
	  .kind = HQ_OPTION_RATE,
	  .offset = offsetof(struct settings, rate),
	  .fallback = "1k/s",
	  .help = "how often each thread of the target is sent one" },
	{ .name = "signal",
	  .kind = HQ_OPTION_ENUM,
	  .offset = offsetof(struct settings, signal),
	  .fallback = "USR1",
	  .choices = signal_names,
	  .help = "which; the target has to catch it" },
	{ .name = NULL },
};

struct state {
	pid_t target;
	int signal;
	double rate;
	pthread_t thread;
	bool running;
	_Atomic bool stopping; /* controller */

	/* The sender's own until it has been joined. */
	pid_t sent_to[THREADS_MAX]; /* one is under way; 0: none */
	uint64_t sent, fired;
	bool was_caught; /* the target catches it, at least at times */
};

static int check_rate(const struct settings *settings, struct hq_error *error)
{
	if (settings->rate >= RATE_MIN)
		return 0;
	return hq_error_set(error, "rate: %g/s is too slow; write at least 1/s", settings->rate);
}

static int probe(const void *values, struct hq_error *reason)
{
	return check_rate(values, reason);
}

/* ---- the sender ---- */

/* The mask behind `key` in a status file holds the signal. */
static bool holds(const char *status, const char *key, int number)
{
	const char *line = strstr(status, key);

	return line && (strtoull(line + strlen(key), NULL, 16) >> (number - 1) & 1) != 0;
}

static void send_to(struct state *state, pid_t tid, pid_t *sent_to)
{
	char status[STATUS_BYTES];

	if (hq_proc_read_of(state->target, tid, "status", status, sizeof(status)) <= 0)
		return;
	if (!holds(status, "SigCgt:\t", state->signal) || holds(status, "SigPnd:\t", state->signal))
		return;
	state->was_caught = true;
	state->fired += *sent_to == tid;
	*sent_to = syscall(SYS_tgkill, state->target, tid, state->signal) == 0 ? tid : 0;
	state->sent += *sent_to != 0;
}

static void send_to_all(struct state *state)
{
	pid_t tids[THREADS_MAX];
	const size_t count = hq_proc_threads(state->target, tids, THREADS_MAX);

	for (size_t i = 0; i < count; i++)
		send_to(state, tids[i], &state->sent_to[i]);
}

static void *send_until_stopped(void *argument)
{
	struct state *state = argument;
	const uint64_t period_ns = (uint64_t)(1e9 / state->rate);
	uint64_t next_ns = hq_now_ns();

	while (!hq_load_relaxed(&state->stopping)) {
		if (hq_now_ns() >= next_ns) {
			send_to_all(state);
			next_ns += period_ns;
			/* What could not be kept up with is given up. */
			if (next_ns < hq_now_ns())
				next_ns = hq_now_ns() + SHORTEST_NAP_NS;
		}
		const uint64_t now_ns = hq_now_ns();
		const uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : SHORTEST_NAP_NS;
		const struct timespec nap = {
			.tv_nsec = (long)(wait_ns < LONGEST_NAP_NS ? wait_ns : LONGEST_NAP_NS)
		};

		nanosleep(&nap, NULL);
	}
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
	state->signal = signals[settings->signal];
	run->state = state;
	return 0;
}

static int start(struct hq_injector_run *run)
{
	struct state *state = run->state;

	state->target = run->target;
	const int status = hq_thread_start(&state->thread, send_until_stopped, state);

	state->running = status == 0;
	return status;
}

static void stop(struct hq_injector_run *run)
{
	struct state *state = run->state;

	if (!state->running)
		return;
	hq_store_relaxed(&state->stopping, true);
	pthread_join(state->thread, NULL);
	state->running = false;
}

static void restore(struct hq_injector_run *run)
{
	if (!run->state)
		return;
	stop(run);
	free(run->state);
	run->state = NULL;
}

static size_t measure(struct hq_injector_run *run, struct hq_measure *out, size_t room)
{
	const struct state *state = run->state;
	size_t count = 0;

	if (!state)
		return 0;
	count = hq_measure_add(out, room, count, "fired", "", (double)state->fired);
	count = hq_measure_add(out, room, count, "sent", "", (double)state->sent);
	return hq_measure_add(out, room, count, "caught", "", state->was_caught);
}

const struct hq_injector hq_injector_signal_storm = {
	.name = "signal-storm",
	.help = "signals for every thread of a target that catches them",
	.options = options,
	.options_size = sizeof(struct settings),
	.probe = probe,
	.prepare = prepare,
	.start = start,
	.stop = stop,
	.restore = restore,
	.measure = measure,
};
