/* The ladder and what stands beside it, as commands: freeze, thaw, drain, stop, wait, list, watch, detach, resume. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/end-to-end/driver.h"
#include "tests/end-to-end/events.h"
#include "tests/support/scratch.h"

static struct driver driver;
static char marker[32];		/* "sleep N" with an N of this test's own */

/* One command to its end, which must have this exit code. Output by process_release of the caller. */
static void command(struct process *process, int want, const char *const *arguments)
{
	int code = driver_run(&driver, process, 30000, arguments);
	if (code != want)
		fail_msg("%s %s: exit code %d, not %d: %s%s", arguments[0], arguments[1] ? arguments[1] : "", code, want,
			 process->output.data, process->error.data);
}

static void quiet_command(int want, const char *const *arguments)
{
	_cleanup_process_ struct process process = PROCESS_INIT;
	command(&process, want, arguments);
}

/* Starts a round in the background by --detach; its full name, the caller's to free. */
static char *detach(const char *file)
{
	_cleanup_process_ struct process process = PROCESS_INIT;
	command(&process, 0, ARGUMENTS("run", file, "--detach"));
	_cleanup_free_ char *run = driver_newest(&driver);
	assert_non_null(run);
	const char *name = strrchr(run, '/') + 1;
	/* It prints the name, for a script to take. */
	assert_non_null(strstr(process.output.data, name));
	return strdup(name);
}

static struct events log_events(void)
{
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	assert_non_null(log);
	size_t wrong = chain_check(log, NULL);
	if (wrong)
		fail_msg("the chain of events.jsonl breaks at line %zu", wrong);
	return events_read(log);
}

static void assert_verdict(const struct events *events, const char *task, const char *verdict, const char *cause)
{
	struct json_object *event = events_find(events, "task.verdict", task, 0);
	if (strcmp(member_text(event, "verdict"), verdict) != 0 || strcmp(member_text(event, "cause"), cause) != 0)
		fail_msg("%s: %s", task, event ? json_object_to_json_string(event) : "no verdict");
}

/* The event that tells what a verb did: one before it announces the act, and has no figures yet. */
static struct json_object *control_proof(const struct events *events, const char *verb, const char *figure)
{
	for (size_t i = 0; i < events->count; i++) {
		struct json_object *event = events->list[i];
		if (strcmp(member_text(event, "type"), "control") == 0 && strcmp(member_text(event, "verb"), verb) == 0 &&
		    !member_null(event, figure))
			return event;
	}
	fail_msg("no control event of %s with %s", verb, figure);
	return NULL;
}

/* A counter that goes on only while its process runs; what it wrote last. */
#define COUNTER "i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.05; done"

static size_t ticks(const char *task)
{
	_cleanup_free_ char *path = scratch_text("tasks/%s/agent.stdout", task);
	_cleanup_free_ char *text = driver_read(&driver, path);
	size_t lines = 0;
	for (const char *c = text; c && *c; c++)
		lines += *c == '\n';
	return lines;
}

static void await_ticks(const char *task, size_t least)
{
	int64_t end = clock_mono_ns() + 20 * NS_PER_S;
	while (ticks(task) < least && clock_mono_ns() < end)
		clock_sleep_ns(20 * NS_PER_MS);
	assert_true(ticks(task) >= least);
}

/* A wall clock of 3 s, frozen for 4: it still has most of it when it is thawed. */
static void test_freeze_and_thaw(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "count", "touch done; " COUNTER, "3s" }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "freeze", 1, tasks);
	_cleanup_free_ char *name = detach(file);
	await_ticks("count", 3);
	quiet_command(0, ARGUMENTS("freeze", name));
	clock_sleep_ns(200 * NS_PER_MS);	/* what was in the pipe has been read */
	size_t before = ticks("count");
	_cleanup_process_ struct process list = PROCESS_INIT;
	command(&list, 0, ARGUMENTS("list", "--json"));
	assert_non_null(strstr(list.output.data, "frozen"));
	clock_sleep_ns(4 * NS_PER_S);
	assert_int_equal(ticks("count"), before);
	assert_true(driver_core(&driver) > 0);

	quiet_command(0, ARGUMENTS("thaw", name));
	await_ticks("count", before + 10);
	quiet_command(0, ARGUMENTS("wait", name));
	struct events events = log_events();
	/* Directory tasks are scored on what they left: the clock's end is the cause, the fix stands. */
	assert_verdict(&events, "count", "pass", "wall_clock");
	struct json_object *freeze = control_proof(&events, "freeze", "processes");
	assert_string_equal(member_text(freeze, "verb"), "freeze");
	/* Between two of its sleeps the shell is alone. */
	assert_true(member_number(freeze, "processes", 0) >= 1);
	assert_int_equal(member_number(freeze, "runs", 0), 1);
	assert_int_equal(member_number(freeze, "who.uid", -1), (int64_t)getuid());
	events_release(&events);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

/* What is asked for again is answered at once, as done already: no owner waits for figures that do not come. */
static void test_asked_for_again(void **state)
{
	(void)state;
	static const struct {
		const char *arguments[5], *words;
	} steps[] = {
		{ { "start", "again" }, "its gate is open already" },
		{ { "thaw", "again" }, "is not frozen" },
		{ { "freeze", "again" }, "FROZEN" },
		{ { "freeze", "again" }, "stands still already" },
		{ { "thaw", "again" }, "thawed" },
		{ { "stop", "again", "--task", "one" }, "STOPPED" },
		{ { "stop", "again", "--task", "one" }, "already" },
		{ { "drain", "again" }, "draining" },
		{ { "drain", "again" }, "starts nothing more already" },
		{ { "stop", "again" }, "STOPPED" },
	};
	const struct task_text tasks[] = { { "one", marker, NULL }, { "two", marker, NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "again", 2, tasks);
	_cleanup_free_ char *name = detach(file);
	assert_true(driver_await_more(marker, 2, 20000));
	for (size_t i = 0; i < ELEMENTS(steps); i++) {
		_cleanup_process_ struct process process = PROCESS_INIT;
		int64_t began = clock_mono_ns();
		command(&process, 0, steps[i].arguments);
		if (!strstr(process.output.data, steps[i].words))
			fail_msg("%s: '%s' is not in: %s", steps[i].arguments[0], steps[i].words, process.output.data);
		assert_true(clock_mono_ns() - began < 5 * NS_PER_S);
	}
	/* Over: what it is, and what can be done with it. */
	quiet_command(3, ARGUMENTS("wait", name));
	_cleanup_process_ struct process over = PROCESS_INIT;
	command(&over, 2, ARGUMENTS("freeze", name));
	assert_non_null(strstr(over.error.data, "it is stopped"));
	assert_non_null(strstr(over.error.data, "run --resume"));
	assert_int_equal(driver_left(&driver, 10000), 0);
}

/* A connection to the live core of the newest round, as any client of the owner's makes one. */
static int connect_to_core(void)
{
	_cleanup_free_ char *run = driver_newest(&driver);
	assert_non_null(run);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	/* The link, since its end may be too long for an address. */
	_cleanup_free_ char *path = scratch_text("%s/socket", run);
	ssize_t n = readlink(path, address.sun_path, sizeof address.sun_path - 1);
	if (n < 0)
		fail_msg("%s: %s", path, strerror(errno));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

/* Reads until each of `count` commands ("c0", "c1", ...) is answered well. */
static void await_answers(int fd, size_t count)
{
	static char text[1 << 20];
	size_t length = 0, answered = 0;
	int64_t end = clock_mono_ns() + 10 * NS_PER_S;
	while (answered < count) {
		struct pollfd one = { .fd = fd, .events = POLLIN };
		if (poll(&one, 1, 100) == 1) {
			ssize_t n = read(fd, text + length, sizeof text - 1 - length);
			assert_true(n > 0);
			length += (size_t)n;
			text[length] = '\0';
		}
		answered = 0;
		for (const char *at = text; (at = strstr(at, "\"type\":\"answer\"")); at++)
			answered++;
		if (strstr(text, "\"ok\":false") || clock_mono_ns() > end)
			fail_msg("%zu of %zu answers: %s", answered, count, text);
	}
}

/*
 * Keys typed ahead while a core does not answer reach it at once: it must end as the last one says, and the log
 * and what runs must agree.
 */
static void test_the_last_word_holds(void **state)
{
	(void)state;
	static const struct {
		const char *verbs[6], *shown;
	} cases[] = {
		{ { "freeze", "thaw", "drain", "freeze" }, "frozen" },
		{ { "freeze", "thaw", "freeze", "thaw" }, "running" },
		{ { "freeze", "freeze", "thaw", "thaw", "freeze", "freeze" }, "frozen" },
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const struct task_text tasks[] = { { "count", COUNTER, NULL }, { 0 } };
		_cleanup_free_ char *name = scratch_text("last%zu", i), *file = driver_round(&driver, name, 1, tasks);
		_cleanup_free_ char *round = detach(file);
		_cleanup_free_ char *lines = strdup("");
		size_t count = 0;
		await_ticks("count", 3);
		for (; count < ELEMENTS(cases[0].verbs) && cases[i].verbs[count]; count++) {
			char *more = scratch_text("%s{\"type\":\"command\",\"id\":\"c%zu\",\"verb\":\"%s\"}\n", lines, count,
						  cases[i].verbs[count]);
			free(lines);
			lines = more;
		}
		_cleanup_close_ int fd = connect_to_core();
		assert_int_equal(write(fd, lines, strlen(lines)), (ssize_t)strlen(lines));
		await_answers(fd, count);
		clock_sleep_ns(200 * NS_PER_MS);
		size_t before = ticks("count");
		clock_sleep_ns(500 * NS_PER_MS);
		bool stands = ticks("count") == before;
		_cleanup_process_ struct process list = PROCESS_INIT;
		command(&list, 0, ARGUMENTS("list", "--json"));
		if (!strstr(list.output.data, cases[i].shown) || stands != (strcmp(cases[i].shown, "frozen") == 0))
			fail_msg("case %zu: it %s: %s", i, stands ? "stands still" : "goes on", list.output.data);
		quiet_command(0, ARGUMENTS("stop", round));
		quiet_command(3, ARGUMENTS("wait", round));
	}
	assert_int_equal(driver_left(&driver, 10000), 0);
}

/* DONE, and what can be resumed: a task that was stopped has no verdict that stands. */
static void test_a_stopped_task_is_not_done(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "one", marker, NULL }, { "two", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "notdone", 2, tasks);
	_cleanup_free_ char *name = detach(file);
	assert_true(driver_await_more(marker, 1, 20000));
	quiet_command(0, ARGUMENTS("stop", name, "--task", "one"));
	quiet_command(0, ARGUMENTS("wait", name));
	_cleanup_process_ struct process list = PROCESS_INIT, watch = PROCESS_INIT;
	command(&list, 0, ARGUMENTS("list", "--json"));
	assert_non_null(strstr(list.output.data, "\"tasks\":2,\"done\":1"));
	command(&watch, 0, ARGUMENTS("watch", name, "--display", "plain"));
	assert_non_null(strstr(watch.output.data, "resume: proctor run --resume"));
}

static void test_stop_a_frozen_round(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "one", marker, NULL }, { "two", marker, NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "frozen-stop", 2, tasks);
	_cleanup_free_ char *name = detach(file);
	assert_true(driver_await_more(marker, 2, 20000));
	quiet_command(0, ARGUMENTS("freeze", name));
	quiet_command(0, ARGUMENTS("stop", name));
	assert_true(driver_await_commands(marker, 0, 5000));
	quiet_command(3, ARGUMENTS("wait", name));
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static void test_stop_then_resume(void **state)
{
	(void)state;
	/* The first run of "slow" would take for ever; the second finds that the owner's directory has changed. */
	_cleanup_free_ char *agent = scratch_text("if test -e hurry; then touch done; else %s; fi", marker);
	const struct task_text tasks[] = { { "quick", "touch done", NULL }, { "slow", agent, NULL },
					   { "queued", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "stop", 1, tasks);
	_cleanup_free_ char *name = detach(file);
	assert_true(driver_await_more(marker, 1, 20000));
	_cleanup_process_ struct process stop = PROCESS_INIT;
	command(&stop, 0, ARGUMENTS("stop", name));
	/* The proof that it prints: how many, and that none is left. */
	assert_non_null(strpbrk(stop.output.data, "0123456789"));
	assert_int_equal(driver_count_commands(marker), 0);
	quiet_command(3, ARGUMENTS("wait", name));
	assert_int_equal(driver_left(&driver, 10000), 0);

	struct events events = log_events();
	/* Three tasks one after the other, each with a minute for its agent and two for the test in either phase. */
	assert_int_equal(member_number(events_find(&events, "round.opened", NULL, 0), "longest_ms", -1), 3 * (60 + 2 * 120) * 1000);
	assert_verdict(&events, "quick", "pass", "");
	assert_verdict(&events, "slow", "stopped", "owner_stop");
	struct json_object *finished = events_find(&events, "round.finished", NULL, 0);
	assert_string_equal(member_text(finished, "state"), "stopped");
	assert_int_equal(member_number(finished, "pass", -1), 1);
	assert_int_equal(member_number(finished, "stopped", -1), 2);
	size_t first = events.count;
	struct json_object *proof = control_proof(&events, "stop", "killed");
	assert_true(member_number(proof, "killed", 0) >= 1);
	assert_int_equal(member_number(proof, "remaining", -1), 0);
	events_release(&events);

	free(driver_file(&driver, "subject/hurry", ""));
	_cleanup_process_ struct process again = PROCESS_INIT;
	command(&again, 0, ARGUMENTS("run", "--resume", name, "--display", "json"));
	events = log_events();
	assert_int_equal(events_count(&events, "task.verdict", "quick"), 1);
	assert_true(events.count > first);
	struct json_object *last = events.list[events.count - 1];
	assert_string_equal(member_text(last, "type"), "round.finished");
	assert_string_equal(member_text(last, "state"), "finished");
	assert_int_equal(member_number(last, "pass", -1), 3);
	assert_int_equal(member_number(last, "tasks", -1), 3);
	events_release(&events);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static void test_stop_one_task(void **state)
{
	(void)state;
	_cleanup_free_ char *agent = scratch_text("(setsid %s &) ; %s", marker, marker);
	const struct task_text tasks[] = { { "stopped", agent, NULL }, { "other", "sleep 1; touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "stop-task", 2, tasks);
	_cleanup_free_ char *name = detach(file);
	assert_true(driver_await_more(marker, 2, 20000));
	quiet_command(0, ARGUMENTS("stop", name, "--task", "stopped"));
	assert_true(driver_await_commands(marker, 0, 5000));
	quiet_command(0, ARGUMENTS("wait", name));
	struct events events = log_events();
	assert_verdict(&events, "stopped", "stopped", "owner_stop");
	assert_verdict(&events, "other", "pass", "");
	events_release(&events);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static int boundaries(const char *cgroup)
{
	int count = 0;
	_cleanup_closedir_ DIR *stream = opendir(cgroup);
	for (struct dirent *entry; stream && (entry = readdir(stream));)
		count += entry->d_type == DT_DIR && entry->d_name[0] != '.';
	return count;
}

/*
 * The stop that goes past a core that stands still: its worker lives, and removes each boundary as it becomes empty. The
 * proof counts the runs' that are gone, whoever removed them; one that was prepared ahead is none.
 */
static void test_stop_beside_a_live_worker(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "one", marker, NULL }, { "two", marker, NULL }, { "three", marker, NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "beside", 3, tasks);
	_cleanup_free_ char *name = detach(file);
	assert_true(driver_await_more(marker, 3, 20000));
	_cleanup_free_ char *run = driver_newest(&driver), *text = driver_read(&driver, "boundary.json");
	_cleanup_free_ char *worker = scratch_text("%s/proctor-worker", PROCTOR_BUILD);
	struct json_object *boundary = json_tokener_parse(text ? text : "");
	const char *cgroup = member_text(boundary, "cgroup");
	pid_t core = driver_core(&driver);
	assert_true(core > 0);
	kill(core, SIGSTOP);
	clock_sleep_ns(200 * NS_PER_MS);
	int before = boundaries(cgroup);
	_cleanup_process_ struct process stop = PROCESS_INIT;
	int code = process_run(&stop, &(struct process_start){ .argv = ARGUMENTS(worker, "--stop", run) }, 20000);
	int left = boundaries(cgroup);
	kill(core, SIGCONT);
	assert_int_equal(code, 0);
	struct json_object *proof = json_tokener_parse(stop.output.data);
	if (before < 3 || left != 0 || member_number(proof, "removed", -1) != 3 || member_number(proof, "remaining", -1) != 0 ||
	    member_number(proof, "killed", -1) < 3)
		fail_msg("of %d boundaries %d are left, and the proof says %s", before, left, stop.output.data);
	json_object_put(proof);
	json_object_put(boundary);
	/* Nobody told the core to stop: it goes on with what is left, which is nothing. */
	_cleanup_process_ struct process wait = PROCESS_INIT;
	assert_int_not_equal(driver_run(&driver, &wait, 30000, ARGUMENTS("wait", name)), -ETIMEDOUT);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static void test_stop_of_a_task_that_is_not_there(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "one", marker, NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "stop-none", 1, tasks);
	_cleanup_free_ char *name = detach(file);
	assert_true(driver_await_more(marker, 1, 20000));
	_cleanup_process_ struct process stop = PROCESS_INIT;
	command(&stop, 2, ARGUMENTS("stop", name, "--task", "nobody"));
	assert_non_null(strstr(stop.error.data, "nobody"));
	assert_true(driver_count_commands(marker) >= 1);
	quiet_command(0, ARGUMENTS("stop", name));
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static void test_drain(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "running", "sleep 2; touch done", NULL }, { "queued", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "drain", 1, tasks);
	_cleanup_free_ char *name = detach(file);
	assert_true(driver_await_log(&driver, "\"agent\"", 20000));
	quiet_command(0, ARGUMENTS("drain", name));
	quiet_command(3, ARGUMENTS("wait", name));
	struct events events = log_events();
	assert_verdict(&events, "running", "pass", "");
	struct json_object *finished = events_find(&events, "round.finished", NULL, 0);
	assert_string_equal(member_text(finished, "state"), "drained");
	assert_int_equal(member_number(finished, "stopped", -1), 1);
	assert_int_equal(events_count(&events, "task.phase", "queued"), 0);
	events_release(&events);

	quiet_command(0, ARGUMENTS("run", "--resume", name, "--display", "json"));
	events = log_events();
	assert_int_equal(member_number(events.list[events.count - 1], "pass", -1), 2);
	events_release(&events);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

static void test_list_and_watch_of_what_is_over(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "one", "touch done", NULL }, { "two", "true", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "over", 2, tasks);
	quiet_command(0, ARGUMENTS("run", file, "--display", "plain"));
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	assert_non_null(log);

	_cleanup_process_ struct process list = PROCESS_INIT;
	command(&list, 0, ARGUMENTS("list", "--json"));
	struct json_object *rounds = json_tokener_parse(list.output.data);
	/* An array (formats), one round in it. */
	struct json_object *round = rounds && json_object_is_type(rounds, json_type_array) ?
					    json_object_array_get_idx(rounds, 0) : NULL;
	if (!round)
		fail_msg("list --json: %s", list.output.data);
	char head[65];
	chain_head(log, head);
	assert_string_equal(member_text(round, "head"), head);
	assert_string_equal(member_text(round, "state"), "finished");
	assert_int_equal(member_number(round, "tasks", -1), 2);
	assert_int_equal(member_number(round, "done", -1), 2);
	json_object_put(rounds);

	/* A watch of it is its log, from the first event to the last. */
	_cleanup_process_ struct process watch = PROCESS_INIT;
	command(&watch, 0, ARGUMENTS("watch", "over", "--display", "json"));
	struct events shown = events_read(watch.output.data), logged = events_read(log);
	size_t next = 0;
	for (size_t i = 0; i < shown.count && next < logged.count; i++)
		next += json_object_equal(shown.list[i], logged.list[next]);
	assert_int_equal(next, logged.count);
	events_release(&shown);
	events_release(&logged);

	_cleanup_process_ struct process plain = PROCESS_INIT;
	command(&plain, 0, ARGUMENTS("watch", "over", "--display", "plain"));
	assert_non_null(strstr(plain.output.data, "one"));
	assert_non_null(strstr(plain.output.data, "pass"));
}

/* Two watchers and a slow one: each sees the whole, the round does not wait for any. */
static void test_watchers(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "one", "sleep 1; touch done", NULL }, { "two", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "watched", 1, tasks);
	_cleanup_free_ char *name = detach(file);
	_cleanup_process_ struct process first = PROCESS_INIT, second = PROCESS_INIT, silent = PROCESS_INIT;
	assert_int_equal(driver_start(&driver, &first, ARGUMENTS("watch", name, "--display", "json")), 0);
	assert_int_equal(driver_start(&driver, &second, ARGUMENTS("watch", name, "--display", "json")), 0);
	assert_int_equal(driver_start(&driver, &silent, ARGUMENTS("watch", name, "--display", "json")), 0);
	quiet_command(0, ARGUMENTS("wait", name));
	assert_int_equal(process_wait(&first, 20000), 0);
	assert_int_equal(process_wait(&second, 20000), 0);
	_cleanup_free_ char *log = driver_read(&driver, "events.jsonl");
	struct events logged = events_read(log);
	struct process *watchers[] = { &first, &second };
	for (size_t w = 0; w < ELEMENTS(watchers); w++) {
		struct events shown = events_read(watchers[w]->output.data);
		size_t next = 0;
		for (size_t i = 0; i < shown.count && next < logged.count; i++)
			next += json_object_equal(shown.list[i], logged.list[next]);
		assert_int_equal(next, logged.count);
		events_release(&shown);
	}
	events_release(&logged);
	assert_int_equal(process_wait(&silent, 20000), 0);
	assert_int_equal(driver_left(&driver, 10000), 0);
}

/* A command to a round that is over, or that never was, is refused in words. */
static void test_commands_to_nobody(void **state)
{
	(void)state;
	const struct task_text tasks[] = { { "one", "touch done", NULL }, { 0 } };
	_cleanup_free_ char *file = driver_round(&driver, "gone", 1, tasks);
	quiet_command(0, ARGUMENTS("run", file, "--display", "json"));
	static const char *const verbs[] = { "freeze", "thaw", "drain" };
	for (size_t i = 0; i < ELEMENTS(verbs); i++) {
		_cleanup_process_ struct process over = PROCESS_INIT, never = PROCESS_INIT;
		command(&over, 2, ARGUMENTS(verbs[i], "gone"));
		assert_true(over.error.length > 0);
		command(&never, 2, ARGUMENTS(verbs[i], "no-such-round"));
		assert_non_null(strstr(never.error.data, "no-such-round"));
	}
	quiet_command(0, ARGUMENTS("wait", "gone"));
}

static int set_up(void **state)
{
	(void)state;
	driver_open(&driver);
	static int number;
	snprintf(marker, sizeof marker, "sleep 7%05d%02d", (int)getpid(), number++);
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
		CASE(test_freeze_and_thaw), CASE(test_asked_for_again), CASE(test_the_last_word_holds),
		CASE(test_a_stopped_task_is_not_done), CASE(test_stop_a_frozen_round), CASE(test_stop_then_resume), CASE(test_stop_one_task),
		CASE(test_stop_beside_a_live_worker),
		CASE(test_stop_of_a_task_that_is_not_there), CASE(test_drain), CASE(test_list_and_watch_of_what_is_over),
		CASE(test_watchers), CASE(test_commands_to_nobody),
	};
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
