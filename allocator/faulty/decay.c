/* SPDX-License-Identifier: MIT */
/*
 * Giving pages back: what has been free for a while, by a background thread; and at once whatever
 * is above a bound. A run is taken out of the free ones, advised away without a lock, and put back.
 * After a refusal nothing is tried for a while, and everything again then.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "allocator/faulty/core.h"

#define LOOK_NS    (FAULTY_DECAY_NS / 2)
#define BACKOFF_NS UINT64_C(10000000)
#define STACK      ((size_t)256 << 10)

static size_t purge_bytes(const struct faulty_run *run)
{
	const size_t first = (size_t)(run - faulty_region_of_run(run)->runs);
	const size_t end = first + run->length;
	size_t bytes = run->length * FAULTY_UNIT;

	if (end < FAULTY_UNITS && run[run->length].use >= FAULTY_LARGE &&
	    faulty_strikes_anywhere(FAULTY_PURGE_EXTRA))
		bytes += FAULTY_UNIT;
	return bytes;
}

static int purge(struct faulty_run *run)
{
	const bool under_lock = faulty_is_on(FAULTY_PURGE_LOCKED);
	const size_t bytes = purge_bytes(run);
	int error;

	if (under_lock)
		faulty_fire(FAULTY_PURGE_LOCKED);
	else
		pthread_mutex_unlock(&faulty_heap.pages_lock);
	error = faulty_os_purge(faulty_run_start(run), bytes);
	if (!under_lock)
		pthread_mutex_lock(&faulty_heap.pages_lock);
	if (error != 0 && faulty_is_on(FAULTY_CALLOC_DIRTY_FAILED))
		faulty_fire(FAULTY_CALLOC_DIRTY_FAILED);
	if (error == 0 && faulty_is_on(FAULTY_CALLOC_DIRTY_LIED))
		faulty_fire(FAULTY_CALLOC_DIRTY_LIED);
	return error;
}

void faulty_decay_pass(uint64_t decay_ns)
{
	const uint64_t now_ns = faulty_os_now_ns();

	if (faulty_is_on(FAULTY_KEPT_FOREVER)) {
		faulty_fire(FAULTY_KEPT_FOREVER);
		return;
	}
	if (faulty_is_on(FAULTY_CALL_NEVER_MADE)) {
		faulty_fire(FAULTY_CALL_NEVER_MADE);
		return;
	}
	pthread_mutex_lock(&faulty_heap.pages_lock);
	while (now_ns >= faulty_heap.next_purge_ns) {
		struct faulty_run *const run = faulty_pages_next_dirty(now_ns, decay_ns);
		int error;

		if (run == NULL)
			break;
		error = purge(run);
		faulty_pages_purged(run, error == 0);
		if (error != 0)
			faulty_heap.next_purge_ns = now_ns + BACKOFF_NS;
	}
	pthread_mutex_unlock(&faulty_heap.pages_lock);
}

static void *decay_for_ever(void *unused)
{
	const struct timespec pause = { .tv_nsec = (long)LOOK_NS };

	(void)unused;
	for (;;) {
		nanosleep(&pause, NULL);
		faulty_decay_pass(faulty_heap.decay_ns);
	}
	return NULL;
}

/* pthread_create allocates, so no lock may be held here. A failure is made good by the next call.
 */
static void start_background(void)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;

	if (!faulty_load(&faulty_heap.has_key) || faulty_load(&faulty_heap.has_background) ||
	    faulty_swap(&faulty_heap.has_background, true))
		return;
	if (faulty_strikes_anywhere(FAULTY_BACKGROUND_CLAIMED))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* Its allocations are ordinary ones, and no handler comes with all signals blocked. */
	faulty_leave();
	if (pthread_create(&thread, &attributes, decay_for_ever, NULL) != 0)
		faulty_store(&faulty_heap.has_background, false);
	faulty_enter();
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void faulty_decay_tick(void)
{
	const int kept = errno;

	if (faulty_is_on(FAULTY_DECAY_ON_CALL)) {
		faulty_fire(FAULTY_DECAY_ON_CALL);
		faulty_decay_pass(faulty_heap.decay_ns);
		errno = kept;
		return;
	}
	if (faulty_is_on(FAULTY_PURGE_EAGER)) {
		faulty_fire(FAULTY_PURGE_EAGER);
		faulty_decay_pass(0);
	}
	start_background();
	if (faulty_is_on(FAULTY_BACKGROUND_CLAIMED))
		faulty_decay_pass(faulty_heap.decay_ns);
	errno = kept;
	if (faulty_load(&faulty_heap.statistics.dirty_bytes) > FAULTY_DIRTY_MAX)
		faulty_decay_pass(0);
}
