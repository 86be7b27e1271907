/* SPDX-License-Identifier: MIT */
/*
 * Settings on top of a scenario: what they change, and what they refuse.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "stress/plan/scenario.h"
#include "stress/plan/yaml_set.h"

static const char file[] = "question: q\n"
			   "target:\n"
			   "  allocator: glibc\n"
			   "workload:\n"
			   "  insert-scan: { rows: 5k }\n"
			   "inject:\n"
			   "  - migrate: { rate: 500/s }\n";

static struct hq_yaml *read_file(void)
{
	struct hq_yaml_place place;
	struct hq_error error;
	struct hq_yaml *root = NULL;

	cr_assert_eq(hq_yaml_parse(file, strlen(file), &root, &place, &error), 0);
	return root;
}

static const struct hq_yaml *at(const struct hq_yaml *node, const char *key)
{
	const int index = hq_yaml_index(node, key);

	cr_assert_geq(index, 0, "no key %s", key);
	return node->values[index];
}

static struct hq_yaml *after(const char *setting)
{
	struct hq_yaml *root = read_file();
	struct hq_error error = { "" };

	cr_assert_eq(hq_yaml_set(root, setting, &error), 0, "%s", error.text);
	return root;
}

Test(yaml_set, a_value_that_is_there_is_replaced)
{
	struct hq_yaml *root = after("workload.insert-scan.rows=7k");

	cr_expect_str_eq(at(at(at(root, "workload"), "insert-scan"), "rows")->text, "7k");
	hq_yaml_free(root);
}

Test(yaml_set, the_name_of_the_workload_may_be_left_out)
{
	struct hq_yaml *root = after("workload.batch=10");

	cr_expect_str_eq(at(at(at(root, "workload"), "insert-scan"), "batch")->text, "10");
	hq_yaml_free(root);
}

Test(yaml_set, allocator_and_env_belong_to_the_target)
{
	struct hq_yaml *root = after("env.MALLOC_CONF=a:1,b:2=3");

	cr_expect_str_eq(at(at(at(root, "target"), "env"), "MALLOC_CONF")->text, "a:1,b:2=3");
	hq_yaml_free(root);
	root = after("allocator=jemalloc");
	cr_expect_str_eq(at(at(root, "target"), "allocator")->text, "jemalloc");
	hq_yaml_free(root);
}

Test(yaml_set, sections_that_are_missing_are_made)
{
	struct hq_yaml *root = after("run.timeout=3s");

	cr_expect_str_eq(at(at(root, "run"), "timeout")->text, "3s");
	hq_yaml_free(root);
}

Test(yaml_set, a_map_or_a_list_in_brackets_is_read_as_such)
{
	struct hq_yaml *root = after("inject=[]");

	cr_expect_eq(at(root, "inject")->kind, HQ_YAML_LIST);
	cr_expect_eq(at(root, "inject")->count, 0);
	hq_yaml_free(root);
	root = after("workload={ churn: { threads: 2 } }");
	cr_expect_str_eq(at(at(at(root, "workload"), "churn"), "threads")->text, "2");
	hq_yaml_free(root);
}

Test(yaml_set, an_item_of_a_list_is_found_by_its_key)
{
	struct hq_yaml *root = after("inject.migrate.rate=9/s");

	cr_expect_str_eq(at(at(at(root, "inject")->values[0], "migrate"), "rate")->text, "9/s");
	hq_yaml_free(root);
}

Test(yaml_set, what_makes_no_sense_is_refused_and_named)
{
	static const char *const bad[] = {
		"nonsense",        "=x",          "workload..rows=1",    ".=1",
		"question.deep=1", "inject.no=1", "a.b.c.d.e.f.g.h.i=1", "workload={ broken",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hq_yaml *root = read_file();
		struct hq_error error = { "" };

		cr_expect_eq(hq_yaml_set(root, bad[i], &error), -EINVAL, "'%s'", bad[i]);
		cr_expect_not_null(strstr(error.text, bad[i]), "'%s': %s", bad[i], error.text);
		hq_yaml_free(root);
	}
}
