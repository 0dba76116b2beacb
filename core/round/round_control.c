/*
 * The verbs of the ladder: start, freeze, thaw, drain, stop, stop of one task. Each is written down before it is
 * done, and again with its figures once the worker has told them.
 */
#include <string.h>

#include "core/base/cleanup.h"
#include "core/record/jsonc.h"
#include "core/round/round.h"

struct json_object *round_control_event(const char *verb, const struct who *who, const char *task)
{
	struct json_object *event = journal_event(PR_EVENT_CONTROL), *by = json_object_new_object();
	set_text(event, "verb", verb);
	set_number(by, "uid", who->uid);
	set_number(by, "pid", who->pid);
	set_value(event, "who", by);
	set_text(event, "task", task);
	return event;
}

static int write_control(struct round *round, enum pr_verb verb, const struct who *who, const char *task)
{
	return journal_write(&round->engine.journal, round_control_event(pr_verb_name(verb), who, task));
}

static void wait_for_worker(struct waiters *waiters, const struct who *who)
{
	if (!waiters->under_way)
		waiters->who = *who;
	waiters->under_way = true;
}

/* Answered with the others that wait for the same word of the worker's. */
static void answer_later(struct round *round, struct waiters *waiters, const char *id)
{
	if (waiters->count < ROUND_WAITERS)
		snprintf(waiters->ids[waiters->count++], sizeof waiters->ids[0], "%s", id);
	else
		control_refuse(&round->control, id, "busy", "too many ask for this at once; it is under way");
}

static void answer_waiters(struct round *round, struct waiters *waiters, struct json_object *more)
{
	for (size_t i = 0; i < waiters->count; i++)
		control_answer(&round->control, waiters->ids[i], more);
	waiters->count = 0;
	waiters->under_way = false;
}

static void refuse_waiters(struct round *round, struct waiters *waiters, const char *code, const char *words)
{
	for (size_t i = 0; i < waiters->count; i++)
		control_refuse(&round->control, waiters->ids[i], code, words);
	waiters->count = 0;
	waiters->under_way = false;
}

/* Asked for again: nothing is done, and that is said. */
static void answer_already(struct round *round, const char *id)
{
	struct json_object *more = json_object_new_object();
	set_truth(more, "already", true);
	control_answer(&round->control, id, more);
	json_object_put(more);
}

/* ------- start ------- */

static void do_start(struct round *round, const struct control_command *command, const struct who *who)
{
	bool waits = !round->gate_open || round->held;
	if (!waits) {
		answer_already(round, command->id);
		return;
	}
	if (write_control(round, PR_VERB_START, who, NULL) < 0) {
		control_refuse(&round->control, command->id, "no-journal", "the round's log cannot be written");
		return;
	}
	round->held = false;
	round->equal_errors = 0;
	if (!round->gate_open)
		round_open_gate(round, "command");
	else
		round_dispatch(round);
	control_answer(&round->control, command->id, NULL);
}

/* ------- freeze and thaw ------- */

/*
 * One of them at a time. A second word of the same kind waits for the same answer; one of the other kind, and
 * all that come after it, wait for their turn: what the owner said last is how the round is left.
 */
static bool defer(struct round *round, const struct control_command *command, const struct who *who)
{
	struct deferred *deferred = &round->deferred;
	struct waiters *same = command->verb == PR_VERB_FREEZE ? &round->freezes : &round->thaws;
	if (!round->freezes.under_way && !round->thaws.under_way)
		return false;
	if (same->under_way && deferred->count == 0) {
		answer_later(round, same, command->id);
	} else if (deferred->count == ELEMENTS(deferred->list)) {
		control_refuse(&round->control, command->id, "busy", "too many freezes and thaws wait for their turn");
	} else {
		snprintf(deferred->list[deferred->count].id, sizeof deferred->list[0].id, "%s", command->id);
		deferred->list[deferred->count].verb = command->verb;
		deferred->list[deferred->count++].who = *who;
	}
	return true;
}

static void do_freeze(struct round *round, const struct control_command *command, const struct who *who);
static void do_thaw(struct round *round, const struct control_command *command, const struct who *who);

static void do_deferred(struct round *round)
{
	struct deferred *deferred = &round->deferred;
	while (deferred->count > 0 && !round->freezes.under_way && !round->thaws.under_way) {
		char id[PR_COMMAND_ID + 1];
		struct who who = deferred->list[0].who;
		struct control_command command = { .id = id, .verb = deferred->list[0].verb };
		memcpy(id, deferred->list[0].id, sizeof id);
		memmove(deferred->list, deferred->list + 1, --deferred->count * sizeof deferred->list[0]);
		(command.verb == PR_VERB_FREEZE ? do_freeze : do_thaw)(round, &command, &who);
	}
}

void round_forget_deferred(struct round *round)
{
	for (size_t i = 0; i < round->deferred.count; i++)
		control_refuse(&round->control, round->deferred.list[i].id, "over", "the round is over");
	round->deferred.count = 0;
}

/* Clocks go on, and what waited goes on with them. */
static void unfreeze(struct round *round)
{
	struct engine *engine = &round->engine;
	if (!engine->frozen)
		return;
	engine->frozen_ns += clock_mono_ns() - engine->frozen_since_ns;
	engine->frozen = false;
	uv_timer_stop(&round->expiry);
	runs_thaw(engine);
	round_resume_tasks(round);
}

static void on_expiry(uv_timer_t *timer)
{
	struct round *round = timer->data;
	struct who who = { geteuid(), getpid() };
	if (!round->engine.frozen || round->thaws.under_way)
		return;
	struct json_object *event = round_control_event("thaw", &who, NULL);
	set_text(event, "why", "freeze_expires");
	if (journal_write(&round->engine.journal, event) < 0)
		return;
	wait_for_worker(&round->thaws, &who);
	if (worker_tell(&round->engine.worker, "thaw", 0) < 0)
		round_thawed(round);
}

static void do_freeze(struct round *round, const struct control_command *command, const struct who *who)
{
	struct engine *engine = &round->engine;
	if (defer(round, command, who))
		return;
	if (engine->frozen || round->finished) {
		answer_already(round, command->id);
		return;
	}
	if (write_control(round, PR_VERB_FREEZE, who, NULL) < 0) {
		control_refuse(&round->control, command->id, "no-journal", "the round's log cannot be written");
		return;
	}
	engine->frozen_since_ns = clock_mono_ns();
	engine->frozen = true;
	runs_freeze(engine);
	wait_for_worker(&round->freezes, who);
	answer_later(round, &round->freezes, command->id);
	if (worker_tell(&engine->worker, "freeze", 0) < 0)
		round_frozen(round, NULL);
	if (round->engine.spec.freeze_expires_ns > 0) {
		uv_update_time(&round->loop);
		uv_timer_start(&round->expiry, on_expiry, (uint64_t)(round->engine.spec.freeze_expires_ns / NS_PER_MS), 0);
	}
}

static void copy_member(struct json_object *to, struct json_object *from, const char *key)
{
	struct json_object *value;
	if (from && json_object_object_get_ex(from, key, &value))
		set_value(to, key, json_object_get(value));
	else
		set_number(to, key, 0);
}

/* `message` NULL: no worker is alive, and so nothing runs. */
void round_frozen(struct round *round, struct json_object *message)
{
	static const char *const keys[] = { "ms", "processes", "runs" };
	struct json_object *event = round_control_event("freeze", &round->freezes.who, NULL);
	struct json_object *more = json_object_new_object();

	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		copy_member(event, message, keys[i]);
		copy_member(more, message, keys[i]);
	}
	bool frozen = !message || json_object_get_boolean(json_object_object_get(message, "frozen"));
	set_truth(event, "frozen", frozen);
	set_truth(more, "frozen", frozen);
	if (round->freezes.under_way)
		(void)journal_write(&round->engine.journal, event);
	else
		json_object_put(event);
	answer_waiters(round, &round->freezes, more);
	json_object_put(more);
	do_deferred(round);
}

static void do_thaw(struct round *round, const struct control_command *command, const struct who *who)
{
	if (defer(round, command, who))
		return;
	if (!round->engine.frozen) {
		answer_already(round, command->id);
		return;
	}
	if (write_control(round, PR_VERB_THAW, who, NULL) < 0) {
		control_refuse(&round->control, command->id, "no-journal", "the round's log cannot be written");
		return;
	}
	wait_for_worker(&round->thaws, who);
	answer_later(round, &round->thaws, command->id);
	if (worker_tell(&round->engine.worker, "thaw", 0) < 0)
		round_thawed(round);
}

void round_thawed(struct round *round)
{
	unfreeze(round);
	answer_waiters(round, &round->thaws, NULL);
	round_dispatch(round);
	do_deferred(round);
}

/* ------- drain and stop ------- */

static void do_drain(struct round *round, const struct control_command *command, const struct who *who)
{
	if (round->draining || round->stopping || round->finished) {
		answer_already(round, command->id);
		return;
	}
	if (write_control(round, PR_VERB_DRAIN, who, NULL) < 0) {
		control_refuse(&round->control, command->id, "no-journal", "the round's log cannot be written");
		return;
	}
	round->draining = true;
	round->who = *who;
	round_interrupt(round, INTERRUPTED_BY_OWNER, "not started: the round was drained", false);
	control_answer(&round->control, command->id, NULL);
	round_finish_if_done(round);
}

/*
 * The worker's stop goes out before the verdicts are written: it is what the owner waits for. Nothing is
 * started after it, since `stopping` keeps dispatch and every task is interrupted in the same turn of the loop.
 */
void round_stop(struct round *round, const struct who *who, const char *id)
{
	struct engine *engine = &round->engine;
	if (round->finished) {
		answer_already(round, id);
		return;
	}
	if (round->stopping) {
		answer_later(round, &round->stops, id);
		return;
	}
	/* A stop is obeyed even where it cannot be written down: the log is then what is broken. */
	(void)write_control(round, PR_VERB_STOP, who, NULL);
	round->stopping = true;
	round->who = *who;
	wait_for_worker(&round->stops, who);
	if (id)
		answer_later(round, &round->stops, id);
	bool told = worker_tell(&engine->worker, "stop", 0) >= 0;
	for (struct run *run = engine->runs; run; run = run->next)
		run_mark_stopped(run);
	round_interrupt(round, INTERRUPTED_BY_OWNER, NULL, true);
	if (!told)
		round_stopped_figures(round, NULL);
	round_finish_if_done(round);
}

void round_stopped_figures(struct round *round, struct json_object *message)
{
	static const char *const keys[] = { "ms", "killed", "remaining", "removed" };
	struct json_object *event = round_control_event("stop", &round->stops.who, NULL);
	struct json_object *more = json_object_new_object();

	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		copy_member(event, message, keys[i]);
		copy_member(more, message, keys[i]);
	}
	if (round->stops.under_way)
		(void)journal_write(&round->engine.journal, event);
	else
		json_object_put(event);
	answer_waiters(round, &round->stops, more);
	json_object_put(more);
	round_finish_if_done(round);
}

static struct task *find_task(struct round *round, const char *id, size_t *ret_number)
{
	for (size_t i = 0; i < round->count; i++)
		if (strcmp(round->tasks[i].spec->id, id) == 0) {
			*ret_number = i;
			return &round->tasks[i];
		}
	return NULL;
}

static void do_stop_task(struct round *round, const struct control_command *command, const struct who *who)
{
	size_t number;
	struct task *task = find_task(round, command->task, &number);
	if (!task) {
		control_refuse(&round->control, command->id, "no-such-task", "the round has no task of this id");
		return;
	}
	if (task->state == TASK_DONE || round->task_stops[number].asked) {
		answer_already(round, command->id);
		return;
	}
	if (write_control(round, PR_VERB_STOP, who, task->spec->id) < 0) {
		control_refuse(&round->control, command->id, "no-journal", "the round's log cannot be written");
		return;
	}
	snprintf(round->task_stops[number].id, sizeof round->task_stops[number].id, "%s", command->id);
	round->task_stops[number].asked = true;
	round->task_stops[number].who = *who;
	task_interrupt(task, INTERRUPTED_BY_OWNER, NULL);
}

/* A task that was asked to stop has its verdict: the figures, and the answer. */
void round_task_stopped(struct round *round, struct task *task)
{
	if (!round->task_stops[task->number].asked)
		return;
	struct json_object *event = round_control_event("stop", &round->task_stops[task->number].who, task->spec->id);
	struct json_object *more = json_object_new_object();
	struct json_object *const both[] = { event, more };
	for (size_t i = 0; i < ELEMENTS(both); i++) {
		set_ms(both[i], "ms", task->close_ms);
		set_number(both[i], "killed", (int64_t)task->killed);
		set_number(both[i], "remaining", (int64_t)task->remaining);
		set_number(both[i], "removed", (int64_t)task->removed);
	}
	(void)journal_write(&round->engine.journal, event);
	control_answer(&round->control, round->task_stops[task->number].id, more);
	json_object_put(more);
}

/* ------- */

/* The worker would not: what was asked for is taken back, and said. */
void round_request_failed(struct round *round, const char *op, const char *words)
{
	if (strcmp(op, "freeze") == 0) {
		unfreeze(round);
		round_fault(round, "freeze", "host", words);
		refuse_waiters(round, &round->freezes, "freeze-failed", "the boundaries could not be frozen");
		round_dispatch(round);
		do_deferred(round);
	} else if (strcmp(op, "thaw") == 0) {
		round_fault(round, "thaw", "host", words);
		refuse_waiters(round, &round->thaws, "thaw-failed", "the boundaries could not be thawed");
		do_deferred(round);
	} else if (strcmp(op, "stop") == 0) {
		round_fault(round, "stop", "host", words);
		round_stopped_figures(round, NULL);
	}
}

void round_command(void *context, const struct control_command *command)
{
	static void (*const verbs[PR_VERB_COUNT])(struct round *, const struct control_command *, const struct who *) = {
		[PR_VERB_START] = do_start, [PR_VERB_FREEZE] = do_freeze, [PR_VERB_THAW] = do_thaw, [PR_VERB_DRAIN] = do_drain,
	};
	struct round *round = context;
	const struct who who = { command->uid, command->pid };

	if (command->task && command->verb != PR_VERB_STOP)
		control_refuse(&round->control, command->id, "not-for-a-task", "only stop takes a task");
	else if (command->task)
		do_stop_task(round, command, &who);
	else if (command->verb == PR_VERB_STOP)
		round_stop(round, &who, command->id);
	else
		verbs[command->verb](round, command, &who);
}
