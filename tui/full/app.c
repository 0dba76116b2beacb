/* The loop of app.h. Owns all that a display needs; knows neither curses nor how anything looks. */
#include "tui/full/app.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/digest.h"
#include "tui/command.h"
#include "tui/full/contact.h"
#include "tui/full/figures.h"
#include "tui/full/pace.h"
#include "tui/full/screen.h"
#include "tui/full/steer.h"
#include "tui/full/term.h"
#include "tui/interrupt.h"
#include "tui/member.h"
#include "tui/notice.h"
#include "tui/show.h"

#define CLOCK_NS NS_PER_S
#define FAREWELL_NS NS_PER_S	/* how long a terminal may take to take what is said last */
#define EVIDENCE_NS NS_PER_S	/* files are read again at most so often */
#define TURN_EVENTS 1000	/* events folded before the terminal is looked at again */
#define TURN_FILLS 8		/* reads from the core, likewise */

struct app {
	const struct round_place *place;
	const struct show_settings *settings;
	struct feed feed;
	struct pr_model model;
	struct screen screen;
	struct contact contact;
	struct pace pace;
	struct buffer last_line;	/* of the log, for its head */
	struct steer steer;
	struct canvas canvas;
	struct terminal *term;
	struct themes themes;
	size_t theme;
	struct evidence evidence;
	bool evidence_stale;
	uint64_t evidence_seq;
	int64_t evidence_ns;
	int signals;

	uint64_t past;			/* events up to here happened before we came; UINT64_MAX: not known yet */
	bool filling;			/* the socket holds more than was taken */
	bool more;			/* events were left for the next turn */
	bool dirty;			/* something to paint */
	bool urgent;			/* because of a key, or the round took a turn */
	bool whole;			/* Ctrl-L */
	int64_t frozen_since_ns;
	unsigned interrupts;
	bool blind;			/* the terminal is gone; we stay until the round is over (--attached) */
	bool leave;
	int ended_by;			/* the signal to end by; 0: none */
};

bool full_is_capable(void)
{
	struct pr_error error = { 0 };
	if (term_is_capable(&error))
		return true;
	/* A pipe or a file is what the owner chose; a terminal that cannot is not. */
	if (error.code != ENOTTY)
		notice("%s; plain lines instead", error.message);
	return false;
}

/* ------- leaving ------- */

static void detach(struct app *app)
{
	app->leave = true;
}

/* The terminal went away: as SIGHUP has it, whether or not that comes. */
static void hung_up(struct app *app)
{
	if (app->settings->role == SHOW_ATTACHED && !app->model.finished && !app->blind) {
		app->blind = true;
		steer_stop_round(&app->steer);
		return;
	}
	app->ended_by = SIGHUP;
	app->leave = true;
}

static void interrupted(struct app *app, int number)
{
	app->interrupts++;
	app->dirty = app->urgent = true;
	if (app->settings->role == SHOW_ATTACHED) {
		if (app->interrupts > 1 || app->model.finished)
			app->leave = true;
		else
			steer_stop_round(&app->steer);
		return;
	}
	if (number != SIGINT) {
		app->ended_by = number;
		app->leave = true;
	} else if (app->interrupts > 1 || app->model.finished) {
		detach(app);
	} else {
		screen_notice(&app->screen, "The round goes on without this screen. Ctrl-C again, or d, detaches%s; ? shows all keys.",
			      app->screen.control ? "; S freezes it, S again stops it" : "");
	}
}

/* ------- events ------- */

static void keep_clock(struct app *app, bool was_frozen)
{
	struct pr_model *model = &app->model;
	if (!was_frozen && model->frozen)
		app->frozen_since_ns = model->last_mono_ns;
	else if (was_frozen && !model->frozen && app->frozen_since_ns)
		app->screen.frozen_ns += model->last_mono_ns - app->frozen_since_ns;
}

/* The turns that a round takes, whoever makes them. */
static uint64_t turns_of(const struct pr_model *model)
{
	return (uint64_t)model->frozen | (uint64_t)model->held << 1 | (uint64_t)model->draining << 2 | (uint64_t)model->stopping << 3 |
	       (uint64_t)model->finished << 4 | (uint64_t)model->started << 5 | (uint64_t)model->gate << 6;
}

static int take_event(struct app *app, const struct pr_message *event, const char *line, size_t length, struct pr_error *error)
{
	struct pr_model *model = &app->model;
	bool was_frozen = model->frozen, news = event->seq == 0 || event->seq > app->past;
	uint64_t before = turns_of(model), faults = model->faults;
	steer_message(&app->steer, event, news);
	if (event->type == PR_MESSAGE_ANSWER) {
		app->dirty = app->urgent = true;
		return 0;
	}
	if (event->event == PR_EVENT_TAIL) {
		app->evidence_stale |= app->screen.view == VIEW_TASK &&
				       strcmp(member_text_or(event->object, "task", ""), app->screen.selected) == 0;
		return 0;
	}
	int r = pr_model_apply(model, event->object);
	if (r < 0)
		return pr_error_errno(error, -r, "showing round %s", app->place->name);
	app->dirty |= r > 0;
	bool turned = before != turns_of(model);
	if (turned && news)
		steer_turned(&app->steer);
	/* What everybody who looks is to see at once; not while the past is read. */
	app->urgent |= (turned || faults != model->faults) && !feed_is_behind(&app->feed);
	if (event->seq) {
		buffer_clear(&app->last_line);
		buffer_add(&app->last_line, line, length);
	}
	if (event->event == PR_EVENT_ROUND_OPENED) {
		app->screen.frozen_ns = app->frozen_since_ns = 0;
		if (news)
			stopkey_resumed(&app->screen.stop);
	}
	keep_clock(app, was_frozen);
	return 0;
}

static int look_at_core(struct app *app, struct pr_error *error)
{
	bool changed = false;
	int r = contact_look(&app->contact, &changed, error);
	if (r > 0 && app->past == UINT64_MAX)
		app->past = app->feed.link.seq;
	if (r > 0)
		steer_reached(&app->steer);
	if (changed) {
		steer_turned(&app->steer);
		app->dirty = app->urgent = true;
	}
	return r < 0 ? r : 0;
}

static int take_events(struct app *app, struct pr_error *error)
{
	int r = look_at_core(app, error);
	app->more = false;
	if (r < 0)
		return r;
	for (int i = 0; !app->feed.over; i++) {
		app->more = i == TURN_EVENTS;
		if (app->more)
			break;
		struct pr_message event;
		const char *line;
		size_t length;
		r = feed_next(&app->feed, &event, &line, &length, error);
		if (r <= 0)
			break;
		r = take_event(app, &event, line, length, error);
		pr_message_release(&event);
		if (r < 0)
			break;
	}
	return r < 0 ? r : look_at_core(app, error);
}

/* ------- keys ------- */

static void next_theme(struct app *app)
{
	app->theme = (app->theme + 1) % app->themes.count;
	term_set_theme(app->term, &app->themes.list[app->theme]);
	bool mono = term_depth(app->term) == THEME_MONO;
	screen_notice(&app->screen, "Theme %s%s.", app->themes.list[app->theme].name, mono ? ", without colours here" : "");
	app->whole = true;
}

static void pressed_detach(struct app *app)
{
	if (app->settings->role != SHOW_ATTACHED || app->model.finished)
		detach(app);
	else if (steer_confirm(&app->steer, VERB_DETACH, "The round ends with this command (--attached). d again leaves and stops it."))
		detach(app);
}

static void pressed(struct app *app, int press)
{
	struct screen *screen = &app->screen;
	enum verb verb = keys_verb(press, screen_scope(screen));
	app->dirty = app->urgent = true;
	if (verb != VERB_INTERRUPT)
		app->interrupts = 0;
	if (verb == VERB_NONE)
		return;
	screen_read(screen);
	if (steer_verb(&app->steer, verb))
		return;
	if (verb == VERB_ESCAPE && steer_escape(&app->steer))
		return;
	if (verb == VERB_DETACH) {
		pressed_detach(app);
	} else if (verb == VERB_INTERRUPT) {
		interrupted(app, SIGINT);
	} else if (verb == VERB_THEME) {
		next_theme(app);
	} else if (verb == VERB_REPAINT) {
		app->whole = true;
	} else if (verb == VERB_SUSPEND) {
		term_suspend(app->term);
	} else if (screen_verb(screen, verb)) {
		app->evidence_stale |= screen->view == VIEW_TASK;
	}
}

static void read_keys(struct app *app)
{
	int press;
	while (!app->leave && (press = term_press(app->term)) != PRESS_NONE)
		pressed(app, press);
}

/* ------- painting ------- */

static void refresh_evidence(struct app *app, int64_t now)
{
	struct screen *screen = &app->screen;
	const struct pr_task *task = screen->view == VIEW_TASK ? screen_task(screen) : NULL;
	if (!task)
		return;
	bool other = strcmp(app->evidence.task, task->id) != 0;
	bool stale = app->evidence_stale || (app->model.seq != app->evidence_seq);
	if (!other && (!stale || now < app->evidence_ns + EVIDENCE_NS))
		return;
	evidence_read(&app->evidence, app->place->dir, task);
	app->evidence_stale = false;
	app->evidence_seq = app->model.seq;
	app->evidence_ns = now;
}

/* When the next frame is due; 0: there is nothing to show. */
static int64_t frame_due_ns(const struct app *app)
{
	if (app->blind || !term_is_ours(app->term))
		return 0;
	if (app->dirty && app->urgent)
		return 1;
	int64_t due = 0;
	if (app->dirty)
		due = pace_frame_ns(&app->pace);
	else if (screen_clock_runs(&app->screen))
		due = app->pace.painted_ns + CLOCK_NS;
	if (app->evidence_stale && app->screen.view == VIEW_TASK) {
		int64_t read = app->evidence_ns + EVIDENCE_NS;
		due = due == 0 || read < due ? read : due;
	}
	return due;
}

static int paint(struct app *app, struct pr_error *error)
{
	int64_t now = clock_mono_ns();
	int columns, rows;
	refresh_evidence(app, now);
	app->screen.now_ns = now;
	if (app->last_line.length)
		digest_bytes(app->last_line.data, app->last_line.length, app->screen.head);
	term_size(app->term, &columns, &rows);
	int r = screen_draw(&app->screen, columns, rows, term_charset(app->term), &app->canvas);
	if (r < 0)
		return pr_error_errno(error, -r, "drawing the screen");
	long bytes = term_paint(app->term, &app->canvas, app->whole);
	pace_painted(&app->pace, bytes, app->urgent, now);
	app->dirty = app->urgent = app->whole = false;
	if (bytes < 0)
		hung_up(app);
	return 0;
}

static bool takes_bytes(const struct app *app)
{
	struct pollfd wanted = { .fd = term_fd(app->term), .events = POLLOUT };
	return poll(&wanted, 1, 0) > 0 && (wanted.revents & POLLOUT);
}

static int paint_if_due(struct app *app, bool *ret_blocked, struct pr_error *error)
{
	int64_t due = frame_due_ns(app);
	*ret_blocked = false;
	if (due == 0 || clock_mono_ns() < due)
		return 0;
	if (term_pending(app->term) || !takes_bytes(app)) {
		*ret_blocked = true;
		return 0;
	}
	return paint(app, error);
}

/* ------- the loop ------- */

static int64_t earlier(int64_t one, int64_t other)
{
	return one == 0 || (other != 0 && other < one) ? other : one;
}

/*
 * Until when what the core says is left in its socket: not one waking an event. Not while somebody waits for an answer,
 * nor where there is nobody to paint for. 0: it is listened to.
 */
static int64_t rest_until_ns(const struct app *app)
{
	if (app->urgent || app->blind || app->filling || app->feed.greeting || steer_waits(&app->steer))
		return 0;
	int64_t until = pace_rest_ns(&app->pace, app->dirty);
	return until > clock_mono_ns() ? until : 0;
}

static int timeout_ms(const struct app *app, bool blocked, int64_t rest_until)
{
	int64_t due = earlier(steer_due_ns(&app->steer), contact_due_ns(&app->contact));
	int64_t frame = blocked ? 0 : frame_due_ns(app);
	/* The clock goes on with what the core says next. */
	if (rest_until && !app->dirty && frame)
		frame = frame > rest_until ? frame : rest_until;
	due = earlier(earlier(due, frame), rest_until);
	if (app->more)
		return 0;
	int wait = due == 0 ? -1 : 0;
	if (due != 0) {
		int64_t left = due - clock_mono_ns();
		wait = left <= 0 ? 0 : left > INT32_MAX * NS_PER_MS ? INT32_MAX : (int)((left + NS_PER_MS - 1) / NS_PER_MS);
	}
	int others[] = { app->feed.over ? -1 : feed_wait_ms(&app->feed), app->blind ? -1 : term_wait_ms(app->term) };
	for (size_t i = 0; i < ELEMENTS(others); i++)
		if (others[i] >= 0 && (wait < 0 || others[i] < wait))
			wait = others[i];
	return wait;
}

static void take_terminal(struct app *app, short events)
{
	if ((events & POLLOUT) && term_push(app->term) < 0) {
		hung_up(app);
		return;
	}
	if (events & POLLIN) {
		if (term_fill(app->term) < 0) {
			hung_up(app);
			return;
		}
	} else if (events & (POLLHUP | POLLERR | POLLNVAL)) {
		hung_up(app);
		return;
	}
}

/* All that has arrived, in turns: what waited for a frame is not to wait for the next. */
static void drain_core(struct app *app)
{
	struct pollfd more = { .fd = app->feed.link.fd, .events = POLLIN };
	int turns = 0;
	size_t bytes = 0;
	do
		bytes += link_fill(&app->feed.link);
	while (++turns < TURN_FILLS && !app->feed.link.ended && poll(&more, 1, 0) > 0);
	app->filling = turns == TURN_FILLS;
	int64_t now = clock_mono_ns();
	pace_took(&app->pace, bytes, now);
	if (bytes > 0 && app->screen.silent) {
		steer_turned(&app->steer);
		app->dirty = app->urgent = true;
	}
	if (bytes > 0)
		contact_heard(&app->contact, now);
}

static int wait_for_more(struct app *app, bool blocked, struct pr_error *error)
{
	enum { CORE, TERMINAL, TERMINAL_SIGNALS, SIGNALS, WORKER, WAITED };
	int64_t rest_until = rest_until_ns(app);
	bool connected = app->feed.link.fd >= 0 && !app->feed.link.ended;
	bool ours = !app->blind && term_is_ours(app->term);
	bool writes = blocked || (!app->blind && term_pending(app->term));
	struct pollfd wanted[WAITED] = {
		[CORE] = { .fd = connected && !rest_until ? app->feed.link.fd : -1, .events = POLLIN },
		[TERMINAL] = { .fd = app->blind ? -1 : term_fd(app->term), .events = (short)((ours ? POLLIN : 0) | (writes ? POLLOUT : 0)) },
		[TERMINAL_SIGNALS] = { .fd = app->blind ? -1 : term_signal_fd(app->term), .events = POLLIN },
		[SIGNALS] = { .fd = app->signals, .events = POLLIN },
		[WORKER] = { .fd = app->steer.worker_fd, .events = POLLIN },
	};
	int r = poll(wanted, WAITED, timeout_ms(app, blocked, rest_until));
	if (r < 0)
		return errno == EINTR ? 0 : pr_error_errno(error, errno, "waiting");
	int64_t now = clock_mono_ns();
	if (connected && !rest_until && !wanted[CORE].revents && contact_quiet(&app->contact, now)) {
		steer_turned(&app->steer);
		app->dirty = app->urgent = true;
	}
	if (wanted[SIGNALS].revents) {
		int number = interrupt_take(app->signals);
		if (number)
			interrupted(app, number);
	}
	if (wanted[TERMINAL_SIGNALS].revents && term_take_signals(app->term))
		app->dirty = app->urgent = true;
	if (wanted[TERMINAL].revents)
		take_terminal(app, wanted[TERMINAL].revents);
	/* What came while it was left alone goes into the frame that is due now. */
	if (wanted[CORE].revents || (connected && rest_until && now >= rest_until))
		drain_core(app);
	if (wanted[WORKER].revents) {
		steer_worker_spoke(&app->steer);
		app->dirty = app->urgent = true;
	}
	if (!app->blind && !app->leave)
		read_keys(app);
	return 0;
}

static bool is_done(const struct app *app)
{
	if (app->leave)
		return true;
	bool over = app->model.finished && !feed_is_behind(&app->feed);
	return app->settings->role == SHOW_ATTACHED && (over || app->feed.over || app->screen.stop.stage == STOP_STOPPED) &&
	       !app->steer.worker;
}

static int loop(struct app *app, struct pr_error *error)
{
	for (;;) {
		bool blocked = false;
		int r = take_events(app, error);
		if (r < 0)
			return r;
		if (steer_tick(&app->steer)) {
			app->dirty = app->urgent = true;
			r = look_at_core(app, error);
		}
		if (r < 0)
			return r;
		if (is_done(app))
			return 0;
		if (!app->blind)
			r = paint_if_due(app, &blocked, error);
		if (r >= 0)
			r = wait_for_more(app, blocked, error);
		if (r < 0)
			return r;
	}
}

/* ------- beginning and end ------- */

static void load_themes(struct app *app)
{
	struct pr_error fault = { 0 };
	if (themes_load(NULL, &app->themes, &fault) < 0)
		return;
	if (fault.code)
		snprintf(app->screen.fault, sizeof app->screen.fault, "A theme is passed over: %s", fault.message);
	term_set_theme(app->term, &app->themes.list[0]);
}

/* What is left on the terminal once the screen is gone. */
static int last_words(const struct app *app, struct pr_error *error)
{
	const struct pr_model *model = &app->model;
	const char *name = app->place->name;
	if (model->finished) {
		notice("round %s %s after %s: %u pass, %u fail, %u invalid, %u error, %u stopped; evidence: %s", name, model->state,
		       figure_took(model->wall_ms).text, (unsigned)model->counts.pass, (unsigned)model->counts.fail,
		       (unsigned)model->counts.invalid, (unsigned)model->counts.error, (unsigned)model->counts.stopped, app->place->dir);
		return show_exit_code(model);
	}
	if (app->screen.stop.stage == STOP_STOPPED) {
		notice("round %s was stopped; resume: proctor run --resume %s", name, name);
		return EXIT_STOPPED;
	}
	if (app->screen.ended) {
		pr_error_set(error, ECONNRESET, "round %s is interrupted: its core is gone", name);
		pr_error_remedy(error, "proctor run --resume %s goes on with it; %s/core.log may say why", name, app->place->dir);
		return EXIT_REFUSED;
	}
	if (app->settings->role == SHOW_ATTACHED)
		return EXIT_STOPPED;
	if (app->screen.silent)
		notice("detached; the core of round %s does not answer. proctor stop %s stops the round without it", name, name);
	else if (screen_at_gate(&app->screen))
		notice("detached; round %s waits for its owner: proctor start %s, or proctor stop %s", name, name, name);
	else
		notice("detached; the round goes on. proctor watch %s shows it again, proctor stop %s ends it", name, name);
	return EXIT_DONE;
}

static void app_release(struct app *app)
{
	term_close(app->term);
	app->term = NULL;
	steer_release(&app->steer);
	screen_release(&app->screen);
	evidence_release(&app->evidence);
	themes_release(&app->themes);
	canvas_release(&app->canvas);
	buffer_release(&app->last_line);
	feed_release(&app->feed);
	cleanup_close(&app->signals);
}

static int run(struct app *app, struct pr_error *error)
{
	app->signals = interrupt_open(error);
	if (app->signals < 0)
		return app->signals;
	load_themes(app);
	/* Something to see before the core has answered. */
	int r = paint(app, error);
	app->feed.ephemeral = true;
	if (r >= 0)
		r = contact_open(&app->contact, error);
	app->dirty = true;
	return r < 0 ? r : loop(app, error);
}

bool full_show(const struct round_place *place, const struct show_settings *settings, int *ret_exit, struct pr_error *error)
{
	struct app app = {
		.place = place, .settings = settings, .feed = FEED_INIT, .model = PR_MODEL_INIT, .screen = SCREEN_INIT,
		.steer = STEER_INIT, .canvas = CANVAS_INIT, .signals = -1, .pace = PACE_INIT, .past = UINT64_MAX,
	};
	if (term_open(&app.term, error) < 0) {
		notice("%s; plain lines instead", error->message);
		*error = (struct pr_error){ 0 };
		return false;
	}
	app.screen.model = &app.model;
	app.screen.round = place->name;
	app.screen.control = settings->control;
	app.screen.evidence = &app.evidence;
	app.steer.feed = &app.feed;
	app.steer.place = place;
	app.steer.screen = &app.screen;
	app.contact = (struct contact){ .feed = &app.feed, .place = place, .screen = &app.screen };
	app.pace.budget_ns = clock_mono_ns();
	int r = run(&app, error);
	int ended_by = app.ended_by;
	term_close(app.term);
	app.term = NULL;
	notice_within(FAREWELL_NS);
	*ret_exit = r < 0 ? r : last_words(&app, error);
	app_release(&app);
	pr_model_release(&app.model);
	if (ended_by)
		interrupt_die(ended_by);
	return true;
}
