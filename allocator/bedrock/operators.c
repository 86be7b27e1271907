/* SPDX-License-Identifier: MIT */
/*
 * The operators new and delete of C++, under their mangled names.
 *
 * A program in C++ would come to malloc without them, one call later and through a library that is
 * not ours. What a C file cannot say is asked of the C++ runtime that the program brings: which
 * handler to call when there is no memory, and how to throw std::bad_alloc. Where the runtime came
 * with a library that was opened later, its functions are looked for in it.
 *
 * Names as in the Itanium C++ ABI, 5.1.5; behaviour as in [new.delete] of the C++ standard.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/fast.h"

typedef void bedrock_new_handler(void);

/*
 * std::get_new_handler and std::__throw_bad_alloc. The shared library is also loaded into programs
 * that have no C++ in them; from the archive, this file is linked only into such that have.
 */
#ifdef BEDROCK_IN_ARCHIVE
#define BEDROCK_OF_RUNTIME
#else
#define BEDROCK_OF_RUNTIME __attribute__((weak))
#endif

extern bedrock_new_handler *_ZSt15get_new_handlerv(void) BEDROCK_OF_RUNTIME;
extern void _ZSt17__throw_bad_allocv(void) BEDROCK_OF_RUNTIME;

#ifdef BEDROCK_IN_ARCHIVE

static bedrock_new_handler *bedrock_operators_handler(void)
{
	return _ZSt15get_new_handlerv();
}

static _Noreturn void bedrock_operators_throw(void)
{
	_ZSt17__throw_bad_allocv();
	abort();
}

#else

/*
 * A function of a runtime that is loaded where our own references do not reach, or NULL. The handle
 * is kept, so that the runtime stays while something is thrown.
 */
static void *bedrock_operators_find(const char *name)
{
	static const char *const runtimes[] = { "libstdc++.so.6", "libc++.so.1", "libc++abi.so.1" };
	void *function = NULL;

	for (size_t i = 0; !function && i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		void *runtime = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);

		function = runtime ? dlsym(runtime, name) : NULL;
	}
	return function;
}

static bedrock_new_handler *bedrock_operators_handler(void)
{
	bedrock_new_handler *(*get)(void) = _ZSt15get_new_handlerv;

	if (!get)
		*(void **)&get = bedrock_operators_find("_ZSt15get_new_handlerv");
	return get ? get() : NULL;
}

static _Noreturn void bedrock_operators_throw(void)
{
	void (*throw)(void) = _ZSt17__throw_bad_allocv;

	if (!throw)
		*(void **)&throw = bedrock_operators_find("_ZSt17__throw_bad_allocv");
	if (throw)
		throw();
	bedrock_debug_warn("no memory for operator new, and no C++ runtime to throw with", "", 0,
			   "");
	abort();
}

#endif

static inline void *bedrock_operators_try(size_t bytes, size_t align_bytes)
{
	return align_bytes ? bedrock_aligned_alloc(align_bytes, bytes) : bedrock_fast_malloc(bytes);
}

/* The handler makes room, throws or ends the program; without one there is nothing left to do. */
static __attribute__((noinline)) void *bedrock_operators_insist(size_t bytes, size_t align_bytes)
{
	void *block = NULL;

	while (!block) {
		bedrock_new_handler *handler = bedrock_operators_handler();

		if (!handler)
			bedrock_operators_throw();
		handler();
		block = bedrock_operators_try(bytes, align_bytes);
	}
	return block;
}

#define BEDROCK_NEW(name)                                                                          \
	BEDROCK_API void *name(size_t bytes);                                                      \
	void *name(size_t bytes)                                                                   \
	{                                                                                          \
		void *block = bedrock_fast_malloc(bytes);                                          \
                                                                                                   \
		return bedrock_likely(block != NULL) ? block : bedrock_operators_insist(bytes, 0); \
	}

#define BEDROCK_NEW_ALIGNED(name)                                                                  \
	BEDROCK_API void *name(size_t bytes, size_t align_bytes);                                  \
	void *name(size_t bytes, size_t align_bytes)                                               \
	{                                                                                          \
		void *block = bedrock_aligned_alloc(align_bytes, bytes);                           \
                                                                                                   \
		return block ? block : bedrock_operators_insist(bytes, align_bytes);               \
	}

#define BEDROCK_DELETE(name)                                                                       \
	BEDROCK_API void name(void *block);                                                        \
	void name(void *block)                                                                     \
	{                                                                                          \
		bedrock_fast_free(block);                                                          \
	}

#define BEDROCK_DELETE_SIZED(name)                                                                 \
	BEDROCK_API void name(void *block, size_t bytes);                                          \
	void name(void *block, size_t bytes)                                                       \
	{                                                                                          \
		bedrock_free_sized(block, bytes);                                                  \
	}

/* Alignment and nothrow follow in some of them, and are not needed. */
#define BEDROCK_DELETE_ALIGNED(name)                                                               \
	BEDROCK_API void name(void *block, size_t align_bytes);                                    \
	void name(void *block, size_t align_bytes)                                                 \
	{                                                                                          \
		(void)align_bytes;                                                                 \
		bedrock_fast_free(block);                                                          \
	}

#define BEDROCK_DELETE_ALIGNED_SIZED(name)                                                         \
	BEDROCK_API void name(void *block, size_t bytes, size_t align_bytes);                      \
	void name(void *block, size_t bytes, size_t align_bytes)                                   \
	{                                                                                          \
		bedrock_free_aligned_sized(block, align_bytes, bytes);                             \
	}

#if SIZE_MAX != UINT64_MAX
#error "size_t is mangled as unsigned long here"
#endif

BEDROCK_NEW(_Znwm)
BEDROCK_NEW(_Znam)
BEDROCK_NEW_ALIGNED(_ZnwmSt11align_val_t)
BEDROCK_NEW_ALIGNED(_ZnamSt11align_val_t)
BEDROCK_DELETE(_ZdlPv)
BEDROCK_DELETE(_ZdaPv)
BEDROCK_DELETE(_ZdlPvRKSt9nothrow_t)
BEDROCK_DELETE(_ZdaPvRKSt9nothrow_t)
BEDROCK_DELETE_SIZED(_ZdlPvm)
BEDROCK_DELETE_SIZED(_ZdaPvm)
BEDROCK_DELETE_ALIGNED(_ZdlPvSt11align_val_t)
BEDROCK_DELETE_ALIGNED(_ZdaPvSt11align_val_t)
BEDROCK_DELETE_ALIGNED(_ZdlPvSt11align_val_tRKSt9nothrow_t)
BEDROCK_DELETE_ALIGNED(_ZdaPvSt11align_val_tRKSt9nothrow_t)
BEDROCK_DELETE_ALIGNED_SIZED(_ZdlPvmSt11align_val_t)
BEDROCK_DELETE_ALIGNED_SIZED(_ZdaPvmSt11align_val_t)

/* A runtime's own forms without exceptions call the operators above, and are as good. */
#ifndef BEDROCK_IN_ARCHIVE

/* A handler may throw, and only C++ can catch: the runtime's own operator does, around ours. */
static __attribute__((noinline)) void *bedrock_operators_ask(const char *name, size_t bytes,
							     size_t align_bytes)
{
	static const char tag; /* std::nothrow_t has no content */
	void *(*plain)(size_t, const void *) = NULL;
	void *(*aligned)(size_t, size_t, const void *) = NULL;

	if (!bedrock_operators_handler())
		return NULL;
	*(void **)&plain = dlsym(RTLD_NEXT, name);
	*(void **)&aligned = *(void **)&plain;
	if (!plain)
		return NULL;
	return align_bytes ? aligned(bytes, align_bytes, &tag) : plain(bytes, &tag);
}

#define BEDROCK_NEW_NOTHROW(name)                                                                  \
	BEDROCK_API void *name(size_t bytes, const void *nothrow);                                 \
	void *name(size_t bytes, const void *nothrow)                                              \
	{                                                                                          \
		void *block = bedrock_fast_malloc(bytes);                                          \
                                                                                                   \
		(void)nothrow;                                                                     \
		return block ? block : bedrock_operators_ask(#name, bytes, 0);                     \
	}

#define BEDROCK_NEW_ALIGNED_NOTHROW(name)                                                          \
	BEDROCK_API void *name(size_t bytes, size_t align_bytes, const void *nothrow);             \
	void *name(size_t bytes, size_t align_bytes, const void *nothrow)                          \
	{                                                                                          \
		void *block = bedrock_aligned_alloc(align_bytes, bytes);                           \
                                                                                                   \
		(void)nothrow;                                                                     \
		return block ? block : bedrock_operators_ask(#name, bytes, align_bytes);           \
	}

BEDROCK_NEW_NOTHROW(_ZnwmRKSt9nothrow_t)
BEDROCK_NEW_NOTHROW(_ZnamRKSt9nothrow_t)
BEDROCK_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t)
BEDROCK_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t)

#endif
