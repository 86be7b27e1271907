/* SPDX-License-Identifier: MIT */
/*
 * From a scenario to a plan: the allocator's library, what is known of it, the idle time that the
 * expectations ask for, and the checks that need all of it together.
 */
#include "stress/plan/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "injectors/units.h"
#include "stress/plan/allocator.h"
#include "stress/plan/programs.h"
#include "stress/plan/scenario.h"
#include "stress/plan/words.h"

void hq_plan_clear(struct hq_plan *plan)
{
	hq_words_free(plan->command);
	hq_words_free(plan->env);
	hq_words_free(plan->driver);
	hq_words_free(plan->needs);
	plan->command = plan->env = plan->driver = plan->needs = NULL;
}

/* The scenario's lists belong to the scenario: the plan gets its own. */
static int copy_lists(const struct hq_plan *from, struct hq_plan *plan)
{
	plan->command = plan->env = plan->driver = plan->needs = NULL;
	if (hq_words_copy(from->command, &plan->command) || hq_words_copy(from->env, &plan->env) ||
	    hq_words_copy(from->driver, &plan->driver) || hq_words_copy(from->needs, &plan->needs))
		return -ENOMEM;
	return 0;
}

static void set_allocator(const struct hq_allocator *allocator, struct hq_plan *plan)
{
	const char *name = allocator->asked;
	const char *slash = strrchr(name, '/');

	if (slash && strlen(name) >= sizeof(plan->allocator))
		name = slash + 1;
	snprintf(plan->allocator, sizeof(plan->allocator), "%s", name);
	/* The host has the C library's malloc anyway. */
	if (!plan->is_host || strcmp(allocator->family, "glibc") != 0)
		snprintf(plan->library, sizeof(plan->library), "%s", allocator->library);
	snprintf(plan->version, sizeof(plan->version), "%s", allocator->version);
	snprintf(plan->family, sizeof(plan->family), "%s", allocator->family);
	snprintf(plan->skip_reason, sizeof(plan->skip_reason), "%s", allocator->missing);
}

/* The entry with the longest version that fits: what is said of 2.0.9 beats what is said of all. */
static void set_known(const struct hq_scenario *scenario, const struct hq_allocator *allocator,
		      struct hq_plan *plan)
{
	size_t best = 0;

	plan->known = (struct hq_known){ .present = false };
	for (size_t i = 0; i < scenario->known_count; i++) {
		const struct hq_scenario_known *known = &scenario->known[i];
		const size_t length = strlen(known->version);

		if (strcmp(known->allocator, allocator->family) != 0 ||
		    (length && !hq_allocator_has_version(allocator, known->version)))
			continue;
		if (!plan->known.present || length > best) {
			plan->known = known->known;
			best = length;
		}
	}
}

/* What the search for it came to becomes the reason to skip, unless there is one already. */
static void skip_unless_found(struct hq_plan *plan, const char *name, int status)
{
	const char *package = hq_program_package(name);

	if (plan->skip_reason[0] || status == 0)
		return;
	if (status != -ENOENT)
		snprintf(plan->skip_reason, sizeof(plan->skip_reason),
			 "program '%.100s' cannot be run: %s", name, strerror(-status));
	else if (package)
		snprintf(plan->skip_reason, sizeof(plan->skip_reason),
			 strchr(name, '/')
				 ? "'%s' does not exist (Debian: apt-get install %s)"
				 : "program '%s' is not in PATH (Debian: apt-get install %s)",
			 name, package);
	else
		snprintf(plan->skip_reason, sizeof(plan->skip_reason),
			 strchr(name, '/') ? "program '%.150s' does not exist"
					   : "program '%.150s' is not in PATH",
			 name);
}

static void skip_without_program(struct hq_plan *plan, const char *name)
{
	char path[PATH_MAX];

	/* A path inside the run's folder can exist only once there is a run. */
	if (!strstr(name, "{run}"))
		skip_unless_found(plan, name, hq_program_find(name, path, sizeof(path)));
}

static void skip_without_need(struct hq_plan *plan, const char *need)
{
	char path[PATH_MAX];

	skip_unless_found(plan, need, hq_need_find(need, path, sizeof(path)));
}

/* Three quarters of what is available now, in whole MiB; 0 (no limit) if the kernel does not say.
 */
static uint64_t default_memory_cap_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t available_kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &available_kib) == 1)
			break;
	}
	if (file)
		fclose(file);
	return available_kib * HQ_KIB / 4 * 3 / HQ_MIB * HQ_MIB;
}

static void set_times(const struct hq_scenario *scenario, struct hq_plan *plan)
{
	plan->settle_ns = hq_scenario_settle_ns(scenario);
	plan->needs_clean = false;
	for (size_t i = 0; i < plan->expectation_count; i++)
		plan->needs_clean = plan->needs_clean || plan->expectations[i].against_clean;
}

/* Contracts that hold anyway are written out where they have options, as every default is. */
static int add_contracts(struct hq_plan *plan, struct hq_error *error)
{
	for (size_t i = 0; hq_checkers[i]; i++) {
		if (hq_checkers[i]->on_request || !hq_checkers[i]->options)
			continue;
		const int status = hq_plan_contract(plan, hq_checkers[i], NULL, error);

		if (status)
			return status;
	}
	return 0;
}

int hq_plan_contract(struct hq_plan *plan, const struct hq_checker *checker,
		     struct hq_asked **contract, struct hq_error *error)
{
	struct hq_asked *found = plan->contracts;

	while (found < plan->contracts + plan->contract_count && found->checker != checker)
		found++;
	if (contract)
		*contract = found;
	if (found < plan->contracts + plan->contract_count)
		return 0;
	if (plan->contract_count == HQ_PLAN_CONTRACTS)
		return hq_error_set(error, "more than %d contracts", HQ_PLAN_CONTRACTS);
	plan->contract_count++;
	return hq_asked_init(found, checker, error);
}

int hq_plan_resolve(const struct hq_scenario *scenario, const struct hq_allocator *allocator,
		    uint64_t seed, struct hq_plan *plan, struct hq_error *error)
{
	int status;

	*plan = scenario->plan;
	status = copy_lists(&scenario->plan, plan);
	if (status) {
		hq_error_set(error, "out of memory");
		goto failed;
	}
	plan->seed = seed;
	set_allocator(allocator, plan);
	set_known(scenario, allocator, plan);
	if (!scenario->has_memory_cap)
		plan->memory_cap_bytes = default_memory_cap_bytes();
	set_times(scenario, plan);
	status = add_contracts(plan, error);
	if (status)
		goto failed;
	if (plan->command)
		skip_without_program(plan, plan->command[0]);
	if (plan->driver)
		skip_without_program(plan, plan->driver[0]);
	for (char **need = plan->needs; need && *need; need++)
		skip_without_need(plan, *need);
	status = hq_scenario_check(scenario, error);
	if (!status)
		return 0;
failed:
	hq_plan_clear(plan);
	return status;
}
