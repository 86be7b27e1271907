/* SPDX-License-Identifier: MIT */
/*
 * A child of fork that uses the allocator: it looks at blocks of its parent, allocates and frees
 * blocks of its own, frees some of its parent's, and exits. The parent waits with a deadline, as a
 * child that inherited a lock of a thread that it does not have waits for ever.
 *
 * Shared with the child are the wire and the shadow, whose words have other writers: the child
 * touches neither, and tells what it found through a page of its own. It must be forked on the
 * first thread, since the stacks of the others are shared memory as well.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injectors/atomic.h"
#include "injectors/clock.h"
#include "stress/host/heap_private.h"
#include "stress/host/system.h"

#define OWN_BLOCKS_MAX 64u
#define OWN_ID         (1ull << 63) /* no worker's */
#define LOOK_NS        200000u
#define EXIT_DONE      0

/* What the child tells; it is the only writer. */
struct child_page {
	_Atomic uint64_t steps; /* progress: what the parent's patience is about */
	struct hq_event event;  /* .expected: enum hq_fork_trouble, HQ_FORK_FINE if none */
};

static const uint64_t own_sizes[] = { 16, 100, 1000, 6000, 24, 40000, 200, 3000, 300000 };

/* ---- the child ---- */

static void step(struct child_page *page)
{
	hq_count_own(&page->steps, 1);
}

static void look_at(const struct hq_heap *heap, const struct hq_block *block,
		    enum hq_fork_trouble trouble, struct child_page *page)
{
	struct hq_damage damage;

	if (block->address == NULL || hq_stamp_verify(block->address, block->size,
						      hq_stamp_key(heap->seed, block->id), &damage))
		return;
	page->event = (struct hq_event){ .address = (uintptr_t)block->address,
					 .size = block->size,
					 .offset = damage.offset,
					 .expected = trouble,
					 .got = damage.got };
}

static void take_own(const struct hq_heap *heap, struct hq_block *block, uint64_t number)
{
	block->size = own_sizes[number % (sizeof(own_sizes) / sizeof(own_sizes[0]))];
	block->id = OWN_ID + number;
	block->address = heap->allocator->malloc(block->size);
	if (block->address != NULL)
		hq_stamp_fill(block->address, block->size, hq_stamp_key(heap->seed, block->id));
}

static void use_heap(const struct hq_heap *heap, uint32_t count, struct child_page *page)
{
	struct hq_block own[OWN_BLOCKS_MAX];

	for (uint32_t i = 0; i < count; i++) {
		take_own(heap, &own[i], i);
		step(page);
	}
	for (uint32_t i = 0; i < count; i++) {
		look_at(heap, &own[i], HQ_FORK_OWN_DATA, page);
		heap->allocator->free(own[i].address);
		step(page);
	}
}

/* Every second block of the parent is freed here: it is the child's own copy. */
static void live(const struct hq_heap *heap, const struct hq_fork *fork, struct child_page *page)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32_t i = 0; i < fork->block_count; i++)
		look_at(heap, &fork->blocks[i], HQ_FORK_PARENTS_DATA, page);
	step(page);
	use_heap(heap, fork->allocations < OWN_BLOCKS_MAX ? fork->allocations : OWN_BLOCKS_MAX,
		 page);
	for (uint32_t i = 0; i < fork->block_count; i += 2)
		heap->allocator->free(fork->blocks[i].address);
	hq_raw1(SYS_exit_group, EXIT_DONE);
}

/* ---- the parent ---- */

static bool has_ended(pid_t child, int *status, int flags)
{
	return hq_raw4(SYS_wait4, child, (long)status, flags, 0) == child;
}

/* HQ_FORK_FINE, or how it ended instead. */
static enum hq_fork_trouble await(pid_t child, const struct child_page *page, uint64_t patience_ns,
				  int *status)
{
	uint64_t seen_steps = 0, progress_ns = hq_now_ns();

	while (!has_ended(child, status, WNOHANG)) {
		const uint64_t steps = hq_load_relaxed(&page->steps), now_ns = hq_now_ns();

		if (steps != seen_steps) {
			seen_steps = steps;
			progress_ns = now_ns;
		}
		if (now_ns - progress_ns > patience_ns) {
			hq_raw3(SYS_kill, child, SIGKILL, 0);
			has_ended(child, status, 0);
			return HQ_FORK_HUNG;
		}
		hq_system_sleep_ns(LOOK_NS);
	}
	return WIFEXITED(*status) && WEXITSTATUS(*status) == EXIT_DONE ? HQ_FORK_FINE
								       : HQ_FORK_DIED;
}

static bool judge(struct hq_heap *heap, const struct child_page *page, enum hq_fork_trouble trouble,
		  int status)
{
	struct hq_event event = page->event;

	if (trouble == HQ_FORK_HUNG)
		event = (struct hq_event){ .got = hq_load_relaxed(&page->steps) };
	else if (trouble == HQ_FORK_DIED)
		event = (struct hq_event){ .got = (uint64_t)status };
	if (trouble != HQ_FORK_FINE)
		event.expected = trouble;
	if (event.expected == HQ_FORK_FINE)
		return true;
	event.kind = HQ_EVENT_FORK;
	hq_heap_event(heap, event);
	return false;
}

bool hq_heap_fork(struct hq_heap *heap, const struct hq_fork *fork_wanted)
{
	struct child_page *const page = hq_system_map(sizeof(*page));
	enum hq_fork_trouble trouble;
	int status = 0;
	pid_t child;

	if (page == NULL)
		return false;
	child = fork();
	if (child == 0)
		live(heap, fork_wanted, page);
	if (child < 0) {
		hq_system_unmap(page, sizeof(*page));
		return false;
	}
	trouble = await(child, page, fork_wanted->patience_ns, &status);
	hq_count_own(&heap->worker->children, 1);
	const bool fine = judge(heap, page, trouble, status);

	hq_system_unmap(page, sizeof(*page));
	return fine;
}
