/*
 * The front as a user starts it, against a core that follows a script (test_tui_core.c): exit codes, what goes to
 * which output, the gate, detaching, and what it does when a core is slow, mute or gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <json-c/json.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

#define FRONT PROCTOR_BUILD "/tests/unit/front/proctor"
#define NAME "fake-20260102-030405"
#define WAIT_MS 20000

static char *root, *state_home, *runtime, *resume;

#define OPENED \
	"{\"type\":\"round.opened\",\"round\":\"" NAME "\",\"name\":\"fake\",\"kind\":\"smoke\",\"dir\":\"/d\",\"tasks\":[{\"task\":\"one\"," \
	"\"source\":\"d\"}],\"parallel\":1,\"agent\":\"claude\",\"wall_clock_ms\":60000,\"tests_wall_clock_ms\":5000,\"resumed\":false}\n"
#define GATE "{\"type\":\"round.gate\",\"state\":\"waiting\",\"by\":null}\ngate\n{\"type\":\"round.gate\",\"state\":\"open\",\"by\":\"command\"}\n"
#define STARTED "{\"type\":\"round.started\"}\n"
#define VERDICT \
	"{\"type\":\"task.verdict\",\"task\":\"one\",\"status\":\"ok\",\"verdict\":\"fail\",\"reward\":0.0,\"charged_to\":\"candidate\"," \
	"\"reason\":\"patched did not meet its declared expectation\",\"wall_ms\":5}\n"
#define FINISHED \
	"{\"type\":\"round.finished\",\"state\":\"finished\",\"tasks\":1,\"pass\":0,\"fail\":1,\"invalid\":0,\"error\":0,\"stopped\":0," \
	"\"wall_ms\":9}\n"
#define WHOLE OPENED STARTED VERDICT FINISHED

static char *script(const char *text)
{
	char *path = scratch_text("%s/script.round.json", root);
	assert_int_equal(scratch_write(path, 0600, text), 0);
	return path;
}

static void start_with(struct process *process, int (*before_exec)(void *), void *argument, const char *const *arguments)
{
	const char *argv[16] = { FRONT };
	const char *const environment[] = { state_home, runtime, resume, "LC_ALL=C", NULL };
	for (size_t i = 0; arguments[i]; i++)
		argv[i + 1] = arguments[i];
	struct process_start how = { .argv = argv, .environment = environment, .directory = root, .before_exec = before_exec,
				     .argument = argument };
	assert_int_equal(process_start(process, &how), 0);
}

#define ARGUMENTS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define start(process, ...) start_with(process, NULL, NULL, ARGUMENTS(__VA_ARGS__))

/* To its end, with this exit code. */
#define expect(process, code, ...) do { \
		start(process, __VA_ARGS__); \
		expect_end(process, code); \
	} while (0)

static void expect_end(struct process *process, int want)
{
	int code = process_wait(process, WAIT_MS);
	if (code != want)
		fail_msg("exit code %d, not %d: %s%s", code, want, process->output.data, process->error.data);
}

static void assert_said(const struct buffer *text, const char *words)
{
	if (!strstr(text->data, words))
		fail_msg("'%s' is not in: %s", words, text->data);
}

/* The seq of each line counts from 1 without a gap. */
static size_t assert_all_events(const char *text)
{
	int64_t next = 1;
	for (const char *line = text; *line; line = strchr(line, '\n') + 1, next++) {
		struct json_object *event = json_tokener_parse(line), *seq = NULL;
		if (!event || !json_object_object_get_ex(event, "seq", &seq) || json_object_get_int64(seq) != next)
			fail_msg("event %lld is: %s", (long long)next, line);
		json_object_put(event);
		assert_non_null(strchr(line, '\n'));
	}
	return (size_t)(next - 1);
}

static void test_a_whole_round(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(WHOLE);
	_cleanup_process_ struct process plain = PROCESS_INIT, watch = PROCESS_INIT, json = PROCESS_INIT, wait = PROCESS_INIT;
	/* A candidate that fails is no failure of the round. */
	expect(&plain, 0, "run", file, "--yes", "--display", "plain");
	assert_said(&plain.output, "one          FAIL 0.0: patched did not meet its declared expectation; charged to candidate");
	assert_said(&plain.output, "summary      1 task: 0 pass, 1 fail");
	assert_string_equal(plain.error.data, "");
	expect(&watch, 0, "watch");
	assert_string_equal(watch.output.data, plain.output.data);
	expect(&json, 0, "watch", "fake", "--display", "json");
	assert_int_equal(assert_all_events(json.output.data), 4);
	_cleanup_free_ char *log_path = scratch_text("%s/state/proctor/rounds/" NAME "/events.jsonl", root);
	_cleanup_free_ char *log = scratch_read(log_path);
	assert_string_equal(json.output.data, log);
	expect(&wait, 0, "wait", "fake");
	assert_string_equal(wait.output.data, "");
}

static void test_what_a_slow_watcher_missed_comes_from_the_log(void **state)
{
	(void)state;
	/* "pause" returns when the watcher is there, so that it has only the wire for what comes then. */
	_cleanup_free_ char *file = script(OPENED "pause\n" STARTED "hidden " VERDICT "hidden " VERDICT VERDICT "hold\n");
	_cleanup_process_ struct process process = PROCESS_INIT, stop = PROCESS_INIT;
	start(&process, "run", file, "--yes", "--display", "json");
	/* While the round goes on, not at its end. */
	assert_true(process_await(&process, "\"seq\":5", 5000));
	expect(&stop, 0, "stop", NAME);
	expect_end(&process, 3);
	assert_int_equal(assert_all_events(process.output.data), 7);
}

static void test_the_end_alone_was_missed(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED "pause\n" STARTED "hidden " FINISHED);
	_cleanup_process_ struct process process = PROCESS_INIT;
	expect(&process, 0, "run", file, "--yes", "--display", "json");
	assert_int_equal(assert_all_events(process.output.data), 3);
}

static void test_refused_by_the_core(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script("refuse x.round.json:1:3: unknown key\n");
	_cleanup_process_ struct process run = PROCESS_INIT, check = PROCESS_INIT;
	expect(&run, 2, "run", file, "--yes");
	assert_string_equal(run.error.data, "x.round.json:1:3: unknown key\n");
	assert_string_equal(run.output.data, "");
	expect(&check, 2, "check", file);
}

static void test_preflight_that_fails(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED
		"{\"type\":\"preflight.verdict\",\"ok\":1,\"warn\":0,\"fail\":1,\"unknown\":0}\n" FINISHED);
	_cleanup_process_ struct process process = PROCESS_INIT;
	expect(&process, 2, "run", file, "--yes");
	assert_said(&process.output, "1 FAIL, 0 unknown: the round cannot start");
}

static void test_nobody_to_ask(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED GATE STARTED "hold\n");
	_cleanup_process_ struct process process = PROCESS_INIT, list = PROCESS_INIT;
	expect(&process, 2, "run", file);
	assert_said(&process.error, "--yes");
	assert_string_equal(process.output.data, "");
	/* Nothing of it was made. */
	expect(&list, 0, "list", "--json");
	assert_string_equal(list.output.data, "[]\n");
}

static void test_interrupted(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED STARTED "die\n");
	_cleanup_process_ struct process run = PROCESS_INIT, list = PROCESS_INIT, json = PROCESS_INIT, freeze = PROCESS_INIT,
		again = PROCESS_INIT, after = PROCESS_INIT;
	expect(&run, 2, "run", file, "--yes");
	assert_said(&run.error, "proctor run --resume " NAME);
	expect(&list, 0, "list");
	assert_said(&list.output, "interrupted");
	assert_said(&list.output, "proctor run --resume " NAME);
	expect(&json, 0, "list", "--json");
	assert_said(&json.output, "\"state\":\"interrupted\"");
	expect(&freeze, 2, "freeze", NAME);
	assert_said(&freeze.error, "does not run: it is interrupted");
	assert_said(&freeze.error, "proctor run --resume " NAME " goes on");

	/* It is shown from its first event on, the end before the resume included. */
	_cleanup_free_ char *rest = scratch_text("%s/resume", root);
	scratch_write(rest, 0600, OPENED STARTED VERDICT FINISHED);
	expect(&again, 0, "run", "--resume", "fake", "--yes", "--display", "json");
	assert_int_equal(assert_all_events(again.output.data), 6);
	expect(&after, 0, "list", "--json");
	assert_said(&after.output, "\"state\":\"finished\"");
}

/* --detach prints the name, for a script to take, and the round goes on. */
static void detach(const char *text, struct process *process)
{
	_cleanup_free_ char *file = script(text);
	expect(process, 0, "run", file, "--yes", "--detach");
	assert_string_equal(process->output.data, NAME "\n");
}

static void test_the_ladder(void **state)
{
	(void)state;
	_cleanup_process_ struct process run = PROCESS_INIT, list = PROCESS_INIT, freeze = PROCESS_INIT, thaw = PROCESS_INIT,
		nobody = PROCESS_INIT, stop = PROCESS_INIT, wait = PROCESS_INIT, over = PROCESS_INIT, watch = PROCESS_INIT;
	detach(OPENED STARTED "hold\n", &run);
	start(&watch, "watch", NAME);
	expect(&freeze, 0, "freeze", "fake");
	assert_said(&freeze.output, "FROZEN in 2.5 ms: 2 runs, 41 processes stand still");
	expect(&list, 0, "list", "--json");
	assert_said(&list.output, "\"state\":\"frozen\"");
	expect(&thaw, 0, "thaw", NAME);
	expect(&nobody, 2, "stop", NAME, "--task", "nobody");
	assert_said(&nobody.error, "nobody");
	start(&wait, "wait", NAME);
	expect(&stop, 0, "stop", NAME);
	assert_said(&stop.output, "STOPPED in 9 ms: 41 processes killed, 0 remaining, 2 boundaries removed; resume: proctor run --resume " NAME);
	expect_end(&wait, 3);
	expect_end(&watch, 0);
	expect(&over, 2, "stop", NAME);
	assert_said(&over.error, "does not run: it is stopped");
}

static void test_a_gate_is_opened_from_elsewhere(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED GATE STARTED VERDICT FINISHED);
	_cleanup_process_ struct process run = PROCESS_INIT, list = PROCESS_INIT, open = PROCESS_INIT, wait = PROCESS_INIT;
	expect(&run, 0, "run", file, "--detach");
	assert_string_equal(run.output.data, NAME "\n");
	expect(&list, 0, "list", "--json");
	assert_said(&list.output, "\"state\":\"waiting\"");
	expect(&open, 0, "start", NAME);
	expect(&wait, 0, "wait", NAME);
}

/* The front is cut off in each way; the round is there afterwards, and ends when told to. */
static void assert_goes_on(void)
{
	_cleanup_process_ struct process list = PROCESS_INIT, stop = PROCESS_INIT;
	expect(&list, 0, "list", "--json");
	assert_said(&list.output, "\"state\":\"running\"");
	expect(&stop, 0, "stop", NAME);
}

static void test_ctrl_c_explains_then_detaches(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED STARTED "hold\n");
	_cleanup_process_ struct process process = PROCESS_INIT;
	start(&process, "run", file, "--yes");
	assert_true(process_await(&process, "started", WAIT_MS));
	kill(process.pid, SIGINT);
	process_listen(&process, 300);
	assert_false(process.ended);
	assert_said(&process.error, "proctor stop " NAME);
	kill(process.pid, SIGINT);
	expect_end(&process, 0);
	assert_said(&process.error, "detached");
	assert_goes_on();
}

static void test_a_hang_up_detaches(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED STARTED "hold\n");
	_cleanup_process_ struct process process = PROCESS_INIT;
	start(&process, "run", file, "--yes");
	assert_true(process_await(&process, "started", WAIT_MS));
	kill(process.pid, SIGHUP);
	expect_end(&process, 128 + SIGHUP);
	assert_goes_on();
}

/* nohup(1): the signal was ignored at the start, and stays so. */
static int ignore_hang_up(void *argument)
{
	(void)argument;
	return signal(SIGHUP, SIG_IGN) == SIG_ERR;
}

static void test_a_hang_up_under_nohup(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED STARTED "hold\n");
	_cleanup_process_ struct process process = PROCESS_INIT;
	start_with(&process, ignore_hang_up, NULL, ARGUMENTS("run", file, "--yes"));
	assert_true(process_await(&process, "started", WAIT_MS));
	kill(process.pid, SIGHUP);
	process_listen(&process, 300);
	assert_false(process.ended);
	assert_goes_on();
	expect_end(&process, 3);
}

static void test_a_reader_that_goes_away_detaches(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED STARTED "hold\n");
	_cleanup_process_ struct process process = PROCESS_INIT;
	start(&process, "run", file, "--yes");
	assert_true(process_await(&process, "started", WAIT_MS));
	close(process.output_fd);
	process.output_fd = -1;
	expect_end(&process, 0);
	assert_said(&process.error, "detached");
	assert_goes_on();
}

static void test_attached_ends_with_it(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED STARTED "hold\n");
	_cleanup_process_ struct process told = PROCESS_INIT, killed = PROCESS_INIT, wait = PROCESS_INIT;
	start(&told, "run", file, "--yes", "--attached");
	assert_true(process_await(&told, "started", WAIT_MS));
	kill(told.pid, SIGTERM);
	expect_end(&told, 3);
	assert_said(&told.output, "STOPPED in 9 ms");

	start(&killed, "run", file, "--yes", "--attached");
	assert_true(process_await(&killed, "started", WAIT_MS));
	kill(killed.pid, SIGKILL);
	expect_end(&killed, 128 + SIGKILL);
	/* Its end is in the log, without anyone to have sent a command. */
	expect(&wait, 3, "wait", NAME);
}

/* Standard input and standard error are a terminal: its other end is `master`. */
static int on_terminal(void *argument)
{
	int fd = open(argument, O_RDWR);
	return fd < 0 || setsid() < 0 || ioctl(fd, TIOCSCTTY, 0) < 0 || dup2(fd, 0) < 0 || dup2(fd, 2) < 0;
}

static void answer_at_gate(const char *answer, int code, const char *seen)
{
	_cleanup_free_ char *file = script(OPENED GATE STARTED VERDICT FINISHED);
	_cleanup_process_ struct process process = PROCESS_INIT;
	_cleanup_close_ int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char slave[64];
	assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
	assert_int_equal(ptsname_r(master, slave, sizeof slave), 0);
	start_with(&process, on_terminal, slave, ARGUMENTS("run", file, "--display", "plain"));
	assert_true(process_await(&process, "waits for its owner", WAIT_MS));

	/* The question comes after what leads to it, and says what would run. */
	char asked[2048] = "";
	size_t used = 0;
	int64_t until_ns = clock_mono_ns() + 10 * NS_PER_S;
	fcntl(master, F_SETFL, O_NONBLOCK);
	while (!strstr(asked, "Start? [y/N] ") && clock_mono_ns() < until_ns) {
		ssize_t length = read(master, asked + used, sizeof asked - 1 - used);
		used += length > 0 ? (size_t)length : 0;
		clock_sleep_ns(5 * NS_PER_MS);
	}
	if (!strstr(asked, "1 task (one), 1 at a time, with the agent claude") || !strstr(asked, "1:00 for the agent"))
		fail_msg("asked: %s", asked);
	assert_int_equal(write(master, answer, strlen(answer)), strlen(answer));
	expect_end(&process, code);
	assert_said(&process.output, seen);
}

static void test_the_question(void **state)
{
	(void)state;
	answer_at_gate("y\n", 0, "gate open");
}

static void test_the_question_answered_no(void **state)
{
	(void)state;
	answer_at_gate("\n", 3, "STOPPED");
}

/* At the question Ctrl-C is a no. */
static void test_the_question_interrupted(void **state)
{
	(void)state;
	answer_at_gate("\003", 3, "STOPPED");
}

/* A stop does not depend on the core: it is done by the worker's own program, and says so. */
static void test_a_mute_core(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED STARTED "mute\n");
	_cleanup_process_ struct process run = PROCESS_INIT, freeze = PROCESS_INIT, stop = PROCESS_INIT;
	expect(&run, 0, "run", file, "--yes", "--detach");
	expect(&freeze, 2, "freeze", NAME);
	assert_said(&freeze.error, "does not answer");
	expect(&stop, 0, "stop", NAME);
	assert_said(&stop.error, "does not answer");
	assert_said(&stop.output, "STOPPED in 4 ms: 7 processes killed, 0 remaining, 1 boundary removed");
	/* The remedy names the core, and it is one that works. */
	const char *remedy = strstr(stop.error.data, "kill -9 ");
	assert_non_null(remedy);
	pid_t core = (pid_t)atoi(remedy + strlen("kill -9 "));
	assert_true(core > 1);
	assert_int_equal(kill(core, SIGKILL), 0);
	_cleanup_process_ struct process list = PROCESS_INIT;
	for (int tries = 0; tries < 100; tries++) {
		process_release(&list);
		expect(&list, 0, "list", "--json");
		if (strstr(list.output.data, "interrupted"))
			return;
		clock_sleep_ns(20 * NS_PER_MS);
	}
	fail_msg("not interrupted: %s", list.output.data);
}

static void test_a_stop_that_leaves_something(void **state)
{
	(void)state;
	_cleanup_free_ char *file = script(OPENED STARTED "die\n");
	_cleanup_process_ struct process run = PROCESS_INIT, stop = PROCESS_INIT;
	expect(&run, 2, "run", file, "--yes");
	setenv("FAKE_WORKER_LEAVES", "1", 1);
	start(&stop, "stop", NAME);
	unsetenv("FAKE_WORKER_LEAVES");
	expect_end(&stop, 1);
	assert_said(&stop.output, "2 remaining");
}

static void test_usage(void **state)
{
	(void)state;
	static const struct {
		const char *arguments[5], *hint;
	} cases[] = {
		{ { "wacth" }, "proctor watch" },
		{ { "run", "x", "--detahc" }, "--detach" },
		{ { "run" }, "run FILE" },
		{ { "run", "x", "--resume", "y" }, "--resume" },
		{ { "run", "x", "--attached", "--detach" }, "exclude" },
		{ { "stop" }, "stop ROUND" },
		{ { "watch", "--display", "jsno" }, "--display json" },
		{ { "list", "more" }, "more" },
		{ { "--versoin" }, "--version" },
		{ { "help", "waitt" }, "help wait" },
		{ { "help", "zzzzz" }, "try: proctor help\n" },
		{ { "list", "--zzzzz" }, "try: proctor help list\n" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_process_ struct process process = PROCESS_INIT;
		start_with(&process, NULL, NULL, cases[i].arguments);
		expect_end(&process, 64);
		assert_said(&process.error, cases[i].hint);
		assert_string_equal(process.output.data, "");
	}
}

/* Without a command: what there is, where errors go. */
static void test_no_command(void **state)
{
	(void)state;
	_cleanup_process_ struct process process = PROCESS_INIT;
	start_with(&process, NULL, NULL, (const char *const[]){ NULL });
	expect_end(&process, 64);
	assert_said(&process.error, "Usage: proctor COMMAND");
	assert_string_equal(process.output.data, "");
}

static void test_help_and_version(void **state)
{
	(void)state;
	_cleanup_process_ struct process version = PROCESS_INIT, help = PROCESS_INIT, run = PROCESS_INIT, same = PROCESS_INIT;
	expect(&version, 0, "--version");
	assert_string_equal(version.output.data, "proctor " PROCTOR_VERSION "\n");
	expect(&help, 0, "--help");
	assert_said(&help.output, "Usage: proctor COMMAND");
	expect(&run, 0, "run", "--help");
	expect(&same, 0, "help", "run");
	assert_string_equal(run.output.data, same.output.data);
}

static void test_no_rounds(void **state)
{
	(void)state;
	_cleanup_process_ struct process list = PROCESS_INIT, json = PROCESS_INIT, watch = PROCESS_INIT;
	expect(&list, 0, "list");
	assert_said(&list.output, "no rounds yet");
	expect(&json, 0, "list", "--json");
	assert_string_equal(json.output.data, "[]\n");
	expect(&watch, 2, "watch");
}

static int set_up(void **state)
{
	(void)state;
	/* Short, or the sockets would not lie in it (core/base/place.h) but where other tests put theirs. */
	root = strdup("/tmp/pf-XXXXXX");
	assert_non_null(mkdtemp(root));
	state_home = scratch_text("XDG_STATE_HOME=%s/state", root);
	runtime = scratch_text("XDG_RUNTIME_DIR=%s", root);
	resume = scratch_text("FAKE_CORE_RESUME=%s/resume", root);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	/* Rounds of a test that failed: a core ends when its round's lock cannot matter to anyone. */
	_cleanup_process_ struct process stop = PROCESS_INIT;
	start(&stop, "stop", NAME);
	process_wait(&stop, 6000);
	scratch_remove(root);
	free(root);
	free(state_home);
	free(runtime);
	free(resume);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_whole_round),
		TEST(test_what_a_slow_watcher_missed_comes_from_the_log),
		TEST(test_the_end_alone_was_missed),
		TEST(test_refused_by_the_core),
		TEST(test_preflight_that_fails),
		TEST(test_nobody_to_ask),
		TEST(test_interrupted),
		TEST(test_the_ladder),
		TEST(test_a_gate_is_opened_from_elsewhere),
		TEST(test_ctrl_c_explains_then_detaches),
		TEST(test_a_hang_up_detaches),
		TEST(test_a_hang_up_under_nohup),
		TEST(test_a_reader_that_goes_away_detaches),
		TEST(test_attached_ends_with_it),
		TEST(test_the_question),
		TEST(test_the_question_answered_no),
		TEST(test_the_question_interrupted),
		TEST(test_a_mute_core),
		TEST(test_a_stop_that_leaves_something),
		TEST(test_usage),
		TEST(test_no_command),
		TEST(test_help_and_version),
		TEST(test_no_rounds),
	};
	return cmocka_run_group_tests_name("tui_front", tests, NULL, NULL);
}
