/* SPDX-License-Identifier: MIT */
/*
 * Descendants by the lists of children that the kernel keeps for each thread. What they share is
 * counted by Pss, for which the kernel walks their page tables; of a program that is alone the
 * cheap count of its pages says the same.
 */
#include "stress/observe/tree.h"

#include <stdlib.h>

#include "injectors/clock.h"
#include "injectors/proc.h"
#include "injectors/units.h"
#include "stress/observe/usage.h"

#define PERIOD_NS     (10 * HQ_MS)
#define REST_FACTOR   20u /* of the time that a reading took */
#define PROCESSES_MAX 512 /* further ones are left out */
#define THREADS_MAX   256

struct family {
	pid_t pids[PROCESSES_MAX];
	size_t count;
};

/* "12 13 14 " */
static void add_list(struct family *family, const char *text)
{
	char *rest;

	for (;; text = rest) {
		const pid_t pid = (pid_t)strtol(text, &rest, 10);

		if (rest == text || family->count == PROCESSES_MAX)
			return;
		family->pids[family->count++] = pid;
	}
}

static void add_children(struct family *family, pid_t parent)
{
	pid_t tids[THREADS_MAX];
	const size_t count = hq_proc_threads(parent, tids, THREADS_MAX);
	char text[4096];

	for (size_t i = 0; i < count; i++)
		if (hq_proc_read_of(parent, tids[i], "children", text, sizeof(text)) > 0)
			add_list(family, text);
}

static void find(struct family *family, pid_t target)
{
	family->count = 0;
	family->pids[family->count++] = target;
	for (size_t i = 0; i < family->count; i++)
		add_children(family, family->pids[i]);
}

/* Kernels before 5.3 do not tell Pss of anonymous memory apart: there shared pages count twice. */
static uint64_t share_bytes(pid_t pid)
{
	char text[2048];
	uint64_t kib;

	if (hq_proc_read_of(pid, 0, "smaps_rollup", text, sizeof(text)) > 0 &&
	    hq_proc_number(text, "Pss_Anon", &kib))
		return kib * HQ_KIB;
	return hq_usage_rss_bytes(pid);
}

static uint64_t sum_bytes(const struct family *family)
{
	uint64_t bytes = 0;

	if (family->count == 1)
		return hq_usage_rss_bytes(family->pids[0]);
	for (size_t i = 0; i < family->count; i++)
		bytes += share_bytes(family->pids[i]);
	return bytes;
}

uint64_t hq_tree_read_bytes(pid_t target)
{
	struct family family;

	find(&family, target);
	return sum_bytes(&family);
}

/*
 * A process that is over before the next reading is known by its own peak so far: the whole family
 * held no less at that moment.
 */
static void enter(const struct family *family, struct hq_observations *seen)
{
	hq_raise_to(&seen->tree_peak_bytes, sum_bytes(family));
	for (size_t i = 0; i < family->count; i++)
		hq_raise_to(&seen->tree_peak_bytes, hq_usage_peak_bytes(family->pids[i]));
}

void hq_tree_follow(pid_t target, uint64_t time_ns, struct hq_tree_pace *pace,
		    struct hq_observations *seen)
{
	struct family family;

	if (time_ns < pace->due_ns)
		return;
	const uint64_t began_ns = hq_thread_cpu_ns();

	find(&family, target);
	enter(&family, seen);
	const uint64_t rest_ns = REST_FACTOR * (hq_thread_cpu_ns() - began_ns);

	pace->due_ns = time_ns + (rest_ns > PERIOD_NS ? rest_ns : PERIOD_NS);
}
