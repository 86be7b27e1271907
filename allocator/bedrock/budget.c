/* SPDX-License-Identifier: MIT */
/*
 * Shares of a thread's budget, and steps out of the pool of all threads.
 */
#include "allocator/bedrock/budget.h"

#include "allocator/bedrock/heap.h"

void bedrock_budget_set_limit(struct bedrock_cache *cache, unsigned class_index, uint32_t limit)
{
	struct bedrock_cache_side *side = &cache->sides[class_index];
	int64_t pair_bytes = 2 * (int64_t)bedrock_class_bytes(class_index);

	cache->spare_bytes += ((int64_t)side->limit - (int64_t)limit) * pair_bytes;
	bedrock_cache_magazine(cache, class_index)->room +=
		2 * ((int32_t)limit - (int32_t)side->limit);
	side->limit = limit;
}

/*
 * The pool is a share of what is resident, so that the caches of a small heap are not most of it.
 * Under a limit it is a sixteenth of that at most, and closed beyond the soft limit.
 */
static int64_t bedrock_budget_pool_bytes(void)
{
	const struct bedrock_limit *limit = &bedrock_heap.space.limit;
	int64_t charged_bytes = (int64_t)bedrock_load_relaxed(&limit->charged_bytes);
	int64_t most_bytes = (int64_t)(bedrock_load_relaxed(&limit->hard_bytes) / 16);
	int64_t bytes = charged_bytes / BEDROCK_BUDGET_POOL_SHARE;

	if (bedrock_limit_is_pressed(limit))
		return 0;
	if (bytes < BEDROCK_BUDGET_POOL_LEAST_BYTES)
		bytes = BEDROCK_BUDGET_POOL_LEAST_BYTES;
	if (!bedrock_limit_is_set(limit) || most_bytes > BEDROCK_BUDGET_POOL_BYTES)
		most_bytes = BEDROCK_BUDGET_POOL_BYTES;
	return bytes < most_bytes ? bytes : most_bytes;
}

bool bedrock_budget_raise(struct bedrock_cache *cache)
{
	_Atomic(int64_t) *used_bytes = &bedrock_heap.cache_pool_used_bytes;

	if (cache->budget_bytes + BEDROCK_BUDGET_STEP_BYTES > BEDROCK_BUDGET_MOST_BYTES)
		return false;
	if (bedrock_add_relaxed(used_bytes, BEDROCK_BUDGET_STEP_BYTES) >=
	    bedrock_budget_pool_bytes()) {
		bedrock_sub_relaxed(used_bytes, BEDROCK_BUDGET_STEP_BYTES);
		return false;
	}
	cache->budget_bytes += BEDROCK_BUDGET_STEP_BYTES;
	cache->spare_bytes += BEDROCK_BUDGET_STEP_BYTES;
	return true;
}

void bedrock_budget_lower(struct bedrock_cache *cache, int64_t keep_bytes)
{
	while (cache->budget_bytes > BEDROCK_BUDGET_BASE_BYTES &&
	       cache->spare_bytes >= keep_bytes + BEDROCK_BUDGET_STEP_BYTES) {
		cache->budget_bytes -= BEDROCK_BUDGET_STEP_BYTES;
		cache->spare_bytes -= BEDROCK_BUDGET_STEP_BYTES;
		bedrock_sub_relaxed(&bedrock_heap.cache_pool_used_bytes, BEDROCK_BUDGET_STEP_BYTES);
	}
}
