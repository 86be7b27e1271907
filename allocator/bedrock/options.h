/* SPDX-License-Identifier: MIT */
/*
 * The options of BEDROCK_CONF.
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

#define BEDROCK_ARENAS_MAX 256u

struct bedrock_options {
	/* Age at which unused dirty pages are given up; -1 never, 0 at once. */
	int64_t dirty_decay_ms;
	/* Time that pages then spend in MADV_FREE; -1 for ever, 0 none. */
	int64_t muzzy_decay_ms;
	/* Let a thread of our own do the decay while the program sleeps. */
	bool is_background_thread;
	/* Number of arenas; 0 stands for one per usable CPU. */
	int64_t arena_count;
	/* Choose the arena by CPU; otherwise each thread keeps one. */
	bool is_percpu_arena;
	bool is_tcache;
	/* Largest request that thread caches serve. */
	int64_t tcache_max_bytes;
	/* Huge blocks from this size on are never kept for reuse; 0 turns the rule off. */
	int64_t oversize_threshold_bytes;
	/* Bytes, 0 for none; below 0, minus a percentage of the control group's limit. */
	int64_t memory_limit;
	/* Bytes, 0 for the default; below 0, minus a percentage of the memory limit. */
	int64_t soft_limit;
	/* Keep the address space of chunks that are not in use. */
	bool is_retain;
};

/* Fill in the defaults. */
void bedrock_options_init(struct bedrock_options *options);

/* Apply a configuration string. -> how many of its entries were refused. */
unsigned bedrock_options_parse(struct bedrock_options *options, const char *text);

#endif
