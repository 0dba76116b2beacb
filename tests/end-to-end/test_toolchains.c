/*
 * The usual test commands of the usual languages hold inside the boundary: for each row a small project
 * (projects/NAME) with a bug, an agent that repairs it and runs the tests itself, and the same command as the
 * task's test. One round for all rows that this host has the tools for; the others skip.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

#define TOOLS "/usr/local/bin:/usr/bin:/bin"	/* what the sandbox shows of the host, and where the default PATH looks */

#define NODE_18 "node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)'"	/* the first with --test */

#define REPAIR "sed -i 's/a - b/a + b/' "

static const struct toolchain {
	const char *name;
	const char *project;
	const char *needs;	/* a shell command that holds where the tools are installed */
	const char *repair;	/* what the agent does */
	const char *command;	/* the test */
	int baseline;		/* its exit code on the bug */
} toolchains[] = {
	{ "unittest", "unittest", "python3 -c 'import unittest'", REPAIR "calc.py", "python3 -m unittest -q", 1 },
	{ "pytest", "pytest", "python3 -m pytest --version", REPAIR "calc.py", "python3 -m pytest -q", 1 },
	{ "node", "node", NODE_18, REPAIR "calc.js", "node --test", 1 },
	{ "npm", "node", NODE_18 " && npm --version", REPAIR "calc.js", "npm test", 1 },
	{ "go", "go", "go version && gcc --version", REPAIR "calc.go", "go test ./...", 1 },
	{ "cargo", "cargo", "cargo --version && rustc --version && gcc --version", REPAIR "src/lib.rs",
	  "cargo test --offline --quiet", 101 },
	{ "sanitizers", "sanitizers", "make --version && echo 'int main(void) { return 0; }' | "
	  "gcc -fsanitize=address,undefined -x c -o /dev/null -", "sed -i 's/(void)sum/free(sum)/' calc.c", "make check", 2 },
	{ "cmake", "cmake", "cmake --version && make --version && gcc --version", REPAIR "calc.c",
	  "sh -c 'cmake -B build && cmake --build build && ctest --test-dir build'", 8 },
	{ "host", "host", "python3 -c 'import sqlite3, ctypes, multiprocessing'", REPAIR "calc.py",
	  "python3 -m unittest -v", 1 },
};

static struct driver driver;
static bool installed[ELEMENTS(toolchains)];
static struct events events;
static int round_code;

static bool is_installed(const struct toolchain *toolchain)
{
	_cleanup_process_ struct process process = PROCESS_INIT;
	const char *const argv[] = { "env", "-i", "PATH=" TOOLS, "sh", "-ec", toolchain->needs, NULL };
	const struct process_start how = { .argv = argv, .directory = driver.root };
	return process_run(&process, &how, 60000) == 0;
}

static struct json_object *list(const char *const *texts)
{
	struct json_object *array = json_object_new_array();
	for (; *texts; texts++)
		json_object_array_add(array, json_object_new_string(*texts));
	return array;
}

static struct json_object *task(const struct toolchain *toolchain)
{
	_cleanup_free_ char *project = scratch_text("%s/tests/end-to-end/projects/%s", PROCTOR_SOURCE, toolchain->project);
	_cleanup_free_ char *work = scratch_text("%s && %s", toolchain->repair, toolchain->command);
	/* A test's environment is empty: what its tools need it says itself. */
	_cleanup_free_ char *command = scratch_text("export PATH=" TOOLS " HOME=/home/candidate; exec %s", toolchain->command);

	struct json_object *agent = json_object_new_object();
	json_object_object_add(agent, "command", list(ARGUMENTS("sh", "-ec", work)));
	struct json_object *test = json_object_new_object();
	json_object_object_add(test, "command", list(ARGUMENTS("sh", "-c", command)));
	json_object_object_add(test, "baseline", json_object_new_int(toolchain->baseline));
	struct json_object *tests = json_object_new_array();
	json_object_array_add(tests, test);

	struct json_object *object = json_object_new_object();
	json_object_object_add(object, "id", json_object_new_string(toolchain->name));
	json_object_object_add(object, "directory", json_object_new_string(project));
	json_object_object_add(object, "agent", agent);
	json_object_object_add(object, "tests", tests);
	json_object_object_add(object, "scratch", list(ARGUMENTS("*__pycache__/*", ".pytest_cache/*", "target/*", "build/*", "test_calc")));
	return object;
}

/* Every limit is the default: what they suffice for is part of the test. */
static char *write_round(void)
{
	struct json_object *environment = json_object_new_object();
	json_object_object_add(environment, "PATH", json_object_new_string(TOOLS));
	json_object_object_add(environment, "HOME", json_object_new_string("/home/candidate"));
	struct json_object *agent = json_object_new_object();
	json_object_object_add(agent, "environment", environment);
	struct json_object *tasks = json_object_new_array();
	for (size_t i = 0; i < ELEMENTS(toolchains); i++)
		if (installed[i])
			json_object_array_add(tasks, task(&toolchains[i]));
	struct json_object *round = json_object_new_object();
	json_object_object_add(round, "round", json_object_new_string("toolchains"));
	json_object_object_add(round, "kind", json_object_new_string("baseline"));
	json_object_object_add(round, "parallel", json_object_new_int(2));
	json_object_object_add(round, "agent", agent);
	json_object_object_add(round, "tasks", tasks);
	char *path = driver_file(&driver, "toolchains.round.json", json_object_to_json_string_ext(round, JSON_C_TO_STRING_PRETTY));
	json_object_put(round);
	return path;
}

static void print_output(const char *task_name, const char *output)
{
	_cleanup_free_ char *name = scratch_text("tasks/%s/%s", task_name, output);
	_cleanup_free_ char *text = driver_read(&driver, name);
	if (text && *text)
		print_message("--- %s\n%s\n", name, text);
}

static void test_a_toolchain(void **state)
{
	const struct toolchain *toolchain = *state;
	if (!installed[toolchain - toolchains])
		skip_test("%s: its tools are not installed in " TOOLS, toolchain->name);
	struct json_object *verdict = events_find(&events, "task.verdict", toolchain->name, 0);
	if (strcmp(member_text(verdict, "verdict"), "pass") == 0)
		return;
	static const char *const outputs[] = { "agent.stdout", "agent.stderr", "baseline-1.stdout", "baseline-1.stderr",
					       "patched-1.stdout", "patched-1.stderr" };
	for (size_t i = 0; i < ELEMENTS(outputs); i++)
		print_output(toolchain->name, outputs[i]);
	fail_msg("%s: %s", toolchain->name, verdict ? json_object_to_json_string(verdict) : "no verdict");
}

static void test_the_round(void **state)
{
	(void)state;
	assert_int_equal(round_code, 0);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static int set_up(void **state)
{
	(void)state;
	driver_open(&driver);
	bool any = false;
	for (size_t i = 0; i < ELEMENTS(toolchains); i++)
		any |= installed[i] = is_installed(&toolchains[i]);
	if (!any)
		skip_program("no toolchain is installed in " TOOLS);
	_cleanup_free_ char *file = write_round();
	_cleanup_process_ struct process process = PROCESS_INIT;
	round_code = driver_run(&driver, &process, 400000, ARGUMENTS("run", file, "--display", "json"));
	if (round_code != 0)
		print_message("exit code %d\n%s", round_code, process.error.data);
	events = events_read(process.output.data);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	events_release(&events);
	driver_close(&driver);
	return 0;
}

int main(void)
{
	struct CMUnitTest tests[ELEMENTS(toolchains) + 1];
	for (size_t i = 0; i < ELEMENTS(toolchains); i++)
		tests[i] = (struct CMUnitTest){ .name = toolchains[i].name, .test_func = test_a_toolchain,
						.initial_state = (void *)&toolchains[i] };
	tests[ELEMENTS(toolchains)] = (struct CMUnitTest)cmocka_unit_test(test_the_round);
	return cmocka_run_group_tests_name("toolchains", tests, set_up, tear_down);
}
