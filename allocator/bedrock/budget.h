/* SPDX-License-Identifier: MIT */
/*
 * How many bytes a thread cache may hold: a budget that all classes of a thread share, and that of
 * a busy thread grows in steps out of a pool that all threads share. Called by the cache's owner.
 */
#ifndef BEDROCK_BUDGET_H
#define BEDROCK_BUDGET_H

#include "allocator/bedrock/cache.h"

/* What each thread may hold in any case, what a busy one may, and the steps in between. */
#define BEDROCK_BUDGET_BASE_BYTES ((int64_t)256 << 10)
#define BEDROCK_BUDGET_MOST_BYTES ((int64_t)4 << 20)
#define BEDROCK_BUDGET_STEP_BYTES ((int64_t)256 << 10)
/*
 * What all threads together may hold above their bases: this much at most, and no more than a share
 * of what is resident, as a divisor, unless that is very little.
 */
#define BEDROCK_BUDGET_POOL_BYTES       ((int64_t)16 << 20)
#define BEDROCK_BUDGET_POOL_LEAST_BYTES ((int64_t)1 << 20)
#define BEDROCK_BUDGET_POOL_SHARE       4

/* How many blocks a magazine may have from now on; what is spare is less by the difference. */
void bedrock_budget_set_limit(struct bedrock_cache *cache, unsigned class_index, uint32_t limit);

/* Take a step out of the pool, if the thread may have more and the pool has it. */
bool bedrock_budget_raise(struct bedrock_cache *cache);

/* Give steps back that have become spare, down to `keep_bytes` of spare. */
void bedrock_budget_lower(struct bedrock_cache *cache, int64_t keep_bytes);

#endif
