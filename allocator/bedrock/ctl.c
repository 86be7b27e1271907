/* SPDX-License-Identifier: MIT */
/*
 * bedrock_ctl: one table of names, each with the function that serves it.
 *
 * Names, types and errors are those of jemalloc's mallctl. In a pattern `*` stands for the number
 * of an arena, or for all of them, spelt "all" or 4096. Nothing here allocates.
 */
#include "allocator/bedrock/ctl.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/thread.h"

/* jemalloc's MALLCTL_ARENAS_ALL. */
#define BEDROCK_CTL_ALL 4096u
/* The least that any block is aligned to, and sizes are a multiple of. */
#define BEDROCK_CTL_QUANTUM_BYTES 16u
#define BEDROCK_CTL_DECAY_MS_MAX  INT64_C(1000000000)

/* What the caller passed, and the arena that the name speaks of. */
struct bedrock_ctl_call {
	struct bedrock_heap *heap;
	void *old_value;
	size_t *old_bytes;
	const void *new_value;
	size_t new_bytes;
	uint32_t arena;
};

/* A name; `offset` is for the functions that serve several. */
struct bedrock_ctl_node {
	const char *pattern;
	int (*serve)(const struct bedrock_ctl_call *call, size_t offset);
	size_t offset;
};

void bedrock_ctl_init(struct bedrock_ctl *ctl)
{
	bedrock_lock_init(&ctl->lock, BEDROCK_RANK_CTL);
}

/* Hand out a value. Of a place of another size as much as fits is written, and that is EINVAL. */
static int bedrock_ctl_read(const struct bedrock_ctl_call *call, const void *value, size_t bytes)
{
	if (!call->old_value || !call->old_bytes)
		return 0;
	size_t room_bytes = *call->old_bytes;
	size_t copied_bytes = room_bytes < bytes ? room_bytes : bytes;

	memcpy(call->old_value, value, copied_bytes);
	*call->old_bytes = copied_bytes;
	return room_bytes == bytes ? 0 : EINVAL;
}

static int bedrock_ctl_read_only(const struct bedrock_ctl_call *call, const void *value,
				 size_t bytes)
{
	if (call->new_value || call->new_bytes)
		return EPERM;
	return bedrock_ctl_read(call, value, bytes);
}

/* Fetch the new value, if there is one. */
static int bedrock_ctl_fetch(const struct bedrock_ctl_call *call, void *value, size_t bytes)
{
	if (!call->new_value)
		return call->new_bytes ? EINVAL : 0;
	if (call->new_bytes != bytes)
		return EINVAL;
	memcpy(value, call->new_value, bytes);
	return 0;
}

/* For names that do something and have no value. */
static bool bedrock_ctl_has_value(const struct bedrock_ctl_call *call)
{
	return call->old_value || call->old_bytes || call->new_value || call->new_bytes;
}

static void bedrock_ctl_refresh(struct bedrock_ctl *ctl)
{
	struct bedrock_stats stats;

	/* Outside of the lock: it takes others. */
	bedrock_stats_read(&stats);
	bedrock_lock_take(&ctl->lock);
	ctl->stats = stats;
	ctl->epoch++;
	bedrock_lock_give(&ctl->lock);
}

static uint64_t bedrock_ctl_epoch_now(struct bedrock_ctl *ctl)
{
	bedrock_lock_take(&ctl->lock);
	uint64_t epoch = ctl->epoch;

	bedrock_lock_give(&ctl->lock);
	return epoch;
}

static int bedrock_ctl_version(const struct bedrock_ctl_call *call, size_t offset)
{
	const char *version = bedrock_version();

	(void)offset;
	return bedrock_ctl_read_only(call, &version, sizeof(version));
}

static int bedrock_ctl_epoch(const struct bedrock_ctl_call *call, size_t offset)
{
	struct bedrock_ctl *ctl = &call->heap->ctl;
	uint64_t ignored = 0;
	int rc = bedrock_ctl_fetch(call, &ignored, sizeof(ignored));

	(void)offset;
	if (rc)
		return rc;
	if (call->new_value)
		bedrock_ctl_refresh(ctl);
	uint64_t epoch = bedrock_ctl_epoch_now(ctl);

	return bedrock_ctl_read(call, &epoch, sizeof(epoch));
}

static int bedrock_ctl_stats(const struct bedrock_ctl_call *call, size_t offset)
{
	struct bedrock_ctl *ctl = &call->heap->ctl;
	uint64_t number;

	if (bedrock_ctl_epoch_now(ctl) == 0)
		bedrock_ctl_refresh(ctl);
	bedrock_lock_take(&ctl->lock);
	memcpy(&number, (const char *)&ctl->stats + offset, sizeof(number));
	bedrock_lock_give(&ctl->lock);
	size_t bytes = (size_t)number;

	return bedrock_ctl_read_only(call, &bytes, sizeof(bytes));
}

static int bedrock_ctl_narenas(const struct bedrock_ctl_call *call, size_t offset)
{
	unsigned count = bedrock_load_relaxed(&call->heap->arena_count);

	(void)offset;
	return bedrock_ctl_read_only(call, &count, sizeof(count));
}

/* A size that never changes. */
static int bedrock_ctl_constant(const struct bedrock_ctl_call *call, size_t offset)
{
	return bedrock_ctl_read_only(call, &offset, sizeof(offset));
}

/* From now on for all arenas. Shortened times count at once for what waits already. */
static void bedrock_ctl_set_decay(struct bedrock_heap *heap, _Atomic(int64_t) *field, int64_t ms)
{
	bedrock_store_relaxed(field, ms);
	for (uint32_t i = 0; i < bedrock_load_relaxed(&heap->arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(heap, i);

		for (int kind = 0; arena && kind < BEDROCK_REST_COUNT; kind++)
			bedrock_store_relaxed(&arena->decay.stages[kind].next_ns, 0);
	}
	bedrock_background_wake(&heap->background);
}

static int bedrock_ctl_decay_ms(const struct bedrock_ctl_call *call, size_t offset)
{
	_Atomic(int64_t) *field = (void *)((char *)&call->heap->options + offset);
	ssize_t old_ms = (ssize_t)bedrock_load_relaxed(field);
	ssize_t new_ms = old_ms;
	int rc = bedrock_ctl_fetch(call, &new_ms, sizeof(new_ms));

	if (rc)
		return rc;
	if (new_ms < -1 || new_ms > BEDROCK_CTL_DECAY_MS_MAX)
		return EFAULT;
	rc = bedrock_ctl_read(call, &old_ms, sizeof(old_ms));
	if (!rc && call->new_value)
		bedrock_ctl_set_decay(call->heap, field, new_ms);
	return rc;
}

static int bedrock_ctl_background_thread(const struct bedrock_ctl_call *call, size_t offset)
{
	_Atomic(bool) *field = &call->heap->options.is_background_thread;
	bool was_wanted = bedrock_load_relaxed(field);
	bool is_wanted = was_wanted;
	int rc = bedrock_ctl_fetch(call, &is_wanted, sizeof(is_wanted));

	(void)offset;
	if (!rc)
		rc = bedrock_ctl_read(call, &was_wanted, sizeof(was_wanted));
	if (rc || !call->new_value)
		return rc;
	bedrock_store_relaxed(field, is_wanted);
	if (!is_wanted)
		bedrock_background_wake(&call->heap->background);
	return 0;
}

static int bedrock_ctl_arena_pass(const struct bedrock_ctl_call *call, bool is_forced)
{
	struct bedrock_heap *heap = call->heap;
	uint64_t now_ns = bedrock_os_now_ns();

	if (bedrock_ctl_has_value(call))
		return EPERM;
	if (call->arena == BEDROCK_CTL_ALL) {
		if (is_forced)
			bedrock_decay_purge(heap);
		else
			bedrock_decay_all(heap, now_ns);
		return 0;
	}
	struct bedrock_arena *arena = bedrock_heap_arena_at(heap, call->arena);

	if (arena)
		bedrock_decay_arena(heap, arena, now_ns, is_forced);
	return 0;
}

static int bedrock_ctl_arena_purge(const struct bedrock_ctl_call *call, size_t offset)
{
	(void)offset;
	return bedrock_ctl_arena_pass(call, true);
}

static int bedrock_ctl_arena_decay(const struct bedrock_ctl_call *call, size_t offset)
{
	(void)offset;
	return bedrock_ctl_arena_pass(call, false);
}

static int bedrock_ctl_thread_arena(const struct bedrock_ctl_call *call, size_t offset)
{
	uint32_t count;
	unsigned old_index = bedrock_thread_arena(&count);
	unsigned new_index = old_index;
	int rc = bedrock_ctl_fetch(call, &new_index, sizeof(new_index));

	(void)offset;
	if (rc)
		return rc;
	if (new_index >= count)
		return EFAULT;
	/* Where the CPU decides, a thread has no arena of its own. */
	if (call->new_value && call->heap->options.percpu_arena != BEDROCK_PERCPU_DISABLED)
		return EPERM;
	rc = bedrock_ctl_read(call, &old_index, sizeof(old_index));
	if (rc || !call->new_value)
		return rc;
	return bedrock_thread_set_index(new_index) ? 0 : EAGAIN;
}

static int bedrock_ctl_thread_flush(const struct bedrock_ctl_call *call, size_t offset)
{
	(void)offset;
	if (bedrock_ctl_has_value(call))
		return EPERM;
	if (!call->heap->options.is_tcache)
		return EFAULT;
	bedrock_cache_flush();
	return 0;
}

#define BEDROCK_CTL_STATS(field)  bedrock_ctl_stats, offsetof(struct bedrock_stats, field)
#define BEDROCK_CTL_OPTION(field) offsetof(struct bedrock_options, field)

static const struct bedrock_ctl_node bedrock_ctl_table[] = {
	{ "arena.*.decay", bedrock_ctl_arena_decay, 0 },
	{ "arena.*.purge", bedrock_ctl_arena_purge, 0 },
	{ "arenas.dirty_decay_ms", bedrock_ctl_decay_ms, BEDROCK_CTL_OPTION(dirty_decay_ms) },
	{ "arenas.muzzy_decay_ms", bedrock_ctl_decay_ms, BEDROCK_CTL_OPTION(muzzy_decay_ms) },
	{ "arenas.narenas", bedrock_ctl_narenas, 0 },
	{ "arenas.page", bedrock_ctl_constant, BEDROCK_PAGE_BYTES },
	{ "arenas.quantum", bedrock_ctl_constant, BEDROCK_CTL_QUANTUM_BYTES },
	{ "background_thread", bedrock_ctl_background_thread, 0 },
	{ "epoch", bedrock_ctl_epoch, 0 },
	{ "stats.active", BEDROCK_CTL_STATS(active_bytes) },
	{ "stats.allocated", BEDROCK_CTL_STATS(allocated_bytes) },
	{ "stats.mapped", BEDROCK_CTL_STATS(mapped_bytes) },
	{ "stats.metadata", BEDROCK_CTL_STATS(metadata_bytes) },
	{ "stats.resident", BEDROCK_CTL_STATS(resident_bytes) },
	{ "stats.retained", BEDROCK_CTL_STATS(retained_bytes) },
	{ "thread.arena", bedrock_ctl_thread_arena, 0 },
	{ "thread.tcache.flush", bedrock_ctl_thread_flush, 0 },
	{ "version", bedrock_ctl_version, 0 },
};

#define BEDROCK_CTL_COUNT (sizeof(bedrock_ctl_table) / sizeof(bedrock_ctl_table[0]))

/* The number of an arena, "all", or 4096. -> how many characters, or 0: no such arena. */
static size_t bedrock_ctl_arena_number(struct bedrock_ctl_call *call, const char *text)
{
	uint32_t number = 0;
	size_t at = 0;

	if (strncmp(text, "all", 3) == 0) {
		call->arena = BEDROCK_CTL_ALL;
		return 3;
	}
	for (; at < 4 && text[at] >= '0' && text[at] <= '9'; at++)
		number = number * 10 + (uint32_t)(text[at] - '0');
	call->arena = number;
	if (number != BEDROCK_CTL_ALL && number >= bedrock_load_relaxed(&call->heap->arena_count))
		return 0;
	return at;
}

static bool bedrock_ctl_matches(struct bedrock_ctl_call *call, const char *pattern,
				const char *name)
{
	while (*pattern) {
		if (*pattern == '*') {
			size_t digits = bedrock_ctl_arena_number(call, name);

			if (digits == 0)
				return false;
			name += digits;
		} else if (*pattern != *name++) {
			return false;
		}
		pattern++;
	}
	return *name == '\0';
}

/* opt.NAME, in the type that jemalloc gives options of that kind. */
static int bedrock_ctl_option(const struct bedrock_ctl_call *call, const char *name)
{
	const struct bedrock_options *options = &call->heap->options;
	const struct bedrock_option *option = bedrock_options_find(name, strlen(name));

	if (!option)
		return ENOENT;
	int64_t number = bedrock_options_get(options, option);
	bool is_true = number != 0;
	unsigned count = (unsigned)number;

	switch (option->kind) {
	case BEDROCK_OPTION_FLAG:
		return bedrock_ctl_read_only(call, &is_true, sizeof(is_true));
	case BEDROCK_OPTION_WORD:
		return bedrock_ctl_read_only(call, &option->words[number],
					     sizeof(option->words[number]));
	case BEDROCK_OPTION_INTEGER:
	case BEDROCK_OPTION_LIMIT:
		break;
	}
	/* The only one that jemalloc has as unsigned. */
	if (strcmp(name, "narenas") == 0)
		return bedrock_ctl_read_only(call, &count, sizeof(count));
	return bedrock_ctl_read_only(call, &number, sizeof(number));
}

int bedrock_ctl(const char *name, void *old_value, size_t *old_bytes, const void *new_value,
		size_t new_bytes)
{
	struct bedrock_ctl_call call = {
		.heap = &bedrock_heap,
		.old_value = old_value,
		.old_bytes = old_bytes,
		.new_value = new_value,
		.new_bytes = new_bytes,
	};

	if (!name)
		return ENOENT;
	bedrock_heap_ensure(call.heap);
	if (strncmp(name, "opt.", 4) == 0)
		return bedrock_ctl_option(&call, name + 4);
	for (size_t i = 0; i < BEDROCK_CTL_COUNT; i++) {
		if (bedrock_ctl_matches(&call, bedrock_ctl_table[i].pattern, name))
			return bedrock_ctl_table[i].serve(&call, bedrock_ctl_table[i].offset);
	}
	return ENOENT;
}
