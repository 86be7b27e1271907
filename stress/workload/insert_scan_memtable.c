/* SPDX-License-Identifier: MIT */
/*
 * The memtable of insert-scan: a skip list that many clients write and many readers walk at once,
 * none of them with a lock. Nodes are never taken out; all of them go with the arenas. The constant
 * part of a node is sealed and looked at before a pointer in it is followed.
 */
#include <string.h>

#include "stress/workload/insert_scan.h"

struct path {
	struct insert_scan_node *before[INSERT_SCAN_HEIGHT]; /* NULL: the head */
};

static uint64_t node_seal(const struct insert_scan_node *node)
{
	return insert_scan_mix(node->key ^ insert_scan_mix((uint64_t)(uintptr_t)node->row) ^
			       node->height);
}

static _Atomic(struct insert_scan_node *) *link_of(struct insert_scan_memtable *table,
						   struct insert_scan_node *node, uint64_t level)
{
	return node != NULL ? &node->next[level] : &table->head[level];
}

/* NULL at the end and where damage was reported; the latter cannot be passed. */
static struct insert_scan_node *follow(struct insert_scan *self, struct insert_scan_memtable *table,
				       struct insert_scan_node *node, uint64_t level)
{
	/* Pairs with the exchange in enter: the node is whole. */
	struct insert_scan_node *const next = hq_load_acquire(link_of(table, node, level));

	if (next == NULL || next->seal == node_seal(next))
		return next;
	hq_heap_wrong_data(self->heap, next, next->seal, node_seal(next));
	return NULL;
}

static void find(struct insert_scan *self, struct insert_scan_memtable *table, uint64_t key,
		 struct path *path)
{
	struct insert_scan_node *before = NULL;

	for (uint64_t level = INSERT_SCAN_HEIGHT; level-- > 0;) {
		struct insert_scan_node *next;

		while ((next = follow(self, table, before, level)) != NULL && next->key < key)
			before = next;
		path->before[level] = before;
	}
}

/* From the lowest level up: a node that is on level 0 is in the table. */
static void enter(struct insert_scan *self, struct insert_scan_memtable *table,
		  struct insert_scan_node *node)
{
	struct path path;

	find(self, table, node->key, &path);
	for (uint64_t level = 0; level < node->height; level++) {
		for (;;) {
			_Atomic(struct insert_scan_node *) *const link =
				link_of(table, path.before[level], level);
			struct insert_scan_node *next = hq_load_acquire(link);

			if (next == NULL || next->key > node->key) {
				hq_store_relaxed(&node->next[level], next);
				/* Pairs with the acquire in follow. */
				if (hq_cas_acq_rel(link, &next, node))
					break;
			}
			find(self, table, node->key, &path);
		}
	}
}

/* One level more with a chance of a quarter, by the key alone. */
static uint64_t height_of(uint64_t key)
{
	const uint64_t bits = insert_scan_mix(~key) | 1ull << 2 * (INSERT_SCAN_HEIGHT - 1);

	return 1 + (uint64_t)__builtin_ctzll(bits) / 2;
}

bool insert_scan_memtable_insert(struct insert_scan *self, struct insert_scan_memtable *table,
				 const struct insert_scan_row *row)
{
	struct insert_scan_part *const part = &table->parts[self->index];
	const uint64_t height = height_of(row->key);
	const uint64_t node_bytes =
		sizeof(struct insert_scan_node) + height * sizeof(struct insert_scan_node *);
	struct insert_scan_node *const node =
		insert_scan_take(self, &part->arena, node_bytes + insert_scan_row_size(row));

	if (node == NULL) {
		part->refused++;
		return false;
	}
	node->key = row->key;
	node->height = height;
	node->row = (struct insert_scan_row *)((uint8_t *)node + node_bytes);
	node->seal = node_seal(node);
	for (uint64_t level = 0; level < height; level++)
		hq_store_relaxed(&node->next[level], NULL);
	memcpy(node->row, row, sizeof(*row) + row->bytes);
	enter(self, table, node);
	part->rows++;
	return true;
}

struct insert_scan_node *insert_scan_memtable_next(struct insert_scan *self,
						   struct insert_scan_memtable *table,
						   struct insert_scan_node *node)
{
	return follow(self, table, node, 0);
}

struct insert_scan_node *insert_scan_memtable_before(struct insert_scan *self,
						     struct insert_scan_memtable *table,
						     uint64_t key)
{
	struct path path;

	find(self, table, key, &path);
	return path.before[0];
}

void insert_scan_memtable_drop_part(struct insert_scan *self, struct insert_scan_memtable *table,
				    uint32_t client)
{
	struct insert_scan_part *const part = &table->parts[client];

	insert_scan_log_retire(self, &part->log, part->rows + part->refused);
	insert_scan_arena_drop(self, &part->arena);
	*part = (struct insert_scan_part){ .rows = 0 };
}
