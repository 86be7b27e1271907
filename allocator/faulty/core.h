/* SPDX-License-Identifier: MIT */
/*
 * A small allocator, correct as long as no bug is switched on.
 *
 *   region  4 MiB of address space, contains 256 units of 16 KiB; the first holds its descriptors
 *   run     consecutive units: free, a large block, or a span of small blocks of one class
 *   cache   small blocks of one thread, in a list a class
 *   huge    a block with a mapping of its own
 *
 * Any address leads to its region by a mask, so a huge block also begins inside the first 4 MiB
 * behind its own header.
 *
 * Locks, in the order in which they are taken: one a class, then the one of all pages. The lock of
 * huge blocks is taken alone. No system call is made under a lock except mmap.
 */
#ifndef FAULTY_CORE_H
#define FAULTY_CORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/faulty/atomic.h"
#include "allocator/faulty/bugs.h"

#define FAULTY_UNIT         ((size_t)16 << 10)
#define FAULTY_REGION       ((size_t)4 << 20)
#define FAULTY_UNITS        (FAULTY_REGION / FAULTY_UNIT)
#define FAULTY_SMALL_MAX    ((size_t)16 << 10)
#define FAULTY_LARGE_MAX    ((size_t)2 << 20)
#define FAULTY_CLASSES      36u
#define FAULTY_ALIGNMENT    ((size_t)16)
#define FAULTY_ALIGNED_MAX  ((size_t)2 << 20)
#define FAULTY_DECAY_NS     UINT64_C(50000000)
#define FAULTY_DIRTY_MAX    ((size_t)8 << 20)
#define FAULTY_CACHE_BYTES  ((size_t)1 << 20)
#define FAULTY_HUGE_REFUSED 16u

enum faulty_use { FAULTY_FREE, FAULTY_BUSY, FAULTY_LARGE, FAULTY_SMALL };

/*
 * A free small block. The link does not come first: a byte too many behind the block before it then
 * harms the content of live blocks, and does not end the process before anybody could look at that.
 */
struct faulty_link {
	uint64_t untouched;
	struct faulty_link *next;
};

/* Of the first unit of a run; the other units only know where that is. */
struct faulty_run {
	uint16_t first;  /* index of the run's first unit; valid for each unit */
	uint16_t length; /* units */
	uint8_t use;     /* enum faulty_use */
	uint8_t class;
	uint16_t dirty; /* units of a free run that may be resident, at most */
	bool zero;      /* free or large, and never written to */
	bool listed;    /* small: among the spans that have free blocks */
	uint32_t live;
	uint32_t owner;    /* thread that took it as a span or a large block */
	uint64_t freed_ns; /* free: since when */
	struct faulty_link *blocks;
	struct faulty_run *next, *previous; /* spans with free blocks */
};

enum faulty_kind { FAULTY_KIND_RUNS = 1, FAULTY_KIND_HUGE };

struct faulty_region {
	uint64_t kind;
	void *map; /* what mmap gave: begins before the region, ends behind it */
	size_t map_bytes;
	struct faulty_region *next;
	void *block; /* HUGE */
	size_t usable;
	bool is_nested; /* HUGE: taken by a signal handler, not charged */
	uint32_t free_units;
	struct faulty_run runs[FAULTY_UNITS]; /* RUNS; [0] is this header itself */
};

struct faulty_statistics {
	_Atomic uint64_t allocated_bytes; /* in blocks, those in caches included */
	_Atomic uint64_t huge_bytes;      /* of these, in huge blocks */
	_Atomic uint64_t mapped_bytes, dirty_bytes, purged_bytes;
	_Atomic uint64_t purges, refused_purges, refused_maps, refused_unmaps;
};

/* What is counted apart for each CPU. */
struct faulty_slot {
	_Atomic uint64_t refills;
	uint64_t padding[7];
};

struct faulty_heap {
	pthread_mutex_t pages_lock;
	struct faulty_region *regions;
	size_t dirty_units, active_units, header_units; /* under the pages lock */
	size_t purging_units;                           /* dirty, and being advised away */
	size_t huge_bytes;
	size_t limit_bytes; /* on all of them together; 0: none */
	size_t stale_bytes;
	uint64_t stale_ns;
	uint64_t decay_ns;      /* how long free pages stay */
	uint64_t next_purge_ns; /* not before: the last one was refused */
	pthread_mutex_t class_locks[FAULTY_CLASSES];
	struct faulty_run *partial[FAULTY_CLASSES];
	pthread_mutex_t huge_lock;
	struct faulty_region *refused[FAULTY_HUGE_REFUSED]; /* munmap said no: to be tried again */
	struct faulty_slot *slots; /* one a CPU, in pages of their own; NULL: none */
	uint32_t slot_count;
	pthread_key_t key;
	_Atomic bool has_key, has_background;
	_Atomic uint32_t threads;
	struct faulty_statistics statistics;
};

extern struct faulty_heap faulty_heap;

/* ---- os.c: the system, with bugs of its own ---- */

void *faulty_os_map(size_t bytes); /* NULL */
int faulty_os_unmap(void *address, size_t bytes);
int faulty_os_purge(void *address, size_t bytes);
uint64_t faulty_os_now_ns(void);

/* ---- pages.c ---- */

/* A run of that many units; its first descriptor. NULL when the kernel gives nothing. */
struct faulty_run *faulty_pages_take(size_t units, enum faulty_use use);
void faulty_pages_give(struct faulty_run *run);

struct faulty_region *faulty_region_of(const void *address);
struct faulty_region *faulty_region_of_run(const struct faulty_run *run);
struct faulty_run *faulty_run_of(struct faulty_region *region, const void *address);
char *faulty_run_start(const struct faulty_run *run);

/* Maps address space that is aligned to a region, with its header filled in; NULL. */
struct faulty_region *faulty_region_map(size_t bytes, enum faulty_kind kind);

/* Both under the pages lock: the next free run that is due for a purge, taken out; and back. */
struct faulty_run *faulty_pages_next_dirty(uint64_t now_ns, uint64_t decay_ns);
void faulty_pages_purged(struct faulty_run *run, bool purged);

/* ---- decay.c ---- */

/* After pages were freed: gives back what is too old or too much. Keeps errno. */
void faulty_decay_tick(void);
void faulty_decay_pass(uint64_t decay_ns);

/* ---- limit.c ---- */

void faulty_limit_start(void);
/* Under the pages lock: may so many bytes more be in use? */
bool faulty_limit_allows(size_t growth_bytes);
/* Without a lock: gives back what is dirty. */
void faulty_limit_make_room(void);
bool faulty_limit_charge_huge(size_t bytes);
void faulty_limit_discharge_huge(size_t bytes);

/* ---- small.c ---- */

unsigned faulty_class_of(size_t size);
size_t faulty_class_size(unsigned class);

/* Takes up to `count` blocks as a list; returns how many. */
unsigned faulty_central_take(unsigned class, unsigned count, struct faulty_link **blocks);
void faulty_central_give(unsigned class, struct faulty_link *blocks);

/* ---- cache.c ---- */

void *faulty_cache_take(unsigned class); /* NULL */
void faulty_cache_give(unsigned class, void *block);
void faulty_cache_flush(void); /* of the calling thread */
uint32_t faulty_thread_number(void);
void faulty_cache_ends(void *unused); /* the thread's destructor */

/* ---- cpu.c ---- */

void faulty_cpu_start(void);
/* A cache was filled on this CPU. */
void faulty_cpu_refilled(void);
/* The part of the heap that serves the calling thread; below *arena_count. */
uint32_t faulty_thread_arena(uint32_t *arena_count);

/* ---- huge.c ---- */

void *faulty_huge_take(size_t size, size_t alignment);
/* The same without any lock, and not held against the limit. */
void *faulty_huge_take_nested(size_t size, size_t alignment);
void faulty_huge_give(struct faulty_region *region);

/* ---- core.c ---- */

/* A block, not cleared; *zero tells whether it is known to be zero. */
void *faulty_block_take(size_t size, size_t alignment, bool *zero);
void faulty_block_give(void *block);
size_t faulty_block_size(const void *block);
/* The block that an address lies in begins there. */
bool faulty_block_begins(const void *address);
void faulty_start(void);

/* ---- reentry.c: around each exported call ---- */

/* False: this thread is inside already, and was interrupted by a signal. */
bool faulty_enter(void);
void faulty_leave(void);
/* What such a call does instead. */
void *faulty_nested_take(size_t size, size_t alignment);
void faulty_nested_give(void *block);
void *faulty_nested_resize(void *block, size_t size);

/* ---- api.c: what the exported functions do ---- */

void *faulty_malloc(size_t size);
void *faulty_calloc(size_t count, size_t size);
void *faulty_realloc(void *block, size_t size);
void *faulty_aligned(size_t alignment, size_t size);
int faulty_memalign(void **block, size_t alignment, size_t size);
void faulty_free(void *block);
size_t faulty_usable_size(const void *block);

/* ---- fork.c ---- */

void faulty_fork_prepare(void);
void faulty_fork_parent(void);
void faulty_fork_child(void);
/* At the end of a thread. */
void faulty_fork_at_exit(void);

/* ---- the families of bugs that bend a call: place.c, content.c, errors.c, memory.c, progress.c
 * ---- */

/* The size that will be served instead of the one asked for. */
size_t faulty_place_size(size_t size);
/* A block that will be given instead of a new one, or NULL. */
void *faulty_place_again(size_t size);
/* The address that will be given instead of the one taken. */
void *faulty_place_moved(void *block, size_t size);
void faulty_place_gave(void *block, size_t size);
/* Before a free: true when the block must not be freed, since it was given twice. */
bool faulty_place_keeps(void *block);
bool faulty_place_grows(size_t usable, size_t size);
size_t faulty_place_alignment(size_t alignment, size_t size);
size_t faulty_place_usable(size_t usable);

void faulty_content_gave(void *block, size_t size);
void faulty_content_freed(void *block, bool is_cross);
/* How many bytes calloc clears, and from where. */
void faulty_content_clear(void *block, size_t size, bool is_cross);
size_t faulty_content_copied(size_t common);
void faulty_content_resized(void *block, size_t old_size, size_t size);

bool faulty_errors_refuses(void);
void faulty_errors_refused(void);
int faulty_errors_code(void);
void faulty_errors_freed(void);
void faulty_errors_crash(void);
/* After a refused mmap: true when it is to be tried again. */
bool faulty_errors_map_refused(void);
bool faulty_errors_map_given_up(void);
void faulty_errors_map_worked(void);
void faulty_errors_purge_refused(void);

bool faulty_memory_forgets(bool is_cross);
/* True when the block waits for its owner, who frees it in faulty_memory_called. */
bool faulty_memory_waits(void *block, bool is_cross);
void faulty_memory_called(void);
void faulty_memory_run_taken(void);
/* A thread has its cache from now on. */
void faulty_memory_thread_known(void);

/* A block that a bug of program.c wants given next, or NULL. */
void *faulty_program_given(size_t size);
void faulty_memory_counted(const void *block, bool is_cross);

void faulty_progress_call(void);
void faulty_progress_freed(bool is_cross);

#endif
