/* SPDX-License-Identifier: MIT */
/*
 * Many questions at once: of sixty metrics without any difference three are below p = 0.05. The
 * false discovery rate bounds the share of wrong ones among all that are called changed.
 *
 * Source: Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", J. R. Statist. Soc.
 * B 57 (1995).
 */
#ifndef HQ_STRESS_COMPARE_DISCOVERY_H
#define HQ_STRESS_COMPARE_DISCOVERY_H

#include <stddef.h>

/*
 * q[i] is the smallest rate of false discoveries at which question i still counts as answered: p[i]
 * raised to what its rank among all demands. NAN stays NAN and is not counted. 0 or -ENOMEM.
 */
int hq_discovery_adjust(const double *p, double *q, size_t count);

#endif
