/* SPDX-License-Identifier: MIT */
/*
 * `heapquake plan`: prints the resolved plan of each case, ready to be run again.
 */
#include <stdio.h>
#include <string.h>

#include "stress/command/cases.h"
#include "stress/command/commands.h"

int hq_command_plan(struct hq_invocation *invocation)
{
	struct hq_cases cases;
	int status = hq_cases_make(invocation, &cases);

	for (size_t i = 0; !status && i < cases.count; i++) {
		const struct hq_plan *plan = &cases.plans[i];

		/* One file is one scenario: several plans are separated for the eye. */
		if (i > 0)
			puts("\n---");
		if (plan->skip_reason[0])
			printf("# Would be skipped: %s.\n", plan->skip_reason);
		if (hq_plan_print(plan, stdout))
			status = HQ_EXIT_ERROR;
	}
	hq_cases_clear(&cases);
	return status;
}
