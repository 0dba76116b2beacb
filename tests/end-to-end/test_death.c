/*
 * No order of kill -9 leaves work running: of the front the round goes on, of the core nothing of it is left, of
 * the worker nothing of its tasks (the core starts another).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"

static struct driver driver;
static char marker[32];		/* "sleep N" with an N that no other test uses: how its processes are found */

/* A session of its own, a parent that is gone: what a kill has to reach. */
#define DAEMON_AND_WAIT "setsid sh -c '%s & wait' > /dev/null 2>&1 & %s"

static void assert_chain(void)
{
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	assert_non_null(log);
	size_t wrong = chain_check(log, NULL);
	if (wrong)
		fail_msg("the chain of events.jsonl breaks at line %zu", wrong);
}

/* The verdict of a task by the newest run's log; "" where there is none. The caller frees. */
static char *verdict_of(const char *task, const char *name)
{
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	struct events events = events_read(log ? log : "");
	char *text = scratch_text("%s", member_text(events_find(&events, "task.verdict", task, 0), name));
	events_release(&events);
	return text;
}

static void assert_verdict(const char *task, const char *verdict, const char *charged_to)
{
	_cleanup_free_ char *own = verdict_of(task, "verdict");
	_cleanup_free_ char *charged = verdict_of(task, "charged_to");
	if (strcmp(own, verdict) != 0 || strcmp(charged, charged_to) != 0)
		fail_msg("%s: '%s', charged to '%s', not '%s' and '%s'", task, own, charged, verdict, charged_to);
}

static char *newest_name(void)
{
	_cleanup_free_ char *run = driver_newest(&driver);
	assert_non_null(run);
	return strdup(strrchr(run, '/') + 1);
}

static void test_killed_front(void **state)
{
	(void)state;
	_cleanup_free_ char *agent = scratch_text("sleep 2; touch done; # %s", marker);
	const struct task_text tasks[] = { { "one", agent, NULL }, { "two", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "front", 1, tasks);
	_cleanup_process_ struct process front = PROCESS_INIT;
	assert_int_equal(driver_start(&driver, &front, ARGUMENTS("run", file, "--display", "json")), 0);
	assert_true(process_await(&front, "\"agent\"", 20000));
	pid_t core = driver_core(&driver);
	assert_true(core > 0);
	kill(front.pid, SIGKILL);
	assert_int_equal(process_wait(&front, 5000), 128 + SIGKILL);
	assert_int_equal(kill(core, 0), 0);

	_cleanup_free_ char *name = newest_name();
	_cleanup_process_ struct process wait = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &wait, 60000, ARGUMENTS("wait", name)), 0);
	assert_verdict("one", "pass", "");
	assert_verdict("two", "pass", "");
	assert_chain();
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static void test_killed_core(void **state)
{
	(void)state;
	_cleanup_free_ char *agent = scratch_text(DAEMON_AND_WAIT, marker, marker);
	const struct task_text tasks[] = { { "before", "touch done", NULL }, { "during", agent, NULL },
					   { "after", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "core", 1, tasks);
	_cleanup_process_ struct process front = PROCESS_INIT;
	assert_int_equal(driver_start(&driver, &front, ARGUMENTS("run", file, "--display", "json")), 0);
	assert_true(driver_await_more(marker, 2, 30000));
	pid_t core = driver_core(&driver);
	assert_true(core > 0);
	kill(core, SIGKILL);

	/* Nothing of it is left within seconds, and the front does not hang. */
	assert_true(driver_await_commands(marker, 0, 10000));
	int code = process_wait(&front, 10000);
	assert_int_not_equal(code, -ETIMEDOUT);
	assert_int_not_equal(code, 0);
	assert_int_equal(driver_left(&driver, 10000), 0);

	_cleanup_free_ char *name = newest_name();
	_cleanup_process_ struct process list = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &list, 10000, ARGUMENTS("list", "--json")), 0);
	assert_non_null(strstr(list.output.data, "interrupted"));

	/* Finished tasks stand; what was running runs again. It would sleep forever: its agent is a stop away. */
	_cleanup_process_ struct process again = PROCESS_INIT;
	assert_int_equal(driver_start(&driver, &again, ARGUMENTS("run", "--resume", name, "--display", "json")), 0);
	assert_true(driver_await_more(marker, 2, 30000));
	_cleanup_process_ struct process stop = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &stop, 20000, ARGUMENTS("stop", name, "--task", "during")), 0);
	assert_int_equal(process_wait(&again, 60000), 0);
	struct events events = events_read(again.output.data);
	struct json_object *finished = events_find(&events, "round.finished", NULL, 0);
	assert_int_equal(member_number(finished, "tasks", -1), 3);
	assert_int_equal(member_number(finished, "pass", -1), 2);
	assert_int_equal(member_number(finished, "stopped", -1), 1);
	events_release(&events);

	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	events = events_read(log);
	assert_int_equal(events_count(&events, "task.verdict", "before"), 1);
	events_release(&events);
	assert_chain();
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static void test_killed_worker(void **state)
{
	(void)state;
	_cleanup_free_ char *agent = scratch_text(DAEMON_AND_WAIT, marker, marker);
	const struct task_text tasks[] = { { "one", agent, NULL }, { "two", agent, NULL }, { "three", "touch done", NULL },
					   { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "worker", 2, tasks);
	_cleanup_process_ struct process front = PROCESS_INIT;
	assert_int_equal(driver_start(&driver, &front, ARGUMENTS("run", file, "--display", "json")), 0);
	assert_true(driver_await_more(marker, 4, 30000));
	pid_t worker = driver_worker(&driver);
	assert_true(worker > 0);
	kill(worker, SIGKILL);

	assert_true(driver_await_commands(marker, 0, 10000));
	assert_int_equal(process_wait(&front, 60000), 0);
	assert_verdict("one", "error", "host");
	assert_verdict("two", "error", "host");
	assert_verdict("three", "pass", "");
	assert_chain();
	assert_int_equal(driver_left(&driver, 10000), 0);
}

/* Both at once: neither is there to clean up, so the next worker's sweep does. */
static void test_killed_core_and_worker(void **state)
{
	(void)state;
	_cleanup_free_ char *agent = scratch_text(DAEMON_AND_WAIT, marker, marker);
	const struct task_text tasks[] = { { "one", agent, NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "both", 1, tasks);
	_cleanup_process_ struct process front = PROCESS_INIT;
	assert_int_equal(driver_start(&driver, &front, ARGUMENTS("run", file, "--display", "json")), 0);
	assert_true(driver_await_more(marker, 2, 30000));
	pid_t core = driver_core(&driver), worker = driver_worker(&driver);
	assert_true(core > 0 && worker > 0);
	/* Stopped first, so that the one does not see the other's end. */
	kill(worker, SIGSTOP);
	kill(core, SIGKILL);
	kill(worker, SIGKILL);
	assert_true(driver_await_commands(marker, 0, 10000));
	/* A worker that is still on its way out is no dead owner yet, and the next one must not touch what is its. */
	assert_true(driver_await_gone(core, 10000) && driver_await_gone(worker, 10000));
	assert_int_not_equal(process_wait(&front, 10000), -ETIMEDOUT);

	const struct task_text good[] = { { "good", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *next = driver_round(&driver, "next", 1, good);
	_cleanup_process_ struct process process = PROCESS_INIT;
	assert_int_equal(driver_run(&driver, &process, 60000, ARGUMENTS("run", next, "--display", "json")), 0);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

/* With --attached the round ends with the front, however that ends. */
static void test_killed_front_attached(void **state)
{
	(void)state;
	_cleanup_free_ char *agent = scratch_text(DAEMON_AND_WAIT, marker, marker);
	const struct task_text tasks[] = { { "one", agent, NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "attached", 1, tasks);
	_cleanup_process_ struct process front = PROCESS_INIT;
	assert_int_equal(driver_start(&driver, &front, ARGUMENTS("run", file, "--attached", "--display", "json")), 0);
	assert_true(driver_await_more(marker, 2, 30000));
	kill(front.pid, SIGKILL);
	process_wait(&front, 5000);
	assert_true(driver_await_commands(marker, 0, 10000));
	assert_true(driver_await_log(&driver, "\"round.finished\"", 10000));
	assert_chain();
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static int set_up(void **state)
{
	(void)state;
	driver_open(&driver);
	static int number;
	snprintf(marker, sizeof marker, "sleep 8%05d%02d", (int)getpid(), number++);
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
		CASE(test_killed_front), CASE(test_killed_core), CASE(test_killed_worker), CASE(test_killed_core_and_worker),
		CASE(test_killed_front_attached),
	};
	return cmocka_run_group_tests_name("death", tests, NULL, NULL);
}
