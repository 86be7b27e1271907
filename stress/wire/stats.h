/* SPDX-License-Identifier: MIT */
/*
 * What an allocator says of itself, beside what the host and the kernel know at the same moment:
 * one record a moment, written by the host's first thread, read by the controller.
 *
 * What a number means is the allocator's affair and differs; the names here are jemalloc's, and a
 * number whose meaning is not near enough stays unknown. `promises` says how far the rest may be
 * relied on.
 */
#ifndef HQ_STRESS_WIRE_STATS_H
#define HQ_STRESS_WIRE_STATS_H

#include <stdint.h>

#define HQ_STATS_ROOM 128 /* records between two drains */

enum hq_stat {
	HQ_STAT_ALLOCATED,    /* bytes in blocks, some count those in thread caches as well */
	HQ_STAT_ACTIVE,       /* bytes in pages that hold blocks */
	HQ_STAT_RESIDENT,     /* bytes that are backed by memory, lazily freed ones left out */
	HQ_STAT_MAPPED,       /* bytes of address space */
	HQ_STAT_DIRTY,        /* bytes in free pages that are backed by memory */
	HQ_STAT_MUZZY,        /* bytes in free pages that the kernel may take */
	HQ_STAT_CACHED,       /* bytes in free blocks that are kept for a size, a thread, a CPU */
	HQ_STAT_ARENAS,       /* how many */
	HQ_STAT_BACKGROUND,   /* threads of its own */
	HQ_STAT_CACHES,       /* caches of threads that live */
	HQ_STAT_LAZY_PURGES,  /* calls that gave pages back lazily */
	HQ_STAT_METADATA,     /* bytes in the allocator's own structures */
	HQ_STAT_RETAINED,     /* bytes of address space that hold neither blocks nor memory */
	HQ_STAT_PURGES,       /* calls so far that gave pages back, lazily or not */
	HQ_STAT_PURGED,       /* bytes so far that these covered */
	HQ_STAT_LOCK_WAITS,   /* times so far that a thread had to wait for a lock of its */
	HQ_STAT_LOCK_WAIT_NS, /* and for how long */
	HQ_STAT_COUNT,
};

enum hq_stats_point {
	HQ_STATS_START,    /* before the work */
	HQ_STATS_WORKING,  /* while other threads call */
	HQ_STATS_WORKED,   /* the work is done, its data are held, nobody calls */
	HQ_STATS_FREED,    /* everything was freed, and the threads are gone */
	HQ_STATS_RELEASED, /* right after the allocator was asked to give everything back */
	HQ_STATS_IDLE,     /* some time after that */
	HQ_STATS_POINT_COUNT,
};

enum hq_stats_promise {
	HQ_STATS_IS_ONE_MOMENT = 1, /* all numbers of a record are of one refresh */
	HQ_STATS_IS_TOUCHED = 2,    /* resident is what was touched, not what was committed */
	HQ_STATS_IS_SUMMED = 4,     /* the numbers of threads count only when those have ended */
};

/* What the call that gives memory back answered. */
enum hq_stats_release {
	HQ_RELEASE_NONE,   /* not called, or there is no such call */
	HQ_RELEASE_SILENT, /* it says nothing: it promises to do all it can */
	HQ_RELEASE_SOME,   /* it says that there was something to give back, not how much */
	HQ_RELEASE_EMPTY,  /* it says that there was nothing */
	HQ_RELEASE_BYTES,  /* it says how much: released_bytes */
};

struct hq_stats_record {
	uint64_t time_ns; /* CLOCK_MONOTONIC, before the allocator was asked */
	uint64_t took_ns; /* until it had answered */
	/* Requested bytes of live blocks: the smaller of before and after, and the difference. */
	uint64_t live_bytes, live_spread_bytes;
	uint64_t rss_bytes;      /* the kernel's anonymous resident memory, right after */
	uint64_t lazyfree_bytes; /* the kernel's, of these; only where has_lazyfree */
	uint64_t threads;        /* of the process, by the kernel; 0: unknown */
	uint64_t workers;        /* of these, the host's own */
	uint64_t released_bytes;
	uint64_t values[HQ_STAT_COUNT];
	uint32_t known;   /* bit 1 << enum hq_stat */
	uint32_t point;   /* enum hq_stats_point */
	uint32_t release; /* enum hq_stats_release; at RELEASED */
	uint32_t has_lazyfree;
};

static inline void hq_stats_set(struct hq_stats_record *record, enum hq_stat stat, uint64_t value)
{
	record->values[stat] = value;
	record->known |= 1u << stat;
}

#endif
