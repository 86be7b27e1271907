/* SPDX-License-Identifier: MIT */
/*
 * A mailbox: blocks on their way from one thread to another, in order, with a word of the sender's
 * beside each. One thread puts, one takes, none waits. What lies in it belongs to nobody: who takes
 * it has to free it.
 */
#ifndef HQ_STRESS_WORKLOAD_MAILBOX_H
#define HQ_STRESS_WORKLOAD_MAILBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "injectors/ring.h"
#include "stress/workload/heap.h"

#define HQ_MAILBOX_ROOM 256u

struct hq_parcel {
	struct hq_block block;
	uint64_t word;
};

struct hq_mailbox {
	struct hq_ring ring;
	uint64_t room;
	struct hq_parcel parcels[HQ_MAILBOX_ROOM];
};

/* `count` of them, in memory of the host; NULL: there is none. `room` is HQ_MAILBOX_ROOM at most.
 */
static inline struct hq_mailbox *hq_mailboxes_make(uint64_t count, uint64_t room)
{
	struct hq_mailbox *const mailboxes = hq_host_map(count * sizeof(*mailboxes));

	for (uint64_t i = 0; mailboxes != NULL && i < count; i++)
		mailboxes[i].room = room;
	return mailboxes;
}

/* False when it is full. */
static inline bool hq_mailbox_put(struct hq_mailbox *mailbox, const struct hq_block *block,
				  uint64_t word)
{
	const int64_t slot = hq_ring_reserve(&mailbox->ring, mailbox->room);

	if (slot < 0)
		return false;
	mailbox->parcels[slot] = (struct hq_parcel){ .block = *block, .word = word };
	hq_ring_publish(&mailbox->ring);
	return true;
}

/* False when it is empty. */
static inline bool hq_mailbox_take(struct hq_mailbox *mailbox, struct hq_parcel *parcel)
{
	const int64_t slot = hq_ring_peek(&mailbox->ring, mailbox->room);

	if (slot < 0)
		return false;
	*parcel = mailbox->parcels[slot];
	hq_ring_taken(&mailbox->ring);
	return true;
}

/* Frees what lies in it. */
static inline void hq_mailbox_empty(struct hq_mailbox *mailbox, struct hq_heap *heap)
{
	struct hq_parcel parcel;

	while (hq_mailbox_take(mailbox, &parcel))
		hq_block_free(heap, &parcel.block);
}

#endif
