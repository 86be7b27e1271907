/* SPDX-License-Identifier: MIT */
/*
 * Rows and their index. Fields are stamped blocks, which the heap checks. Rows and nodes hold
 * pointers and cannot be stamped, so each carries a seal over its content; it is checked before a
 * pointer in it is followed, so that damage ends in a report and not in a crash of the host.
 */
#include "stress/workload/insert_scan.h"

#include <string.h>

#define ALIVE_EVERY 1024u /* rows freed between two signs of life */

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
	return value ^ (value >> 32);
}

uint64_t insert_scan_checksum(uint64_t sum, const void *memory, uint64_t size)
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
	return sizeof(struct insert_scan_row) + field_count * sizeof(struct hq_block);
}

static uint64_t row_seal(const struct insert_scan_row *row)
{
	uint64_t seal = mix(row->key) ^ mix(row->bytes + 1) ^ mix(row->field_count + 2);

	return insert_scan_checksum(seal, row->fields, row->field_count * sizeof(row->fields[0]));
}

static uint64_t node_size(uint64_t height)
{
	return sizeof(struct insert_scan_node) + height * sizeof(struct insert_scan_node *);
}

/* Each link enters by itself, so that changing one is a matter of two terms. */
static uint64_t link_term(const struct insert_scan_node *to, uint64_t level)
{
	return mix((uint64_t)(uintptr_t)to + (level << 56));
}

static uint64_t node_seal(const struct insert_scan_node *node)
{
	uint64_t seal =
		mix(node->key) ^ mix((uint64_t)(uintptr_t)node->row + 1) ^ mix(node->height + 2);

	for (uint64_t level = 0; level < node->height; level++)
		seal ^= link_term(node->next[level], level);
	return seal;
}

static void set_link(struct insert_scan_node *node, uint64_t level, struct insert_scan_node *to)
{
	node->seal ^= link_term(node->next[level], level) ^ link_term(to, level);
	node->next[level] = to;
}

static bool height_is_possible(const struct insert_scan_node *node)
{
	return node->height >= 1 && node->height <= INSERT_SCAN_HEIGHT;
}

static bool node_is_whole(const struct insert_scan_node *node)
{
	return height_is_possible(node) && node->seal == node_seal(node);
}

static void report_node(struct insert_scan *self, struct insert_scan_table *table,
			const struct insert_scan_node *node)
{
	if (hq_load_relaxed(&table->broken) == 0)
		hq_heap_wrong_data(self->heap, node, node->seal,
				   height_is_possible(node) ? node_seal(node) : 0);
	hq_store_relaxed(&table->broken, 1);
}

bool insert_scan_row_is_whole(struct insert_scan *self, const struct insert_scan_node *node)
{
	const struct insert_scan_row *const row = node->row;

	if (row->key == node->key && row->field_count <= INSERT_SCAN_FIELDS &&
	    row->seal == row_seal(row))
		return true;
	hq_heap_wrong_data(self->heap, row, node->key, row->key);
	return false;
}

void insert_scan_expect_rows(struct insert_scan *self, const struct insert_scan_table *table,
			     uint64_t seen)
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
	struct hq_block blocks[INSERT_SCAN_FIELDS];
	uint64_t count;
};

static void free_fields(struct insert_scan *self, struct fields *fields)
{
	for (uint64_t i = 0; i < fields->count; i++)
		hq_block_free(self->heap, &fields->blocks[i]);
}

static bool make_fields(struct insert_scan *self, const struct insert_scan_shape *shape,
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
static void free_row(struct insert_scan *self, struct insert_scan_row *row)
{
	struct fields fields;

	fields.count = row->field_count;
	memcpy(fields.blocks, row->fields, fields.count * sizeof(fields.blocks[0]));
	free_fields(self, &fields);
	hq_heap_free(self->heap, row, row_size(fields.count));
}

static struct insert_scan_row *make_row(struct insert_scan *self,
					const struct insert_scan_shape *shape)
{
	struct insert_scan_row *const row = hq_heap_alloc(self->heap, row_size(shape->field_count));
	struct fields fields;

	if (row == NULL)
		return NULL;
	if (!make_fields(self, shape, &fields)) {
		hq_heap_free(self->heap, row, row_size(shape->field_count));
		return NULL;
	}
	*row = (struct insert_scan_row){ .key = shape->key,
					 .bytes = shape->bytes,
					 .field_count = shape->field_count };
	memcpy(row->fields, fields.blocks, fields.count * sizeof(fields.blocks[0]));
	row->seal = row_seal(row);
	return row;
}

static struct insert_scan_node *make_node(struct insert_scan *self, struct insert_scan_row *row,
					  uint64_t height)
{
	struct insert_scan_node *const node = hq_heap_alloc(self->heap, node_size(height));

	if (node == NULL)
		return NULL;
	*node = (struct insert_scan_node){ .key = row->key, .row = row, .height = height };
	memset(node->next, 0, height * sizeof(node->next[0]));
	node->seal = node_seal(node);
	return node;
}

/* ---- the index ---- */

/* Where a key belongs: on each level the last node before it, NULL for the head. */
struct place {
	struct insert_scan_node *before[INSERT_SCAN_HEIGHT];
};

static struct insert_scan_node *link_of(const struct insert_scan_table *table,
					const struct insert_scan_node *node, uint64_t level)
{
	return node != NULL ? node->next[level] : table->head[level];
}

static bool find_place(struct insert_scan *self, struct insert_scan_table *table, uint64_t key,
		       struct place *place)
{
	struct insert_scan_node *before = NULL;

	for (uint64_t level = INSERT_SCAN_HEIGHT; level-- > 0;) {
		struct insert_scan_node *next = link_of(table, before, level);

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

static void link_in(struct insert_scan_table *table, const struct place *place,
		    struct insert_scan_node *node)
{
	for (uint64_t level = 0; level < node->height; level++) {
		struct insert_scan_node *const before = place->before[level];

		set_link(node, level, link_of(table, before, level));
		if (before != NULL)
			set_link(before, level, node);
		else
			table->head[level] = node;
	}
	table->rows++;
}

bool insert_scan_insert(struct insert_scan *self, struct insert_scan_table *table,
			const struct insert_scan_shape *shape)
{
	struct insert_scan_row *const row = make_row(self, shape);
	struct insert_scan_node *node;
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

struct insert_scan_node *insert_scan_next(struct insert_scan *self, struct insert_scan_table *table,
					  const struct insert_scan_node *node)
{
	struct insert_scan_node *const next = link_of(table, node, 0);

	if (next == NULL)
		return NULL;
	if (!node_is_whole(next) || (node != NULL && next->key < node->key)) {
		report_node(self, table, next);
		return NULL;
	}
	return next;
}

/* ---- the end of rows ---- */

void insert_scan_free_node(struct insert_scan *self, struct insert_scan_node *node)
{
	const uint64_t size = node_size(node->height);

	if (insert_scan_row_is_whole(self, node))
		free_row(self, node->row);
	hq_heap_free(self->heap, node, size);
}

void insert_scan_clear(struct insert_scan *self, struct insert_scan_table *table,
		       bool (*mine)(const struct insert_scan *self, uint64_t key))
{
	struct insert_scan_node *node = insert_scan_next(self, table, NULL);
	struct insert_scan_node *last = NULL;
	uint64_t seen = 0;

	table->leftover = NULL;
	while (node != NULL) {
		struct insert_scan_node *const next = insert_scan_next(self, table, node);

		if (++seen % ALIVE_EVERY == 0)
			hq_heap_alive(self->heap);
		if (mine == NULL || mine(self, node->key)) {
			insert_scan_free_node(self, node);
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
	insert_scan_expect_rows(self, table, seen);
	memset(table->head, 0, sizeof(table->head));
}

void insert_scan_free_leftover(struct insert_scan *self, struct insert_scan_table *table)
{
	struct insert_scan_node *node = table->leftover;

	table->leftover = NULL;
	while (node != NULL) {
		if (!node_is_whole(node)) {
			report_node(self, table, node);
			return;
		}
		struct insert_scan_node *const next = node->next[0];

		insert_scan_free_node(self, node);
		node = next;
	}
}
