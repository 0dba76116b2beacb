/*
 * The screen and a core that dies, stands still, comes back, or is another's: what is shown is what is so, and a key is
 * either done in its order or said not to be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"
#include "tests/terminal/stand_in.h"
#include "tests/terminal/terminal.h"

#define PROGRAM PROCTOR_BUILD "/proctor"
#define WAIT_MS 12000

static void play(struct stand_in_core *core, void *argument)
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
		stand_in_serve(core, 500);
		ms += stand_in_frozen(core) ? 0 : 500;
	}
	for (int task = 2; task <= 4; task++)
		stand_in_end_task(core, task, "stopped", "stopped by its owner", 1000);
	stand_in_event(core, "{\"type\":\"round.finished\",\"state\":\"stopped\",\"tasks\":4,\"pass\":1,\"fail\":0,\"invalid\":0,"
		       "\"error\":0,\"stopped\":3,\"spend_usd_micro\":0,\"wall_ms\":70000,\"head\":\"0\"}");
	stand_in_serve(core, 60000);
}

#define FLOOD_TASKS 300

static void play_flood(struct stand_in_core *core, void *argument)
{
	(void)argument;
	stand_in_open_round(core, FLOOD_TASKS, 24);
	for (int task = 1; task <= 24; task++)
		stand_in_run_task(core, task, "agent");
	stand_in_watched(core, 10000);
	for (int step = 0;; step++) {
		for (int i = 0; i < 4; i++)
			stand_in_eventf(core, "{\"type\":\"refusal\",\"task\":\"task-%03d\",\"phase\":\"agent\",\"layer\":\"limits\","
					"\"what\":\"fork\",\"object\":\"processes\",\"program\":\"sh\",\"ancestry\":\"\",\"errno\":\"EAGAIN\","
					"\"count\":%d,\"first_ms\":1,\"last_ms\":2,\"certainty\":\"recorded\"}", 1 + (step + i) % 24, step + 1);
		if (step % 50 == 0)
			stand_in_progress(core, 1, 24, 1000 + step * 20);
		stand_in_serve(core, 20);
	}
}

/* What proctor-worker --stop reads; its cgroup is not there, and so nothing of it runs. */
static void name_boundary(const struct stand_in *round)
{
	_cleanup_free_ char *path = scratch_text("%s/state/proctor/rounds/%s/boundary.json", round->root, round->name);
	assert_int_equal(scratch_write(path, 0600, "{\"cgroup\":\"/sys/fs/cgroup/proctor-that-is-gone\"}"), 0);
}

static void begin_watch(struct terminal *terminal, const struct stand_in *round, bool control, int rows, int columns)
{
	const char *argv[] = { PROGRAM, "watch", "--display", "full", control ? "--control" : NULL, NULL };
	assert_int_equal(terminal_start(terminal, &(struct terminal_start){ .argv = argv, .environment = round->variables,
			.term = "xterm-256color", .rows = rows, .columns = columns }), 0);
}

static void open_watch(struct terminal *terminal, const struct stand_in *round, bool control)
{
	begin_watch(terminal, round, control, 24, 100);
	if (!terminal_await(terminal, "running", 8000))
		fail_msg("no screen, but\n%s", terminal_screen(terminal));
	terminal_listen(terminal, 300);
}

static void assert_comes(struct terminal *terminal, const char *text)
{
	if (!terminal_await(terminal, text, WAIT_MS))
		fail_msg("no '%s' in\n%s", text, terminal_screen(terminal));
}

static void assert_goes(struct terminal *terminal, const char *text)
{
	if (!terminal_await_gone(terminal, text, WAIT_MS))
		fail_msg("'%s' stays in\n%s", text, terminal_screen(terminal));
}

/* One at a time, as a person presses them: an escape and what follows it would be a sequence. */
static void type_slowly(struct terminal *terminal, const char *keys)
{
	for (char key[2] = ""; (key[0] = *keys); keys++) {
		terminal_type(terminal, key);
		terminal_listen(terminal, 200);
	}
}

static void stand_still(const struct stand_in *round)
{
	int status;
	kill(round->pid, SIGSTOP);
	assert_int_equal(waitpid(round->pid, &status, WUNTRACED), round->pid);
}

static void leave(struct terminal *terminal)
{
	terminal_type(terminal, "q");
	assert_true(terminal_wait(terminal, 5000) >= 0);
}

static void test_killed_while_frozen(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	open_watch(&terminal, &round, true);
	terminal_type(&terminal, "S");
	assert_comes(&terminal, "FROZEN in 3");
	kill(round.pid, SIGKILL);
	assert_comes(&terminal, "INTERRUPTED");
	assert_goes(&terminal, "FROZEN");
	assert_comes(&terminal, "--resume");
	assert_false(terminal_shows(&terminal, "Esc thaw"));
	leave(&terminal);
}

/* How long it ran is not forgotten with its core, also where its log has told nothing for long. */
static void test_killed_while_running(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	open_watch(&terminal, &round, true);
	terminal_listen(&terminal, 3000);
	kill(round.pid, SIGKILL);
	assert_comes(&terminal, "INTERRUPTED 0:0");
	assert_false(terminal_shows(&terminal, "INTERRUPTED 0:00"));
	leave(&terminal);
}

static void test_stopped_without_its_core(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	name_boundary(&round);
	open_watch(&terminal, &round, true);
	stand_still(&round);
	terminal_type(&terminal, "S");
	assert_comes(&terminal, "does not answer");
	terminal_type(&terminal, "S");
	assert_comes(&terminal, "STOPPED without its core");
	assert_comes(&terminal, "(pid");
	assert_false(terminal_shows(&terminal, "running"));
	/* The clock stands. */
	_cleanup_free_ char *before = terminal_row(&terminal, 0);
	terminal_listen(&terminal, 2500);
	_cleanup_free_ char *after = terminal_row(&terminal, 0);
	assert_string_equal(before, after);
	/* No key leads away from the proof, and none is offered that would act on what is stopped. */
	type_slowly(&terminal, "SpxxDD\x1bS");
	terminal_listen(&terminal, 2500);
	assert_true(terminal_shows(&terminal, "demo  STOPPED without its core"));
	assert_true(terminal_shows(&terminal, "boundaries removed"));
	assert_false(terminal_shows(&terminal, "NO ANSWER"));
	assert_false(terminal_shows(&terminal, "S stop"));
	assert_false(terminal_shows(&terminal, "D drain"));
	/* It comes to itself, and stops as it was told. */
	kill(round.pid, SIGCONT);
	assert_goes(&terminal, "(pid");
	assert_goes(&terminal, "without its core");
	assert_comes(&terminal, "1 of 4 done");
	assert_comes(&terminal, "3 stopped");
	leave(&terminal);
}

/* Typed ahead of what is known: past a core that does not answer within two seconds, by itself. */
static void test_stop_key_twice_at_once(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	name_boundary(&round);
	open_watch(&terminal, &round, true);
	stand_still(&round);
	int64_t start = clock_mono_ns();
	terminal_type(&terminal, "SS");
	assert_comes(&terminal, "STOPPED without its core");
	int64_t took = clock_mono_ns() - start;
	print_message("S S to the proof past a silent core: %.1f s\n", (double)took / (double)NS_PER_S);
	assert_true(took >= 2 * NS_PER_S - 100 * NS_PER_MS && took < 5 * NS_PER_S);
	kill(round.pid, SIGCONT);
	assert_comes(&terminal, "3 stopped");
	leave(&terminal);
}

static void test_silent_then_there_again(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	open_watch(&terminal, &round, true);
	stand_still(&round);
	/* Said without any key. */
	assert_comes(&terminal, "NO ANSWER");
	kill(round.pid, SIGCONT);
	assert_goes(&terminal, "NO ANSWER");
	assert_comes(&terminal, "demo  running");
	leave(&terminal);
}

static void test_keys_for_a_silent_core(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	open_watch(&terminal, &round, true);
	stand_still(&round);
	type_slowly(&terminal, "pp");
	assert_comes(&terminal, "freeze, thaw");
	kill(round.pid, SIGCONT);
	assert_goes(&terminal, "freeze, thaw");
	terminal_listen(&terminal, 1500);
	assert_false(terminal_shows(&terminal, "FROZEN"));
	assert_false(terminal_shows(&terminal, "frozen"));

	stand_still(&round);
	type_slowly(&terminal, "S\x1bS");
	assert_comes(&terminal, "does not answer");
	kill(round.pid, SIGCONT);
	assert_comes(&terminal, "FROZEN in 3");
	terminal_listen(&terminal, 1500);
	_cleanup_free_ char *first = terminal_row(&terminal, 0);
	assert_non_null(strstr(first, "FROZEN"));
	assert_true(terminal_shows(&terminal, "FROZEN in 3"));
	terminal_type(&terminal, "\x1b");
	assert_goes(&terminal, "FROZEN");
	leave(&terminal);
}

/* What was done of the queue last is what stands there, with its keys. */
static void test_a_queue_that_ends_frozen(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	open_watch(&terminal, &round, true);
	stand_still(&round);
	type_slowly(&terminal, "xxDDp");
	assert_comes(&terminal, "drain, freeze");
	kill(round.pid, SIGCONT);
	assert_comes(&terminal, "FROZEN in 3");
	terminal_listen(&terminal, 1500);
	assert_true(terminal_shows(&terminal, "FROZEN in 3"));
	assert_true(terminal_shows(&terminal, "p thaw   S stop the round"));
	assert_false(terminal_shows(&terminal, "Stopped task"));
	leave(&terminal);
}

static void test_opened_on_a_silent_core(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT, other = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	open_watch(&other, &round, false);
	stand_still(&round);
	begin_watch(&terminal, &round, true, 24, 100);
	assert_comes(&terminal, "NO ANSWER");
	/* The log is read, and keys act on the screen meanwhile. */
	assert_true(terminal_shows(&terminal, "task-003"));
	terminal_type(&terminal, "D");
	assert_comes(&terminal, "Not sent");
	terminal_type(&terminal, "?");
	assert_comes(&terminal, "Keys");
	terminal_type(&terminal, "?");
	/* The stop key is not lost. */
	terminal_type(&terminal, "S");
	assert_comes(&terminal, "waits for it");
	kill(round.pid, SIGCONT);
	assert_comes(&terminal, "FROZEN in 3");
	assert_goes(&terminal, "NO ANSWER");
	assert_comes(&other, "FROZEN");
	leave(&other);
	terminal_release(&other);
	leave(&terminal);
}

static void test_escape_of_others(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal one = TERMINAL_INIT, second = TERMINAL_INIT, onlooker = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	open_watch(&one, &round, true);
	open_watch(&second, &round, true);
	open_watch(&onlooker, &round, false);
	terminal_type(&onlooker, "\x1b");
	assert_comes(&onlooker, "nothing is");
	terminal_type(&one, "S");
	assert_comes(&one, "FROZEN in 3");
	/* With the figures, in the place of what was said before. */
	assert_comes(&second, "FROZEN in 3");
	assert_comes(&onlooker, "FROZEN in 3");
	assert_false(terminal_shows(&onlooker, "nothing is"));
	terminal_type(&onlooker, "\x1b");
	assert_comes(&onlooker, "This only looks on");
	assert_true(terminal_shows(&one, "FROZEN in 3"));
	terminal_type(&second, "\x1b");
	assert_goes(&second, "FROZEN");
	assert_goes(&one, "FROZEN");
	leave(&one);
	leave(&second);
	leave(&onlooker);
	terminal_release(&second);
	terminal_release(&onlooker);
}

/* The keys for what is under way are the last to go. */
static void test_a_terminal_of_five_rows(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play, NULL);
	begin_watch(&terminal, &round, true, 5, 20);
	assert_comes(&terminal, "running");
	assert_comes(&terminal, "S stop  ? keys");
	terminal_type(&terminal, "?");
	assert_comes(&terminal, "D drain");
	terminal_type(&terminal, "?");
	assert_goes(&terminal, "D drain");
	terminal_type(&terminal, "S");
	assert_comes(&terminal, "S stop the round");
	assert_comes(&terminal, "Esc thaw");
	terminal_resize(&terminal, 1, 20);
	assert_comes(&terminal, "S stop");
	terminal_resize(&terminal, 5, 20);
	terminal_type(&terminal, "\x1b");
	assert_goes(&terminal, "Esc thaw");
	leave(&terminal);
}

/* A flood is taken twice a second at most; a key is not kept waiting by it. */
static void test_a_flood_is_taken_together(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	stand_in_start(&round, play_flood, NULL);
	open_watch(&terminal, &round, true);
	terminal_listen(&terminal, 3000);
	int64_t cpu[2], switches[2], start = clock_mono_ns();
	uint64_t written = terminal.written;
	assert_true(process_cost(terminal.pid, &cpu[0], &switches[0]));
	terminal_listen(&terminal, 6000);
	assert_true(process_cost(terminal.pid, &cpu[1], &switches[1]));
	double took = (double)(clock_mono_ns() - start) / (double)NS_PER_S, wakes = (double)(switches[1] - switches[0]) / took;
	print_message("a flood: %.1f wake-ups, %.1f ms of CPU, %.0f bytes a second\n", wakes, (double)(cpu[1] - cpu[0]) / 1e6 / took,
		      (double)(terminal.written - written) / took);
	assert_true(wakes < 5);
	start = clock_mono_ns();
	terminal_type(&terminal, "S");
	assert_comes(&terminal, "FROZEN in 3");
	print_message("S to FROZEN in it: %.0f ms\n", (double)(clock_mono_ns() - start) / (double)NS_PER_MS);
	assert_true(clock_mono_ns() - start < NS_PER_S);
	leave(&terminal);
}

int main(void)
{
	if (access(PROGRAM, X_OK) < 0)
		skip_program("%s is not built", PROGRAM);
	if (!terminal_has_screen())
		skip_program("libvterm-dev was not there when this was built");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_while_frozen),
		cmocka_unit_test(test_killed_while_running),
		cmocka_unit_test(test_stopped_without_its_core),
		cmocka_unit_test(test_stop_key_twice_at_once),
		cmocka_unit_test(test_silent_then_there_again),
		cmocka_unit_test(test_keys_for_a_silent_core),
		cmocka_unit_test(test_a_queue_that_ends_frozen),
		cmocka_unit_test(test_opened_on_a_silent_core),
		cmocka_unit_test(test_escape_of_others),
		cmocka_unit_test(test_a_terminal_of_five_rows),
		cmocka_unit_test(test_a_flood_is_taken_together),
	};
	return cmocka_run_group_tests_name("the screen and its core", tests, NULL, NULL);
}
