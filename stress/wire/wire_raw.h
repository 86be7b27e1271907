/* SPDX-License-Identifier: MIT */
/*
 * Mapping the wire without the C library, for the libraries that live in a program under test: they
 * come before it is ready, and must not touch what the program sees of it, such as errno.
 */
#ifndef HQ_STRESS_WIRE_WIRE_RAW_H
#define HQ_STRESS_WIRE_WIRE_RAW_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/syscall/raw.h"
#include "stress/wire/wire.h"

/*
 * What a library maps: all but the workers, who are the host's alone. They are most of the wire,
 * and a program under test may have little address space.
 */
#define HQ_WIRE_RAW_BYTES offsetof(struct hq_wire, workers)

/*
 * The wire at `path`, HQ_WIRE_RAW_BYTES of it; NULL: there is none, or none that is sound. No
 * descriptor is kept.
 */
static inline struct hq_wire *hq_wire_map_raw(const char *path)
{
	const long fd = hq_raw4(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0);
	struct hq_wire *wire;
	long address = -1;

	if (fd < 0)
		return NULL;
	if (hq_raw3(SYS_lseek, fd, 0, SEEK_END) >= (long)sizeof(*wire))
		address = hq_raw6(SYS_mmap, 0, HQ_WIRE_RAW_BYTES, PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);
	hq_raw1(SYS_close, fd);
	if ((unsigned long)address > -4096ul)
		return NULL;
	wire = (struct hq_wire *)address;
	if (hq_wire_is_sound(wire))
		return wire;
	hq_raw3(SYS_munmap, address, HQ_WIRE_RAW_BYTES, 0);
	return NULL;
}

#endif
