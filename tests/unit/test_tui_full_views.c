/*
 * Every view with every kind of hostile text, at many sizes, in UTF-8 and ASCII: each cell holds one printable
 * character of the width that it claims, or is the right half of the one before; and what a candidate wrote moves
 * nothing that is not its own.
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
#include <wchar.h>

#include <json-c/json.h>

#include "core/base/cleanup.h"
#include "tui/full/screen.h"

static const char *const hostile[] = {
	"\x1b[31mred\x1b[0m\x1b[2J\x1b[H", "\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07", "\x1bP+q\x1b\\\x1b_apc\x1b\\", "\xc2\x9b" "31m\x9b" "2J",
	"\r\roverwritten\b\b\b", "new\nline\n\nnames", "tab\tand\vmore\f", "\x7f\x01\x02\x1f\x0e\x0f",
	"\u202eevil\u202c \u2066x\u2069 \u200f", "a\u200bb\u200cc\ufeffd\u00ade\u2060", "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309",
	"\U000e0041\U000e0042\ue000\U000f0000", "\xff\xfe\xc3(\xe2\x82\xf0\x9f\x98", "\xe4\xb8", "\u4e2d\u6587\u5b57\u7b26\u4e2d\u6587\u5b57\u7b26",
	"\U0001f469\u200d\U0001f4bb \u2764\ufe0f \U0001f1e9\U0001f1ea", "\u3000\u2003\u00a0\u2800\u3164\u115f", "%s%n%d%100$s",
};

static char *long_line(void)
{
	size_t length = 1024 * 1024;
	char *text = malloc(length + 1);
	assert_non_null(text);
	for (size_t i = 0; i < length; i++)
		text[i] = "\x1b[31mAAAA\xcc\x81\xe2\x80\xae"[i % 14];
	text[length] = '\0';
	return text;
}

static void fill_task(struct pr_task *task, const char *text)
{
	snprintf(task->id, sizeof task->id, "%s", text);
	snprintf(task->source, sizeof task->source, "%s", text);
	snprintf(task->reason, sizeof task->reason, "%s", text);
	snprintf(task->cause, sizeof task->cause, "%s", text);
	snprintf(task->charged_to, sizeof task->charged_to, "%s", text);
	snprintf(task->episode, sizeof task->episode, "%s", text);
	snprintf(task->cleanup, sizeof task->cleanup, "%s", text);
	task->containment.known = true;
	snprintf(task->containment.profile, sizeof task->containment.profile, "%s", text);
	snprintf(task->containment.why_not, sizeof task->containment.why_not, "%s", text);
	for (enum pr_phase phase = PR_PHASE_PREPARE; phase < PR_PHASE_DONE; phase++) {
		task->phases[phase].state = PR_PHASE_ENDED;
		snprintf(task->phases[phase].termination, sizeof task->phases[phase].termination, "%s", text);
	}
}

/* Tasks in every state. */
static void fill_model(struct pr_model *model, struct pr_task *tasks, size_t count, const char *text)
{
	*model = (struct pr_model)PR_MODEL_INIT;
	model->tasks = tasks;
	model->counts.tasks = (uint32_t)count;
	model->seq = 1;
	model->started = true;
	model->started_mono_ns = 1;
	snprintf(model->name, sizeof model->name, "%s", text);
	snprintf(model->round, sizeof model->round, "%s", text);
	snprintf(model->agent, sizeof model->agent, "%s", text);
	snprintf(model->held_why, sizeof model->held_why, "%s", text);
	memset(tasks, 0, count * sizeof *tasks);
	for (size_t i = 0; i < count; i++) {
		struct pr_task *task = &tasks[i];
		fill_task(task, text);
		task->verdict = (enum pr_verdict)(i % PR_VERDICT_COUNT);
		task->running = task->verdict == PR_VERDICT_NONE && i % 2 == 0;
		task->phase = task->running ? PR_PHASE_AGENT : PR_PHASE_QUEUED;
		task->wall_ms = INT64_MAX >> (i * 3);
		task->limit_ms = INT64_MAX >> (i * 4);
		task->idle_ms = INT64_MAX >> (i * 5);
		task->refusals = UINT64_MAX >> (i * 4);
		task->spend_usd_micro = i % 3 ? 0 : INT64_MAX / 4 >> i;
		task->reserved_usd_micro = i % 4 ? 0 : INT64_MAX / 4 >> i;
		task->closed_known = true;
		task->memory_bytes = task->output_bytes = task->closed_us = INT64_MAX;
	}
}

static void fill_evidence(struct evidence *evidence, const struct pr_task *task, const char *text, size_t length)
{
	*evidence = (struct evidence){ 0 };
	snprintf(evidence->task, sizeof evidence->task, "%s", task->id);
	snprintf(evidence->directory, sizeof evidence->directory, "%s", text);
	snprintf(evidence->tail_name, sizeof evidence->tail_name, "%s", text);
	static const char *const ends[] = { "\n+", "\n-", "\n@@ ", "\n" };
	for (size_t i = 0; i < ELEMENTS(ends); i++) {
		assert_int_equal(buffer_add(&evidence->tail, text, length), 0);
		assert_int_equal(buffer_add(&evidence->tail, "\0\n", 2), 0);
		assert_int_equal(buffer_add(&evidence->patch, text, length), 0);
		assert_int_equal(buffer_add_text(&evidence->patch, ends[i]), 0);
	}
	evidence->result = json_object_new_object();
	struct json_object *tests = json_object_new_array(), *test = json_object_new_object(), *words = json_object_new_array();
	json_object_array_add(words, json_object_new_string(text));
	json_object_object_add(test, "command", words);
	json_object_object_add(test, "termination", json_object_new_string(text));
	json_object_array_add(tests, test);
	json_object_array_add(tests, json_object_new_string(text));
	json_object_object_add(evidence->result, "baseline", tests);
	json_object_object_add(evidence->result, "patched", json_object_new_int(3));
	snprintf(evidence->files[0].name, sizeof evidence->files[0].name, "%s", text);
	evidence->file_count = 1;
}

static void check_cells(const struct canvas *canvas)
{
	for (int y = 0; y < canvas->rows; y++)
		for (int x = 0; x < canvas->columns; x++) {
			const struct cell *cell = canvas_cell(canvas, x, y);
			assert_true(cell->role < ROLE_COUNT);
			if (cell->width == 0) {
				assert_true(x > 0 && canvas_cell(canvas, x - 1, y)->width == 2);
				assert_int_equal(cell->bytes[0], '\0');
				continue;
			}
			wchar_t character;
			mbstate_t shift = { 0 };
			size_t length = strnlen(cell->bytes, sizeof cell->bytes);
			assert_int_equal(mbrtowc(&character, cell->bytes, length, &shift), length);
			assert_int_equal(wcwidth(character), cell->width);
			assert_true(character >= 0x20 && character != 0x7f);
			if (canvas->charset == PR_CHARSET_ASCII)
				assert_true(character < 0x7f);
			if (cell->width == 2)
				assert_true(x + 1 < canvas->columns);
		}
}

static void draw_everywhere(struct screen *screen)
{
	static const int sizes[][2] = { { 1, 1 }, { 20, 5 }, { 40, 12 }, { 80, 24 }, { 120, 40 }, { 300, 100 } };
	struct canvas canvas = CANVAS_INIT;
	for (size_t i = 0; i < ELEMENTS(sizes); i++)
		for (enum view_id view = 0; view < VIEW_COUNT; view++)
			for (int ascii = 0; ascii < 2; ascii++)
				for (int scroll = 0; scroll < 3; scroll++) {
					screen->view = view;
					screen->scroll[view] = scroll == 2 ? 1000000 : scroll * 10;
					assert_int_equal(screen_draw(screen, sizes[i][0], sizes[i][1], ascii ? PR_CHARSET_ASCII : PR_CHARSET_UTF8,
								     &canvas), 0);
					assert_int_equal(canvas.columns, sizes[i][0]);
					assert_int_equal(canvas.rows, sizes[i][1]);
					check_cells(&canvas);
				}
	canvas_release(&canvas);
}

static void draw_hostile(const char *text, size_t length)
{
	static struct pr_task tasks[12];
	struct pr_model model;
	struct evidence evidence;
	fill_model(&model, tasks, ELEMENTS(tasks), text);
	struct screen screen = SCREEN_INIT;
	screen.model = &model;
	screen.round = text;
	screen.live = screen.control = true;
	screen.now_ns = INT64_MAX;
	screen.evidence = &evidence;
	fill_evidence(&evidence, &tasks[0], text, length);
	snprintf(screen.selected, sizeof screen.selected, "%s", tasks[0].id);
	draw_everywhere(&screen);
	screen_notice(&screen, "%s", text);
	model.frozen = true;
	draw_everywhere(&screen);
	screen.notice[0] = '\0';
	model.held = true;
	draw_everywhere(&screen);
	model.held = model.started = false;
	model.gate = PR_GATE_WAITING;
	draw_everywhere(&screen);
	screen.stop.stage = STOP_FAILED;
	snprintf(screen.stop.why, sizeof screen.stop.why, "%.500s", text);
	draw_everywhere(&screen);
	screen.stop.stage = STOP_STOPPED;
	draw_everywhere(&screen);
	evidence_release(&evidence);
	screen_release(&screen);
}

static void test_hostile_text_on_every_view(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(hostile); i++)
		draw_hostile(hostile[i], strlen(hostile[i]));
}

static void test_a_line_of_a_megabyte(void **state)
{
	(void)state;
	char *text = long_line();
	draw_hostile(text, 1024 * 1024);
	free(text);
}

/* The column of a verdict stands where it stood, whatever the names are. */
static void test_a_name_moves_nothing(void **state)
{
	(void)state;
	struct canvas canvas = CANVAS_INIT;
	static struct pr_task tasks[2];
	for (size_t i = 0; i < ELEMENTS(hostile); i++) {
		struct pr_model model;
		fill_model(&model, tasks, 2, hostile[i]);
		snprintf(tasks[0].id, sizeof tasks[0].id, "plain");
		tasks[0].running = false;
		tasks[0].verdict = tasks[1].verdict = PR_VERDICT_PASS;
		struct screen screen = SCREEN_INIT;
		screen.model = &model;
		assert_int_equal(screen_draw(&screen, 100, 24, PR_CHARSET_UTF8, &canvas), 0);
		int x = screen.layout.column[COLUMN_VERDICT].x, y = screen.layout.areas[AREA_BODY].y;
		for (int row = 0; row < 2; row++)
			for (int at = 0; at < 4; at++)
				assert_int_equal(canvas_cell(&canvas, x + at, y + row)->bytes[0], "pass"[at]);
		screen_release(&screen);
	}
	canvas_release(&canvas);
}

/* As many as a round may have: drawn, and every key finds its way. */
static void test_many_tasks(void **state)
{
	(void)state;
	struct canvas canvas = CANVAS_INIT;
	struct pr_task *tasks = calloc(PR_MODEL_TASKS, sizeof *tasks);
	assert_non_null(tasks);
	struct pr_model model = PR_MODEL_INIT;
	model.tasks = tasks;
	model.counts.tasks = model.counts.queued = PR_MODEL_TASKS;
	model.started = true;
	for (int i = 0; i < PR_MODEL_TASKS; i++)
		snprintf(tasks[i].id, sizeof tasks[i].id, "task-%d", i);
	struct screen screen = SCREEN_INIT;
	screen.model = &model;
	assert_int_equal(screen_draw(&screen, 80, 24, PR_CHARSET_UTF8, &canvas), 0);
	assert_int_equal(screen.rows.count, 1);
	assert_true(screen_verb(&screen, VERB_OPEN));
	for (enum verb verb = 0; verb < VERB_COUNT; verb++) {
		screen_verb(&screen, verb);
		assert_int_equal(screen_draw(&screen, 80, 24, PR_CHARSET_UTF8, &canvas), 0);
		check_cells(&canvas);
	}
	screen.view = VIEW_TASKS;
	screen.unfolded = true;
	assert_int_equal(screen_draw(&screen, 80, 24, PR_CHARSET_UTF8, &canvas), 0);
	screen_verb(&screen, VERB_LAST);
	assert_int_equal(screen_draw(&screen, 80, 24, PR_CHARSET_UTF8, &canvas), 0);
	assert_string_equal(screen.selected, "task-4095");
	model.tasks = NULL;
	screen_release(&screen);
	canvas_release(&canvas);
	free(tasks);
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_text_on_every_view),
		cmocka_unit_test(test_a_line_of_a_megabyte),
		cmocka_unit_test(test_a_name_moves_nothing),
		cmocka_unit_test(test_many_tasks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
