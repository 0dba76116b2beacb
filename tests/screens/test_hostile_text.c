/*
 * Hostile text on every view and in plain lines: escape sequences of every family, overrides of direction, characters of
 * no width, floods of combining marks, broken UTF-8, lines of a megabyte, names with line feeds; in every member of an
 * event that a candidate or a stranger can have a say in, and in what a candidate leaves on the disk.
 *
 * Nothing but printable characters of the width that their cells have, and every other column as it is beside names of
 * the same width that are harmless.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "core/base/cleanup.h"
#include "core/record/jsonc.h"
#include "tests/screens/stage.h"
#include "tests/support/scratch.h"
#include "tui/plain.h"

#include <proctor/wire.h>

#define MEGABYTE ((size_t)1 << 20)

struct text {
	const char *bytes;
	size_t length;		/* 0: a NUL-terminated text */
};

/* Each begins and ends with what can be looked for, and has no column of its own. */
static const struct text TEXTS[] = {
	{ "a\x1b[31mred\x1b[0mz", 0 },			/* CSI */
	{ "a\x1b[2J\x1b[H\x1b[?1049lz", 0 },		/* clear, home, leave the screen */
	{ "a\x1b]0;title\x07z", 0 },			/* OSC, ended by BEL */
	{ "a\x1b]52;c;ZXZpbA==\x1b\\z", 0 },		/* the clipboard */
	{ "a\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\z", 0 },
	{ "a\x1bP$qm\x1b\\z", 0 },			/* DCS */
	{ "a\x1b^pm\x1b\\\x1b_apc\x1b\\\x1bXsos\x1b\\z", 0 },
	{ "a\x1b" "c\x1b(0lqk\x1b(B\x0e\x0fz", 0 },	/* reset, character sets, shifts */
	{ "a\xc2\x9b" "31mz\xc2\x9d" "0;t\xc2\x9cz", 0 },	/* C1 in UTF-8 */
	{ "a\x9b" "31mz\x9d" "0;t\x9cz", 0 },		/* C1 as bytes */
	{ "a\r\b\b\b\bPASS\nFAKE  pass 1.0\n\tz", 0 },	/* moves that ncurses would follow */
	{ "a\xe2\x80\xae" "ssap\xe2\x80\xac\xe2\x81\xa6x\xe2\x81\xa9z", 0 },	/* bidi overrides and isolates */
	{ "a\xe2\x80\x8b\xe2\x80\x8d\xef\xbb\xbf\xe2\x81\xa0\xc2\xadz", 0 },	/* no width */
	{ "a\xf3\xa0\x81\x81\xf3\xa0\x80\xa0z", 0 },	/* tags */
	{ "a\xee\x80\x80\xef\xbf\xbf\xef\xbf\xbez", 0 },	/* private use, no characters */
	{ "a\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\xc2\xa0\xe3\x80\x80\xe3\x85\xa4z", 0 },	/* lines, spaces, fillers */
	{ "a\xcc\x80\xcc\x81\xcc\x82\xcc\x83\xcc\x84\xcc\x85\xcc\x86\xcc\x87\xcc\x88\xcc\x89\xcc\x8a\xcc\x8b\xcc\x8c\xcc\x8dz", 0 },
	{ "\xcc\x81z", 0 },				/* a mark with nothing before it */
	{ "a\xe4\xb8\x96\xe7\x95\x8c\xf0\x9f\x98\x80\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9z", 0 },	/* two columns, joined */
	{ "a\xef\xb8\x8f\xe2\x9d\xa4\xef\xb8\x8fz", 0 },	/* variation selectors */
	{ "a\xff\xfe\xc0\xaf\xed\xa0\x80\xf8\x88\x80\x80\x80\xe2\x82z\xf0\x9f", 0 },	/* broken UTF-8 */
	{ "a\0b\0z", 5 },				/* NUL */
	{ "a%s%n%1$*2$dz", 0 },
	{ "a\x7f\x01\x02\x03\x04\x05\x06\x07\x0b\x0c\x11\x13\x1a\x1c\x1fz", 0 },
};

static size_t length_of(const struct text *text)
{
	return text->length ? text->length : strlen(text->bytes);
}

/* For JSON, which holds no broken UTF-8 and where a NUL is no text: those bytes as they would come out of our writer. */
static struct json_object *json_text(const struct text *text)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	mbstate_t shift = { 0 };
	for (size_t at = 0; at < length_of(text);) {
		wchar_t wide;
		size_t used = mbrtowc(&wide, text->bytes + at, length_of(text) - at, &shift);
		if (used == (size_t)-1 || used == (size_t)-2 || used == 0 || (wide >= 0xd800 && wide <= 0xdfff) || wide > 0x10ffff) {
			shift = (mbstate_t){ 0 };
			buffer_add(&out, "\x1b", 1);
			at++;
		} else {
			buffer_add(&out, text->bytes + at, used);
			at += used;
		}
	}
	return json_object_new_string_len(out.data, (int)out.length);
}

static struct json_object *event_of(const char *type)
{
	struct json_object *event = json_object_new_object();
	json_object_object_add(event, "type", json_object_new_string(type));
	return event;
}

static void set(struct json_object *event, const char *key, const struct text *text)
{
	json_object_object_add(event, key, json_text(text));
}

/* A log in which `text` is in every place; the names of the tasks have it in front of a number. */
struct story {
	struct json_object *events[64];
	size_t count;
};

static struct json_object *task_name(const struct text *text, int number)
{
	_cleanup_jsonc_ struct json_object *whole = json_text(text);
	char suffix[16];
	snprintf(suffix, sizeof suffix, "-%d", number);
	_cleanup_buffer_ struct buffer name = BUFFER_INIT;
	buffer_add(&name, json_object_get_string(whole), (size_t)json_object_get_string_len(whole));
	buffer_add_text(&name, suffix);
	return json_object_new_string_len(name.data, (int)name.length);
}

static struct json_object *add(struct story *story, const char *type, const struct text *text, int task)
{
	struct json_object *event = event_of(type);
	if (task)
		json_object_object_add(event, "task", task_name(text, task));
	assert_in_range(story->count, 0, ELEMENTS(story->events) - 1);
	story->events[story->count++] = event;
	return event;
}

static void number(struct json_object *event, const char *key, int64_t value)
{
	json_object_object_add(event, key, json_object_new_int64(value));
}

static void phase(struct story *story, const struct text *text, int task, const char *name, bool ended)
{
	struct json_object *event = add(story, "task.phase", text, task);
	json_object_object_add(event, "phase", json_object_new_string(name));
	json_object_object_add(event, "state", json_object_new_string(ended ? "ended" : "started"));
	if (ended) {
		number(event, "wall_ms", 4000);
		set(event, "termination", text);
		number(event, "exit_code", 1);
	}
}

static void end_task(struct story *story, const struct text *text, int task, const char *verdict)
{
	struct json_object *event = add(story, "task.verdict", text, task);
	json_object_object_add(event, "verdict", json_object_new_string(verdict));
	static const char *const keys[] = { "status", "validity", "cause", "charged_to", "reason", "episode" };
	for (size_t i = 0; i < ELEMENTS(keys); i++)
		set(event, keys[i], text);
	struct json_object *violations = json_object_new_array();
	json_object_array_add(violations, json_text(text));
	json_object_object_add(event, "violations", violations);
	json_object_object_add(event, "reward", json_object_new_double(0));
	number(event, "refusals", 7);
	number(event, "wall_ms", 61000);
}

static void tell(struct story *story, const struct text *text)
{
	static const char *const opened[] = { "name", "kind", "dir", "version", "agent", "profile" };
	struct json_object *event = add(story, "round.opened", text, 0), *tasks = json_object_new_array();
	json_object_object_add(event, "round", json_object_new_string("demo-20260102-030405"));
	for (size_t i = 0; i < ELEMENTS(opened); i++)
		set(event, opened[i], text);
	for (int i = 1; i <= 5; i++) {
		struct json_object *task = json_object_new_object();
		json_object_object_add(task, "task", task_name(text, i));
		set(task, "source", text);
		json_object_array_add(tasks, task);
	}
	json_object_object_add(event, "tasks", tasks);
	number(event, "parallel", 2);

	event = add(story, "preflight.check", text, 0);
	static const char *const check[] = { "id", "state", "tried", "remedy" };
	for (size_t i = 0; i < ELEMENTS(check); i++)
		set(event, check[i], text);
	event = add(story, "round.gate", text, 0);
	json_object_object_add(event, "state", json_object_new_string("open"));
	set(event, "by", text);
	add(story, "round.started", text, 0);
	static const char *const verdicts[] = { "fail", "invalid", "error" };
	for (int i = 1; i <= 3; i++) {
		phase(story, text, i, "agent", false);
		phase(story, text, i, "agent", true);
		end_task(story, text, i, verdicts[i - 1]);
	}
	phase(story, text, 4, "agent", false);
	event = add(story, "refusal", text, 4);
	static const char *const refusal[] = { "layer", "what", "object", "program", "ancestry", "errno", "certainty" };
	for (size_t i = 0; i < ELEMENTS(refusal); i++)
		set(event, refusal[i], text);
	json_object_object_add(event, "phase", json_object_new_string("agent"));
	number(event, "count", 3);
	event = add(story, "task.output.cut", text, 4);
	set(event, "stream", text);
	set(event, "phase", text);
	event = add(story, "boundary.closed", text, 3);
	set(event, "cleanup", text);
	set(event, "phase", text);
	event = add(story, "fault", text, 0);
	set(event, "what", text);
	set(event, "message", text);
	set(event, "charged_to", text);
	event = add(story, "control", text, 0);
	json_object_object_add(event, "verb", json_object_new_string("hold"));
	set(event, "reason", text);
	event = add(story, "control", text, 0);
	set(event, "verb", text);
	event = add(story, "progress", text, 0);
	struct json_object *running = json_object_new_array(), *one = json_object_new_object();
	json_object_object_add(one, "task", task_name(text, 4));
	json_object_object_add(one, "phase", json_object_new_string("agent"));
	number(one, "wall_ms", 12000);
	number(one, "limit_ms", 60000);
	number(one, "processes", 3);
	number(one, "idle_ms", 2000);
	json_object_array_add(running, one);
	json_object_object_add(event, "tasks", running);
}

static void story_release(struct story *story)
{
	for (size_t i = 0; i < story->count; i++)
		json_object_put(story->events[i]);
}

/* As the log numbers them. */
static void number_events(struct story *story)
{
	for (size_t i = 0; i < story->count; i++) {
		if (strcmp(jsonc_text(story->events[i], "type"), "progress") == 0)
			continue;
		number(story->events[i], "seq", (int64_t)i + 1);
		number(story->events[i], "mono", INT64_C(1000000000) * (int64_t)(i + 1));
		number(story->events[i], "at", 1000 * (int64_t)(i + 1));
		json_object_object_add(story->events[i], "prev", json_object_new_string(""));
	}
}

static void open_story(struct stage *stage, const struct text *text)
{
	stage_open(stage, NULL);
	struct story story = { .count = 0 };
	tell(&story, text);
	number_events(&story);
	for (size_t i = 0; i < story.count; i++)
		assert_true(pr_model_apply(&stage->model, story.events[i]) >= 0);
	story_release(&story);
	assert_int_equal(stage->model.counts.tasks, 5);
}

/* What a candidate left on the disk: the bytes as they are, and once more behind a megabyte of them in one line. */
static void leave_evidence(struct stage *stage, const struct text *text, bool flood)
{
	struct evidence *evidence = &stage->evidence;
	const struct pr_task *task = &stage->model.tasks[0];
	snprintf(evidence->task, sizeof evidence->task, "%s", task->id);
	snprintf(evidence->directory, sizeof evidence->directory, "%.*s", (int)length_of(text), text->bytes);
	evidence->file_count = 2;
	for (size_t i = 0; i < 2; i++)
		snprintf(evidence->files[i].name, sizeof evidence->files[i].name, "%s", text->bytes);
	snprintf(evidence->tail_name, sizeof evidence->tail_name, "agent.stdout");
	struct buffer *all[] = { &evidence->tail, &evidence->patch };
	static const char *const starts[] = { "", "+", "-", "@@ ", "--- a/", "+++ b/", " " };
	for (size_t i = 0; i < ELEMENTS(all); i++) {
		for (size_t j = 0; j < ELEMENTS(starts); j++) {
			buffer_add_text(all[i], starts[j]);
			buffer_add(all[i], text->bytes, length_of(text));
			buffer_add_text(all[i], "\n");
		}
		while (flood && all[i]->length < MEGABYTE)
			buffer_add(all[i], text->bytes, length_of(text));
	}
	struct json_object *object = json_object_new_object(), *test = json_object_new_object();
	set(object, "reason", text);
	set(object, "attribution", text);
	set(object, "source", text);
	static const char *const lists[] = { "baseline", "patched" };
	set(test, "termination", text);
	number(test, "exit_code", 1);
	struct json_object *command = json_object_new_array();
	json_object_array_add(command, json_text(text));
	json_object_object_add(test, "command", command);
	for (size_t i = 0; i < ELEMENTS(lists); i++) {
		struct json_object *tests = json_object_new_array();
		json_object_array_add(tests, json_object_get(test));
		json_object_object_add(object, lists[i], tests);
	}
	json_object_put(test);
	evidence->result = object;
	stage->screen.evidence = evidence;
	snprintf(stage->screen.selected, sizeof stage->screen.selected, "%s", task->id);
}

/* Characters that hide, move, or have no look, by block; what wcwidth() says of a cell is checked beside it. */
static bool is_treacherous(wchar_t c)
{
	static const struct {
		wchar_t from, to;
	} ranges[] = {
		{ 0, 0x1f }, { 0x7f, 0xa0 }, { 0xad, 0xad }, { 0x300, 0x36f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 },
		{ 0x180b, 0x180e }, { 0x2000, 0x200f }, { 0x2028, 0x202f }, { 0x205f, 0x206f }, { 0x3000, 0x3000 },
		{ 0x3164, 0x3164 }, { 0xe000, 0xf8ff }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 },
		{ 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0000, 0x10ffff },
	};
	for (size_t i = 0; i < ELEMENTS(ranges); i++)
		if (c >= ranges[i].from && c <= ranges[i].to)
			return true;
	return false;
}

static void check_cell(const struct canvas *canvas, int x, int y)
{
	const struct cell *cell = canvas_cell(canvas, x, y);
	assert_in_range(cell->role, 0, ROLE_COUNT - 1);
	if (cell->width == 0) {
		assert_int_equal(cell->bytes[0], '\0');
		assert_true(x > 0 && canvas_cell(canvas, x - 1, y)->width == 2);
		return;
	}
	wchar_t wide[5];
	assert_in_range(cell->width, 1, 2);
	assert_int_equal(mbstowcs(wide, cell->bytes, ELEMENTS(wide)), 1);
	if (is_treacherous(wide[0]) || wcwidth(wide[0]) != cell->width)
		fail_msg("cell %d,%d holds U+%04X", x, y, (unsigned)wide[0]);
	if (canvas->charset == PR_CHARSET_ASCII)
		assert_true(cell->bytes[0] >= ' ' && cell->bytes[0] <= '~');
	if (cell->width == 2)
		assert_true(x + 1 < canvas->columns && canvas_cell(canvas, x + 1, y)->width == 0);
}

static void check_cells(const struct canvas *canvas)
{
	for (int y = 0; y < canvas->rows; y++)
		for (int x = 0; x < canvas->columns; x++)
			check_cell(canvas, x, y);
}

static const struct {
	int columns, rows;
} sizes[] = { { 120, 40 }, { 80, 24 }, { 40, 12 }, { 41, 13 }, { 300, 100 }, { 20, 5 }, { 1, 1 } };

static void test_only_printable_cells(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(TEXTS); i++) {
		struct stage stage;
		open_story(&stage, &TEXTS[i]);
		leave_evidence(&stage, &TEXTS[i], false);
		snprintf(stage.screen.notice, sizeof stage.screen.notice, "%s", TEXTS[i].bytes);
		for (size_t j = 0; j < ELEMENTS(sizes); j++)
			for (int view = 0; view < VIEW_COUNT; view++)
				for (int scroll = 0; scroll < 40; scroll += 13) {
					stage.screen.scroll[view] = scroll;
					stage_draw(&stage, view, sizes[j].columns, sizes[j].rows,
						   j % 2 ? PR_CHARSET_ASCII : PR_CHARSET_UTF8);
					check_cells(&stage.canvas);
					stage_draw(&stage, view, sizes[j].columns, sizes[j].rows,
						   j % 2 ? PR_CHARSET_UTF8 : PR_CHARSET_ASCII);
					check_cells(&stage.canvas);
				}
		stage_close(&stage);
	}
}

static void test_a_line_of_a_megabyte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(TEXTS); i++) {
		struct stage stage;
		open_story(&stage, &TEXTS[i]);
		leave_evidence(&stage, &TEXTS[i], true);
		for (int scroll = 0; scroll < 60; scroll += 29) {
			stage.screen.scroll[VIEW_TASK] = scroll;
			stage_draw(&stage, VIEW_TASK, 120, 40, PR_CHARSET_UTF8);
			check_cells(&stage.canvas);
		}
		stage_close(&stage);
	}
}

static void row_text(const struct canvas *canvas, int y, int x, int columns, struct buffer *out)
{
	buffer_clear(out);
	buffer_add_text(out, "");
	for (int i = 0; i < columns; i++)
		buffer_add_text(out, canvas_cell(canvas, x + i, y)->bytes);
}

/* In a column of our own figures nothing of a name is to be found, whatever the name. */
static void test_columns_keep_their_own(void **state)
{
	(void)state;
	static const enum column ours[] = { COLUMN_MARK, COLUMN_PHASE, COLUMN_BAR, COLUMN_CLOCK, COLUMN_IDLE, COLUMN_REFUSED };
	static const struct text harmless = { "abcdefghij", 0 };
	struct stage plain;
	open_story(&plain, &harmless);
	stage_draw(&plain, VIEW_TASKS, 120, 40, PR_CHARSET_ASCII);
	for (size_t i = 0; i < ELEMENTS(TEXTS); i++) {
		struct stage stage;
		open_story(&stage, &TEXTS[i]);
		stage_draw(&stage, VIEW_TASKS, 120, 40, PR_CHARSET_ASCII);
		struct rect body = stage.screen.layout.areas[AREA_BODY], other = plain.screen.layout.areas[AREA_BODY];
		_cleanup_buffer_ struct buffer one = BUFFER_INIT, two = BUFFER_INIT;
		for (int y = 0; y < body.rows && y < other.rows; y++)
			for (size_t c = 0; c < ELEMENTS(ours); c++) {
				enum column column = ours[c];
				int columns = stage.screen.layout.column[column].columns;
				/* Lines of reasons stand across the columns; names may be wider here, and a bar narrower. */
				if (columns == 0 || columns != plain.screen.layout.column[column].columns)
					continue;
				row_text(&stage.canvas, body.y + y, stage.screen.layout.column[COLUMN_PHASE].x,
					 stage.screen.layout.column[COLUMN_PHASE].columns, &one);
				if (strncmp(one.data, "done", 4) != 0 && strncmp(one.data, "agent", 5) != 0)
					continue;
				row_text(&stage.canvas, body.y + y, stage.screen.layout.column[column].x, columns, &one);
				row_text(&plain.canvas, other.y + y, plain.screen.layout.column[column].x, columns, &two);
				if (strcmp(one.data, two.data) != 0)
					fail_msg("text %zu, row %d, column %zu: '%s', not '%s'", i, y, c, one.data, two.data);
			}
		stage_close(&stage);
	}
	stage_close(&plain);
}

static void test_plain_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(TEXTS); i++) {
		struct story story = { .count = 0 };
		struct pr_model model = PR_MODEL_INIT;
		struct plain plain = PLAIN_INIT;
		_cleanup_buffer_ struct buffer out = BUFFER_INIT;
		tell(&story, &TEXTS[i]);
		number_events(&story);
		for (size_t j = 0; j < story.count; j++) {
			_cleanup_buffer_ struct buffer line = BUFFER_INIT;
			struct pr_message message;
			if (jsonc_write(story.events[j], &line) < 0)
				fail_msg("text %zu, event %zu: no JSON", i, j);
			assert_int_equal(pr_wire_parse(line.data, line.length, &message, NULL), 0);
			pr_model_apply(&model, message.object);
			size_t before = out.length;
			assert_true(plain_event(&plain, &message, line.data, line.length, &model, &out) >= 0);
			assert_true(out.length == before || out.data[out.length - 1] == '\n');
			pr_message_release(&message);
		}
		mbstate_t shift = { 0 };
		for (size_t at = 0; at < out.length;) {
			wchar_t wide;
			size_t used = mbrtowc(&wide, out.data + at, out.length - at, &shift);
			assert_true(used > 0 && used <= 4);
			if (wide != '\n' && is_treacherous(wide))
				fail_msg("text %zu: plain lines hold U+%04X", i, (unsigned)wide);
			at += used;
		}
		pr_model_release(&model);
		story_release(&story);
	}
}

int main(void)
{
	if (!setlocale(LC_ALL, "C.UTF-8"))
		return 77;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_printable_cells),
		cmocka_unit_test(test_a_line_of_a_megabyte),
		cmocka_unit_test(test_columns_keep_their_own),
		cmocka_unit_test(test_plain_lines),
	};
	return cmocka_run_group_tests_name("hostile text", tests, NULL, NULL);
}
