/* The boundary that a worker prepares ahead (core/containment/spare.h): who gets it, and that it is nobody's else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "tests/support/skip.h"
#include "tests/support/worker_harness.h"

#define FINISH_MS 20000
#define SPARE_MS 5000
#define LONG_BYTES 100000

static struct worker *start(void)
{
	struct worker *worker = worker_start(&(struct worker_start){ 0 });
	assert_non_null(worker);
	if (worker_refused(worker))
		skip_program("no boundary on this host: %s", event_text(worker_refused(worker), "message"));
	return worker;
}

/* Leaves of the worker whose names begin so; the last one's name. */
static int leaves(struct worker *worker, const char *prefix, char name[static 64])
{
	int count = 0;
	_cleanup_closedir_ DIR *stream = opendir(event_text(worker_ready(worker), "cgroup"));
	assert_non_null(stream);
	for (struct dirent *entry; (entry = readdir(stream));) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(name, 64, "%.63s", entry->d_name);
		count++;
	}
	return count;
}

/* The processes of a leaf, as the host counts them: how many, and the last of them. */
static int processes(struct worker *worker, const char *leaf, pid_t *ret_last)
{
	char path[4096];
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	int count = 0;
	snprintf(path, sizeof path, "%s/%s/cgroup.procs", event_text(worker_ready(worker), "cgroup"), leaf);
	if (io_read_file(AT_FDCWD, path, 65536, &text) < 0 || !text.data)
		return 0;
	for (char *line = text.data; *line; line = strchr(line, '\n') + 1, count++)
		*ret_last = (pid_t)atoi(line);
	return count;
}

/* A spare is ready once its init is there and the worker is at rest again: it answers. */
static void await_spare(struct worker *worker, char name[static 64])
{
	pid_t init;
	int64_t end = clock_mono_ns() + SPARE_MS * NS_PER_MS;
	while (leaves(worker, "spare", name) != 1 || processes(worker, name, &init) != 1) {
		if (clock_mono_ns() > end)
			fail_msg("no spare within %d ms", SPARE_MS);
		clock_sleep_ns(NS_PER_MS);
	}
	worker_send_op(worker, "sample", 0);
	assert_non_null(worker_await(worker, "sample", 0, SPARE_MS));
}

/* The run's output; the caller's spec may say more than the line. */
static char *run_line(struct worker *worker, const char *line, struct run_spec spec)
{
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	spec.argv = argv;
	int run = worker_run(worker, &spec);
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	assert_true(result->closed);
	assert_string_equal(result->outcome, "exited");
	assert_int_equal(result->code, 0);
	assert_int_equal(result->remaining, 0);
	assert_true(result->removed);
	char *output = strdup(result->output->data);
	worker_release_run(worker, run);
	return output;
}

static void run_true(struct worker *worker)
{
	free(run_line(worker, "true", (struct run_spec){ 0 }));
}

static unsigned host_uid(struct worker *worker, const char *leaf)
{
	char path[64];
	pid_t pid = 0;
	unsigned uid = 0;
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	assert_true(processes(worker, leaf, &pid) >= 2);
	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	assert_int_equal(io_read_file(AT_FDCWD, path, 65536, &text), 0);
	const char *at = strstr(text.data, "\nUid:\t");
	assert_non_null(at);
	assert_int_equal(sscanf(at + 6, "%u", &uid), 1);
	return uid;
}

/* The host uid of a run that must be in this leaf. */
static unsigned sleeper_uid(struct worker *worker, const char *leaf)
{
	static const char *const argv[] = { "/bin/sh", "-c", "echo up; exec sleep 60", NULL };
	int run = worker_run(worker, &(struct run_spec){ .argv = argv });
	assert_true(worker_await_output(worker, run, "up", FINISH_MS));
	unsigned uid = host_uid(worker, leaf);
	worker_send_op(worker, "kill", run);
	assert_int_equal(worker_finish(worker, run, FINISH_MS)->remaining, 0);
	worker_release_run(worker, run);
	return uid;
}

/* The first run has a leaf by its own number, the next one like it the spare; each has ids of its own. */
static void test_the_next_run_gets_it(void **state)
{
	(void)state;
	char name[64];
	struct worker *worker = start();
	unsigned first = sleeper_uid(worker, "r1");
	await_spare(worker, name);
	unsigned second = sleeper_uid(worker, name);
	assert_int_not_equal(first, second);
	worker_free(worker);
}

/* Nothing that one run wrote is there for the next; order and streams are its own. */
static void test_nothing_is_handed_on(void **state)
{
	(void)state;
	static const char *const environment[] = { "HOME=/home/candidate", "WHO=second", NULL };
	char name[64];
	struct worker *worker = start();
	free(run_line(worker, "for i in /tmp /dev/shm /workspace /home/candidate; do echo x > $i/left; done", (struct run_spec){ 0 }));
	await_spare(worker, name);
	char *output = run_line(worker, "cat /tmp/left /dev/shm/left /workspace/left /home/candidate/left 2>/dev/null; echo $WHO; env | grep -c .",
				(struct run_spec){ .environment = environment });
	/* The shell adds PWD, and nothing is there but that and the two. */
	assert_string_equal(output, "second\n3\n");
	free(output);
	worker_free(worker);
}

/* Another limit is another boundary: what was ready is of no use, and goes. */
static void test_a_run_unlike_the_last(void **state)
{
	(void)state;
	static const char *const argv[] = { "/bin/sh", "-c", "i=0; while [ $i -lt 64 ]; do sleep 30 & i=$((i+1)); done", NULL };
	char before[64], name[64];
	struct worker *worker = start();
	run_true(worker);
	await_spare(worker, before);
	int run = worker_run(worker, &(struct run_spec){ .argv = argv, .processes = 16 });
	const struct run_result *result = worker_finish(worker, run, FINISH_MS);
	assert_true(result->closed && result->removed);
	assert_in_range(result->killed, 1, 16);
	await_spare(worker, name);
	assert_string_not_equal(name, before);
	worker_free(worker);
}

/* It is no run: a freeze counts none, and stop takes it down and counts none. */
static void test_controls(void **state)
{
	(void)state;
	char name[64];
	struct worker *worker = start();
	run_true(worker);
	await_spare(worker, name);
	worker_send_op(worker, "freeze", 0);
	struct json_object *frozen = worker_await(worker, "frozen", 0, FINISH_MS);
	assert_non_null(frozen);
	assert_int_equal(event_number(frozen, "processes"), 0);
	assert_int_equal(event_number(frozen, "runs"), 0);
	worker_send_op(worker, "thaw", 0);
	assert_non_null(worker_await(worker, "thawed", 0, FINISH_MS));
	run_true(worker);
	await_spare(worker, name);
	worker_send_op(worker, "freeze", 0);
	worker_send_op(worker, "stop", 0);
	struct json_object *stopped = worker_await(worker, "stopped", 0, FINISH_MS);
	assert_non_null(stopped);
	assert_int_equal(event_number(stopped, "killed"), 0);
	assert_int_equal(event_number(stopped, "remaining"), 0);
	assert_int_equal(leaves(worker, "", name), 0);
	worker_free(worker);
}

static void await_empty(struct worker *worker, const char *leaf)
{
	pid_t pid;
	int64_t end = clock_mono_ns() + SPARE_MS * NS_PER_MS;
	while (processes(worker, leaf, &pid) > 0 && clock_mono_ns() < end)
		clock_sleep_ns(NS_PER_MS);
	assert_int_equal(processes(worker, leaf, &pid), 0);
}

static bool is_gone(pid_t pid)
{
	int64_t end = clock_mono_ns() + SPARE_MS * NS_PER_MS;
	while (kill(pid, 0) == 0 && clock_mono_ns() < end)
		clock_sleep_ns(NS_PER_MS);
	return kill(pid, 0) < 0;
}

/* Killed by somebody else, it is not given to a run; killed itself, the worker leaves no process, and the next one sweeps. */
static void test_deaths(void **state)
{
	(void)state;
	char name[64];
	pid_t init = 0;
	struct worker *worker = start();
	run_true(worker);
	await_spare(worker, name);
	assert_int_equal(processes(worker, name, &init), 1);
	assert_int_equal(kill(init, SIGKILL), 0);
	await_empty(worker, name);
	run_true(worker);
	await_spare(worker, name);
	assert_int_equal(processes(worker, name, &init), 1);
	worker_kill(worker);
	assert_true(is_gone(init));
	worker_free(worker);
	worker = start();
	assert_true(event_number(worker_ready(worker), "swept") >= 1);
	worker_free(worker);
}

/* A command and an environment longer than any datagram. */
static void test_a_long_order(void **state)
{
	(void)state;
	enum { LONG = 12 };
	static char texts[LONG][LONG_BYTES + 8];
	const char *environment[LONG + 1] = { NULL };
	for (int i = 0; i < LONG; i++) {
		snprintf(texts[i], 8, "V%02d=", i);
		memset(texts[i] + 4, 'x', LONG_BYTES);
		environment[i] = texts[i];
	}
	struct worker *worker = start();
	char *output = run_line(worker, "echo ${#V00} ${#V11}", (struct run_spec){ .environment = environment });
	assert_string_equal(output, "100000 100000\n");
	free(output);
	worker_free(worker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_next_run_gets_it), cmocka_unit_test(test_nothing_is_handed_on),
		cmocka_unit_test(test_a_run_unlike_the_last), cmocka_unit_test(test_controls), cmocka_unit_test(test_deaths),
		cmocka_unit_test(test_a_long_order),
	};
	return cmocka_run_group_tests_name("spare", tests, NULL, NULL);
}
