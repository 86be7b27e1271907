/* SPDX-License-Identifier: MIT */
/*
 * The operators of C++, as the program sees them.
 */
#include <stdlib.h>

#include "stress/guard/watch.h"

/* A process that is not watched may have a malloc of its own, in front of the guard's. */
__attribute__((always_inline)) static inline void *plain(size_t size, uint64_t caller)
{
	if (hq_guard_passes())
		return hq_guard_passed(hq_guard.next.malloc(size), size);
	return hq_guard_ready() && hq_guard.watches ? hq_guard_malloc(size, caller) : malloc(size);
}

static void *aligned(size_t size, size_t alignment, uint64_t caller)
{
	if (hq_guard_ready() && hq_guard.watches)
		return hq_guard_aligned(hq_guard.next.memalign, alignment, size, caller);
	return aligned_alloc(alignment, size);
}

static inline void give_back(void *block, uint64_t caller)
{
	if (hq_guard_frees_pass(block))
		hq_guard.next.free(block);
	else if (hq_guard_ready() && hq_guard.watches)
		hq_guard_free(block, caller);
	else
		free(block);
}

/*
 * The block of an operator that succeeded after all, because a handler of the program made room, is
 * known if that operator calls malloc; if not, a free cannot be judged any more.
 */
static void *from_behind(void *block)
{
	if (block && !hq_blocks_size(&hq_guard.blocks, (uint64_t)(uintptr_t)block))
		hq_store_relaxed(&hq_guard.frees_unknown, 1);
	return block;
}

#include "stress/between/operators.h"
