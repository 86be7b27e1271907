/* SPDX-License-Identifier: MIT */
/*
 * The operators of C++, as the program sees them. A process that is not recorded may have a malloc
 * of its own, in front of the recorder's: its operators must go there.
 */
#include <stdlib.h>

#include "stress/recorder/recorder.h"

static inline bool records(void)
{
	return hq_recorder_ready() && hq_recorder.raw;
}

static inline void *plain(size_t size, uint64_t caller)
{
	(void)caller;
	return records() ? hq_recorder_malloc(size) : malloc(size);
}

static inline void *aligned(size_t size, size_t alignment, uint64_t caller)
{
	(void)caller;
	return records() ? hq_recorder_memalign(alignment, size) : aligned_alloc(alignment, size);
}

static inline void give_back(void *block, uint64_t caller)
{
	(void)caller;
	if (records())
		hq_recorder_free(block);
	else
		free(block);
}

static inline void *from_behind(void *block)
{
	return block;
}

#include "stress/between/operators.h"
