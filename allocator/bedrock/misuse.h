/* SPDX-License-Identifier: MIT */
/*
 * What the process ends with when the program hands in an address that is no block of its own: one
 * line on stderr that names the call and the address, then abort. Nothing here allocates.
 *
 * Large blocks are looked at in every build, small ones as far as it costs nothing; all of them
 * with `check_small` and in the debug library: see live.h.
 */
#ifndef BEDROCK_MISUSE_H
#define BEDROCK_MISUSE_H

#include <stddef.h>
#include <stdint.h>

/* Freed before, or never a block. */
_Noreturn void bedrock_misuse_no_block(const char *call, const void *address);

/* A free block of a slab, or inside of one. */
_Noreturn void bedrock_misuse_free_block(const char *call, const void *address, const void *start,
					 size_t bytes);

/* Inside of a block that begins elsewhere. */
_Noreturn void bedrock_misuse_inside(const char *call, const void *address, const void *start,
				     size_t bytes);

/* Far from anything that was ever given out. */
_Noreturn void bedrock_misuse_foreign(const char *call, const void *address);

/* The link in a free block of a slab leads nowhere; `held` is what was found in its place. */
_Noreturn void bedrock_misuse_link(const void *block, const void *slab, size_t block_bytes,
				   uintptr_t held);

/* A slab got more blocks back than it ever gave: one was freed twice. */
_Noreturn void bedrock_misuse_excess(const void *slab, size_t block_bytes);

/* A thread's list of free blocks ends before its last one. */
_Noreturn void bedrock_misuse_list(size_t block_bytes);

/* Not the program's fault: a block in use was about to be given out again. */
_Noreturn void bedrock_misuse_given_twice(const void *block);

#endif
