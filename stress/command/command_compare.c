/* SPDX-License-Identifier: MIT */
/*
 * `heapquake compare`: one scenario, or one program, with two settings. The sides are made as `run`
 * makes its cases, each from the common settings and its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/command/cases.h"
#include "stress/command/command_run.h"
#include "stress/command/commands.h"
#include "stress/command/compare_runs.h"
#include "stress/command/report_files.h"
#include "stress/command/version.h"
#include "stress/compare/table.h"
#include "stress/plan/scenario.h"
#include "stress/plan/scenario_files.h"
#include "stress/plan/words.h"
#include "stress/report/page.h"
#include "stress/report/run_folder.h"

#define CLAIMS_MAX  32
#define PAIRS_USUAL 10
#define NAME_SIZE   300

_Static_assert(HQ_COMPARED_BESIDE >= HQ_COMPARE_BESIDE, "a report has room for all sides");

struct compare {
	struct hq_invocation *invocation;
	struct hq_cases sides[HQ_COMPARE_SIDES]; /* of one case each */
	char names[HQ_COMPARE_SIDES][NAME_SIZE];
	size_t side_count;
	struct hq_claim claims[CLAIMS_MAX];
	size_t claim_count;
	struct hq_comparison against[HQ_COMPARE_SIDES - 1]; /* A and each other side, B first */
	struct hq_compare_outcome outcome;
	struct hq_scenario scenario; /* for its section `compare`; empty for a program */
};

static const char *const formats[] = { "html", "json", "text", NULL };

static int complain(const char *text)
{
	fprintf(stderr, "heapquake compare: %s\n", text);
	return HQ_EXIT_USAGE;
}

/* ---- the sides ---- */

/* A word without '=' is an allocator. */
static int add_setting(char ***set, const char *text)
{
	char *setting;

	if (strchr(text, '='))
		return hq_words_add(set, text);
	if (asprintf(&setting, "allocator=%s", text) < 0)
		return -ENOMEM;
	const int status = hq_words_add(set, setting);

	free(setting);
	return status;
}

/* What a side is called: "A", "B", "C". */
static char letter_of(size_t side)
{
	return (char)('A' + side);
}

static const char *without_key(const char *setting)
{
	static const char key[] = "allocator=";

	return strncmp(setting, key, sizeof(key) - 1) == 0 ? setting + sizeof(key) - 1 : setting;
}

/* What tells a side apart, as it was asked for. */
static void name_side(struct compare *compare, size_t side, char *const *own)
{
	char *name = compare->names[side];

	name[0] = '\0';
	for (size_t i = 0; own && own[i]; i++) {
		const size_t length = strlen(name);

		snprintf(name + length, NAME_SIZE - length, "%s%s", length ? " " : "",
			 without_key(own[i]));
	}
	if (!name[0])
		snprintf(name, NAME_SIZE, "%s", compare->sides[side].plans[0].allocator);
}

static int check_side(const struct hq_cases *cases, size_t side)
{
	char text[300];

	if (cases->count != 1) {
		snprintf(
			text, sizeof(text),
			"side %c has %zu cases; a comparison needs one scenario, and one allocator "
			"a side",
			letter_of(side), cases->count);
		return complain(text);
	}
	if (side <= HQ_SIDE_B && cases->plans[0].skip_reason[0]) {
		snprintf(text, sizeof(text), "side %c cannot run: %.200s", letter_of(side),
			 cases->plans[0].skip_reason);
		complain(text);
		return HQ_EXIT_ERROR;
	}
	return 0;
}

/* The scenario's own comparison counts where the command line has none. */
static int read_own(struct compare *compare)
{
	struct hq_complaints complaints;
	struct hq_error ignored;
	char **files = NULL;

	if (compare->invocation->program || !compare->invocation->words ||
	    hq_scenario_files_find(compare->invocation->words, compare->invocation->path, &files,
				   &ignored))
		return 0;
	const bool one = files[0] && !files[1];
	const int status = one ? hq_scenario_read(files[0], &compare->scenario, &complaints) : 0;

	hq_words_free(files);
	if (status)
		hq_complaints_print(&complaints, stderr);
	return status ? HQ_EXIT_USAGE : 0;
}

/* Are the sides those that the scenario compares? Only then do its claims mean anything. */
static bool is_own(const struct compare *compare)
{
	const struct hq_settings *settings = &compare->invocation->settings;

	return !settings->side_a && !settings->side_b && !settings->same_sides;
}

static char *const *settings_of(const struct compare *compare, enum hq_side side)
{
	const struct hq_settings *settings = &compare->invocation->settings;
	const enum hq_side wanted = settings->same_sides ? HQ_SIDE_A : side;

	if (settings->side_a || settings->side_b)
		return wanted == HQ_SIDE_A ? settings->side_a : settings->side_b;
	return compare->scenario.compare.sides[wanted];
}

static int make_side(struct compare *compare, size_t side, char *const *own)
{
	const struct hq_settings *settings = &compare->invocation->settings;
	struct hq_invocation invocation = *compare->invocation;
	int status = 0;

	invocation.settings.set = NULL;
	for (size_t i = 0; !status && settings->set && settings->set[i]; i++)
		status = add_setting(&invocation.settings.set, settings->set[i]);
	for (size_t i = 0; !status && own && own[i]; i++)
		status = add_setting(&invocation.settings.set, own[i]);
	status = status ? complain("out of memory")
			: hq_cases_make(&invocation, &compare->sides[side]);
	if (!status)
		status = check_side(&compare->sides[side], side);
	if (!status)
		name_side(compare, side, own);
	hq_words_free(invocation.settings.set);
	return status;
}

/* The folders of results and the lines of progress tell the sides apart by the scenario's name. */
static void mark_side(struct compare *compare, size_t side)
{
	char *name = compare->sides[side].plans[0].scenario;
	const size_t size = sizeof(compare->sides[side].plans[0].scenario);

	snprintf(name + strnlen(name, size - 3), 3, "-%c", letter_of(side));
}

/* What cannot run here is left out of the report, with the reason. */
static int make_beside(struct compare *compare)
{
	const struct hq_settings *settings = &compare->invocation->settings;
	char **wanted = settings->beside ? settings->beside : compare->scenario.compare.beside;
	int status = 0;

	if (!settings->beside && !is_own(compare))
		return 0;
	for (size_t i = 0; !status && wanted && wanted[i]; i++) {
		char *const own[] = { wanted[i], NULL };

		if (compare->side_count == HQ_COMPARE_SIDES)
			return complain("more than six sides beside the two");
		status = make_side(compare, compare->side_count++, own);
	}
	return status;
}

static int make_sides(struct compare *compare)
{
	const struct hq_settings *settings = &compare->invocation->settings;
	int status;

	if (settings->same_sides && settings->side_b)
		return complain("--aa runs side A against itself; leave --b out");
	status = read_own(compare);
	if (status)
		return status;
	if (!settings->same_sides && !settings_of(compare, HQ_SIDE_A) &&
	    !settings_of(compare, HQ_SIDE_B))
		return complain("say what differs: --a KEY=VALUE and --b KEY=VALUE, or --aa");
	compare->side_count = 2;
	status = make_side(compare, HQ_SIDE_A, settings_of(compare, HQ_SIDE_A));
	if (!status)
		status = make_side(compare, HQ_SIDE_B, settings_of(compare, HQ_SIDE_B));
	return status ? status : make_beside(compare);
}

/* ---- how it is judged ---- */

static int read_claims(struct compare *compare)
{
	char **asked = compare->invocation->settings.claims;
	char **texts = asked || !is_own(compare) ? asked : compare->scenario.compare.claims;
	const bool is_host = compare->sides[HQ_SIDE_A].plans[0].is_host;
	struct hq_error error;

	for (size_t i = 0; texts && texts[i]; i++) {
		if (compare->claim_count == CLAIMS_MAX)
			return complain("more than 32 claims");
		if (hq_claim_parse(texts[i], is_host, &compare->claims[compare->claim_count++],
				   &error))
			return complain(error.text);
	}
	return 0;
}

static int set_up(struct compare *compare)
{
	struct hq_comparison judged = {
		.confidence = 0.95,
		.discovery = 0.05,
		.seed = compare->sides[HQ_SIDE_A].seed,
	};
	struct hq_error error;

	if (hq_units_parse_share(compare->invocation->settings.resolution, &judged.resolution,
				 &error))
		return complain(error.text);
	for (size_t i = 0; i < compare->side_count - 1; i++)
		compare->against[i] = judged;
	return read_claims(compare);
}

/* ---- running and reporting ---- */

/* What a report is made of. */
struct reported {
	const struct compare *compare;
	struct hq_compared compared;
};

/* The last run of each side, for its resident memory over time. */
static json_t *sides_of(const struct hq_compare_outcome *outcome)
{
	json_t *sides = json_array();

	for (int side = 0; side < 2; side++) {
		struct hq_error ignored;
		json_t *run = hq_run_folder_read(outcome->folders[side], &ignored);

		json_array_append_new(sides, run ? run : json_null());
	}
	return sides;
}

static int write_page(const struct reported *reported, FILE *stream)
{
	json_t *comparison = hq_compared_json(&reported->compared);

	if (comparison)
		json_object_set_new(comparison, "sides", sides_of(&reported->compare->outcome));
	return hq_page_write(json_pack("{s:s, s:s, s:[o]}", "title", reported->compared.scenario,
				       "version", HQ_VERSION, "comparisons", comparison),
			     stream);
}

static int write_report(const void *cookie, const char *format, FILE *stream, bool color)
{
	const struct reported *reported = cookie;

	(void)color;
	if (strcmp(format, "html") == 0)
		return write_page(reported, stream);
	if (strcmp(format, "json") == 0)
		return hq_compared_print_json(&reported->compared, stream);
	return hq_compared_print(&reported->compared, stream);
}

static void add_published(const struct compare *compare, struct hq_compared *compared)
{
	const struct hq_scenario_compare *own = &compare->scenario.compare;

	compared->source = own->source;
	for (size_t i = 0; is_own(compare) && i < own->published_count; i++)
		compared->published[compared->published_count++] = (struct hq_compared_claim){
			.metric = own->published[i].metric,
			.change = own->published[i].change,
		};
}

static void add_beside(const struct compare *compare, struct hq_compared *compared)
{
	for (size_t side = 2; side < compare->side_count; side++) {
		const char *skipped = compare->sides[side].plans[0].skip_reason;
		const char *trouble = compare->outcome.beside_trouble[side - 2];

		compared->beside[compared->beside_count++] = (struct hq_compared_beside){
			.name = compare->names[side],
			.comparison = &compare->against[side - 1],
			.trouble = skipped[0] ? skipped : trouble,
		};
	}
}

/* All comparisons; that of A and B must have something to say. */
static int judge(struct compare *compare)
{
	for (size_t i = 1; i < compare->side_count - 1; i++)
		hq_comparison_judge(&compare->against[i]);
	return hq_comparison_judge(&compare->against[0]);
}

static int report(struct compare *compare, const char *scenario, struct hq_report_files *files)
{
	const struct hq_settings *settings = &compare->invocation->settings;
	struct reported reported = {
		.compare = compare,
		.compared = { .comparison = &compare->against[0],
			      .scenario = scenario,
			      .side_names = { compare->names[0], compare->names[1] },
			      .claims = compare->claims,
			      .claim_count = compare->claim_count,
			      .same_sides = settings->same_sides,
			      .verbose = settings->verbose,
			      .wall_ns = compare->outcome.wall_ns },
	};
	char line[300];
	const struct hq_report_source source = {
		.write = write_report,
		.cookie = &reported,
		.last_line = hq_compared_last_line(&reported.compared, line, sizeof(line)),
	};
	struct hq_error error;

	add_published(compare, &reported.compared);
	add_beside(compare, &reported.compared);
	if (hq_report_files_write(files, &source, settings, &error)) {
		complain(error.text);
		return HQ_EXIT_ERROR;
	}
	return hq_compared_exit_status(&reported.compared);
}

/* Runs that failed have told nothing; what an interrupt left over is still worth a look. */
static int conclude(struct compare *compare, const char *scenario, struct hq_report_files *files)
{
	const struct hq_compare_outcome *outcome = &compare->outcome;
	int status = 0;

	if (outcome->trouble[0]) {
		complain(outcome->trouble);
		return outcome->worst == HQ_VERDICT_FAIL ? HQ_EXIT_FAIL : HQ_EXIT_ERROR;
	}
	/* The figures count, but perhaps not for what the scenario wanted to happen. */
	if (outcome->doubt[0])
		complain(outcome->doubt);
	if (judge(compare) == 0)
		status = report(compare, scenario, files);
	else
		status = complain("fewer than two pairs were run: nothing can be told");
	return outcome->interrupted_by ? 128 + outcome->interrupted_by : status;
}

static int run_pairs(struct compare *compare, struct hq_report_files *files)
{
	const struct hq_settings *settings = &compare->invocation->settings;
	struct hq_suite_settings suite = hq_suite_settings_of(compare->invocation);
	const size_t own = compare->scenario.compare.pairs ? (size_t)compare->scenario.compare.pairs
							   : PAIRS_USUAL;
	const size_t usual = settings->budget_ns ? HQ_PAIRS_MAX : own;
	const struct hq_compare_stop stop = {
		.pairs = settings->pairs ? (size_t)settings->pairs : usual,
		.budget_ns = settings->budget_ns,
		.claims = compare->claims,
		.claim_count = compare->claim_count,
	};
	struct hq_compare_sides sides = { .count = compare->side_count };
	char scenario[sizeof(sides.plans[0].scenario)];
	struct hq_error error;

	suite.program_owns_output = false; /* standard output is the report's */
	strcpy(scenario, compare->sides[HQ_SIDE_A].plans[0].scenario);
	for (size_t side = 0; side < sides.count; side++) {
		mark_side(compare, side);
		sides.plans[side] = compare->sides[side].plans[0];
	}
	if (suite.results && hq_results_check(suite.results, &error))
		return complain(error.text);
	if (hq_compare_runs(&sides, &stop, &suite, compare->against, &compare->outcome, &error)) {
		complain(error.text);
		return HQ_EXIT_ERROR;
	}
	return conclude(compare, scenario, files);
}

static void print_dry(const struct compare *compare)
{
	for (size_t side = 0; side < compare->side_count; side++)
		printf("%c: %s on %s (%s)\n", letter_of(side),
		       compare->sides[side].plans[0].scenario,
		       compare->sides[side].plans[0].allocator, compare->names[side]);
}

int hq_command_compare(struct hq_invocation *invocation)
{
	struct compare compare = { .invocation = invocation };
	struct hq_report_files files = { .count = 0 };
	struct hq_error error;
	int status = make_sides(&compare);

	if (!status)
		status = set_up(&compare);
	if (!status && invocation->settings.dry_run) {
		print_dry(&compare);
	} else if (!status) {
		if (hq_report_files_open(&invocation->settings, false, formats, &files, &error))
			status = complain(error.text);
		else
			status = run_pairs(&compare, &files);
		hq_report_files_close(&files);
	}
	for (size_t side = 0; side < compare.side_count; side++)
		hq_cases_clear(&compare.sides[side]);
	for (size_t i = 0; i + 1 < compare.side_count; i++)
		hq_comparison_clear(&compare.against[i]);
	hq_scenario_clear(&compare.scenario);
	return status;
}
