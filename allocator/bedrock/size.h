/* SPDX-License-Identifier: MIT */
/*
 * Sizes as people write them: 64M, 512KiB, 1g, 1048576.
 */
#ifndef BEDROCK_SIZE_H
#define BEDROCK_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A number of bytes, with a power of 1024 as k, m, g or t, in either case, alone or with "iB". A
 * bare B is allowed; kB and MB are not, as they mean two things. Below 2^63. -> was it one?
 */
bool bedrock_size_parse(const char *text, size_t text_bytes, int64_t *out);

#endif
