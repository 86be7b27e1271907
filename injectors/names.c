/* SPDX-License-Identifier: MIT */
/*
 * Names of calls, errnos and advice values, both ways. They are our own tables and not the C
 * library's, so that a rule means the same whatever library and headers we were built with.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "injectors/names.h"

struct name {
	const char *text;
	int value;
};

/* Indexed by enum hq_call; NULL-terminated for suggestions. */
const char *const hq_call_names[] = {
	[HQ_CALL_BRK] = "brk",           [HQ_CALL_MADVISE] = "madvise",
	[HQ_CALL_MINCORE] = "mincore",   [HQ_CALL_MMAP] = "mmap",
	[HQ_CALL_MPROTECT] = "mprotect", [HQ_CALL_MREMAP] = "mremap",
	[HQ_CALL_MUNMAP] = "munmap",     [HQ_CALL_PROCESS_MADVISE] = "process_madvise",
	[HQ_CALL_COUNT] = NULL,
};

static const struct name errnos[] = {
	{ "EPERM", EPERM },           { "ENOENT", ENOENT },
	{ "EINTR", EINTR },           { "EIO", EIO },
	{ "ENXIO", ENXIO },           { "E2BIG", E2BIG },
	{ "EBADF", EBADF },           { "EAGAIN", EAGAIN },
	{ "ENOMEM", ENOMEM },         { "EACCES", EACCES },
	{ "EFAULT", EFAULT },         { "EBUSY", EBUSY },
	{ "EEXIST", EEXIST },         { "ENODEV", ENODEV },
	{ "EINVAL", EINVAL },         { "ENFILE", ENFILE },
	{ "EMFILE", EMFILE },         { "ENOTTY", ENOTTY },
	{ "EFBIG", EFBIG },           { "ENOSPC", ENOSPC },
	{ "EROFS", EROFS },           { "ERANGE", ERANGE },
	{ "ENOSYS", ENOSYS },         { "ETIME", ETIME },
	{ "EOVERFLOW", EOVERFLOW },   { "ENOBUFS", ENOBUFS },
	{ "EOPNOTSUPP", EOPNOTSUPP }, { "ETIMEDOUT", ETIMEDOUT },
	{ "EHWPOISON", EHWPOISON },
};

/* Values are part of the kernel's interface; names that old headers lack are given as numbers. */
static const struct name advices[] = {
	{ "MADV_NORMAL", 0 },           { "MADV_RANDOM", 1 },         { "MADV_SEQUENTIAL", 2 },
	{ "MADV_WILLNEED", 3 },         { "MADV_DONTNEED", 4 },       { "MADV_FREE", 8 },
	{ "MADV_REMOVE", 9 },           { "MADV_DONTFORK", 10 },      { "MADV_DOFORK", 11 },
	{ "MADV_MERGEABLE", 12 },       { "MADV_UNMERGEABLE", 13 },   { "MADV_HUGEPAGE", 14 },
	{ "MADV_NOHUGEPAGE", 15 },      { "MADV_DONTDUMP", 16 },      { "MADV_DODUMP", 17 },
	{ "MADV_WIPEONFORK", 18 },      { "MADV_KEEPONFORK", 19 },    { "MADV_COLD", 20 },
	{ "MADV_PAGEOUT", 21 },         { "MADV_POPULATE_READ", 22 }, { "MADV_POPULATE_WRITE", 23 },
	{ "MADV_DONTNEED_LOCKED", 24 }, { "MADV_COLLAPSE", 25 },
};

/* The same without MADV_, as rules write them; NULL-terminated for suggestions. */
const char *const hq_advice_words[] = {
	"NORMAL",         "RANDOM",          "SEQUENTIAL", "WILLNEED", "DONTNEED",
	"FREE",           "REMOVE",          "DONTFORK",   "DOFORK",   "MERGEABLE",
	"UNMERGEABLE",    "HUGEPAGE",        "NOHUGEPAGE", "DONTDUMP", "DODUMP",
	"WIPEONFORK",     "KEEPONFORK",      "COLD",       "PAGEOUT",  "POPULATE_READ",
	"POPULATE_WRITE", "DONTNEED_LOCKED", "COLLAPSE",   NULL,
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

const char *hq_call_name(enum hq_call call)
{
	return (unsigned int)call < HQ_CALL_COUNT ? hq_call_names[call] : "?";
}

const char *hq_errno_name(int error)
{
	/* Holds the made-up name until this thread asks for the next one. */
	static _Thread_local char unnamed[16];

	for (size_t i = 0; i < COUNT_OF(errnos); i++)
		if (errnos[i].value == error)
			return errnos[i].text;
	snprintf(unnamed, sizeof(unnamed), "E%d", error);
	return unnamed;
}

int hq_errno_value(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(errnos); i++)
		if (strcmp(errnos[i].text, name) == 0)
			return errnos[i].value;
	return 0;
}

size_t hq_errno_words(const char **words, size_t room)
{
	size_t count = 0;

	while (count < COUNT_OF(errnos) && count + 1 < room) {
		words[count] = errnos[count].text;
		count++;
	}
	words[count] = NULL;
	return count;
}

const char *hq_advice_name(int advice)
{
	for (size_t i = 0; i < COUNT_OF(advices); i++)
		if (advices[i].value == advice)
			return advices[i].text;
	return NULL;
}

int hq_advice_value(const char *name)
{
	const char *word = strncmp(name, "MADV_", 5) == 0 ? name + 5 : name;

	for (size_t i = 0; i < COUNT_OF(advices); i++)
		if (strcmp(advices[i].text + 5, word) == 0)
			return advices[i].value;
	return -1;
}
