/*
 * The life of a screen: resize, Ctrl-Z and fg, a SIGSTOP from elsewhere, a line that drops, a terminal that takes nothing,
 * a crash; and the keys that act on the round, from the terminal to the core and back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"
#include "tests/terminal/stand_in.h"
#include "tests/terminal/terminal.h"

#define PROGRAM PROCTOR_BUILD "/proctor"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

struct shared {
	volatile int done;	/* tasks of a flood that have a verdict */
};

static struct shared *shared;

static void play_steady(struct stand_in_core *core, void *argument)
{
	(void)argument;
	stand_in_open_round(core, 4, 2);
	stand_in_run_task(core, 1, "patched");
	stand_in_end_task(core, 1, "pass", "", 61000);
	stand_in_run_task(core, 2, "agent");
	stand_in_run_task(core, 3, "agent");
	int64_t ms = 60000;
	while (!stand_in_asked_to_stop(core)) {
		stand_in_progress(core, 2, 2, ms);
		stand_in_serve(core, 250);
		ms += stand_in_frozen(core) ? 0 : 250;
	}
	for (int task = 2; task <= 4; task++)
		stand_in_end_task(core, task, "stopped", "stopped by its owner", 1000);
	stand_in_event(core, "{\"type\":\"round.finished\",\"state\":\"stopped\",\"tasks\":4,\"pass\":1,\"fail\":0,\"invalid\":0,"
		       "\"error\":0,\"stopped\":3,\"spend_usd_micro\":0,\"wall_ms\":70000,\"head\":\"0\"}");
	stand_in_serve(core, 60000);
}

static void play_flood(struct stand_in_core *core, void *argument)
{
	(void)argument;
	stand_in_open_round(core, 2000, 4);
	for (int task = 1; task < 2000; task++) {
		stand_in_run_task(core, task, "patched");
		stand_in_end_task(core, task, task % 2 ? "pass" : "fail", "", 61000);
		shared->done = task;
		stand_in_serve(core, 5);
	}
	stand_in_serve(core, 60000);
}

static void open_watch(struct terminal *terminal, const struct stand_in *round, bool control)
{
	const char *argv[] = { PROGRAM, "watch", "--display", "full", control ? "--control" : NULL, NULL };
	assert_int_equal(terminal_start(terminal, &(struct terminal_start){ .argv = argv, .environment = round->variables,
			.term = "xterm-256color" }), 0);
	if (!terminal_await(terminal, "task-003", 8000))
		fail_msg("no screen, but\n%s", terminal_screen(terminal));
}

static bool is_alive(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == 0;
}

static void test_resize(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	open_watch(&terminal, &round, false);
	static const int sizes[][2] = { { 40, 120 }, { 12, 40 }, { 5, 30 }, { 30, 100 }, { 24, 80 } };
	for (size_t i = 0; i < ELEMENTS(sizes); i++) {
		terminal_resize(&terminal, sizes[i][0], sizes[i][1]);
		if (sizes[i][0] < 12) {
			assert_true(terminal_await_gone(&terminal, "detach", 3000));
			continue;
		}
		int64_t end = clock_mono_ns() + 3 * NS_PER_S;
		bool there = false;
		while (!there && clock_mono_ns() < end) {
			terminal_listen(&terminal, 50);
			_cleanup_free_ char *first = terminal_row(&terminal, 0), *last = terminal_row(&terminal, sizes[i][0] - 1);
			there = strstr(first, "demo") && (strstr(last, "detach") || strstr(last, "Enter"));
		}
		if (!there)
			fail_msg("after a resize to %dx%d:\n%s", sizes[i][1], sizes[i][0], terminal_screen(&terminal));
	}
	/* Many at once, as a window that is dragged. */
	for (int columns = 60; columns < 120; columns++)
		terminal_resize(&terminal, 30, columns);
	assert_true(terminal_await(&terminal, "detach", 3000));
	terminal_type(&terminal, "d");
	assert_int_equal(terminal_wait(&terminal, 5000), 0);
	assert_true(is_alive(round.pid));
}

static void test_put_aside_and_fetched_back(void **state)
{
	(void)state;
	if (access("/bin/bash", X_OK) < 0)
		skip_test("bash is not installed");
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	const char *variables[8] = { "PS1=prompt> " };
	for (size_t i = 0; round.variables[i]; i++)
		variables[i + 1] = round.variables[i];
	const char *argv[] = { "/bin/bash", "--norc", "--noprofile", "--noediting", "-i", NULL };
	assert_int_equal(terminal_start(&terminal, &(struct terminal_start){ .argv = argv, .environment = variables,
			.term = "xterm-256color" }), 0);
	assert_true(terminal_await(&terminal, "prompt>", 5000));
	terminal_type(&terminal, PROGRAM " watch --display full\n");
	assert_true(terminal_await(&terminal, "task-003", 8000));
	for (int i = 0; i < 2; i++) {
		terminal_type(&terminal, "\x1a");
		if (!terminal_await(&terminal, "Stopped", 5000))
			fail_msg("Ctrl-Z:\n%s", terminal_screen(&terminal));
		assert_false(terminal.alternate);
		/* The shell has its lines back: what is typed is echoed. */
		terminal_type(&terminal, "echo back-in-the-$((40+2))\n");
		assert_true(terminal_await(&terminal, "back-in-the-42", 3000));
		terminal_type(&terminal, "fg\n");
		if (!terminal_await(&terminal, "detach", 5000))
			fail_msg("fg:\n%s", terminal_screen(&terminal));
		assert_true(terminal.alternate);
		assert_true(terminal_await_gone(&terminal, "back-in-the-42", 3000));
		/* And it works: a key does what it did. */
		terminal_type(&terminal, "?");
		assert_true(terminal_await(&terminal, "Keys", 3000));
		terminal_type(&terminal, "?");
		assert_true(terminal_await(&terminal, "task-003", 3000));
	}
	terminal_type(&terminal, "q");
	assert_true(terminal_await(&terminal, "prompt>", 5000));
	terminal_type(&terminal, "exit\n");
	assert_true(terminal_wait(&terminal, 5000) >= 0);
}

static void test_stopped_from_elsewhere(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	open_watch(&terminal, &round, false);
	terminal_settle(&terminal, 100, 2000);
	kill(terminal.pid, SIGSTOP);
	assert_true(terminal_await_stopped(&terminal, 3000));
	/* Whoever stopped it used the terminal: its modes and its screen are another's now. */
	tcsetattr(terminal.slave, TCSANOW, &terminal.before);
	static const char others[] = "\x1b[?1049l\x1b[2J\x1b[Hsomebody else was here";
	assert_int_equal(write(terminal.slave, others, strlen(others)), strlen(others));
	assert_true(terminal_await(&terminal, "somebody else", 3000));
	kill(terminal.pid, SIGCONT);
	if (!terminal_await(&terminal, "detach", 3000) || terminal_shows(&terminal, "somebody else"))
		fail_msg("after SIGCONT:\n%s", terminal_screen(&terminal));
	assert_true(terminal.alternate);
	terminal_type(&terminal, "?");
	assert_true(terminal_await(&terminal, "Keys", 3000));
	terminal_type(&terminal, "q");
	assert_int_equal(terminal_wait(&terminal, 5000), 0);
	assert_true(terminal_modes_restored(&terminal));
}

static void test_the_line_drops(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	open_watch(&terminal, &round, true);
	terminal_hang_up(&terminal);
	if (terminal_wait(&terminal, 3000) == -ETIMEDOUT)
		fail_msg("it lives on without a terminal");
	assert_true(is_alive(round.pid));
	/* And once more by somebody else. */
	_cleanup_terminal_ struct terminal again = TERMINAL_INIT;
	open_watch(&again, &round, false);
	terminal_type(&again, "q");
	assert_int_equal(terminal_wait(&again, 5000), 0);
}

static void test_restored_after_any_end(void **state)
{
	(void)state;
	static const int signals[] = { SIGSEGV, SIGABRT, SIGBUS, SIGTERM, SIGINT };
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	for (size_t i = 0; i < ELEMENTS(signals); i++) {
		_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
		open_watch(&terminal, &round, false);
		assert_true(terminal.alternate);
		kill(terminal.pid, signals[i]);
		int code = terminal_wait(&terminal, 5000);
		if (code == -ETIMEDOUT && signals[i] == SIGINT) {
			kill(terminal.pid, SIGINT);	/* as Ctrl-C: the first explains */
			code = terminal_wait(&terminal, 5000);
		}
		terminal_listen(&terminal, 50);
		if (code == -ETIMEDOUT)
			fail_msg("signal %d did not end it", signals[i]);
		if (!terminal_modes_restored(&terminal) || terminal.alternate || terminal.cursor_hidden)
			fail_msg("signal %d left the terminal: modes %d, alternate screen %d, cursor hidden %d", signals[i],
				 terminal_modes_restored(&terminal), terminal.alternate, terminal.cursor_hidden);
		/* A crash is still seen as one, where a sanitizer does not make an exit of it. */
		if (!SANITIZED && (signals[i] == SIGSEGV || signals[i] == SIGABRT || signals[i] == SIGBUS))
			assert_int_equal(code, 128 + signals[i]);
	}
	assert_true(is_alive(round.pid));
}

static void test_ctrl_c_explains_then_detaches(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	open_watch(&terminal, &round, true);
	terminal_type(&terminal, "\x03");
	if (!terminal_await(&terminal, "Ctrl-C", 3000))
		fail_msg("Ctrl-C explains nothing:\n%s", terminal_screen(&terminal));
	assert_int_equal(terminal_wait(&terminal, 300), -ETIMEDOUT);
	terminal_type(&terminal, "\x03");
	assert_int_equal(terminal_wait(&terminal, 5000), 0);
	assert_true(is_alive(round.pid));
	assert_true(terminal_modes_restored(&terminal));
}

static void test_the_stop_key(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT, onlooker = TERMINAL_INIT;
	open_watch(&terminal, &round, true);
	open_watch(&onlooker, &round, false);

	int64_t start = clock_mono_ns();
	terminal_type(&terminal, "S");
	if (!terminal_await(&terminal, "FROZEN in 3", 3000))
		fail_msg("S:\n%s", terminal_screen(&terminal));
	print_message("S to FROZEN on the screen: %.0f ms\n", (double)(clock_mono_ns() - start) / (double)NS_PER_MS);
	assert_true(terminal_await(&terminal, "41 processes", 1000));
	assert_true(terminal_await(&onlooker, "FROZEN", 3000));
	terminal_type(&terminal, "\x1b");
	assert_true(terminal_await_gone(&terminal, "FROZEN", 3000));
	assert_true(terminal_await_gone(&onlooker, "FROZEN", 3000));

	/* Who only looks steers nothing, and is told so. */
	terminal_type(&onlooker, "S");
	terminal_listen(&onlooker, 500);
	assert_false(terminal_shows(&onlooker, "FROZEN in"));
	assert_true(terminal_shows(&onlooker, "--control"));

	terminal_type(&terminal, "S");
	assert_true(terminal_await(&terminal, "FROZEN in 3", 3000));
	terminal_type(&terminal, "S");
	if (!terminal_await(&terminal, "STOPPED in 9", 5000))
		fail_msg("S S:\n%s", terminal_screen(&terminal));
	assert_true(terminal_shows(&terminal, "41 processes killed"));
	assert_true(terminal_shows(&terminal, "0 remaining"));
	assert_true(terminal_shows(&terminal, "2 boundaries removed"));
	assert_true(terminal_await(&onlooker, "STOPPED in 9", 3000));
	assert_false(terminal_shows(&onlooker, "--control"));
	terminal_type(&terminal, "q");
	terminal_type(&onlooker, "q");
	assert_true(terminal_wait(&terminal, 5000) >= 0);
	assert_true(terminal_wait(&onlooker, 5000) >= 0);
	terminal_release(&onlooker);
}

/* A tail of an escape sequence, a stray report of a mouse, a paste: none of them stops or thaws anything. */
static void test_stray_sequences_do_nothing(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	open_watch(&terminal, &round, true);
	static const char *const strays[] = { "\x1b[1;2S", "\x1b[<0;33;12M", "\x1b[200~", "\x1b[13;5u", "\x1bOS", "\x1b[I", "\x1b[O",
					      "\x1b[5;1S", "\x1b[M S!", "\x1b[[D" };
	for (size_t i = 0; i < ELEMENTS(strays); i++) {
		terminal_type(&terminal, strays[i]);
		terminal_listen(&terminal, 150);
		if (terminal_shows(&terminal, "FROZEN") || terminal.ended)
			fail_msg("stray sequence %zu acted", i);
	}
	terminal_type(&terminal, "q");
	assert_int_equal(terminal_wait(&terminal, 5000), 0);
}

/* A terminal that takes nothing: the front waits without turning, and shows the newest once it takes again. */
static void test_a_full_terminal(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	shared->done = 0;
	stand_in_start(&round, play_flood, NULL);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	const char *argv[] = { PROGRAM, "watch", "--display", "full", NULL };
	assert_int_equal(terminal_start(&terminal, &(struct terminal_start){ .argv = argv, .environment = round.variables,
			.term = "xterm-256color", .rows = 50, .columns = 200 }), 0);
	assert_true(terminal_await(&terminal, "task-0", 8000));
	int64_t cpu[2], switches[2];
	assert_true(process_cost(terminal.pid, &cpu[0], &switches[0]));
	int before = shared->done;
	clock_sleep_ns(5 * NS_PER_S);
	assert_true(process_cost(terminal.pid, &cpu[1], &switches[1]));
	print_message("while the terminal took nothing: %.1f ms of CPU a second, %d tasks went by\n",
		      (double)(cpu[1] - cpu[0]) / 5e6, shared->done - before);
	assert_true(cpu[1] - cpu[0] < 4 * NS_PER_S);
	terminal_resize(&terminal, 50, 200);
	int done = shared->done;
	bool newest = false;
	for (int waits = 0; waits < 300 && !newest; waits++) {
		int shown = -1;
		terminal_listen(&terminal, 50);
		_cleanup_free_ char *screen = terminal_screen(&terminal);
		const char *of = strstr(screen, " of 2000 done");
		for (const char *at = of; at && at > screen && at[-1] >= '0' && at[-1] <= '9'; at--)
			shown = atoi(at - 1);
		newest = shown >= done;
	}
	if (!newest)
		fail_msg("%d tasks were done, the screen says\n%s", done, terminal_screen(&terminal));
	terminal_type(&terminal, "q");
	assert_int_equal(terminal_wait(&terminal, 5000), 0);
}

/* Without reading: its exit code, 128 + the signal, or -1 where it still runs. */
static int end_unread(struct terminal *terminal, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	while (clock_mono_ns() < end) {
		if (waitpid(terminal->pid, &terminal->status, WNOHANG) == terminal->pid) {
			terminal->ended = true;
			return WIFEXITED(terminal->status) ? WEXITSTATUS(terminal->status) : 128 + WTERMSIG(terminal->status);
		}
		clock_sleep_ns(10 * NS_PER_MS);
	}
	return -1;
}

/* A terminal that takes nothing and never will: whoever leaves does not wait for it, nor who is told to end. */
static void test_leaving_a_full_terminal(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play_steady, NULL);
	static const struct {
		const char *key;
		int signal, code;
	} ways[] = { { "d", 0, 0 }, { NULL, SIGTERM, 128 + SIGTERM }, { "\x03\x03", 0, 0 }, { NULL, SIGHUP, 128 + SIGHUP } };
	for (size_t i = 0; i < ELEMENTS(ways); i++) {
		_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
		open_watch(&terminal, &round, true);
		char path[64];
		assert_int_equal(ttyname_r(terminal.slave, path, sizeof path), 0);
		_cleanup_close_ int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		char bytes[4096];
		memset(bytes, '.', sizeof bytes);
		for (int full = 0; full < 20;) {
			full += write(fd, bytes, sizeof bytes) < 0;
			clock_sleep_ns(full ? 5 * NS_PER_MS : 0);
		}
		int64_t start = clock_mono_ns();
		if (ways[i].key)
			assert_int_equal(write(terminal.fd, ways[i].key, strlen(ways[i].key)), strlen(ways[i].key));
		else
			kill(terminal.pid, ways[i].signal);
		int code = end_unread(&terminal, 5000);
		print_message("way %zu out of a full terminal: %.1f s\n", i, (double)(clock_mono_ns() - start) / (double)NS_PER_S);
		if (code != ways[i].code)
			fail_msg("way %zu: %d, not %d", i, code, ways[i].code);
	}
	assert_true(is_alive(round.pid));
}

int main(void)
{
	if (access(PROGRAM, X_OK) < 0)
		skip_program("%s is not built", PROGRAM);
	if (!terminal_has_screen())
		skip_program("libvterm-dev was not there when this was built");
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_put_aside_and_fetched_back),
		cmocka_unit_test(test_stopped_from_elsewhere),
		cmocka_unit_test(test_the_line_drops),
		cmocka_unit_test(test_restored_after_any_end),
		cmocka_unit_test(test_ctrl_c_explains_then_detaches),
		cmocka_unit_test(test_the_stop_key),
		cmocka_unit_test(test_stray_sequences_do_nothing),
		cmocka_unit_test(test_a_full_terminal),
		cmocka_unit_test(test_leaving_a_full_terminal),
	};
	return cmocka_run_group_tests_name("life of a screen", tests, NULL, NULL);
}
