/* SPDX-License-Identifier: MIT */
/*
 * System calls without the C library: no errno, no cancellation point, nothing that an allocator or
 * a sanitizer could have replaced. The result is what the kernel says: -errno on failure.
 */
#ifndef HQ_INJECTORS_SYSCALL_RAW_H
#define HQ_INJECTORS_SYSCALL_RAW_H

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

static inline long hq_raw6(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
#error "heapquake knows the system call instruction of x86-64 and aarch64 only"
#endif
}

static inline long hq_raw4(long number, long a, long b, long c, long d)
{
	return hq_raw6(number, a, b, c, d, 0, 0);
}

static inline long hq_raw3(long number, long a, long b, long c)
{
	return hq_raw6(number, a, b, c, 0, 0, 0);
}

static inline long hq_raw1(long number, long a)
{
	return hq_raw6(number, a, 0, 0, 0, 0, 0);
}

/* CLOCK_MONOTONIC. */
static inline uint64_t hq_raw_now_ns(void)
{
	struct timespec now = { .tv_sec = 0 };

	hq_raw3(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

#endif
