/* SPDX-License-Identifier: MIT */
/*
 * The sources of options, one after the other.
 */
#include "allocator/bedrock/conf.h"

#include <limits.h>
#include <stdlib.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/os.h"
#include "allocator/bedrock/text.h"

#define BEDROCK_CONF_SOURCES 3u

/* A program that wants options of its own defines the symbol, and its definition is taken. */
__attribute__((weak)) const char *bedrock_conf;

static unsigned bedrock_conf_apply(struct bedrock_options *options,
				   struct bedrock_options_source *sources, bool is_quiet,
				   bool is_confirmed)
{
	unsigned refused = 0;

	for (unsigned i = 0; i < BEDROCK_CONF_SOURCES; i++) {
		sources[i].is_quiet = is_quiet;
		sources[i].is_confirmed = is_confirmed;
		if (sources[i].text)
			refused += bedrock_options_apply(options, &sources[i]);
	}
	return refused;
}

void bedrock_conf_read(struct bedrock_options *options)
{
	char link[PATH_MAX];
	ssize_t link_bytes = bedrock_os_read_link(BEDROCK_CONF_LINK, link, sizeof(link));
	struct bedrock_options_source sources[BEDROCK_CONF_SOURCES] = {
		{ .origin = "bedrock_conf", .text = bedrock_conf },
		{ .origin = BEDROCK_CONF_LINK, .text = link_bytes > 0 ? link : NULL },
		{ .origin = "BEDROCK_CONF", .text = bedrock_os_environment("BEDROCK_CONF") },
	};
	struct bedrock_options first = *options;

	/* Whether settings are confirmed may stand behind them, so that is found out first. */
	bedrock_conf_apply(&first, sources, true, false);
	if (bedrock_conf_apply(options, sources, false, first.is_confirm_conf) == 0 ||
	    !options->is_abort_conf)
		return;
	bedrock_text_to_stderr(NULL, "bedrock: abort_conf: ended because of refused options\n");
	abort();
}
