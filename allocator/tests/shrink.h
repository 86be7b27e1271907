/* SPDX-License-Identifier: MIT */
/*
 * The shortest sequence of calls that still fails, by delta debugging.
 *
 * Each try is a child process. Pieces are taken out, half of the sequence at first and single
 * calls in the end, and stay out if the rest still fails in any way: also by a signal, or by not
 * coming to an end. A sequence that fails in its written order is shrunk there, where it fails
 * every time. One that needs threads beside each other is tried several times for each piece.
 */
#ifndef BEDROCK_TESTS_SHRINK_H
#define BEDROCK_TESTS_SHRINK_H

#include <sys/mman.h>
#include <time.h>

#include "allocator/tests/model_run.h"

#define SHRINK_FREE_TRIES    8
#define SHRINK_CHILD_SECONDS 120

/* What is tried: under which rules, with which calls of the allocator, and within what time. */
struct shrink {
	struct model_api api;
	bool is_in_order;
	unsigned tries;
	unsigned child_seconds;
	uint64_t deadline_ns;
	struct model_outcome *outcome;
	/* Children so far. */
	unsigned runs;
};

static inline uint64_t shrink_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int shrink_init(struct shrink *shrink, const struct model_api *api, unsigned seconds)
{
	void *shared = mmap(NULL, sizeof(*shrink->outcome), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return -errno;
	*shrink = (struct shrink){
		.api = *api,
		.tries = 1,
		.child_seconds = SHRINK_CHILD_SECONDS,
		.deadline_ns = shrink_now_ns() + seconds * UINT64_C(1000000000),
		.outcome = shared,
	};
	return 0;
}

static inline void shrink_end(struct shrink *shrink)
{
	munmap(shrink->outcome, sizeof(*shrink->outcome));
}

/* Everything of the run lies in the child's own memory. */
static inline void shrink_child(struct shrink *shrink, const struct model_call *calls, size_t count)
{
	static struct model_run run;

	alarm(shrink->child_seconds);
	run.calls = calls;
	run.count = count;
	run.api = shrink->api;
	run.is_in_order = shrink->is_in_order;
	run.outcome = shrink->outcome;
	model_carry_out(&run);
	_exit(0);
}

/* Does the sequence fail? *outcome says how. */
static inline bool shrink_fails_once(struct shrink *shrink, const struct model_call *calls,
				     size_t count)
{
	struct model_outcome *outcome = shrink->outcome;
	int status = 0;

	*outcome = (struct model_outcome){ .index = count };
	shrink->runs++;
	pid_t child = fork();

	if (child == 0)
		shrink_child(shrink, calls, count);
	/* Without a child nothing was tried: that is neither a failure nor none. */
	if (child < 0) {
		perror("fork");
		abort();
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return false;
	if (!outcome->is_failed)
		snprintf(outcome->reason, MODEL_REASON_BYTES, "%s %d",
			 WIFSIGNALED(status) ? "killed by signal" : "ended with status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return true;
}

static inline bool shrink_fails(struct shrink *shrink, const struct model_call *calls, size_t count)
{
	for (unsigned i = 0; i < shrink->tries; i++) {
		if (shrink_fails_once(shrink, calls, count))
			return true;
	}
	return false;
}

/* Calls behind the one that failed did not matter, if the order is that of the list. */
static inline size_t shrink_cut(const struct shrink *shrink, size_t count)
{
	size_t needed = shrink->outcome->index + 1;

	return shrink->is_in_order && needed < count ? needed : count;
}

/* One round over the sequence with pieces of one length. -> the new length of the sequence. */
static inline size_t shrink_round(struct shrink *shrink, struct model_call *calls, size_t count,
				  size_t piece, struct model_call *scratch)
{
	/* From the end, where most of what is not needed stands. */
	for (size_t end = count; end > 0 && shrink_now_ns() < shrink->deadline_ns;) {
		size_t start = end > piece ? end - piece : 0;
		size_t left = count - (end - start);

		memcpy(scratch, calls, start * sizeof(*calls));
		memcpy(scratch + start, calls + end, (count - end) * sizeof(*calls));
		if (left > 0 && shrink_fails(shrink, scratch, left)) {
			count = shrink_cut(shrink, left);
			memcpy(calls, scratch, count * sizeof(*calls));
		}
		end = start < count ? start : count;
	}
	return count;
}

/*
 * Shrink `calls`, which have failed, in place; `scratch` has room for as many. The time is
 * bounded: what is there at the deadline is the answer. -> the new length, 0 if they did not
 * fail again.
 */
static inline size_t shrink_calls(struct shrink *shrink, struct model_call *calls, size_t count,
				  struct model_call *scratch)
{
	shrink->is_in_order = true;
	shrink->tries = 1;
	if (!shrink_fails(shrink, calls, count)) {
		shrink->is_in_order = false;
		shrink->tries = SHRINK_FREE_TRIES;
		if (!shrink_fails(shrink, calls, count))
			return 0;
	}
	count = shrink_cut(shrink, count);
	for (size_t piece = count / 2; piece > 0; piece /= 2)
		count = shrink_round(shrink, calls, count, piece, scratch);
	for (size_t before = 0; before != count && shrink_now_ns() < shrink->deadline_ns;) {
		before = count;
		count = shrink_round(shrink, calls, count, 1, scratch);
	}
	/* So that the outcome is that of what is returned. */
	shrink_fails(shrink, calls, count);
	return count;
}

#endif
