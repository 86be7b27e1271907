/* SPDX-License-Identifier: MIT */
/*
 * How many bytes a thread cache may hold: a budget that all classes of a thread share, and that of
 * a busy thread grows in steps out of a pool that all threads share. Called by the cache's owner.
 */
#ifndef BEDROCK_BUDGET_H
#define BEDROCK_BUDGET_H

#include "allocator/bedrock/cache.h"

/* How many blocks a magazine may have from now on; what is spare is less by the difference. */
void bedrock_budget_set_limit(struct bedrock_cache *cache, unsigned class_index, uint32_t limit);

/* Take a step out of the pool, if the thread may have more and the pool has it. */
bool bedrock_budget_raise(struct bedrock_cache *cache);

/* Give steps back that have become spare, down to `keep_bytes` of spare. */
void bedrock_budget_lower(struct bedrock_cache *cache, int64_t keep_bytes);

#endif
