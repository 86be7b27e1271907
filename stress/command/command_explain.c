/* SPDX-License-Identifier: MIT */
/*
 * `heapquake explain`: topics first, then parts, all that bear the name.
 */
#include <stdio.h>
#include <string.h>

#include "stress/command/commands.h"
#include "stress/command/explain.h"

#define NAMES_MAX 256

static const char *nearest(const char *name)
{
	const char *names[NAMES_MAX + 1];
	size_t count = 0;

	for (size_t i = 0; hq_explain_topics[i].name && count < NAMES_MAX; i++)
		names[count++] = hq_explain_topics[i].name;
	count = hq_explain_part_names(names, count, NAMES_MAX);
	names[count] = NULL;
	return hq_suggest(name, names);
}

/* "metric" for "metrics", "verdict" for "verdicts", and the other way round. */
static bool is_topic(const char *topic, const char *name)
{
	const size_t length = strlen(topic), given = strlen(name);

	if (length == given + 1)
		return topic[given] == 's' && strncmp(topic, name, given) == 0;
	return given == length + 1 && name[length] == 's' && strncmp(topic, name, length) == 0;
}

static bool print_topic(const struct hq_explain_topic *topic)
{
	topic->print();
	return true;
}

/* The very name first: `contract` and `contracts` are two topics. */
static bool explain_topic(const char *name)
{
	for (const struct hq_explain_topic *topic = hq_explain_topics; topic->name; topic++) {
		if (strcmp(topic->name, name) == 0)
			return print_topic(topic);
	}
	for (const struct hq_explain_topic *topic = hq_explain_topics; topic->name; topic++) {
		if (is_topic(topic->name, name))
			return print_topic(topic);
	}
	return false;
}

static int explain(const char *name)
{
	const bool is_known_topic = explain_topic(name) || hq_explain_verdict(name);

	if (hq_explain_part(name) || is_known_topic)
		return HQ_EXIT_OK;
	const char *near = nearest(name);

	fprintf(stderr, "heapquake explain: nothing is called '%s'", name);
	if (near)
		fprintf(stderr, "; did you mean '%s'?", near);
	fputc('\n', stderr);
	return HQ_EXIT_USAGE;
}

static void list_topics(void)
{
	puts("Name a workload, injector, checker, metric, call or allocator (heapquake list ...), "
	     "or\n");
	for (const struct hq_explain_topic *topic = hq_explain_topics; topic->name; topic++)
		printf("  %-10s %s\n", topic->name, topic->help);
}

int hq_command_explain(struct hq_invocation *invocation)
{
	int status = HQ_EXIT_OK;

	if (!invocation->words)
		list_topics();
	for (size_t i = 0; invocation->words && invocation->words[i]; i++) {
		if (i > 0)
			putchar('\n');
		if (explain(invocation->words[i]))
			status = HQ_EXIT_USAGE;
	}
	return status;
}
