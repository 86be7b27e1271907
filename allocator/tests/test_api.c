/* SPDX-License-Identifier: MIT */
/*
 * The public family, call by call: what each returns, refuses, keeps and sets.
 *
 * The calls are real functions of another object file, so the compiler cannot assume anything
 * of what it knows about malloc.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/tests/faults.h"

#define MIB ((size_t)1 << 20)

static const size_t sizes[] = {
	0,
	1,
	8,
	16,
	17,
	128,
	129,
	1000,
	1024,
	1025,
	4096,
	10000,
	65536,
	65537,
	131072,
	500000,
	2 * MIB,
	2 * MIB + 1,
	4 * MIB - 4096,
	4 * MIB,
	4 * MIB + 1,
	17 * MIB,
};

#define SIZE_COUNT (sizeof(sizes) / sizeof(sizes[0]))

TestSuite(api, .timeout = 60);

Test(api, malloc_of_any_size_is_aligned_and_usable_to_its_usable_end)
{
	for (size_t i = 0; i < SIZE_COUNT; i++) {
		char *block = bedrock_malloc(sizes[i]);

		cr_assert(block);
		cr_assert_eq((uintptr_t)block % 16, 0);
		size_t usable_bytes = bedrock_malloc_usable_size(block);

		cr_assert_geq(usable_bytes, sizes[i]);
		memset(block, 0x77, usable_bytes);
		bedrock_free(block);
	}
}

Test(api, malloc_of_nothing_is_a_block_of_its_own)
{
	void *a = bedrock_malloc(0);
	void *b = bedrock_malloc(0);

	cr_assert(a);
	cr_assert(b);
	cr_assert_neq(a, b);
	bedrock_free(a);
	bedrock_free(b);
}

Test(api, requests_above_ptrdiff_max_are_enomem)
{
	const size_t absurd[] = { (size_t)PTRDIFF_MAX + 1, SIZE_MAX, SIZE_MAX - 15,
				  SIZE_MAX - 4095 };

	for (int i = 0; i < 4; i++) {
		errno = 0;
		cr_assert_null(bedrock_malloc(absurd[i]));
		cr_assert_eq(errno, ENOMEM);
		errno = 0;
		cr_assert_null(bedrock_calloc(absurd[i], 1));
		cr_assert_eq(errno, ENOMEM);
		errno = 0;
		cr_assert_null(bedrock_aligned_alloc(64, absurd[i]));
		cr_assert_eq(errno, ENOMEM);
		errno = 0;
		cr_assert_null(bedrock_pvalloc(absurd[i]));
		cr_assert_eq(errno, ENOMEM);
	}
	errno = 0;
	cr_assert_null(bedrock_malloc(PTRDIFF_MAX));
	cr_assert_eq(errno, ENOMEM);
}

Test(api, products_that_wrap_are_enomem)
{
	char *block = bedrock_malloc(10);

	errno = 0;
	cr_assert_null(bedrock_calloc(SIZE_MAX / 2 + 1, 2));
	cr_assert_eq(errno, ENOMEM);
	errno = 0;
	cr_assert_null(bedrock_calloc((size_t)1 << 32, (size_t)1 << 32));
	cr_assert_eq(errno, ENOMEM);
	errno = 0;
	cr_assert_null(bedrock_reallocarray(block, SIZE_MAX / 4, 8));
	cr_assert_eq(errno, ENOMEM);
	block[9] = 1;
	bedrock_free(block);
}

Test(api, calloc_is_zero_after_every_kind_of_reuse)
{
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < SIZE_COUNT; i++) {
			unsigned char *block = bedrock_calloc(1, sizes[i]);

			cr_assert(block);
			for (size_t at = 0; at < sizes[i]; at++)
				cr_assert_eq(block[at], 0);
			memset(block, 0xff, bedrock_malloc_usable_size(block));
			bedrock_free(block);
		}
		if (round == 2)
			bedrock_purge();
	}
}

Test(api, realloc_between_any_two_sizes_keeps_the_common_part)
{
	for (size_t i = 0; i < SIZE_COUNT; i++) {
		for (size_t j = 1; j < SIZE_COUNT; j++) {
			size_t common_bytes = sizes[i] < sizes[j] ? sizes[i] : sizes[j];
			unsigned char *block = bedrock_malloc(sizes[i]);

			memset(block, (int)(i + j), sizes[i]);
			block = bedrock_realloc(block, sizes[j]);
			cr_assert(block);
			cr_assert_geq(bedrock_malloc_usable_size(block), sizes[j]);
			for (size_t at = 0; at < common_bytes; at += 97)
				cr_assert_eq(block[at], (unsigned char)(i + j));
			if (common_bytes > 0)
				cr_assert_eq(block[common_bytes - 1], (unsigned char)(i + j));
			memset(block, 1, sizes[j]);
			bedrock_free(block);
		}
	}
}

Test(api, realloc_of_null_allocates_and_to_nothing_frees)
{
	struct bedrock_stats stats;
	void *block = bedrock_realloc(NULL, 100000);

	cr_assert(block);
	cr_assert_null(bedrock_realloc(block, 0));
	bedrock_purge();
	bedrock_stats_read(&stats);
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(api, refused_realloc_keeps_the_block)
{
	for (size_t i = 1; i < SIZE_COUNT; i++) {
		char *block = bedrock_malloc(sizes[i]);

		memset(block, 0x31, sizes[i]);
		errno = 0;
		cr_assert_null(bedrock_realloc(block, PTRDIFF_MAX));
		cr_assert_eq(errno, ENOMEM);
		errno = 0;
		cr_assert_null(bedrock_realloc(block, SIZE_MAX));
		cr_assert_eq(errno, ENOMEM);
		cr_assert_eq(block[sizes[i] - 1], 0x31);
		bedrock_free(block);
	}
}

Test(api, vectors_that_grow_side_by_side_move_seldom)
{
	char *vectors[8] = { NULL };
	int moves = 0;

	for (size_t bytes = 100000; bytes < 1000000; bytes += bytes / 4) {
		for (int i = 0; i < 8; i++) {
			char *grown = bedrock_realloc(vectors[i], bytes);

			moves += grown != vectors[i];
			grown[0] = (char)i;
			vectors[i] = grown;
		}
	}
	/* Of eleven sizes. */
	cr_assert_leq(moves, 8 * 6);
	for (int i = 0; i < 8; i++) {
		cr_assert_eq(vectors[i][0], i);
		bedrock_free(vectors[i]);
	}
}

Test(api, realloc_to_a_slightly_other_size_stays_in_place)
{
	char *block = bedrock_malloc(1000);

	cr_assert_eq(bedrock_realloc(block, 1024), block);
	cr_assert_eq(bedrock_realloc(block, 600), block);
	cr_assert_neq(bedrock_realloc(block, 200), block);
}

Test(api, memalign_family_meets_every_alignment)
{
	for (size_t align_bytes = 8; align_bytes <= 32 * MIB; align_bytes *= 2) {
		for (size_t i = 0; i < SIZE_COUNT; i += 3) {
			void *block = NULL;

			cr_assert_eq(bedrock_posix_memalign(&block, align_bytes, sizes[i]), 0);
			cr_assert_eq((uintptr_t)block % align_bytes, 0);
			cr_assert_geq(bedrock_malloc_usable_size(block), sizes[i]);
			memset(block, 1, sizes[i]);
			bedrock_free_aligned_sized(block, align_bytes, sizes[i]);
			block = bedrock_memalign(align_bytes, sizes[i]);
			cr_assert_eq((uintptr_t)block % align_bytes, 0);
			block = bedrock_realloc(block, sizes[i] + 100);
			cr_assert(block);
			bedrock_free(block);
		}
	}
}

Test(api, posix_memalign_refuses_odd_alignments_and_touches_nothing)
{
	const size_t odd[] = { 0, 1, 2, 4, 24, 100, SIZE_MAX };
	void *block = (void *)0x55;

	errno = 33;
	for (int i = 0; i < 7; i++)
		cr_assert_eq(bedrock_posix_memalign(&block, odd[i], 10), EINVAL);
	cr_assert_eq(bedrock_posix_memalign(&block, 64, SIZE_MAX), ENOMEM);
	cr_assert_eq(bedrock_posix_memalign(&block, (size_t)1 << 62, 1), ENOMEM);
	cr_assert_eq(bedrock_posix_memalign(&block, (size_t)1 << 63, 1), ENOMEM);
	cr_assert_eq(block, (void *)0x55);
	cr_assert_eq(errno, 33);
}

Test(api, aligned_alloc_refuses_odd_alignments_with_einval)
{
	const size_t odd[] = { 0, 3, 24, SIZE_MAX };

	for (int i = 0; i < 4; i++) {
		errno = 0;
		cr_assert_null(bedrock_aligned_alloc(odd[i], 10));
		cr_assert_eq(errno, EINVAL);
	}
	void *block = bedrock_aligned_alloc(1, 10);

	cr_assert(block);
	bedrock_free(block);
}

Test(api, valloc_and_pvalloc_are_page_aligned_and_pvalloc_whole_pages)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *a = bedrock_valloc(10);
	char *b = bedrock_pvalloc(page_bytes + 1);
	char *c = bedrock_pvalloc(0);

	cr_assert_eq((uintptr_t)a % page_bytes, 0);
	cr_assert_eq((uintptr_t)b % page_bytes, 0);
	cr_assert_geq(bedrock_malloc_usable_size(b), 2 * page_bytes);
	cr_assert_geq(bedrock_malloc_usable_size(c), page_bytes);
	bedrock_free(a);
	bedrock_free(b);
	bedrock_free(c);
}

Test(api, free_keeps_errno_on_every_path)
{
	fault_install();
	faults.munmap.error = ENOMEM;
	faults.madvise.error = EAGAIN;
	for (size_t i = 0; i < SIZE_COUNT; i++) {
		void *blocks[40];

		for (int j = 0; j < 40; j++)
			blocks[j] = bedrock_malloc(sizes[i]);
		errno = 1234;
		for (int j = 0; j < 40; j++)
			bedrock_free(blocks[j]);
		bedrock_free(NULL);
		cr_assert_eq(errno, 1234);
	}
	cr_assert_gt(faults.munmap.hit, 0);
}

Test(api, free_sized_forms_free)
{
	struct bedrock_stats stats;

	for (size_t i = 0; i < SIZE_COUNT; i++)
		bedrock_free_sized(bedrock_malloc(sizes[i]), sizes[i]);
	bedrock_free_sized(NULL, 0);
	bedrock_free_aligned_sized(NULL, 64, 0);
	bedrock_purge();
	bedrock_stats_read(&stats);
	cr_assert_eq(stats.allocated_bytes, 0);
}

Test(api, usable_size_of_null_is_0)
{
	cr_assert_eq(bedrock_malloc_usable_size(NULL), 0);
}

Test(api, trim_says_whether_it_gave_anything_back)
{
	static void *blocks[100];

	for (int i = 0; i < 100; i++)
		blocks[i] = memset(bedrock_malloc(50000), 1, 50000);
	for (int i = 0; i < 100; i++)
		bedrock_free(blocks[i]);
	cr_assert_eq(bedrock_malloc_trim(0), 1);
	cr_assert_eq(bedrock_malloc_trim(0), 0);
}

Test(api, version_names_the_allocator)
{
	cr_assert_eq(strncmp(bedrock_version(), "bedrock ", 8), 0);
	cr_assert_str_eq(bedrock_version(), bedrock_version_string);
}

Test(api, realloc_to_zero_bytes_gives_the_smallest_block_if_the_option_says_so)
{
	void *block = bedrock_malloc(100);

	bedrock_heap.options.zero_realloc = BEDROCK_ZERO_REALLOC_ALLOC;
	block = bedrock_realloc(block, 0);
	cr_assert_not_null(block);
	block = bedrock_realloc(bedrock_realloc(block, 3 << 20), 0);
	cr_assert_not_null(block);
	cr_assert_leq(bedrock_malloc_usable_size(block), 16);
	bedrock_free(block);
}
