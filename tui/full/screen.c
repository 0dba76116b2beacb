/* What all views share: header, counts, message, footer, and the frame around a view. Pure, see screen.h. */
#include "tui/full/screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tui/full/figures.h"
#include "tui/full/glyphs.h"
#include "tui/full/message.h"

#define ETA_TASKS 3		/* done, before the rest is estimated */
#define FAULT_COLUMNS 80	/* from here on a fault of the owner's files may take more than a row */

static const struct view *const views[VIEW_COUNT] = {
	[VIEW_TASKS] = &view_tasks,
	[VIEW_TASK] = &view_task,
	[VIEW_HELP] = &view_help,
};

/* ------- segments: pieces of a line, of which the least important go where room is short ------- */

struct segment {
	enum role role;
	int rank;		/* 0 stays to the last */
	bool right;
	char text[160];
};

struct segments {
	struct segment list[16];
	size_t count;
};

static void __attribute__((format(printf, 5, 6))) add(struct segments *segments, enum role role, int rank, bool right,
						       const char *format, ...)
{
	if (segments->count == ELEMENTS(segments->list))
		return;
	struct segment *segment = &segments->list[segments->count++];
	*segment = (struct segment){ .role = role, .rank = rank, .right = right };
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(segment->text, sizeof segment->text, format, arguments);
	va_end(arguments);
}

static void draw_segments(struct canvas *canvas, struct rect rect, struct segments *segments)
{
	const int gap = 2;
	int widths[ELEMENTS(segments->list)], total = 1;
	for (size_t i = 0; i < segments->count; i++)
		total += (widths[i] = text_columns(canvas->charset, segments->list[i].text)) + gap;
	/* The last gap is the blank at the right edge. */
	while (total - gap + 1 > rect.columns) {
		int worst = 0;
		size_t at = 0;
		for (size_t i = 0; i < segments->count; i++)
			if (segments->list[i].text[0] && segments->list[i].rank > worst) {
				worst = segments->list[i].rank;
				at = i;
			}
		if (worst == 0)
			break;
		segments->list[at].text[0] = '\0';
		total -= widths[at] + gap;
	}
	struct pen pen = pen_at(canvas, rect, 0, ROLE_TEXT);
	struct pen right = pen;
	pen.x += 1;
	right.end -= 1;
	for (size_t i = segments->count; i-- > 0;) {
		if (!segments->list[i].right || !segments->list[i].text[0])
			continue;
		pen_right(&right, segments->list[i].role, segments->list[i].text);
		right.end -= gap;
	}
	for (size_t i = 0; i < segments->count; i++) {
		if (segments->list[i].right || !segments->list[i].text[0])
			continue;
		pen.role = segments->list[i].role;
		pen_text(&pen, segments->list[i].text, 0);
		pen_to(&pen, pen.x + gap);
	}
}

/* ------- what there is to say ------- */

int64_t screen_elapsed_ms(const struct screen *screen)
{
	const struct pr_model *model = screen->model;
	int64_t from = model->started_mono_ns;
	if (model->finished)
		return model->wall_ms;
	if (from == 0)
		return 0;
	int64_t until = model->frozen ? model->last_mono_ns : screen->now_ns;
	if (screen->stop.alone)
		until = screen->stop.asked_ns;
	else if (!model->frozen && (!screen->live || screen->silent))
		/* When it was last known to run: by its log, or by what it said beside it. */
		until = screen->heard_ns > model->last_mono_ns ? screen->heard_ns : model->last_mono_ns;
	int64_t ns = until - from - screen->frozen_ns;
	return ns > 0 ? ns / NS_PER_MS : 0;
}

bool screen_clock_runs(const struct screen *screen)
{
	const struct pr_model *model = screen->model;
	return screen->live && !screen->silent && !screen->stop.alone && model->started && !model->finished && !model->frozen;
}

bool screen_cut_off(const struct screen *screen)
{
	return !screen->model->finished && (screen->ended || screen->stop.alone);
}

enum stop_core screen_core(const struct screen *screen)
{
	return screen->ended ? STOP_CORE_DEAD : screen->live ? STOP_CORE_THERE : STOP_CORE_AWAY;
}

bool screen_at_gate(const struct screen *screen)
{
	return screen->live && screen->model->gate == PR_GATE_WAITING && !screen->model->started && !screen->model->finished &&
	       !screen->model->stopping;
}

unsigned screen_scope(const struct screen *screen)
{
	return views[screen->view]->scope | (screen_at_gate(screen) ? SCOPE_GATE : 0);
}

void screen_read(struct screen *screen)
{
	screen->notice[0] = '\0';
	if (screen->fault_seen)
		screen->fault[0] = '\0';
	screen->fault_seen = false;
}

void screen_notice(struct screen *screen, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(screen->notice, sizeof screen->notice, format, arguments);
	va_end(arguments);
}

const struct pr_task *screen_task(const struct screen *screen)
{
	for (uint32_t i = 0; i < screen->model->counts.tasks; i++)
		if (strcmp(screen->model->tasks[i].id, screen->selected) == 0)
			return &screen->model->tasks[i];
	return NULL;
}

struct round_look {
	const char *word;
	enum role role;
};

static struct round_look round_look(const struct screen *screen)
{
	const struct pr_model *model = screen->model;
	if (model->finished)
		return strcmp(model->state, "finished") == 0 ? (struct round_look){ "finished", ROLE_PASS }
							     : (struct round_look){ model->state, ROLE_STOPPED };
	if (screen->stop.alone)
		return (struct round_look){ "STOPPED without its core", ROLE_STOPPED };
	if (screen->ended)
		return (struct round_look){ "INTERRUPTED", ROLE_ERROR };
	if (screen->silent)
		return (struct round_look){ "NO ANSWER", ROLE_ERROR };
	if (model->seq == 0 || !screen->live)
		return (struct round_look){ "connecting", ROLE_MUTED };
	if (model->stopping)
		return (struct round_look){ "stopping", ROLE_HELD };
	if (model->frozen)
		return (struct round_look){ "FROZEN", ROLE_FROZEN };
	if (model->held)
		return (struct round_look){ "HELD", ROLE_HELD };
	if (model->draining)
		return (struct round_look){ "draining", ROLE_HELD };
	if (model->started)
		return (struct round_look){ "running", ROLE_RUNNING };
	return model->gate == PR_GATE_WAITING ? (struct round_look){ "waits for you", ROLE_HELD }
					      : (struct round_look){ "preflight", ROLE_MUTED };
}

/* How many have a verdict of their own; those that were stopped are counted apart. */
static uint32_t judged(const struct pr_counts *counts)
{
	return counts->done - counts->stopped;
}

/* Something runs for far longer than anything that was judged: what is known says nothing of it. */
static bool outlasts(const struct pr_model *model)
{
	int64_t longest = 0, runs = 0;
	for (uint32_t i = 0; i < model->counts.tasks; i++) {
		const struct pr_task *task = &model->tasks[i];
		int64_t *of = task->running ? &runs : task->verdict != PR_VERDICT_STOPPED ? &longest : NULL;
		if (of && task->wall_ms > *of)
			*of = task->wall_ms;
	}
	return runs > 4 * longest;
}

/* Nobody knows when a round ends that is held, drained or stopped. */
static bool eta_ms(const struct screen *screen, int64_t *ret_ms)
{
	const struct pr_model *model = screen->model;
	const struct pr_counts *counts = &model->counts;
	int64_t left = (int64_t)counts->tasks - counts->done, elapsed = screen_elapsed_ms(screen);
	bool goes_on = screen_clock_runs(screen) && !model->held && !model->draining && !model->stopping;
	if (!goes_on || judged(counts) < ETA_TASKS || left == 0 || elapsed < 5000 || outlasts(model))
		return false;
	*ret_ms = elapsed * left / judged(counts);
	return true;
}

static void draw_header(const struct screen *screen, struct canvas *canvas)
{
	const struct pr_model *model = screen->model;
	struct segments line = { .count = 0 };
	struct round_look look = round_look(screen);
	int64_t left, elapsed = screen_elapsed_ms(screen);
	add(&line, ROLE_HEADER, 6, false, "proctor");
	add(&line, ROLE_HEADER, 1, false, "%.100s", model->name[0] ? model->name : screen->round ? screen->round : "");
	/* Of one that was cut off before its log said when, nobody knows. */
	if (model->finished || (model->started && (elapsed >= 1000 || !screen->ended)))
		add(&line, look.role, 0, false, "%.40s %s", look.word, figure_clock(elapsed).text);
	else
		add(&line, look.role, 0, false, "%.40s", look.word);
	if (eta_ms(screen, &left))
		add(&line, ROLE_MUTED, 4, false, "about %s left", figure_clock(left).text);
	if (model->counts.tasks)
		add(&line, ROLE_HEADER, 2, true, "%u of %u done", (unsigned)judged(&model->counts), (unsigned)model->counts.tasks);
	if (model->spend_usd_micro > 0)
		add(&line, ROLE_HEADER, 3, true, "spend %s", figure_money(model->spend_usd_micro).text);
	else
		add(&line, ROLE_MUTED, 5, true, "spend -");
	draw_segments(canvas, screen->layout.areas[AREA_HEADER], &line);
	/* One background from edge to edge, where the theme gives the header one. */
	struct rect rect = screen->layout.areas[AREA_HEADER];
	for (int x = 0; x < rect.columns; x++)
		if (canvas_cell(canvas, rect.x + x, rect.y)->role == ROLE_TEXT)
			canvas_cell(canvas, rect.x + x, rect.y)->role = ROLE_HEADER;
}

static void draw_status(const struct screen *screen, struct canvas *canvas)
{
	const struct pr_model *model = screen->model;
	const struct pr_counts *counts = &model->counts;
	struct segments line = { .count = 0 };
	if (model->preflight.known && model->preflight.fail > 0)
		add(&line, ROLE_FAIL, 3, false, "preflight %" PRId64 " FAIL", model->preflight.fail);
	else if (model->preflight.known)
		add(&line, ROLE_MUTED, 5, false, "preflight %" PRId64 " ok%s", model->preflight.ok, model->preflight.warn ? ", warnings" : "");
	bool cut_off = screen_cut_off(screen);
	add(&line, counts->running && !cut_off ? ROLE_RUNNING : ROLE_MUTED, 1, false, "%u %s", (unsigned)counts->running,
	    cut_off ? "cut off" : "running");
	add(&line, ROLE_MUTED, 1, false, "%u queued", (unsigned)counts->queued);
	add(&line, ROLE_MUTED, 2, false, "%u done", (unsigned)judged(counts));
	if (counts->stopped)
		add(&line, ROLE_STOPPED, 2, false, "%u stopped", (unsigned)counts->stopped);
	if (model->refusals)
		add(&line, ROLE_REFUSAL, 4, false, "%" PRIu64 " %s", model->refusals, model->refusals == 1 ? "refusal" : "refusals");
	if (model->faults)
		add(&line, ROLE_ERROR, 3, false, "%" PRIu64 " %s", model->faults, model->faults == 1 ? "fault" : "faults");
	if (!screen->control)
		add(&line, ROLE_MUTED, 6, true, "read-only");
	draw_segments(canvas, screen->layout.areas[AREA_STATUS], &line);
}

/* ------- the message (message.h) ------- */

static void draw_counts(const struct screen *screen, struct canvas *canvas)
{
	const struct pr_model *model = screen->model;
	const struct {
		uint32_t number;
		const char *word;
		enum role role;
	} counts[] = {
		{ model->counts.pass, "pass", ROLE_PASS },	{ model->counts.fail, "fail", ROLE_FAIL },
		{ model->counts.invalid, "invalid", ROLE_INVALID }, { model->counts.error, "error", ROLE_ERROR },
		{ model->counts.stopped, "stopped", ROLE_STOPPED },
	};
	struct segments line = { .count = 0 };
	for (size_t i = 0; i < ELEMENTS(counts); i++)
		if (counts[i].number || (i == 0 && model->counts.done))
			add(&line, counts[i].role, 1, false, "%u %s", (unsigned)counts[i].number, counts[i].word);
	if (model->finished && strcmp(model->state, "finished") != 0)
		add(&line, ROLE_NOTICE, 3, false, "resume: proctor run --resume %.100s", screen->round ? screen->round : model->round);
	if (screen->head[0])
		add(&line, ROLE_MUTED, 5, true, "log %.4s..%s #%" PRIu64, screen->head, screen->head + 60, model->seq);
	else if (model->seq)
		add(&line, ROLE_MUTED, 5, true, "log #%" PRIu64, model->seq);
	draw_segments(canvas, screen->layout.areas[AREA_MESSAGE], &line);
}

/* Words, then keys; the keys first where both would not fit. Returns the rows. */
static int whole_message(const struct screen *screen, int columns, enum pr_charset charset, char *text, size_t size, enum role *ret_role)
{
	char words[2048];
	const char *keys;
	struct rect rect = { 0, 0, columns > 3 ? columns - 2 : 1, CANVAS_ROWS_MAX };
	message_words(screen, words, sizeof words, ret_role, &keys);
	snprintf(text, size, "%s%s%s", words, keys[0] ? "   " : "", keys);
	/* Where there is little room, a fault of a file takes one row. */
	if (columns < FAULT_COLUMNS && message_is_fault(screen, words))
		return 1;
	int rows = words[0] ? canvas_wrap(NULL, charset, rect, *ret_role, text) : 0;
	if (rows > LAYOUT_MESSAGE_ROWS && keys[0])
		snprintf(text, size, "%s   %s", keys, words);
	return rows > LAYOUT_MESSAGE_ROWS ? LAYOUT_MESSAGE_ROWS : rows;
}

static void draw_message(const struct screen *screen, struct canvas *canvas)
{
	char words[2304];
	enum role role;
	whole_message(screen, canvas->columns, canvas->charset, words, sizeof words, &role);
	struct rect rect = screen->layout.areas[AREA_MESSAGE];
	if (!words[0]) {
		draw_counts(screen, canvas);
		return;
	}
	/* A bar from edge to edge is for what the stop key says. */
	if (role == ROLE_ALERT || role == ROLE_PROOF)
		canvas_role(canvas, rect, role);
	rect.x += 1;
	rect.columns -= 2;
	canvas_wrap(canvas, canvas->charset, rect, role, words);
}

static int message_rows(const struct screen *screen, int columns, enum pr_charset charset)
{
	char words[2304];
	enum role role;
	int rows = whole_message(screen, columns, charset, words, sizeof words, &role);
	return rows > 0 ? rows : 1;
}

/* What a key does now, in a word; NULL: not worth one. */
static const char *footer_word(const struct screen *screen, enum verb verb)
{
	const struct key *key = &key_table[verb];
	bool over = screen->model->finished || screen->ended;
	if (verb == VERB_ESCAPE)
		return screen->view != VIEW_TASKS && (screen->stop.stage == STOP_NONE || stopkey_is_proven(&screen->stop)) ? "back" : NULL;
	if (verb == VERB_FREEZE && screen->model->frozen)
		return "thaw";
	if (verb == VERB_DETACH && over)
		return "leave";
	return key->footer[0] ? key->footer : NULL;
}

static bool offered(const struct screen *screen, enum verb verb)
{
	const struct key *key = &key_table[verb];
	const struct pr_model *model = screen->model;
	if (!(key->scope & screen_scope(screen)))
		return false;
	if (key->steers && stopkey_is_proven(&screen->stop))
		return false;
	return !key->steers || (screen->control && !model->finished && (screen->live || verb == VERB_STOP) && !screen->ended);
}

static void draw_footer(const struct screen *screen, struct canvas *canvas)
{
	struct pen pen = pen_at(canvas, screen->layout.areas[AREA_FOOTER], 0, ROLE_KEY);
	pen.x += 1;
	for (enum verb verb = 0; verb < VERB_COUNT; verb++) {
		const struct key *key = &key_table[verb];
		/* One key of those that do it. */
		int first = (int)strcspn(key->shown, " ");
		const char *word = offered(screen, verb) ? footer_word(screen, verb) : NULL;
		if (!word || pen.x + first + 1 + (int)strlen(word) > pen.end)
			continue;
		pen.role = ROLE_KEY;
		pen_bytes(&pen, key->shown, (size_t)first, 0);
		pen.role = ROLE_MUTED;
		pen_text(&pen, " ", 1);
		pen_text(&pen, word, 0);
		pen_to(&pen, pen.x + 2);
	}
}

/* The keys with their footers' words, for where there is no room for a help page. */
static void short_help(const struct screen *screen, char *words, size_t size)
{
	int used = 0;
	for (enum verb verb = 0; verb < VERB_COUNT; verb++) {
		const struct key *key = &key_table[verb];
		const char *word = offered(screen, verb) ? footer_word(screen, verb) : NULL;
		if (word && (size_t)used < size)
			used += snprintf(words + used, size - (size_t)used, "%.*s %s  ", (int)strcspn(key->shown, " "), key->shown, word);
	}
	if ((size_t)used < size)
		snprintf(words + used, size - (size_t)used, "The whole help page needs %dx%d.", LAYOUT_COLUMNS_MIN, LAYOUT_ROWS_MIN);
}

/* A terminal that is too small for anything else: the keys that matter now, then the words, then how it stands. */
static void draw_summary(const struct screen *screen, struct canvas *canvas)
{
	const struct pr_model *model = screen->model;
	struct rect rect = screen->layout.areas[AREA_SUMMARY];
	struct round_look look = round_look(screen);
	char words[2048], text[2304], state[PR_NAME + 128];
	const char *keys = "";
	enum role role = ROLE_TEXT;
	if (screen->view == VIEW_HELP)
		short_help(screen, words, sizeof words);
	else
		message_words(screen, words, sizeof words, &role, &keys);
	snprintf(state, sizeof state, "%s %s %u/%u %s", look.word, figure_clock(screen_elapsed_ms(screen)).text,
		 (unsigned)judged(&model->counts), (unsigned)model->counts.tasks, model->name);
	snprintf(text, sizeof text, "%s%s%s", keys, keys[0] ? "  " : "", words);
	/* How it stands comes first where there is a row for it beside the rest. */
	bool both = rect.rows > (role == ROLE_ALERT ? 2 : 1), fault = message_is_fault(screen, words);
	if (!text[0] || both) {
		struct pen pen = pen_at(canvas, rect, 0, look.role);
		pen_text(&pen, state, 0);
		rect.y++;
		rect.rows--;
	}
	/* The keys that begin everything, where nothing more urgent needs the row. */
	if (rect.rows > (text[0] ? 1 : 0) && screen->view != VIEW_HELP && (fault || !text[0])) {
		struct pen pen = pen_at(canvas, rect, rect.rows - 1, ROLE_KEY);
		pen_text(&pen, offered(screen, VERB_STOP) ? "S stop  ? keys" : "? keys", 0);
		rect.rows--;
	}
	if (fault && rect.rows > 1)
		rect.rows = 1;
	if (text[0] && rect.rows > 0) {
		if (role == ROLE_ALERT || role == ROLE_PROOF)
			canvas_role(canvas, rect, role);
		canvas_wrap(canvas, canvas->charset, rect, role, text);
	}
}

int screen_draw(struct screen *screen, int columns, int rows, enum pr_charset charset, struct canvas *canvas)
{
	int r = canvas_reset(canvas, columns, rows, charset);
	if (r >= 0)
		r = rows_build(&screen->rows, screen->model, screen->unfolded);
	if (r < 0)
		return r;
	const struct pr_model *model = screen->model;
	struct layout_wants wants = { .heading = views[screen->view]->heading, .metered = model->spend_usd_micro > 0 };
	for (uint32_t i = 0; i < model->counts.tasks; i++) {
		int width = text_columns(charset, model->tasks[i].id);
		wants.task_width = width > wants.task_width ? width : wants.task_width;
		wants.metered |= model->tasks[i].reserved_usd_micro > 0 || model->tasks[i].spend_usd_micro > 0;
	}
	wants.message_rows = message_rows(screen, canvas->columns, charset);
	screen->fault_seen = message_shows_fault(screen);
	layout_of(canvas->columns, canvas->rows, &wants, &screen->layout);
	screen->page = screen->layout.areas[AREA_BODY].rows;
	if (layout_has(&screen->layout, AREA_SUMMARY)) {
		draw_summary(screen, canvas);
		return 0;
	}
	draw_header(screen, canvas);
	draw_status(screen, canvas);
	draw_rule(canvas, screen->layout.areas[AREA_RULE_ABOVE]);
	views[screen->view]->draw(screen, canvas);
	draw_rule(canvas, screen->layout.areas[AREA_RULE_BELOW]);
	draw_message(screen, canvas);
	draw_footer(screen, canvas);
	return 0;
}

/* ------- verbs that move ------- */

bool screen_scroll(struct screen *screen, enum verb verb)
{
	int *scroll = &screen->scroll[screen->view], page = screen->page > 1 ? screen->page - 1 : 1;
	const struct {
		enum verb verb;
		int by;
	} steps[] = {
		{ VERB_UP, -1 }, { VERB_DOWN, 1 }, { VERB_PAGE_UP, -page }, { VERB_PAGE_DOWN, page },
		{ VERB_FIRST, -100000 }, { VERB_LAST, 100000 },
	};
	for (size_t i = 0; i < ELEMENTS(steps); i++)
		if (steps[i].verb == verb) {
			*scroll += steps[i].by;
			if (*scroll < 0)
				*scroll = 0;
			screen->follow[screen->view] = verb == VERB_LAST || (screen->follow[screen->view] && steps[i].by > 0);
			return true;
		}
	return false;
}

bool screen_verb(struct screen *screen, enum verb verb)
{
	if (verb == VERB_HELP || verb == VERB_TASKS) {
		screen->view = verb == VERB_TASKS || screen->view == VIEW_HELP ? VIEW_TASKS : VIEW_HELP;
		return true;
	}
	if ((verb == VERB_ESCAPE || verb == VERB_BACK) && screen->view != VIEW_TASKS) {
		screen->view = VIEW_TASKS;
		return true;
	}
	return views[screen->view]->verb(screen, verb);
}

void screen_release(struct screen *screen)
{
	rows_release(&screen->rows);
}
