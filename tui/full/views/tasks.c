/* The tasks: a line each, a second one where one did not pass. */
#include "tui/full/screen.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tui/full/figures.h"
#include "tui/full/glyphs.h"

static const struct {
	const char *heading;
	bool right;
} columns[COLUMN_COUNT] = {
#define X(identifier, heading, right) [identifier] = { heading, right },
	COLUMNS(X)
#undef X
};

static const struct {
	const char *word;
	enum glyph mark;
	enum role role;
} looks[PR_VERDICT_COUNT] = {
	[PR_VERDICT_PASS] = { "pass", GLYPH_PASS, ROLE_PASS },
	[PR_VERDICT_FAIL] = { "FAIL", GLYPH_FAIL, ROLE_FAIL },
	[PR_VERDICT_INVALID] = { "INVALID", GLYPH_INVALID, ROLE_INVALID },
	[PR_VERDICT_ERROR] = { "error", GLYPH_ERROR, ROLE_ERROR },
	[PR_VERDICT_STOPPED] = { "stopped", GLYPH_STOPPED, ROLE_STOPPED },
};

struct state_look task_look(const struct screen *screen, const struct pr_task *task, enum pr_charset charset)
{
	if (task->verdict != PR_VERDICT_NONE)
		return (struct state_look){ looks[task->verdict].word, glyph(charset, looks[task->verdict].mark), looks[task->verdict].role };
	if (task->running && screen_cut_off(screen))
		return (struct state_look){ "cut off", glyph(charset, GLYPH_STOPPED), ROLE_STOPPED };
	if (task->running && screen->model->frozen)
		return (struct state_look){ "frozen", glyph(charset, GLYPH_FROZEN), ROLE_FROZEN };
	if (task->running)
		return (struct state_look){ pr_phase_name(task->phase), glyph(charset, GLYPH_RUNNING), ROLE_RUNNING };
	return (struct state_look){ "queued", glyph(charset, GLYPH_QUEUED), ROLE_QUEUED };
}

void verdict_words(const struct pr_task *task, char *ret_words, size_t size)
{
	ret_words[0] = '\0';
	if (task->verdict == PR_VERDICT_NONE)
		return;
	const char *word = looks[task->verdict].word;
	if (task->has_reward)
		snprintf(ret_words, size, "%s %.1f", word, task->reward);
	else
		snprintf(ret_words, size, "%s%s", word, task->verdict == PR_VERDICT_ERROR ? " -" : "");
}

/* ------- drawing ------- */

struct drawing {
	const struct screen *screen;
	struct canvas *canvas;
	int row;		/* of the body */
};

static struct pen column_pen(const struct drawing *drawing, enum column column, enum role role)
{
	const struct layout *layout = &drawing->screen->layout;
	struct rect rect = layout->areas[AREA_BODY];
	rect.x = layout->column[column].x;
	rect.columns = layout->column[column].columns;
	return pen_at(drawing->canvas, rect, drawing->row, role);
}

/* Nothing where the column is not there. */
static void put(const struct drawing *drawing, enum column column, enum role role, const char *text)
{
	struct pen pen = column_pen(drawing, column, role);
	if (columns[column].right)
		pen_right(&pen, role, text);
	else
		pen_text(&pen, text, 0);
}

static void put_clock(const struct drawing *drawing, const struct pr_task *task)
{
	char text[96];
	if (task->running) {
		struct pen pen = column_pen(drawing, COLUMN_BAR, ROLE_TEXT);
		draw_bar(&pen, pen.end - pen.x, task->wall_ms, task->limit_ms, ROLE_BAR);
		snprintf(text, sizeof text, "%s / %s", figure_clock(task->wall_ms).text, figure_clock(task->limit_ms).text);
		if (task->limit_ms <= 0)
			snprintf(text, sizeof text, "%s", figure_clock(task->wall_ms).text);
		/* Hours do not fit beside hours. */
		if ((int)strlen(text) > drawing->screen->layout.column[COLUMN_CLOCK].columns)
			snprintf(text, sizeof text, "%s", figure_clock(task->wall_ms).text);
		put(drawing, COLUMN_CLOCK, ROLE_TEXT, text);
	} else if (task->verdict != PR_VERDICT_NONE && task->verdict != PR_VERDICT_STOPPED) {
		put(drawing, COLUMN_CLOCK, ROLE_MUTED, figure_took(task->wall_ms).text);
	}
}

static void put_spend(const struct drawing *drawing, const struct pr_task *task)
{
	char text[96];
	bool known = task->spend_usd_micro > 0 || task->reserved_usd_micro > 0;
	if (!known || task->reserved_usd_micro == 0) {
		put(drawing, COLUMN_SPEND, ROLE_MUTED, known ? figure_money(task->spend_usd_micro).text : "-");
		return;
	}
	struct pen pen = column_pen(drawing, COLUMN_SPEND_BAR, ROLE_TEXT);
	int64_t limit = task->spend_usd_micro + task->reserved_usd_micro;
	draw_bar(&pen, pen.end - pen.x, task->spend_usd_micro, limit, ROLE_BAR);
	snprintf(text, sizeof text, "%s / %s", figure_money(task->spend_usd_micro).text, figure_money(limit).text);
	put(drawing, COLUMN_SPEND, ROLE_TEXT, text);
}

static void draw_task(const struct drawing *drawing, const struct pr_task *task, bool selected)
{
	const struct screen *screen = drawing->screen;
	struct state_look look = task_look(screen, task, drawing->canvas->charset);
	char verdict[32], refused[24] = "";
	struct pen pen = column_pen(drawing, COLUMN_MARK, ROLE_TEXT);
	pen_text(&pen, selected ? glyph(drawing->canvas->charset, GLYPH_SELECTED) : " ", 1);
	pen.role = look.role;
	pen_text(&pen, look.mark, 1);
	put(drawing, COLUMN_TASK, ROLE_TEXT, task->id);

	verdict_words(task, verdict, sizeof verdict);
	bool has_verdict = verdict[0], column = screen->layout.column[COLUMN_VERDICT].columns > 0;
	if (has_verdict && !column)
		put(drawing, COLUMN_PHASE, look.role, look.word);
	else
		put(drawing, COLUMN_PHASE, has_verdict ? ROLE_MUTED : look.role, has_verdict ? "done" : look.word);
	put(drawing, COLUMN_VERDICT, look.role, verdict);
	put_clock(drawing, task);
	if (!task->running && !has_verdict)
		return;
	put_spend(drawing, task);
	if (task->running && task->idle_ms >= 0 && !screen->model->frozen)
		put(drawing, COLUMN_IDLE, ROLE_TEXT, figure_clock(task->idle_ms).text);
	snprintf(refused, sizeof refused, "%" PRIu64, task->refusals);
	put(drawing, COLUMN_REFUSED, task->refusals ? ROLE_REFUSAL : ROLE_MUTED, refused);
}

static void draw_reason(const struct drawing *drawing, const struct pr_task *task)
{
	struct rect rect = drawing->screen->layout.areas[AREA_BODY];
	struct pen pen = pen_at(drawing->canvas, rect, drawing->row, ROLE_MUTED);
	pen_to(&pen, rect.x + 5);
	pen.end -= 1;
	char text[PR_LINE + PR_WORD + 8];
	if (task->charged_to[0])
		snprintf(text, sizeof text, "%s (%s)", task->reason, task->charged_to);
	else
		snprintf(text, sizeof text, "%s", task->reason);
	pen_text(&pen, text, 0);
}

static void draw_fold(const struct drawing *drawing, bool selected)
{
	const struct screen *screen = drawing->screen;
	struct pen pen = column_pen(drawing, COLUMN_MARK, ROLE_QUEUED);
	pen_text(&pen, selected ? glyph(drawing->canvas->charset, GLYPH_SELECTED) : " ", 1);
	pen_text(&pen, glyph(drawing->canvas->charset, GLYPH_QUEUED), 1);
	struct rect rect = screen->layout.areas[AREA_BODY];
	pen = pen_at(drawing->canvas, rect, drawing->row, ROLE_QUEUED);
	pen_to(&pen, rect.x + 3);
	pen_printf(&pen, "queued %u", (unsigned)screen->model->counts.queued);
	pen.role = ROLE_MUTED;
	pen_text(&pen, screen->unfolded ? "   Enter folds them" : "   Enter shows them", 0);
}

/* ------- selection ------- */

static bool is_selected(const struct screen *screen, const struct row *row)
{
	if (screen->on_fold)
		return row->kind == ROW_FOLD;
	return row->kind == ROW_TASK && strcmp(screen->model->tasks[row->task].id, screen->selected) == 0;
}

static size_t selected_row(const struct screen *screen)
{
	for (size_t i = 0; i < screen->rows.count; i++)
		if (is_selected(screen, &screen->rows.list[i]))
			return i;
	return SIZE_MAX;
}

static void select_row(struct screen *screen, const struct row *row)
{
	screen->on_fold = row->kind == ROW_FOLD;
	if (!screen->on_fold)
		snprintf(screen->selected, sizeof screen->selected, "%s", screen->model->tasks[row->task].id);
}

/* What was selected may be folded away, or not be there yet. */
static size_t settle_selection(struct screen *screen)
{
	size_t at = selected_row(screen);
	if (!screen->moved && screen->rows.count) {
		select_row(screen, &screen->rows.list[0]);
		return 0;
	}
	if (at != SIZE_MAX || screen->rows.count == 0)
		return at == SIZE_MAX ? 0 : at;
	size_t wanted = 0;
	const struct pr_task *task = screen_task(screen);
	if ((task || screen->on_fold) && !(task && task->running))
		for (size_t i = 0; i < screen->rows.count; i++)
			if (screen->rows.list[i].kind == ROW_FOLD)
				wanted = i;
	select_row(screen, &screen->rows.list[wanted]);
	return wanted;
}

static void settle_scroll(struct screen *screen, size_t selected)
{
	int *scroll = &screen->scroll[VIEW_TASKS], page = screen->page, count = (int)screen->rows.count, at = (int)selected;
	bool reason = selected + 1 < screen->rows.count && screen->rows.list[selected + 1].kind == ROW_REASON;
	if (at + reason >= *scroll + page)
		*scroll = at + reason - page + 1;
	if (at < *scroll)
		*scroll = at;
	if (*scroll > count - page)
		*scroll = count - page;
	if (*scroll < 0)
		*scroll = 0;
}

static struct pen heading_pen(const struct screen *screen, struct canvas *canvas, enum column first, enum column last)
{
	struct rect rect = screen->layout.areas[AREA_HEADING];
	rect.x = screen->layout.column[first].x;
	rect.columns = screen->layout.column[last].x + screen->layout.column[last].columns - rect.x;
	return pen_at(canvas, rect, 0, ROLE_HEADING);
}

static void draw_heading(const struct screen *screen, struct canvas *canvas)
{
	for (enum column column = 0; column < COLUMN_COUNT; column++) {
		const char *heading = columns[column].heading;
		bool right = columns[column].right;
		enum column last = column;
		/* A bar and its figures have one name; without the bar it stands over the figures. */
		if (column == COLUMN_BAR || column == COLUMN_SPEND_BAR) {
			last = column + 1;
			right = screen->layout.column[column].columns == 0;
		}
		if (!heading[0] || screen->layout.column[last].columns == 0)
			continue;
		struct pen pen = heading_pen(screen, canvas, right ? last : column, last);
		if (right)
			pen_right(&pen, ROLE_HEADING, heading);
		else
			pen_text(&pen, heading, 0);
	}
}

/* That there is more above and below is said at the edge. */
static void draw_more(const struct screen *screen, struct canvas *canvas)
{
	struct rect body = screen->layout.areas[AREA_BODY];
	size_t first = (size_t)screen->scroll[VIEW_TASKS];
	struct pen pen = pen_at(canvas, body, 0, ROLE_KEY);
	if (first > 0)
		pen_right(&pen, ROLE_KEY, glyph(canvas->charset, GLYPH_UP));
	pen = pen_at(canvas, body, body.rows - 1, ROLE_KEY);
	if (first + (size_t)body.rows < screen->rows.count)
		pen_right(&pen, ROLE_KEY, glyph(canvas->charset, GLYPH_DOWN));
}

static void draw_tasks(struct screen *screen, struct canvas *canvas)
{
	draw_heading(screen, canvas);
	settle_scroll(screen, settle_selection(screen));
	struct rect body = screen->layout.areas[AREA_BODY];
	struct drawing drawing = { .screen = screen, .canvas = canvas };
	size_t first = (size_t)screen->scroll[VIEW_TASKS];
	for (size_t i = first; i < screen->rows.count && drawing.row < body.rows; i++, drawing.row++) {
		const struct row *row = &screen->rows.list[i];
		const struct pr_task *task = &screen->model->tasks[row->task];
		bool selected = is_selected(screen, row);
		if (row->kind == ROW_TASK)
			draw_task(&drawing, task, selected);
		else if (row->kind == ROW_REASON)
			draw_reason(&drawing, task);
		else
			draw_fold(&drawing, selected);
		if (selected)
			canvas_role(canvas, (struct rect){ body.x, body.y + drawing.row, body.columns, 1 }, ROLE_SELECTED);
	}
	draw_more(screen, canvas);
}

/* ------- keys ------- */

/* The next row in a direction that can be selected. */
static size_t step(const struct screen *screen, size_t from, int by)
{
	size_t at = from;
	while ((by < 0 && at > 0) || (by > 0 && at + 1 < screen->rows.count)) {
		at += (size_t)by;
		if (screen->rows.list[at].kind != ROW_REASON)
			return at;
	}
	return from;
}

static bool move(struct screen *screen, int by, int times)
{
	size_t at = settle_selection(screen);
	for (int i = 0; i < times && screen->rows.count; i++)
		at = step(screen, at, by);
	if (screen->rows.count)
		select_row(screen, &screen->rows.list[at]);
	return true;
}

static bool next_problem(struct screen *screen)
{
	size_t from = settle_selection(screen);
	for (size_t i = 1; i <= screen->rows.count; i++) {
		const struct row *row = &screen->rows.list[(from + i) % screen->rows.count];
		if (row->kind == ROW_TASK && task_is_problem(&screen->model->tasks[row->task])) {
			select_row(screen, row);
			return true;
		}
	}
	screen_notice(screen, "No task needs a look: none failed, broke its rules, or was left with processes.");
	return true;
}

static bool tasks_verb(struct screen *screen, enum verb verb)
{
	int page = screen->page > 1 ? screen->page - 1 : 1, all = (int)screen->rows.count;
	if (verb < VERB_COUNT)
		settle_selection(screen);
	screen->moved = true;
	if (verb == VERB_UP || verb == VERB_DOWN)
		return move(screen, verb == VERB_UP ? -1 : 1, 1);
	if (verb == VERB_PAGE_UP || verb == VERB_PAGE_DOWN)
		return move(screen, verb == VERB_PAGE_UP ? -1 : 1, page);
	if (verb == VERB_FIRST || verb == VERB_LAST)
		return move(screen, verb == VERB_FIRST ? -1 : 1, all);
	if (verb == VERB_NEXT)
		return next_problem(screen);
	if (verb != VERB_OPEN || screen->rows.count == 0)
		return false;
	settle_selection(screen);
	if (screen->on_fold) {
		screen->unfolded = !screen->unfolded;
		return true;
	}
	screen->view = VIEW_TASK;
	screen->scroll[VIEW_TASK] = 0;
	screen->follow[VIEW_TASK] = false;
	return true;
}

const struct view view_tasks = { .scope = SCOPE_TASKS, .heading = true, .draw = draw_tasks, .verb = tasks_verb };
