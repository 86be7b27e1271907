/* SPDX-License-Identifier: MIT */
/*
 * Operators of query-mix over texts: columns that are made longer, searched, and taken apart into
 * trees of small nodes.
 */
#include "stress/workload/query_mix.h"

#define FIELDS 6u

static const char *text_at(const struct query_mix *self, uint64_t row, uint64_t *length)
{
	*length = self->offsets[row + 1] - self->offsets[row];
	return self->texts + self->offsets[row];
}

static uint64_t end_of_block(const struct query_mix *self, uint64_t start)
{
	return self->rows - start < QUERY_MIX_BLOCK_ROWS ? self->rows
							 : start + QUERY_MIX_BLOCK_ROWS;
}

/* a: how often each text is repeated; b: byte that stands between */
bool query_mix_transform(struct query_mix *self, const struct query_mix_query *query,
			 struct query_mix_share *share)
{
	const char between = (char)query->b;
	bool fits = true;

	for (uint64_t start = 0; fits && start < self->rows; start = end_of_block(self, start)) {
		struct query_mix_vector column = { .data = NULL };

		for (uint64_t row = start; fits && row < end_of_block(self, start); row++) {
			uint64_t length;
			const char *const text = text_at(self, row, &length);

			for (uint64_t i = 0; fits && i < query->a; i++)
				fits = query_mix_push(self, &column, text, length) &&
				       query_mix_push(self, &column, &between, 1);
		}
		share->sum += query_mix_hash_text((const char *)column.data, column.bytes);
		query_mix_drop(self, &column);
		hq_heap_alive(self->heap);
	}
	return fits;
}

/* a: the letter that is looked for; b: 1 for texts that are turned to upper case before */
bool query_mix_search(struct query_mix *self, const struct query_mix_query *query,
		      struct query_mix_share *share)
{
	bool fits = true;

	for (uint64_t start = 0; fits && start < self->rows; start = end_of_block(self, start)) {
		const uint64_t end = end_of_block(self, start), first = self->offsets[start];
		const uint64_t bytes = self->offsets[end] - first;
		struct query_mix_vector found = { .data = NULL };
		char *const copy = hq_heap_alloc(self->heap, bytes);

		fits = copy != NULL;
		for (uint64_t i = 0; fits && i < bytes; i++)
			copy[i] = (char)(self->texts[first + i] - (query->b ? 32 : 0));
		for (uint64_t row = start; fits && row < end; row++) {
			const char *const text = copy + (self->offsets[row] - first);
			const uint64_t length = self->offsets[row + 1] - self->offsets[row];

			if (memchr(text, (int)query->a, length) != NULL)
				fits = query_mix_push(self, &found, text, length);
		}
		share->sum += query_mix_hash_text((const char *)found.data, found.bytes);
		query_mix_drop(self, &found);
		hq_heap_free(self->heap, copy, bytes);
		hq_heap_alive(self->heap);
	}
	return fits;
}

/* ---- documents ---- */

struct node {
	struct node *next;
	char *text;
	uint64_t length;
	uint64_t key;
};

static void free_nodes(struct query_mix *self, struct node *node, uint64_t *sum)
{
	while (node != NULL) {
		struct node *const next = node->next;

		*sum += query_mix_hash_text(node->text, node->length) ^ node->key;
		hq_heap_free(self->heap, node->text, node->length);
		hq_heap_free(self->heap, node, sizeof(*node));
		node = next;
	}
}

/* In front of the list. False: refused, the list is as it was. */
static bool add_node(struct query_mix *self, struct node **list, const char *text, uint64_t length,
		     uint64_t key)
{
	struct node *const node = hq_heap_alloc(self->heap, sizeof(*node));

	if (node == NULL)
		return false;
	*node = (struct node){ .next = *list, .length = length, .key = key };
	node->text = hq_heap_alloc(self->heap, length);
	if (node->text == NULL) {
		hq_heap_free(self->heap, node, sizeof(*node));
		return false;
	}
	memcpy(node->text, text, length);
	*list = node;
	return true;
}

/* a: every so many-th row is a document; b: documents that live at one time */
bool query_mix_json(struct query_mix *self, const struct query_mix_query *query,
		    struct query_mix_share *share)
{
	struct query_mix_vector held = { .data = NULL };
	bool fits = query_mix_zeroed(self, &held, query->b * sizeof(struct node *));
	struct node **const documents = (struct node **)held.data;

	for (uint64_t row = 0; fits && row < self->rows; row += query->a) {
		struct node **const document = &documents[row / query->a % query->b];

		free_nodes(self, *document, &share->sum);
		*document = NULL;
		for (uint64_t field = 0; fits && field < FIELDS; field++) {
			uint64_t length;
			const char *const text =
				text_at(self, (row + field * 7919) % self->rows, &length);

			fits = add_node(self, document, text, length, field);
		}
	}
	for (uint64_t i = 0; documents != NULL && i < query->b; i++)
		free_nodes(self, documents[i], &share->sum);
	query_mix_drop(self, &held);
	return fits;
}
