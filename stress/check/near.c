/* SPDX-License-Identifier: MIT */
/*
 * Evidence from the guard's book: whose block an event is about, which live blocks lie before and
 * behind it, where they were allocated and freed, and through which calls the program came there.
 */
#include <inttypes.h>
#include <stdio.h>

#include "stress/check/evidence.h"

#define ACT_ROOM (HQ_EVENT_SITE + 64)

/* ", allocated by thread 12 in redis-server+0x4f10"; "" where it is not known. */
static const char *print_act(const char *act, uint32_t tid, const char *site, char text[ACT_ROOM])
{
	text[0] = '\0';
	if (tid)
		snprintf(text, ACT_ROOM, ", %s by thread %" PRIu32 "%s%.*s", act, tid,
			 site[0] ? " in " : "", HQ_EVENT_SITE - 1, site);
	return text;
}

static void add_block(const char *which, const struct hq_guard_block *block,
		      struct hq_finding *finding)
{
	char allocated[ACT_ROOM], freed[ACT_ROOM], size[48] = "";

	if (!block->size && !block->allocated_by && !block->freed_by)
		return;
	if (block->size)
		snprintf(size, sizeof(size), " of %" PRIu64 " bytes", block->size);
	hq_evidence_line(
		finding, "  %s 0x%" PRIx64 "%s%s%s", which, block->address, size,
		print_act("allocated", block->allocated_by, block->allocated_at, allocated),
		print_act(block->live ? "its place freed before" : "freed", block->freed_by,
			  block->freed_at, freed));
}

static void add_trail(const struct hq_guard_detail *detail, struct hq_finding *finding)
{
	char text[HQ_GUARD_TRAIL * (HQ_EVENT_SITE + 4)];
	size_t length = 0;

	for (int i = 0; i < HQ_GUARD_TRAIL && detail->trail[i][0]; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.*s",
					   i ? " < " : "", HQ_EVENT_SITE - 1, detail->trail[i]);
	if (length)
		hq_evidence_line(finding, "  called through %s", text);
}

void hq_evidence_near(const struct hq_observations *observations, const struct hq_event *event,
		      struct hq_finding *finding)
{
	const struct hq_guard_detail *detail;

	if (event->detail == 0 || event->detail > observations->detail_count)
		return;
	detail = &observations->details[event->detail - 1];
	add_block(event->kind == HQ_EVENT_OVERLAP ? "shared with block" : "block", &detail->block,
		  finding);
	add_block("before it block", &detail->before, finding);
	add_block("behind it block", &detail->behind, finding);
	add_trail(detail, finding);
}
