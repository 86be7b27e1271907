/* SPDX-License-Identifier: MIT */
/*
 * Charging against the limit, without a lock.
 *
 * The figure orders nothing but itself, hence relaxed: whoever charges has the pages to itself
 * until it hands them out, by other means.
 */
#include "allocator/bedrock/limit.h"

#include <errno.h>

#include "allocator/bedrock/debug.h"

void bedrock_limit_set(struct bedrock_limit *limit, uint64_t hard_bytes, uint64_t soft_bytes)
{
	if (soft_bytes == 0)
		soft_bytes = hard_bytes - hard_bytes / BEDROCK_LIMIT_NEAR_SHARE;
	bedrock_store_relaxed(&limit->soft_bytes, hard_bytes ? soft_bytes : 0);
	bedrock_store_relaxed(&limit->hard_bytes, hard_bytes);
}

/* What may still be charged. */
static uint64_t bedrock_limit_room(const struct bedrock_limit *limit, uint64_t charged_bytes)
{
	uint64_t hard_bytes = bedrock_load_relaxed(&limit->hard_bytes);

	if (hard_bytes == 0)
		return UINT64_MAX - charged_bytes;
	return hard_bytes > charged_bytes ? hard_bytes - charged_bytes : 0;
}

static uint64_t bedrock_limit_near_bytes(const struct bedrock_limit *limit)
{
	return bedrock_load_relaxed(&limit->hard_bytes) / BEDROCK_LIMIT_NEAR_SHARE;
}

/* What to charge for `bytes`: a batch more, or exactly that, or 0 if there is no room. */
static uint64_t bedrock_limit_portion(const struct bedrock_limit *limit, uint64_t charged_bytes,
				      uint64_t bytes, uint64_t extra_bytes)
{
	uint64_t room_bytes = bedrock_limit_room(limit, charged_bytes);

	if (bytes > room_bytes)
		return 0;
	if (room_bytes - bytes < extra_bytes + bedrock_limit_near_bytes(limit))
		return bytes;
	return bytes + extra_bytes;
}

static int bedrock_limit_take(struct bedrock_limit *limit, uint64_t bytes, uint64_t extra_bytes,
			      uint64_t *taken)
{
	uint64_t charged_bytes = bedrock_load_relaxed(&limit->charged_bytes);

	*taken = 0;
	if (bytes == 0)
		return 0;
	do {
		*taken = bedrock_limit_portion(limit, charged_bytes, bytes, extra_bytes);
		if (bedrock_unlikely(*taken == 0)) {
			bedrock_add_relaxed(&limit->refusals, 1);
			return -EDQUOT;
		}
	} while (!bedrock_cas_weak_relaxed(&limit->charged_bytes, &charged_bytes,
					   charged_bytes + *taken));
	return 0;
}

int bedrock_limit_charge(struct bedrock_limit *limit, uint64_t bytes)
{
	uint64_t taken;

	return bedrock_limit_take(limit, bytes, 0, &taken);
}

int bedrock_limit_draw(struct bedrock_limit *limit, uint64_t bytes, uint64_t *drawn)
{
	return bedrock_limit_take(limit, bytes, BEDROCK_LIMIT_BATCH_BYTES, drawn);
}

void bedrock_limit_uncharge(struct bedrock_limit *limit, uint64_t bytes)
{
	uint64_t before_bytes = bedrock_sub_relaxed(&limit->charged_bytes, bytes);

	bedrock_assert(before_bytes >= bytes);
	(void)before_bytes;
}

bool bedrock_limit_has_room(const struct bedrock_limit *limit, uint64_t bytes)
{
	return bedrock_limit_room(limit, bedrock_load_relaxed(&limit->charged_bytes)) >= bytes;
}

bool bedrock_limit_is_near(const struct bedrock_limit *limit)
{
	uint64_t charged_bytes = bedrock_load_relaxed(&limit->charged_bytes);

	return bedrock_limit_is_set(limit) &&
	       bedrock_limit_room(limit, charged_bytes) < bedrock_limit_near_bytes(limit);
}
