/* SPDX-License-Identifier: MIT */
/*
 * Life of the background thread.
 *
 * It sleeps a sixteenth of a decay time between looks, has no thread cache, and takes no signal.
 * Its work is bedrock_decay_all, the same that slow paths do without it, and to give up everything
 * unused while the machine or the container is short of memory.
 */
#include "allocator/bedrock/background.h"

#include "allocator/bedrock/decay.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/thread.h"

/* Address space; what is touched of it is two pages. Room for a program's static TLS. */
#define BEDROCK_BACKGROUND_STACK_BYTES ((size_t)256 << 10)
/* The coarse clock may lag by this much: woken earlier, we would find nothing due yet. */
#define BEDROCK_BACKGROUND_CLOCK_NS     UINT64_C(10000000)
#define BEDROCK_BACKGROUND_SLEEP_MAX_NS UINT64_C(1000000000)
/* How long there must have been nothing to do before the thread ends. */
#define BEDROCK_BACKGROUND_IDLE_NS           UINT64_C(2000000000)
#define BEDROCK_BACKGROUND_BACKOFF_NS        UINT64_C(1000000000)
#define BEDROCK_BACKGROUND_BACKOFF_SHIFT_MAX 6u

static uint64_t bedrock_background_sleep_ns(const struct bedrock_heap *heap)
{
	uint64_t sleep_ns = bedrock_decay_turn_ns(heap);

	if (sleep_ns > BEDROCK_BACKGROUND_SLEEP_MAX_NS)
		sleep_ns = BEDROCK_BACKGROUND_SLEEP_MAX_NS;
	return sleep_ns + BEDROCK_BACKGROUND_CLOCK_NS;
}

static bool bedrock_background_is_alone(struct bedrock_heap *heap)
{
	/* Without thread caches nobody is counted. Pairs with bedrock_thread_end. */
	return heap->options.is_tcache && heap->has_thread_key &&
	       bedrock_load_acquire(&heap->live_caches) == 0;
}

/* While others wait for memory, what waits for its time here has waited long enough. */
static void bedrock_background_yield_to_others(struct bedrock_heap *heap, uint64_t now_ns)
{
	if (heap->options.is_pressure && bedrock_load_relaxed(&heap->options.dirty_decay_ms) >= 0 &&
	    bedrock_pressure_look(&heap->background.pressure, now_ns))
		bedrock_decay_purge(heap);
}

static void bedrock_background_loop(struct bedrock_heap *heap)
{
	struct bedrock_background *background = &heap->background;
	uint64_t busy_ns = bedrock_os_now_ns();

	for (;;) {
		uint32_t word = bedrock_load_acquire(&background->wake_word);
		uint64_t now_ns = bedrock_os_now_ns();

		bedrock_store_relaxed(&background->due_ns, BEDROCK_BACKGROUND_NEVER_NS);
		bedrock_decay_all(heap, now_ns);
		if (bedrock_decay_is_needed(heap)) {
			busy_ns = now_ns;
			bedrock_background_yield_to_others(heap, now_ns);
		}
		if (now_ns - busy_ns > BEDROCK_BACKGROUND_IDLE_NS)
			return;
		if (bedrock_background_is_alone(heap) ||
		    !bedrock_load_relaxed(&heap->options.is_background_thread))
			return;
		uint64_t sleep_ns = bedrock_background_sleep_ns(heap);

		bedrock_store_relaxed(&background->due_ns, bedrock_os_now_ns() + sleep_ns);
		bedrock_os_wait(&background->wake_word, word, sleep_ns);
	}
}

static void *bedrock_background_main(void *argument)
{
	struct bedrock_heap *heap = argument;

	bedrock_thread_forgo_cache();
	bedrock_os_name_thread("bedrock-decay");
	bedrock_background_loop(heap);
	bedrock_store_release(&heap->background.is_running, false);
	return NULL;
}

static void bedrock_background_start_failed(struct bedrock_background *background, uint64_t now_ns)
{
	uint32_t failures = bedrock_load_relaxed(&background->failed_starts);
	uint32_t shift = failures < BEDROCK_BACKGROUND_BACKOFF_SHIFT_MAX
				 ? failures
				 : BEDROCK_BACKGROUND_BACKOFF_SHIFT_MAX;

	bedrock_store_relaxed(&background->failed_starts, failures + 1);
	bedrock_store_relaxed(&background->next_start_ns,
			      now_ns + (BEDROCK_BACKGROUND_BACKOFF_NS << shift));
	bedrock_store_release(&background->is_running, false);
}

void bedrock_background_start(struct bedrock_heap *heap, uint64_t now_ns)
{
	struct bedrock_background *background = &heap->background;
	bool expected = false;

	if (!bedrock_load_relaxed(&heap->options.is_background_thread) ||
	    bedrock_background_is_alone(heap) || !bedrock_load_acquire(&heap->is_constructed) ||
	    now_ns < bedrock_load_relaxed(&background->next_start_ns))
		return;
	if (!bedrock_cas_acquire(&background->is_running, &expected, true))
		return;
	bedrock_store_relaxed(&background->due_ns, now_ns);
	/* pthread_create allocates: no lock may be held here. */
	bedrock_assert(bedrock_lock_none_held());
	if (bedrock_os_thread_start(bedrock_background_main, heap, BEDROCK_BACKGROUND_STACK_BYTES))
		bedrock_background_start_failed(background, now_ns);
	else
		bedrock_store_relaxed(&background->failed_starts, 0);
}

void bedrock_background_wake(struct bedrock_background *background)
{
	if (!bedrock_load_relaxed(&background->is_running))
		return;
	/* Pairs with the load in bedrock_background_loop: it then also sees why. */
	bedrock_add_release(&background->wake_word, 1);
	bedrock_os_wake(&background->wake_word, 1);
}

void bedrock_background_forget(struct bedrock_background *background)
{
	bedrock_store_relaxed(&background->is_running, false);
}
