/* SPDX-License-Identifier: MIT */
/*
 * glibc's allocator, refusing at random: a program must live with NULL from any call. The first
 * thread is never refused, so that programs start; REFUSE_ONE_IN says how often (16 by default).
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *address, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static uint64_t one_in;
static _Thread_local uint64_t state;

__attribute__((constructor)) static void read_environment(void)
{
	const char *const text = getenv("REFUSE_ONE_IN");

	one_in = text != NULL ? strtoull(text, NULL, 10) : 16;
}

static int refused(void)
{
	if (state == 0)
		state = getpid() == (pid_t)syscall(SYS_gettid) ? 1 : (uintptr_t)&state;
	if (state == 1 || one_in == 0)
		return 0;
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	if ((state >> 33) % one_in != 0)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size)
{
	return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return refused() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *address, size_t size)
{
	return refused() ? NULL : __libc_realloc(address, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return refused() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **address, size_t alignment, size_t size)
{
	*address = refused() ? NULL : __libc_memalign(alignment, size);
	return *address != NULL ? 0 : ENOMEM;
}
