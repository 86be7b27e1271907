/* SPDX-License-Identifier: MIT */
/*
 * The operators of C++, under their mangled names: new and delete go the way of malloc and free, so
 * that an allocator's own operators do not lead around the guard. One that must throw when there is
 * no memory asks the operator behind, which knows how.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "stress/guard/watch.h"

/* A process that is not watched may have a malloc of its own, in front of the guard's. */
__attribute__((always_inline)) static inline void *plain(size_t size, uint64_t caller)
{
	if (hq_guard_passes())
		return hq_guard_passed(hq_guard.next.malloc(size), size);
	return hq_guard_ready() && hq_guard.watches ? hq_guard_malloc(size, caller) : malloc(size);
}

static void *aligned(size_t size, size_t alignment, uint64_t caller)
{
	if (hq_guard_ready() && hq_guard.watches)
		return hq_guard_aligned(hq_guard.next.memalign, alignment, size, caller);
	return aligned_alloc(alignment, size);
}

static inline void give_back(void *block, uint64_t caller)
{
	if (hq_guard_frees_pass(block))
		hq_guard.next.free(block);
	else if (hq_guard_ready() && hq_guard.watches)
		hq_guard_free(block, caller);
	else
		free(block);
}

/*
 * The block of an operator that succeeded after all, because a handler of the program made room, is
 * known if that operator calls malloc; if not, a free cannot be judged any more.
 */
static void *from_behind(void *block)
{
	if (block && !hq_blocks_size(&hq_guard.blocks, (uint64_t)(uintptr_t)block))
		hq_store_relaxed(&hq_guard.frees_unknown, 1);
	return block;
}

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
	HQ_GUARD_EXPORT void *name(size_t size)                                                    \
	{                                                                                          \
		void *const block = plain(size, HQ_GUARD_CALLER);                                  \
                                                                                                   \
		return block ? block : throw_plain(#name, size);                                   \
	}

#define NEW_ALIGNED(name)                                                                          \
	void *name(size_t size, size_t alignment);                                                 \
	HQ_GUARD_EXPORT void *name(size_t size, size_t alignment)                                  \
	{                                                                                          \
		void *const block = aligned(size, alignment, HQ_GUARD_CALLER);                     \
                                                                                                   \
		return block ? block : throw_aligned(#name, size, alignment);                      \
	}

#define NEW_NOTHROW(name)                                                                          \
	void *name(size_t size);                                                                   \
	HQ_GUARD_EXPORT void *name(size_t size)                                                    \
	{                                                                                          \
		return plain(size, HQ_GUARD_CALLER);                                               \
	}

#define NEW_ALIGNED_NOTHROW(name)                                                                  \
	void *name(size_t size, size_t alignment);                                                 \
	HQ_GUARD_EXPORT void *name(size_t size, size_t alignment)                                  \
	{                                                                                          \
		return aligned(size, alignment, HQ_GUARD_CALLER);                                  \
	}

/* Size, alignment and nothrow follow in some of them, and are not needed. */
#define DELETE(name)                                                                               \
	void name(void *block);                                                                    \
	HQ_GUARD_EXPORT void name(void *block)                                                     \
	{                                                                                          \
		give_back(block, HQ_GUARD_CALLER);                                                 \
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
