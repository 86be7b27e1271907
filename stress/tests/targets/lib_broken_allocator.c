/* SPDX-License-Identifier: MIT */
/*
 * glibc's allocator with one planted bug, named by BROKEN, in every 500th call of each thread:
 *
 *   overlap     malloc gives out a block that is still live
 *   stomp       malloc flips a bit of the block that it gave out before
 *   misaligned  malloc is off by 8
 *   dirty       calloc leaves one byte
 *   prefix      realloc loses a byte
 *   errno       free changes errno
 *   null        malloc refuses without an errno
 *
 * The first thread meets no bug, so that programs start.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVERY 500u

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *address, size_t size);
extern void __libc_free(void *address);

static const char *bug;
static _Thread_local uint64_t calls;
static _Thread_local char *last; /* block from malloc */
static _Thread_local size_t last_size;

__attribute__((constructor)) static void read_environment(void)
{
	bug = getenv("BROKEN");
}

static int strikes(const char *name)
{
	if (bug == NULL || strcmp(bug, name) != 0 || getpid() == (pid_t)syscall(SYS_gettid))
		return 0;
	return ++calls % EVERY == 0;
}

/* A block that is off by 8 can never be given back. */
static void *misaligned(size_t size)
{
	return (char *)__libc_malloc(size + 16) + 8;
}

void *malloc(size_t size)
{
	if (strikes("overlap") && last != NULL && size <= last_size)
		return last;
	if (strikes("null"))
		return NULL;
	if (strikes("misaligned"))
		return misaligned(size);
	if (strikes("stomp") && last != NULL)
		last[last_size / 2] ^= 0x40;
	last = __libc_malloc(size);
	last_size = size;
	return last;
}

void *calloc(size_t count, size_t size)
{
	uint8_t *const block = __libc_calloc(count, size);

	if (block != NULL && strikes("dirty"))
		block[count * size / 2] = 0xdd;
	return block;
}

void *realloc(void *address, size_t size)
{
	uint8_t *const block = __libc_realloc(address, size);

	if (block != NULL && address != NULL && strikes("prefix"))
		block[0] ^= 1;
	return block;
}

void free(void *address)
{
	if ((uintptr_t)address % 16 == 0 && address != last)
		__libc_free(address);
	if (address == last)
		last = NULL;
	if (strikes("errno"))
		errno = EAGAIN;
}
