/* SPDX-License-Identifier: MIT */
/*
 * The operators of C++, under their mangled names: new and delete go the way of malloc and free, so
 * that an allocator's own operators do not lead around the library between. One that must throw
 * when there is no memory asks the operator behind, which knows how.
 *
 * To be included by one file of a library, which has defined before:
 *   void *plain(size_t size, uint64_t caller)
 *   void *aligned(size_t size, size_t alignment, uint64_t caller)
 *   void give_back(void *block, uint64_t caller)
 *   void *from_behind(void *block), for a block that came from the operator behind
 */
#ifndef HQ_STRESS_BETWEEN_OPERATORS_H
#define HQ_STRESS_BETWEEN_OPERATORS_H

#include <dlfcn.h>

#include "stress/between/between.h"

#define HQ_BETWEEN_CALLER ((uint64_t)(uintptr_t)__builtin_return_address(0))

static void *throw_plain(const char *name, size_t size)
{
	void *(*behind)(size_t);

	*(void **)&behind = dlsym(RTLD_NEXT, name);
	return behind ? from_behind(behind(size)) : NULL;
}

static void *throw_aligned(const char *name, size_t size, size_t alignment)
{
	void *(*behind)(size_t, size_t);

	*(void **)&behind = dlsym(RTLD_NEXT, name);
	return behind ? from_behind(behind(size, alignment)) : NULL;
}

#define NEW(name)                                                                                  \
	void *name(size_t size);                                                                   \
	HQ_BETWEEN_EXPORT void *name(size_t size)                                                  \
	{                                                                                          \
		void *const block = plain(size, HQ_BETWEEN_CALLER);                                \
                                                                                                   \
		return block ? block : throw_plain(#name, size);                                   \
	}

#define NEW_ALIGNED(name)                                                                          \
	void *name(size_t size, size_t alignment);                                                 \
	HQ_BETWEEN_EXPORT void *name(size_t size, size_t alignment)                                \
	{                                                                                          \
		void *const block = aligned(size, alignment, HQ_BETWEEN_CALLER);                   \
                                                                                                   \
		return block ? block : throw_aligned(#name, size, alignment);                      \
	}

#define NEW_NOTHROW(name)                                                                          \
	void *name(size_t size);                                                                   \
	HQ_BETWEEN_EXPORT void *name(size_t size)                                                  \
	{                                                                                          \
		return plain(size, HQ_BETWEEN_CALLER);                                             \
	}

#define NEW_ALIGNED_NOTHROW(name)                                                                  \
	void *name(size_t size, size_t alignment);                                                 \
	HQ_BETWEEN_EXPORT void *name(size_t size, size_t alignment)                                \
	{                                                                                          \
		return aligned(size, alignment, HQ_BETWEEN_CALLER);                                \
	}

/* Size, alignment and nothrow follow in some of them, and are not needed. */
#define DELETE(name)                                                                               \
	void name(void *block);                                                                    \
	HQ_BETWEEN_EXPORT void name(void *block)                                                   \
	{                                                                                          \
		give_back(block, HQ_BETWEEN_CALLER);                                               \
	}

NEW(_Znwm)
NEW(_Znam)
NEW_NOTHROW(_ZnwmRKSt9nothrow_t)
NEW_NOTHROW(_ZnamRKSt9nothrow_t)
NEW_ALIGNED(_ZnwmSt11align_val_t)
NEW_ALIGNED(_ZnamSt11align_val_t)
NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t)
NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

#endif
