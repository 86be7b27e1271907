/* SPDX-License-Identifier: MIT */
/*
 * Guarded blocks: what touches memory beside or after them ends a child at once, what is right
 * passes, and what the kernel or a limit refuses is served by ordinary blocks.
 */
#include <criterion/criterion.h>
#include <stdint.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/harden.h"
#include "allocator/tests/faults.h"
#include "allocator/tests/victim.h"

#define LARGE_BYTES ((size_t)300000)

/* Addresses are kept where the compiler does not follow them. */
static char *volatile kept;
static char *(*volatile take)(size_t bytes) = (char *(*)(size_t))bedrock_malloc;

/* As if the process had been started with these options. */
static void guard(const char *conf)
{
	fault_install();
	cr_assert_eq(bedrock_options_parse(&bedrock_heap.options, conf), 0);
	bedrock_harden_start(&bedrock_heap);
}

static void guard_all(void)
{
	guard("guard_pages:1,background_thread:false");
}

static bool is_guarded(const void *block)
{
	return bedrock_chunk_class_of(block) == BEDROCK_CLASS_NONE && bedrock_guarded_holds(block);
}

static uint32_t held_count(void)
{
	return bedrock_heap.guarded.held.count;
}

static bool is_ordered(const struct bedrock_stats *stats)
{
	return stats->allocated_bytes <= stats->active_bytes &&
	       stats->active_bytes <= stats->resident_bytes &&
	       stats->resident_bytes <= stats->mapped_bytes;
}

/* It must be killed by an access, without a word. */
static void victim_faults(void (*act)(void))
{
	struct victim victim;

	victim_run(&victim, act);
	cr_assert(WIFSIGNALED(victim.status) && WTERMSIG(victim.status) == SIGSEGV,
		  "status %x, said: %s", victim.status, victim.said);
	cr_assert_str_eq(victim.said, "");
}

/* ---- what is wrong ---- */

static void write_a_byte_beyond(void)
{
	kept = take(112);
	kept[112] = 1;
}

static void read_a_byte_beyond_a_large_one(void)
{
	kept = take(LARGE_BYTES);
	kept[0] = kept[(LARGE_BYTES + 15) & ~(size_t)15];
}

static void write_below(void)
{
	kept = take(4096);
	kept[-1] = 1;
}

static void write_after_free(void)
{
	kept = take(100);
	bedrock_free(kept);
	kept[0] = 1;
}

static void read_after_realloc(void)
{
	kept = take(100);
	char *moved = bedrock_realloc(kept, 200);

	moved[0] = kept[0];
}

static void free_twice(void)
{
	kept = take(100);
	bedrock_free(kept);
	bedrock_free(kept);
}

static void realloc_after_free(void)
{
	kept = take(100);
	bedrock_free(kept);
	kept = bedrock_realloc(kept, 50);
}

static void free_inside(void)
{
	kept = take(100);
	bedrock_free(kept + 16);
}

Test(guarded, access_beside_a_block_faults)
{
	guard_all();
	victim_faults(write_a_byte_beyond);
	victim_faults(read_a_byte_beyond_a_large_one);
	victim_faults(write_below);
}

Test(guarded, access_to_a_freed_or_moved_block_faults)
{
	guard_all();
	victim_faults(write_after_free);
	victim_faults(read_after_realloc);
}

Test(guarded, free_of_what_is_no_block_ends_the_process_with_a_line)
{
	guard_all();
	victim_dies(free_twice, SIGABRT, "free of 0x", "freed before");
	victim_dies(free_inside, SIGABRT, "free of 0x", "which is ");
	victim_dies(realloc_after_free, SIGABRT, "realloc of 0x", "freed before");
}

/* ---- what is right ---- */

Test(guarded, block_ends_with_its_page_and_its_usable_size_says_so)
{
	static const size_t sizes[] = { 0, 1, 16, 100, 4096, 4097, 65537, LARGE_BYTES, 1 << 20 };

	guard_all();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *block = take(sizes[i]);
		size_t usable_bytes = bedrock_malloc_usable_size(block);

		cr_assert(is_guarded(block), "%zu bytes", sizes[i]);
		cr_assert_eq((uintptr_t)block % 16, 0);
		cr_assert(usable_bytes >= sizes[i] && usable_bytes <= sizes[i] + 16);
		cr_assert_eq((uintptr_t)(block + usable_bytes) % bedrock_os_page_bytes(), 0);
		memset(block, 0xff, usable_bytes);
		bedrock_free(block);
	}
}

Test(guarded, what_is_too_long_or_aligned_otherwise_is_ordinary)
{
	guard_all();
	cr_assert_not(is_guarded(take(((size_t)1 << 20) + 1)));
	cr_assert_not(is_guarded(take((size_t)5 << 20)));
	kept = bedrock_aligned_alloc(64, 100);
	cr_assert(!is_guarded(kept) && (uintptr_t)kept % 64 == 0);
	cr_assert(is_guarded(bedrock_aligned_alloc(16, 100)));
}

Test(guarded, calloc_is_zero)
{
	static void *(*volatile take_zero)(size_t, size_t) = bedrock_calloc;

	guard_all();
	for (int i = 0; i < 200; i++) {
		char *block = take_zero(1, i % 2 ? LARGE_BYTES : 100);

		cr_assert(is_guarded(block));
		for (int at = 0; at < 100; at++)
			cr_assert_eq(block[at], 0);
		memset(block, 0xff, 100);
		bedrock_free(block);
	}
}

Test(guarded, realloc_keeps_content_and_stays_where_the_length_is_the_same)
{
	static const size_t sizes[] = { 200, 5000, LARGE_BYTES, (size_t)3 << 20, LARGE_BYTES, 112 };

	guard_all();
	char *block = take(112);

	memset(block, 0x33, 112);
	cr_assert_eq(bedrock_realloc(block, 105), block);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		block = bedrock_realloc(block, sizes[i]);
		for (int at = 0; at < 105; at++)
			cr_assert_eq(block[at], 0x33);
	}
	bedrock_free(block);
}

Test(guarded, one_of_so_many_is_guarded_on_average)
{
	unsigned count = 0;

	guard("guard_pages:50,background_thread:false");
	for (int i = 0; i < 10000; i++) {
		kept = take(64);
		count += is_guarded(kept);
		bedrock_free(kept);
	}
	cr_assert(count > 100 && count < 400, "%u", count);
}

Test(guarded, quarantine_is_bounded_and_purge_drops_it)
{
	struct bedrock_stats stats;

	guard_all();
	for (unsigned i = 0; i < 3 * BEDROCK_GUARDED_HELD_MAX; i++)
		bedrock_free(take(100));
	cr_assert_eq(held_count(), BEDROCK_GUARDED_HELD_MAX);
	bedrock_purge();
	cr_assert_eq(held_count(), 0);
	bedrock_stats_read(&stats);
	cr_assert_eq(stats.allocated_bytes, 0);
	cr_assert_eq(bedrock_heap.huge.charged_bytes, 0);
}

Test(guarded, no_more_are_in_use_than_the_bound)
{
	static char *blocks[BEDROCK_GUARDED_LIVE_MAX + 10];

	guard_all();
	for (unsigned i = 0; i < BEDROCK_GUARDED_LIVE_MAX + 10; i++)
		blocks[i] = take(32);
	cr_assert(is_guarded(blocks[BEDROCK_GUARDED_LIVE_MAX - 1]));
	cr_assert_not(is_guarded(blocks[BEDROCK_GUARDED_LIVE_MAX]));
	for (unsigned i = 0; i < BEDROCK_GUARDED_LIVE_MAX + 10; i++)
		bedrock_free(blocks[i]);
	cr_assert(is_guarded(take(32)));
}

Test(guarded, statistics_stay_in_order)
{
	char *blocks[100];
	struct bedrock_stats stats;

	guard_all();
	for (int i = 0; i < 100; i++) {
		blocks[i] = take((size_t)i * 100);
		bedrock_stats_read(&stats);
		cr_assert(is_ordered(&stats));
	}
	cr_assert(stats.huge_count == 100 && stats.huge_bytes >= 100 * 100);
	for (int i = 0; i < 100; i++) {
		bedrock_free(blocks[i]);
		bedrock_stats_read(&stats);
		cr_assert(is_ordered(&stats));
	}
	cr_assert_eq(stats.huge_count, 0);
}

static void use_after_fork(void)
{
	bedrock_free(kept);
	for (int i = 0; i < 100; i++)
		bedrock_free(take(1000));
	bedrock_purge();
	_exit(held_count() != 0);
}

Test(guarded, child_of_a_fork_has_blocks_and_quarantine)
{
	guard_all();
	bedrock_free(take(100));
	kept = take(100);
	victim_lives(use_after_fork);
	bedrock_free(kept);
}

/* ---- what is refused ---- */

Test(guarded, close_to_a_memory_limit_blocks_are_ordinary)
{
	guard_all();
	cr_assert_eq(bedrock_limit_memory((size_t)8 << 20, 0), 0);
	cr_assert(is_guarded(take(100)));
	for (unsigned i = 0; i < 2000 && is_guarded(take(16000)); i++)
		cr_assert(bedrock_resident() <= (size_t)8 << 20);
	cr_assert_not(is_guarded(take(100)));
	cr_assert(bedrock_heap.guarded.live_count > 10);
}

Test(guarded, a_freed_block_is_charged_its_header_only)
{
	guard_all();
	cr_assert_eq(bedrock_limit_memory((size_t)64 << 20, 0), 0);
	kept = take(LARGE_BYTES);
	memset(kept, 1, LARGE_BYTES);
	cr_assert(bedrock_heap.huge.charged_bytes > LARGE_BYTES);
	bedrock_free(kept);
	cr_assert_eq(bedrock_heap.huge.charged_bytes, bedrock_os_page_bytes());
}

Test(guarded, mmap_refused_serves_an_ordinary_block)
{
	guard_all();
	kept = take(100);
	faults.mmap.error = ENOMEM;
	char *block = take(100);

	cr_assert(block && !is_guarded(block));
	cr_assert(faults.mmap.hit > 0);
	faults.mmap.error = 0;
	bedrock_free(block);
	cr_assert(is_guarded(take(100)));
}

Test(guarded, mprotect_refused_for_either_side_serves_an_ordinary_block)
{
	guard_all();
	kept = take(100);
	uint64_t charged_bytes = bedrock_heap.huge.charged_bytes;

	for (unsigned side = 1; side <= 2; side++) {
		faults.mprotect.first = faults.mprotect.seen + side;
		faults.mprotect.error = ENOMEM;
		char *block = take(100);

		faults.mprotect.error = 0;
		cr_assert_eq(faults.mprotect.hit, side);
		cr_assert(block && !is_guarded(block));
		bedrock_free(block);
		cr_assert_eq(bedrock_heap.huge.charged_bytes, charged_bytes);
		cr_assert_eq(held_count(), 0);
	}
	cr_assert(is_guarded(take(100)));
}

Test(guarded, mprotect_refused_for_a_freed_block_unmaps_it_at_once)
{
	guard_all();
	kept = take(100);
	faults.mprotect.error = ENOMEM;
	errno = 7;
	bedrock_free(kept);
	cr_assert_eq(errno, 7);
	cr_assert_eq(faults.mprotect.hit, 1);
	cr_assert_eq(held_count(), 0);
	cr_assert_eq(bedrock_heap.huge.charged_bytes, 0);
	cr_assert_not(bedrock_os_is_mapped((void *)bedrock_chunk_of(kept)));
}

Test(guarded, madvise_refused_for_a_freed_block_unmaps_it_at_once)
{
	guard_all();
	kept = take(100);
	faults.madvise.error = EINVAL;
	bedrock_free(kept);
	cr_assert_eq(held_count(), 0);
	cr_assert_eq(bedrock_heap.huge.charged_bytes, 0);
}

Test(guarded, munmap_refused_empties_and_keeps_the_mapping_and_guards_no_more_until_it_is_not)
{
	guard_all();
	for (unsigned i = 0; i < BEDROCK_GUARDED_HELD_MAX; i++)
		bedrock_free(take(100));
	faults.munmap.error = ENOMEM;
	for (unsigned i = 0; i < BEDROCK_GUARDED_HELD_MAX; i++)
		bedrock_free(take(100));
	cr_assert_eq(held_count(), BEDROCK_GUARDED_HELD_MAX + 1);
	cr_assert_eq(faults.munmap.hit, 1);
	cr_assert_eq(bedrock_heap.huge.charged_bytes, held_count() * bedrock_os_page_bytes());
	cr_assert_not(is_guarded(take(100)));
	faults.munmap.error = 0;
	bedrock_purge();
	cr_assert_eq(held_count(), 0);
	cr_assert(is_guarded(take(100)));
}

Test(guarded, option_is_read_and_bad_values_are_refused)
{
	struct bedrock_options options;

	bedrock_options_init(&options);
	cr_assert_eq(options.guard_pages, 0);
	cr_assert_eq(bedrock_options_parse(&options, "guard_pages:1000"), 0);
	cr_assert_eq(options.guard_pages, 1000);
	cr_assert_eq(bedrock_options_parse(&options, "guard_pages:-1,guard_pages:true"), 2);
	cr_assert_eq(bedrock_options_parse(&options, "guard_pages:1000000001"), 1);
	cr_assert_eq(options.guard_pages, 1000);
}
