/* SPDX-License-Identifier: MIT */
/*
 * Which slot of the plane a thread owns, and under which key it decides.
 *
 * Keys come from (parent's key, child index), so that the same thread has the same faults in every
 * run, whatever the scheduler does. Where parentage cannot be known (a thread that was not made by
 * pthread_create, a fork behind our back, a spawned program whose siblings race with it) the slot
 * says so in `first_come`.
 */
#include "injectors/syscall/raw.h"
#include "stress/preload/preload.h"

static struct hq_plane_thread *slot_at(uint32_t index)
{
	return &hq_preload.plane->threads[index];
}

static uint32_t claimed_slots(void)
{
	const uint32_t claimed = hq_load_relaxed(&hq_preload.plane->claimed);

	return claimed < HQ_PLANE_THREADS ? claimed : HQ_PLANE_THREADS;
}

/* Takes the next free slot; -1 if there is none (it counts in `claimed` all the same). */
static int claim(void)
{
	const uint32_t index = hq_fetch_add_acq_rel(&hq_preload.plane->claimed, 1);

	return index < HQ_PLANE_THREADS ? (int)index : -1;
}

static void publish(uint32_t index, uint64_t key, uint32_t tid, bool first_come)
{
	struct hq_plane_thread *slot = slot_at(index);

	hq_store_relaxed(&slot->tid, tid);
	hq_store_relaxed(&slot->process, hq_preload.process);
	hq_store_relaxed(&slot->first_come, first_come);
	/* Pairs with the controller's acquire: a slot with a key is whole. */
	hq_store_release(&slot->key, key);
}

static uint64_t key_of(const struct hq_plane_thread *slot)
{
	return slot ? hq_load_relaxed(&slot->key) : 0;
}

/*
 * The index of a new child of `slot`. Atomic although the thread itself is the usual writer: a
 * child that was forked or spawned behind our back counts itself.
 */
static uint64_t take_child(struct hq_plane_thread *slot)
{
	return hq_fetch_add_relaxed(&slot->children, 1);
}

static uint32_t thread_id(void)
{
	return (uint32_t)hq_raw1(SYS_gettid, 0);
}

/* The newest slot of a process, if possible that of its first thread. */
static struct hq_plane_thread *slot_of_process(uint32_t process, uint32_t below)
{
	struct hq_plane_thread *found = NULL;

	for (uint32_t i = below; i > 0; i--) {
		struct hq_plane_thread *slot = slot_at(i - 1);

		if (hq_load_relaxed(&slot->process) != process)
			continue;
		if (hq_load_relaxed(&slot->tid) == process)
			return slot;
		if (!found)
			found = slot;
	}
	return found;
}

/* The threads of the program that this one replaced are gone. */
static void mark_replaced(uint32_t process, uint32_t below)
{
	for (uint32_t i = 0; i < below; i++)
		if (hq_load_relaxed(&slot_at(i)->process) == process)
			hq_store_relaxed(&slot_at(i)->exited, 1);
}

/* The key of a program that was executed by a thread of ours, or spawned by a process of ours. */
static uint64_t key_of_program(uint32_t index, bool *first_come)
{
	const uint32_t parent = (uint32_t)hq_raw1(SYS_getppid, 0);
	struct hq_plane_thread *before = slot_of_process(hq_preload.process, index);

	*first_come = before == NULL;
	if (before)
		mark_replaced(hq_preload.process, index);
	else
		before = slot_of_process(parent, index);
	return before ? hq_thread_key(key_of(before), take_child(before)) : hq_thread_key(0, index);
}

static bool has_counted(const struct hq_plane_thread *slot)
{
	for (uint32_t i = 0; i < HQ_RULES_MAX; i++)
		if (hq_load_relaxed(&slot->counts[i].seen) != 0)
			return true;
	return false;
}

/*
 * A shell's children exec before they make a call that any rule names: the new program goes on in
 * the slot of the old one, under its own key, or shells would soon use up all slots.
 */
static bool take_over_unused(void)
{
	const uint32_t claimed = claimed_slots();
	struct hq_plane_thread *before = slot_of_process(hq_preload.process, claimed);

	if (!before || has_counted(before))
		return false;
	mark_replaced(hq_preload.process, claimed);
	hq_store_relaxed(&before->exited, 0);
	publish((uint32_t)(before - hq_preload.plane->threads),
		hq_thread_key(key_of(before), take_child(before)), thread_id(),
		hq_load_relaxed(&before->first_come));
	hq_preload_self.slot = before;
	return true;
}

void hq_identity_start(void)
{
	bool first_come = false;
	uint64_t key = HQ_THREAD_KEY_MAIN;
	int index;

	hq_preload.process = (uint32_t)hq_raw1(SYS_getpid, 0);
	if (take_over_unused())
		return;
	index = claim();
	if (index < 0) {
		hq_preload_self.has_none = true;
		return;
	}
	if (index > 0)
		key = key_of_program((uint32_t)index, &first_come);
	publish((uint32_t)index, key, thread_id(), first_come);
	hq_preload_self.slot = slot_at((uint32_t)index);
}

static void claim_lazily(uint64_t key, bool first_come)
{
	const int index = claim();

	hq_preload_self.slot = NULL;
	hq_preload_self.has_none = index < 0;
	if (index < 0)
		return;
	publish((uint32_t)index, key ? key : hq_thread_key(0, (uint64_t)index), thread_id(),
		first_come);
	hq_preload_self.slot = slot_at((uint32_t)index);
}

static bool is_forked_child(void)
{
	if (hq_preload.alive)
		return hq_load_relaxed(hq_preload.alive) == 0;
	/* By its id a child of vfork looks the same, so only a fork that was announced counts. */
	return hq_preload_self.forked_child != 0 &&
	       (uint32_t)hq_raw1(SYS_getpid, 0) != hq_preload.process;
}

/* The first call of a forked process: it needs a slot of its own, its parent's is in use. */
static void start_forked_child(void)
{
	struct hq_plane_thread *parent = hq_preload_self.slot;
	const uint64_t announced = hq_preload_self.forked_child;
	uint64_t key = 0;

	hq_preload.process = (uint32_t)hq_raw1(SYS_getpid, 0);
	if (hq_preload.alive)
		hq_store_relaxed(hq_preload.alive, 1);
	if (parent)
		key = hq_thread_key(key_of(parent), announced ? announced - 1 : take_child(parent));
	claim_lazily(key, announced == 0);
}

struct hq_plane_thread *hq_identity_slot(void)
{
	if (is_forked_child())
		start_forked_child();
	else if (!hq_preload_self.slot && !hq_preload_self.has_none)
		claim_lazily(0, true);
	return hq_preload_self.slot;
}

int hq_identity_reserve(void)
{
	struct hq_plane_thread *parent = hq_identity_slot();
	int index;

	/* Without a slot the new thread counts itself, once, when it makes its first call. */
	if (!parent || claimed_slots() == HQ_PLANE_THREADS)
		return -1;
	index = claim();
	if (index >= 0)
		publish((uint32_t)index, hq_thread_key(key_of(parent), take_child(parent)), 0,
			hq_load_relaxed(&parent->first_come));
	return index;
}

void hq_identity_adopt(uint32_t index)
{
	hq_store_relaxed(&slot_at(index)->tid, thread_id());
	hq_preload_self.slot = slot_at(index);
}

void hq_identity_fork_begins(void)
{
	struct hq_plane_thread *slot = hq_identity_slot();

	hq_preload_self.forked_child = slot ? take_child(slot) + 1 : 0;
}

void hq_identity_fork_ended(void)
{
	hq_identity_slot();
	hq_preload_self.forked_child = 0;
}
