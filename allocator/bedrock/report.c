/* SPDX-License-Identifier: MIT */
/*
 * bedrock_stats_print: options, figures, arenas and size classes, as text or as JSON.
 *
 * Both forms come from the same walk; only the separators differ. It never allocates, so it can run
 * at the end of a process, and when there is no memory left.
 */
#include "allocator/bedrock/report.h"

#include <stdbool.h>
#include <string.h>

#include "allocator/bedrock/bedrock.h"
#include "allocator/bedrock/heap.h"
#include "allocator/bedrock/text.h"

#define BEDROCK_REPORT_COLUMN 28u

/* A report being written. In JSON a comma stands before every member but the first. */
struct bedrock_report {
	struct bedrock_text text;
	bool is_json;
	bool is_first;
};

/* A figure of the snapshot. */
struct bedrock_report_row {
	const char *name;
	size_t offset;
};

#define BEDROCK_REPORT_FIELD(field) offsetof(struct bedrock_stats, field)

static const struct bedrock_report_row bedrock_report_rows[] = {
	{ "allocated_bytes", BEDROCK_REPORT_FIELD(allocated_bytes) },
	{ "active_bytes", BEDROCK_REPORT_FIELD(active_bytes) },
	{ "resident_bytes", BEDROCK_REPORT_FIELD(resident_bytes) },
	{ "mapped_bytes", BEDROCK_REPORT_FIELD(mapped_bytes) },
	{ "dirty_bytes", BEDROCK_REPORT_FIELD(dirty_bytes) },
	{ "muzzy_bytes", BEDROCK_REPORT_FIELD(muzzy_bytes) },
	{ "retained_bytes", BEDROCK_REPORT_FIELD(retained_bytes) },
	{ "metadata_bytes", BEDROCK_REPORT_FIELD(metadata_bytes) },
	{ "huge_bytes", BEDROCK_REPORT_FIELD(huge_bytes) },
	{ "huge_count", BEDROCK_REPORT_FIELD(huge_count) },
	{ "purge_calls", BEDROCK_REPORT_FIELD(purge_calls) },
	{ "purge_bytes", BEDROCK_REPORT_FIELD(purge_bytes) },
	{ "lazy_purge_calls", BEDROCK_REPORT_FIELD(lazy_purge_calls) },
	{ "lazy_purge_bytes", BEDROCK_REPORT_FIELD(lazy_purge_bytes) },
	{ "failed_purge_calls", BEDROCK_REPORT_FIELD(failed_purge_calls) },
	{ "failed_unmap_calls", BEDROCK_REPORT_FIELD(failed_unmap_calls) },
	{ "failed_thread_starts", BEDROCK_REPORT_FIELD(failed_thread_starts) },
	{ "arena_count", BEDROCK_REPORT_FIELD(arena_count) },
	{ "thread_cache_count", BEDROCK_REPORT_FIELD(thread_cache_count) },
	{ "background_thread_count", BEDROCK_REPORT_FIELD(background_thread_count) },
};

#define BEDROCK_REPORT_ROW_COUNT (sizeof(bedrock_report_rows) / sizeof(bedrock_report_rows[0]))

/* The start of a member: its name, and what separates it from others. NULL: of an array. */
static void bedrock_report_name(struct bedrock_report *report, const char *name)
{
	if (!report->is_json) {
		bedrock_text_add(&report->text, "  ");
		bedrock_text_add(&report->text, name);
		bedrock_text_pad(&report->text, BEDROCK_REPORT_COLUMN);
		return;
	}
	if (!report->is_first)
		bedrock_text_add(&report->text, ",");
	report->is_first = false;
	if (!name)
		return;
	bedrock_text_add(&report->text, "\"");
	bedrock_text_add(&report->text, name);
	bedrock_text_add(&report->text, "\":");
}

static void bedrock_report_end_line(struct bedrock_report *report)
{
	if (!report->is_json)
		bedrock_text_add(&report->text, "\n");
}

static void bedrock_report_number(struct bedrock_report *report, const char *name, uint64_t number)
{
	bedrock_report_name(report, name);
	bedrock_text_add_number(&report->text, number);
	bedrock_report_end_line(report);
}

/* The words of options and the version have nothing in them that JSON would have to escape. */
static void bedrock_report_word(struct bedrock_report *report, const char *name, const char *word)
{
	bedrock_report_name(report, name);
	if (report->is_json)
		bedrock_text_add(&report->text, "\"");
	bedrock_text_add(&report->text, word);
	if (report->is_json)
		bedrock_text_add(&report->text, "\"");
	bedrock_report_end_line(report);
}

/* A part of the report: a heading in text, an object or array in JSON. */
static void bedrock_report_open(struct bedrock_report *report, const char *name,
				const char *bracket)
{
	if (report->is_json) {
		bedrock_report_name(report, name);
		bedrock_text_add(&report->text, bracket);
		report->is_first = true;
	} else if (name) {
		bedrock_text_add(&report->text, name);
		bedrock_text_add(&report->text, "\n");
	}
}

static void bedrock_report_close(struct bedrock_report *report, const char *bracket)
{
	if (report->is_json)
		bedrock_text_add(&report->text, bracket);
	report->is_first = false;
}

static void bedrock_report_options(struct bedrock_report *report)
{
	const struct bedrock_options *options = &bedrock_heap.options;
	const struct bedrock_option *option;

	bedrock_report_open(report, "options", "{");
	for (size_t i = 0; (option = bedrock_options_at(i)); i++) {
		int64_t number = bedrock_options_get(options, option);

		if (option->kind == BEDROCK_OPTION_WORD) {
			bedrock_report_word(report, option->name, option->words[number]);
			continue;
		}
		bedrock_report_name(report, option->name);
		if (option->kind == BEDROCK_OPTION_FLAG)
			bedrock_text_add(&report->text, option->words[number]);
		else
			bedrock_text_add_signed(&report->text, number);
		bedrock_report_end_line(report);
	}
	bedrock_report_close(report, "}");
}

static void bedrock_report_stats(struct bedrock_report *report)
{
	struct bedrock_stats stats;

	bedrock_stats_read(&stats);
	bedrock_report_open(report, "stats", "{");
	for (size_t i = 0; i < BEDROCK_REPORT_ROW_COUNT; i++) {
		uint64_t number;

		memcpy(&number, (const char *)&stats + bedrock_report_rows[i].offset,
		       sizeof(number));
		bedrock_report_number(report, bedrock_report_rows[i].name, number);
	}
	bedrock_report_close(report, "}");
}

static uint64_t bedrock_report_bytes(_Atomic(uint64_t) *pages)
{
	return bedrock_load_relaxed(pages) << BEDROCK_PAGE_SHIFT;
}

static void bedrock_report_arenas(struct bedrock_report *report)
{
	bedrock_report_open(report, "arenas", "[");
	for (uint32_t i = 0; i < bedrock_load_relaxed(&bedrock_heap.arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(&bedrock_heap, i);

		if (!arena)
			continue;
		bedrock_report_open(report, NULL, "{");
		bedrock_report_number(report, "arena", i);
		bedrock_report_number(report, "used_bytes",
				      bedrock_report_bytes(&arena->pages.used_pages));
		bedrock_report_number(report, "large_bytes",
				      bedrock_report_bytes(&arena->large_pages));
		bedrock_report_number(report, "dirty_bytes",
				      bedrock_report_bytes(&arena->pages.rest_pages[0]));
		bedrock_report_number(report, "muzzy_bytes",
				      bedrock_report_bytes(&arena->pages.rest_pages[1]));
		bedrock_report_close(report, "}");
	}
	bedrock_report_close(report, "]");
}

/* One size class over all arenas; nothing if it has no slab. */
static void bedrock_report_class(struct bedrock_report *report, unsigned class_index)
{
	uint64_t slabs = 0;
	uint64_t blocks = 0;

	for (uint32_t i = 0; i < bedrock_load_relaxed(&bedrock_heap.arena_count); i++) {
		struct bedrock_arena *arena = bedrock_heap_arena_at(&bedrock_heap, i);

		if (!arena)
			continue;
		slabs += bedrock_load_relaxed(&arena->bins[class_index].slab_count);
		blocks += bedrock_load_relaxed(&arena->bins[class_index].blocks_out);
	}
	if (slabs == 0)
		return;
	bedrock_report_open(report, NULL, "{");
	bedrock_report_number(report, "block_bytes", bedrock_class_bytes(class_index));
	bedrock_report_number(report, "blocks", blocks);
	bedrock_report_number(report, "slabs", slabs);
	bedrock_report_close(report, "}");
}

static void bedrock_report_classes(struct bedrock_report *report)
{
	bedrock_report_open(report, "classes", "[");
	for (unsigned i = 1; i < BEDROCK_CLASS_COUNT; i++)
		bedrock_report_class(report, i);
	bedrock_report_close(report, "]");
}

void bedrock_stats_print(void (*write)(void *argument, const char *text), void *argument,
			 const char *options)
{
	const char *letters = options ? options : "";
	struct bedrock_report report = { .is_json = strchr(letters, 'J') != NULL };

	bedrock_heap_ensure(&bedrock_heap);
	report.is_first = true;
	bedrock_text_init(&report.text, write, argument);
	if (report.is_json)
		bedrock_text_add(&report.text, "{");
	bedrock_report_open(&report, "bedrock", "{");
	bedrock_report_word(&report, "version", bedrock_version());
	if (!strchr(letters, 'g'))
		bedrock_report_options(&report);
	bedrock_report_stats(&report);
	if (!strchr(letters, 'a'))
		bedrock_report_arenas(&report);
	if (!strchr(letters, 'b'))
		bedrock_report_classes(&report);
	bedrock_report_close(&report, "}}\n");
	bedrock_text_flush(&report.text);
}

void bedrock_report_at_exit(void)
{
	if (bedrock_heap.options.is_stats_print)
		bedrock_stats_print(NULL, NULL, NULL);
}
