/* SPDX-License-Identifier: MIT */
/*
 * Taking what threads have left idle in their caches, of threads that sleep (nap.h).
 *
 * A thief holds the lock of the cache it looks at. Once it has seen the owner asleep, and not
 * inside of a slow path, the owner is kept out of slow paths until the lock is given: it executes
 * nothing before it sees the lock held. So spare magazines and fresh blocks, which only slow paths
 * touch, are the thief's to take. The owner pays for that with two stores and a load in each slow
 * path.
 *
 * Hot magazines are popped and pushed without lock and atomics. They are taken by replacing the
 * head of the list by NULL: the owner's next pop finds nothing and takes the slow path, where it
 * learns the rest. Why that is safe:
 *
 * 1. While the thief looks and takes, the owner may be asleep in the middle of a fast path: a
 *    signal handler that sleeps has interrupted it, or a page fault. It has then changed `room` and
 *    not yet stored the head (fast.h), so the length of the list contradicts `room`. Such a list is
 *    not taken. The lists are read through /proc/self/mem, since the owner may wake and they may
 *    become anything: what is read is believed only if the nap has lasted.
 * 2. If the nap has lasted from before the look to after the taking, what was read was true: the
 *    list was the owner's, at rest, and the owner finds NULL when it wakes. The list is the
 *    thief's.
 * 3. If it has not, the list is in doubt. In the order of all stores to the head, NULL came either
 *    in between a load and a store of one fast path of the owner, which has then overwritten it
 *    with a head of its own, and nothing was taken; or it did not, and the owner has found it.
 *    `room` tells which: it is the owner's alone and counts the blocks that the owner believes to
 *    have, so the list in doubt is missing from the list at rest exactly if the length and `room`
 *    disagree. The owner looks in its next slow path, or the thief in a nap that lasts; but to the
 *    thief a list that is not at rest looks one block longer or shorter than it will be, and what
 *    hangs on one block it leaves to the owner. Until then the list stays where it is.
 *
 * The thief never waits for the lock, and lets go of it as soon as the owner wants it. A thread
 * that ends takes the lock before its storage goes. The child of a fork has nobody else's cache.
 */
#ifndef BEDROCK_IDLE_H
#define BEDROCK_IDLE_H

#include <stdbool.h>
#include <stdint.h>

struct bedrock_heap;

/*
 * Look at the caches of all other threads, and take what has not changed since the last look; all
 * of it if `is_forced`. Holds no lock.
 */
void bedrock_idle_take(struct bedrock_heap *heap, uint64_t now_ns, bool is_forced);

#endif
