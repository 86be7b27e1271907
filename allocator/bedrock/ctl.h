/* SPDX-License-Identifier: MIT */
/*
 * The tree of names behind bedrock_ctl, and the snapshot that its stats.* names read.
 */
#ifndef BEDROCK_CTL_H
#define BEDROCK_CTL_H

#include <stdint.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/lock.h"

/* lock covers the rest: the snapshot taken when epoch was last raised; at epoch 0 there is none. */
struct bedrock_ctl {
	struct bedrock_lock lock;
	uint64_t epoch;
	struct bedrock_stats stats;
};

void bedrock_ctl_init(struct bedrock_ctl *ctl);

#endif
