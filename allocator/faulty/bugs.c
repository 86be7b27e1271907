/* SPDX-License-Identifier: MIT */
/*
 * The table of bugs as data, the switches, and the counting of fires. The count lives in a page of
 * a file that whoever runs us names, because it must survive every way in which a bug can end the
 * process: a bug that never fired must not be taken for one that was missed.
 */
#include "allocator/faulty/bugs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "allocator/faulty/atomic.h"

#define LIST_BYTES  16384
#define COUNT_BYTES 4096

#define EXPORT __attribute__((visibility("default")))

/* What the file holds. */
struct fires {
	_Atomic uint64_t count;
	_Atomic uint64_t first_ns; /* CLOCK_MONOTONIC */
};

const struct faulty_row faulty_rows[FAULTY_BUG_COUNT] = {
#define X(identifier, bug_name, bug_contract, moment, bug_every, bug_checker, text)                \
	[FAULTY_##identifier] = { .name = bug_name,                                                \
				  .contract = bug_contract,                                        \
				  .when = FAULTY_##moment##_WHEN,                                  \
				  .every = bug_every,                                              \
				  .checker = bug_checker,                                          \
				  .help = text },
	FAULTY_BUGS(X)
#undef X
};

static struct {
	bool on[FAULTY_BUG_COUNT];
	struct fires own;
	struct fires *fires;
	uint32_t spared; /* opportunities of the first thread; 0: all of them */
	char list[LIST_BYTES];
} bugs = { .fires = &bugs.own };

static _Thread_local uint32_t opportunities[FAULTY_BUG_COUNT];
static _Thread_local int8_t is_first_thread; /* 0: not known yet, 1: yes, -1: no */
static _Thread_local uint64_t passed_by_first;

const char *faulty_when_name(enum faulty_when when)
{
	static const char *const names[] = {
		[FAULTY_ALWAYS_WHEN] = "always",
		[FAULTY_RARELY_WHEN] = "rarely",
		[FAULTY_ACROSS_THREADS_WHEN] = "across threads",
		[FAULTY_AFTER_FAILURE_WHEN] = "after a failed call",
		[FAULTY_AFTER_LIE_WHEN] = "after a lying call",
		[FAULTY_UNDER_PRESSURE_WHEN] = "under pressure",
		[FAULTY_AFTER_MIGRATION_WHEN] = "after a migration",
		[FAULTY_IN_A_HANDLER_WHEN] = "in a signal handler",
		[FAULTY_ON_A_NEW_CPU_WHEN] = "on a new CPU",
		[FAULTY_AFTER_FORK_WHEN] = "after fork",
		[FAULTY_AT_THREAD_EXIT_WHEN] = "at thread exit",
	};

	return names[when];
}

/* ---- switches ---- */

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Edits between two short names. */
static size_t distance(const char *a, size_t a_length, const char *b)
{
	const size_t b_length = strlen(b);
	size_t row[64];

	if (b_length >= sizeof(row) / sizeof(row[0]))
		return SIZE_MAX;
	for (size_t j = 0; j <= b_length; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_length; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_length; j++) {
			const size_t above = row[j];

			row[j] = smaller(smaller(above, row[j - 1]) + 1,
					 diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_length];
}

static const char *nearest_name(const char *word)
{
	const char *nearest = faulty_rows[0].name;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < FAULTY_BUG_COUNT; i++) {
		const size_t edits = distance(word, strlen(word), faulty_rows[i].name);

		if (edits < least) {
			least = edits;
			nearest = faulty_rows[i].name;
		}
	}
	return nearest;
}

static bool switch_on(const char *word)
{
	for (size_t i = 0; i < FAULTY_BUG_COUNT; i++) {
		if (strcmp(faulty_rows[i].name, word) == 0) {
			bugs.on[i] = true;
			return true;
		}
	}
	return false;
}

int faulty_choose(const char *names, char word[64], const char **nearest)
{
	while (*names != '\0') {
		const size_t length = strcspn(names, ",");
		const size_t kept = smaller(length, 63);

		memcpy(word, names, kept);
		word[kept] = '\0';
		names += length + (names[length] == ',');
		if (length == 0 || switch_on(word))
			continue;
		*nearest = nearest_name(word);
		return -1;
	}
	return 0;
}

void faulty_choose_none(void)
{
	memset(bugs.on, 0, sizeof(bugs.on));
	faulty_store(&bugs.fires->count, 0);
}

bool faulty_is_on(enum faulty_bug bug)
{
	return bugs.on[bug];
}

/* ---- fires ---- */

void faulty_count_into(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *page = MAP_FAILED;

	if (fd < 0)
		return;
	if (ftruncate(fd, COUNT_BYTES) == 0)
		page = mmap(NULL, COUNT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page != MAP_FAILED)
		bugs.fires = page;
}

bool faulty_fire(enum faulty_bug bug)
{
	struct timespec now;

	(void)bug;
	if (faulty_add(&bugs.fires->count, 1) != 0)
		return true;
	clock_gettime(CLOCK_MONOTONIC, &now);
	faulty_store(&bugs.fires->first_ns,
		     (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	return true;
}

EXPORT uint64_t faulty_fired(void)
{
	return faulty_load(&bugs.fires->count);
}

void faulty_spare_first(uint32_t opportunities_of_first)
{
	bugs.spared = opportunities_of_first;
}

/* In the first thread of a process, and that is still to be left alone. */
static bool is_spared(void)
{
	if (is_first_thread == 0)
		is_first_thread = getpid() == (pid_t)syscall(SYS_gettid) ? 1 : -1;
	if (is_first_thread < 0)
		return false;
	passed_by_first++;
	return bugs.spared == 0 || passed_by_first <= bugs.spared;
}

static bool has_turn(enum faulty_bug bug)
{
	return ++opportunities[bug] % faulty_rows[bug].every == 0;
}

bool faulty_strikes(enum faulty_bug bug)
{
	return bugs.on[bug] && !is_spared() && has_turn(bug) && faulty_fire(bug);
}

bool faulty_strikes_anywhere(enum faulty_bug bug)
{
	return bugs.on[bug] && has_turn(bug) && faulty_fire(bug);
}

/* ---- the list ---- */

EXPORT const char *faulty_list(void)
{
	size_t length = 0;

	for (size_t i = 0; i < FAULTY_BUG_COUNT && length < LIST_BYTES; i++) {
		const struct faulty_row *const row = &faulty_rows[i];

		length += (size_t)snprintf(bugs.list + length, LIST_BYTES - length,
					   "%s\t%s\t%s\t%s\t%s\n", row->name, row->contract,
					   faulty_when_name(row->when), row->checker, row->help);
	}
	return bugs.list;
}

EXPORT const char *faulty_version(void)
{
	return "0.1.0";
}
