/* SPDX-License-Identifier: MIT */
/*
 * One moment, seen from three sides: the allocator's numbers, the host's sum of what is live, the
 * kernel's resident memory. The host's sum is taken before and after, so that whoever compares
 * knows how far apart the sides may be.
 *
 * All of it is done by the first thread, which otherwise waits, and through the host's own system
 * calls: nothing here allocates, and no rule sees it.
 */
#include "stress/host/stats.h"

#include <fcntl.h>

#include "injectors/atomic.h"
#include "injectors/proc.h"
#include "stress/host/allocator.h"
#include "injectors/clock.h"
#include "stress/host/system.h"

#define KIB 1024u

void hq_stats_find(struct hq_stats_source *source, struct hq_wire *wire)
{
	*source = (struct hq_stats_source){ .family = NULL };
	for (size_t i = 0; hq_stats_families[i] != NULL; i++) {
		const struct hq_stats_family *const family = hq_stats_families[i];

		if (!hq_allocator_functions(family->symbols, source->functions))
			continue;
		source->family = family;
		hq_store_relaxed(&wire->status.stats_promises, family->promises);
		return;
	}
}

static void read_rss(struct hq_stats_record *record)
{
	char text[128];

	if (hq_system_read("/proc/self/statm", text, sizeof(text)) > 0)
		record->rss_bytes = hq_proc_statm_anonymous_bytes(text);
}

/* These walk the whole address space or look at every thread: for quiet points. */
static void read_more(struct hq_stats_record *record)
{
	char text[4096];

	if (hq_system_read("/proc/self/smaps_rollup", text, sizeof(text)) > 0 &&
	    hq_proc_number(text, "LazyFree", &record->lazyfree_bytes)) {
		record->lazyfree_bytes *= KIB;
		record->has_lazyfree = 1;
	}
	if (hq_system_read("/proc/self/status", text, sizeof(text)) > 0)
		hq_proc_number(text, "Threads", &record->threads);
}

static void read_moment(const struct hq_stats_source *source, const struct hq_wire *wire,
			struct hq_stats_record *record)
{
	const uint64_t before = hq_wire_live_bytes(wire->workers, wire->config.worker_count);

	record->time_ns = hq_now_ns();
	if (source->family != NULL)
		source->family->read(source, record);
	record->took_ns = hq_now_ns() - record->time_ns;
	const uint64_t after = hq_wire_live_bytes(wire->workers, wire->config.worker_count);

	record->live_bytes = before < after ? before : after;
	record->live_spread_bytes = before < after ? after - before : before - after;
	read_rss(record);
}

void hq_stats_take(const struct hq_stats_source *source, struct hq_wire *wire,
		   enum hq_stats_point point, uint32_t workers)
{
	struct hq_stats_record record = { .point = (uint32_t)point, .workers = workers };
	const int64_t slot = hq_ring_reserve(&wire->stats.ring, HQ_STATS_ROOM);

	if (point == HQ_STATS_RELEASED && source->family != NULL)
		source->family->release(source, &record);
	read_moment(source, wire, &record);
	if (point != HQ_STATS_WORKING)
		read_more(&record);
	if (slot < 0)
		return;
	wire->stats.records[slot] = record;
	hq_ring_publish(&wire->stats.ring);
}
