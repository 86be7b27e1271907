/* SPDX-License-Identifier: MIT */
/*
 * The host's side of the shared memory: finding it by the path in the environment. No descriptor is
 * kept, since the program under test might close or reuse it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stress/wire/wire.h"

/* Maps the open file if it is as large as a wire must be. */
static int map_wire(int fd, struct hq_wire **wire)
{
	struct stat status;
	struct hq_wire *mapped;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_size < (off_t)sizeof(*mapped))
		return -EPROTO;
	mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return -errno;
	if (!hq_wire_is_sound(mapped)) {
		munmap(mapped, sizeof(*mapped));
		return -EPROTO;
	}
	*wire = mapped;
	return 0;
}

int hq_wire_attach(struct hq_wire **wire)
{
	const char *path = getenv(HQ_WIRE_ENV);

	if (!path)
		return -ENOENT;
	const int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	const int status = map_wire(fd, wire);

	close(fd);
	return status;
}
