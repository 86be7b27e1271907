/* SPDX-License-Identifier: MIT */
/*
 * The tail of a block (--guard=canary): filling up to 8 bytes and a word that depends on the
 * block's address and on how much filling there is, so that the size that was asked for is known
 * as well. Looked at when the block is freed, grown or asked for its usable size.
 */
#include <string.h>

#include "stress/guard/watch.h"

#define SLACK_BYTE 0xc5u

static uint64_t tail_word(uint64_t address)
{
	return (hq_guard.tail_key ^ address * 0x9e3779b97f4a7c15ull) & ~7ull;
}

void hq_guard_put_tail(uint8_t *block, const struct hq_guard_call *call)
{
	const uint64_t slack = call->ask - HQ_BLOCKS_UNIT - call->size;
	const uint64_t word = tail_word((uintptr_t)block) | slack;

	memset(block + call->size, SLACK_BYTE, slack);
	memcpy(block + call->ask - HQ_BLOCKS_UNIT, &word, sizeof(word));
}

static void tail_is_damaged(uint64_t block, uint64_t offset, uint8_t expected, uint8_t got,
			    uint64_t caller)
{
	hq_guard_event((struct hq_event){ .kind = HQ_EVENT_PROGRAM_TAIL,
					  .address = block,
					  .size = offset & ~7ull,
					  .offset = offset,
					  .expected = expected,
					  .got = got },
		       caller, 0);
}

/* Bytes that the program asked for, of a block entered with `size`; its tail is looked at. */
static uint64_t check_tail(const uint8_t *block, uint64_t size, uint64_t caller)
{
	const uint64_t address = (uintptr_t)block, end = size - HQ_BLOCKS_UNIT;
	const uint64_t expected = tail_word(address);
	uint64_t word, slack;

	memcpy(&word, block + end, sizeof(word));
	slack = word & 7;
	if ((word ^ expected) >> 3) {
		const uint32_t byte = (uint32_t)__builtin_ctzll((word ^ expected) & ~7ull) / 8;

		tail_is_damaged(address, end + byte, (uint8_t)(expected >> 8 * byte),
				(uint8_t)(word >> 8 * byte), caller);
		return end > 7 ? end - 7 : 0;
	}
	for (uint64_t at = end - slack; slack <= end && at < end; at++) {
		if (block[at] == SLACK_BYTE)
			continue;
		tail_is_damaged(address, at, SLACK_BYTE, block[at], caller);
		break;
	}
	return slack <= end ? end - slack : 0;
}

uint64_t hq_guard_sure_size(const void *block, uint64_t size, uint64_t caller)
{
	if (hq_guard_may_have_tail((uintptr_t)block, size))
		return check_tail(block, size, caller);
	return size - (HQ_BLOCKS_UNIT - 1);
}
