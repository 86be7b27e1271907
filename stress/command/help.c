/* SPDX-License-Identifier: MIT */
/*
 * Help texts. Long lines are wrapped to 80 columns, since terminals that narrow still exist.
 */
#include "stress/command/help.h"

#include <string.h>

#define WIDTH  80
#define INDENT 28 /* of the text beside an option */

static const char *const exit_statuses[][2] = {
	{ "0", "all as expected: PASS and XFAIL" },
	{ "1", "at least one FAIL or XPASS" },
	{ "2", "wrong usage or a wrong scenario; nothing was run" },
	{ "3", "ERROR: heapquake itself failed" },
	{ "4", "nothing failed, but something was INCONCLUSIVE" },
	{ "5", "nothing matched" },
	{ "77", "everything was skipped" },
	{ "130, 143", "interrupted by SIGINT, SIGTERM" },
};

void hq_help_exit_statuses(FILE *stream)
{
	for (size_t i = 0; i < sizeof(exit_statuses) / sizeof(exit_statuses[0]); i++)
		fprintf(stream, "  %-9s %s\n", exit_statuses[i][0], exit_statuses[i][1]);
}

static void print_commands(FILE *stream)
{
	for (const struct hq_command *command = hq_commands; command->name; command++)
		fprintf(stream, "  %-9s %s\n", command->name, command->summary);
}

void hq_help_brief(FILE *stream)
{
	fputs("usage: heapquake COMMAND [options] ...\n\n"
	      "Stress and fault injection for memory allocators.\n\n",
	      stream);
	print_commands(stream);
	fputs("\n"
	      "  heapquake run scenarios/                      run every scenario\n"
	      "  heapquake run --inject RULE -- PROG ARG...    a program of yours\n"
	      "  heapquake COMMAND --help                      options of a command\n"
	      "  heapquake --help                              everything at once\n",
	      stream);
}

static void print_synopsis(const char *lead, const char *name, const char *line, int length,
			   FILE *stream)
{
	fprintf(stream, "%s heapquake %s%s%.*s\n", lead, name, length ? " " : "", length, line);
}

static void print_usage(const struct hq_command *command, FILE *stream)
{
	const char *line = command->synopsis;
	const char *lead = "usage:";

	do {
		const int length = (int)strcspn(line, "\n");

		print_synopsis(lead, command->name, line, length, stream);
		line += length;
		line += *line == '\n';
		lead = "      ";
	} while (*line);
}

/* Words from column `column` on, further lines indented like the first. */
static void print_wrapped(const char *text, int column, FILE *stream)
{
	while (*text) {
		const int length = (int)strcspn(text, " ");

		if (column > INDENT && column + 1 + length > WIDTH) {
			fprintf(stream, "\n%*s", INDENT, "");
			column = INDENT;
		}
		column += fprintf(stream, "%s%.*s", column > INDENT ? " " : "", length, text);
		text += length;
		text += strspn(text, " ");
	}
	fputc('\n', stream);
}

static void print_option(const struct hq_program_option *option, FILE *stream)
{
	char text[200];
	int column;

	if (option->letter)
		column = fprintf(stream, "  -%c, --%s", option->letter, option->name);
	else
		column = fprintf(stream, "      --%s", option->name);
	if (option->argument)
		column += fprintf(stream, "%s%s", option->kind == HQ_PROGRAM_OPTIONAL ? "" : " ",
				  option->argument);
	if (column >= INDENT) {
		fputc('\n', stream);
		column = 0;
	}
	fprintf(stream, "%*s", INDENT - column, "");
	snprintf(text, sizeof(text), "%s%s%s", option->help, option->fallback ? "; default " : "",
		 option->fallback ? option->fallback : "");
	print_wrapped(text, INDENT, stream);
}

/* Options that `command` takes, under their headings; NULL: of every command. */
static void print_options(const struct hq_command *command, FILE *stream)
{
	const char *group = "";

	for (const struct hq_program_option *option = hq_program_options; option->name; option++) {
		if (command && !hq_command_takes(command, option))
			continue;
		if (strcmp(option->group, group) != 0)
			fprintf(stream, "\n%s:\n", option->group);
		group = option->group;
		print_option(option, stream);
	}
}

void hq_help_full(FILE *stream)
{
	const char *lead = "usage:";

	for (const struct hq_command *command = hq_commands; command->name; command++) {
		print_synopsis(lead, command->name, command->synopsis,
			       (int)strcspn(command->synopsis, "\n"), stream);
		lead = "      ";
	}
	fputs("\nStress and fault injection for memory allocators.\n\nCommands:\n", stream);
	print_commands(stream);
	print_options(NULL, stream);
	fputs("  -V, --version             the version, without a command\n"
	      "\nExit status:\n",
	      stream);
	hq_help_exit_statuses(stream);
	fputs("\n`heapquake explain NAME` tells about any workload, injector, checker, metric or "
	      "call,\n"
	      "and `explain scenario` about the keys of a scenario file.\n",
	      stream);
}

void hq_help_command(const struct hq_command *command, FILE *stream)
{
	print_usage(command, stream);
	fprintf(stream, "\n%s\n", command->summary);
	print_options(command, stream);
}
