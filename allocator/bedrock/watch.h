/* SPDX-License-Identifier: MIT */
/*
 * Life under a tool that looks on: memcheck, or the address sanitizer where that is built in.
 *
 * The tool is told of every block, to the byte, and of all that is none, so that it finds what the
 * program does beside its blocks. For that a block is 16 bytes longer than asked for; one that
 * is freed is held back for a while, so that late uses find nobody else there; and what is freed
 * without being a block is left alone. A realloc always moves.
 *
 * Threads have no caches then, so that every call comes through the slow paths of api.c, which ask
 * here; the fast paths know nothing of it.
 */
#ifndef BEDROCK_WATCH_H
#define BEDROCK_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/lock.h"
#include "allocator/bedrock/tell.h"

/* What a block is longer by. Hidden, and where we keep what we need to know of it. */
#define BEDROCK_WATCH_TAIL_BYTES ((size_t)16)
/*
 * What is held back at most; a block of more than a quarter of that is not. Memcheck remembers the
 * last 20 MB that were freed, and would mix up blocks that are given again before it forgets.
 */
#define BEDROCK_WATCH_HELD_BYTES ((uint64_t)64 << 20)

/*
 * The blocks that are held back, the oldest first. Invariant, under the lock:
 *	held_bytes is the sum of their lengths; oldest is NULL exactly if held_bytes is 0
 *	held_bytes <= BEDROCK_WATCH_HELD_BYTES outside of the functions below
 */
struct bedrock_watch {
	struct bedrock_lock lock;
	void *oldest;
	void *newest;
	uint64_t held_bytes;
};

void bedrock_watch_init(struct bedrock_watch *watch);

/* A block of `bytes`, and BEDROCK_WATCH_TAIL_BYTES at least, goes to the program. */
void bedrock_watch_give(void *block, size_t bytes, bool is_zero);

/* Is this a block of the program's? What is not is reported, as the misuse it is. */
bool bedrock_watch_expect(const void *block);

/* How many bytes were asked for; of a block of the program's. */
size_t bedrock_watch_bytes(const void *block);

/* The program frees a block, or what it takes for one. */
void bedrock_watch_free(struct bedrock_watch *watch, void *block);

/* Free the oldest for good until only so much is held back. -> was there anything? */
bool bedrock_watch_release(struct bedrock_watch *watch, uint64_t keep_bytes);

#endif
