/* SPDX-License-Identifier: MIT */
/*
 * The bump allocator for arenas and thread caches.
 */
#include "allocator/bedrock/meta.h"

#include <errno.h>

#include "allocator/bedrock/os.h"

#define BEDROCK_META_MAP_BYTES ((size_t)256 << 10)
/* Whoever wants metadata can do without, and would otherwise ask at each slow path. */
#define BEDROCK_META_HOLIDAY     16u
#define BEDROCK_META_ALIGN_BYTES ((size_t)64)

void bedrock_meta_init(struct bedrock_meta *meta)
{
	bedrock_lock_init(&meta->lock, BEDROCK_RANK_META);
	meta->at = meta->first;
	meta->left_bytes = sizeof(meta->first);
}

/* What is left of the current piece is given up; it was never touched. */
static int bedrock_meta_refill(struct bedrock_meta *meta)
{
	void *address;

	if (meta->holiday > 0) {
		meta->holiday--;
		return -ENOMEM;
	}
	int rc = bedrock_os_map(NULL, BEDROCK_META_MAP_BYTES, &address);

	if (rc) {
		meta->holiday = BEDROCK_META_HOLIDAY;
		return rc;
	}
	meta->at = address;
	meta->left_bytes = BEDROCK_META_MAP_BYTES;
	bedrock_add_relaxed(&meta->mapped_bytes, BEDROCK_META_MAP_BYTES);
	return 0;
}

/* Charge the pages that [at, at + bytes) is the first to touch. */
static int bedrock_meta_charge(struct bedrock_meta *meta, size_t bytes)
{
	uintptr_t mask = bedrock_os_page_bytes() - 1;
	uintptr_t first = ((uintptr_t)meta->at + mask) & ~mask;
	uintptr_t end = ((uintptr_t)meta->at + bytes + mask) & ~mask;

	if (meta->at >= meta->first && meta->at < meta->first + sizeof(meta->first))
		return 0;
	if (meta->limit && bedrock_limit_charge(meta->limit, end - first))
		return -EDQUOT;
	bedrock_add_relaxed(&meta->charged_bytes, end - first);
	return 0;
}

static int bedrock_meta_ensure(struct bedrock_meta *meta, size_t bytes)
{
	int rc = bytes <= meta->left_bytes ? 0 : bedrock_meta_refill(meta);

	return rc ? rc : bedrock_meta_charge(meta, bytes);
}

void *bedrock_meta_alloc(struct bedrock_meta *meta, size_t bytes)
{
	void *result = NULL;

	bytes = (bytes + BEDROCK_META_ALIGN_BYTES - 1) & ~(BEDROCK_META_ALIGN_BYTES - 1);
	bedrock_lock_take(&meta->lock);
	if (bedrock_meta_ensure(meta, bytes) == 0) {
		result = meta->at;
		meta->at += bytes;
		meta->left_bytes -= bytes;
	}
	bedrock_lock_give(&meta->lock);
	return result;
}
