/* proctor-worker --probe: what a user is told of this host, in both forms, and that the two agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tests/support/process.h"
#include "tests/support/skip.h"

#define WORKER PROCTOR_BUILD "/proctor-worker"
#define PROBE_MS 60000

static const char *const axes[] = { "kill_boundary_enforced", "control_plane_isolated", "resource_controllers_enforced",
				    "cleanup_closed" };

static void run(struct process *process, const char *form)
{
	const char *argv[] = { WORKER, "--probe", form, NULL };
	int code = process_run(process, &(struct process_start){ .argv = argv }, PROBE_MS);
	if (code == 2)
		skip_test("%.*s", (int)strcspn(process->error.data, "\n"), process->error.data);
	assert_int_equal(code, 0);
}

static struct json_object *member(struct json_object *object, const char *name)
{
	struct json_object *found = NULL;
	if (!json_object_object_get_ex(object, name, &found))
		fail_msg("no %s", name);
	return found;
}

static bool is_true(struct json_object *value)
{
	return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

static void test_json(void **state)
{
	(void)state;
	_cleanup_process_ struct process process = PROCESS_INIT;
	run(&process, "--json");
	struct json_object *probe = json_tokener_parse(process.output.data);
	bool all = true;
	assert_non_null(probe);
	for (size_t i = 0; i < ELEMENTS(axes); i++) {
		struct json_object *axis = member(member(probe, "axes"), axes[i]), *value = member(probe, axes[i]);
		/* The claim of every run's record, and the one with its reasons, are the same. */
		assert_true(json_object_equal(value, member(axis, "value")));
		assert_true(json_object_is_type(value, json_type_boolean) || strcmp(json_object_get_string(value), "unknown") == 0);
		assert_true(json_object_get_string_len(member(axis, "tried")) > 0);
		if (!is_true(value)) {
			assert_true(json_object_get_string_len(member(axis, "reason")) > 0);
			assert_true(json_object_get_string_len(member(axis, "remedy")) > 0);
		}
		all = all && is_true(value);
	}
	assert_int_equal(is_true(member(probe, "certifiable")), all);
	/* What this host can be asked for: a boundary that ends what it holds, and leaves nothing. */
	assert_true(is_true(member(probe, "kill_boundary_enforced")));
	assert_true(is_true(member(probe, "control_plane_isolated")));
	assert_true(is_true(member(probe, "cleanup_closed")));
	json_object_put(probe);
}

static void test_text(void **state)
{
	(void)state;
	_cleanup_process_ struct process process = PROCESS_INIT;
	run(&process, NULL);
	for (size_t i = 0; i < ELEMENTS(axes); i++)
		assert_non_null(strstr(process.output.data, axes[i]));
	assert_non_null(strstr(process.output.data, "\ncertifiable"));
}

static void test_usage(void **state)
{
	(void)state;
	_cleanup_process_ struct process process = PROCESS_INIT;
	const char *argv[] = { WORKER, "--probe", "--xml", NULL };
	assert_int_equal(process_run(&process, &(struct process_start){ .argv = argv }, PROBE_MS), 64);
	assert_non_null(strstr(process.error.data, "--probe [--json]"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_json), cmocka_unit_test(test_text), cmocka_unit_test(test_usage) };
	return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
