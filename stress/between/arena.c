/* SPDX-License-Identifier: MIT */
/*
 * Memory for calls of the malloc family that come while the allocator behind is looked for. Fresh
 * memory of the kernel, and used once: it is zero.
 */
#include "injectors/atomic.h"
#include "stress/between/between.h"

_Alignas(4096) char hq_between_arena[HQ_BETWEEN_ARENA_BYTES];
static _Atomic uint64_t arena_used;

void *hq_between_arena_alloc(size_t alignment, size_t size)
{
	const uint64_t rounded = alignment < 16 ? 16 : alignment;
	uint64_t used = hq_load_relaxed(&arena_used), start;

	if (rounded > 4096 || size > HQ_BETWEEN_ARENA_BYTES)
		return NULL;
	do {
		start = (used + rounded - 1) & ~(rounded - 1);
		if (start + size > HQ_BETWEEN_ARENA_BYTES)
			return NULL;
	} while (!hq_cas_acq_rel(&arena_used, &used, start + size));
	return hq_between_arena + start;
}

size_t hq_between_arena_room(const void *address)
{
	return (size_t)(hq_between_arena + HQ_BETWEEN_ARENA_BYTES - (const char *)address);
}
