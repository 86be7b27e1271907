/* SPDX-License-Identifier: MIT */
/*
 * What the process ends with when the program hands in an address that is no block of its own: one
 * line on stderr that names the call and the address, then abort. Nothing here allocates.
 *
 * Large blocks are looked at in every build, small ones by the debug library only: see live.h.
 */
#ifndef BEDROCK_MISUSE_H
#define BEDROCK_MISUSE_H

#include <stddef.h>

/* Freed before, or never a block. */
_Noreturn void bedrock_misuse_no_block(const char *call, const void *address);

/* Inside of a block that begins elsewhere. */
_Noreturn void bedrock_misuse_inside(const char *call, const void *address, const void *start,
				     size_t bytes);

/* Far from anything that was ever given out. */
_Noreturn void bedrock_misuse_foreign(const char *call, const void *address);

/* Not the program's fault: a block in use was about to be given out again. */
_Noreturn void bedrock_misuse_given_twice(const void *block);

#endif
