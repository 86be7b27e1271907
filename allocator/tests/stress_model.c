/* SPDX-License-Identifier: MIT */
/*
 * Random sequences of every call, on several threads, against a reference model.
 *
 *	stress_model [SEED]		millions of calls, in processes of a few 100,000 each
 *	stress_model --replay FILE	the calls of a file, in their order
 *
 * Every third process carries its calls out in the written order, the others let the threads run.
 * All do the former when scaled down, for an emulator, which runs one thread at a time anyway.
 * Faults and limits come and go. A sequence that fails is shrunk and printed so that it can be
 * replayed. STRESS_SCALE (environment) multiplies the number of calls: with fewer calls in each
 * process, or with more processes.
 */
#include <inttypes.h>

#include "allocator/tests/shrink.h"

/* A longer list goes to a file. */
#define STRESS_PRINT_MOST           100
#define STRESS_SHRINK_SECONDS       90
#define STRESS_SHRINK_CHILD_SECONDS 20
#define STRESS_CALLS_LEAST          100
#define STRESS_SCALE_MAX            1000

/* Sanitizers make each access dear, and emulation dearer: see STRESS_SCALE. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRESS_CALLS     40000
#define STRESS_PROCESSES 6
#else
#define STRESS_CALLS     200000
#define STRESS_PROCESSES 10
#endif

static void stress_print(const struct shrink *shrink, const struct model_call *calls, size_t count)
{
	char path[64] = "/dev/stdout";
	FILE *out = stdout;

	if (count > STRESS_PRINT_MOST) {
		snprintf(path, sizeof(path), "/tmp/stress_model.%d.calls", (int)getpid());
		out = fopen(path, "w");
	}
	if (!out) {
		perror(path);
		return;
	}
	fprintf(out, "# %s\n# at call %zu of %zu, %s\n", shrink->outcome->reason,
		shrink->outcome->index + 1, count,
		shrink->is_in_order ? "in order" : "threads beside each other");
	model_write(out, calls, count);
	if (out == stdout)
		return;
	fclose(out);
	printf("stress_model: %zu calls are left, in %s\n", count, path);
}

static int stress_replay(const char *path)
{
	static struct model_call calls[STRESS_CALLS];
	struct shrink shrink;
	FILE *file = fopen(path, "r");

	if (!file) {
		perror(path);
		return 2;
	}
	long count = model_read(file, calls, STRESS_CALLS);

	fclose(file);
	if (count < 0 || shrink_init(&shrink, &model_api_bedrock, 0))
		return 2;
	for (int i = 0; i < 2; i++) {
		shrink.is_in_order = i == 0;
		shrink.tries = i == 0 ? 1 : SHRINK_FREE_TRIES;
		if (shrink_fails(&shrink, calls, (size_t)count)) {
			stress_print(&shrink, calls, (size_t)count);
			return 1;
		}
	}
	printf("stress_model: %ld calls replayed, no failure\n", count);
	return 0;
}

/* How much is done: fewer calls in each process, or more processes. */
struct stress_plan {
	size_t calls;
	unsigned processes;
	bool is_short;
};

/* -> is the scale one? */
static bool stress_scale(struct stress_plan *plan)
{
	const char *text = getenv("STRESS_SCALE");
	char *end = NULL;
	double scale = text ? strtod(text, &end) : 1;

	if (text && (end == text || *end || !(scale > 0 && scale <= STRESS_SCALE_MAX))) {
		fprintf(stderr, "stress_model: STRESS_SCALE is no number up to %d: %s\n",
			STRESS_SCALE_MAX, text);
		return false;
	}
	*plan = (struct stress_plan){
		.calls = STRESS_CALLS,
		.processes = STRESS_PROCESSES,
		.is_short = scale < 1,
	};
	if (plan->is_short)
		plan->calls = (size_t)(STRESS_CALLS * scale);
	else
		plan->processes = (unsigned)(STRESS_PROCESSES * scale);
	if (plan->calls < STRESS_CALLS_LEAST)
		plan->calls = STRESS_CALLS_LEAST;
	return true;
}

/* Background threads do not survive a fork under a sanitizer: what is tested there is the rest. */
static void stress_without_child_threads(char **argv)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	if (getenv("BEDROCK_CONF"))
		return;
	setenv("BEDROCK_CONF", "background_thread:false,dirty_decay_ms:10", 1);
	execv("/proc/self/exe", argv);
#else
	(void)argv;
#endif
}

static int stress_report(struct shrink *shrink, struct model_call *calls, size_t count,
			 struct model_call *scratch)
{
	shrink->deadline_ns = shrink_now_ns() + STRESS_SHRINK_SECONDS * UINT64_C(1000000000);
	shrink->child_seconds = STRESS_SHRINK_CHILD_SECONDS;
	size_t left = shrink_calls(shrink, calls, count, scratch);

	if (left > 0)
		stress_print(shrink, calls, left);
	else
		printf("stress_model: it did not fail again\n");
	return 1;
}

static int stress_judge(const struct model_sum *sum, uint64_t seed)
{
	const char *lacking = model_sum_lacks(sum, !getenv("BEDROCK_CONF"));

	printf("stress_model: seed %" PRIu64 ", %" PRIu64 " calls, %" PRIu64
	       " refused, no failure; faults:",
	       seed, sum->calls, sum->refused);
	for (unsigned i = 0; i < MODEL_FAULT_COUNT; i++)
		printf("%s %s %" PRIu64, i ? "," : "", model_faults[i].name, sum->fired[i]);
	printf("\n");
	if (lacking)
		printf("stress_model: no %s was ever refused\n", lacking);
	return lacking != NULL;
}

int main(int argc, char **argv)
{
	static struct model_call calls[STRESS_CALLS], scratch[STRESS_CALLS];
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 42;
	struct model_sum sum = { .refused = 0 };
	struct stress_plan plan;
	struct shrink shrink;

	stress_without_child_threads(argv);
	if (argc > 2 && strcmp(argv[1], "--replay") == 0)
		return stress_replay(argv[2]);
	if (!stress_scale(&plan) || shrink_init(&shrink, &model_api_bedrock, 0))
		return 2;
	for (unsigned process = 0; process < plan.processes; process++) {
		model_draw(calls, plan.calls, seed * 1000 + process);
		shrink.is_in_order = process % 3 == 0 || plan.is_short;
		if (shrink_fails(&shrink, calls, plan.calls)) {
			printf("stress_model: seed %" PRIu64 " failed in process %u: %s\n", seed,
			       process, shrink.outcome->reason);
			fflush(stdout);
			return stress_report(&shrink, calls, plan.calls, scratch);
		}
		model_sum_add(&sum, shrink.outcome, plan.calls);
	}
	return stress_judge(&sum, seed);
}
