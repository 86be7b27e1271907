/* SPDX-License-Identifier: MIT */
/*
 * Events of one kind become one finding: the sentence, how often, and the first few with the fault
 * that was made just before. Ten thousand damaged blocks are one bug, not ten thousand. The
 * sentence holds no number, so that the same finding of several runs is seen to be the same.
 */
#include <inttypes.h>
#include <stdio.h>

#include "injectors/units.h"
#include "stress/check/evidence.h"
#include "stress/check/value.h"

#define EVENTS_SHOWN 3

/* An older fault is more likely to mislead than to explain. */
#define FAULT_WITHIN_NS HQ_S

static void add_fault_before(const struct hq_observations *observations,
			     const struct hq_event *event, struct hq_finding *finding)
{
	const struct hq_fault_seen *seen =
		hq_fault_before(observations, event->time_ns, FAULT_WITHIN_NS);
	char text[HQ_FAULT_TEXT], earlier[HQ_UNITS_TEXT];

	if (!seen)
		return;
	hq_value_print(earlier, sizeof(earlier), HQ_UNIT_NS,
		       (double)(event->time_ns - seen->fault.time_ns));
	hq_evidence_line(finding, "  injected %s earlier, %s", earlier,
			 hq_fault_print(observations, seen, text));
}

/* Who saw it: a worker of the host, or the guard in some thread, called from some place. */
static void name_source(const struct hq_event *event, char *text, size_t size)
{
	if (event->worker != HQ_EVENT_GUARD)
		snprintf(text, size, "worker %" PRIu32 ", operation %" PRIu64, event->worker,
			 event->op);
	else
		snprintf(text, size, "thread %" PRIu64 "%s%.*s", event->op,
			 event->site[0] ? ", called from " : "", HQ_EVENT_SITE - 1, event->site);
}

const char *hq_asked_call_name(uint32_t asked)
{
	static const char *const names[HQ_ASKED_COUNT] = {
		[HQ_ASKED_UNKNOWN] = "?",
		[HQ_ASKED_MALLOC] = "malloc",
		[HQ_ASKED_CALLOC] = "calloc",
		[HQ_ASKED_REALLOC] = "realloc",
		[HQ_ASKED_REALLOCARRAY] = "reallocarray",
		[HQ_ASKED_POSIX_MEMALIGN] = "posix_memalign",
		[HQ_ASKED_ALIGNED_ALLOC] = "aligned_alloc",
		[HQ_ASKED_FREE] = "free",
	};

	return asked < HQ_ASKED_COUNT ? names[asked] : "?";
}

static void name_gap(char *text, size_t size, uint32_t gap, const char *where)
{
	text[0] = '\0';
	if (gap != 0)
		snprintf(text, size, "; a live block %" PRIu32 " bytes %s it", gap - 1, where);
}

/* Which call, whose block, and who lives next to it. */
static void add_circumstances(const struct hq_event *event, struct hq_finding *finding)
{
	char owner[40] = "", before[64], behind[64];

	if (event->owner != 0)
		snprintf(owner, sizeof(owner), "; worker %" PRIu32 " asked for the block",
			 event->owner - 1);
	name_gap(before, sizeof(before), event->gap_before, "before");
	name_gap(behind, sizeof(behind), event->gap_behind, "behind");
	if (event->asked == HQ_ASKED_UNKNOWN && !owner[0] && !before[0] && !behind[0])
		return;
	hq_evidence_line(finding, "  %s%s%s%s",
			 event->asked != HQ_ASKED_UNKNOWN ? hq_asked_call_name(event->asked)
							  : "found by a look",
			 owner, before, behind);
}

static void add_event(const struct hq_observations *observations,
		      const struct hq_event_words *words, const struct hq_event *event,
		      bool is_first, struct hq_finding *finding)
{
	char detail[240], since[HQ_UNITS_TEXT], source[120];

	words->describe(event, detail, sizeof(detail));
	hq_since_gate(observations, event->time_ns, since);
	name_source(event, source, sizeof(source));
	if (!hq_evidence_line(finding, "%s%s%s: %s", source, since[0] ? ", " : "", since, detail))
		return;
	/* What is known of the first leaves room for the others. */
	if (is_first) {
		add_circumstances(event, finding);
		hq_evidence_near(observations, event, finding);
	}
	add_fault_before(observations, event, finding);
}

static bool is_meant(const struct hq_observations *observations, const struct hq_event_words *words,
		     const struct hq_event *event)
{
	return event->kind == words->kind &&
	       (!words->counts || words->counts(observations, event, words->context));
}

/*
 * Rings are read one thread after the other: the first in the list need not be the first in time.
 */
static const struct hq_event *next_event(const struct hq_observations *observations,
					 const struct hq_event_words *words,
					 const struct hq_event *after)
{
	const struct hq_event *best = NULL;

	for (size_t i = 0; i < observations->event_count; i++) {
		const struct hq_event *event = &observations->events[i];

		if (!is_meant(observations, words, event))
			continue;
		/* Among equal times the order of the list decides. */
		if (after && (event->time_ns < after->time_ns ||
			      (event->time_ns == after->time_ns && event <= after)))
			continue;
		if (!best || event->time_ns < best->time_ns)
			best = event;
	}
	return best;
}

static uint64_t count_events(const struct hq_observations *observations,
			     const struct hq_event_words *words)
{
	uint64_t count = 0;

	for (size_t i = 0; i < observations->event_count; i++)
		count += is_meant(observations, words, &observations->events[i]);
	return count;
}

void hq_check_events(const struct hq_observations *observations, const struct hq_event_words *words,
		     struct hq_findings *findings)
{
	const struct hq_event *event = next_event(observations, words, NULL);

	if (!event)
		return;
	struct hq_finding *finding =
		hq_finding_add(findings, words->checker, "%s", words->sentence);

	if (!finding)
		return;
	finding->count = count_events(observations, words);
	finding->time_ns = event->time_ns;
	for (int shown = 0; event && shown < EVENTS_SHOWN; shown++) {
		add_event(observations, words, event, shown == 0, finding);
		event = next_event(observations, words, event);
	}
}

void hq_describe_damage(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size,
		 "block 0x%" PRIx64 " of %" PRIu64 " bytes, offset %" PRIu64 ": expected 0x%" PRIx64
		 ", got 0x%" PRIx64,
		 event->address, event->size, event->offset, event->expected, event->got);
}

void hq_describe_nonzero(const struct hq_event *event, char *text, size_t size)
{
	snprintf(text, size,
		 "block 0x%" PRIx64 " of %" PRIu64 " bytes, offset %" PRIu64 ": got 0x%" PRIx64
		 " instead of 0",
		 event->address, event->size, event->offset, event->got);
}
