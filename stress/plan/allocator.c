/* SPDX-License-Identifier: MIT */
/*
 * The table of supported allocators, and how each is found. The probe itself is in
 * allocator_probe.c.
 */
#include "stress/plan/allocator.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stress/plan/allocator_probe.h"

struct kind {
	const char *name;
	const char *help;
	const char *libraries[4]; /* what the dynamic linker is asked for, in this order */
	const char *package;      /* Debian's; NULL: nothing to install */
};

static const struct kind kinds[] = {
	{ "bedrock", "the bundled one, libbedrock.so beside heapquake", { NULL }, NULL },
	{ "glibc", "the C library's own", { NULL }, NULL },
	{ "jemalloc", "libjemalloc.so", { "libjemalloc.so.2", "libjemalloc.so" }, "libjemalloc2" },
	{ "mimalloc",
	  "libmimalloc.so",
	  { "libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0" },
	  "libmimalloc2.0" },
	{ "tcmalloc",
	  "gperftools' libtcmalloc_minimal.so, or libtcmalloc.so",
	  { "libtcmalloc_minimal.so.4", "libtcmalloc.so.4" },
	  "libtcmalloc-minimal4" },
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static const char *const names[] = { "bedrock", "glibc", "jemalloc", "mimalloc", "tcmalloc", NULL };

_Static_assert(sizeof(names) / sizeof(names[0]) == KIND_COUNT + 1, "one name a kind");

const char *const *hq_allocator_names(void)
{
	return names;
}

static const struct kind *find_kind(const char *name)
{
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	}
	return NULL;
}

bool hq_allocator_is_known(const char *name)
{
	return find_kind(name) != NULL;
}

const char *hq_allocator_help(const char *name)
{
	const struct kind *kind = find_kind(name);

	return kind ? kind->help : "";
}

int hq_allocator_check_name(const char *name, struct hq_error *error)
{
	static const char advice[] = "write a name, a path with a '/', 'all', or 'own'";

	if (strchr(name, '/') || find_kind(name) || strcmp(name, "all") == 0 ||
	    strcmp(name, HQ_ALLOCATOR_OWN) == 0)
		return 0;
	const char *nearest = hq_suggest(name, names);

	if (nearest)
		return hq_error_set(error, "unknown allocator '%s'; did you mean '%s'?", name,
				    nearest);
	return hq_error_set(error, "unknown allocator '%s'; %s", name, advice);
}

static void fill(struct hq_allocator *allocator, const struct hq_allocator_probe *probe)
{
	snprintf(allocator->library, sizeof(allocator->library), "%s", probe->malloc_path);
	snprintf(allocator->family, sizeof(allocator->family), "%s", probe->family);
	snprintf(allocator->version, sizeof(allocator->version), "%s", probe->version);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Asks the dynamic linker for each of the kind's libraries. */
static void find_installed(const struct kind *kind, const char *program,
			   struct hq_allocator *allocator)
{
	struct hq_allocator_probe probe;

	for (size_t i = 0; i < 4 && kind->libraries[i]; i++) {
		if (hq_allocator_probe(program, kind->libraries[i], &probe) == 0 &&
		    strcmp(base_name(probe.malloc_path), kind->libraries[i]) == 0) {
			fill(allocator, &probe);
			return;
		}
	}
	snprintf(allocator->missing, sizeof(allocator->missing),
		 "%s is not installed (no %s; Debian: apt-get install %s)", kind->name,
		 kind->libraries[0], kind->package);
}

static void find_bedrock(const char *program, struct hq_allocator *allocator)
{
	const int folder = (int)(base_name(program) - program);
	struct hq_allocator_probe probe;
	char path[256];

	if (snprintf(path, sizeof(path), "%.*slibbedrock.so", folder, program) >=
		    (int)sizeof(path) ||
	    access(path, R_OK) != 0)
		snprintf(allocator->missing, sizeof(allocator->missing),
			 "libbedrock.so is not beside heapquake; run make");
	else if (hq_allocator_probe(program, path, &probe))
		snprintf(allocator->missing, sizeof(allocator->missing),
			 "libbedrock.so cannot be used: %.160s", probe.failure);
	else
		fill(allocator, &probe);
}

/* Named by path, it can be put before another allocator that a program is linked with. */
static void find_glibc(struct hq_allocator *allocator)
{
	Dl_info info;

	if (dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info) &&
	    strlen(info.dli_fname) < sizeof(allocator->library))
		strcpy(allocator->library, info.dli_fname);
	snprintf(allocator->version, sizeof(allocator->version), "%s", gnu_get_libc_version());
}

static void find_named(const struct kind *kind, const char *program, struct hq_allocator *allocator)
{
	snprintf(allocator->family, sizeof(allocator->family), "%s", kind->name);
	if (strcmp(kind->name, "glibc") == 0)
		find_glibc(allocator);
	else if (strcmp(kind->name, "bedrock") == 0)
		find_bedrock(program, allocator);
	else
		find_installed(kind, program, allocator);
}

static int find_by_path(const char *asked, const char *program, struct hq_allocator *allocator,
			struct hq_error *error)
{
	char path[PATH_MAX], provider[PATH_MAX];
	struct hq_allocator_probe probe;

	if (!realpath(asked, path))
		return hq_error_set(error, "allocator %s: %s", asked, strerror(errno));
	if (strlen(path) >= sizeof(allocator->library))
		return hq_error_set(error, "allocator %s: the path is too long", asked);
	if (strpbrk(path, " :"))
		return hq_error_set(
			error, "allocator %s: the dynamic linker splits such a path at ' ' and ':'",
			asked);
	if (hq_allocator_probe(program, path, &probe))
		return hq_error_set(error, "allocator %s: %s", asked, probe.failure);
	if (!realpath(probe.malloc_path, provider) || strcmp(provider, path) != 0)
		return hq_error_set(error, "allocator %s: it does not provide malloc", asked);
	if (!realpath(probe.free_path, provider) || strcmp(provider, path) != 0)
		return hq_error_set(error, "allocator %s: it provides malloc, but not free", asked);
	fill(allocator, &probe);
	strcpy(allocator->library, path);
	return 0;
}

static int find_anew(const char *asked, const char *program, struct hq_allocator *allocator,
		     struct hq_error *error)
{
	const struct kind *kind = find_kind(asked);

	*allocator = (struct hq_allocator){ .asked = "" };
	if (strlen(asked) >= sizeof(allocator->asked))
		return hq_error_set(error, "the path of an allocator is longer than %zu characters",
				    sizeof(allocator->asked) - 1);
	strcpy(allocator->asked, asked);
	if (strchr(asked, '/'))
		return find_by_path(asked, program, allocator, error);
	if (strcmp(asked, HQ_ALLOCATOR_OWN) == 0)
		return 0;
	if (!kind)
		return hq_allocator_check_name(asked, error);
	find_named(kind, program, allocator);
	return 0;
}

int hq_allocator_locate(struct hq_allocators *allocators, const char *asked,
			struct hq_allocator *allocator, struct hq_error *error)
{
	for (size_t i = 0; i < allocators->count; i++) {
		if (strcmp(allocators->list[i].asked, asked) == 0) {
			*allocator = allocators->list[i];
			return 0;
		}
	}
	const int status = find_anew(asked, allocators->program, allocator, error);

	if (!status && allocators->count < HQ_ALLOCATORS_MAX)
		allocators->list[allocators->count++] = *allocator;
	return status;
}

/* "2.0" begins "2.0.9", but not "2.01". */
static bool begins_version(const char *whole, const char *version)
{
	const size_t length = strlen(version);

	return strncmp(whole, version, length) == 0 && !isdigit((unsigned char)whole[length]);
}

bool hq_allocator_has_version(const struct hq_allocator *allocator, const char *version)
{
	char path[PATH_MAX];
	const char *name = realpath(allocator->library, path) ? base_name(path) : "";
	const char *suffix = strstr(name, ".so.");

	return begins_version(allocator->version, version) ||
	       (suffix && begins_version(suffix + 4, version));
}
