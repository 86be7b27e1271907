/* SPDX-License-Identifier: MIT */
/*
 * Where options come from.
 *
 * In jemalloc's order, each overriding the ones before it: the string that the program's symbol
 * `bedrock_conf` points to, the name that the symbolic link /etc/bedrock.conf holds, and the
 * environment variable BEDROCK_CONF, which set-user-ID programs do not heed.
 */
#ifndef BEDROCK_CONF_H
#define BEDROCK_CONF_H

#include "allocator/bedrock/options.h"

#define BEDROCK_CONF_LINK "/etc/bedrock.conf"

/* Apply all sources. The environment is there. Ends the process if abort_conf asks for it. */
void bedrock_conf_read(struct bedrock_options *options);

#endif
