/* SPDX-License-Identifier: MIT */
/*
 * What heaptrack writes, unpacked if it is not gzip's. Numbers are hexadecimal:
 *
 *   v 10400 3     version of the program and of the format
 *   a 138 9       a kind of allocation: its size, and its place; the first is number 0
 *   + 1           a block of that kind is given out
 *   - 1           one of that kind is given back
 *   c 1f          milliseconds since the start
 *
 * Which one of a kind is given back is not told: the latest is taken. There are no threads, and
 * realloc is a free and a malloc. All other lines tell of places and are passed over.
 */
#include <errno.h>
#include <stdlib.h>

#include "injectors/units.h"
#include "stress/trace/import.h"

/* Blocks of a kind form a chain, the latest first. */
struct kind {
	uint64_t size;
	uint64_t latest; /* 0: none is live */
};

struct heaptrack {
	struct kind *kinds;
	uint64_t kind_count, kind_room;
	uint64_t *before; /* of each block ever given out, the one before it of its kind */
	uint64_t block_count, block_room;
	uint64_t time_ns;
	bool has_version;
};

static bool take_number(const char **text, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(*text, &end, 16);
	if (errno || end == *text || **text != ' ')
		return false;
	*text = end;
	return true;
}

/* Room for one more of `size` bytes. */
static int make_room(void **list, uint64_t count, uint64_t *room, size_t size)
{
	void *more;

	if (count < *room)
		return 0;
	more = realloc(*list, (2 * *room + 64) * size);
	if (!more)
		return -ENOMEM;
	*list = more;
	*room = 2 * *room + 64;
	return 0;
}

static int add_kind(struct heaptrack *self, uint64_t size)
{
	if (make_room((void **)&self->kinds, self->kind_count, &self->kind_room,
		      sizeof(*self->kinds)))
		return -ENOMEM;
	self->kinds[self->kind_count++] = (struct kind){ .size = size };
	return 0;
}

/* There are no addresses: a block's number stands for one. */
static int build(struct hq_import *import, enum hq_trace_seen kind, uint64_t block, uint64_t size)
{
	const struct heaptrack *const self = import->state;
	const struct hq_trace_event event = {
		.kind = (uint8_t)kind, .time_ns = self->time_ns, .address = block * 16, .size = size
	};

	return hq_trace_build(import->builder, &event);
}

static int give_out(struct hq_import *import, struct kind *kind)
{
	struct heaptrack *const self = import->state;

	if (make_room((void **)&self->before, self->block_count, &self->block_room,
		      sizeof(*self->before)))
		return -ENOMEM;
	self->before[self->block_count++] = kind->latest;
	kind->latest = self->block_count;
	return build(import, HQ_SEEN_MALLOC, kind->latest, kind->size);
}

static int take_back(struct hq_import *import, struct kind *kind)
{
	struct heaptrack *const self = import->state;
	const uint64_t block = kind->latest;

	if (block == 0) {
		import->builder->repairs.unknown_frees++;
		return 0;
	}
	kind->latest = self->before[block - 1];
	return build(import, HQ_SEEN_FREE, block, 0);
}

static int take_block(struct hq_import *import, char operation, uint64_t number)
{
	struct heaptrack *const self = import->state;

	if (number >= self->kind_count)
		return -EINVAL;
	return operation == '+' ? give_out(import, &self->kinds[number])
				: take_back(import, &self->kinds[number]);
}

static int take(struct hq_import *import, const char *line)
{
	struct heaptrack *const self = import->state;
	const char operation = line[0], *at = line + 1;
	uint64_t number;

	if (!self->has_version && operation != 'v')
		return -EINVAL;
	self->has_version = true;
	if (operation != 'a' && operation != '+' && operation != '-' && operation != 'c')
		return 0;
	if (!take_number(&at, &number))
		return -EINVAL;
	if (operation == 'a')
		return add_kind(self, number);
	if (operation == 'c') {
		self->time_ns = number * HQ_MS;
		return 0;
	}
	return take_block(import, operation, number);
}

static void clear(void *state)
{
	struct heaptrack *const self = state;

	free(self->kinds);
	free(self->before);
}

const struct hq_import_format hq_import_heaptrack = {
	.name = "heaptrack",
	.state_size = sizeof(struct heaptrack),
	.take = take,
	.clear = clear,
};
