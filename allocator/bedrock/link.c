/* SPDX-License-Identifier: MIT */
/*
 * The secrets that links are summed and mixed with.
 *
 * They come from the random bytes that the kernel gives each process at its start, so that no call
 * can fail, scattered so that who learns one does not learn those: the C library makes its stack
 * canaries of them. The child of a fork keeps its parent's.
 */
#include "allocator/bedrock/link.h"

#include <string.h>
#include <sys/auxv.h>

#include "allocator/bedrock/os.h"

struct bedrock_link_key bedrock_link_key;

static uint64_t bedrock_link_scatter(uint64_t word)
{
	word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
	return word ^ word >> 31;
}

void bedrock_link_protect(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t words[2] = { 0, 0 };

	if (random)
		memcpy(words, random, sizeof(words));
	words[1] += bedrock_os_now_ns() ^ (uintptr_t)&words;
	bedrock_link_key.secret =
		bedrock_link_scatter(words[0]) ^ bedrock_link_scatter(words[1] * 3);
	bedrock_link_key.mask =
		bedrock_link_scatter(words[0] * 5) ^ bedrock_link_scatter(words[1] * 7);
	bedrock_link_key.is_on = true;
}
