/* SPDX-License-Identifier: MIT */
/*
 * The version that --version, reports and bug reports name.
 */
#ifndef HQ_STRESS_COMMAND_VERSION_H
#define HQ_STRESS_COMMAND_VERSION_H

#define HQ_VERSION "0.1.0"

#endif
