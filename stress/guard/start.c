/* SPDX-License-Identifier: MIT */
/*
 * The start of the guard, at the first call: it looks for the allocator behind, and for the wire.
 */
#include "injectors/syscall/raw.h"
#include "stress/guard/guard.h"

static void watch(struct hq_wire *wire)
{
	uint32_t none = 0;

	if (!hq_next_stands_first()) {
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
	hq_next_find(&hq_guard.next);
	wire = hq_guard_attach();
	if (wire)
		watch(wire);
	/* Pairs with the acquire in hq_guard_ready. */
	hq_store_release(&hq_guard.phase, HQ_GUARD_READY);
	return true;
}
