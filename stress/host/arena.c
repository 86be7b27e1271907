/* SPDX-License-Identifier: MIT */
/*
 * Which arena serves the calling thread, and how many arenas the allocator says it has. Allocators
 * that choose by CPU number can be asked; the others have nothing to say, and then nobody asks.
 */
#include "stress/host/arena.h"

#include "stress/host/allocator.h"

typedef int mallctl_function(const char *name, void *old, size_t *old_size, void *set, size_t size);
typedef uint32_t arena_function(uint32_t *arena_count);

/* "opt.narenas" and not "arenas.narenas": the latter counts the arena of huge blocks as well. */
static bool ask_jemalloc(const struct hq_allocator *allocator, uint32_t *index, uint32_t *count)
{
	mallctl_function *const mallctl = (mallctl_function *)allocator->arena_source;
	size_t index_size = sizeof(*index), count_size = sizeof(*count);

	return mallctl("opt.narenas", count, &count_size, NULL, 0) == 0 &&
	       mallctl("thread.arena", index, &index_size, NULL, 0) == 0;
}

static bool ask_function(const struct hq_allocator *allocator, uint32_t *index, uint32_t *count)
{
	*index = ((arena_function *)allocator->arena_source)(count);
	return true;
}

static const struct {
	const char *symbol;
	bool (*ask)(const struct hq_allocator *allocator, uint32_t *index, uint32_t *count);
} sources[] = {
	{ "bedrock_thread_arena", ask_function },
	{ "faulty_thread_arena", ask_function },
	{ "mallctl", ask_jemalloc },
};

void hq_arena_find(struct hq_allocator *allocator, const void *base)
{
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		void *const symbol = hq_allocator_symbol(base, sources[i].symbol);

		if (symbol == NULL)
			continue;
		allocator->arena_source = symbol;
		allocator->arena = sources[i].ask;
		return;
	}
}
