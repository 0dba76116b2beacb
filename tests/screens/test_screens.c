/*
 * Golden screens: each view of recorded rounds, at four sizes, in UTF-8 and ASCII, as text; golden/NAME.txt.
 *
 *     build/tests/screens/screens --update        writes them anew; read the difference before you keep it
 *
 * And what holds at any size: areas lie inside, none overlaps another, none is empty.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tests/screens/stage.h"
#include "tests/support/scratch.h"

#define GOLDEN PROCTOR_SOURCE "/tests/screens/golden/"

static bool update;

static void frozen_by_key(struct stage *stage)
{
	stage->screen.stop = (struct stopkey){ .stage = STOP_FROZEN, .figures = true, .ms = 3.1, .processes = 41, .runs = 2 };
}

static void stopped_by_key(struct stage *stage)
{
	stage->screen.stop = (struct stopkey){ .stage = STOP_STOPPED, .figures = true, .ms = 9.2, .killed = 41, .remaining = 0,
					       .removed = 2 };
}

static void stop_failed(struct stage *stage)
{
	stage->screen.stop = (struct stopkey){ .stage = STOP_FAILED, .silent = true, .why = "proctor-worker: no such round" };
}

static void looks_only(struct stage *stage)
{
	stage->screen.control = false;
}

static void unfolds(struct stage *stage)
{
	stage->screen.unfolded = true;
}

static void core_is_gone(struct stage *stage)
{
	stage->screen.live = false;
	stage->screen.ended = true;
}

static void frozen_by_another(struct stage *stage)
{
	stage->model.draining = true;
}

static void frozen_for_who_looks(struct stage *stage)
{
	stage->model.draining = true;
	stage->screen.control = false;
}

static void core_is_silent(struct stage *stage)
{
	stage->screen.silent = true;
	stage->screen.heard_ns = stage->screen.now_ns;
	stage->screen.now_ns += 60 * NS_PER_S;
	stage->screen.core = 4711;
	snprintf(stage->screen.unanswered, sizeof stage->screen.unanswered, "freeze, thaw");
}

static void stopped_without_core(struct stage *stage)
{
	core_is_silent(stage);
	stage->screen.stop = (struct stopkey){ .stage = STOP_STOPPED, .figures = true, .ms = 9.2, .killed = 41, .removed = 2, .core = 4711,
					       .silent = true, .alone = true, .asked_ns = stage->screen.heard_ns };
}

static const struct scene {
	const char *name, *log;
	enum view_id view;
	const char *task;
	void (*set)(struct stage *stage);
} scenes[] = {
	{ "tasks-gate", "gate", VIEW_TASKS, NULL, NULL },
	{ "tasks-running", "running", VIEW_TASKS, "calc-precedence", NULL },
	{ "tasks-watched", "running", VIEW_TASKS, "regex-group", looks_only },
	{ "tasks-frozen", "frozen", VIEW_TASKS, "calc-precedence", frozen_by_key },
	{ "tasks-stopped", "stopped", VIEW_TASKS, "calc-precedence", stopped_by_key },
	{ "tasks-stop-failed", "running", VIEW_TASKS, "calc-precedence", stop_failed },
	{ "tasks-interrupted", "running", VIEW_TASKS, "calc-precedence", core_is_gone },
	{ "tasks-drained-frozen", "frozen", VIEW_TASKS, "calc-precedence", frozen_by_another },
	{ "tasks-frozen-watched", "frozen", VIEW_TASKS, "calc-precedence", frozen_for_who_looks },
	{ "tasks-silent", "running", VIEW_TASKS, "calc-precedence", core_is_silent },
	{ "tasks-stopped-alone", "running", VIEW_TASKS, "calc-precedence", stopped_without_core },
	{ "tasks-long", "long", VIEW_TASKS, NULL, NULL },
	{ "tasks-unfolded", "long", VIEW_TASKS, NULL, unfolds },
	{ "tasks-held", "held", VIEW_TASKS, NULL, NULL },
	{ "tasks-finished", "smoke", VIEW_TASKS, "fix", NULL },
	{ "task-running", "running", VIEW_TASK, "calc-precedence", NULL },
	{ "task-stopped", "stopped", VIEW_TASK, "json-unicode", NULL },
	{ "task-pass", "smoke", VIEW_TASK, "fix", NULL },
	{ "task-fail", "smoke", VIEW_TASK, "no-fix", NULL },
	{ "task-invalid", "smoke", VIEW_TASK, "leak", NULL },
	{ "task-error", "smoke", VIEW_TASK, "exit-three", NULL },
	{ "help", "running", VIEW_HELP, NULL, NULL },
};

static const struct {
	int columns, rows;
} sizes[] = { { 120, 40 }, { 80, 24 }, { 40, 12 }, { 20, 5 } };

static void draw_scene(const struct scene *scene, struct buffer *out)
{
	for (size_t i = 0; i < ELEMENTS(sizes); i++) {
		static const enum pr_charset charsets[] = { PR_CHARSET_UTF8, PR_CHARSET_ASCII };
		for (size_t j = 0; j < ELEMENTS(charsets); j++) {
			struct stage stage;
			stage_open(&stage, scene->log);
			if (scene->task)
				stage_select(&stage, scene->task);
			if (scene->set)
				scene->set(&stage);
			stage_draw(&stage, scene->view, sizes[i].columns, sizes[i].rows, charsets[j]);
			buffer_printf(out, "== %dx%d %s\n", sizes[i].columns, sizes[i].rows, j == 0 ? "UTF-8" : "ASCII");
			assert_int_equal(canvas_text(&stage.canvas, out), 0);
			stage_close(&stage);
		}
	}
}

/* Where two texts part, for a message: the line of each. */
static void first_difference(const char *one, const char *other, char *ret_words, size_t size)
{
	unsigned line = 1;
	for (; *one && *one == *other; one++, other++)
		line += *one == '\n';
	while (line > 1 && one[-1] != '\n')
		one--, other--;
	snprintf(ret_words, size, "line %u\n  golden  %.*s\n  now     %.*s", line, (int)strcspn(one, "\n"), one, (int)strcspn(other, "\n"),
		 other);
}

static void test_golden(void **state)
{
	(void)state;
	int differ = 0;
	for (size_t i = 0; i < ELEMENTS(scenes); i++) {
		_cleanup_buffer_ struct buffer now = BUFFER_INIT;
		_cleanup_free_ char *path = scratch_text(GOLDEN "%s.txt", scenes[i].name);
		draw_scene(&scenes[i], &now);
		if (update) {
			assert_int_equal(scratch_write(path, 0644, now.data), 0);
			continue;
		}
		_cleanup_free_ char *golden = scratch_read(path);
		if (!golden) {
			print_error("%s is not there\n", path);
			differ++;
		} else if (strcmp(golden, now.data) != 0) {
			char words[2048];
			first_difference(golden, now.data, words, sizeof words);
			print_error("%s.txt, %s\n", scenes[i].name, words);
			differ++;
		}
	}
	if (differ)
		fail_msg("%d of %zu screens differ from tests/screens/golden; tests/screens/update writes them anew", differ,
			 ELEMENTS(scenes));
}

static bool inside(struct rect rect, struct rect of)
{
	return rect.x >= of.x && rect.y >= of.y && rect.x + rect.columns <= of.x + of.columns && rect.y + rect.rows <= of.y + of.rows;
}

static bool overlap(struct rect a, struct rect b)
{
	return a.x < b.x + b.columns && b.x < a.x + a.columns && a.y < b.y + b.rows && b.y < a.y + a.rows;
}

static void check_layout(const struct layout *layout, int columns, int rows)
{
	const struct rect whole = { 0, 0, columns, rows };
	for (int a = 0; a < AREA_COUNT; a++) {
		if (!layout_has(layout, a))
			continue;
		struct rect one = layout->areas[a];
		if (one.columns < 1 || !inside(one, whole))
			fail_msg("%dx%d: area %d is empty or outside", columns, rows, a);
		for (int b = a + 1; b < AREA_COUNT; b++)
			if (layout_has(layout, b) && overlap(one, layout->areas[b]))
				fail_msg("%dx%d: areas %d and %d overlap", columns, rows, a, b);
	}
	for (int a = 0; layout_has(layout, AREA_BODY) && a < COLUMN_COUNT; a++) {
		if (!layout->column[a].columns)
			continue;
		int start = layout->column[a].x, end = start + layout->column[a].columns;
		if (start < 0 || end > columns)
			fail_msg("%dx%d: column %d is outside", columns, rows, a);
		for (int b = a + 1; b < COLUMN_COUNT; b++)
			if (layout->column[b].columns && layout->column[b].x < end &&
			    start < layout->column[b].x + layout->column[b].columns)
				fail_msg("%dx%d: columns %d and %d overlap", columns, rows, a, b);
	}
}

static void test_any_size(void **state)
{
	(void)state;
	struct stage stage;
	stage_open(&stage, "running");
	stage_select(&stage, "calc-precedence");
	for (int columns = 1; columns <= 300; columns++)
		for (int rows = 1; rows <= 100; rows += rows < 30 ? 1 : 7) {
			stage_draw(&stage, (enum view_id)((columns + rows) % VIEW_COUNT), columns, rows, PR_CHARSET_UTF8);
			check_layout(&stage.screen.layout, columns, rows);
			assert_int_equal(stage.canvas.columns, columns);
			assert_int_equal(stage.canvas.rows, rows);
		}
	stage_close(&stage);
}

/* Every role of the states stands beside a word: the screen in mono says the same. */
static void test_colour_never_alone(void **state)
{
	(void)state;
	struct stage stage;
	stage_open(&stage, "running");
	stage_draw(&stage, VIEW_TASKS, 120, 40, PR_CHARSET_ASCII);
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	assert_int_equal(canvas_text(&stage.canvas, &text), 0);
	static const char *const words[] = { "pass", "fail", "INVALID", "error", "agent", "patched", "clamp" };
	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (!strstr(text.data, words[i]))
			fail_msg("no '%s' on the screen", words[i]);
	stage_close(&stage);
}

static bool shows(const struct stage *stage, const char *text)
{
	_cleanup_buffer_ struct buffer screen = BUFFER_INIT;
	assert_int_equal(canvas_text(&stage->canvas, &screen), 0);
	return strstr(screen.data, text) != NULL;
}

static void says(struct stage *stage, const char *line)
{
	assert_int_equal(buffer_add_text(&stage->evidence.tail, line), 0);
	stage_draw(stage, VIEW_TASK, 80, 24, PR_CHARSET_UTF8);
}

/* G stays at the end of what a task says, until its owner moves up. */
static void test_the_end_is_followed(void **state)
{
	(void)state;
	struct stage stage;
	stage_open(&stage, "running");
	stage_select(&stage, "calc-precedence");
	for (int i = 0; i < 60; i++)
		says(&stage, "an older line\n");
	assert_false(shows(&stage, "the first new line"));
	assert_true(screen_verb(&stage.screen, VERB_LAST));
	says(&stage, "the first new line\n");
	assert_true(shows(&stage, "the first new line"));
	says(&stage, "the second new line\n");
	assert_true(shows(&stage, "the second new line"));
	assert_true(screen_verb(&stage.screen, VERB_UP));
	says(&stage, "the third new line\n");
	assert_false(shows(&stage, "the third new line"));
	assert_true(screen_verb(&stage.screen, VERB_LAST));
	says(&stage, "");
	assert_true(shows(&stage, "the third new line"));
	stage_close(&stage);
}

/* What is left is told where something is known about it. */
static void test_time_left(void **state)
{
	(void)state;
	static const struct {
		bool held, frozen, draining, silent;
	} cases[] = { { .held = true }, { .frozen = true }, { .draining = true }, { .silent = true } };
	struct stage stage;
	stage_open(&stage, "running");
	stage_draw(&stage, VIEW_TASKS, 120, 40, PR_CHARSET_UTF8);
	assert_true(shows(&stage, " about "));
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		stage.model.held = cases[i].held;
		stage.model.frozen = cases[i].frozen;
		stage.model.draining = cases[i].draining;
		stage.screen.silent = cases[i].silent;
		stage_draw(&stage, VIEW_TASKS, 120, 40, PR_CHARSET_UTF8);
		if (shows(&stage, " about "))
			fail_msg("case %zu tells a time that is left", i);
	}
	stage.model.draining = stage.screen.silent = false;
	/* One that runs for far longer than all that are done. */
	for (uint32_t i = 0; i < stage.model.counts.tasks; i++)
		if (stage.model.tasks[i].running)
			stage.model.tasks[i].wall_ms = 3600000;
	stage_draw(&stage, VIEW_TASKS, 120, 40, PR_CHARSET_UTF8);
	assert_false(shows(&stage, " about "));
	stage_close(&stage);
}

/* Of two words that hold at once, the one that matters now: a round that drains and stands still, stands still. */
static void test_what_outranks(void **state)
{
	(void)state;
	struct stage stage;
	stage_open(&stage, "running");
	stage.model.draining = stage.model.held = stage.model.frozen = true;
	stage_draw(&stage, VIEW_TASKS, 120, 40, PR_CHARSET_UTF8);
	assert_true(shows(&stage, " FROZEN 6:"));
	assert_true(shows(&stage, "FROZEN: nothing runs"));
	stage.screen.live = false;
	stage.screen.ended = true;
	stage_draw(&stage, VIEW_TASKS, 120, 40, PR_CHARSET_UTF8);
	assert_true(shows(&stage, "INTERRUPTED"));
	assert_false(shows(&stage, "HELD"));
	assert_false(shows(&stage, "FROZEN"));
	stage_close(&stage);
}

/* What is said beside it does not take away that a round stands still, nor the keys. */
static void test_frozen_stands(void **state)
{
	(void)state;
	struct stage stage;
	stage_open(&stage, "running");
	stage.model.frozen = true;
	screen_notice(&stage.screen, "Stopped s1: 4 killed, 0 remaining.");
	for (int own = 0; own < 2; own++) {
		if (own)
			frozen_by_key(&stage);
		stage_draw(&stage, VIEW_TASKS, 140, 24, PR_CHARSET_UTF8);
		assert_true(shows(&stage, "Stopped s1: 4 killed, 0 remaining."));
		assert_true(shows(&stage, own ? "FROZEN in 3.1 ms" : "FROZEN: nothing runs"));
		assert_true(shows(&stage, "S stop the round"));
	}
	stage_close(&stage);
}

/* Frozen by another, whose figures came. */
static void test_figures_of_another(void **state)
{
	(void)state;
	struct stage stage;
	stage_open(&stage, "running");
	stage.model.frozen = true;
	frozen_by_key(&stage);
	stage.screen.stop.stage = STOP_NONE;
	stage_draw(&stage, VIEW_TASKS, 120, 24, PR_CHARSET_UTF8);
	assert_true(shows(&stage, "FROZEN in 3.1 ms: 2 tasks, 41 processes stand still.   p thaw   S stop the round"));
	stage_close(&stage);
}

/* One that was cut off ran for as long as it was seen to run; where nobody saw it, no figure stands there. */
static void test_time_until_cut_off(void **state)
{
	(void)state;
	struct stage stage;
	stage_open(&stage, "running");
	stage.model.started_mono_ns = stage.model.last_mono_ns = 1000 * NS_PER_S;
	stage.screen.now_ns = 2000 * NS_PER_S;
	core_is_gone(&stage);
	stage_draw(&stage, VIEW_TASKS, 80, 24, PR_CHARSET_UTF8);
	assert_true(shows(&stage, "INTERRUPTED"));
	assert_false(shows(&stage, "INTERRUPTED 0:00"));
	stage.screen.heard_ns = 1065 * NS_PER_S;
	stage_draw(&stage, VIEW_TASKS, 80, 24, PR_CHARSET_UTF8);
	assert_true(shows(&stage, "INTERRUPTED 1:05"));
	/* It stood still when the core went. */
	stage.model.frozen = true;
	stage.model.last_mono_ns = 1030 * NS_PER_S;
	stage_draw(&stage, VIEW_TASKS, 80, 24, PR_CHARSET_UTF8);
	assert_true(shows(&stage, "INTERRUPTED 0:30"));
	stage_close(&stage);
}

/* A fault of the owner's own files waits for its turn, takes a row where room is short, and goes once it was read. */
static void test_a_fault_waits(void **state)
{
	(void)state;
	struct stage stage;
	stage_open(&stage, "running");
	snprintf(stage.screen.fault, sizeof stage.screen.fault, "A theme is passed over: /home/somebody/.config/proctor/theme:2: "
		 "'mauve' is no colour: a name of the table in docs/themes.md, a number from 0 to 255, or - for the terminal's own");
	screen_notice(&stage.screen, "Theme dark.");
	stage_draw(&stage, VIEW_TASKS, 80, 24, PR_CHARSET_UTF8);
	assert_true(shows(&stage, "Theme dark."));
	assert_false(shows(&stage, "passed over"));
	screen_read(&stage.screen);
	static const int small[][2] = { { 40, 12 }, { 20, 5 }, { 20, 3 } };
	for (size_t i = 0; i < ELEMENTS(small); i++) {
		stage_draw(&stage, VIEW_TASKS, small[i][0], small[i][1], PR_CHARSET_UTF8);
		assert_true(shows(&stage, "A theme"));
		assert_false(shows(&stage, "mauve"));
		assert_true(shows(&stage, "running"));
		assert_true(shows(&stage, "S stop"));
	}
	screen_read(&stage.screen);
	stage_draw(&stage, VIEW_TASKS, 80, 24, PR_CHARSET_UTF8);
	assert_false(shows(&stage, "passed over"));
	stage_close(&stage);
}

int main(int argc, char **argv)
{
	update = argc == 2 && strcmp(argv[1], "--update") == 0;
	/* Widths of characters are the locale's. */
	setlocale(LC_ALL, "C.UTF-8");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_any_size),
		cmocka_unit_test(test_colour_never_alone),
		cmocka_unit_test(test_the_end_is_followed),
		cmocka_unit_test(test_time_left),
		cmocka_unit_test(test_what_outranks),
		cmocka_unit_test(test_frozen_stands),
		cmocka_unit_test(test_figures_of_another),
		cmocka_unit_test(test_time_until_cut_off),
		cmocka_unit_test(test_a_fault_waits),
	};
	return cmocka_run_group_tests_name("screens", tests, NULL, NULL);
}
