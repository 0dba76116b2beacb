/*
 * residency.trusted-local.v1, a round without layers, asked for by name: what it keeps (the kill boundary, the clock), what
 * it has not, and that each record says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/end-to-end/driver.h"
#include "tests/support/scratch.h"

#define RUN_MS 60000
#define LEFT "31.40159"		/* seconds that a daemon would sleep */

static struct driver driver;

static char *round_file(const char *agent, const char *more)
{
	_cleanup_free_ char *text = scratch_text(
		"{\"round\": \"trusted\", \"agent\": {\"name\": \"sh\", \"command\": [\"/bin/sh\", \"-c\", \"%s\"]}, "
		"\"sandbox\": {\"profile\": \"residency.trusted-local.v1\", \"network\": \"host\"}, "
		"\"tasks\": [{\"id\": \"t\", \"directory\": \"subject\", \"prompt\": \"\"%s, "
		"\"tests\": [{\"command\": [\"/bin/test\", \"-e\", \"done\"], \"baseline\": [1], \"patched\": [0]}]}]}", agent, more);
	return driver_file(&driver, "trusted.round.json", text);
}

static struct json_object *result(void)
{
	_cleanup_free_ char *text = driver_read(&driver, "tasks/t/result.json");
	assert_non_null(text);
	struct json_object *object = json_tokener_parse(text);
	assert_non_null(object);
	return object;
}

static struct json_object *member(struct json_object *object, const char *name)
{
	struct json_object *found = NULL;
	if (!json_object_object_get_ex(object, name, &found))
		fail_msg("no %s", name);
	return found;
}

static void is(struct json_object *object, const char *name, const char *wanted)
{
	assert_string_equal(json_object_get_string(member(object, name)), wanted);
}

static void subject(void)
{
	const struct task_text none[] = { { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "unused", 1, none);
	_cleanup_free_ char *seed = driver_file(&driver, "subject/seed", "");
	assert_non_null(file);
}

/* The host's network and files; and the daemon that the command left is dead all the same. */
static void test_without_layers(void **state)
{
	(void)state;
	char ours[PATH_MAX] = "";
	assert_true(readlink("/proc/self/ns/net", ours, sizeof ours - 1) > 0);
	_cleanup_free_ char *file = round_file("touch done; readlink /proc/self/ns/net; grep Seccomp: /proc/self/status; "
					       "(setsid sleep " LEFT " &)", "");
	_cleanup_process_ struct process process = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &process, RUN_MS, ARGUMENTS("run", file, "--yes", "--display", "plain")), 0);
	/* It is marked where the owner looks first. */
	assert_non_null(strstr(process.output.data, "residency.trusted-local.v1"));
	_cleanup_free_ char *output = driver_read(&driver, "tasks/t/agent.stdout");
	assert_non_null(output);
	assert_non_null(strstr(output, ours));
	assert_non_null(strstr(output, "Seccomp:\t0"));
	assert_int_equal(driver_count_commands(LEFT), 0);

	struct json_object *object = result();
	is(object, "verdict", "pass");
	is(member(object, "sandbox"), "profile", "residency.trusted-local.v1");
	is(member(object, "sandbox"), "filesystem", "observed");
	is(member(object, "sandbox"), "network", "unrestricted");
	assert_false(json_object_object_get_ex(member(object, "sandbox"), "processes", NULL));
	struct json_object *containment = member(object, "process_containment");
	is(containment, "profile", "traaviis.cgroup-kill-observed.v1");
	is(containment, "kill_boundary_enforced", "true");
	is(containment, "control_plane_isolated", "false");
	is(containment, "certifiable", "false");
	/* One for the axis, one for what a file that was handed on lets others do. */
	assert_non_null(strstr(json_object_to_json_string(member(containment, "uncertifiable_reasons")), "handed a file of it"));
	json_object_put(object);
	assert_int_equal(driver_left(&driver, 5000), 0);
}

static void test_the_clock_is_kept(void **state)
{
	(void)state;
	_cleanup_free_ char *file = round_file("exec sleep " LEFT, ", \"budget\": {\"wall_clock\": \"1s\"}");
	_cleanup_process_ struct process process = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &process, RUN_MS, ARGUMENTS("run", file, "--yes", "--display", "plain")), 0);
	struct json_object *object = result();
	is(member(object, "agent"), "termination", "timed_out");
	json_object_put(object);
	assert_int_equal(driver_count_commands(LEFT), 0);
}

static int set_up(void **state)
{
	(void)state;
	driver_open(&driver);
	subject();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	driver_close(&driver);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_without_layers), cmocka_unit_test(test_the_clock_is_kept) };
	return cmocka_run_group_tests_name("trusted", tests, set_up, tear_down);
}
