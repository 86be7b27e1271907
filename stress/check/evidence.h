/* SPDX-License-Identifier: MIT */
/*
 * Small tools that checkers share: lines of evidence, faults in words, and events of one kind
 * rolled into one finding. Private to stress/check and the reports.
 */
#ifndef HQ_STRESS_CHECK_EVIDENCE_H
#define HQ_STRESS_CHECK_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/units.h"
#include "stress/check/check.h"

#define HQ_FAULT_TEXT 200

/* Adds one line to the evidence, whole or (no room, or finding NULL) not at all. */
__attribute__((format(printf, 2, 3))) bool hq_evidence_line(struct hq_finding *finding,
							    const char *format, ...);

/* "+1.204 s" since the gate opened, "" when either time is unknown; returns `text`. */
const char *hq_since_gate(const struct hq_observations *observations, uint64_t time_ns,
			  char text[HQ_UNITS_TEXT]);

/* "EAGAIN", "0", or the value in hex; returns `text`. */
const char *hq_fault_result(const struct hq_fault *fault, char text[HQ_UNITS_TEXT]);

/* The name of an errno that a target reported, "EUCLEAN"; the number for one without a name. */
const char *hq_errno_print(uint64_t value, char text[HQ_UNITS_TEXT]);

/* Name of the rule that made the fault; "?" for an index that no rule has. */
const char *hq_fault_rule(const struct hq_observations *observations, const struct hq_fault *fault);

/* "rule 'refuse-free': madvise(0x7f..., 4096, MADV_FREE) answered EAGAIN"; returns `text`. */
const char *hq_fault_print(const struct hq_observations *observations,
			   const struct hq_fault_seen *seen, char text[HQ_FAULT_TEXT]);

/* The last fault at or before `time_ns` and at most `within_ns` earlier; NULL: none. */
const struct hq_fault_seen *hq_fault_before(const struct hq_observations *observations,
					    uint64_t time_ns, uint64_t within_ns);

/* A line about the last fault at or before `time_ns`, if there is one; `label`: "injected last". */
void hq_evidence_fault(const struct hq_observations *observations, uint64_t time_ns,
		       const char *label, struct hq_finding *finding);

/* The name of the call that an event is about, "malloc"; "?" where it is not known. */
const char *hq_asked_call_name(uint32_t asked);

/*
 * True if an advice was answered with success in this run and not followed, or not wholly: pages
 * that were to be zero may still hold what they held.
 */
bool hq_advice_lied(const struct hq_observations *observations);

/* True if purge advice was refused in this run, and nothing else went wrong that we made. */
bool hq_only_purges_refused(const struct hq_observations *observations);

/* True if resident memory came so near that limit that something could have gone wrong there. */
bool hq_limit_was_near(const struct hq_observations *observations, uint64_t limit_bytes);

/* How the events of one kind become a finding. */
struct hq_event_words {
	enum hq_event_kind kind;
	const char *checker;
	const char *sentence; /* what broke, lower case, no full stop */
	/* The details of one event: addresses, values. */
	void (*describe)(const struct hq_event *event, char *text, size_t size);
	/* False for an event that is no breach in this run; NULL: all are. */
	bool (*counts)(const struct hq_observations *observations, const struct hq_event *event,
		       const void *context);
	const void *context; /* for `counts`, such as options */
};

/* One finding for all events of the kind, with their number and the first few as evidence. */
void hq_check_events(const struct hq_observations *observations, const struct hq_event_words *words,
		     struct hq_findings *findings);

/* What the guard knows of the blocks around an event, and of the calls that led there. */
void hq_evidence_near(const struct hq_observations *observations, const struct hq_event *event,
		      struct hq_finding *finding);

/* `describe` for a damaged place: block, size, offset, expected and got. */
void hq_describe_damage(const struct hq_event *event, char *text, size_t size);

/* `describe` for memory from calloc that is not zero. */
void hq_describe_nonzero(const struct hq_event *event, char *text, size_t size);

#endif
