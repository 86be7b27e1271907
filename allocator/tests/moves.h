/* SPDX-License-Identifier: MIT */
/*
 * STRESS_MOVE=no: no mapping moves. memcheck (valgrind 3.19) takes the part by which a mapping
 * grew while it moved for unmapped, and reports each access to it; bedrock copies instead.
 */
#ifndef BEDROCK_TESTS_MOVES_H
#define BEDROCK_TESTS_MOVES_H

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "allocator/bedrock/os.h"

static void *(*moves_mremap)(void *address, size_t old_bytes, size_t new_bytes, int flags, ...);

static inline void *moves_refused(void *address, size_t old_bytes, size_t new_bytes, int flags, ...)
{
	if (!(flags & MREMAP_FIXED))
		return moves_mremap(address, old_bytes, new_bytes, flags);
	errno = ENOMEM;
	return MAP_FAILED;
}

/* Stands before whatever answers mremap when it is called. */
static inline void moves_install(void)
{
	const char *move = getenv("STRESS_MOVE");

	if (!move || strcmp(move, "no") != 0)
		return;
	moves_mremap = bedrock_os_table.mremap;
	bedrock_os_table.mremap = moves_refused;
}

#endif
