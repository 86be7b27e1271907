/* SPDX-License-Identifier: MIT */
/*
 * The planted bugs: what each breaks, when it fires, and which checker is meant to catch it. This
 * table is the whole truth about them: the switches, the list that tools print and the self-test
 * all come from it. Checker "-" says that nothing can catch the bug yet.
 *
 * `every` is how often it strikes where it could: 1 each time, 100000 rarely. 0 stands for a bug
 * without a path to it: its trigger, or its code, does not exist yet.
 */
#ifndef FAULTY_BUGS_H
#define FAULTY_BUGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(identifier, name, class of contract, when it fires, every, checker, description). Class "proof"
 * is what makes a run prove nothing: there the right verdict is INCONCLUSIVE.
 */
#define FAULTY_BUGS(X)                                                                             \
	FAULTY_BUGS_OF_PLACE(X)                                                                    \
	FAULTY_BUGS_OF_CONTENT(X)                                                                  \
	FAULTY_BUGS_OF_ERRORS(X)                                                                   \
	FAULTY_BUGS_OF_MEMORY(X)                                                                   \
	FAULTY_BUGS_OF_PROGRESS(X)                                                                 \
	FAULTY_BUGS_OF_CPU(X)                                                                      \
	FAULTY_BUGS_OF_PROGRAMS(X)                                                                 \
	FAULTY_BUGS_OF_PROOF(X)                                                                    \
	FAULTY_BUGS_OF_STATISTICS(X)                                                               \
	FAULTY_BUGS_OF_LIMITS(X)                                                                   \
	FAULTY_BUGS_UNREACHED(X)

/* clang-format off */
#define FAULTY_BUGS_OF_PLACE(X) \
	X(OVERLAP_HALF, "overlap-half", "place", ALWAYS, 200, "overlap", "a block begins in the middle of a live one") \
	X(SAME_TWICE, "same-twice", "place", ALWAYS, 200, "overlap", "a live block is given out again") \
	X(SAME_TWICE_RARE, "same-twice-rare", "place", RARELY, 100000, "overlap", "a live block is given out again, once in 10^5 calls") \
	X(SAME_TWICE_CROSS, "same-twice-cross", "place", ACROSS_THREADS, 200, "overlap", "a live block of another thread is given out again") \
	X(SAME_TWICE_MIGRATED, "same-twice-migrated", "place", AFTER_MIGRATION, 1, "overlap", "the first call on another CPU gives the last block again") \
	X(OFF_FRONT, "off-front", "place", ALWAYS, 20, "overlap", "a block begins 16 bytes too early") \
	X(OFF_END, "off-end", "place", ALWAYS, 20, "overlap", "a size up to 8 bytes over its class is served from it") \
	X(RUN_SHORT, "run-short", "place", ALWAYS, 1, "overlap", "a large block gets one unit less than it needs") \
	X(RUN_FREE_EXTRA, "run-free-extra", "place", ALWAYS, 4, "overlap", "freeing a large block frees the beginning of the next one as well") \
	X(REALLOC_CLASS, "realloc-class", "place", ALWAYS, 4, "overlap", "realloc grows in place by a class that the place does not have") \
	X(CROSS_DOUBLE, "cross-double", "place", ACROSS_THREADS, 50, "overlap", "a block freed by another thread goes to two free lists") \
	X(CENTRAL_RACE, "central-race", "place", ACROSS_THREADS, 1, "overlap", "the shared free lists are used without their lock") \
	X(MISALIGNED, "misaligned", "alignment", ALWAYS, 50, "alignment", "a block of malloc is off by 8") \
	X(MISALIGNED_CLASS, "misaligned-class", "alignment", ALWAYS, 1, "alignment", "one size class only is off by 8") \
	X(MISALIGNED_PAGE, "misaligned-page", "alignment", ALWAYS, 1, "alignment", "an alignment of 4096 is served as 2048") \
	X(MISALIGNED_LARGE, "misaligned-large", "alignment", ALWAYS, 1, "alignment", "alignment is forgotten for large blocks") \
	X(MISALIGNED_REALLOC, "misaligned-realloc", "alignment", ALWAYS, 10, "alignment", "a block that realloc moved is off by 8") \
	X(USABLE_SMALL, "usable-small", "usable size", ALWAYS, 1, "usable-size", "the usable size is below the requested one") \
	X(USABLE_LARGE, "usable-large", "usable size", ALWAYS, 1, "usable-size", "the usable size reaches into the next block")

#define FAULTY_BUGS_OF_CONTENT(X) \
	X(STOMP_NEXT, "stomp-next", "content", ALWAYS, 50, "content", "malloc writes one byte behind the end of the block") \
	X(STOMP_LAST, "stomp-last", "content", ALWAYS, 200, "content", "malloc flips a bit of the block it gave before") \
	X(STOMP_RARE, "stomp-rare", "content", RARELY, 100000, "content", "malloc flips a bit of the block it gave before, once in 10^5 calls") \
	X(LATE_WRITE, "late-write", "content", ALWAYS, 20, "content", "a block is written to some time after it was freed") \
	X(LATE_WRITE_CROSS, "late-write-cross", "content", ACROSS_THREADS, 20, "content", "a block is written to some time after another thread freed it") \
	X(PURGE_EXTRA, "purge-extra", "content", ALWAYS, 1, "content", "giving pages back takes one unit of a live neighbour along") \
	X(CALLOC_DIRTY, "calloc-dirty", "zero", ALWAYS, 50, "calloc-zero", "calloc leaves one byte as it was") \
	X(CALLOC_DIRTY_TAIL, "calloc-dirty-tail", "zero", ALWAYS, 1, "calloc-zero", "calloc clears no more than the first 4096 bytes") \
	X(CALLOC_DIRTY_FAILED, "calloc-dirty-failed", "zero", AFTER_FAILURE, 1, "calloc-zero", "pages count as zero after a purge, also if it failed") \
	X(CALLOC_DIRTY_LIED, "calloc-dirty-lied", "zero", AFTER_LIE, 1, "zero-proven", "pages count as zero after a purge that claims success") \
	X(CALLOC_DIRTY_CROSS, "calloc-dirty-cross", "zero", ACROSS_THREADS, 1, "calloc-zero", "calloc does not clear what another thread freed") \
	X(REALLOC_TAIL, "realloc-tail", "realloc", ALWAYS, 10, "realloc", "realloc does not copy the last bytes") \
	X(REALLOC_SHRINK, "realloc-shrink", "realloc", ALWAYS, 10, "realloc", "realloc damages the first byte of a block that becomes smaller") \
	X(REALLOC_FREES_OLD, "realloc-frees-old", "realloc", AFTER_FAILURE, 1, "realloc", "realloc frees the old block although it fails")

#define FAULTY_BUGS_OF_ERRORS(X) \
	X(NULL_SPURIOUS, "null-spurious", "errors", ALWAYS, 1000, "expect", "malloc says NULL though there is memory") \
	X(NULL_RARE, "null-rare", "errors", RARELY, 100000, "expect", "malloc says NULL though there is memory, once in 10^5 calls") \
	X(NULL_QUIET, "null-quiet", "errors", AFTER_FAILURE, 1, "null-errno", "NULL comes without an errno") \
	X(NULL_WRONG, "null-wrong", "errors", AFTER_FAILURE, 1, "null-errno", "NULL comes with EAGAIN") \
	X(MEMALIGN_WRONG, "memalign-wrong", "errors", AFTER_FAILURE, 1, "null-errno", "posix_memalign fails with -1") \
	X(ERRNO_FREE, "errno-free", "errors", ALWAYS, 100, "errno", "free changes errno") \
	X(ERRNO_PURGE, "errno-purge", "errors", AFTER_FAILURE, 1, "errno", "free leaves the errno of a failed purge") \
	X(PURGE_NULL, "purge-null", "errors", AFTER_FAILURE, 1, "purge-harmless", "a refused purge is answered with NULL to the next request") \
	X(EAGAIN_SPIN, "eagain-spin", "errors", AFTER_FAILURE, 1, "survived", "a purge is repeated as long as it is answered with EAGAIN") \
	X(MMAP_STORM, "mmap-storm", "errors", AFTER_FAILURE, 1, "bounded-retry", "a refused mmap is repeated a thousand times") \
	X(NEVER_AGAIN, "never-again", "errors", AFTER_FAILURE, 1, "recovers", "after a refused mmap the kernel is never asked again") \
	X(FIRST_MMAP_CRASH, "first-mmap-crash", "errors", AFTER_FAILURE, 1, "survived", "crashes when the first mmap of a thread is refused") \
	X(REFUSAL_ABORT, "refusal-abort", "errors", AFTER_FAILURE, 1, "survived", "aborts when mmap is refused") \
	X(REFUSAL_LOCKED, "refusal-locked", "errors", AFTER_FAILURE, 1, "survived", "keeps a lock when mmap is refused") \
	X(PRESSURE_CRASH, "pressure-crash", "errors", UNDER_PRESSURE, 1, "survived", "crashes at the fifth refused mmap in a row")

#define FAULTY_BUGS_OF_MEMORY(X) \
	X(LOST_FREE, "lost-free", "memory", ALWAYS, 4, "idle-falls", "every fourth freed block is forgotten") \
	X(LOST_FREE_CROSS, "lost-free-cross", "memory", ACROSS_THREADS, 1, "who-frees", "blocks freed by another thread are forgotten") \
	X(LOST_EXIT, "lost-exit", "memory", AT_THREAD_EXIT, 1, "threads-leave-nothing", "the cache of a thread is forgotten when it ends") \
	X(LOST_UNMAP, "lost-unmap", "memory", AFTER_FAILURE, 1, "release-atomic", "a huge block whose munmap was refused is forgotten") \
	X(LOST_PURGE, "lost-purge", "memory", AFTER_FAILURE, 1, "release-atomic", "pages whose purge was refused are never purged again") \
	X(LOST_REALLOC, "lost-realloc", "memory", ALWAYS, 1, "expect", "realloc does not free the block it moved from") \
	X(KEPT_FOREVER, "kept-forever", "memory", ALWAYS, 1, "idle-falls", "free pages are never given back") \
	X(DECAY_ON_CALL, "decay-on-call", "memory", ALWAYS, 1, "idle-falls", "free pages are given back only while calls come in") \
	X(MUZZY_FOREVER, "muzzy-forever", "memory", ALWAYS, 1, "lazy-free", "free pages are marked lazily free and never taken from there") \
	X(CACHE_UNBOUNDED, "cache-unbounded", "memory", ALWAYS, 1, "cache-bounded", "the cache of a thread has no bound") \
	X(CACHE_STRANDED, "cache-stranded", "memory", AFTER_MIGRATION, 1, "expect", "a cache is left behind when its thread comes to another CPU") \
	X(SILENT_OWNER, "silent-owner", "memory", ACROSS_THREADS, 1, "who-frees", "blocks freed by another thread wait until the one that took them calls again") \
	X(SPAN_FORGOTTEN, "span-forgotten", "memory", ALWAYS, 1, "fragmentation", "what is free in a page that was full is never used again") \
	X(PURGE_UNALIGNED, "purge-unaligned", "memory", ALWAYS, 1, "page-size", "free pages are given back with a length that is no multiple of the page") \
	X(TRIM_NOTHING, "trim-nothing", "memory", ALWAYS, 1, "release-works", "the call that gives memory back says that it did, and does nothing") \
	X(LOST_SLOWLY, "lost-slowly", "memory", RARELY, 10000, "steady", "a freed block is forgotten, once in 10^4 frees") \
	X(PURGE_EAGER, "purge-eager", "memory", ALWAYS, 1, "purge-path", "free pages are given back at once: a storm of page faults") \
	X(SPACE_LEAK, "space-leak", "memory", ALWAYS, 1, "space-bounded", "address space of huge blocks is never given back") \
	X(VMA_EXPLOSION, "vma-explosion", "memory", ALWAYS, 1, "vma-economy", "each run of pages brings a guard mapping of its own, for ever") \
	X(THREAD_MAPPING, "thread-mapping", "memory", ALWAYS, 1, "threads-leave-nothing", "what was mapped for a thread stays mapped when it ends")

#define FAULTY_BUGS_OF_PROGRESS(X) \
	X(PURGE_LOCKED, "purge-locked", "latency", ALWAYS, 1, "purge-path", "pages are given back under the lock that malloc needs") \
	X(SPIKE, "spike", "latency", ALWAYS, 100, "expect", "every hundredth call takes 5 ms") \
	X(QUADRATIC, "quadratic", "latency", ALWAYS, 1, "hole-cost", "free walks a list of all that is free") \
	X(DEADLOCK, "deadlock", "progress", ACROSS_THREADS, 1, "survived", "two locks are taken in either order") \
	X(LOST_WAKEUP, "lost-wakeup", "progress", ACROSS_THREADS, 1, "survived", "who goes to sleep at a lock leaves no mark, so that nobody wakes it") \
	X(LIVELOCK, "livelock", "progress", ALWAYS, 5000, "survived", "malloc waits for something that never comes") \
	X(ABORTS, "aborts", "progress", RARELY, 100000, "survived", "an assertion fails once in 10^5 calls") \
	X(CRASH_CROSS, "crash-cross", "progress", ACROSS_THREADS, 5000, "survived", "dereferences NULL when it frees a block of another thread") \
	X(CRASH_EXIT, "crash-exit", "progress", AT_THREAD_EXIT, 1, "survived", "dereferences NULL when a thread ends") \
	X(PROCESS_LEFT, "process-left", "process", AT_THREAD_EXIT, 1, "no-residue", "a process is made when a thread ends, and outlives everything") \
	X(SIGNAL_DEADLOCK, "signal-deadlock", "signals", IN_A_HANDLER, 1, "re-entrancy", "a call from a signal handler waits for the call that it interrupted") \
	X(SIGNAL_NULL, "signal-null", "signals", IN_A_HANDLER, 1, "re-entrancy", "a call from a signal handler inside the allocator is answered NULL") \
	X(FORK_DATA, "fork-data", "fork", AFTER_FORK, 1, "fork-safe", "the child of a fork finds a byte of each large block changed") \
	X(FORK_PARENT, "fork-parent", "fork", AFTER_FORK, 5, "survived", "a lock taken for fork stays locked in the parent") \
	X(FORK_UNPREPARED, "fork-unprepared", "fork", AFTER_FORK, 1, "fork-safe", "fork does not wait for the lock of pages: the child may inherit it locked") \
	X(FORK_LOCKED, "fork-locked", "fork", AFTER_FORK, 1, "survived", "a lock taken for fork stays locked in the child") \
	X(FORK_CRASH, "fork-crash", "fork", AFTER_FORK, 1, "survived", "the child of a fork crashes when it allocates")

#define FAULTY_BUGS_OF_CPU(X) \
	X(CPU_INDEX, "cpu-index", "cpu", ON_A_NEW_CPU, 1, "cpu-identity", "a thread on a CPU beyond the count gets an arena beyond the count") \
	X(CPU_UNBOUNDED, "cpu-unbounded", "cpu", ON_A_NEW_CPU, 1, "survived", "the number of the CPU is used as an index without a bound")

#define FAULTY_BUGS_OF_PROGRAMS(X) \
	X(SAME_TWICE_QUIET, "same-twice-quiet", "place", ALWAYS, 1, "overlap", "a live block is given out again to a program that writes to neither") \
	X(PROGRAM_TWICE, "program-twice", "program", ALWAYS, 1, "program-free", "the program frees a block twice") \
	X(PROGRAM_INSIDE, "program-inside", "program", ALWAYS, 1, "program-free", "the program frees an address inside a block") \
	X(PROGRAM_BEHIND, "program-behind", "program", ALWAYS, 1, "program-tail", "the program writes one byte behind a block")

#define FAULTY_BUGS_OF_PROOF(X) \
	X(CALL_NEVER_MADE, "call-never-made", "proof", ALWAYS, 1, "injected", "pages are never given back, so nothing is refused") \
	X(NULL_ALWAYS, "null-always", "proof", ALWAYS, 1, "progress", "every call says NULL, so nothing is done") \
	X(WATCHER_STARVED, "watcher-starved", "proof", ALWAYS, 1, "recorded", "the kernel gives no memory to whoever watches")

#define FAULTY_BUGS_OF_STATISTICS(X) \
	X(STATS_DRIFT, "stats-drift", "statistics", AFTER_FAILURE, 1, "tracking-corrects", "a refused purge is subtracted from the dirty bytes") \
	X(STATS_NEGATIVE, "stats-negative", "statistics", ACROSS_THREADS, 1, "counters-sane", "a block freed by another thread is subtracted twice") \
	X(BACKGROUND_CLAIMED, "background-claimed", "statistics", ALWAYS, 1, "mode-true", "a background thread is counted that was never started")

#define FAULTY_BUGS_OF_LIMITS(X) \
	X(SHRINK_BESIDE, "shrink-beside", "pressure", ALWAYS, 1, "pressure-effective", "giving memory back leaves alone the free pages that its figure counts") \
	X(LIMIT_LATE, "limit-late", "limit", UNDER_PRESSURE, 1, "overshoot", "what is handed out is charged against the limit afterwards") \
	X(LIMIT_UNPURGED, "limit-unpurged", "limit", UNDER_PRESSURE, 1, "oom-graded", "the limit refuses although free pages could be given back") \
	X(LIMIT_STALE, "limit-stale", "limit", UNDER_PRESSURE, 1, "overshoot", "the limit is held against a figure that is up to 50 ms old")

#define FAULTY_BUGS_UNREACHED(X) \
	X(CALLOC_WRAP, "calloc-wrap", "sizes", ALWAYS, 1, "size-wrap", "the product of calloc wraps around") \
	X(ZERO_NULL, "zero-null", "sizes", ALWAYS, 3, "zero-size", "every third malloc(0) says NULL") \
	X(ALIGNED_GARBAGE, "aligned-garbage", "errors", ALWAYS, 1, "refusal", "posix_memalign refuses an alignment and sets the pointer all the same")
/* clang-format on */

enum faulty_bug {
#define X(identifier, ...) FAULTY_##identifier,
	FAULTY_BUGS(X)
#undef X
		FAULTY_BUG_COUNT
};

enum faulty_when {
	FAULTY_ALWAYS_WHEN,
	FAULTY_RARELY_WHEN,
	FAULTY_ACROSS_THREADS_WHEN,
	FAULTY_AFTER_FAILURE_WHEN,
	FAULTY_AFTER_LIE_WHEN,
	FAULTY_UNDER_PRESSURE_WHEN,
	FAULTY_AFTER_MIGRATION_WHEN,
	FAULTY_IN_A_HANDLER_WHEN,
	FAULTY_ON_A_NEW_CPU_WHEN,
	FAULTY_AFTER_FORK_WHEN,
	FAULTY_AT_THREAD_EXIT_WHEN,
};

struct faulty_row {
	const char *name;
	const char *contract;
	enum faulty_when when;
	uint32_t every;
	const char *checker;
	const char *help;
};

extern const struct faulty_row faulty_rows[FAULTY_BUG_COUNT];
const char *faulty_when_name(enum faulty_when when);

/* Switches on "name,name". 0, or -1 with the nearest name in *nearest and the unknown one in *word.
 */
int faulty_choose(const char *names, char word[64], const char **nearest);
void faulty_choose_none(void);

/* Where fires are counted from now on: a file that outlives a crash. Failing is not an error. */
void faulty_count_into(const char *path);

/* True when the bug is switched on: for bugs that are a way of doing things. */
bool faulty_is_on(enum faulty_bug bug);

/*
 * Lets the first thread of a process meet bugs as well, once it has passed that many opportunities.
 * 0: never, which is the default.
 */
void faulty_spare_first(uint32_t opportunities);

/*
 * True when the bug strikes now: it is on, this is not the first thread of the process (so that
 * programs start), and it is the turn of this opportunity. Counts the fire.
 */
bool faulty_strikes(enum faulty_bug bug);

/* Counts a fire of a bug that is on. Returns true. */
bool faulty_fire(enum faulty_bug bug);

/* On and in any thread: counts the fire. For what happens in the background or after fork. */
bool faulty_strikes_anywhere(enum faulty_bug bug);

/* How often any bug fired. */
uint64_t faulty_fired(void);

/* A line a bug, fields separated by tabs: name, class, when, checker, description. */
const char *faulty_list(void);
const char *faulty_version(void);

#endif
