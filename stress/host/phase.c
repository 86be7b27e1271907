/* SPDX-License-Identifier: MIT */
/*
 * Phases on two words. Waits wake up by themselves now and then, so that a lost wake-up costs time
 * and never a run. A worker that waits has no deadline of its own: the main thread ends the process
 * when the controller is gone, and the controller ends it when it hangs.
 */
#include "stress/host/phase.h"

#include "injectors/atomic.h"
#include "stress/host/system.h"

#define LOOK_AGAIN_NS 10000000u

void hq_phase_open(struct hq_phases *phases, enum hq_phase phase)
{
	/* Pairs with the acquire in hq_phase_await: workers see what the main thread prepared. */
	hq_store_release(&phases->open, (uint32_t)phase);
	hq_system_futex_wake_all(&phases->open);
}

void hq_phase_await(struct hq_phases *phases, enum hq_phase phase)
{
	for (;;) {
		/* Pairs with the release in hq_phase_open. */
		const uint32_t open = hq_load_acquire(&phases->open);

		if (open >= (uint32_t)phase)
			return;
		hq_system_futex_wait(&phases->open, open, LOOK_AGAIN_NS);
	}
}

void hq_phase_arrive(struct hq_phases *phases)
{
	/* Pairs with the acquire in hq_phase_gather: the main thread sees what the worker did. */
	hq_fetch_add_acq_rel(&phases->arrived, 1);
	hq_system_futex_wake_all(&phases->arrived);
}

bool hq_phase_wait(struct hq_phases *phases, uint32_t count, uint64_t patience_ns)
{
	/* Pairs with the addition in hq_phase_arrive. */
	const uint32_t arrived = hq_load_acquire(&phases->arrived);

	if (arrived >= count)
		return true;
	if (patience_ns != 0)
		hq_system_futex_wait(&phases->arrived, arrived,
				     patience_ns < LOOK_AGAIN_NS ? patience_ns : LOOK_AGAIN_NS);
	return false;
}

bool hq_phase_gather(struct hq_phases *phases, uint32_t count, bool (*hopeless)(void))
{
	while (!hq_phase_wait(phases, count, LOOK_AGAIN_NS)) {
		if (hopeless())
			return false;
	}
	return true;
}
