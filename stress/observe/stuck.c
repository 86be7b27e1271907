/* SPDX-License-Identifier: MIT */
/*
 * The watchdog's evidence. Each thread is looked at twenty times over a quarter of a second,
 * because one look cannot tell a thread that sleeps in a call from one that spins through it.
 *
 * The kernel names the call of a thread only while the thread is off the CPU in it. A thread that
 * spins through a call is "running" at almost every look; what gives it away is the plane's count
 * of its calls, and without one a close look at it (stuck_trace.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "injectors/clock.h"
#include "injectors/proc.h"
#include "stress/observe/stuck.h"
#include "stress/observe/stuck_trace.h"
#include "stress/observe/syscall_name.h"

#define LOOKS         20
#define LOOK_PAUSE_NS 12500000
#define THREADS_MAX   256
#define SPINNING_RATE 100.0 /* calls a second; a thread at work makes fewer */
#define LOOK_RUNNING                                                                               \
	-1L /* also what the kernel says of a thread that waits outside of any call                \
	     */
#define LOOK_UNKNOWN -2L
#define STAT_STATE   3
#define STAT_USER    14
#define STAT_SYSTEM  15

/* One thread while it is being looked at. */
struct suspect {
	pid_t tid;
	long looks[LOOKS]; /* number of the call, or LOOK_ */
	uint64_t user_ticks, system_ticks;
	char wchan[48];
	const struct hq_plane_thread *slot; /* NULL: the plane does not know it */
	uint64_t seen[HQ_RULES_MAX];
};

/* ---- gathering ---- */

static const struct hq_plane_thread *find_slot(const struct hq_plane *plane, pid_t target,
					       pid_t tid)
{
	for (size_t i = 0; plane && i < HQ_PLANE_THREADS; i++) {
		const struct hq_plane_thread *slot = &plane->threads[i];

		if (hq_load_relaxed(&slot->tid) == (uint32_t)tid &&
		    hq_load_relaxed(&slot->process) == (uint32_t)target &&
		    !hq_load_relaxed(&slot->exited))
			return slot;
	}
	return NULL;
}

static void read_ticks(pid_t target, pid_t tid, uint64_t *user, uint64_t *system)
{
	char text[1024];

	*user = *system = 0;
	if (hq_proc_read_of(target, tid, "stat", text, sizeof(text)) <= 0)
		return;
	const char *user_field = hq_proc_stat_field(text, STAT_USER);
	const char *system_field = hq_proc_stat_field(text, STAT_SYSTEM);

	*user = user_field ? strtoull(user_field, NULL, 10) : 0;
	*system = system_field ? strtoull(system_field, NULL, 10) : 0;
}

static long look(pid_t target, pid_t tid)
{
	char text[256];

	if (hq_proc_read_of(target, tid, "syscall", text, sizeof(text)) <= 0)
		return LOOK_UNKNOWN;
	return strncmp(text, "running", 7) == 0 ? LOOK_RUNNING : strtol(text, NULL, 10);
}

/* Where in the kernel it waits; stays when the thread happens to run at a later look. */
static void look_where(struct suspect *suspect, pid_t target)
{
	char text[sizeof(suspect->wchan)];

	if (hq_proc_read_of(target, suspect->tid, "wchan", text, sizeof(text)) > 0 &&
	    strcmp(text, "0") != 0)
		memcpy(suspect->wchan, text, sizeof(text));
}

static void begin(struct suspect *suspect, pid_t target, pid_t tid, const struct hq_plane *plane)
{
	memset(suspect, 0, sizeof(*suspect));
	suspect->tid = tid;
	suspect->slot = find_slot(plane, target, tid);
	for (size_t r = 0; suspect->slot && r < HQ_RULES_MAX; r++)
		suspect->seen[r] = hq_load_relaxed(&suspect->slot->counts[r].seen);
	read_ticks(target, tid, &suspect->user_ticks, &suspect->system_ticks);
}

static void watch(struct suspect *suspects, size_t count, pid_t target)
{
	const struct timespec pause = { .tv_nsec = LOOK_PAUSE_NS };

	for (int i = 0; i < LOOKS; i++) {
		nanosleep(&pause, NULL);
		for (size_t s = 0; s < count; s++) {
			suspects[s].looks[i] = look(target, suspects[s].tid);
			look_where(&suspects[s], target);
		}
	}
}

/* Turns the counts at the beginning into differences. */
static void end(struct suspect *suspect, pid_t target)
{
	uint64_t user, system;

	for (size_t r = 0; suspect->slot && r < HQ_RULES_MAX; r++)
		suspect->seen[r] =
			hq_load_relaxed(&suspect->slot->counts[r].seen) - suspect->seen[r];
	read_ticks(target, suspect->tid, &user, &system);
	suspect->user_ticks = user > suspect->user_ticks ? user - suspect->user_ticks : 0;
	suspect->system_ticks = system > suspect->system_ticks ? system - suspect->system_ticks : 0;
}

/* ---- concluding ---- */

/* What most looks said. */
static long majority(const struct suspect *suspect)
{
	long winner = LOOK_UNKNOWN;
	int most = 0;

	for (int i = 0; i < LOOKS; i++) {
		int same = 0;

		for (int j = 0; j < LOOKS; j++)
			same += suspect->looks[j] == suspect->looks[i];
		if (same > most) {
			most = same;
			winner = suspect->looks[i];
		}
	}
	return winner;
}

/* The rule that counted most calls among those for `calls` (a bit set), or -1. */
static int busiest_rule(const struct suspect *suspect, const struct hq_plane *plane, uint32_t calls)
{
	int busiest = -1;

	for (uint32_t r = 0; suspect->slot && r < plane->rule_count && r < HQ_RULES_MAX; r++)
		if ((plane->rules[r].calls & calls) &&
		    (busiest < 0 || suspect->seen[r] > suspect->seen[busiest]))
			busiest = (int)r;
	return busiest;
}

/* "mmap,brk" for a rule that counts both. */
static void name_calls(uint32_t calls, char *text, size_t size)
{
	size_t used = 0;

	for (int call = 0; call < HQ_CALL_COUNT && used < size; call++)
		if (calls & 1u << call)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "",
						 hq_call_name((enum hq_call)call));
}

static void conclude_running(const struct suspect *suspect, const struct hq_plane *plane,
			     double seconds, struct hq_stuck_thread *thread)
{
	const int rule = busiest_rule(suspect, plane, UINT32_MAX);
	const double rate = rule < 0 ? 0 : (double)suspect->seen[rule] / seconds;

	if (rate >= SPINNING_RATE) {
		name_calls(plane->rules[rule].calls, thread->call, sizeof(thread->call));
		thread->calls_per_second = rate;
		return;
	}
	snprintf(thread->call, sizeof(thread->call), "user code");
	if (suspect->system_ticks <= suspect->user_ticks)
		return;
	long number;

	if (hq_stuck_trace(suspect->tid, &number, &thread->calls_per_second)) {
		hq_syscall_name(number, thread->call, sizeof(thread->call));
		thread->at_least = true;
	} else {
		thread->calls_per_second = -1;
		snprintf(thread->call, sizeof(thread->call), "system calls");
	}
}

static void conclude_in_call(const struct suspect *suspect, const struct hq_plane *plane,
			     double seconds, long number, struct hq_stuck_thread *thread)
{
	const enum hq_call call = hq_call_of_number(number);
	const int rule =
		call < HQ_CALL_COUNT ? busiest_rule(suspect, plane, 1u << (unsigned)call) : -1;

	hq_syscall_name(number, thread->call, sizeof(thread->call));
	if (rule >= 0)
		thread->calls_per_second = (double)suspect->seen[rule] / seconds;
}

static void conclude(const struct suspect *suspect, pid_t target, const struct hq_plane *plane,
		     double seconds, struct hq_stuck_thread *thread)
{
	const long winner = majority(suspect);
	char text[1024];

	*thread = (struct hq_stuck_thread){ .tid = suspect->tid, .state = '?' };
	thread->calls_per_second = -1;
	memcpy(thread->wchan, suspect->wchan, sizeof(thread->wchan));
	if (hq_proc_read_of(target, suspect->tid, "comm", text, sizeof(text)) > 0)
		snprintf(thread->comm, sizeof(thread->comm), "%.*s", (int)strcspn(text, "\n"),
			 text);
	if (hq_proc_read_of(target, suspect->tid, "stat", text, sizeof(text)) > 0) {
		const char *state = hq_proc_stat_field(text, STAT_STATE);

		thread->state = state ? *state : '?';
	}
	if (winner == LOOK_UNKNOWN)
		strcpy(thread->call, "unknown");
	else if (winner == LOOK_RUNNING)
		conclude_running(suspect, plane, seconds, thread);
	else
		conclude_in_call(suspect, plane, seconds, winner, thread);
}

static int busier_first(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	const uint64_t x_ticks = x->user_ticks + x->system_ticks;
	const uint64_t y_ticks = y->user_ticks + y->system_ticks;

	if (x_ticks != y_ticks)
		return x_ticks > y_ticks ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

void hq_stuck_look(pid_t target, const struct hq_wire *wire, struct hq_observations *seen)
{
	const struct hq_plane *plane = wire ? &wire->plane : NULL;
	struct suspect suspects[THREADS_MAX];
	pid_t tids[THREADS_MAX];
	const size_t count = hq_proc_threads(target, tids, THREADS_MAX);

	for (size_t i = 0; i < count; i++)
		begin(&suspects[i], target, tids[i], plane);
	const uint64_t start = hq_now_ns();

	watch(suspects, count, target);
	for (size_t i = 0; i < count; i++)
		end(&suspects[i], target);
	const double seconds = (double)(hq_now_ns() - start) / 1e9;

	qsort(suspects, count, sizeof(suspects[0]), busier_first);
	seen->stuck_count = count < HQ_STUCK_MAX ? count : HQ_STUCK_MAX;
	for (size_t i = 0; i < seen->stuck_count; i++)
		conclude(&suspects[i], target, plane, seconds, &seen->stuck[i]);
}
