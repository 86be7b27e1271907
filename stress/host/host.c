/* SPDX-License-Identifier: MIT */
/*
 * What the host knows of its controller: the wire, the parent, the moment the gate opened. This is
 * the only state in the host that is not passed around, because workloads ask for it in the depth
 * of their loops.
 */
#include "stress/host/host.h"

#include "injectors/atomic.h"
#include "injectors/clock.h"
#include "stress/host/system.h"
#include "stress/workload/heap.h"

#define SLEEP_SLICE_NS 5000000u /* how late an end of the run may be noticed */

static struct {
	struct hq_wire *wire;
	uint64_t gate_open_ns;
	pid_t parent;
} host;

void hq_host_bind(struct hq_wire *wire)
{
	host.wire = wire;
	host.parent = hq_system_parent();
	host.gate_open_ns = 0;
}

void hq_host_gate_opened(void)
{
	host.gate_open_ns = hq_now_ns();
}

bool hq_host_orphaned(void)
{
	return hq_system_parent() != host.parent;
}

void *hq_host_map(size_t size)
{
	return hq_system_map(size);
}

void hq_host_unwritten(int error)
{
	hq_store_relaxed(&host.wire->status.unwritten_error, (uint32_t)error);
	hq_fetch_add_relaxed(&host.wire->status.unwritten, 1);
}

bool hq_host_stopping(void)
{
	return hq_load_relaxed(&host.wire->finish) != 0;
}

void hq_host_sleep_ns(uint64_t ns)
{
	const uint64_t end_ns = hq_now_ns() + ns;

	while (!hq_host_stopping()) {
		const uint64_t now_ns = hq_now_ns();

		if (now_ns >= end_ns)
			return;
		const uint64_t rest_ns = end_ns - now_ns;

		hq_system_sleep_ns(rest_ns < SLEEP_SLICE_NS ? rest_ns : SLEEP_SLICE_NS);
	}
}

uint64_t hq_host_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

uint64_t hq_host_now_ns(void)
{
	return hq_now_ns();
}

/* The controller writes its own time before it opens the gate; without rules there is no gate. */
uint64_t hq_host_since_gate_ns(void)
{
	const uint64_t told_ns = hq_load_relaxed(&host.wire->plane.gate_open_ns);
	const uint64_t open_ns = told_ns != 0 ? told_ns : host.gate_open_ns;
	const uint64_t now_ns = hq_now_ns();

	return now_ns > open_ns ? now_ns - open_ns : 0;
}
