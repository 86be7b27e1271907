/* SPDX-License-Identifier: MIT */
/*
 * Which addresses are blocks in the program's hands: one bit for each 16 bytes of address space.
 *
 * The map knows nothing of chunks and slabs, so it also tells when these are wrong. With it, a free
 * of what is no block ends the process with a line that says why: freed before, inside of a block,
 * or not from here. The debug library keeps it (BEDROCK_DEBUG >= 3) through the gates, which are
 * empty elsewhere; with `check_small` every build does: see harden.h.
 *
 * Where the kernel gives no memory for a part of the map, blocks of that part are not judged.
 * Every function may be called from any thread; none allocates or takes a lock.
 */
#ifndef BEDROCK_LIVE_H
#define BEDROCK_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/debug.h"

/* What an address is that somebody wants to free. */
enum bedrock_live {
	BEDROCK_LIVE_BLOCK,
	/* Inside of a block of the program. */
	BEDROCK_LIVE_INSIDE,
	/* Near to such blocks, but in none of them. */
	BEDROCK_LIVE_FREE,
	BEDROCK_LIVE_FOREIGN,
};

/* A block is the program's from now on. -> false: it was already. */
bool bedrock_live_add(const void *block);

/* It is not any more. -> false: it was not, and the map has no gaps. */
bool bedrock_live_remove(const void *block);

/* Is it the program's? Yes also if the map has gaps, and it may be in one. */
bool bedrock_live_is_block(const void *block);

/* Has the map ever noted a block near to this one, that is in the same 4 MiB? */
bool bedrock_live_knows(const void *block);

/* What is at an address; *start is the block that it is inside of. */
enum bedrock_live bedrock_live_find(const void *address, void **start);

/* What freed and fresh memory is filled with, as other allocators have it. */
#define BEDROCK_FRESH_BYTE 0xa5
#define BEDROCK_FREED_BYTE 0x5a

/*
 * The same with consequences: what ought not to be ends the process, with the name of the call. A
 * block is given out, which may be NULL, or comes back, or is asked about and stays.
 */
void *bedrock_live_give(void *block);
void bedrock_live_take(const char *call, const void *block);
void bedrock_live_ask(const char *call, const void *block);

/*
 * The gates. A block on its way out, which may be NULL, is `given`, or `filled` when nobody counts
 * on its content; one that comes back is `freed`, or `taken` for as long as it is resized; and one
 * that something is asked about stays. A breach ends the process, with the name of the call.
 */
#if BEDROCK_DEBUG >= 3
#define bedrock_live_given(block)       bedrock_live_give(block)
#define bedrock_live_taken(call, block) bedrock_live_take(call, block)
#define bedrock_live_asked(call, block) bedrock_live_ask(call, block)
void *bedrock_live_filled(void *block);
void bedrock_live_freed(void *block);
#else
#define bedrock_live_given(block)       (block)
#define bedrock_live_filled(block)      (block)
#define bedrock_live_freed(block)       ((void)(block))
#define bedrock_live_taken(call, block) ((void)(block))
#define bedrock_live_asked(call, block) ((void)(block))
#endif

#endif
