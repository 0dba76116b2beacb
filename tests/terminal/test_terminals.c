/*
 * The front on each terminal and in each locale: a screen where there is cursor addressing, plain lines (and a word that
 * says so) where there is none; what comes out is what a terminal can show; the terminal is left as it was found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"
#include "tests/terminal/stand_in.h"
#include "tests/terminal/terminal.h"

static void play(struct stand_in_core *core, void *argument)
{
	(void)argument;
	stand_in_open_round(core, 8, 2);
	stand_in_run_task(core, 1, "patched");
	stand_in_end_task(core, 1, "fail", "a \\u4e16\\u754c\\u202eold\\u001b]0;title\\u0007\\u001b[2J\\u001b[H\\rFAKE", 61000);
	/* Somebody stopped a task, long before anybody looks. */
	stand_in_event(core, "{\"type\":\"control\",\"verb\":\"stop\",\"who\":{\"uid\":0,\"pid\":1},\"task\":\"task-001\",\"ms\":1.2,"
		       "\"killed\":4,\"remaining\":0,\"removed\":true}");
	stand_in_run_task(core, 2, "agent");
	stand_in_run_task(core, 3, "agent");
	for (int64_t ms = 60000; !stand_in_asked_to_stop(core); ms += 1000) {
		stand_in_progress(core, 2, 2, ms);
		stand_in_serve(core, 1000);
	}
	stand_in_serve(core, 60000);
}

static struct stand_in round_;

static int start(struct terminal *terminal, const char *term, const char *locale, int rows, int columns)
{
	const char *argv[] = { PROCTOR_BUILD "/proctor", "watch", "--display", "full", NULL };
	return terminal_start(terminal, &(struct terminal_start){ .argv = argv, .environment = round_.variables, .term = term,
								  .locale = locale, .rows = rows, .columns = columns });
}

/* The terminal's description is installed: ncurses-base has all but those that nobody has. */
static bool described(const char *term)
{
	static const char *const places[] = { "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo" };
	for (size_t i = 0; i < ELEMENTS(places); i++) {
		_cleanup_free_ char *path = scratch_text("%s/%c/%s", places[i], term[0], term);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static void expect_left_as_found(struct terminal *terminal, const char *term)
{
	int code = terminal_wait(terminal, 5000);
	if (code != 0)
		fail_msg("%s: the exit code is %d", term, code);
	assert_true(terminal_modes_restored(terminal));
	if (terminal->vterm) {
		assert_false(terminal->alternate);
		assert_false(terminal->cursor_hidden);
	}
}

/* In ASCII nothing but ASCII comes out; nothing asks the terminal anything, or names a window, in any. */
static void check_bytes(const struct terminal *terminal, bool utf8, const char *term)
{
	const struct buffer *bytes = &terminal->bytes;
	for (size_t i = 0; i < bytes->length && !utf8; i++)
		if ((unsigned char)bytes->data[i] >= 0x80)
			fail_msg("%s: byte %02x in an ASCII locale", term, (unsigned char)bytes->data[i]);
	static const char *const never[] = { "\x1b]", "\x1bP", "\x1b[c", "\x1b[6n", "\x1b[>c", "\x1b[?1000h", "\x1b[?1002h", "\x1b[?1006h",
					     "\x1b[?2026", "\x1b[?2004h", "\xe2\x80\xae", "\a" };
	for (size_t i = 0; i < ELEMENTS(never); i++)
		if (memmem(bytes->data, bytes->length, never[i], strlen(never[i])))
			fail_msg("%s: sequence %zu of those that never come, came", term, i);
}

static const char *const LOCALES[] = { "C", "C.UTF-8" };

static void test_screens_where_the_cursor_moves(void **state)
{
	(void)state;
	if (!terminal_has_screen())
		skip_test("libvterm-dev was not there when this was built");
	static const char *const terms[] = { "xterm-256color", "screen", "tmux-256color", "vt100", "linux" };
	for (size_t i = 0; i < ELEMENTS(terms) * ELEMENTS(LOCALES); i++) {
		const char *term = terms[i / 2], *locale = LOCALES[i % 2];
		/* The console's own fonts lack most of the marks. */
		bool glyphs = i % 2 && strcmp(term, "linux") != 0;
		if (!described(term)) {
			print_message("skipped: %s has no description here\n", term);
			continue;
		}
		_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
		assert_int_equal(start(&terminal, term, locale, 24, 80), 0);
		if (!terminal_await(&terminal, "task-003", 8000) || !terminal_await(&terminal, "detach", 2000))
			fail_msg("%s, %s: no screen, but\n%s", term, locale, terminal_screen(&terminal));
		_cleanup_free_ char *first = terminal_row(&terminal, 0), *last = terminal_row(&terminal, 23);
		if (!strstr(first, "demo") || !strstr(last, "detach"))
			fail_msg("%s, %s: the first row is '%s', the last '%s'", term, locale, first, last);
		if (!terminal_shows(&terminal, glyphs ? "\u25cf task-002" : "* task-002"))
			fail_msg("%s, %s: not the marks of this locale:\n%s", term, locale, terminal_screen(&terminal));
		for (int row = 0; row < terminal.rows; row++) {
			_cleanup_free_ char *line = terminal_row(&terminal, row);
			assert_true(strncmp(line, "FAKE", 4) != 0);
		}
		terminal_type(&terminal, "?");
		assert_true(terminal_await(&terminal, "Keys", 2000));
		terminal_type(&terminal, "?");
		assert_true(terminal_await(&terminal, "task-003", 2000));
		terminal_type(&terminal, "q");
		expect_left_as_found(&terminal, term);
		check_bytes(&terminal, i % 2 == 1, term);
	}
}

static void test_plain_lines_where_it_does_not(void **state)
{
	(void)state;
	static const char *const terms[] = { "dumb", "nobody-has-this", "", NULL };
	for (size_t i = 0; i < ELEMENTS(terms) * ELEMENTS(LOCALES); i++) {
		const char *term = terms[i / 2], *locale = LOCALES[i % 2];
		_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
		assert_int_equal(start(&terminal, term, locale, 24, 200), 0);
		if (!terminal_await(&terminal, "task-003", 8000))
			fail_msg("%s: no lines, but\n%.*s", term ? term : "no TERM", (int)terminal.bytes.length, terminal.bytes.data);
		/* It was asked for a screen: it says that there are lines in its place. */
		if (!memmem(terminal.bytes.data, terminal.bytes.length, "plain lines", 11))
			fail_msg("%s: it does not say that it is plain:\n%.*s", term ? term : "no TERM", (int)terminal.bytes.length,
				 terminal.bytes.data);
		for (size_t at = 0; at < terminal.bytes.length; at++)
			if ((unsigned char)terminal.bytes.data[at] < ' ' && !strchr("\r\n", terminal.bytes.data[at]))
				fail_msg("%s: byte %02x", term ? term : "no TERM", (unsigned char)terminal.bytes.data[at]);
		terminal_type(&terminal, "\x03");
		terminal_listen(&terminal, 100);
		terminal_type(&terminal, "\x03");
		assert_true(terminal_wait(&terminal, 5000) >= 0);
		assert_true(terminal_modes_restored(&terminal));
	}
}

static void test_any_size_of_terminal(void **state)
{
	(void)state;
	if (!terminal_has_screen())
		skip_test("libvterm-dev was not there when this was built");
	static const int sizes[][2] = { { 12, 40 }, { 100, 300 }, { 40, 120 }, { 5, 30 }, { 1, 20 }, { 2, 2 } };
	for (size_t i = 0; i < ELEMENTS(sizes); i++) {
		_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
		assert_int_equal(start(&terminal, "xterm-256color", "C.UTF-8", sizes[i][0], sizes[i][1]), 0);
		if (!terminal_await(&terminal, sizes[i][0] >= 12 ? "task-002" : sizes[i][1] >= 20 ? "running" : "", 8000))
			fail_msg("%dx%d shows\n%s", sizes[i][1], sizes[i][0], terminal_screen(&terminal));
		terminal_listen(&terminal, 200);
		terminal_type(&terminal, "q");
		expect_left_as_found(&terminal, "xterm-256color");
	}
}

static void test_no_color(void **state)
{
	(void)state;
	const char *argv[] = { PROCTOR_BUILD "/proctor", "watch", "--display", "auto", NULL };
	const char *variables[8] = { "NO_COLOR=1" };
	for (size_t i = 0; round_.variables[i]; i++)
		variables[i + 1] = round_.variables[i];
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	assert_int_equal(terminal_start(&terminal, &(struct terminal_start){ .argv = argv, .environment = variables,
									     .term = "xterm-256color" }), 0);
	assert_true(terminal_await(&terminal, "task-003", 8000));
	terminal_type(&terminal, "t");
	terminal_listen(&terminal, 300);
	terminal_type(&terminal, "q");
	assert_int_equal(terminal_wait(&terminal, 5000), 0);
	/* Not even one that sets them back. */
	for (const char *at = terminal.bytes.data; (at = strstr(at, "\x1b[")); at++) {
		size_t length = strspn(at + 2, "0123456789;:");
		for (const char *number = at + 2; at[2 + length] == 'm' && number < at + 2 + length; number += strcspn(number, ";:m") + 1) {
			int value = atoi(number);
			if ((value >= 30 && value <= 49) || (value >= 90 && value <= 107))
				fail_msg("a colour came: ESC%.*s", (int)length + 2, at + 1);
		}
	}
}

/* Nobody asked for a screen by name: on a terminal that cannot have one it is said too, once. */
static void test_plain_by_itself(void **state)
{
	(void)state;
	const char *argv[] = { PROCTOR_BUILD "/proctor", "watch", NULL };
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	assert_int_equal(terminal_start(&terminal, &(struct terminal_start){ .argv = argv, .environment = round_.variables, .term = "dumb",
									     .columns = 200 }), 0);
	assert_true(terminal_await(&terminal, "task-003", 8000));
	const char *first = memmem(terminal.bytes.data, terminal.bytes.length, "plain lines instead", 19);
	if (!first || strstr(first + 1, "plain lines"))
		fail_msg("not said once that it is plain:\n%.*s", (int)terminal.bytes.length, terminal.bytes.data);
	terminal_type(&terminal, "\x03");
	terminal_listen(&terminal, 100);
	terminal_type(&terminal, "\x03");
	assert_true(terminal_wait(&terminal, 5000) >= 0);
}

/* Each of those that ship, by name, and the first one again. */
static void test_themes_in_turn(void **state)
{
	(void)state;
	static const char *const names[] = { "dark", "deuteranopia", "high-contrast", "light", "mono", "tritanopia", "default" };
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	assert_int_equal(start(&terminal, "xterm-256color", "C.UTF-8", 24, 80), 0);
	assert_true(terminal_await(&terminal, "task-003", 8000));
	bool seen[ELEMENTS(names)] = { 0 };
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		terminal_type(&terminal, "t");
		terminal_listen(&terminal, 400);
		for (size_t j = 0; j < ELEMENTS(names); j++)
			seen[j] |= terminal_shows(&terminal, names[j]);
	}
	for (size_t j = 0; j < ELEMENTS(names); j++)
		if (!seen[j])
			fail_msg("the theme %s did not come", names[j]);
	terminal_type(&terminal, "q");
	expect_left_as_found(&terminal, "xterm-256color");
}

/* A fault in a theme of one's own is told by its line, and the round is shown all the same. */
static void test_a_fault_in_ones_own_theme(void **state)
{
	(void)state;
	_cleanup_free_ char *path = scratch_text("%s/config/proctor/theme", round_.root);
	assert_int_equal(scratch_write(path, 0600, "# mine\npass | mauve -\n"), 0);
	_cleanup_terminal_ struct terminal terminal = TERMINAL_INIT;
	assert_int_equal(start(&terminal, "xterm-256color", "C.UTF-8", 24, 120), 0);
	assert_true(terminal_await(&terminal, "task-003", 8000));
	/* It stays, whatever the round's past holds. */
	terminal_await(&terminal, "theme:2:", 2000);
	terminal_listen(&terminal, 1000);
	bool told = terminal_shows(&terminal, "theme:2:") && !terminal_shows(&terminal, "Stopped task");
	unlink(path);
	if (!told)
		fail_msg("the fault is not told:\n%s", terminal_screen(&terminal));
	terminal_type(&terminal, "q");
	expect_left_as_found(&terminal, "xterm-256color");
}

static int open_round(void **state)
{
	(void)state;
	if (access(PROCTOR_BUILD "/proctor", X_OK) < 0)
		skip_program("%s/proctor is not built", PROCTOR_BUILD);
	stand_in_start(&round_, play, NULL);
	return 0;
}

static int close_round(void **state)
{
	(void)state;
	stand_in_stop(&round_);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_screens_where_the_cursor_moves),
		cmocka_unit_test(test_plain_lines_where_it_does_not),
		cmocka_unit_test(test_any_size_of_terminal),
		cmocka_unit_test(test_no_color),
		cmocka_unit_test(test_plain_by_itself),
		cmocka_unit_test(test_themes_in_turn),
		cmocka_unit_test(test_a_fault_in_ones_own_theme),
	};
	return cmocka_run_group_tests_name("terminals", tests, open_round, close_round);
}
