/* SPDX-License-Identifier: MIT */
/*
 * Finding the wire at the first call of the malloc family.
 */
#include <sys/mman.h>

#include "injectors/syscall/raw.h"
#include "stress/guard/guard.h"
#include "stress/wire/wire_raw.h"

#define PATH_ROOM 64

struct hq_wire *hq_guard_attach(void)
{
	char path[PATH_ROOM];
	const bool is_named = hq_between_variable(HQ_WIRE_ENV, path, sizeof(path));
	struct hq_wire *const wire = is_named ? hq_wire_map_raw(path) : NULL;

	if (wire == NULL || wire->config.guard_every != 0)
		return wire;
	hq_raw3(SYS_munmap, (long)wire, HQ_WIRE_RAW_BYTES, 0);
	return NULL;
}
