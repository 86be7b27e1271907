/* SPDX-License-Identifier: MIT */
/* Asking an allocator which arena serves a thread. */
#ifndef HQ_STRESS_HOST_ARENA_H
#define HQ_STRESS_HOST_ARENA_H

#include "stress/host/allocator.h"

/* Fills in allocator->arena if the object at `base` can be asked. */
void hq_arena_find(struct hq_allocator *allocator, const void *base);

#endif
