/* SPDX-License-Identifier: MIT */
/*
 * The allocator behind the guard. Looking it up may itself allocate, so calls of that time are
 * served from a small arena, whose blocks are never given back.
 */
#include <dlfcn.h>
#include <link.h>

#include "injectors/syscall/raw.h"
#include "stress/guard/guard.h"

_Alignas(4096) char hq_guard_arena[HQ_GUARD_ARENA_BYTES];
static _Atomic uint64_t arena_used;

void *hq_guard_arena_alloc(size_t alignment, size_t size)
{
	const uint64_t rounded = alignment < 16 ? 16 : alignment;
	uint64_t used = hq_load_relaxed(&arena_used), start;

	if (rounded > 4096 || size > HQ_GUARD_ARENA_BYTES)
		return NULL;
	do {
		start = (used + rounded - 1) & ~(rounded - 1);
		if (start + size > HQ_GUARD_ARENA_BYTES)
			return NULL;
	} while (!hq_cas_acq_rel(&arena_used, &used, start + size));
	return hq_guard_arena + start;
}

size_t hq_guard_arena_room(const void *address)
{
	return (size_t)(hq_guard_arena + HQ_GUARD_ARENA_BYTES - (const char *)address);
}

static const void *object_of(const void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

static void find_next(struct hq_guard_next *next)
{
	*(void **)&next->malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&next->calloc = dlsym(RTLD_NEXT, "calloc");
	*(void **)&next->realloc = dlsym(RTLD_NEXT, "realloc");
	*(void **)&next->free = dlsym(RTLD_NEXT, "free");
	*(void **)&next->posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	*(void **)&next->aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	*(void **)&next->memalign = dlsym(RTLD_NEXT, "memalign");
	*(void **)&next->valloc = dlsym(RTLD_NEXT, "valloc");
	*(void **)&next->pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	*(void **)&next->usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
	next->usable_is_its_own =
		object_of((const void *)next->malloc) == object_of((const void *)next->usable_size);
}

/*
 * Where the program's calls of a function end: with the guard, or before it. A program that takes
 * the function's address may define it as undefined, with its own jump to it for an address.
 */
static bool ends_here(const char *name)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!dladdr1(dlsym(RTLD_DEFAULT, name), &info, (void **)&symbol, RTLD_DL_SYMENT))
		return false;
	return info.dli_fbase == object_of((const void *)ends_here) ||
	       (symbol && symbol->st_shndx == SHN_UNDEF);
}

/* A program with a malloc of its own calls that one, and would be seen by halves. */
static bool stands_first(void)
{
	return ends_here("malloc") && ends_here("free");
}

static void watch(struct hq_wire *wire)
{
	uint32_t none = 0;

	if (!stands_first()) {
		hq_fetch_add_relaxed(&wire->guard.refused, 1);
		return;
	}
	hq_guard.wire = wire;
	hq_guard.every = wire->config.guard_every;
	hq_guard.tails = wire->config.guard_tails;
	hq_guard.tail_key = wire->config.seed * 0x9e3779b97f4a7c15ull;
	hq_fetch_add_relaxed(&wire->guard.attached, 1);
	hq_cas_acq_rel(&wire->guard.process, &none, (uint32_t)hq_raw1(SYS_getpid, 0));
	hq_guard.watches = true;
	/* Pairs with the acquire in hq_guard_frees_pass. */
	hq_store_release(&hq_guard.passes, hq_guard.every > 1);
}

bool hq_guard_start(void)
{
	uint32_t fresh = HQ_GUARD_NEW;
	struct hq_wire *wire;

	if (!hq_cas_acq_rel(&hq_guard.phase, &fresh, HQ_GUARD_STARTING))
		return fresh == HQ_GUARD_READY;
	find_next(&hq_guard.next);
	wire = hq_guard_attach();
	if (wire)
		watch(wire);
	/* Pairs with the acquire in hq_guard_ready. */
	hq_store_release(&hq_guard.phase, HQ_GUARD_READY);
	return true;
}
