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
 * replayed. STRESS_SCALE (environment) multiplies the number of calls.
 */
#include <inttypes.h>

#include "allocator/tests/shrink.h"

/* A longer list goes to a file. */
#define STRESS_PRINT_MOST           100
#define STRESS_SHRINK_SECONDS       90
#define STRESS_SHRINK_CHILD_SECONDS 20

/* Sanitizers make each access dear, and emulation dearer: see STRESS_SCALE. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define STRESS_CALLS    40000
#define STRESS_EPISODES 6
#define STRESS_IS_FULL  false
#else
#define STRESS_CALLS    200000
#define STRESS_EPISODES 10
#define STRESS_IS_FULL  true
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

static size_t stress_scaled(size_t count)
{
	const char *scale = getenv("STRESS_SCALE");
	double scaled = (double)count * (scale ? strtod(scale, NULL) : 1);

	return scaled < 100 ? 100 : scaled > STRESS_CALLS ? STRESS_CALLS : (size_t)scaled;
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

/* What all processes have seen together. */
struct stress_sum {
	uint64_t refused;
	uint64_t fired[MODEL_FAULT_COUNT];
};

static void stress_add(struct stress_sum *sum, const struct model_outcome *outcome)
{
	sum->refused += outcome->refused;
	for (unsigned i = 0; i < MODEL_FAULT_COUNT; i++)
		sum->fired[i] += outcome->fired[i];
}

/*
 * A fault that never fired proves nothing. The one about threads needs the option for them, and a
 * shortened run may be over before the rarer calls were refused.
 */
static int stress_check_fired(const struct stress_sum *sum)
{
	static const unsigned needed[] = { MODEL_FAULT_MMAP, MODEL_FAULT_MUNMAP, MODEL_FAULT_MREMAP,
					   MODEL_FAULT_MADVISE, MODEL_FAULT_MINCORE };

	for (unsigned i = 0; STRESS_IS_FULL && i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (sum->fired[needed[i]])
			continue;
		printf("stress_model: fault %u has never fired\n", needed[i]);
		return 1;
	}
	return sum->refused == 0;
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

int main(int argc, char **argv)
{
	static struct model_call calls[STRESS_CALLS], scratch[STRESS_CALLS];
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 42;
	size_t count = stress_scaled(STRESS_CALLS);
	struct stress_sum sum = { .refused = 0 };
	struct shrink shrink;

	stress_without_child_threads(argv);
	if (argc > 2 && strcmp(argv[1], "--replay") == 0)
		return stress_replay(argv[2]);
	if (shrink_init(&shrink, &model_api_bedrock, 0))
		return 2;
	for (unsigned episode = 0; episode < STRESS_EPISODES; episode++) {
		model_draw(calls, count, seed * 1000 + episode);
		shrink.is_in_order = episode % 3 == 0 || count < STRESS_CALLS;
		if (shrink_fails(&shrink, calls, count)) {
			printf("stress_model: seed %" PRIu64 " failed in process %u: %s\n", seed,
			       episode, shrink.outcome->reason);
			fflush(stdout);
			return stress_report(&shrink, calls, count, scratch);
		}
		stress_add(&sum, shrink.outcome);
	}
	printf("stress_model: seed %" PRIu64 ", %zu calls in %d processes, %" PRIu64
	       " refused, no failure\n",
	       seed, count * STRESS_EPISODES, STRESS_EPISODES, sum.refused);
	return count == STRESS_CALLS ? stress_check_fired(&sum) : 0;
}
