/* SPDX-License-Identifier: MIT */
/*
 * Which settings are worth having? One setting dominates another if it is no worse in any metric
 * and better in one. The frontier is what nobody dominates: all that is left is taste.
 *
 * Source: V. Pareto, "Manuale di economia politica" (1906).
 */
#ifndef HQ_STRESS_COMPARE_FRONTIER_H
#define HQ_STRESS_COMPARE_FRONTIER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `values` has `metrics` values a point, one point after another; less is better, and values that
 * differ by less than the share `tolerance` are equal. NAN is worse than anything. on_frontier[i]
 * tells of point i.
 */
void hq_frontier_find(const double *values, size_t points, size_t metrics, double tolerance,
		      bool *on_frontier);

#endif
