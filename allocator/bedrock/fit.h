/* SPDX-License-Identifier: MIT */
/*
 * Where a run goes: which of an arena's chunks, and which of its free pages. Nothing is changed
 * here; the lock of the arena's pages is held.
 */
#ifndef BEDROCK_FIT_H
#define BEDROCK_FIT_H

#include <stdint.h>

#include "allocator/bedrock/pages.h"

/* The bucket of chunks whose longest free run is so long: one per length up to 7, then four per
 * doubling. */
uint32_t bedrock_fit_bucket(uint32_t page_count);

/* A chunk that can serve the request, and where in it, or NULL. */
struct bedrock_chunk *bedrock_fit_find(const struct bedrock_pages *pages,
				       const struct bedrock_pages_request *request,
				       uint32_t *first);

#endif
