/* SPDX-License-Identifier: MIT */
/*
 * The preloaded library: what its files share.
 *
 * It lives in a process that may be broken, out of memory or about to be killed. It never
 * allocates, prints or locks, and in the signal handler it calls nothing of the C library. All
 * state of the process is in one struct and all state of a thread in another, both in state.c.
 *
 *   init.c       constructor: finds the wire, identifies the process, arms, reports
 *   maps.c       reads the list of mappings
 *   ranges.c     which code is listened to
 *   trap.c       installs the filter; the SIGSYS handler
 *   mask.c       keeps SIGSYS deliverable, whatever the program does with signals
 *   identity.c   which slot of the plane a thread owns
 *   interpose.c  the exported functions: pthread_create and fork
 *   provider.c   whose malloc it is
 */
#ifndef HQ_STRESS_PRELOAD_PRELOAD_H
#define HQ_STRESS_PRELOAD_PRELOAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "injectors/syscall/filter.h"
#include "stress/wire/wire.h"

/* The kernel's own struct: libc's has another layout. */
struct hq_kernel_sigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

#define HQ_SIGSYS_BIT (1ull << (SIGSYS - 1))

struct hq_preload {
	struct hq_wire *wire;   /* NULL: no wire, do nothing at all */
	struct hq_plane *plane; /* NULL as long as the wire is */
	uint64_t page_bytes;
	uint64_t loader_base;   /* load address of the dynamic loader, 0: unknown */
	uint64_t program_entry; /* an address in the main program's text */
	bool needs_clock;
	uint32_t process;        /* process id, renewed after a fork */
	_Atomic uint64_t *alive; /* page that is wiped in a forked child; NULL: kernel cannot */
	int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	pid_t (*fork)(void);
	struct hq_kernel_sigaction program_sigsys; /* what the program believes to have set */
	/* Indexed like the plane's slots: what a thread that was reserved a slot is to run. */
	struct {
		void *(*start)(void *);
		void *arg;
	} threads[HQ_PLANE_THREADS];
};

struct hq_preload_self {
	struct hq_plane_thread *slot;
	bool has_none;         /* all slots were taken: calls pass through uncounted */
	uint64_t forked_child; /* child index of the fork under way, plus 1; 0: none */
};

extern struct hq_preload hq_preload;
extern __thread struct hq_preload_self hq_preload_self;

/* ---- identity.c ---- */

/* Names this process and its first thread. */
void hq_identity_start(void);
/* The slot of the calling thread, claimed on first sight; NULL when all are taken. */
struct hq_plane_thread *hq_identity_slot(void);
/* Reserves the slot of a thread that is about to be created: its index, or -1. */
int hq_identity_reserve(void);
/* The calling thread takes over a reserved slot. */
void hq_identity_adopt(uint32_t index);
/* Brackets a fork in the parent and in the child. */
void hq_identity_fork_begins(void);
void hq_identity_fork_ended(void);

/* ---- maps.c ---- */

struct hq_map {
	uint64_t start, end;
	bool executable;
	uint64_t inode;   /* 0: no file */
	const char *path; /* "" if none; valid during the callback */
};

/* Calls `visit` for each mapping of this process until it returns false. 0 or -errno. */
int hq_maps_visit(bool (*visit)(const struct hq_map *map, void *context), void *context);

/* ---- ranges.c ---- */

struct hq_ranges {
	struct hq_filter_range all[HQ_FILTER_RANGES];   /* listened to */
	struct hq_filter_range guard[HQ_FILTER_RANGES]; /* only kept from blocking SIGSYS */
	size_t all_count, guard_count;
};

/* 0 or -errno. */
int hq_ranges_find(struct hq_ranges *ranges);

/* ---- trap.c ---- */

/* Installs handler and filter for the wire's mechanism. 0 or -errno. */
int hq_trap_arm(void);

/* ---- mask.c ---- */

int64_t hq_mask_sigprocmask(const uint64_t args[6], uint64_t *current_mask);
int64_t hq_mask_sigaction(const uint64_t args[6]);
/* Does the call if it is one of guard.h's waits; false if not. */
bool hq_mask_wait(long number, const uint64_t args[6], int64_t *result);
/* A SIGSYS that is not ours goes where the program wanted it. */
void hq_mask_forward(int signal, siginfo_t *info, void *context);

/* ---- provider.c ---- */

/* Writes path and version of the allocator that serves malloc. */
void hq_provider_report(struct hq_wire_status *status);

/* ---- interpose.c ---- */

/* Finds the functions that ours stand before. */
void hq_interpose_resolve(void);

#endif
