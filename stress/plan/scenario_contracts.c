/* SPDX-License-Identifier: MIT */
/*
 * The section `contracts`: checkers that are asked for, each by its name alone or with options, as
 * a map or in the inline form of the command line (idle-falls:within=3s).
 */
#include "stress/plan/scenario_parts.h"

#include <errno.h>
#include <string.h>

int hq_scenario_add_contract(struct hq_scenario *scenario, const char *text, struct hq_error *error)
{
	const size_t length = strcspn(text, ":");
	const struct hq_checker *checker = hq_checker_find(text, length, error);
	struct hq_asked *contract;

	if (!checker || hq_plan_contract(&scenario->plan, checker, &contract, error))
		return -EINVAL;
	return hq_asked_set(contract, text + length + (text[length] == ':'), error);
}

/* The entry of a contract that the file has not asked for yet; NULL after a complaint. */
static struct hq_asked *add(struct hq_reading *reading, const struct hq_yaml *name)
{
	struct hq_plan *plan = &reading->scenario->plan;
	const size_t before = plan->contract_count;
	struct hq_error error;
	const struct hq_checker *checker =
		hq_checker_find(name->text, strcspn(name->text, ":"), &error);
	struct hq_asked *contract;

	if (!checker || hq_plan_contract(plan, checker, &contract, &error)) {
		hq_complain(reading->complaints, name, "%s", error.text);
		return NULL;
	}
	if (plan->contract_count > before)
		return contract;
	hq_complain(reading->complaints, name, "contract '%s' is asked for twice", checker->name);
	return NULL;
}

static void read_inline(struct hq_reading *reading, const struct hq_yaml *item)
{
	struct hq_error error;

	if (add(reading, item) && hq_scenario_add_contract(reading->scenario, item->text, &error))
		hq_complain(reading->complaints, item, "%s", error.text);
}

static void read_item(struct hq_reading *reading, const struct hq_yaml *item)
{
	struct hq_asked *contract;
	char where[96];

	if (item->kind == HQ_YAML_SCALAR) {
		read_inline(reading, item);
		return;
	}
	if (item->kind != HQ_YAML_MAP || item->count != 1) {
		hq_complain(reading->complaints, item,
			    "a contract is a name, or a name with options (NAME: { ... })");
		return;
	}
	contract = add(reading, item->keys[0]);
	if (!contract)
		return;
	snprintf(where, sizeof(where), "contract %s", contract->checker->name);
	hq_read_options(reading, item->values[0], where, hq_checker_options(contract->checker),
			contract->options, NULL);
}

void hq_read_contracts(struct hq_reading *reading, const struct hq_yaml *value)
{
	if (value->kind == HQ_YAML_MAP) {
		hq_complain(reading->complaints, value,
			    "contracts must be a list (- NAME: { ... }), not a map");
		return;
	}
	if (value->kind == HQ_YAML_SCALAR) {
		read_inline(reading, value);
		return;
	}
	for (size_t i = 0; i < value->count; i++)
		read_item(reading, value->values[i]);
}
