/* SPDX-License-Identifier: MIT */
/*
 * A ring of fixed-size records in shared memory: one writer, one reader, no lock, no pointer.
 *
 * The writer owns `head` and `dropped`, the reader owns `tail`; records are 0 <= head - tail <=
 * room. A full ring drops the new record and counts it: the writer never waits, whatever the reader
 * does. Either side may be killed at any moment; what was published stays readable.
 */
#ifndef HQ_INJECTORS_RING_H
#define HQ_INJECTORS_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/atomic.h"

struct hq_ring {
	_Atomic uint64_t head;    /* writer: records ever published */
	_Atomic uint64_t dropped; /* writer: records that found no room */
	_Atomic uint64_t tail;    /* reader: records ever taken */
};

/* The slot to fill next, an index below `room`, or -1 (counted as dropped) when full. */
static inline int64_t hq_ring_reserve(struct hq_ring *ring, uint64_t room)
{
	const uint64_t head = hq_load_relaxed(&ring->head);

	/* Pairs with the release in hq_ring_taken: the slot was read before it is written again. */
	if (head - hq_load_acquire(&ring->tail) >= room) {
		hq_count_own(&ring->dropped, 1);
		return -1;
	}
	return (int64_t)(head % room);
}

/* Publishes the record that was written into the reserved slot. */
static inline void hq_ring_publish(struct hq_ring *ring)
{
	/* Pairs with the acquire in hq_ring_peek: the reader sees the whole record. */
	hq_store_release(&ring->head, hq_load_relaxed(&ring->head) + 1);
}

/* The slot of the oldest unread record, or -1 when there is none. */
static inline int64_t hq_ring_peek(const struct hq_ring *ring, uint64_t room)
{
	const uint64_t tail = hq_load_relaxed(&ring->tail);

	/* Pairs with the release in hq_ring_publish. */
	if (hq_load_acquire(&ring->head) == tail)
		return -1;
	return (int64_t)(tail % room);
}

/* Gives the peeked slot back to the writer. */
static inline void hq_ring_taken(struct hq_ring *ring)
{
	/* Pairs with the acquire in hq_ring_reserve. */
	hq_store_release(&ring->tail, hq_load_relaxed(&ring->tail) + 1);
}

#endif
