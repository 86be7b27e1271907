/* SPDX-License-Identifier: MIT */
/*
 * Decay: giving unused pages back to the kernel, by age.
 *
 * A page that has been free between two looks at its chunk is due at the second. Looks are an
 * interval apart, which is half a decay time, or an eighth less: so a page goes at an age between
 * seven sixteenths and all of the decay time. Chunks have their looks in turn, an eighth of them at
 * each eighth of an interval, so that what is given back follows a smooth curve: of a burst that
 * ended at one moment nothing for the first half, then about as much in each turn, at the end all
 * of it. Looks that come late do not bring chunks together for long. Dirty pages become muzzy
 * (MADV_FREE) or, with a muzzy time of 0, clean (MADV_DONTNEED) at once; muzzy pages become clean.
 * A chunk that is free altogether is unmapped instead of becoming clean. Pages are taken out of
 * circulation while the kernel works on them and no lock is held meanwhile that an allocation
 * needs. What the kernel refuses stays as it was and is tried again later.
 */
#ifndef BEDROCK_DECAY_H
#define BEDROCK_DECAY_H

#include <stdbool.h>
#include <stdint.h>

struct bedrock_arena;
struct bedrock_heap;

/* Look after one arena. `is_forced`: everything is due. -> bytes given back. */
uint64_t bedrock_decay_arena(struct bedrock_heap *heap, struct bedrock_arena *arena,
			     uint64_t now_ns, bool is_forced);

/* Look after everything that is due now. */
void bedrock_decay_all(struct bedrock_heap *heap, uint64_t now_ns);

/* Give back all that is not in use. -> bytes given back. */
uint64_t bedrock_decay_purge(struct bedrock_heap *heap);

/* Give back about `bytes` of what is not in use, by a bounded number of calls. -> bytes given back.
 */
uint64_t bedrock_decay_relieve(struct bedrock_heap *heap, uint64_t now_ns, uint64_t bytes);

/* The end of a slow path: look at the clock now and then, decay or start who does. No locks. */
void bedrock_decay_tick(struct bedrock_heap *heap);

/* Pages were just freed: with a decay time of 0 they go at once, unless they are very few. */
void bedrock_decay_after_free(struct bedrock_heap *heap, struct bedrock_arena *arena);

/* Is there anything left that decay will give back in time? */
bool bedrock_decay_is_needed(struct bedrock_heap *heap);

/* Time between two looks at the same memory, and between two turns. */
uint64_t bedrock_decay_interval_ns(const struct bedrock_heap *heap);
uint64_t bedrock_decay_turn_ns(const struct bedrock_heap *heap);

#endif
