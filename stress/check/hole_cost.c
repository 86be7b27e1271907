/* SPDX-License-Identifier: MIT */
/*
 * Cost does not depend on the number of holes: the same calls beside many free spans may cost more
 * than beside few, but less than in proportion. Only the ratio of two costs of the same run is
 * judged, each the cheapest of many measurements, so neither the speed of the machine nor what else
 * it does matters. Small costs are mostly the measurement itself, and count as the floor.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "stress/check/evidence.h"
#include "stress/check/table.h"
#include "stress/check/value.h"

static const char name[] = "hole-cost";

struct hole_cost_options {
	double power;
	uint64_t floor_ns;
};

#define AT(field) offsetof(struct hole_cost_options, field)

static const struct hq_option options_table[] = {
	{ "power", HQ_OPTION_SHARE, AT(power), "75%", 0, 0, NULL,
	  "power of the number of free spans that the cost may grow with: 100% is in proportion" },
	{ "floor", HQ_OPTION_DURATION, AT(floor_ns), "2us", 1, 0, NULL,
	  "costs below it are taken for it" },
	{ .name = NULL },
};

static double cost_of(const struct hq_cost *cost, const struct hole_cost_options *options)
{
	return (double)(cost->cpu_ns > options->floor_ns ? cost->cpu_ns : options->floor_ns);
}

static void add_costs(const struct hq_observations *observations, struct hq_finding *finding)
{
	char cost[32];

	for (size_t i = 0; i < observations->cost_count; i++) {
		hq_value_print(cost, sizeof(cost), HQ_UNIT_NS,
			       (double)observations->costs[i].cpu_ns);
		hq_evidence_line(finding, "beside %" PRIu64 " free spans a batch took %s",
				 observations->costs[i].scale, cost);
	}
}

static void check(const struct hq_observations *observations, const void *options,
		  struct hq_findings *findings)
{
	const struct hole_cost_options *chosen = options;
	const size_t count = observations->cost_count;

	if (observations->outcome != HQ_OUTCOME_EXITED)
		return;
	if (count < 2 || observations->costs[count - 1].scale <= observations->costs[0].scale) {
		hq_gap_add(findings, name, "the cost was not measured beside few and many holes");
		return;
	}
	const struct hq_cost *few = &observations->costs[0];
	const struct hq_cost *many = &observations->costs[count - 1];
	const double holes = (double)many->scale / (double)few->scale;
	const double cost = cost_of(many, chosen) / cost_of(few, chosen);

	if (cost <= pow(holes, chosen->power))
		return;
	add_costs(observations,
		  hq_finding_add(findings, name,
				 "the cost of a call grows with the number of free spans "
				 "(%.3g times as many make it %.3g times as dear, %.3g allowed)",
				 holes, cost, pow(holes, chosen->power)));
}

const struct hq_checker hq_check_hole_cost = {
	.name = name,
	.promise = "the cost of a call grows less than in proportion to the number of free spans",
	.needs = "a workload that measures the same work beside few and many holes: holes",
	.on_request = true,
	.options = options_table,
	.options_size = sizeof(struct hole_cost_options),
	.check = check,
};
