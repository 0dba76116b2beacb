/*
 * Where an owner's things lie: folders that no one else may enter, names with spaces, a round named in each way that a
 * command line may, files under HOME. Nothing of the owner's is changed by a round.
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

static struct driver driver;

/* A round of one task in `folder` (below the driver's root), with an agent of the owner's own, a script beside it. */
static char *own_agent_round(const char *folder, const char *agent_members, const char *script)
{
	_cleanup_free_ char *agent = scratch_text("%s/%s/agents/own agent.sh", driver.root, folder);
	_cleanup_free_ char *seed = scratch_text("%s/%s/subject/seed", driver.root, folder);
	_cleanup_free_ char *name = scratch_text("%s/own.round.json", folder);
	assert_int_equal(scratch_write(agent, 0755, script), 0);
	assert_int_equal(scratch_write(seed, 0644, "untouched\n"), 0);
	_cleanup_free_ char *text = scratch_text(
		"{ \"round\": \"own\", \"kind\": \"baseline\",\n"
		"  \"agent\": { \"name\": \"own\", \"command\": [\"agents/own agent.sh\", \"${prompt}\"]%s },\n"
		"  \"tasks\": [ { \"id\": \"t\", \"directory\": \"subject\", \"prompt\": \"one argument, 'quoted' \\\"twice\\\"\",\n"
		"    \"tests\": [ { \"command\": [\"sh\", \"-c\", \"test -e done\"], \"baseline\": [1], \"patched\": [0] } ] } ] }\n",
		agent_members);
	return driver_file(&driver, name, text);
}

static void assert_passes(const char *file)
{
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = driver_run(&driver, &process, 60000, ARGUMENTS("run", file, "--display", "json"));
	struct events events = events_read(process.output.data);
	struct json_object *verdict = events_find(&events, "task.verdict", "t", 0);
	if (code != 0 || strcmp(member_text(verdict, "verdict"), "pass") != 0)
		fail_msg("exit code %d, %s: %s%s", code, member_text(verdict, "verdict"), member_text(verdict, "reason"),
			 process.error.data);
	events_release(&events);
}

static const char DOES_IT[] = "#!/bin/sh\n[ \"$#\" = 1 ] && [ \"$1\" = \"one argument, 'quoted' \\\"twice\\\"\" ] && touch done\n";

/* A clone below /root or a home directory is such a folder: the candidate's ids may not even enter it. */
static void test_a_folder_that_only_the_owner_may_enter(void **state)
{
	(void)state;
	assert_int_equal(chmod(driver.root, 0700), 0);
	_cleanup_free_ char *file = own_agent_round("private", "", DOES_IT);
	_cleanup_free_ char *folder = scratch_text("%s/private", driver.root);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_passes(file);
}

static void test_names_with_spaces(void **state)
{
	(void)state;
	assert_int_equal(chmod(driver.root, 0755), 0);
	_cleanup_free_ char *file = own_agent_round("a folder, \xc3\xa9 & more", "", DOES_IT);
	assert_passes(file);
}

static void test_files_under_home(void **state)
{
	(void)state;
	assert_int_equal(chmod(driver.root, 0755), 0);
	_cleanup_free_ char *config = driver_file(&driver, "files/tool.json", "{ \"model\": \"local\" }\n");
	assert_non_null(config);
	_cleanup_free_ char *file = own_agent_round("files",
		", \"environment\": { \"HOME\": \"/home/candidate\", \"PATH\": \"/usr/bin:/bin\" }, \"files\": { \".config/tool.json\": \"tool.json\" }",
		"#!/bin/sh\ngrep -q local \"$HOME/.config/tool.json\" && touch done\n");
	assert_passes(file);
}

static void test_the_subject_stays_as_it_was(void **state)
{
	(void)state;
	assert_int_equal(chmod(driver.root, 0755), 0);
	_cleanup_free_ char *file = own_agent_round("kept", "", "#!/bin/sh\necho changed > seed; touch done more\n");
	assert_passes(file);
	_cleanup_free_ char *folder = scratch_text("%s/kept/subject", driver.root);
	_cleanup_free_ char *seed = scratch_text("%s/seed", folder);
	_cleanup_free_ char *text = scratch_read(seed);
	assert_string_equal(text, "untouched\n");
	assert_int_equal(scratch_count(folder), 1);
	/* The evidence says what the candidate did. */
	_cleanup_free_ char *patch = driver_read(&driver, "tasks/t/candidate.patch");
	assert_non_null(patch);
	assert_non_null(strstr(patch, "-untouched\n+changed\n"));
}

/* A bare name, the full name of a run, the path of its directory, and that directory from inside. */
static void test_ways_to_name_a_round(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "t", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "named", 1, tasks);
	assert_passes(file);
	_cleanup_free_ char *run = driver_newest(&driver);
	assert_non_null(run);
	const char *const names[] = { "named", strrchr(run, '/') + 1, run };
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_process_ struct process process = PROCESS_INIT;
		assert_int_equal(driver_run(&driver, &process, 20000, ARGUMENTS("wait", names[i])), 0);
	}
	const char *const argv[] = { PROCTOR_BUILD "/proctor", "wait", ".", NULL };
	_cleanup_process_ struct process process = PROCESS_INIT;
	assert_int_equal(process_run(&process, &(struct process_start){ .argv = argv, .directory = run,
			.environment = (const char *const *)driver.variables }, 20000), 0);
}

/* Two runs of one round in one second are two runs. */
static void test_two_runs_at_once(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "t", "sleep 1; touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "twice", 1, tasks);
	_cleanup_process_ struct process one = PROCESS_INIT, other = PROCESS_INIT;
	assert_int_equal(driver_start(&driver, &one, ARGUMENTS("run", file, "--display", "json")), 0);
	assert_int_equal(driver_start(&driver, &other, ARGUMENTS("run", file, "--display", "json")), 0);
	assert_int_equal(process_wait(&one, 60000), 0);
	assert_int_equal(process_wait(&other, 60000), 0);
	assert_int_equal(driver_run_count(&driver), 2);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static int with_umask(void *argument)
{
	umask(*(const mode_t *)argument);
	return 0;
}

/* What the owner's shell allows for new files is no business of the sandbox. */
static void test_a_strict_umask(void **state)
{
	(void)state;
	mode_t strict = 077;
	assert_int_equal(chmod(driver.root, 0755), 0);
	_cleanup_free_ char *file = own_agent_round("umask", "", "#!/bin/sh\n[ $(umask) = 0022 ] && touch done\n");
	const char *const argv[] = { PROCTOR_BUILD "/proctor", "run", file, "--display", "json", NULL };
	_cleanup_process_ struct process process = PROCESS_INIT;
	assert_int_equal(process_run(&process, &(struct process_start){ .argv = argv, .directory = driver.root,
			.environment = (const char *const *)driver.variables, .before_exec = with_umask, .argument = &strict }, 60000), 0);
	struct events events = events_read(process.output.data);
	struct json_object *verdict = events_find(&events, "task.verdict", "t", 0);
	if (strcmp(member_text(verdict, "verdict"), "pass") != 0)
		fail_msg("%s: %s", member_text(verdict, "verdict"), member_text(verdict, "reason"));
	events_release(&events);
}

static int close_the_standard_ones(void *argument)
{
	(void)argument;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	return 0;
}

/* From cron, or a supervisor that closes everything: what is opened first must not take their numbers. */
static void test_closed_descriptors(void **state)
{
	(void)state;
	assert_int_equal(chmod(driver.root, 0755), 0);
	_cleanup_free_ char *file = own_agent_round("closed", "", DOES_IT);
	const char *const argv[] = { PROCTOR_BUILD "/proctor", "run", file, NULL };
	_cleanup_process_ struct process process = PROCESS_INIT;
	assert_int_equal(process_run(&process, &(struct process_start){ .argv = argv, .directory = driver.root,
			.environment = (const char *const *)driver.variables, .before_exec = close_the_standard_ones }, 60000), 0);
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	assert_non_null(log);
	assert_non_null(strstr(log, "\"verdict\":\"pass\""));
}

/* A round of a login session is steered from one that has another runtime directory, or none. */
static void test_another_session(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "t", "sleep 600", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "session", 1, tasks);
	_cleanup_process_ struct process run = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &run, 60000, ARGUMENTS("run", file, "--detach")), 0);
	const char *const verbs[] = { "freeze", "thaw", "stop" };
	for (size_t i = 0; i < ELEMENTS(verbs); i++) {
		const char *const argv[] = { PROCTOR_BUILD "/proctor", verbs[i], "session", NULL };
		const char *const elsewhere[] = { driver.variables[0], "XDG_RUNTIME_DIR=/nowhere", driver.variables[2], NULL };
		_cleanup_process_ struct process process = PROCESS_INIT;
		int code = process_run(&process, &(struct process_start){ .argv = argv, .environment = elsewhere }, 20000);
		if (code != 0 || process.error.length > 0)
			fail_msg("%s: exit code %d: %s", verbs[i], code, process.error.data);
	}
	_cleanup_process_ struct process wait = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &wait, 20000, ARGUMENTS("wait", "session")), 3);
	assert_int_equal(driver_left(&driver, 10000), 0);
	/* The way to it ends with it. */
	_cleanup_free_ char *newest = driver_newest(&driver);
	_cleanup_free_ char *link = scratch_text("%s/socket", newest);
	assert_int_not_equal(access(link, F_OK), 0);
}

static int set_up(void **state)
{
	(void)state;
	driver_open(&driver);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	driver_close(&driver);
	return 0;
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_folder_that_only_the_owner_may_enter), CASE(test_names_with_spaces), CASE(test_files_under_home),
		CASE(test_the_subject_stays_as_it_was), CASE(test_ways_to_name_a_round), CASE(test_two_runs_at_once),
		CASE(test_a_strict_umask), CASE(test_closed_descriptors), CASE(test_another_session),
	};
	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
