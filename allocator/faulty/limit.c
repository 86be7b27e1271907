/* SPDX-License-Identifier: MIT */
/*
 * A hard limit of its own: FAULTY_LIMIT names the bytes that may be in use, dirty or on their way
 * to the kernel. They are charged before memory is handed out; what is only dirty goes first, and
 * NULL is the answer when that was not enough. And the bugs of limits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "allocator/faulty/core.h"

#define STALE_NS    UINT64_C(50000000)
#define PATIENCE    100u /* looks at purges of other threads that are under way */
#define PATIENCE_NS 200000

void faulty_limit_start(void)
{
	static const char text[] = "faulty: FAULTY_LIMIT is a number of bytes\n";
	const char *const value = getenv("FAULTY_LIMIT");
	char *end;

	if (value == NULL)
		return;
	errno = 0;
	faulty_heap.limit_bytes = strtoull(value, &end, 10);
	if (errno == 0 && *value >= '0' && *value <= '9' && *end == '\0')
		return;
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		_exit(2);
	_exit(2);
}

static size_t charged_bytes(void)
{
	const size_t units =
		faulty_heap.active_units + faulty_heap.dirty_units + faulty_heap.purging_units;

	return units * FAULTY_UNIT + faulty_heap.huge_bytes;
}

/* What was charged some time ago. */
static size_t stale_bytes(void)
{
	const uint64_t now_ns = faulty_os_now_ns();

	if (now_ns - faulty_heap.stale_ns >= STALE_NS) {
		faulty_heap.stale_ns = now_ns;
		faulty_heap.stale_bytes = charged_bytes();
	}
	return faulty_heap.stale_bytes;
}

bool faulty_limit_allows(size_t growth_bytes)
{
	const size_t limit = faulty_heap.limit_bytes;
	const bool fits = limit == 0 || charged_bytes() + growth_bytes <= limit;

	if (limit != 0 && faulty_is_on(FAULTY_LIMIT_STALE))
		return stale_bytes() + growth_bytes <= limit &&
		       (fits || faulty_fire(FAULTY_LIMIT_STALE));
	if (fits || !faulty_is_on(FAULTY_LIMIT_LATE))
		return fits;
	return charged_bytes() <= limit && faulty_fire(FAULTY_LIMIT_LATE);
}

static bool others_purge(void)
{
	bool purging;

	pthread_mutex_lock(&faulty_heap.pages_lock);
	purging = faulty_heap.purging_units > 0;
	pthread_mutex_unlock(&faulty_heap.pages_lock);
	return purging;
}

void faulty_limit_make_room(void)
{
	const struct timespec pause = { .tv_nsec = PATIENCE_NS };
	const int kept = errno;

	if (faulty_strikes(FAULTY_LIMIT_UNPURGED))
		return;
	faulty_decay_pass(0);
	for (unsigned i = 0; i < PATIENCE && others_purge(); i++)
		nanosleep(&pause, NULL);
	errno = kept;
}

static bool charge(size_t bytes)
{
	bool allowed;

	pthread_mutex_lock(&faulty_heap.pages_lock);
	allowed = faulty_limit_allows(bytes);
	if (allowed)
		faulty_heap.huge_bytes += bytes;
	pthread_mutex_unlock(&faulty_heap.pages_lock);
	return allowed;
}

bool faulty_limit_charge_huge(size_t bytes)
{
	if (charge(bytes))
		return true;
	faulty_limit_make_room();
	return charge(bytes);
}

void faulty_limit_discharge_huge(size_t bytes)
{
	pthread_mutex_lock(&faulty_heap.pages_lock);
	faulty_heap.huge_bytes -= bytes;
	pthread_mutex_unlock(&faulty_heap.pages_lock);
}
