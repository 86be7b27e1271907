/* SPDX-License-Identifier: MIT */
/*
 * The message printer: whole lines, cut when too long, errno untouched; and the lock order.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <errno.h>
#include <string.h>

#include "allocator/bedrock/debug.h"
#include "allocator/bedrock/lock.h"
#include "allocator/tests/victim.h"

TestSuite(debug, .init = cr_redirect_stderr);

Test(debug, warning_is_one_line_and_keeps_errno)
{
	errno = 55;
	bedrock_debug_warn("bad '", "abcdef", 3, "' ignored");
	cr_assert_eq(errno, 55);
	cr_assert_stderr_eq_str("bedrock: bad 'abc' ignored\n");
}

Test(debug, warning_that_is_too_long_is_cut_and_still_ends_its_line)
{
	char text[1000];
	char line[257];

	memset(text, 'x', sizeof(text));
	bedrock_debug_warn("", text, sizeof(text), "");
	memset(line, 'x', sizeof(line));
	memcpy(line, "bedrock: ", 9);
	line[255] = '\n';
	line[256] = '\0';
	cr_assert_stderr_eq_str(line);
}

static void fail_an_assertion(void)
{
	bedrock_debug_fail("a == b", "file.c", 120);
}

Test(debug, failed_assertion_names_its_place_and_aborts)
{
	victim_dies(fail_an_assertion, SIGABRT, "assertion failed: a == b", " at file.c:120\n");
}

#if BEDROCK_DEBUG >= 1
Test(debug, locks_taken_against_their_order_abort, .signal = SIGABRT)
{
	static struct bedrock_lock low = { .rank = BEDROCK_RANK_BIN };
	static struct bedrock_lock high = { .rank = BEDROCK_RANK_PAGES };

	bedrock_lock_take(&high);
	bedrock_lock_take(&low);
}
#endif

Test(debug, locks_taken_in_their_order_are_fine)
{
	static struct bedrock_lock low = { .rank = BEDROCK_RANK_BIN };
	static struct bedrock_lock high = { .rank = BEDROCK_RANK_PAGES };

	bedrock_lock_take(&low);
	bedrock_lock_take(&high);
	bedrock_lock_give(&high);
	bedrock_lock_give(&low);
	cr_assert(bedrock_lock_none_held());
}
