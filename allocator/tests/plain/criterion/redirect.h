/* SPDX-License-Identifier: MIT */
/*
 * The other header of Criterion that the tests include: stderr goes into a file from now on.
 */
#ifndef PLAIN_REDIRECT_H
#define PLAIN_REDIRECT_H

void cr_redirect_stderr(void);

#endif
