/* The machine of stopkey.h. Sends nothing itself. */
#include "tui/full/stopkey.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tui/full/figures.h"
#include "tui/member.h"

static void enter(struct stopkey *key, enum stop_stage stage, int64_t now_ns)
{
	key->stage = stage;
	key->asked_ns = now_ns;
	key->due_ns = stage == STOP_FREEZING ? now_ns + STOPKEY_FREEZE_NS : stage == STOP_STOPPING ? now_ns + STOPKEY_STOP_NS : 0;
	key->figures = false;
}

bool stopkey_is_proven(const struct stopkey *key)
{
	return key->stage == STOP_STOPPED && key->remaining == 0;
}

void stopkey_resumed(struct stopkey *key)
{
	if (key->stage == STOP_STOPPED || key->stage == STOP_FAILED)
		*key = (struct stopkey)STOPKEY_INIT;
}

/* What stands still already: only the question is left, and its figures stay. */
static void ask(struct stopkey *key, bool live, int64_t now_ns)
{
	struct stopkey before = *key;
	*key = (struct stopkey)STOPKEY_INIT;
	if (before.stage == STOP_NONE && before.figures)
		*key = before;
	key->stage = STOP_FROZEN;
	key->asked_ns = now_ns;
	key->silent = !live;
	key->sent = live;
}

/* The second S: a core that has not answered the first one has what is left of its time. */
static void stop(struct stopkey *key, int64_t now_ns)
{
	int64_t due = key->stage == STOP_FREEZING ? key->due_ns : now_ns + STOPKEY_STOP_NS;
	enter(key, STOP_STOPPING, now_ns);
	key->due_ns = due;
}

enum stop_action stopkey_press(struct stopkey *key, const struct pr_model *model, enum stop_core core, int64_t now_ns)
{
	bool live = core == STOP_CORE_THERE;
	switch (key->stage) {
	case STOP_NONE:
	case STOP_STOPPED:
	case STOP_FAILED:
		if (stopkey_is_proven(key) || (model->finished && key->stage != STOP_FAILED))
			return STOP_DO_NOTHING;
		if (model->frozen || !live) {
			ask(key, live, now_ns);
			return STOP_DO_NOTHING;
		}
		*key = (struct stopkey)STOPKEY_INIT;
		enter(key, STOP_FREEZING, now_ns);
		key->sent = true;
		return STOP_DO_FREEZE;
	case STOP_FREEZING:
	case STOP_FROZEN:
		if (!live || key->silent) {
			key->silent = true;
			enter(key, STOP_BY_WORKER, now_ns);
			return STOP_DO_WORKER;
		}
		stop(key, now_ns);
		return STOP_DO_STOP;
	case STOP_STOPPING:
		/* Pressed again: no more patience with the core. The same kill twice does no harm. */
		key->silent = true;
		enter(key, STOP_BY_WORKER, now_ns);
		return STOP_DO_WORKER;
	case STOP_BY_WORKER:
		break;
	}
	return STOP_DO_NOTHING;
}

enum stop_action stopkey_escape(struct stopkey *key, const struct pr_model *model, enum stop_core core)
{
	bool thaws = key->stage == STOP_FREEZING || key->stage == STOP_FROZEN;
	if (thaws || (key->stage == STOP_STOPPED && !stopkey_is_proven(key)) || key->stage == STOP_FAILED)
		*key = (struct stopkey)STOPKEY_INIT;
	return thaws && core == STOP_CORE_THERE && !model->finished ? STOP_DO_THAW : STOP_DO_NOTHING;
}

enum stop_action stopkey_tick(struct stopkey *key, const struct pr_model *model, enum stop_core core, int64_t now_ns)
{
	bool late = now_ns >= stopkey_due_ns(key), live = core == STOP_CORE_THERE;
	if (core == STOP_CORE_DEAD)
		key->core = 0;
	switch (key->stage) {
	case STOP_FREEZING:
		if (core == STOP_CORE_DEAD || model->finished) {
			*key = (struct stopkey)STOPKEY_INIT;
			break;
		}
		if (live && !late)
			break;
		key->silent = true;
		enter(key, STOP_FROZEN, now_ns);
		break;
	case STOP_FROZEN:
		/* Somebody else thawed it, or it is over. */
		if (core == STOP_CORE_DEAD || model->finished || (!key->silent && !model->frozen)) {
			*key = (struct stopkey)STOPKEY_INIT;
			break;
		}
		/* A core that was not there is back: what was asked for is asked of it now. */
		if (!key->silent || key->sent || !live)
			break;
		key->silent = false;
		key->sent = true;
		if (model->frozen)
			break;
		enter(key, STOP_FREEZING, now_ns);
		return STOP_DO_FREEZE;
	case STOP_STOPPING:
		if (live && !late)
			break;
		/* The core went away because it was done. */
		if (model->finished) {
			key->stage = STOP_STOPPED;
			break;
		}
		key->silent = true;
		enter(key, STOP_BY_WORKER, now_ns);
		return STOP_DO_WORKER;
	case STOP_NONE:
	case STOP_BY_WORKER:
	case STOP_STOPPED:
	case STOP_FAILED:
		break;
	}
	return STOP_DO_NOTHING;
}

static void take(struct stopkey *key, struct json_object *figures)
{
	key->figures = true;
	key->ms = member_double(figures, "ms");
	key->processes = member_int(figures, "processes");
	key->runs = member_int(figures, "runs");
	key->killed = member_int(figures, "killed");
	key->remaining = member_int(figures, "remaining");
	key->removed = member_int(figures, "removed");
}

static void freeze_told(struct stopkey *key, bool answer, struct json_object *figures)
{
	bool told = member_is_number(figures, "ms"), waits = key->stage == STOP_FREEZING || (key->stage == STOP_FROZEN && key->silent);
	if (waits && (answer || told)) {
		key->stage = STOP_FROZEN;
		key->silent = false;
	} else if (key->stage == STOP_NONE) {
		key->figures = false;
	} else if (key->stage == STOP_STOPPING) {
		/* It is there after all, and may take its time. */
		key->due_ns = key->asked_ns + STOPKEY_STOP_NS;
		return;
	} else if (key->stage != STOP_FROZEN || key->figures) {
		return;
	}
	if (told)
		take(key, figures);
}

/* Whoever asked for it. A proof that is there stays; the worker's is the one that is waited for. */
static void stop_told(struct stopkey *key, struct json_object *figures)
{
	if (!member_is_number(figures, "ms") || key->stage == STOP_BY_WORKER || (key->stage == STOP_STOPPED && key->figures))
		return;
	key->stage = STOP_STOPPED;
	take(key, figures);
}

void stopkey_figures(struct stopkey *key, const char *verb, bool answer, struct json_object *figures)
{
	if (jsonc_text(figures, "task"))
		return;
	if (strcmp(verb, "freeze") == 0)
		freeze_told(key, answer, figures);
	else if (strcmp(verb, "stop") == 0)
		stop_told(key, figures);
	else if (strcmp(verb, "thaw") == 0 && key->stage == STOP_NONE)
		key->figures = false;
}

void stopkey_refused(struct stopkey *key, const char *verb, const char *message)
{
	bool ours = (strcmp(verb, "freeze") == 0 && key->stage == STOP_FREEZING) ||
		    (strcmp(verb, "stop") == 0 && key->stage == STOP_STOPPING);
	if (!ours)
		return;
	key->stage = STOP_FAILED;
	snprintf(key->why, sizeof key->why, "%s is refused: %s", verb, message ? message : "");
}

void stopkey_worker_done(struct stopkey *key, int exit_code, struct json_object *proof)
{
	if (key->stage != STOP_BY_WORKER)
		return;
	key->stage = STOP_STOPPED;
	if (member_is_number(proof, "ms") && exit_code == 0) {
		key->alone = true;
		take(key, proof);
		return;
	}
	key->stage = STOP_FAILED;
	snprintf(key->why, sizeof key->why, "proctor-worker --stop could not stop the round (exit code %d)", exit_code);
}

void stopkey_heard(struct stopkey *key)
{
	key->alone = false;
}

int64_t stopkey_due_ns(const struct stopkey *key)
{
	return key->stage == STOP_FREEZING || key->stage == STOP_STOPPING ? key->due_ns : 0;
}

struct words {
	char *text;
	size_t size, used;
};

static void __attribute__((format(printf, 2, 3))) say(struct words *words, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(words->text + words->used, words->size - words->used, format, arguments);
	va_end(arguments);
	if (length > 0)
		words->used = words->used + (size_t)length < words->size ? words->used + (size_t)length : words->size - 1;
}

static void count(struct words *words, int64_t number, const char *one, const char *many)
{
	say(words, "%" PRId64 " %s", number, number == 1 ? one : many);
}

static void frozen(const struct stopkey *key, struct words *words)
{
	if (key->silent) {
		say(words, "The core does not answer; the freeze waits for it.");
		return;
	}
	say(words, "FROZEN");
	if (key->figures) {
		say(words, " in %s: ", figure_us((int64_t)(key->ms * 1000)).text);
		count(words, key->runs, "task", "tasks");
		say(words, ", ");
		count(words, key->processes, "process stands still", "processes stand still");
	}
	say(words, ".");
}

static void stopped(const struct stopkey *key, const struct pr_model *model, const char *round, struct words *words)
{
	say(words, "STOPPED");
	if (key->figures) {
		say(words, " in %s: ", figure_us((int64_t)(key->ms * 1000)).text);
		count(words, key->killed, "process", "processes");
		say(words, " killed, %" PRId64 " remaining, ", key->remaining);
		count(words, key->removed, "boundary", "boundaries");
		say(words, " removed");
	}
	say(words, "%s. %u of %u tasks have verdicts; resume: proctor run --resume %s", key->silent ? ", without the core" : "",
	    (unsigned)(model->counts.done - model->counts.stopped), (unsigned)model->counts.tasks, round);
	if (key->alone && key->core)
		say(words, ". Its core (pid %" PRId64 ") is still there; kill -9 ends it", key->core);
}

void stopkey_frozen(const struct stopkey *key, char *ret_words, size_t size)
{
	frozen(key, &(struct words){ ret_words, size, 0 });
}

void stopkey_words(const struct stopkey *key, const struct pr_model *model, const char *round, char *ret_words, size_t size,
		   enum role *ret_role, const char **ret_keys)
{
	struct words words = { ret_words, size, 0 };
	ret_words[0] = '\0';
	*ret_keys = "";
	*ret_role = ROLE_ALERT;
	switch (key->stage) {
	case STOP_NONE:
		break;
	case STOP_FREEZING:
		say(&words, "Freezing ...");
		*ret_keys = "S stop the round   Esc thaw";
		break;
	case STOP_FROZEN:
		frozen(key, &words);
		*ret_keys = !key->silent ? "S stop the round   Esc thaw" : key->sent ? "S stop the round without it   Esc thaw" :
			    "S stop the round without it   Esc not now";
		break;
	case STOP_STOPPING:
		say(&words, "Stopping ...");
		*ret_keys = "S again: without the core";
		break;
	case STOP_BY_WORKER:
		say(&words, "Stopping without the core: proctor-worker --stop ...");
		break;
	case STOP_STOPPED:
		*ret_role = key->remaining > 0 ? ROLE_ALERT : ROLE_PROOF;
		stopped(key, model, round, &words);
		break;
	case STOP_FAILED:
		say(&words, "NOT STOPPED: %s.", key->why);
		*ret_keys = "S again   Esc away with this";
		break;
	}
}
