/* SPDX-License-Identifier: MIT */
/*
 * Rows and their index. Fields are stamped blocks, which the heap checks. Rows and nodes hold
 * pointers and cannot be stamped, so each carries a seal over its content; it is checked before a
 * pointer in it is followed, so that damage ends in a report and not in a crash of the host.
 */
#include "stress/workload/memtable.h"

#include <string.h>

#define ALIVE_EVERY 1024u /* rows freed between two signs of life */

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
	return value ^ (value >> 32);
}

uint64_t memtable_checksum(uint64_t sum, const void *memory, uint64_t size)
{
	const uint8_t *const bytes = memory;
	uint64_t offset = 0;

	for (; size - offset >= sizeof(uint64_t); offset += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes + offset, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 29;
	}
	for (; offset < size; offset++)
		sum = (sum ^ bytes[offset]) * 0x9e3779b97f4a7c15ull;
	return sum;
}

/* ---- seals ---- */

static uint64_t row_size(uint64_t field_count)
{
	return sizeof(struct memtable_row) + field_count * sizeof(struct hq_block);
}

static uint64_t row_seal(const struct memtable_row *row)
{
	uint64_t seal = mix(row->key) ^ mix(row->bytes + 1) ^ mix(row->field_count + 2);

	return memtable_checksum(seal, row->fields, row->field_count * sizeof(row->fields[0]));
}

static uint64_t node_size(uint64_t height)
{
	return sizeof(struct memtable_node) + height * sizeof(struct memtable_node *);
}

/* Each link enters by itself, so that changing one is a matter of two terms. */
static uint64_t link_term(const struct memtable_node *to, uint64_t level)
{
	return mix((uint64_t)(uintptr_t)to + (level << 56));
}

static uint64_t node_seal(const struct memtable_node *node)
{
	uint64_t seal =
		mix(node->key) ^ mix((uint64_t)(uintptr_t)node->row + 1) ^ mix(node->height + 2);

	for (uint64_t level = 0; level < node->height; level++)
		seal ^= link_term(node->next[level], level);
	return seal;
}

static void set_link(struct memtable_node *node, uint64_t level, struct memtable_node *to)
{
	node->seal ^= link_term(node->next[level], level) ^ link_term(to, level);
	node->next[level] = to;
}

static bool height_is_possible(const struct memtable_node *node)
{
	return node->height >= 1 && node->height <= MEMTABLE_HEIGHT;
}

static bool node_is_whole(const struct memtable_node *node)
{
	return height_is_possible(node) && node->seal == node_seal(node);
}

static void report_node(struct memtable *self, struct memtable_table *table,
			const struct memtable_node *node)
{
	if (hq_load_relaxed(&table->broken) == 0)
		hq_heap_wrong_data(self->heap, node, node->seal,
				   height_is_possible(node) ? node_seal(node) : 0);
	hq_store_relaxed(&table->broken, 1);
}

bool memtable_row_is_whole(struct memtable *self, const struct memtable_node *node)
{
	const struct memtable_row *const row = node->row;

	if (row->key == node->key && row->field_count <= MEMTABLE_FIELDS &&
	    row->seal == row_seal(row))
		return true;
	hq_heap_wrong_data(self->heap, row, node->key, row->key);
	return false;
}

void memtable_expect_rows(struct memtable *self, const struct memtable_table *table, uint64_t seen)
{
	if (seen != table->rows && hq_load_relaxed(&table->broken) == 0)
		hq_heap_wrong_data(self->heap, table, table->rows, seen);
}

/* ---- making rows ---- */

/*
 * Fields in memory of the host. While rows are made and freed their blocks are kept here, because a
 * broken allocator may give out a field over the row that describes it.
 */
struct fields {
	struct hq_block blocks[MEMTABLE_FIELDS];
	uint64_t count;
};

static void free_fields(struct memtable *self, struct fields *fields)
{
	for (uint64_t i = 0; i < fields->count; i++)
		hq_block_free(self->heap, &fields->blocks[i]);
}

static bool make_fields(struct memtable *self, const struct memtable_shape *shape,
			struct fields *fields)
{
	for (fields->count = 0; fields->count < shape->field_count; fields->count++) {
		if (!hq_block_alloc(self->heap, &fields->blocks[fields->count],
				    shape->sizes[fields->count])) {
			free_fields(self, fields);
			return false;
		}
	}
	return true;
}

/* The row must be whole. */
static void free_row(struct memtable *self, struct memtable_row *row)
{
	struct fields fields;

	fields.count = row->field_count;
	memcpy(fields.blocks, row->fields, fields.count * sizeof(fields.blocks[0]));
	free_fields(self, &fields);
	hq_heap_free(self->heap, row, row_size(fields.count));
}

static struct memtable_row *make_row(struct memtable *self, const struct memtable_shape *shape)
{
	struct memtable_row *const row = hq_heap_alloc(self->heap, row_size(shape->field_count));
	struct fields fields;

	if (row == NULL)
		return NULL;
	if (!make_fields(self, shape, &fields)) {
		hq_heap_free(self->heap, row, row_size(shape->field_count));
		return NULL;
	}
	*row = (struct memtable_row){ .key = shape->key,
				      .bytes = shape->bytes,
				      .field_count = shape->field_count };
	memcpy(row->fields, fields.blocks, fields.count * sizeof(fields.blocks[0]));
	row->seal = row_seal(row);
	return row;
}

static struct memtable_node *make_node(struct memtable *self, struct memtable_row *row,
				       uint64_t height)
{
	struct memtable_node *const node = hq_heap_alloc(self->heap, node_size(height));

	if (node == NULL)
		return NULL;
	*node = (struct memtable_node){ .key = row->key, .row = row, .height = height };
	memset(node->next, 0, height * sizeof(node->next[0]));
	node->seal = node_seal(node);
	return node;
}

/* ---- the index ---- */

/* Where a key belongs: on each level the last node before it, NULL for the head. */
struct place {
	struct memtable_node *before[MEMTABLE_HEIGHT];
};

static struct memtable_node *link_of(const struct memtable_table *table,
				     const struct memtable_node *node, uint64_t level)
{
	return node != NULL ? node->next[level] : table->head[level];
}

static bool find_place(struct memtable *self, struct memtable_table *table, uint64_t key,
		       struct place *place)
{
	struct memtable_node *before = NULL;

	for (uint64_t level = MEMTABLE_HEIGHT; level-- > 0;) {
		struct memtable_node *next = link_of(table, before, level);

		while (next != NULL) {
			if (!node_is_whole(next)) {
				report_node(self, table, next);
				return false;
			}
			if (next->key >= key)
				break;
			before = next;
			next = link_of(table, before, level);
		}
		place->before[level] = before;
	}
	return true;
}

static void link_in(struct memtable_table *table, const struct place *place,
		    struct memtable_node *node)
{
	for (uint64_t level = 0; level < node->height; level++) {
		struct memtable_node *const before = place->before[level];

		set_link(node, level, link_of(table, before, level));
		if (before != NULL)
			set_link(before, level, node);
		else
			table->head[level] = node;
	}
	table->rows++;
}

bool memtable_insert(struct memtable *self, struct memtable_table *table,
		     const struct memtable_shape *shape)
{
	struct memtable_row *const row = make_row(self, shape);
	struct memtable_node *node;
	struct place place;

	if (row == NULL)
		return false;
	node = make_node(self, row, shape->height);
	if (node == NULL || !find_place(self, table, shape->key, &place)) {
		if (node != NULL)
			hq_heap_free(self->heap, node, node_size(shape->height));
		free_row(self, row);
		return false;
	}
	link_in(table, &place, node);
	return true;
}

struct memtable_node *memtable_next(struct memtable *self, struct memtable_table *table,
				    const struct memtable_node *node)
{
	struct memtable_node *const next = link_of(table, node, 0);

	if (next == NULL)
		return NULL;
	if (!node_is_whole(next) || (node != NULL && next->key < node->key)) {
		report_node(self, table, next);
		return NULL;
	}
	return next;
}

/* ---- the end of rows ---- */

void memtable_free_node(struct memtable *self, struct memtable_node *node)
{
	const uint64_t size = node_size(node->height);

	if (memtable_row_is_whole(self, node))
		free_row(self, node->row);
	hq_heap_free(self->heap, node, size);
}

void memtable_clear(struct memtable *self, struct memtable_table *table,
		    bool (*mine)(const struct memtable *self, uint64_t key))
{
	struct memtable_node *node = memtable_next(self, table, NULL);
	struct memtable_node *last = NULL;
	uint64_t seen = 0;

	table->leftover = NULL;
	while (node != NULL) {
		struct memtable_node *const next = memtable_next(self, table, node);

		if (++seen % ALIVE_EVERY == 0)
			hq_heap_alive(self->heap);
		if (mine == NULL || mine(self, node->key)) {
			memtable_free_node(self, node);
		} else {
			if (last != NULL)
				set_link(last, 0, node);
			else
				table->leftover = node;
			set_link(node, 0, NULL);
			last = node;
		}
		node = next;
	}
	memtable_expect_rows(self, table, seen);
	memset(table->head, 0, sizeof(table->head));
}

void memtable_free_leftover(struct memtable *self, struct memtable_table *table)
{
	struct memtable_node *node = table->leftover;

	table->leftover = NULL;
	while (node != NULL) {
		if (!node_is_whole(node)) {
			report_node(self, table, node);
			return;
		}
		struct memtable_node *const next = node->next[0];

		memtable_free_node(self, node);
		node = next;
	}
}
