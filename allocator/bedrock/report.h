/* SPDX-License-Identifier: MIT */
/*
 * The report at the end of a process; bedrock_stats_print itself is in bedrock.h.
 */
#ifndef BEDROCK_REPORT_H
#define BEDROCK_REPORT_H

/* Print the statistics on stderr, if the option stats_print asks for it. */
void bedrock_report_at_exit(void);

#endif
