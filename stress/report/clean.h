/* SPDX-License-Identifier: MIT */
/*
 * Text that came from a target, made fit to be shown. A broken program can put any bytes into its
 * version, its messages or a file name; a report must stay readable and well-formed all the same.
 * Private to stress/report.
 */
#ifndef HQ_STRESS_REPORT_CLEAN_H
#define HQ_STRESS_REPORT_CLEAN_H

#include <stddef.h>

enum hq_clean {
	HQ_CLEAN_LINE,  /* one line: line feeds become \n */
	HQ_CLEAN_LINES, /* line feeds stay */
	HQ_CLEAN_UTF8,  /* control characters stay: for a writer that escapes them itself */
};

/* Room for any text of a result (the longest is the repro line), each byte as \xNN. */
#define HQ_CLEAN_SIZE (4 * 4096 + 1)

/*
 * Writes valid UTF-8: bytes that are none, and control characters unless they may stay, become \xNN
 * or \uNNNN. What does not fit is cut off between two characters. Returns `out`.
 */
const char *hq_clean(const char *text, enum hq_clean how, char *out, size_t size);

#endif
