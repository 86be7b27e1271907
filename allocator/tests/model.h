/* SPDX-License-Identifier: MIT */
/*
 * Sequences of calls for the model-based test: what a call is, how a sequence is drawn from a
 * seed, and how it is written to and read from a file.
 *
 * A call names the thread that makes it and one of that thread's slots. What it does to a slot
 * that is empty or full is defined for every kind, so any part of a sequence is a sequence: that
 * is what makes it possible to shrink one. How it is carried out stands in model_run.h.
 */
#ifndef BEDROCK_TESTS_MODEL_H
#define BEDROCK_TESTS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "allocator/tests/stress.h"

#define MODEL_THREADS   4
#define MODEL_SLOTS     128
#define MODEL_EXCHANGES 32
/* Calls in a row by the same thread when a sequence runs in its written order. */
#define MODEL_BURST 12

enum model_kind {
	MODEL_MALLOC,
	MODEL_CALLOC,
	MODEL_REALLOC,
	MODEL_REALLOCARRAY,
	MODEL_POSIX_MEMALIGN,
	MODEL_ALIGNED_ALLOC,
	MODEL_MEMALIGN,
	MODEL_VALLOC,
	MODEL_PVALLOC,
	MODEL_FREE,
	MODEL_FREE_SIZED,
	/* Use all of the block from now on. */
	MODEL_USABLE_SIZE,
	/* Look at the content. */
	MODEL_CHECK,
	/* Swap the slot's block with that of exchange `count`: how blocks get to other threads. */
	MODEL_HAND_OVER,
	MODEL_STATS,
	MODEL_CALLBACK,
	MODEL_TRIM,
	MODEL_PURGE,
	/* A limit `bytes` above what is resident now, or none for 0. */
	MODEL_LIMIT,
	MODEL_THREAD_END,
	MODEL_FORK,
	/* From now on every `align`-th call of system call `count` fails with errno `bytes`. */
	MODEL_FAULT,
	MODEL_FAULTS_END,
	MODEL_KIND_COUNT,
};

/* One call. `align_bytes` and `count` mean something for a few kinds only. */
struct model_call {
	uint8_t kind;
	uint8_t thread;
	uint16_t slot;
	uint32_t count;
	uint64_t bytes;
	uint64_t align_bytes;
};

/* A name, and how often in 10,000 calls. The rest are checks. */
static const struct model_kind_row {
	const char *name;
	unsigned weight;
} model_kinds[MODEL_KIND_COUNT] = {
	[MODEL_MALLOC] = { "malloc", 2600 },
	[MODEL_CALLOC] = { "calloc", 800 },
	[MODEL_REALLOC] = { "realloc", 900 },
	[MODEL_REALLOCARRAY] = { "reallocarray", 150 },
	[MODEL_POSIX_MEMALIGN] = { "posix_memalign", 200 },
	[MODEL_ALIGNED_ALLOC] = { "aligned_alloc", 200 },
	[MODEL_MEMALIGN] = { "memalign", 80 },
	[MODEL_VALLOC] = { "valloc", 20 },
	[MODEL_PVALLOC] = { "pvalloc", 20 },
	[MODEL_FREE] = { "free", 3200 },
	[MODEL_FREE_SIZED] = { "free_sized", 300 },
	[MODEL_USABLE_SIZE] = { "usable_size", 300 },
	[MODEL_CHECK] = { "check", 437 },
	[MODEL_HAND_OVER] = { "hand_over", 700 },
	[MODEL_STATS] = { "stats", 40 },
	[MODEL_CALLBACK] = { "callback", 8 },
	[MODEL_TRIM] = { "trim", 2 },
	[MODEL_PURGE] = { "purge", 10 },
	[MODEL_LIMIT] = { "limit", 10 },
	[MODEL_THREAD_END] = { "thread_end", 6 },
	[MODEL_FORK] = { "fork", 1 },
	[MODEL_FAULT] = { "fault", 12 },
	[MODEL_FAULTS_END] = { "faults_end", 4 },
};

/* The system calls that a fault can hit, by number, and the errnos they may answer. */
enum model_fault {
	MODEL_FAULT_MMAP,
	MODEL_FAULT_MUNMAP,
	MODEL_FAULT_MREMAP,
	MODEL_FAULT_MADVISE,
	/* Claims success and does nothing. */
	MODEL_FAULT_MADVISE_LIES,
	MODEL_FAULT_MINCORE,
	MODEL_FAULT_THREAD,
	MODEL_FAULT_COUNT,
};

/* A name, and in how many calls it is sure to fire: that is some 20 times. */
static const struct model_fault_row {
	const char *name;
	uint64_t sure_calls;
} model_faults[MODEL_FAULT_COUNT] = {
	[MODEL_FAULT_MMAP] = { "mmap", 120000 },
	[MODEL_FAULT_MUNMAP] = { "munmap", 120000 },
	[MODEL_FAULT_MREMAP] = { "mremap", 2000000 },
	[MODEL_FAULT_MADVISE] = { "madvise", 120000 },
	[MODEL_FAULT_MADVISE_LIES] = { "madvise that lies", 120000 },
	[MODEL_FAULT_MINCORE] = { "mincore", 120000 },
	[MODEL_FAULT_THREAD] = { "pthread_create", 20000000 },
};

static inline uint8_t model_draw_kind(uint64_t *random)
{
	unsigned draw = (unsigned)(stress_random(random) % 10000);

	for (unsigned kind = 0; kind < MODEL_KIND_COUNT; kind++) {
		if (draw < model_kinds[kind].weight)
			return (uint8_t)kind;
		draw -= model_kinds[kind].weight;
	}
	return MODEL_CHECK;
}

static inline void model_draw_fault(struct model_call *call, uint64_t *random)
{
	static const int advice_errors[] = { 11 /* EAGAIN */, 12 /* ENOMEM */, 22 /* EINVAL */,
					     38 /* ENOSYS */, 1 /* EPERM */ };

	call->count = (uint32_t)(stress_random(random) % MODEL_FAULT_COUNT);
	call->align_bytes = 1 + stress_random(random) % 3;
	call->bytes = 12 /* ENOMEM */;
	if (call->count == MODEL_FAULT_MADVISE)
		call->bytes = (uint64_t)advice_errors[stress_random(random) % 5];
	if (call->count == MODEL_FAULT_THREAD)
		call->bytes = 11 /* EAGAIN */;
}

static inline void model_draw_arguments(struct model_call *call, uint64_t *random)
{
	call->bytes = stress_size(random);
	call->align_bytes = (uint64_t)1 << (3 + stress_random(random) % 10);
	if (stress_random(random) % 50 == 0)
		call->align_bytes = (uint64_t)1 << (13 + stress_random(random) % 10);
	call->count = (uint32_t)(1 + stress_random(random) % 9);
	if (call->kind == MODEL_HAND_OVER)
		call->count = (uint32_t)(stress_random(random) % MODEL_EXCHANGES);
	if (call->kind == MODEL_LIMIT)
		call->bytes = stress_random(random) % 2 ? 0 : 1 + stress_random(random) % (4 << 20);
	if (call->kind == MODEL_FAULT)
		model_draw_fault(call, random);
}

/* Draw a sequence. The same seed gives the same sequence. */
static inline void model_draw(struct model_call *calls, size_t count, uint64_t seed)
{
	uint64_t random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	uint8_t thread = 0;

	for (size_t i = 0; i < count; i++) {
		struct model_call *call = &calls[i];

		if (stress_random(&random) % MODEL_BURST == 0)
			thread = (uint8_t)(stress_random(&random) % MODEL_THREADS);
		*call = (struct model_call){
			.kind = model_draw_kind(&random),
			.thread = thread,
			.slot = (uint16_t)(stress_random(&random) % MODEL_SLOTS),
		};
		model_draw_arguments(call, &random);
	}
}

/* One line a call; model_read understands it. */
static inline void model_write(FILE *out, const struct model_call *calls, size_t count)
{
	fprintf(out, "# call thread slot bytes align_bytes count\n");
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s %u %u %llu %llu %u\n", model_kinds[calls[i].kind].name,
			calls[i].thread, calls[i].slot, (unsigned long long)calls[i].bytes,
			(unsigned long long)calls[i].align_bytes, calls[i].count);
}

static inline bool model_parse(const char *line, struct model_call *out)
{
	unsigned long long bytes, align_bytes;
	unsigned thread, slot, count;
	char name[32];

	if (sscanf(line, "%31s %u %u %llu %llu %u", name, &thread, &slot, &bytes, &align_bytes,
		   &count) != 6)
		return false;
	for (unsigned kind = 0; kind < MODEL_KIND_COUNT; kind++) {
		if (strcmp(name, model_kinds[kind].name) != 0)
			continue;
		*out = (struct model_call){
			.kind = (uint8_t)kind,
			.thread = (uint8_t)thread,
			.slot = (uint16_t)slot,
			.count = count,
			.bytes = bytes,
			.align_bytes = align_bytes,
		};
		return thread < MODEL_THREADS && slot < MODEL_SLOTS;
	}
	return false;
}

/* Read up to `most` calls; lines that begin with '#' are comments. -> how many, or -1 and a
 * message. */
static inline long model_read(FILE *in, struct model_call *calls, size_t most)
{
	char line[200];
	size_t count = 0;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (count == most || !model_parse(line, &calls[count])) {
			fprintf(stderr, "line %u is no call, or one too many: %s", number, line);
			return -1;
		}
		count++;
	}
	return (long)count;
}

#endif
