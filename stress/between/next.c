/* SPDX-License-Identifier: MIT */
/*
 * The allocator behind, by the dynamic loader's search order.
 */
#include <dlfcn.h>
#include <link.h>

#include "stress/between/between.h"

static const void *object_of(const void *function)
{
	Dl_info info;

	return function && dladdr(function, &info) ? info.dli_fbase : NULL;
}

void hq_next_find(struct hq_next *next)
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
 * Where the program's calls of a function end: here, or before. A program that takes the function's
 * address may define it as undefined, with its own jump to it for an address.
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

bool hq_next_stands_first(void)
{
	return ends_here("malloc") && ends_here("free");
}
