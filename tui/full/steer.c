/* The verbs of steer.h, one table. Waits for nothing. */
#include "tui/full/steer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tui/launch.h"
#include "tui/member.h"

void steer_release(struct steer *steer)
{
	/* A worker that still stops a round is left to do so. */
	cleanup_close(&steer->worker_fd);
	steer->worker_fd = -1;
	buffer_release(&steer->proof);
}

/* The n-th of what was asked, from the oldest that is remembered on. */
static struct asked *asked_at(const struct steer *steer, unsigned n)
{
	return (struct asked *)&steer->asked[(steer->sent + n) % STEER_ASKED];
}

static int send_asked(struct steer *steer, const struct asked *asked, struct pr_error *error)
{
	if (steer->feed->link.fd < 0 || steer->feed->link.ended || steer->feed->greeting)
		return pr_error_set(error, ECONNRESET, "the core is not connected");
	return link_command(&steer->feed->link, asked->id, asked->verb, asked->task[0] ? asked->task : NULL, error);
}

static int send_verb(struct steer *steer, enum pr_verb verb, const char *task)
{
	struct pr_error error = { 0 };
	struct asked *asked = asked_at(steer, 0);
	int r = 0;
	/* A stop takes the oldest one's place: it always goes out. */
	if (asked->id[0] && (verb != PR_VERB_STOP || task))
		r = pr_error_set(&error, EBUSY, "%d commands wait for their answers", STEER_ASKED);
	if (r >= 0) {
		*asked = (struct asked){ .verb = verb, .at_ns = clock_mono_ns() };
		snprintf(asked->id, sizeof asked->id, "%ld-%lld-%u", (long)getpid(), (long long)asked->at_ns, steer->sent + 1);
		snprintf(asked->task, sizeof asked->task, "%s", task ? task : "");
		r = send_asked(steer, asked, &error);
	}
	if (r < 0) {
		if (error.code != EBUSY)
			asked->id[0] = '\0';
		screen_notice(steer->screen, "Not sent: %s: %s", pr_verb_name(verb), error.message);
		return r;
	}
	steer->sent++;
	return 0;
}

void steer_reached(struct steer *steer)
{
	struct pr_error error = { 0 };
	for (unsigned n = 0; n < STEER_ASKED; n++)
		if (asked_at(steer, n)->id[0])
			(void)send_asked(steer, asked_at(steer, n), &error);
	/* It was passed over, and knows nothing of it. */
	const struct stopkey *stop = &steer->screen->stop;
	if (stop->stage == STOP_STOPPED && stop->silent && !steer->screen->model->stopping && !steer->screen->model->finished)
		(void)send_verb(steer, PR_VERB_STOP, NULL);
}

/* How the round stands once all that was sent is done. */
static bool will_be_frozen(const struct steer *steer)
{
	bool frozen = steer->screen->model->frozen;
	for (unsigned n = 0; n < STEER_ASKED; n++) {
		const struct asked *asked = asked_at(steer, n);
		if (asked->id[0] && (asked->verb == PR_VERB_FREEZE || asked->verb == PR_VERB_THAW))
			frozen = asked->verb == PR_VERB_FREEZE;
	}
	return frozen;
}

static bool is_newest(const struct steer *steer, const struct asked *asked)
{
	for (unsigned n = STEER_ASKED; n-- > 0;)
		if (asked_at(steer, n)->at_ns && asked_at(steer, n)->verb == asked->verb && strcmp(asked_at(steer, n)->task, asked->task) == 0)
			return asked_at(steer, n) == asked;
	return false;
}

static void start_worker(struct steer *steer)
{
	struct pr_error error = { 0 };
	if (steer->worker)
		return;
	buffer_clear(&steer->proof);
	if (launch_stop_begin(steer->place->dir, &steer->worker_fd, &steer->worker, &error) >= 0)
		return;
	steer->screen->stop.stage = STOP_FAILED;
	snprintf(steer->screen->stop.why, sizeof steer->screen->stop.why, "%.*s", (int)sizeof steer->screen->stop.why - 1, error.message);
}

static void act(struct steer *steer, enum stop_action action)
{
	struct stopkey *stop = &steer->screen->stop;
	int r = 0;
	switch (action) {
	case STOP_DO_NOTHING:
		break;
	case STOP_DO_FREEZE:
		r = send_verb(steer, PR_VERB_FREEZE, NULL);
		break;
	case STOP_DO_THAW:
		(void)send_verb(steer, PR_VERB_THAW, NULL);
		break;
	case STOP_DO_STOP:
		r = send_verb(steer, PR_VERB_STOP, NULL);
		break;
	case STOP_DO_WORKER:
		/* Once it comes to itself, the core is to stop too, and not to start what is queued. */
		if (steer->screen->live)
			(void)send_verb(steer, PR_VERB_STOP, NULL);
		start_worker(steer);
		break;
	}
	/* It could not even be told: that is silence too, and the words say it. */
	if (r < 0)
		steer->screen->notice[0] = '\0';
	if (r < 0 && action == STOP_DO_STOP) {
		stop->stage = STOP_BY_WORKER;
		stop->silent = true;
		start_worker(steer);
	} else if (r < 0) {
		stop->stage = STOP_FROZEN;
		stop->silent = true;
		stop->sent = false;
	}
}

int steer_stop_round(struct steer *steer)
{
	struct stopkey *stop = &steer->screen->stop;
	if (stopkey_is_proven(stop))
		return 0;
	*stop = (struct stopkey)STOPKEY_INIT;
	stop->stage = STOP_FROZEN;
	act(steer, stopkey_press(stop, steer->screen->model, screen_core(steer->screen), clock_mono_ns()));
	return 0;
}

bool steer_confirm(struct steer *steer, enum verb verb, const char *question)
{
	if (steer->unconfirmed == verb) {
		steer->unconfirmed = VERB_NONE;
		return true;
	}
	steer->unconfirmed = verb;
	screen_notice(steer->screen, "%s", question);
	return false;
}

/* ------- verbs ------- */

static void do_start(struct steer *steer)
{
	if (send_verb(steer, PR_VERB_START, NULL) >= 0)
		screen_notice(steer->screen, "Starting ...");
}

static void do_stop(struct steer *steer)
{
	steer->screen->notice[0] = '\0';
	act(steer, stopkey_press(&steer->screen->stop, steer->screen->model, screen_core(steer->screen), clock_mono_ns()));
}

static void do_freeze(struct steer *steer)
{
	bool frozen = will_be_frozen(steer);
	steer->screen->stop = (struct stopkey)STOPKEY_INIT;
	if (send_verb(steer, frozen ? PR_VERB_THAW : PR_VERB_FREEZE, NULL) >= 0)
		screen_notice(steer->screen, frozen ? "Thawing ..." : "Freezing ...");
}

static void do_drain(struct steer *steer)
{
	if (steer_confirm(steer, VERB_DRAIN, "D again drains the round: what runs is finished, nothing more is started.") &&
	    send_verb(steer, PR_VERB_DRAIN, NULL) >= 0)
		screen_notice(steer->screen, "Draining ...");
}

static void do_stop_task(struct steer *steer)
{
	const struct pr_task *task = steer->screen->on_fold && steer->screen->view == VIEW_TASKS ? NULL : screen_task(steer->screen);
	char question[PR_TASK_ID + 96];
	if (!task || task->verdict != PR_VERDICT_NONE) {
		screen_notice(steer->screen, task ? "%s is done already." : "No task is selected.%s", task ? task->id : "");
		return;
	}
	if (strcmp(steer->task, task->id) != 0)
		steer->unconfirmed = VERB_NONE;
	snprintf(steer->task, sizeof steer->task, "%s", task->id);
	snprintf(question, sizeof question, "x again stops the task %s; its evidence is kept, the round goes on.", task->id);
	if (steer_confirm(steer, VERB_STOP_TASK, question) && send_verb(steer, PR_VERB_STOP, task->id) >= 0)
		screen_notice(steer->screen, "Stopping %s ...", task->id);
}

static void (*const verbs[VERB_COUNT])(struct steer *steer) = {
	[VERB_START] = do_start, [VERB_STOP] = do_stop, [VERB_FREEZE] = do_freeze, [VERB_DRAIN] = do_drain,
	[VERB_STOP_TASK] = do_stop_task,
};

bool steer_verb(struct steer *steer, enum verb verb)
{
	struct screen *screen = steer->screen;
	if (verb != steer->unconfirmed)
		steer->unconfirmed = VERB_NONE;
	if (verb >= VERB_COUNT || !verbs[verb])
		return false;
	if (!screen->control)
		screen_notice(screen, "This only looks on. proctor watch --control %s lets the keys act.", steer->place->name);
	else if (screen->model->finished)
		screen_notice(screen, "The round is over.");
	else if (screen->ended)
		screen_notice(screen, "The core is gone, and with it all that it ran.");
	else if (stopkey_is_proven(&screen->stop))
		return true;	/* the proof stands on the screen */
	else if (!screen->live && verb != VERB_STOP)
		screen_notice(screen, "Not sent: the core does not answer. S stops the round without it.");
	else
		verbs[verb](steer);
	return true;
}

/* Nothing of ours waits: who froze the round may sit elsewhere, and who only looks is told what would help. */
static void escape_at_tasks(struct steer *steer)
{
	struct screen *screen = steer->screen;
	const char *name = steer->place->name;
	if (!screen->model->frozen || screen->model->finished || screen->ended)
		screen_notice(screen, "Esc thaws a round that is frozen; nothing is. d leaves this screen.");
	else if (!screen->control)
		screen_notice(screen, "This only looks on: proctor thaw %s, or proctor watch --control %s, lets it go on.", name, name);
	else if (!screen->live)
		screen_notice(screen, "Not sent: the core does not answer. S stops the round without it.");
	else if (send_verb(steer, PR_VERB_THAW, NULL) >= 0)
		screen_notice(screen, "Thawing ...");
}

bool steer_escape(struct steer *steer)
{
	struct screen *screen = steer->screen;
	bool nothing = screen->stop.stage == STOP_NONE || stopkey_is_proven(&screen->stop);
	if (nothing && screen->view != VIEW_TASKS)
		return false;
	if (screen->stop.stage == STOP_NONE)
		escape_at_tasks(steer);
	else
		act(steer, stopkey_escape(&screen->stop, screen->model, screen_core(screen)));
	return true;
}

/* ------- what comes back ------- */

static void take_answer(struct steer *steer, const struct pr_message *message)
{
	for (size_t i = 0; i < ELEMENTS(steer->asked); i++) {
		if (strcmp(steer->asked[i].id, message->id) != 0)
			continue;
		const char *verb = pr_verb_name(steer->asked[i].verb);
		bool of_task = steer->asked[i].task[0];
		steer->asked[i].id[0] = '\0';
		/* Of two that are under way, the answer to the later one is what is waited for. */
		if (!is_newest(steer, &steer->asked[i]) && message->ok)
			return;
		if (message->ok && !of_task)
			stopkey_figures(&steer->screen->stop, verb, true, message->object);
		else if (!of_task)
			stopkey_refused(&steer->screen->stop, verb, message->message);
		if (!message->ok)
			screen_notice(steer->screen, "%s is refused: %s", verb, message->message);
		return;
	}
}

/* A word about something that is under way is over when it is done. */
static void take_control(struct steer *steer, struct json_object *event)
{
	const char *verb = member_text_or(event, "verb", "");
	size_t length = strlen(steer->screen->notice);
	stopkey_figures(&steer->screen->stop, verb, false, event);
	if (length > 4 && strcmp(steer->screen->notice + length - 4, " ...") == 0)
		steer->screen->notice[0] = '\0';
	if (strcmp(verb, "stop") == 0 && jsonc_text(event, "task") && member_is_number(event, "ms"))
		screen_notice(steer->screen, "Stopped %s: %lld killed, %lld remaining.", jsonc_text(event, "task"),
			      (long long)member_int(event, "killed"), (long long)member_int(event, "remaining"));
}

void steer_turned(struct steer *steer)
{
	steer->screen->notice[0] = '\0';
	steer->unconfirmed = VERB_NONE;
}

void steer_message(struct steer *steer, const struct pr_message *message, bool news)
{
	if (message->type == PR_MESSAGE_ANSWER)
		take_answer(steer, message);
	else if (message->event == PR_EVENT_CONTROL && news)
		take_control(steer, message->object);
}

/* When a core that still says nothing is late with its answer. One that speaks may rightly take long. */
static int64_t late_ns(const struct steer *steer, const struct asked *asked)
{
	int64_t heard = steer->screen->heard_ns;
	return (asked->at_ns > heard ? asked->at_ns : heard) + STEER_SILENCE_NS;
}

/* The verbs that a silent core was sent, in order. */
static bool tell_unanswered(struct steer *steer)
{
	char words[sizeof steer->screen->unanswered] = "";
	size_t used = 0;
	int64_t now = clock_mono_ns();
	bool late = false;
	for (unsigned n = 0; n < STEER_ASKED && used + 1 < sizeof words; n++) {
		const struct asked *asked = asked_at(steer, n);
		if (!asked->id[0])
			continue;
		late |= now >= late_ns(steer, asked);
		int length = snprintf(words + used, sizeof words - used, "%s%s%s%s", used ? ", " : "", pr_verb_name(asked->verb),
				      asked->task[0] ? " of " : "", asked->task);
		used += length > 0 ? (size_t)length : 0;
	}
	if (!late)
		words[0] = '\0';
	if (strcmp(words, steer->screen->unanswered) == 0)
		return false;
	memcpy(steer->screen->unanswered, words, sizeof words);
	/* What is "under way" is not, and the message says more. */
	if (words[0])
		steer->screen->notice[0] = '\0';
	return true;
}

bool steer_waits(const struct steer *steer)
{
	for (size_t i = 0; i < ELEMENTS(steer->asked); i++)
		if (steer->asked[i].id[0])
			return true;
	return steer->screen->stop.stage == STOP_FREEZING || steer->screen->stop.stage == STOP_STOPPING;
}

bool steer_tick(struct steer *steer)
{
	struct screen *screen = steer->screen;
	enum stop_stage before = screen->stop.stage;
	bool changed = tell_unanswered(steer);
	if (screen->ended)
		memset(steer->asked, 0, sizeof steer->asked);
	act(steer, stopkey_tick(&screen->stop, screen->model, screen_core(screen), clock_mono_ns()));
	return changed || before != screen->stop.stage;
}

int64_t steer_due_ns(const struct steer *steer)
{
	int64_t due = stopkey_due_ns(&steer->screen->stop);
	for (size_t i = 0; i < STEER_ASKED && !steer->screen->unanswered[0]; i++) {
		int64_t late = steer->asked[i].id[0] ? late_ns(steer, &steer->asked[i]) : 0;
		due = late && (due == 0 || late < due) ? late : due;
	}
	return due;
}

void steer_worker_spoke(struct steer *steer)
{
	char bytes[4096];
	ssize_t length = read(steer->worker_fd, bytes, sizeof bytes);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (length > 0) {
		buffer_add(&steer->proof, bytes, (size_t)length);
		return;
	}
	/* Its output is closed: it has ended, or is about to. */
	struct pr_error error = { 0 };
	int exit_code = launch_stop_end(steer->worker, &error);
	_cleanup_jsonc_ struct json_object *proof =
		steer->proof.length ? jsonc_read_object(steer->proof.data, steer->proof.length) : NULL;
	cleanup_close(&steer->worker_fd);
	steer->worker_fd = -1;
	steer->worker = 0;
	stopkey_worker_done(&steer->screen->stop, exit_code, proof);
	if (steer->screen->stop.stage == STOP_STOPPED && round_is_live(steer->place) && steer->feed->link.core > 0)
		steer->screen->stop.core = steer->feed->link.core;
}
