/* SPDX-License-Identifier: MIT */
/*
 * libyaml's events become a tree. The tree is built by recursion with a bounded depth, and whatever
 * was built is freed when an error ends the reading.
 */
#include "stress/plan/yaml_node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

struct reader {
	yaml_parser_t parser;
	const char *text;
	size_t length;
	unsigned depth;
	struct hq_yaml_place *place;
	struct hq_error *error;
};

static int read_node(struct reader *reader, const yaml_event_t *event, struct hq_yaml **node);

static struct hq_yaml_place place_of(yaml_mark_t mark)
{
	return (struct hq_yaml_place){
		.line = (uint32_t)mark.line + 1,
		.column = (uint32_t)mark.column + 1,
	};
}

static int refuse(struct reader *reader, yaml_mark_t mark, const char *sentence)
{
	*reader->place = place_of(mark);
	return hq_error_set(reader->error, "%s", sentence);
}

/* libyaml gives the byte offset of text that is no UTF-8, but no line. */
static struct hq_yaml_place place_of_offset(const struct reader *reader, size_t offset)
{
	struct hq_yaml_place place = { .line = 1, .column = 1 };

	for (size_t i = 0; i < offset && i < reader->length; i++) {
		if (reader->text[i] == '\n')
			place = (struct hq_yaml_place){ .line = place.line + 1, .column = 1 };
		else if (((unsigned char)reader->text[i] & 0xc0) != 0x80)
			place.column++;
	}
	return place;
}

/* A mark counts characters, so its byte is found by walking there. */
static bool is_tab_at(const struct reader *reader, yaml_mark_t mark)
{
	size_t characters = 0;

	for (size_t i = 0; i < reader->length; i++) {
		if (((unsigned char)reader->text[i] & 0xc0) == 0x80)
			continue;
		if (characters++ == mark.index)
			return reader->text[i] == '\t';
	}
	return false;
}

static int refuse_syntax(struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;

	if (parser->error == YAML_MEMORY_ERROR) {
		hq_error_set(reader->error, "out of memory");
		return -ENOMEM;
	}
	if (parser->error == YAML_READER_ERROR) {
		*reader->place = place_of_offset(reader, parser->problem_offset);
		return hq_error_set(reader->error, "not UTF-8 text: %s", parser->problem);
	}
	if (is_tab_at(reader, parser->problem_mark))
		return refuse(reader, parser->problem_mark,
			      "a tab cannot indent or separate in YAML; use spaces");
	*reader->place = place_of(parser->problem_mark);
	if (parser->context)
		return hq_error_set(reader->error, "not YAML: %s, %s", parser->context,
				    parser->problem);
	return hq_error_set(reader->error, "not YAML: %s", parser->problem);
}

static int next_event(struct reader *reader, yaml_event_t *event)
{
	return yaml_parser_parse(&reader->parser, event) ? 0 : refuse_syntax(reader);
}

static struct hq_yaml *make_node(enum hq_yaml_kind kind, yaml_mark_t mark)
{
	struct hq_yaml *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	const struct hq_yaml_place place = place_of(mark);

	node->kind = kind;
	node->line = place.line;
	node->column = place.column;
	return node;
}

/* Room for one more entry; the arrays grow by doubling. */
static int grow(struct hq_yaml *node)
{
	if (node->count & (node->count - 1))
		return 0;
	const size_t room = node->count ? node->count * 2 : 1;
	struct hq_yaml **values = reallocarray(node->values, room, sizeof(*values));

	if (!values)
		return -ENOMEM;
	node->values = values;
	if (node->kind == HQ_YAML_LIST)
		return 0;
	struct hq_yaml **keys = reallocarray(node->keys, room, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	node->keys = keys;
	return 0;
}

static int append(struct reader *reader, struct hq_yaml *node, struct hq_yaml *key,
		  struct hq_yaml *value)
{
	if (node->count == HQ_YAML_ENTRIES_MAX) {
		*reader->place =
			(struct hq_yaml_place){ .line = value->line, .column = value->column };
		return hq_error_set(reader->error, "more than %d entries", HQ_YAML_ENTRIES_MAX);
	}
	if (grow(node))
		return -ENOMEM;
	if (node->kind == HQ_YAML_MAP)
		node->keys[node->count] = key;
	node->values[node->count++] = value;
	return 0;
}

static int read_scalar(struct reader *reader, const yaml_event_t *event, struct hq_yaml **node)
{
	const char *text = (const char *)event->data.scalar.value;

	if (event->data.scalar.anchor)
		return refuse(reader, event->start_mark,
			      "anchors (&name) are not supported; write the value out");
	if (event->data.scalar.tag)
		return refuse(reader, event->start_mark, "tags (!name) are not supported");
	if (strlen(text) != event->data.scalar.length)
		return refuse(reader, event->start_mark, "a value cannot contain a NUL character");
	*node = make_node(HQ_YAML_SCALAR, event->start_mark);
	if (!*node)
		return -ENOMEM;
	(*node)->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	(*node)->text = strdup(text);
	return (*node)->text ? 0 : -ENOMEM;
}

static int read_list(struct reader *reader, struct hq_yaml *list)
{
	for (;;) {
		yaml_event_t event;
		struct hq_yaml *value = NULL;
		int status = next_event(reader, &event);

		if (status)
			return status;
		const bool end = event.type == YAML_SEQUENCE_END_EVENT;

		if (!end)
			status = read_node(reader, &event, &value);
		yaml_event_delete(&event);
		if (end)
			return 0;
		if (!status)
			status = append(reader, list, NULL, value);
		if (status) {
			hq_yaml_free(value);
			return status;
		}
	}
}

/* The key of an entry: a scalar that the map does not have yet. */
static int check_key(struct reader *reader, const struct hq_yaml *map, const struct hq_yaml *key)
{
	*reader->place = (struct hq_yaml_place){ .line = key->line, .column = key->column };
	if (key->kind != HQ_YAML_SCALAR)
		return hq_error_set(reader->error, "a key must be a word, not %s",
				    hq_yaml_kind_name(key->kind));
	const int first = hq_yaml_index(map, key->text);

	if (first >= 0)
		return hq_error_set(reader->error, "key '%s' is already given in line %u",
				    key->text, map->keys[first]->line);
	return 0;
}

static int read_value(struct reader *reader, struct hq_yaml *map, struct hq_yaml *key)
{
	yaml_event_t event;
	struct hq_yaml *value = NULL;
	int status = check_key(reader, map, key);

	if (!status)
		status = next_event(reader, &event);
	if (status)
		return status;
	status = read_node(reader, &event, &value);
	yaml_event_delete(&event);
	if (!status)
		status = append(reader, map, key, value);
	if (status)
		hq_yaml_free(value);
	return status;
}

static int read_map(struct reader *reader, struct hq_yaml *map)
{
	for (;;) {
		yaml_event_t event;
		struct hq_yaml *key = NULL;
		int status = next_event(reader, &event);

		if (status)
			return status;
		const bool end = event.type == YAML_MAPPING_END_EVENT;

		if (!end)
			status = read_node(reader, &event, &key);
		yaml_event_delete(&event);
		if (end)
			return 0;
		if (!status)
			status = read_value(reader, map, key);
		if (status) {
			hq_yaml_free(key);
			return status;
		}
	}
}

static int read_collection(struct reader *reader, const yaml_event_t *event, struct hq_yaml **node)
{
	const bool is_map = event->type == YAML_MAPPING_START_EVENT;
	const void *anchor =
		is_map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
	const void *tag = is_map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
	int status;

	if (anchor)
		return refuse(reader, event->start_mark,
			      "anchors (&name) are not supported; write the value out");
	if (tag)
		return refuse(reader, event->start_mark, "tags (!name) are not supported");
	if (reader->depth == HQ_YAML_DEPTH_MAX)
		return refuse(reader, event->start_mark, "nested too deeply");
	*node = make_node(is_map ? HQ_YAML_MAP : HQ_YAML_LIST, event->start_mark);
	if (!*node)
		return -ENOMEM;
	reader->depth++;
	status = is_map ? read_map(reader, *node) : read_list(reader, *node);
	reader->depth--;
	return status;
}

/* On failure *node may hold a part of the tree, which the caller frees. */
static int read_node(struct reader *reader, const yaml_event_t *event, struct hq_yaml **node)
{
	switch (event->type) {
	case YAML_SCALAR_EVENT:
		return read_scalar(reader, event, node);
	case YAML_MAPPING_START_EVENT:
	case YAML_SEQUENCE_START_EVENT:
		return read_collection(reader, event, node);
	case YAML_ALIAS_EVENT:
		return refuse(reader, event->start_mark,
			      "aliases (*name) are not supported; write the value out");
	default:
		return refuse(reader, event->start_mark, "a value was expected here");
	}
}

/* One step of the stream around the document: consumes an event, which must be of that type. */
static int expect_event(struct reader *reader, yaml_event_type_t type, const char *otherwise)
{
	yaml_event_t event;
	int status = next_event(reader, &event);

	if (status)
		return status;
	if (event.type != type)
		status = refuse(reader, event.start_mark, otherwise);
	yaml_event_delete(&event);
	return status;
}

static int read_document(struct reader *reader, struct hq_yaml **root)
{
	yaml_event_t event;
	int status = expect_event(reader, YAML_STREAM_START_EVENT, "not YAML");

	if (!status)
		status = expect_event(reader, YAML_DOCUMENT_START_EVENT, "the file is empty");
	if (!status)
		status = next_event(reader, &event);
	if (status)
		return status;
	status = read_node(reader, &event, root);
	yaml_event_delete(&event);
	if (!status)
		status = expect_event(reader, YAML_DOCUMENT_END_EVENT, "not YAML");
	if (!status)
		status = expect_event(reader, YAML_STREAM_END_EVENT,
				      "a second document begins here; one file is one scenario");
	return status;
}

int hq_yaml_parse(const char *text, size_t length, struct hq_yaml **root,
		  struct hq_yaml_place *place, struct hq_error *error)
{
	struct reader reader = { .text = text, .length = length, .place = place, .error = error };
	int status;

	*root = NULL;
	*place = (struct hq_yaml_place){ 0 };
	if (length > HQ_YAML_BYTES_MAX)
		return hq_error_set(error, "larger than 1 MiB: this is no scenario");
	if (!yaml_parser_initialize(&reader.parser)) {
		hq_error_set(error, "out of memory");
		return -ENOMEM;
	}
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
	status = read_document(&reader, root);
	yaml_parser_delete(&reader.parser);
	if (status == -ENOMEM)
		hq_error_set(error, "out of memory");
	if (status) {
		hq_yaml_free(*root);
		*root = NULL;
	}
	return status;
}

/* Reads at most one byte more than allowed, so that the limit also holds for a file that grows. */
static int read_whole(int fd, char *buffer, size_t room, size_t *length)
{
	*length = 0;
	while (*length < room) {
		const ssize_t got = read(fd, buffer + *length, room - *length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		*length += (size_t)got;
	}
	return 0;
}

static int open_regular(const char *path)
{
	struct stat status = { 0 };
	/* A FIFO without a writer must not block us. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		close(fd);
		return S_ISDIR(status.st_mode) ? -EISDIR : -EINVAL;
	}
	return fd;
}

int hq_yaml_read(const char *path, struct hq_yaml **root, struct hq_yaml_place *place,
		 struct hq_error *error)
{
	const size_t room = HQ_YAML_BYTES_MAX + 1;
	char *text = NULL;
	size_t length;
	int status;
	const int fd = open_regular(path);

	*root = NULL;
	*place = (struct hq_yaml_place){ 0 };
	if (fd < 0) {
		hq_error_set(error, "cannot read it: %s",
			     fd == -EINVAL ? "not a regular file" : strerror(-fd));
		return fd;
	}
	text = malloc(room);
	status = text ? read_whole(fd, text, room, &length) : -ENOMEM;
	if (status)
		hq_error_set(error, "cannot read it: %s", strerror(-status));
	else
		status = hq_yaml_parse(text, length, root, place, error);
	free(text);
	close(fd);
	return status;
}

void hq_yaml_free(struct hq_yaml *node)
{
	if (!node)
		return;
	for (size_t i = 0; i < node->count; i++) {
		if (node->keys)
			hq_yaml_free(node->keys[i]);
		hq_yaml_free(node->values[i]);
	}
	free(node->keys);
	free(node->values);
	free(node->text);
	free(node);
}

int hq_yaml_index(const struct hq_yaml *map, const char *key)
{
	if (map->kind != HQ_YAML_MAP)
		return -1;
	for (size_t i = 0; i < map->count; i++) {
		if (strcmp(map->keys[i]->text, key) == 0)
			return (int)i;
	}
	return -1;
}

bool hq_yaml_is_empty(const struct hq_yaml *node)
{
	return node->kind == HQ_YAML_SCALAR && !node->quoted && node->text[0] == '\0';
}

const char *hq_yaml_kind_name(enum hq_yaml_kind kind)
{
	switch (kind) {
	case HQ_YAML_MAP:
		return "a map";
	case HQ_YAML_LIST:
		return "a list";
	case HQ_YAML_SCALAR:
		break;
	}
	return "a single value";
}
