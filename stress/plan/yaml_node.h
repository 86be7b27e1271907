/* SPDX-License-Identifier: MIT */
/*
 * A YAML file as a tree of nodes, each with the line and column it came from, so that whoever finds
 * something wrong with a value can say where it stands.
 *
 * Only what a scenario needs: maps with text keys, lists, scalars. Anchors, aliases, tags and
 * several documents are refused with a sentence; duplicate keys are errors, since the second would
 * silently win.
 */
#ifndef HQ_STRESS_PLAN_YAML_NODE_H
#define HQ_STRESS_PLAN_YAML_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injectors/error.h"

#define HQ_YAML_BYTES_MAX   (1024u * 1024u)
#define HQ_YAML_DEPTH_MAX   16
#define HQ_YAML_ENTRIES_MAX 1000 /* of one map or list: keys are compared one by one */

enum hq_yaml_kind { HQ_YAML_SCALAR, HQ_YAML_LIST, HQ_YAML_MAP };

struct hq_yaml {
	enum hq_yaml_kind kind;
	uint32_t line;           /* from 1 */
	uint32_t column;         /* from 1, in characters */
	bool quoted;             /* SCALAR: written in quotes or as a block */
	char *text;              /* SCALAR: the text; otherwise NULL */
	struct hq_yaml **keys;   /* MAP: `count` scalars; LIST: NULL */
	struct hq_yaml **values; /* MAP and LIST: `count` nodes */
	size_t count;
};

/* Where something is wrong; line 0: the file as a whole. */
struct hq_yaml_place {
	uint32_t line;
	uint32_t column;
};

/* Both return 0 or -errno, with the sentence in *error and its position in *place. */
int hq_yaml_parse(const char *text, size_t length, struct hq_yaml **root,
		  struct hq_yaml_place *place, struct hq_error *error);
int hq_yaml_read(const char *path, struct hq_yaml **root, struct hq_yaml_place *place,
		 struct hq_error *error);
void hq_yaml_free(struct hq_yaml *node);

/* Index of a key in a map, or -1. */
int hq_yaml_index(const struct hq_yaml *map, const char *key);

/* True for `key:` with nothing behind it. */
bool hq_yaml_is_empty(const struct hq_yaml *node);

/* "a map", "a list", "a single value". */
const char *hq_yaml_kind_name(enum hq_yaml_kind kind);

#endif
