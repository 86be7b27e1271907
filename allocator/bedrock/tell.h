/* SPDX-License-Identifier: MIT */
/*
 * What is said to a tool that looks on: valgrind's memcheck, or in a build of its own (see
 * BEDROCK_TELL_ASAN) the address sanitizer. When it is said, watch.h decides.
 *
 * Memcheck is spoken to by a sequence of instructions that does nothing anywhere else; the sequence
 * and the numbers of the requests are valgrind's interface and do not change. So no header of
 * valgrind is needed to build, and one library serves with and without it. Elsewhere than on x86-64
 * and aarch64 nobody is spoken to.
 */
#ifndef BEDROCK_TELL_H
#define BEDROCK_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests: those of valgrind itself, and those of memcheck. */
enum bedrock_tell_request {
	BEDROCK_TELL_RUNNING = 0x1001,
	BEDROCK_TELL_MALLOCLIKE = 0x1301,
	BEDROCK_TELL_FREELIKE = 0x1302,
	BEDROCK_TELL_NOACCESS = 0x4d430000,
	BEDROCK_TELL_UNDEFINED,
	BEDROCK_TELL_DEFINED,
};

#ifdef BEDROCK_TELL_ASAN

#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>

#include "allocator/bedrock/debug.h"

static inline bool bedrock_tell_is_heard(void)
{
	return true;
}

static inline bool bedrock_tell_is_emulated(void)
{
	return false;
}

static inline void bedrock_tell_hidden(const void *address, size_t bytes)
{
	__asan_poison_memory_region(address, bytes);
}

static inline void bedrock_tell_shown(const void *address, size_t bytes)
{
	__asan_unpoison_memory_region(address, bytes);
}

static inline void bedrock_tell_given(const void *block, size_t bytes, bool is_zero)
{
	(void)is_zero;
	__asan_unpoison_memory_region(block, bytes);
}

static inline void bedrock_tell_freed(const void *block)
{
	(void)block;
}

/* The report is that of a write there, with the stack of the call. */
static inline void bedrock_tell_misuse(const void *address)
{
	void *frame = __builtin_frame_address(0);

	bedrock_debug_warn("an address is freed or resized that is no block of the program", "", 0,
			   "");
	__asan_report_error(__builtin_return_address(0), frame, frame, (void *)address, 1, 1);
}

static inline void bedrock_tell_unmapped(const void *address, size_t bytes)
{
	__asan_unpoison_memory_region(address, bytes);
}

/* What is in there may be what keeps other people's blocks from being leaks. */
static inline void bedrock_tell_root(const void *address, size_t bytes)
{
	__lsan_register_root_region(address, bytes);
}

static inline void bedrock_tell_no_root(const void *address, size_t bytes)
{
	__lsan_unregister_root_region(address, bytes);
}

#else

/* -> memcheck's answer, or 0 where there is none. */
static inline uintptr_t bedrock_tell_request(enum bedrock_tell_request request, const void *address,
					     size_t bytes, size_t redzone_bytes, bool is_zero)
{
	volatile uintptr_t words[6] = { request, (uintptr_t)address, bytes, redzone_bytes, is_zero,
					0 };
	uintptr_t answer = 0;

#if defined(__x86_64__)
	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(words)
			 : "cc", "memory");
#elif defined(__aarch64__)
	register uintptr_t result __asm__("x3") = 0;
	register volatile uintptr_t *arguments __asm__("x4") = words;

	__asm__ volatile("ror x12, x12, #3; ror x12, x12, #13\n\t"
			 "ror x12, x12, #51; ror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(result)
			 : "r"(arguments)
			 : "cc", "memory");
	answer = result;
#else
	(void)words;
#endif
	return answer;
}

/* Is memcheck there? Valgrind's other tools do not answer, and need nothing told. */
static inline bool bedrock_tell_is_heard(void)
{
	uintptr_t word = 0;

	return bedrock_tell_request(BEDROCK_TELL_DEFINED, &word, sizeof(word), 0, false) != 0;
}

/* Is it valgrind that runs us, whichever of its tools? */
static inline bool bedrock_tell_is_emulated(void)
{
	return bedrock_tell_request(BEDROCK_TELL_RUNNING, NULL, 0, 0, false) != 0;
}

/* Nobody has any business there. */
static inline void bedrock_tell_hidden(const void *address, size_t bytes)
{
	bedrock_tell_request(BEDROCK_TELL_NOACCESS, address, bytes, 0, false);
}

/* It may be used, by us. What it holds is known to us. */
static inline void bedrock_tell_shown(const void *address, size_t bytes)
{
	bedrock_tell_request(BEDROCK_TELL_DEFINED, address, bytes, 0, false);
}

/* It is a block of the program's from now on. */
static inline void bedrock_tell_given(const void *block, size_t bytes, bool is_zero)
{
	bedrock_tell_request(BEDROCK_TELL_MALLOCLIKE, block, bytes, 0, is_zero);
}

/* It is not any more, and hidden. */
static inline void bedrock_tell_freed(const void *block)
{
	bedrock_tell_request(BEDROCK_TELL_FREELIKE, block, 0, 0, false);
}

/* Somebody wants to free what is no block. Memcheck sees that by itself. */
static inline void bedrock_tell_misuse(const void *address)
{
	bedrock_tell_freed(address);
}

/* Memcheck sees mappings come and go, and has its own idea of what keeps a block from being lost.
 */
static inline void bedrock_tell_unmapped(const void *address, size_t bytes)
{
	(void)address;
	(void)bytes;
}

static inline void bedrock_tell_root(const void *address, size_t bytes)
{
	(void)address;
	(void)bytes;
}

static inline void bedrock_tell_no_root(const void *address, size_t bytes)
{
	(void)address;
	(void)bytes;
}

#endif

#endif
