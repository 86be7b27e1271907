/* SPDX-License-Identifier: MIT */
/*
 * The constructor. The library is linked initfirst, so this runs before any other code of the
 * program and even before the C library has set `environ`; the environment comes as the third
 * argument.
 *
 * Without a sound wire (none named, gone, truncated, of another version) the library does nothing
 * at all and says nothing: it may sit in the preload list of a program that is not under test.
 */
#include <elf.h>
#include <sys/mman.h>
#include <time.h>

#include "injectors/syscall/raw.h"
#include "stress/preload/preload.h"
#include "stress/wire/wire_raw.h"

#define GO_WAIT_NS 200000000ull /* for a controller that names no deadline of its own */
#define GO_STEP_NS 500000ull

static const char *value_of(char **environment, const char *name)
{
	for (; environment && *environment; environment++) {
		const char *entry = *environment;
		const char *wanted = name;

		while (*wanted && *entry == *wanted) {
			entry++;
			wanted++;
		}
		if (!*wanted && *entry == '=')
			return entry + 1;
	}
	return NULL;
}

/* The auxiliary vector begins behind the environment's end. */
static void read_auxiliary(char **environment)
{
	const Elf64_auxv_t *entry;

	while (*environment)
		environment++;
	for (entry = (const void *)(environment + 1); entry->a_type != AT_NULL; entry++) {
		if (entry->a_type == AT_PAGESZ)
			hq_preload.page_bytes = entry->a_un.a_val;
		else if (entry->a_type == AT_BASE)
			hq_preload.loader_base = entry->a_un.a_val;
		else if (entry->a_type == AT_ENTRY)
			hq_preload.program_entry = entry->a_un.a_val;
	}
}

static bool failed(long address)
{
	return (unsigned long)address > -4096ul;
}

/* A page that reads 0 in a forked child. Without it only forks by fork() itself are noticed. */
static void make_alive_page(void)
{
	const long size = (long)hq_preload.page_bytes;
	const long address = hq_raw6(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (failed(address))
		return;
	if (hq_raw3(SYS_madvise, address, size, MADV_WIPEONFORK)) {
		hq_raw3(SYS_munmap, address, size, 0);
		return;
	}
	hq_preload.alive = (_Atomic uint64_t *)address;
	hq_store_relaxed(hq_preload.alive, 1);
}

/*
 * A program does not wait for ever, but gives the controller time to open the gate before main: on
 * a loaded machine, or with an injector that is slow to start, a short wait would let it begin
 * without faults.
 */
static void await_go(void)
{
	const uint64_t named_ns = hq_preload.wire->config.deadline_ns;
	const uint64_t deadline_ns = hq_raw_now_ns() + (named_ns ? named_ns : GO_WAIT_NS);
	const struct timespec step = { .tv_nsec = (long)GO_STEP_NS };

	/* Pairs with the controller's release of `go`, which follows the gate. */
	while (!hq_load_acquire(&hq_preload.wire->go) && hq_raw_now_ns() < deadline_ns)
		hq_raw3(SYS_nanosleep, (long)&step, 0, 0);
}

static void report(bool is_first)
{
	struct hq_wire_status *status = &hq_preload.wire->status;

	if (!is_first)
		return;
	hq_provider_report(status);
	hq_store_relaxed(&status->preloaded, 1);
	if (hq_preload.wire->config.is_host)
		return;
	hq_store_relaxed(&status->ready_ns, hq_raw_now_ns());
	/* Pairs with the controller's acquire: provider and times are written. */
	hq_store_release(&status->state, HQ_TARGET_READY);
	await_go();
}

/*
 * What is reported is the state of the run's first process, and of the program that it executes:
 * one that cannot be armed (it runs under valgrind, say) takes back what the one before it said.
 * Of the others it is counted how many could not be armed.
 */
static void arm(void)
{
	struct hq_plane *plane = hq_preload.plane;
	const int ret = hq_trap_arm();

	if (ret)
		hq_fetch_add_relaxed(&plane->unarmed, 1);
	if (hq_load_relaxed(&plane->threads[0].process) != hq_preload.process)
		return;
	plane->arm_error = ret;
	/* Pairs with the controller's acquire: the error is written. */
	hq_store_release(&plane->armed, ret == 0);
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
	const char *path = value_of(environment, HQ_WIRE_ENV);
	struct hq_wire *wire;
	bool is_first;

	(void)argc;
	(void)argv;
	hq_interpose_resolve();
	if (!path || !(wire = hq_wire_map_raw(path)))
		return;
	hq_preload.page_bytes = 4096;
	read_auxiliary(environment);
	hq_preload.wire = wire;
	is_first = !hq_load_relaxed(&wire->status.preloaded);
	/* Under notification the supervisor writes the plane, and this library only reports. */
	if (wire->config.mechanism != HQ_MECHANISM_NOTIFY) {
		hq_preload.plane = &wire->plane;
		make_alive_page();
		hq_identity_start();
		arm();
	}
	report(is_first);
}
