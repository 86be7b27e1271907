/* SPDX-License-Identifier: MIT */
/*
 * The memory that controller and target share: one memfd, mapped by both.
 *
 * The target may be broken, out of memory, or about to be killed, so nothing here is a pointer or a
 * lock, every word has one writer, and the last record stays readable after a SIGKILL.
 * The target finds it by path in the environment (HQ_WIRE_ENV), maps it and keeps no descriptor.
 *
 *   wire  contains  config (controller), status (target), plane (see plane.h), guard
 * (blocks of any program), stats (the allocator's own, by the host), workers (host threads)
 */
#ifndef HQ_STRESS_WIRE_WIRE_H
#define HQ_STRESS_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"
#include "injectors/syscall/plane.h"
#include "stress/wire/band.h"
#include "stress/wire/hist.h"
#include "stress/wire/stats.h"

#define HQ_WIRE_ENV     "HEAPQUAKE_WIRE" /* "/proc/PID/fd/N" */
#define HQ_WIRE_MAGIC   0x6b61757165706168ull
#define HQ_WIRE_VERSION 7
#define HQ_WIRE_WORKERS 64
#define HQ_WIRE_EVENTS  256
#define HQ_GUARD_EVENTS 1024

#define HQ_EVENT_SITE  48
#define HQ_GUARD_TRAIL 4
#define HQ_EVENT_GUARD UINT32_MAX

enum hq_mechanism {
	HQ_MECHANISM_AUTO, /* the controller resolves it before the wire is made */
	HQ_MECHANISM_TRAP,
	HQ_MECHANISM_NOTIFY,
	HQ_MECHANISM_STATIC,
	HQ_MECHANISM_NONE, /* no rules */
};

/* What the target has reached; rises only. For a program, the preloaded library sets READY. */
enum hq_target_state {
	HQ_TARGET_STARTING,
	HQ_TARGET_READY, /* waits for `go` (a program does not wait) */
	HQ_TARGET_WORKING,
	HQ_TARGET_WORKED, /* the work is done, its data is still held */
	HQ_TARGET_FREED,  /* everything was freed; idles until `finish` */
	HQ_TARGET_FAILED, /* could not start; see `failure` */
};

/* Kinds of calls whose latency is recorded. */
enum hq_latency {
	HQ_LATENCY_MALLOC, /* malloc, calloc and the aligned family */
	HQ_LATENCY_FREE,
	HQ_LATENCY_REALLOC,
	HQ_LATENCY_SIZED, /* so many have a size, and are kept by bands too */
	HQ_LATENCY_OP =
		HQ_LATENCY_SIZED, /* whole operations of the workload, as a client would see them */
	HQ_LATENCY_COUNT,
};

/* Where a latency was recorded: inside the wake of a fault (see wake.h) or outside. */
enum hq_window {
	HQ_WINDOW_CLEAN,
	HQ_WINDOW_FAULTED,
	HQ_WINDOW_COUNT,
	HQ_WINDOW_ALL = HQ_WINDOW_COUNT, /* where both are meant */
};

/* A broken promise seen by the host while it worked, or by the guard in any program. */
enum hq_event_kind {
	HQ_EVENT_CONTENT,      /* a block's stamp was damaged: offset, expected, got */
	HQ_EVENT_OVERLAP,      /* a new block covers a live one: offset of the first shared byte */
	HQ_EVENT_ALIGNMENT,    /* address not a multiple of `expected` */
	HQ_EVENT_NONZERO,      /* calloc gave a non-zero byte: offset, got */
	HQ_EVENT_ERRNO_FREE,   /* free changed errno from `expected` to `got` */
	HQ_EVENT_ERRNO_NULL,   /* NULL came with errno `got` instead of ENOMEM */
	HQ_EVENT_REALLOC,      /* realloc lost the common prefix, or the old block when it failed */
	HQ_EVENT_USABLE,       /* malloc_usable_size `got` below the requested `expected` */
	HQ_EVENT_DATA,         /* the workload's own data are wrong (a row lost, an order broken) */
	HQ_EVENT_PROGRAM_FREE, /* the program freed what was no live block */
	HQ_EVENT_PROGRAM_TAIL, /* bytes behind a block changed: offset, expected, got */
	HQ_EVENT_ARENA,        /* a thread is served by arena `got` of `expected` */
	HQ_EVENT_FORK,         /* a child was in trouble; expected: enum hq_fork_trouble */
	HQ_EVENT_WRAP,   /* an impossible request was served: `expected` elements, `got` usable */
	HQ_EVENT_ZERO,   /* nothing was answered with `got` where the rule is `expected` */
	HQ_EVENT_REFUSE, /* a refusal with code `got` instead of `expected`, or a pointer in address
			  */
	HQ_EVENT_SHARED, /* `got` bytes usable, of which those from `offset` are a live block's */
	HQ_EVENT_RETRY,  /* one call was refused enum hq_call `expected` `got` times, in `offset` ns
			  */
	HQ_EVENT_KIND_COUNT,
};

/* What may happen to a child of fork. */
enum hq_fork_trouble {
	HQ_FORK_FINE,
	HQ_FORK_HUNG,         /* got: steps that it had taken */
	HQ_FORK_DIED,         /* got: as from wait */
	HQ_FORK_PARENTS_DATA, /* a block of its parent had changed: offset, got */
	HQ_FORK_OWN_DATA,     /* a block of its own had */
};

/* The call that an event is about. */
enum hq_asked_call {
	HQ_ASKED_UNKNOWN,
	HQ_ASKED_MALLOC,
	HQ_ASKED_CALLOC,
	HQ_ASKED_REALLOC,
	HQ_ASKED_REALLOCARRAY,
	HQ_ASKED_POSIX_MEMALIGN,
	HQ_ASKED_ALIGNED_ALLOC,
	HQ_ASKED_FREE,
	HQ_ASKED_COUNT,
};

/* What a request for nothing may be answered with. */
enum hq_zero_answer {
	HQ_ZERO_NULL,
	HQ_ZERO_BLOCK,
	HQ_ZERO_TAKEN,   /* the address of a block that is live already: never right */
	HQ_ZERO_REFUSED, /* NULL because of ENOMEM: no answer where memory may be refused */
};

struct hq_event {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t op;      /* the worker's operation count */
	uint64_t address;
	uint64_t size;
	uint64_t offset;
	uint64_t expected;
	uint64_t got;
	uint32_t kind;   /* enum hq_event_kind */
	uint32_t worker; /* index; HQ_EVENT_GUARD: seen by the guard, and `op` is the thread's id */
	uint32_t asked;  /* enum hq_asked_call */
	uint32_t owner;  /* index of the worker that asked for the block, plus 1; 0: unknown */
	/* 1 + bytes to the nearest live block before and behind; 0: none near, or unknown. */
	uint32_t gap_before, gap_behind;
	uint32_t detail; /* for the reader: index in the observations' details + 1; 0: none */
	uint32_t reserved;
	char site[HQ_EVENT_SITE]; /* who called, "redis-server+0x4f10"; "" if unknown */
};

#define HQ_WIRE_COSTS 8

/* What one and the same work cost beside `scale` of something, such as free spans. */
struct hq_wire_cost {
	_Atomic uint64_t scale; /* 0: not measured */
	_Atomic uint64_t cpu_ns;
};

#define HQ_WIRE_PARTS 64

/* What one part of the work (a query) took in this thread, over all its runs. */
struct hq_wire_part {
	_Atomic uint64_t runs;
	_Atomic uint64_t wall_ns, cpu_ns;
	_Atomic uint64_t faults; /* minor page faults */
};

/* How a workload kept to a limit of its own, as each worker saw it. */
enum hq_limit_word {
	HQ_LIMIT_HARD_BYTES, /* 0: there was none */
	HQ_LIMIT_SOFT_BYTES,
	/* By design: how old the figure is that it goes by, what it may take beyond the limit by
	 * one that is true, what it may keep counted as used, and its largest request. */
	HQ_LIMIT_STALE_NS,
	HQ_LIMIT_AHEAD_BYTES,
	HQ_LIMIT_STRANDED_BYTES,
	HQ_LIMIT_REQUEST_BYTES,
	HQ_LIMIT_PEAK_BYTES,  /* held by all, the most after it took a block */
	HQ_LIMIT_EARLY_BYTES, /* held by all, the least at a refusal for the soft limit; 0: none */
	HQ_LIMIT_LEFT_BYTES,  /* counted as used when nothing was held, the most */
	HQ_LIMIT_QUIETS,      /* how often that was looked at */
	HQ_LIMIT_ADMITTED,    /* requests */
	HQ_LIMIT_REFUSED,
	HQ_LIMIT_ROWS,        /* blocks of admitted requests */
	HQ_LIMIT_TAKEN_BYTES, /* in the window of HQ_LIMIT_WINDOW_NS in which it was the most */
	HQ_LIMIT_GIVEN_BYTES,
	HQ_LIMIT_STEP_NS,   /* its longest request: how long it may have been off its CPU */
	HQ_LIMIT_OLDEST_NS, /* age of the oldest figure that it went by */
	HQ_LIMIT_BACK,      /* figures that were older than the one before */
	HQ_LIMIT_CHECKS,    /* made in a row, and what they took */
	HQ_LIMIT_CHECKS_CPU_NS,
	HQ_LIMIT_ROW_CPU_NS, /* for each row, in its cheapest round; 0: none */
	HQ_LIMIT_WORDS
};

#define HQ_LIMIT_WINDOW_NS 10000000ull

/* One host thread; one writer, that thread. */
struct hq_wire_worker {
	_Atomic uint32_t tid;
	_Atomic uint32_t finished; /* 1: has run and released everything */
	_Atomic uint64_t ops; /* operations completed: the progress that the watchdog watches */
	_Atomic uint64_t mallocs, frees, reallocs, nulls;
	_Atomic uint64_t
		requested_bytes; /* live now; may wrap below 0 when others' blocks are freed: sum */
	_Atomic uint64_t children;    /* of fork, that have ended */
	_Atomic uint64_t freed_bytes; /* ever */
	/* A signal handler that allocates: began, ended, was answered NULL, saw its block changed
	 */
	_Atomic uint64_t signals_taken, signals_done, signal_nulls, signal_damaged;
	/* The most that may have been live while an allocation was refused, and the bytes asked
	 * for, at the NULL where that was least; 0: none, or not noted */
	_Atomic uint64_t refused_at_bytes;
	_Atomic uint64_t arena_looks;   /* how often the allocator said which arena serves it */
	_Atomic uint64_t faults_missed; /* operations given up because of a NULL */
	_Atomic uint64_t lives;         /* threads that came and went for this one */
	_Atomic uint64_t last_null_ns;  /* CLOCK_MONOTONIC of the last NULL; 0: none */
	/* Bytes that a workload got which takes all it can, in its best and in its last round. */
	_Atomic uint64_t had_most_bytes, had_last_bytes;
	/* Blocks that were weighed: what was asked for, and what malloc_usable_size says. */
	_Atomic uint64_t weighed_bytes, usable_bytes;
	_Atomic uint64_t limit[HQ_LIMIT_WORDS]; /* by enum hq_limit_word */
	struct hq_wire_cost costs[HQ_WIRE_COSTS];
	struct hq_wire_part parts[HQ_WIRE_PARTS];
	struct hq_ring ring;
	struct hq_event events[HQ_WIRE_EVENTS];
	struct hq_hist hist[HQ_LATENCY_COUNT]; /* outside the wake of faults */
	struct hq_coarse_hist bands[HQ_LATENCY_SIZED][HQ_BAND_COUNT];
	struct hq_hist faulted_hist[HQ_LATENCY_COUNT]; /* within it */
	struct hq_coarse_hist faulted_bands[HQ_LATENCY_SIZED][HQ_BAND_COUNT];
};

struct hq_wire_config {        /* controller, before the target exists */
	uint32_t mechanism;    /* enum hq_mechanism, not AUTO */
	uint32_t is_host;      /* the target is our host */
	uint32_t worker_count; /* host threads that the workload asks for */
	uint32_t reserved;
	uint64_t seed;
	uint64_t ns_per_tick;     /* time stamp counter, 32.32 fixed point; 0: use the clock */
	uint64_t deadline_ns;     /* the target gives up waiting after that long */
	char workload[32];        /* name */
	char options[1200];       /* as hq_options_print writes them */
	uint32_t guard_every;     /* one block in that many is watched; 0: no guard */
	uint32_t guard_tails;     /* 1: the guard puts a known word behind each block */
	uint64_t stats_period_ns; /* between two records of statistics; 0: none are taken */
	uint32_t
		releases; /* 1: the allocator is asked to give back everything, once all is freed */
	uint32_t notes_refusals; /* 1: what is live at a NULL is noted; costs a look at each call */
};

struct hq_wire_status {             /* target */
	_Atomic uint32_t state;     /* enum hq_target_state */
	_Atomic uint32_t preloaded; /* 1: our library was loaded and found the wire */
	_Atomic uint64_t ready_ns, worked_ns, freed_ns; /* CLOCK_MONOTONIC */
	_Atomic uint32_t stats_promises;  /* enum hq_stats_promise, of the statistics below */
	_Atomic uint32_t unwritten_error; /* errno of the last write that failed */
	_Atomic uint64_t unwritten;       /* writes to files of the workload that failed */
	_Atomic uint64_t unwatched;       /* blocks that the host could not watch for an overlap */
	char provider[256];               /* path of the object that provides malloc */
	char version[64];                 /* what it says of its version, "" if it does not */
	char failure[256];                /* one sentence */
};

/* A block that an event of the guard is about, as far as it is known; 0 and "": it is not. */
struct hq_guard_block {
	uint64_t address, size;
	uint32_t live;
	uint32_t allocated_by, freed_by; /* ids of threads */
	uint32_t reserved;
	char allocated_at[HQ_EVENT_SITE], freed_at[HQ_EVENT_SITE];
};

/* What else the guard knows of an event. */
struct hq_guard_detail {
	struct hq_guard_block block;               /* the one that was there, or the event's own */
	struct hq_guard_block before, behind;      /* its live neighbours */
	char trail[HQ_GUARD_TRAIL][HQ_EVENT_SITE]; /* the calls above the event's site */
};

struct hq_guard_entry {
	_Atomic uint32_t whole; /* 1: the event is written */
	uint32_t reserved;
	struct hq_event event;
	struct hq_guard_detail detail;
};

/*
 * What the guards of all processes of a program saw. A thread claims an entry and is its only
 * writer. The sums are added to by many.
 */
struct hq_guard_log {
	_Atomic uint32_t attached; /* programs that a guard began to watch */
	_Atomic uint32_t refused;  /* programs that bring a malloc of their own: not watched */
	_Atomic uint32_t process;  /* id of the first one: whose blocks are counted at its end */
	_Atomic uint32_t left_known;
	_Atomic uint64_t calls;      /* of the malloc family; each thread adds some at a time */
	_Atomic uint64_t unwatched;  /* blocks for which no memory was left to watch them */
	_Atomic uint64_t left_count; /* blocks still live when the first process left */
	_Atomic uint64_t left_bytes;
	_Atomic uint32_t claimed; /* entries */
	_Atomic uint32_t overrun; /* 1: an event found no entry */
	struct hq_guard_entry entries[HQ_GUARD_EVENTS];
};

/* The host's first thread is the only writer. */
struct hq_wire_stats {
	struct hq_ring ring;
	struct hq_stats_record records[HQ_STATS_ROOM];
};

struct hq_wire {
	uint64_t magic;
	uint32_t version;
	uint32_t reserved;
	uint64_t size;
	struct hq_wire_config config;
	_Atomic uint32_t
		go; /* controller: the work may begin (the gate for faults is plane.gate) */
	_Atomic uint32_t finish; /* controller: the host may leave */
	struct hq_wire_status status;
	struct hq_plane plane;
	struct hq_guard_log guard;
	struct hq_wire_stats stats;
	struct hq_wire_worker workers[HQ_WIRE_WORKERS];
};

/* Whether what was mapped is a wire, and of this version. */
static inline bool hq_wire_is_sound(const struct hq_wire *wire)
{
	return wire->magic == HQ_WIRE_MAGIC && wire->version == HQ_WIRE_VERSION &&
	       wire->size == sizeof(*wire);
}

/* What `count` workers, all there are, hold: one may free what another one asked for. */
static inline uint64_t hq_wire_live_bytes(const struct hq_wire_worker *workers, uint64_t count)
{
	uint64_t sum = 0;

	/* Pairs with the releases in hq_heap_enter and hq_heap_leave. */
	for (uint64_t i = 0; i < count && i < HQ_WIRE_WORKERS; i++)
		sum += hq_load_acquire(&workers[i].requested_bytes);
	return (int64_t)sum > 0 ? sum : 0;
}

/* ---- for the controller: wire.c ---- */

/* Makes an empty wire. *fd stays open as long as targets may start; close both with
 * hq_wire_destroy. */
int hq_wire_create(struct hq_wire **wire, int *fd);
void hq_wire_destroy(struct hq_wire *wire, int fd);

/*
 * Makes the pages resident that `worker_count` workers and the plane will write, so that they are
 * charged to the controller and not to a limit on the target.
 */
int hq_wire_populate(struct hq_wire *wire, uint32_t worker_count);

/* ---- for the host: wire_attach.c (preloaded libraries have wire_raw.h, without libc) ---- */

/* Maps the wire named by the environment. 0 or -errno. */
int hq_wire_attach(struct hq_wire **wire);

#endif
