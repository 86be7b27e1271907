/* SPDX-License-Identifier: MIT */
/*
 * Vectors of query-mix: they begin at 4 KiB and double, the way columns of results grow in an
 * analytical database.
 */
#include "stress/workload/query_mix.h"

#define ROOM_FIRST 4096u

bool query_mix_reserve(struct query_mix *self, struct query_mix_vector *vector, uint64_t bytes)
{
	uint64_t room = vector->room ? vector->room : ROOM_FIRST;

	while (room - vector->bytes < bytes)
		room *= 2;
	if (room == vector->room)
		return true;
	void *const moved = vector->data
				    ? hq_heap_resize(self->heap, vector->data, vector->room, room)
				    : hq_heap_alloc(self->heap, room);

	if (moved == NULL)
		return false;
	vector->data = moved;
	vector->room = room;
	return true;
}

bool query_mix_zeroed(struct query_mix *self, struct query_mix_vector *vector, uint64_t bytes)
{
	vector->data = self->options->clear ? hq_heap_alloc(self->heap, bytes)
					    : hq_heap_calloc(self->heap, 1, bytes);
	if (vector->data == NULL)
		return false;
	if (self->options->clear)
		memset(vector->data, 0, bytes);
	vector->bytes = vector->room = bytes;
	return true;
}

void query_mix_drop(struct query_mix *self, struct query_mix_vector *vector)
{
	hq_heap_free(self->heap, vector->data, vector->room);
	*vector = (struct query_mix_vector){ .data = NULL };
}
