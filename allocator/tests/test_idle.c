/* SPDX-License-Identifier: MIT */
/*
 * Caches of threads that sleep are taken, and of others are not; whoever wakes in between loses
 * nothing and gets nothing twice.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/cache.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/idle.h"
#include "allocator/bedrock/live.h"
#include "allocator/bedrock/nap.h"
#include "allocator/bedrock/thread.h"
#include "allocator/tests/faults.h"

#define BLOCKS      600
#define BLOCKS_MANY 50000
#define BLOCK_BYTES 100

/* A thread that does what it is told, and sleeps in between. */
struct worker {
	pthread_t thread;
	void (*task)(void);
	_Atomic uint32_t id;
	struct bedrock_cache *_Atomic cache;
	sem_t begin;
	sem_t done;
};

static struct worker worker;

static void setup(void)
{
	bedrock_heap_ensure(&bedrock_heap);
	bedrock_heap.options.is_background_thread = false;
	bedrock_heap.options.dirty_decay_ms = -1;
	fault_install();
	if (!bedrock_nap_is_possible())
		cr_skip_test("the kernel does not tell who sleeps");
}

TestSuite(idle, .init = setup, .timeout = 60);

static void *work(void *argument)
{
	(void)argument;
	worker.id = bedrock_os_thread_id();
	while (sem_wait(&worker.begin) == 0 && worker.task) {
		worker.task();
		worker.cache = bedrock_cache_current;
		sem_post(&worker.done);
	}
	return NULL;
}

/* Until the worker sleeps. */
static void settle(void)
{
	struct timespec time = { .tv_nsec = 1000000 };
	struct bedrock_nap nap;

	for (int i = 0; i < 10000; i++) {
		if (bedrock_nap_begin(&nap, worker.id) && bedrock_nap_lasts(&nap))
			return;
		nanosleep(&time, NULL);
	}
	cr_assert_fail("the thread does not fall asleep");
}

static void let(void (*task)(void))
{
	worker.task = task;
	sem_post(&worker.begin);
	if (!task)
		return;
	sem_wait(&worker.done);
	settle();
}

static void hire(void)
{
	sem_init(&worker.begin, 0, 0);
	sem_init(&worker.done, 0, 0);
	pthread_create(&worker.thread, NULL, work, NULL);
}

static void dismiss(void)
{
	let(NULL);
	pthread_join(worker.thread, NULL);
}

static uint64_t allocated_bytes(void)
{
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	return stats.allocated_bytes;
}

static void take(bool is_forced)
{
	bedrock_idle_take(&bedrock_heap, bedrock_os_now_ns(), is_forced);
}

/* Each block is stamped while it is held: one that is given twice loses its stamp. */
static void use_blocks(unsigned count)
{
	static unsigned *blocks[BLOCKS_MANY];

	for (unsigned i = 0; i < count; i++) {
		blocks[i] = bedrock_malloc(BLOCK_BYTES);
		*blocks[i] = i;
	}
	for (unsigned i = 0; i < count; i++) {
		cr_assert_eq(*blocks[i], i);
		bedrock_free(blocks[i]);
	}
}

static void use_cache(void)
{
	use_blocks(BLOCKS);
}

/* More than the cache can hold: there are spare magazines then. */
static void overflow_cache(void)
{
	use_blocks(BLOCKS_MANY);
}

/* The owner's view of its cache is in order: room is what limit and lists leave. */
static void check_rooms(void)
{
	struct bedrock_cache *cache = bedrock_cache_current;

	/* Whatever others have done is settled by entering a slow path. */
	bedrock_thread_lock_cache();
	bedrock_thread_unlock_cache();
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++) {
		uint32_t length = 0;

		for (void *block = bedrock_cache_hot(i)->head; block; block = *(void **)block)
			length++;
		cr_assert_eq(bedrock_cache_hot_count(cache, i), length);
		cr_assert_eq(cache->sides[i].taken, 0);
		cr_assert_null(cache->sides[i].doubtful);
	}
	bedrock_cache_flush();
}

Test(idle, cache_of_a_sleeping_thread_is_taken_at_the_second_look)
{
	hire();
	let(use_cache);
	uint64_t held_bytes = allocated_bytes();

	cr_assert_gt(held_bytes, 0);
	take(false);
	cr_assert_eq(allocated_bytes(), held_bytes);
	take(false);
	cr_assert_eq(allocated_bytes(), 0);
	let(use_cache);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

Test(idle, cache_that_was_used_in_between_is_kept)
{
	hire();
	let(use_cache);
	take(false);
	let(use_cache);
	uint64_t held_bytes = allocated_bytes();

	take(false);
	cr_assert_gt(allocated_bytes(), 0);
	cr_assert_leq(allocated_bytes(), held_bytes);
	dismiss();
}

Test(idle, purge_takes_the_caches_of_sleeping_threads_at_once)
{
	hire();
	let(use_cache);
	cr_assert_gt(allocated_bytes(), 0);
	bedrock_purge();
	cr_assert_eq(allocated_bytes(), 0);
	dismiss();
}

Test(idle, caller_keeps_its_own_cache)
{
	use_cache();
	uint64_t held_bytes = allocated_bytes();

	take(true);
	cr_assert_eq(allocated_bytes(), held_bytes);
}

static void take_apart(void)
{
	take(true);
}

static void *hot_before;

static unsigned used_class(void)
{
	return bedrock_class_for(BLOCK_BYTES);
}

Test(idle, hot_magazine_of_a_running_thread_is_left_alone)
{
	hire();
	let(use_cache);
	use_cache();
	hot_before = bedrock_cache_hot(used_class())->head;
	cr_assert_not_null(hot_before);
	/* The worker is the thief: who waits for it sleeps, but in vain if it is too early. */
	worker.task = take_apart;
	sem_post(&worker.begin);
	while (sem_trywait(&worker.done))
		continue;
	cr_assert_eq(bedrock_cache_hot(used_class())->head, hot_before);
	use_cache();
	check_rooms();
	dismiss();
}

static void begin_a_pop(void)
{
	bedrock_cache_hot(used_class())->room++;
	hot_before = bedrock_cache_hot(used_class())->head;
}

static void end_the_pop(void)
{
	void *block = hot_before;

	bedrock_cache_hot(used_class())->head = *(void **)block;
	bedrock_free(bedrock_live_given(block));
}

Test(idle, magazine_in_the_middle_of_a_pop_is_left_alone_and_all_others_are_taken)
{
	hire();
	let(use_cache);
	let(begin_a_pop);
	take(true);
	cr_assert_eq(worker.cache->front->hot[used_class()].head, hot_before);
	let(end_the_pop);
	let(use_cache);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

static void begin_a_push(void)
{
	bedrock_cache_hot(used_class())->room--;
}

static void end_the_push(void)
{
	bedrock_cache_hot(used_class())->room++;
}

Test(idle, magazine_in_the_middle_of_a_push_is_left_alone)
{
	hire();
	let(use_cache);
	let(begin_a_push);
	hot_before = worker.cache->front->hot[used_class()].head;
	take(true);
	cr_assert_eq(worker.cache->front->hot[used_class()].head, hot_before);
	let(end_the_push);
	let(check_rooms);
	dismiss();
}

/* The files say in the end that the thread may have woken. */
static void take_in_doubt(void)
{
	/* Three reads about ourselves, two to begin the nap. */
	faults.read.error = EIO;
	faults.read.seen = 0;
	faults.read.first = 6;
	take(true);
	cr_assert_gt(faults.read.hit, 0);
	faults.read.error = 0;
	cr_assert_not_null(worker.cache->sides[used_class()].doubtful);
	cr_assert_null(worker.cache->front->hot[used_class()].head);
}

Test(idle, list_in_doubt_goes_back_when_its_owner_finds_it_gone)
{
	hire();
	let(use_cache);
	take_in_doubt();
	let(use_cache);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

static void *interrupted_pop;

/* A pop that had loaded the head before it was taken, and stores the next after. */
static void overwrite(void)
{
	struct bedrock_hot BEDROCK_OWN *hot = bedrock_cache_hot(used_class());

	hot->room++;
	interrupted_pop = hot_before;
	hot->head = *(void **)hot_before;
}

static void flush(void)
{
	bedrock_cache_flush();
}

static void free_the_popped(void)
{
	bedrock_free(bedrock_live_given(interrupted_pop));
}

Test(idle, list_in_doubt_is_forgotten_when_its_owner_has_overwritten_the_taking)
{
	hire();
	let(use_cache);
	hot_before = worker.cache->front->hot[used_class()].head;
	take_in_doubt();
	let(overwrite);
	let(use_cache);
	let(flush);
	cr_assert_null(worker.cache->sides[used_class()].doubtful);
	let(free_the_popped);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

Test(idle, list_in_doubt_is_taken_at_a_later_look_in_a_nap_that_lasts)
{
	hire();
	let(use_cache);
	take_in_doubt();
	take(true);
	cr_assert_null(worker.cache->sides[used_class()].doubtful);
	cr_assert_eq(allocated_bytes(), 0);
	let(use_cache);
	let(check_rooms);
	dismiss();
}

Test(idle, list_in_doubt_that_was_overwritten_is_forgotten_at_a_later_look)
{
	hire();
	let(use_cache);
	hot_before = worker.cache->front->hot[used_class()].head;
	take_in_doubt();
	let(overwrite);
	take(true);
	cr_assert_null(worker.cache->sides[used_class()].doubtful);
	cr_assert_not_null(worker.cache->front->hot[used_class()].head);
	take(true);
	cr_assert_null(worker.cache->front->hot[used_class()].head);
	let(free_the_popped);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

Test(idle, list_in_doubt_that_was_overwritten_is_not_taken_in_the_middle_of_a_push)
{
	hire();
	let(use_cache);
	hot_before = worker.cache->front->hot[used_class()].head;
	take_in_doubt();
	let(overwrite);
	let(begin_a_push);
	take(true);
	cr_assert_not_null(worker.cache->sides[used_class()].doubtful);
	let(end_the_push);
	let(use_cache);
	let(free_the_popped);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

Test(idle, list_in_doubt_is_counted_by_itself_in_the_middle_of_a_push)
{
	hire();
	let(use_cache);
	take_in_doubt();
	let(begin_a_push);
	take(true);
	cr_assert_null(worker.cache->sides[used_class()].doubtful);
	let(end_the_push);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

static void keep_one_block(void)
{
	void *block = bedrock_malloc(BLOCK_BYTES);

	bedrock_cache_flush();
	bedrock_free(block);
}

Test(idle, list_in_doubt_of_one_block_is_left_to_its_owner)
{
	hire();
	let(keep_one_block);
	take_in_doubt();
	take(true);
	cr_assert_not_null(worker.cache->sides[used_class()].doubtful);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

Test(idle, thread_that_ends_in_doubt_leaves_nothing)
{
	hire();
	let(use_cache);
	take_in_doubt();
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

/* Nothing hot is taken, and nothing is lost. */
static void check_refused(void)
{
	hot_before = worker.cache->front->hot[used_class()].head;
	cr_assert_not_null(hot_before);
	take(true);
	cr_assert_eq(worker.cache->front->hot[used_class()].head, hot_before);
}

static void forget_refusals(void)
{
	bedrock_store_relaxed(&bedrock_heap.nap_again_ns, 0);
}

Test(idle, files_refused_keep_caches_and_are_not_asked_for_again_for_a_minute)
{
	hire();
	let(use_cache);
	faults.open.error = ENOENT;
	check_refused();
	faults.open.error = 0;
	check_refused();
	forget_refusals();
	take(true);
	cr_assert_eq(allocated_bytes(), 0);
	let(check_rooms);
	dismiss();
}

Test(idle, memory_that_cannot_be_read_keeps_hot_magazines)
{
	hire();
	let(use_cache);
	faults.pread.error = EIO;
	check_refused();
	faults.pread.error = 0;
	faults.pread.lies = true;
	check_refused();
	faults.pread.lies = false;
	/* The front can be read, and then a block cannot. */
	faults.pread.error = EPERM;
	faults.pread.first = faults.pread.seen + 3;
	check_refused();
	cr_assert_gt(faults.pread.hit, 0);
	faults.pread.error = 0;
	let(check_rooms);
	dismiss();
}

Test(idle, spare_magazines_and_fresh_blocks_are_taken_as_well)
{
	struct bedrock_cache_side *side;

	hire();
	let(overflow_cache);
	side = &worker.cache->sides[used_class()];
	cr_assert(side->head || side->fresh_count > 0);
	take(true);
	cr_assert_null(side->head);
	cr_assert_eq(side->fresh_count, 0);
	cr_assert_eq(allocated_bytes(), 0);
	let(overflow_cache);
	let(check_rooms);
	dismiss();
	cr_assert_eq(allocated_bytes(), 0);
}

static void enter_a_slow_path(void)
{
	bedrock_thread_lock_cache();
}

static void leave_the_slow_path(void)
{
	bedrock_thread_unlock_cache();
}

Test(idle, nothing_is_taken_of_a_thread_that_sleeps_inside_a_slow_path)
{
	hire();
	let(use_cache);
	let(enter_a_slow_path);
	uint64_t held_bytes = allocated_bytes();

	take(true);
	cr_assert_eq(allocated_bytes(), held_bytes);
	let(leave_the_slow_path);
	take(true);
	cr_assert_eq(allocated_bytes(), 0);
	dismiss();
}
