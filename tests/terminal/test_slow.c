/*
 * Over a slow line (8 kB a second, 150 ms each way, kept in buffers as a connection keeps it): a key acts on the screen
 * in under a second while a round of 64 tasks goes on, and what is shown is never far behind what has happened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/support/skip.h"
#include "tests/terminal/stand_in.h"
#include "tests/terminal/terminal.h"

#define TASKS 64
#define AT_ONCE 4
#define KEY_MS 1000
#define BEHIND_MS 2000		/* 300 ms of it are the line's, a second may be a frame's */

static struct shared {
	volatile int done;
	volatile int64_t at_ns[TASKS + 1];	/* when so many were done */
} *shared;

/* A verdict each 250 ms, and progress, refusals and output in between. */
static void play(struct stand_in_core *core, void *argument)
{
	(void)argument;
	stand_in_open_round(core, TASKS, AT_ONCE);
	for (int task = 1; task <= AT_ONCE; task++)
		stand_in_run_task(core, task, "agent");
	stand_in_watched(core, 20000);
	stand_in_serve(core, 2000);
	for (int task = 1; task <= TASKS; task++) {
		for (int i = 0; i < 5; i++) {
			int running = TASKS - task + 1 < AT_ONCE ? TASKS - task + 1 : AT_ONCE;
			stand_in_eventf(core, "{\"type\":\"refusal\",\"task\":\"task-%03d\",\"phase\":\"agent\",\"layer\":\"network\","
					"\"what\":\"connect\",\"object\":\"203.0.113.7:443\",\"program\":\"sh\",\"ancestry\":\"\","
					"\"errno\":\"ENETUNREACH\",\"count\":1,\"first_ms\":1,\"last_ms\":2,\"certainty\":\"recorded\"}", task);
			stand_in_progress(core, task, running, 1000 + 250 * task + 50 * i);
			stand_in_say(core, "{\"type\":\"tail\",\"task\":\"task-001\",\"phase\":\"agent\",\"stream\":\"stdout\","
				     "\"text\":\"talking\"}");
			stand_in_serve(core, 50);
		}
		stand_in_end_task(core, task, task % 5 ? "pass" : "fail", task % 5 ? "" : "tests fail", 30000);
		if (task + AT_ONCE <= TASKS)
			stand_in_run_task(core, task + AT_ONCE, "agent");
		shared->at_ns[task] = clock_mono_ns();
		shared->done = task;
	}
	stand_in_serve(core, 60000);
}

static int shown_done(const struct terminal *terminal)
{
	_cleanup_free_ char *first = terminal_row(terminal, 0);
	const char *of = strstr(first, " of 64 done");
	int shown = -1;
	for (const char *at = of; at && at > first && at[-1] >= '0' && at[-1] <= '9'; at--)
		shown = atoi(at - 1);
	return shown;
}

/* How long what is shown has been out of date, in ms; 0: it is not. */
static int behind_ms(int shown)
{
	if (shown < 0 || shown >= shared->done)
		return 0;
	return (int)((clock_mono_ns() - shared->at_ns[shown + 1]) / NS_PER_MS);
}

static int press(struct terminal *terminal, const char *keys, const char *text, bool comes)
{
	int64_t start = clock_mono_ns();
	terminal_type(terminal, keys);
	bool came = comes ? terminal_await(terminal, text, 5000) : terminal_await_gone(terminal, text, 5000);
	int ms = (int)((clock_mono_ns() - start) / NS_PER_MS);
	if (!came || ms > KEY_MS)
		fail_msg("'%s' acted after %d ms%s:\n%s", keys, ms, came ? "" : ", or never", terminal_screen(terminal));
	return ms;
}

static void test_keys_and_a_round(void **state)
{
	(void)state;
	_cleanup_stand_in_ struct stand_in round;
	stand_in_start(&round, play, NULL);
	const char *argv[] = { PROCTOR_BUILD "/tests/terminal/lag", "--rate", "8000", "--delay", "150", PROCTOR_BUILD "/proctor", "watch",
			       "--display", "full", NULL };
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	int64_t start = clock_mono_ns();
	assert_int_equal(terminal_start(&terminal, &(struct terminal_start){ .argv = argv, .environment = round.variables,
			.term = "xterm-256color", .rows = 40, .columns = 120 }), 0);
	if (!terminal_await(&terminal, "detach", 8000))
		fail_msg("no screen, but\n%s", terminal_screen(&terminal));
	print_message("first screen after %.0f ms, %llu bytes\n", (double)(clock_mono_ns() - start) / (double)NS_PER_MS,
		      (unsigned long long)terminal.written);

	int worst_key = 0, worst_behind = 0;
	uint64_t written = terminal.written;
	start = clock_mono_ns();
	for (int turn = 0; shown_done(&terminal) < TASKS; turn++) {
		if (clock_mono_ns() - start > 40 * NS_PER_S)
			fail_msg("the round is over, and the screen is not there yet:\n%s", terminal_screen(&terminal));
		terminal_listen(&terminal, 50);
		int behind = behind_ms(shown_done(&terminal));
		worst_behind = behind > worst_behind ? behind : worst_behind;
		if (turn % 60 == 30) {
			int ms = press(&terminal, "?", "Keys", true);
			worst_key = ms > worst_key ? ms : worst_key;
			ms = press(&terminal, "?", "Keys", false);
			worst_key = ms > worst_key ? ms : worst_key;
		}
	}
	double took = (double)(clock_mono_ns() - start) / (double)NS_PER_S;
	print_message("a key acts after %d ms at most, the screen is %d ms behind at most, %.0f bytes a second\n", worst_key,
		      worst_behind, (double)(terminal.written - written) / took);
	assert_true(worst_key > 250);		/* else the line was not slow */
	if (worst_behind > BEHIND_MS)
		fail_msg("the screen was %d ms behind", worst_behind);
	terminal_type(&terminal, "q");
	assert_int_equal(terminal_wait(&terminal, 5000), 0);
}

int main(void)
{
	if (access(PROCTOR_BUILD "/proctor", X_OK) < 0)
		skip_program("%s/proctor is not built", PROCTOR_BUILD);
	if (!terminal_has_screen())
		skip_program("libvterm-dev was not there when this was built");
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_keys_and_a_round) };
	return cmocka_run_group_tests_name("a slow line", tests, NULL, NULL);
}
