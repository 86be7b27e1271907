/* SPDX-License-Identifier: MIT */
/*
 * Assertions in tiers, and the printer that never allocates.
 *
 * BEDROCK_DEBUG chooses the tier when the library is built:
 *   0  assertions are not compiled (their expressions are still type-checked);
 *   1  cheap assertions, one comparison each, and the lock order;
 *   2  also the invariants of whole structures (the x_is_valid functions);
 *   3  also the map of live blocks, which takes memory of its own: see live.h.
 *
 * Code after a failed assertion is never reached. The printer uses a small buffer on the stack
 * and write(2), because it may run while the allocator is in any state at all.
 */
#ifndef BEDROCK_DEBUG_H
#define BEDROCK_DEBUG_H

#include <stddef.h>

#ifndef BEDROCK_DEBUG
#define BEDROCK_DEBUG 0
#endif

#define bedrock_likely(x)   __builtin_expect(!!(x), 1)
#define bedrock_unlikely(x) __builtin_expect(!!(x), 0)

_Noreturn void bedrock_debug_fail(const char *expression, const char *file, int line);

/* Write "bedrock: <head><text><tail>\n" to stderr; `text` need not be terminated. */
void bedrock_debug_warn(const char *head, const char *text, size_t text_bytes, const char *tail);

#define bedrock_check_or_fail(x)                                                                   \
	(bedrock_likely(x) ? (void)0 : bedrock_debug_fail(#x, __FILE__, __LINE__))

#if BEDROCK_DEBUG >= 1
#define bedrock_assert(x) bedrock_check_or_fail(x)
#else
#define bedrock_assert(x) ((void)(0 && (x)))
#endif

#if BEDROCK_DEBUG >= 2
#define bedrock_assert_slow(x) bedrock_check_or_fail(x)
#else
#define bedrock_assert_slow(x) ((void)(0 && (x)))
#endif

#endif
