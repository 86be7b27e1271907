/* SPDX-License-Identifier: MIT */
/*
 * bedrock: a memory allocator for programs that live under a memory limit.
 *
 * Preload libbedrock.so, or link it or libbedrock.a, and malloc and its family are served by
 * it. The same functions are here under a prefix, together with a few of its own. Options come
 * from the environment variable BEDROCK_CONF and other places, see docs/bedrock.md.
 *
 * What holds for all of them:
 *  - every function may be called from any thread, before and after constructors, in the child
 *    of a fork, and at the end of a thread; none from a signal handler;
 *  - a block is aligned to 16 bytes at least;
 *  - a request above PTRDIFF_MAX is refused, and no multiplication wraps;
 *  - NULL comes with errno ENOMEM, or EINVAL for an alignment that is not a power of two, unless
 *    stated otherwise; freeing keeps errno.
 */
#ifndef BEDROCK_H
#define BEDROCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BEDROCK_API __attribute__((visibility("default")))

/* A block of `bytes` bytes. For 0 bytes, a block of its own that can be freed. */
BEDROCK_API void *bedrock_malloc(size_t bytes);

/* Free a block; NULL is allowed. */
BEDROCK_API void bedrock_free(void *block);

/* A block for `count` items of `item_bytes` each, all bytes zero. */
BEDROCK_API void *bedrock_calloc(size_t count, size_t item_bytes);

/*
 * A block of `bytes` bytes with the content of `block`, up to the smaller of both sizes; `block`
 * is then gone. On failure it returns NULL and `block` is as it was. With block NULL this is
 * malloc. With bytes 0 it frees `block` and returns NULL, as the GNU C library does, or with the
 * option zero_realloc:alloc returns the smallest block.
 */
BEDROCK_API void *bedrock_realloc(void *block, size_t bytes);

/* realloc to count * item_bytes; fails with ENOMEM if the product does not fit. */
BEDROCK_API void *bedrock_reallocarray(void *block, size_t count, size_t item_bytes);

/*
 * A block whose address is a multiple of `align_bytes`, a power of two and a multiple of
 * sizeof(void *), into *out. -> 0, EINVAL or ENOMEM; on failure *out and errno are not touched.
 */
BEDROCK_API int bedrock_posix_memalign(void **out, size_t align_bytes, size_t bytes);

/* A block whose address is a multiple of `align_bytes`, a power of two. */
BEDROCK_API void *bedrock_aligned_alloc(size_t align_bytes, size_t bytes);

/* The same as bedrock_aligned_alloc. */
BEDROCK_API void *bedrock_memalign(size_t align_bytes, size_t bytes);

/* A block aligned to the kernel's page size. */
BEDROCK_API void *bedrock_valloc(size_t bytes);

/* As valloc, the size rounded up to whole pages, one page at least. */
BEDROCK_API void *bedrock_pvalloc(size_t bytes);

/* Free a block of malloc, calloc or realloc whose requested size the caller knows. */
BEDROCK_API void bedrock_free_sized(void *block, size_t bytes);

/* Free a block of aligned_alloc whose alignment and requested size the caller knows. */
BEDROCK_API void bedrock_free_aligned_sized(void *block, size_t align_bytes, size_t bytes);

/* How many bytes of the block may be used; at least what was asked for. 0 for NULL. */
BEDROCK_API size_t bedrock_malloc_usable_size(void *block);

/* Give unused memory back to the kernel; `keep_bytes` is ignored. -> 1 if there was any. */
BEDROCK_API int bedrock_malloc_trim(size_t keep_bytes);

/*
 * Return the calling thread's cached blocks and give all unused memory back to the kernel at
 * once, whatever its age. -> the bytes given back.
 */
BEDROCK_API uint64_t bedrock_purge(void);

/* Options of the program's own, in the form of BEDROCK_CONF: a program may define this symbol. */
BEDROCK_API extern const char *bedrock_conf;

/* "bedrock" and the version. */
BEDROCK_API const char *bedrock_version(void);

/* The same as text, for tools that look for a symbol. */
BEDROCK_API extern const char bedrock_version_string[];

/*
 * A snapshot. At every moment, whatever other threads do and the kernel refuses,
 *	allocated <= active <= resident <= mapped
 *	active + dirty + muzzy + metadata + retained == mapped
 * Each number is exact for some moment during the call, but not all for the same; where they would
 * contradict each other the larger one is raised to the smaller.
 */
struct bedrock_stats {
	/*
	 * In blocks that are in use or in the caches of living threads, rounding to size classes
	 * included: 0 after everything is freed, the other threads have ended, and
	 * bedrock_purge() has emptied the caller's cache.
	 */
	uint64_t allocated_bytes;
	/* In pages that hold such blocks. */
	uint64_t active_bytes;
	/* In unused pages that are still resident, and in free huge mappings kept for reuse. */
	uint64_t dirty_bytes;
	/* In unused pages that the kernel may take at any time. */
	uint64_t muzzy_bytes;
	/* In address space that is mapped but holds neither blocks nor resident free pages. */
	uint64_t retained_bytes;
	/* In all mappings. */
	uint64_t mapped_bytes;
	/* In the allocator's own structures that are outside of chunks. */
	uint64_t metadata_bytes;
	/* MADV_DONTNEED, MADV_FREE: calls that succeeded, and what they covered. */
	uint64_t purge_calls;
	uint64_t purge_bytes;
	uint64_t lazy_purge_calls;
	uint64_t lazy_purge_bytes;
	/* Calls that the kernel refused. */
	uint64_t failed_purge_calls;
	uint64_t failed_unmap_calls;
	/* Starts of the background thread that have failed since the last success. */
	uint64_t failed_thread_starts;
	uint64_t arena_count;
	uint64_t thread_cache_count;
	/* What may be resident of all mappings: bedrock_resident() without the credit. */
	uint64_t resident_bytes;
	/* Huge blocks, each with a mapping of its own: bytes, part of allocated_bytes, and number.
	 */
	uint64_t huge_bytes;
	uint64_t huge_count;
	/* 1 while the background thread is there, or about to be or to end; else 0. */
	uint64_t background_thread_count;
};

/*
 * Read or change something by its name, as jemalloc's mallctl does; docs/bedrock.md lists the
 * names. The old value goes to *old_value, which has room for *old_bytes, unless both are NULL; a
 * new one is taken from *new_value, unless that is NULL. -> 0, or
 *	ENOENT	there is no such name, or no such arena
 *	EINVAL	*old_bytes or new_bytes is not the size of the value
 *	EPERM	the name cannot be written, or has no value, or its value is decided otherwise
 *	EAGAIN	there is no memory for it now
 *	EFAULT	the new value is out of range, or there is nothing that the name could act on
 */
BEDROCK_API int bedrock_ctl(const char *name, void *old_value, size_t *old_bytes,
			    const void *new_value, size_t new_bytes);

/*
 * Print options and statistics, piece by piece, through `write`, or on stderr if that is NULL. In
 * `options`, which may be NULL, J asks for JSON, and g, a and b leave out options, arenas and size
 * classes. Allocates nothing itself.
 */
BEDROCK_API void bedrock_stats_print(void (*write)(void *argument, const char *text),
				     void *argument, const char *options);

/* Take a snapshot. */
BEDROCK_API void bedrock_stats_read(struct bedrock_stats *out);

/*
 * What may be resident of all that the allocator has mapped, in bytes: never less than the
 * kernel's figure for those mappings. It is more by the pages of blocks that were not touched
 * yet, by the headers of chunks (at most 72 KiB each) and by 512 KiB of credit per arena, none
 * of it near the limit. One load. Without a limit two things are taken on trust: that a purge
 * which succeeded was one, and that the kernel makes no huge pages in chunks unasked.
 */
BEDROCK_API uint64_t bedrock_resident(void);

/*
 * Set the hard and the soft limit on that figure; 0 for `hard_bytes` means no limits, 0 for
 * `soft_bytes` seven eighths of the hard one. A request that would pass the hard limit gets NULL
 * and ENOMEM. A limit below what is in use refuses until enough is freed. -> bedrock_resident().
 */
BEDROCK_API uint64_t bedrock_limit_memory(uint64_t hard_bytes, uint64_t soft_bytes);

enum bedrock_pressure {
	/* The soft limit is passed; called every 100 ms at most. */
	BEDROCK_PRESSURE_SOFT,
	/* A request is about to fail at the hard limit; called every 10 ms at most. */
	BEDROCK_PRESSURE_HARD,
	BEDROCK_PRESSURE_COUNT,
};

/* `wanted_bytes` is what the request at the hard limit asks for, 0 at the soft limit. */
typedef void bedrock_pressure_function(enum bedrock_pressure pressure, size_t wanted_bytes,
				       void *argument);

#define BEDROCK_PRESSURE_CALLBACKS_MAX 16

/*
 * Have `function` called under pressure, so that the application can free something. It is
 * called by a thread that is allocating or freeing, by one thread at a time, and may allocate
 * and free; it must return, and not wait for a lock that is held around allocations. -> 0, EINVAL
 * without a function, or ENOMEM beyond BEDROCK_PRESSURE_CALLBACKS_MAX.
 */
BEDROCK_API int bedrock_on_pressure(bedrock_pressure_function *function, void *argument);

/*
 * The reverse. After it returns `function` is not running any more with that argument, unless
 * it was called from within a callback. -> 0, or ENOENT.
 */
BEDROCK_API int bedrock_off_pressure(bedrock_pressure_function *function, void *argument);

/* The arena that the calling thread would ask now; below *arena_count. */
BEDROCK_API uint32_t bedrock_thread_arena(uint32_t *arena_count);

#ifdef __cplusplus
}
#endif

#endif
