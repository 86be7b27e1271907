/* SPDX-License-Identifier: MIT */
/*
 * The start of the recorder, at the first call: it looks for the allocator behind, and for the
 * memory that the controller shares. And its second start, in a child of fork.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "injectors/syscall/raw.h"
#include "stress/recorder/recorder.h"

#define PATH_ROOM  64
#define PAGE_BYTES 65536u /* a whole page on every machine */

static long map(size_t size, int flags, long fd)
{
	return hq_raw6(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE, flags, fd, 0);
}

static bool is_error(long result)
{
	return (unsigned long)result > -4096ul;
}

static bool is_sound(const struct hq_raw *raw)
{
	return raw->magic == HQ_RAW_MAGIC && raw->version == HQ_RAW_VERSION &&
	       raw->size == sizeof(*raw);
}

/* NULL: there is none. No descriptor is kept. */
static struct hq_raw *map_raw(const char *path)
{
	const long fd = hq_raw4(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC, 0);
	long address = -1;

	if (fd < 0)
		return NULL;
	if (hq_raw3(SYS_lseek, fd, 0, SEEK_END) >= (long)sizeof(struct hq_raw))
		address = map(sizeof(struct hq_raw), MAP_SHARED, fd);
	hq_raw1(SYS_close, fd);
	if (is_error(address))
		return NULL;
	if (is_sound((struct hq_raw *)address))
		return (struct hq_raw *)address;
	hq_raw3(SYS_munmap, address, sizeof(struct hq_raw), 0);
	return NULL;
}

/* Without it, a child would write into its parent's chunks: better nothing is recorded then. */
static bool make_own_page(void)
{
	const long page = map(PAGE_BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (is_error(page) || hq_raw3(SYS_madvise, page, PAGE_BYTES, MADV_WIPEONFORK) != 0)
		return false;
	hq_recorder.is_own = (_Atomic uint32_t *)page;
	return true;
}

/* Is this one of the processes that are wanted? */
static bool is_wanted(struct hq_raw *raw)
{
	const uint32_t self = (uint32_t)hq_raw1(SYS_getpid, 0);
	uint32_t first = 0;

	return hq_cas_acq_rel(&raw->process, &first, self) || first == self || raw->with_children;
}

static bool take_space(struct hq_raw *raw)
{
	hq_recorder.space = hq_fetch_add_relaxed(&raw->spaces, 1);
	if (hq_recorder.space >= HQ_RAW_SPACES)
		return false;
	hq_store_relaxed(hq_recorder.is_own, 1);
	return true;
}

static bool attach(struct hq_raw *raw)
{
	if (!is_wanted(raw))
		return false;
	if (!hq_next_stands_first()) {
		hq_fetch_add_relaxed(&raw->refused, 1);
		return false;
	}
	hq_recorder.uses_clock = raw->uses_clock;
	return make_own_page() && take_space(raw);
}

bool hq_recorder_start(void)
{
	uint32_t fresh = HQ_RECORDER_NEW;
	char path[PATH_ROOM];
	struct hq_raw *raw;

	if (!hq_cas_acq_rel(&hq_recorder.phase, &fresh, HQ_RECORDER_STARTING))
		return fresh == HQ_RECORDER_READY;
	hq_next_find(&hq_recorder.next);
	raw = hq_between_variable(HQ_RAW_ENV, path, sizeof(path)) ? map_raw(path) : NULL;
	if (raw && attach(raw))
		hq_recorder.raw = raw;
	/* Pairs with the acquire in hq_recorder_ready. */
	hq_store_release(&hq_recorder.phase, HQ_RECORDER_READY);
	return true;
}

/*
 * Runs in the only thread that a child has at first, unless that one allocates nothing before it
 * makes others; whoever loses that race is recorded under another number.
 */
void hq_recorder_forked(void)
{
	struct hq_raw *const raw = hq_recorder.raw;

	hq_recorder_self = (struct hq_recorder_self){ .depth = hq_recorder_self.depth };
	if (raw && (!raw->with_children || !take_space(raw)))
		hq_recorder.raw = NULL;
}
