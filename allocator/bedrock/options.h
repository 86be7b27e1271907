/* SPDX-License-Identifier: MIT */
/*
 * The options, and the strings they are set by.
 *
 * The string is "name:value,name:value". Names are jemalloc's where the meaning is the same. A
 * name that is unknown or a value that is wrong is named once on stderr and ignored: a program
 * must not fail to start because of its allocator's options.
 */
#ifndef BEDROCK_OPTIONS_H
#define BEDROCK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocator/bedrock/atomic.h"

#define BEDROCK_ARENAS_MAX 256u

/* Who shares an arena. */
enum bedrock_percpu {
	/* Each thread keeps one, whatever CPU it runs on. */
	BEDROCK_PERCPU_DISABLED,
	/* The threads on one CPU. */
	BEDROCK_PERCPU_CPU,
	/* The threads on one core, that is on its hyper-threads. */
	BEDROCK_PERCPU_CORE,
};

/* When blocks are filled with a pattern. */
enum bedrock_junk {
	BEDROCK_JUNK_FALSE,
	BEDROCK_JUNK_TRUE,
	BEDROCK_JUNK_ALLOC,
	BEDROCK_JUNK_FREE,
};

/* What realloc does with a block and a size of 0. */
enum bedrock_zero_realloc {
	BEDROCK_ZERO_REALLOC_FREE,
	BEDROCK_ZERO_REALLOC_ALLOC,
};

/* What the kernel is told about huge pages. */
enum bedrock_thp {
	/* Nothing: its own rule holds. */
	BEDROCK_THP_DEFAULT,
	/* Huge blocks may have them. */
	BEDROCK_THP_ALWAYS,
	BEDROCK_THP_NEVER,
};

struct bedrock_options {
	/* Age at which unused dirty pages are given up; -1 never, 0 at once. */
	_Atomic(int64_t) dirty_decay_ms;
	/* Time that pages then spend in MADV_FREE; -1 for ever, 0 none. */
	_Atomic(int64_t) muzzy_decay_ms;
	/* Let a thread of our own do the decay while the program sleeps. */
	_Atomic(bool) is_background_thread;
	/* Number of arenas; 0 stands for one per usable CPU. */
	int64_t arena_count;
	/* How the arena is chosen: enum bedrock_percpu. */
	int64_t percpu_arena;
	bool is_tcache;
	/* Largest request that thread caches serve. */
	int64_t tcache_max_bytes;
	/* Huge blocks from this size on are never kept for reuse; 0 turns the rule off. */
	int64_t oversize_threshold_bytes;
	/* Bytes, 0 for none; below 0, minus a percentage of the control group's limit. */
	int64_t memory_limit;
	/* Bytes, 0 for the default; below 0, minus a percentage of the memory limit. */
	int64_t soft_limit;
	/* Let that thread give memory back early while others wait for some. */
	bool is_pressure;
	/* enum bedrock_thp. */
	int64_t thp;
	/* Keep the address space of chunks that are not in use. */
	bool is_retain;
	/* enum bedrock_zero_realloc. */
	int64_t zero_realloc;
	/* Every block is looked up when it is freed, resized or asked about. */
	bool is_check_small;
	/* Links inside of free blocks are mixed with a secret. */
	bool is_protect_links;
	/* Freed memory is cleared. */
	bool is_zero_on_free;
	/* One of so many blocks lies between pages that nobody may touch; 0 for none. */
	int64_t guard_pages;
	/* enum bedrock_junk. */
	int64_t junk;
	/* Pages that the kernel says it has dropped are zero. */
	bool is_trust_madvise;
	/* A refused entry ends the process. */
	bool is_abort_conf;
	/* Each accepted entry is named on stderr. */
	bool is_confirm_conf;
	/* A tool that looks on is told of every block: see watch.h. */
	bool is_annotate;
	/* The statistics are printed when the process ends. */
	bool is_stats_print;
};

enum bedrock_option_kind {
	/* An int64_t in [least, most]. */
	BEDROCK_OPTION_INTEGER,
	/* A bool. */
	BEDROCK_OPTION_FLAG,
	/* An int64_t, the index of one of the words. */
	BEDROCK_OPTION_WORD,
	/* An int64_t: a size, a percentage, or the word that stands for 100 %. */
	BEDROCK_OPTION_LIMIT,
};

/* One option; words ends with NULL. */
struct bedrock_option {
	const char *name;
	enum bedrock_option_kind kind;
	size_t offset;
	int64_t least;
	int64_t most;
	const char *const *words;
};

/* A configuration string, and what it is called in messages. */
struct bedrock_options_source {
	const char *origin;
	const char *text;
	/* Refusals are not named, as they will be another time. */
	bool is_quiet;
	/* Each accepted entry is named. */
	bool is_confirmed;
};

/* Fill in the defaults. */
void bedrock_options_init(struct bedrock_options *options);

/* Apply a configuration string. -> how many of its entries were refused. */
unsigned bedrock_options_apply(struct bedrock_options *options,
			       const struct bedrock_options_source *source);

/* The same for a string from BEDROCK_CONF. */
unsigned bedrock_options_parse(struct bedrock_options *options, const char *text);

/* Option number `index` in the order of their names, or NULL beyond the last. */
const struct bedrock_option *bedrock_options_at(size_t index);

/* The option of that name, or NULL. */
const struct bedrock_option *bedrock_options_find(const char *name, size_t name_bytes);

/* The value of an INTEGER, WORD or LIMIT, and of a FLAG as 0 or 1. */
int64_t bedrock_options_get(const struct bedrock_options *options,
			    const struct bedrock_option *option);

#endif
