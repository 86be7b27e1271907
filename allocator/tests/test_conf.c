/* SPDX-License-Identifier: MIT */
/*
 * The sources of options: who overrides whom, and what happens to what is refused.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/conf.h"
#include "allocator/bedrock/os.h"

static struct bedrock_options options;
static const char *link_text;

static ssize_t link_stub(const char *path, char *out, size_t bytes)
{
	cr_assert_str_eq(path, "/etc/bedrock.conf");
	if (!link_text) {
		errno = ENOENT;
		return -1;
	}
	const size_t length = strlen(link_text);

	memcpy(out, link_text, length < bytes ? length : bytes);
	return (ssize_t)length;
}

static void setup(void)
{
	bedrock_os_table.readlink = link_stub;
	bedrock_options_init(&options);
	cr_redirect_stderr();
	unsetenv("BEDROCK_CONF");
}

TestSuite(conf, .init = setup);

Test(conf, without_any_source_the_defaults_stay)
{
	bedrock_conf_read(&options);
	cr_assert_eq(options.dirty_decay_ms, 500);
	cr_assert_stderr_eq_str("");
}

Test(conf, environment_overrides_the_link_and_the_link_the_symbol)
{
	bedrock_conf = "narenas:1,tcache_max:1,dirty_decay_ms:1";
	link_text = "narenas:2,tcache_max:2";
	setenv("BEDROCK_CONF", "narenas:3", 1);
	bedrock_conf_read(&options);
	cr_assert_eq(options.arena_count, 3);
	cr_assert_eq(options.tcache_max_bytes, 2);
	cr_assert_eq(options.dirty_decay_ms, 1);
}

Test(conf, confirmation_covers_settings_before_it)
{
	link_text = "narenas:2";
	setenv("BEDROCK_CONF", "tcache:false,confirm_conf:true", 1);
	bedrock_conf_read(&options);
	cr_assert_stderr_eq_str("bedrock: /etc/bedrock.conf: 'narenas:2' set\n"
				"bedrock: BEDROCK_CONF: 'tcache:false' set\n"
				"bedrock: BEDROCK_CONF: 'confirm_conf:true' set\n");
}

Test(conf, refusal_is_named_once_with_its_source)
{
	bedrock_conf = "narena:2";
	bedrock_conf_read(&options);
	cr_assert_stderr_eq_str("bedrock: bedrock_conf: unknown option 'narena' ignored; "
				"did you mean 'narenas'?\n");
}

Test(conf, refusal_ends_the_process_if_that_is_asked_for, .signal = SIGABRT)
{
	setenv("BEDROCK_CONF", "abort_conf:true,narenas:none", 1);
	bedrock_conf_read(&options);
}

Test(conf, without_refusal_abort_conf_is_harmless)
{
	setenv("BEDROCK_CONF", "abort_conf:true,narenas:4", 1);
	bedrock_conf_read(&options);
	cr_assert_eq(options.arena_count, 4);
}
