/* SPDX-License-Identifier: MIT */
/*
 * The allocators whose statistics are known, one row each. Nothing of theirs is included: a family
 * is told by its symbols, and what its functions look like is written down here.
 *
 * A number is left out where an allocator means something else by it:
 *   glibc     says nothing of what is resident; hblkhd are blocks with mappings of their own
 *   mimalloc  counts commits, the one of a thread when that has ended, and knows no blocks
 *   tcmalloc  has no pages that the kernel may take, and counts what it committed as resident
 */
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "stress/host/stats.h"

typedef void any_function(void);

static any_function *function_of(const struct hq_stats_source *source, size_t index)
{
	any_function *function;

	memcpy(&function, &source->functions[index], sizeof(function));
	return function;
}

static void set_released_bytes(struct hq_stats_record *record, uint64_t bytes)
{
	record->release = HQ_RELEASE_BYTES;
	record->released_bytes = bytes;
}

/* ---- bedrock: struct bedrock_stats as far as it is used, and room for what follows ---- */

static const char *const bedrock_symbols[] = { "bedrock_stats_read", "bedrock_purge", NULL };

enum {
	BEDROCK_ALLOCATED,
	BEDROCK_ACTIVE,
	BEDROCK_DIRTY,
	BEDROCK_MUZZY,
	BEDROCK_RETAINED,
	BEDROCK_MAPPED,
	BEDROCK_METADATA,
	BEDROCK_PURGES,
	BEDROCK_PURGED,
	BEDROCK_LAZY_PURGES,
	BEDROCK_LAZILY_PURGED,
	BEDROCK_ARENAS = 14,
	BEDROCK_CACHES = 15,
	BEDROCK_BACKGROUND = 19,
	BEDROCK_ROOM = 64
};

static void bedrock_read(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	void (*const read)(uint64_t *) = (void (*)(uint64_t *))function_of(source, 0);
	uint64_t stats[BEDROCK_ROOM] = { 0 };

	read(stats);
	hq_stats_set(record, HQ_STAT_ALLOCATED, stats[BEDROCK_ALLOCATED]);
	hq_stats_set(record, HQ_STAT_ACTIVE, stats[BEDROCK_ACTIVE]);
	hq_stats_set(record, HQ_STAT_RESIDENT,
		     stats[BEDROCK_ACTIVE] + stats[BEDROCK_DIRTY] + stats[BEDROCK_METADATA]);
	hq_stats_set(record, HQ_STAT_MAPPED, stats[BEDROCK_MAPPED]);
	hq_stats_set(record, HQ_STAT_DIRTY, stats[BEDROCK_DIRTY]);
	hq_stats_set(record, HQ_STAT_MUZZY, stats[BEDROCK_MUZZY]);
	hq_stats_set(record, HQ_STAT_ARENAS, stats[BEDROCK_ARENAS]);
	hq_stats_set(record, HQ_STAT_BACKGROUND, stats[BEDROCK_BACKGROUND]);
	hq_stats_set(record, HQ_STAT_CACHES, stats[BEDROCK_CACHES]);
	hq_stats_set(record, HQ_STAT_LAZY_PURGES, stats[BEDROCK_LAZY_PURGES]);
	hq_stats_set(record, HQ_STAT_METADATA, stats[BEDROCK_METADATA]);
	hq_stats_set(record, HQ_STAT_RETAINED, stats[BEDROCK_RETAINED]);
	hq_stats_set(record, HQ_STAT_PURGES, stats[BEDROCK_PURGES] + stats[BEDROCK_LAZY_PURGES]);
	hq_stats_set(record, HQ_STAT_PURGED, stats[BEDROCK_PURGED] + stats[BEDROCK_LAZILY_PURGED]);
}

static void bedrock_release(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	uint64_t (*const purge)(void) = (uint64_t(*)(void))function_of(source, 1);

	set_released_bytes(record, purge());
}

static const struct hq_stats_family bedrock = {
	.name = "bedrock",
	.symbols = bedrock_symbols,
	.promises = HQ_STATS_IS_TOUCHED,
	.read = bedrock_read,
	.release = bedrock_release,
};

/* ---- faulty: an array whose order is written down beside the function ---- */

static const char *const faulty_symbols[] = { "faulty_statistics_read", "faulty_release", NULL };

static void faulty_read(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	size_t (*const read)(uint64_t *, size_t) =
		(size_t(*)(uint64_t *, size_t))function_of(source, 0);
	static const enum hq_stat order[] = {
		HQ_STAT_ALLOCATED, HQ_STAT_ACTIVE, HQ_STAT_RESIDENT,   HQ_STAT_MAPPED,
		HQ_STAT_DIRTY,     HQ_STAT_MUZZY,  HQ_STAT_BACKGROUND,
	};
	const size_t room = sizeof(order) / sizeof(order[0]);
	uint64_t values[sizeof(order) / sizeof(order[0])];
	const size_t count = read(values, room);

	for (size_t i = 0; i < count && i < room; i++)
		hq_stats_set(record, order[i], values[i]);
}

static void faulty_release(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	uint64_t (*const release)(void) = (uint64_t(*)(void))function_of(source, 1);

	set_released_bytes(record, release());
}

static const struct hq_stats_family faulty = {
	.name = "faulty",
	.symbols = faulty_symbols,
	.promises = HQ_STATS_IS_ONE_MOMENT | HQ_STATS_IS_TOUCHED,
	.read = faulty_read,
	.release = faulty_release,
};

/* ---- glibc ---- */

static const char *const glibc_symbols[] = { "mallinfo2", "malloc_trim", NULL };

static void glibc_read(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	struct mallinfo2 (*const read)(void) = (struct mallinfo2(*)(void))function_of(source, 0);
	const struct mallinfo2 info = read();

	hq_stats_set(record, HQ_STAT_ALLOCATED, info.uordblks + info.hblkhd);
	hq_stats_set(record, HQ_STAT_MAPPED, info.arena + info.hblkhd);
}

static void glibc_release(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	int (*const trim)(size_t) = (int (*)(size_t))function_of(source, 1);

	record->release = trim(0) != 0 ? HQ_RELEASE_SOME : HQ_RELEASE_EMPTY;
}

static const struct hq_stats_family glibc = {
	.name = "glibc",
	.symbols = glibc_symbols,
	.promises = 0,
	.read = glibc_read,
	.release = glibc_release,
};

/* ---- jemalloc ---- */

#define JEMALLOC_ALL "4096" /* MALLCTL_ARENAS_ALL */
#define ARENAS       "stats.arenas." JEMALLOC_ALL

typedef int mallctl_function(const char *name, void *old, size_t *old_size, void *new,
			     size_t new_size);

static const char *const jemalloc_symbols[] = { "mallctl", NULL };

/* Both widths are met; the machines are little-endian, so the narrow one fills the low half. */
static bool jemalloc_get(mallctl_function *mallctl, const char *name, size_t size, uint64_t *value)
{
	*value = 0;
	return mallctl(name, value, &size, NULL, 0) == 0;
}

static void jemalloc_read_bytes(mallctl_function *mallctl, struct hq_stats_record *record)
{
	static const struct {
		const char *name;
		enum hq_stat stat;
		bool is_pages;
	} rows[] = {
		{ "stats.allocated", HQ_STAT_ALLOCATED, false },
		{ "stats.active", HQ_STAT_ACTIVE, false },
		{ "stats.resident", HQ_STAT_RESIDENT, false },
		{ "stats.mapped", HQ_STAT_MAPPED, false },
		{ "stats.metadata", HQ_STAT_METADATA, false },
		{ "stats.retained", HQ_STAT_RETAINED, false },
		{ "stats.arenas." JEMALLOC_ALL ".pdirty", HQ_STAT_DIRTY, true },
		{ "stats.arenas." JEMALLOC_ALL ".pmuzzy", HQ_STAT_MUZZY, true },
		{ "stats.arenas." JEMALLOC_ALL ".tcache_bytes", HQ_STAT_CACHED, false },
		{ "stats.background_thread.num_threads", HQ_STAT_BACKGROUND, false },
	};
	uint64_t page_bytes, value;

	if (!jemalloc_get(mallctl, "arenas.page", sizeof(size_t), &page_bytes))
		return;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (jemalloc_get(mallctl, rows[i].name, sizeof(size_t), &value))
			hq_stats_set(record, rows[i].stat,
				     rows[i].is_pages ? value * page_bytes : value);
	}
}

/* The sum over dirty and muzzy pages of what the arenas did to them. */
static void jemalloc_read_purges(mallctl_function *mallctl, struct hq_stats_record *record)
{
	uint64_t page_bytes, dirty, muzzy;

	if (jemalloc_get(mallctl, ARENAS ".dirty_nmadvise", sizeof(uint64_t), &dirty) &&
	    jemalloc_get(mallctl, ARENAS ".muzzy_nmadvise", sizeof(uint64_t), &muzzy))
		hq_stats_set(record, HQ_STAT_PURGES, dirty + muzzy);
	if (jemalloc_get(mallctl, "arenas.page", sizeof(size_t), &page_bytes) &&
	    jemalloc_get(mallctl, ARENAS ".dirty_purged", sizeof(uint64_t), &dirty) &&
	    jemalloc_get(mallctl, ARENAS ".muzzy_purged", sizeof(uint64_t), &muzzy))
		hq_stats_set(record, HQ_STAT_PURGED, (dirty + muzzy) * page_bytes);
}

/* Adds a lock's waits to the sums. Not every version has every lock. */
static void jemalloc_add_lock(mallctl_function *mallctl, const char *lock, uint64_t *waits,
			      uint64_t *waited_ns)
{
	char name[96];
	uint64_t value;

	snprintf(name, sizeof(name), "%s.num_wait", lock);
	if (jemalloc_get(mallctl, name, sizeof(uint64_t), &value))
		*waits += value;
	snprintf(name, sizeof(name), "%s.total_wait_time", lock);
	if (jemalloc_get(mallctl, name, sizeof(uint64_t), &value))
		*waited_ns += value;
}

static void jemalloc_read_locks(mallctl_function *mallctl, struct hq_stats_record *record)
{
	static const char *const locks[] = {
		"base",          "decay_dirty",      "decay_muzzy", "extent_avail", "extents_dirty",
		"extents_muzzy", "extents_retained", "large",       "tcache_list",
	};
	uint64_t bins, waits = 0, waited_ns = 0;
	char name[64];

	if (!jemalloc_get(mallctl, "arenas.nbins", sizeof(unsigned), &bins) ||
	    !jemalloc_get(mallctl, ARENAS ".mutexes.large.num_wait", sizeof(uint64_t), &waits))
		return;
	waits = 0;
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		snprintf(name, sizeof(name), ARENAS ".mutexes.%s", locks[i]);
		jemalloc_add_lock(mallctl, name, &waits, &waited_ns);
	}
	for (uint64_t bin = 0; bin < bins; bin++) {
		snprintf(name, sizeof(name), ARENAS ".bins.%u.mutex", (unsigned)bin);
		jemalloc_add_lock(mallctl, name, &waits, &waited_ns);
	}
	hq_stats_set(record, HQ_STAT_LOCK_WAITS, waits);
	hq_stats_set(record, HQ_STAT_LOCK_WAIT_NS, waited_ns);
}

static void jemalloc_read(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	mallctl_function *const mallctl = (mallctl_function *)function_of(source, 0);
	uint64_t epoch = 1, arenas;
	size_t size = sizeof(epoch);

	if (mallctl("epoch", &epoch, &size, &epoch, size) != 0)
		return;
	jemalloc_read_bytes(mallctl, record);
	jemalloc_read_purges(mallctl, record);
	jemalloc_read_locks(mallctl, record);
	if (jemalloc_get(mallctl, "arenas.narenas", sizeof(unsigned), &arenas))
		hq_stats_set(record, HQ_STAT_ARENAS, arenas);
}

static void jemalloc_release(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	mallctl_function *const mallctl = (mallctl_function *)function_of(source, 0);

	mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
	if (mallctl("arena." JEMALLOC_ALL ".purge", NULL, NULL, NULL, 0) == 0)
		record->release = HQ_RELEASE_SILENT;
}

static const struct hq_stats_family jemalloc = {
	.name = "jemalloc",
	.symbols = jemalloc_symbols,
	/* An epoch reads arena after arena, and in each the bins one by one. */
	.promises = HQ_STATS_IS_TOUCHED,
	.read = jemalloc_read,
	.release = jemalloc_release,
};

/* ---- mimalloc ---- */

static const char *const mimalloc_symbols[] = { "mi_process_info", "mi_collect", "mi_stats_merge",
						NULL };

static void mimalloc_read(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	void (*const read)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *,
			   size_t *) =
		(void (*)(size_t *, size_t *, size_t *, size_t *, size_t *, size_t *, size_t *,
			  size_t *))function_of(source, 0);
	size_t committed = 0, unused[7];

	function_of(source, 2)();
	read(&unused[0], &unused[1], &unused[2], &unused[3], &unused[4], &committed, &unused[5],
	     &unused[6]);
	hq_stats_set(record, HQ_STAT_RESIDENT, committed);
}

static void mimalloc_release(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	void (*const collect)(bool) = (void (*)(bool))function_of(source, 1);

	collect(true);
	record->release = HQ_RELEASE_SILENT;
}

static const struct hq_stats_family mimalloc = {
	.name = "mimalloc",
	.symbols = mimalloc_symbols,
	.promises = HQ_STATS_IS_SUMMED,
	.read = mimalloc_read,
	.release = mimalloc_release,
};

/* ---- tcmalloc, the one of gperftools ---- */

typedef int property_function(const char *name, size_t *value);

static const char *const tcmalloc_symbols[] = { "MallocExtension_GetNumericProperty",
						"MallocExtension_ReleaseFreeMemory", NULL };

static uint64_t tcmalloc_get(property_function *property, const char *name)
{
	size_t value = 0;

	return property(name, &value) != 0 ? value : 0;
}

static void tcmalloc_read(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	property_function *const property = (property_function *)function_of(source, 0);
	const uint64_t heap = tcmalloc_get(property, "generic.heap_size");
	const uint64_t dirty = tcmalloc_get(property, "tcmalloc.pageheap_free_bytes");
	const uint64_t unmapped = tcmalloc_get(property, "tcmalloc.pageheap_unmapped_bytes");
	const uint64_t resident = tcmalloc_get(property, "generic.total_physical_bytes");

	hq_stats_set(record, HQ_STAT_ALLOCATED,
		     tcmalloc_get(property, "generic.current_allocated_bytes"));
	hq_stats_set(record, HQ_STAT_ACTIVE, heap - dirty - unmapped);
	hq_stats_set(record, HQ_STAT_RESIDENT, resident);
	/* Its own structures are not in the size of the heap, but among what is resident. */
	hq_stats_set(record, HQ_STAT_MAPPED, resident + unmapped);
	hq_stats_set(record, HQ_STAT_DIRTY, dirty);
	hq_stats_set(record, HQ_STAT_RETAINED, unmapped);
	hq_stats_set(record, HQ_STAT_PURGES,
		     tcmalloc_get(property, "tcmalloc.pageheap_decommit_count"));
	hq_stats_set(record, HQ_STAT_PURGED,
		     tcmalloc_get(property, "tcmalloc.pageheap_total_decommit_bytes"));
	hq_stats_set(record, HQ_STAT_CACHED,
		     tcmalloc_get(property, "tcmalloc.thread_cache_free_bytes") +
			     tcmalloc_get(property, "tcmalloc.central_cache_free_bytes") +
			     tcmalloc_get(property, "tcmalloc.transfer_cache_free_bytes"));
}

static void tcmalloc_release(const struct hq_stats_source *source, struct hq_stats_record *record)
{
	function_of(source, 1)();
	record->release = HQ_RELEASE_SILENT;
}

static const struct hq_stats_family tcmalloc = {
	.name = "tcmalloc",
	.symbols = tcmalloc_symbols,
	.promises = HQ_STATS_IS_TOUCHED,
	.read = tcmalloc_read,
	.release = tcmalloc_release,
};

const struct hq_stats_family *const hq_stats_families[] = {
	&bedrock, &faulty, &glibc, &jemalloc, &mimalloc, &tcmalloc, NULL,
};
