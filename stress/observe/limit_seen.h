/* SPDX-License-Identifier: MIT */
/* How a limit of the program's own was kept: what the workers saw of it, put together. */
#ifndef HQ_STRESS_OBSERVE_LIMIT_SEEN_H
#define HQ_STRESS_OBSERVE_LIMIT_SEEN_H

#include "stress/observe/observation.h"
#include "stress/wire/wire.h"

/* Of the first `count` workers. */
void hq_limit_total(const struct hq_wire_worker *workers, uint32_t count,
		    struct hq_limit_seen *seen);

#endif
