/* SPDX-License-Identifier: MIT */
/*
 * As little as an allocator can do: a free list for each power of two in each thread, filled from
 * one mapping by a pointer that only moves up. Measured on it, the host shows its own cost. It
 * gives nothing back, checks nothing, and is no example.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA_BYTES  (64ull << 30)
#define HEADER_BYTES 16u
#define CLASSES      40u

struct free_block {
	struct free_block *next;
};

static _Atomic uintptr_t top;
static _Thread_local struct free_block *lists[CLASSES];

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *address, size_t size);
void free(void *address);
int posix_memalign(void **address, size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);
size_t malloc_usable_size(void *address);

static uint32_t class_of(size_t size)
{
	return size <= 16 ? 4 : 64 - (uint32_t)__builtin_clzll(size - 1);
}

/* The word in front of a block: its class, or the distance to the block that contains it. */
static uint64_t *header_of(void *address)
{
	return (uint64_t *)((char *)address - HEADER_BYTES);
}

static uintptr_t raise_top(size_t bytes)
{
	if (top == 0) {
		void *const arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		uintptr_t none = 0;

		if (arena == MAP_FAILED)
			return 0;
		__atomic_compare_exchange_n(&top, &none, (uintptr_t)arena, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	}
	return __atomic_fetch_add(&top, bytes, __ATOMIC_SEQ_CST);
}

void *malloc(size_t size)
{
	const uint32_t class = class_of(size);
	struct free_block *block;

	if (class >= CLASSES) {
		errno = ENOMEM;
		return NULL;
	}
	block = lists[class];
	if (block != NULL) {
		lists[class] = block->next;
		return block;
	}
	char *const fresh = (char *)raise_top((1ull << class) + HEADER_BYTES) + HEADER_BYTES;

	*header_of(fresh) = class;
	return fresh;
}

void free(void *address)
{
	if (address == NULL)
		return;
	uint64_t class = *header_of(address);

	if (class >= CLASSES) {
		address = (char *)address - class;
		class = *header_of(address);
	}
	struct free_block *const block = address;

	block->next = lists[class];
	lists[class] = block;
}

size_t malloc_usable_size(void *address)
{
	const uint64_t class = address != NULL ? *header_of(address) : CLASSES;

	if (class < CLASSES)
		return 1ull << class;
	return address != NULL ? (1ull << *header_of((char *)address - class)) - class : 0;
}

void *calloc(size_t count, size_t size)
{
	void *const block = malloc(count * size);

	return block != NULL ? memset(block, 0, count * size) : NULL;
}

void *realloc(void *address, size_t size)
{
	const size_t old = malloc_usable_size(address);
	void *moved;

	if (address != NULL && size <= old)
		return address;
	moved = malloc(size);
	if (moved != NULL && address != NULL)
		memcpy(moved, address, old);
	if (moved != NULL)
		free(address);
	return moved;
}

/* Inside a larger block; the distance to it is at least 64, so that it is no class. */
void *memalign(size_t alignment, size_t size)
{
	char *const block = malloc(size + alignment + 64);
	const uintptr_t aligned = ((uintptr_t)block + 64 + alignment - 1) & ~(alignment - 1);

	if (block == NULL || alignment <= 16)
		return block;
	*header_of((void *)aligned) = aligned - (uintptr_t)block;
	return (void *)aligned;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **address, size_t alignment, size_t size)
{
	*address = memalign(alignment, size);
	return *address != NULL ? 0 : ENOMEM;
}
