/*
 * The fold of proctor/model.h: a table of one function an event type. An event is untrusted here (a log may
 * come from anywhere): every member is looked at before it is used, and what does not fit is passed over.
 */
#include <proctor/model.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/record/jsonc.h"
#include "core/record/model_parts.h"
#include "core/record/utf8.h"

static const char *const gate_names[] = {
	[PR_GATE_NONE] = "none",
	[PR_GATE_WAITING] = "waiting",
	[PR_GATE_OPEN] = "open",
};

const char *pr_gate_name(enum pr_gate gate)
{
	return gate_names[gate];
}

/* ------- members ------- */

void model_text(char *field, size_t size, const char *text)
{
	size_t length = text ? utf8_fit(text, strlen(text), size - 1) : 0;

	if (length)
		memcpy(field, text, length);
	memset(field + length, 0, size - length);
}

/* Texts that are absent leave the field as it was. */
static void take_text(char *field, size_t size, struct json_object *event, const char *key)
{
	const char *text = jsonc_text(event, key);

	if (text)
		model_text(field, size, text);
}

#define TAKE_TEXT(field, event, key) take_text(field, sizeof(field), event, key)

/* Nothing here is negative, and nothing real is above 2^53: what is out of range is passed over. */
static bool take_number(int64_t *field, struct json_object *event, const char *key)
{
	int64_t number;

	if (jsonc_i64(event, key, &number) < 0 || number < 0 || number > MODEL_NUMBER)
		return false;
	*field = number;
	return true;
}

static int64_t number_or(struct json_object *event, const char *key, int64_t otherwise)
{
	take_number(&otherwise, event, key);
	return otherwise;
}

static bool take_truth(bool *field, struct json_object *event, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(event, key, &value) || !json_object_is_type(value, json_type_boolean))
		return false;
	*field = json_object_get_boolean(value);
	return true;
}

/* Milliseconds, an integer or a double, as microseconds. */
static int64_t us_of_ms(struct json_object *event, const char *key, int64_t otherwise)
{
	struct json_object *value;

	if (!json_object_object_get_ex(event, key, &value) ||
	    (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int)))
		return otherwise;
	double us = json_object_get_double(value) * 1000;
	return us >= 0 && us <= (double)MODEL_NUMBER ? (int64_t)us : otherwise;
}

static struct json_object *object_of(struct json_object *event, const char *key, enum json_type type)
{
	struct json_object *value;

	return json_object_object_get_ex(event, key, &value) && json_object_is_type(value, type) ? value : NULL;
}

/* ------- tasks ------- */

void model_task_init(struct pr_task *task, const char *id)
{
	memset(task, 0, sizeof *task);
	model_text(task->id, sizeof task->id, id);
	task->idle_ms = -1;
	task->containment.remaining_processes = -1;
}

static uint32_t hash_of(const char *id)
{
	uint32_t hash = 2166136261u;	/* FNV-1a */

	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 16777619u;
	return hash;
}

/* The slot of the index where the id is (its content - 1 is the task's number), or the free one where it goes. */
static uint32_t *slot_of(const struct pr_model *model, const char *id)
{
	uint32_t mask = model->index_room_ - 1;

	for (uint32_t at = hash_of(id) & mask;; at = (at + 1) & mask)
		if (!model->index_[at] || !strcmp(model->tasks[model->index_[at] - 1].id, id))
			return &model->index_[at];
}

struct pr_task *pr_model_task(struct pr_model *model, const char *id)
{
	if (!id || !model->counts.tasks || strlen(id) >= PR_TASK_ID)
		return NULL;
	/* Events of one task come in bunches. */
	if (!strcmp(model->tasks[model->last_].id, id))
		return &model->tasks[model->last_];
	uint32_t found = *slot_of(model, id);
	if (!found)
		return NULL;
	model->last_ = found - 1;
	return &model->tasks[model->last_];
}

static int grow(struct pr_model *model)
{
	if (model->counts.tasks < model->room_)
		return 0;
	uint32_t room = model->room_ ? model->room_ * 2 : 16;
	struct pr_task *tasks = reallocarray(model->tasks, room, sizeof *tasks);
	if (!tasks)
		return -ENOMEM;
	model->tasks = tasks;
	uint32_t *index = calloc((size_t)room * 4, sizeof *index);
	if (!index)
		return -ENOMEM;
	free(model->index_);
	model->index_ = index;
	model->index_room_ = room * 4;
	model->room_ = room;
	for (uint32_t i = 0; i < model->counts.tasks; i++)
		*slot_of(model, model->tasks[i].id) = i + 1;
	return 0;
}

/* 0 and no task where the id cannot be one, or there are too many. */
int model_add_task(struct pr_model *model, const char *id, struct pr_task **ret_task)
{
	*ret_task = pr_model_task(model, id);
	if (*ret_task || !id || !*id || strlen(id) >= PR_TASK_ID || model->counts.tasks >= PR_MODEL_TASKS)
		return 0;
	int r = grow(model);
	if (r < 0)
		return r;
	uint32_t n = model->counts.tasks++;
	model_task_init(&model->tasks[n], id);
	*slot_of(model, id) = n + 1;
	model->counts.queued++;
	*ret_task = &model->tasks[n];
	return 0;
}

void model_count(struct pr_model *model, const struct pr_task *task, int by)
{
	static const size_t verdict_counts[PR_VERDICT_COUNT] = {
		[PR_VERDICT_PASS] = offsetof(struct pr_counts, pass),
		[PR_VERDICT_FAIL] = offsetof(struct pr_counts, fail),
		[PR_VERDICT_INVALID] = offsetof(struct pr_counts, invalid),
		[PR_VERDICT_ERROR] = offsetof(struct pr_counts, error),
		[PR_VERDICT_STOPPED] = offsetof(struct pr_counts, stopped),
	};
	struct pr_counts *counts = &model->counts;
	uint32_t step = (uint32_t)by;

	if (task->verdict == PR_VERDICT_NONE) {
		*(task->running ? &counts->running : &counts->queued) += step;
		return;
	}
	counts->done += step;
	*(uint32_t *)((char *)counts + verdict_counts[task->verdict]) += step;
}

/* Back to the queue: its refusals and its spend stay, since they happened. */
static void requeue(struct pr_model *model, struct pr_task *task)
{
	struct pr_task before = *task;

	model_count(model, task, -1);
	model_task_init(task, before.id);
	memcpy(task->source, before.source, sizeof task->source);
	task->refusals = before.refusals;
	task->spend_usd_micro = before.spend_usd_micro;
	model_count(model, task, 1);
}

static void set_spend(struct pr_model *model, struct pr_task *task, int64_t spend)
{
	model->spend_usd_micro += spend - task->spend_usd_micro;
	task->spend_usd_micro = spend;
}

static void set_refusals(struct pr_model *model, struct pr_task *task, uint64_t refusals)
{
	model->refusals += refusals - task->refusals;
	task->refusals = refusals;
}

static void fold_containment(struct pr_task *task, struct json_object *event)
{
	struct json_object *from = object_of(event, "process_containment", json_type_object);

	if (from)
		model_containment(&task->containment, from);
}

/* ------- events ------- */

/* 1: changed; 0: not; -ENOMEM. `task` is the event's, made where it was not there; NULL where it names none. */
typedef int fold_function(struct pr_model *model, struct pr_task *task, struct json_object *event);

static void restart(struct pr_model *model)
{
	model->finished = model->started = model->frozen = model->draining = model->held = model->stopping = false;
	model->gate = PR_GATE_NONE;
	model->gate_by[0] = model->state[0] = model->held_why[0] = '\0';
	model->started_at_ms = model->started_mono_ns = model->wall_ms = 0;
	memset(&model->preflight, 0, sizeof model->preflight);
	for (uint32_t i = 0; i < model->counts.tasks; i++)
		if (model->tasks[i].verdict == PR_VERDICT_NONE || model->tasks[i].verdict == PR_VERDICT_STOPPED)
			requeue(model, &model->tasks[i]);
}

static int fold_opened(struct pr_model *model, struct pr_task *none, struct json_object *event)
{
	struct json_object *tasks = object_of(event, "tasks", json_type_array);

	(void)none;
	restart(model);
	TAKE_TEXT(model->round, event, "round");
	TAKE_TEXT(model->name, event, "name");
	TAKE_TEXT(model->kind, event, "kind");
	TAKE_TEXT(model->dir, event, "dir");
	TAKE_TEXT(model->version, event, "version");
	TAKE_TEXT(model->agent, event, "agent");
	TAKE_TEXT(model->profile, event, "profile");
	take_number(&model->parallel, event, "parallel");
	take_number(&model->wall_clock_ms, event, "wall_clock_ms");
	take_number(&model->tests_wall_clock_ms, event, "tests_wall_clock_ms");
	take_number(&model->longest_ms, event, "longest_ms");
	take_truth(&model->resumed, event, "resumed");
	model->opened_at_ms = model->last_at_ms;
	for (size_t i = 0; tasks && i < json_object_array_length(tasks); i++) {
		struct json_object *from = json_object_array_get_idx(tasks, i);
		struct pr_task *task;
		int r = model_add_task(model, jsonc_text(from, "task"), &task);
		if (r < 0)
			return r;
		if (task)
			TAKE_TEXT(task->source, from, "source");
	}
	return 1;
}

static int fold_check(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	const char *state = jsonc_text(event, "state");
	const struct {
		const char *name;
		int64_t *count;
	} states[] = {
		{ "ok", &model->preflight.ok },
		{ "warn", &model->preflight.warn },
		{ "FAIL", &model->preflight.fail },
		{ "unknown", &model->preflight.unknown },
	};

	(void)task;
	for (size_t i = 0; state && i < ELEMENTS(states); i++)
		if (!strcmp(state, states[i].name))
			++*states[i].count;
	return 1;
}

static int fold_preflight(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	(void)task;
	model->preflight.known = true;
	take_number(&model->preflight.ok, event, "ok");
	take_number(&model->preflight.warn, event, "warn");
	take_number(&model->preflight.fail, event, "fail");
	take_number(&model->preflight.unknown, event, "unknown");
	return 1;
}

static int fold_gate(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	const char *state = jsonc_text(event, "state");

	(void)task;
	for (size_t i = 0; state && i < ELEMENTS(gate_names); i++)
		if (!strcmp(state, gate_names[i]))
			model->gate = (enum pr_gate)i;
	TAKE_TEXT(model->gate_by, event, "by");
	return 1;
}

static int fold_started(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	(void)task;
	(void)event;
	model->started = true;
	model->gate = PR_GATE_OPEN;
	model->started_at_ms = model->last_at_ms;
	model->started_mono_ns = model->last_mono_ns;
	return 1;
}

static void phase_started(struct pr_model *model, struct pr_task *task, enum pr_phase phase)
{
	if (task->verdict != PR_VERDICT_NONE)
		requeue(model, task);
	model_count(model, task, -1);
	task->running = true;
	task->phase = phase;
	model_count(model, task, 1);
	task->phases[phase] = (struct pr_phase_record){ .state = PR_PHASE_RUNNING };
	task->wall_ms = task->processes = task->memory_bytes = task->output_bytes = 0;
	task->idle_ms = -1;
	task->limit_ms = phase == PR_PHASE_AGENT ? model->wall_clock_ms :
			 phase == PR_PHASE_BASELINE || phase == PR_PHASE_PATCHED ? model->tests_wall_clock_ms : 0;
}

static int fold_phase(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	const char *state = jsonc_text(event, "state");
	int phase = pr_phase_from_name(jsonc_text(event, "phase"));

	if (!task || phase < 0 || phase == PR_PHASE_QUEUED || phase == PR_PHASE_DONE || !state)
		return 0;
	if (!strcmp(state, "started")) {
		phase_started(model, task, (enum pr_phase)phase);
		return 1;
	}
	if (strcmp(state, "ended"))
		return 0;
	struct pr_phase_record *record = &task->phases[phase];
	record->state = PR_PHASE_ENDED;
	record->wall_ms = number_or(event, "wall_ms", 0);
	TAKE_TEXT(record->termination, event, "termination");
	record->has_exit_code = jsonc_i64(event, "exit_code", &record->exit_code) >= 0;
	task->processes = task->memory_bytes = 0;
	task->idle_ms = -1;
	return 1;
}

static int fold_refusal(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	uint64_t count = (uint64_t)number_or(event, "count", 1);

	if (task)
		set_refusals(model, task, task->refusals + count);
	else
		model->refusals += count;
	return 1;
}

/* Totals of the task so far, where the event tells them. */
static int fold_spend(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	int64_t spend;

	if (!task)
		return 0;
	if (take_number(&spend, event, "spend_usd_micro"))
		set_spend(model, task, spend);
	take_number(&task->reserved_usd_micro, event, "reserved_usd_micro");
	return 1;
}

static int fold_cut(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	const char *stream = jsonc_text(event, "stream");

	(void)model;
	if (!task || !stream)
		return 0;
	task->stdout_cut |= !strcmp(stream, "stdout");
	task->stderr_cut |= !strcmp(stream, "stderr");
	return 1;
}

/* A task that has its verdict is counted under one of the five, whatever the event says. */
static enum pr_verdict verdict_of(struct json_object *event)
{
	int verdict = pr_verdict_from_name(jsonc_text(event, "verdict"));

	if (verdict < 0 || verdict == PR_VERDICT_NONE)
		verdict = pr_verdict_from_name(jsonc_text(event, "status"));
	return verdict < 0 || verdict == PR_VERDICT_NONE ? PR_VERDICT_ERROR : (enum pr_verdict)verdict;
}

static int fold_verdict(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	struct json_object *reward, *violations = object_of(event, "violations", json_type_array);
	int64_t number;

	if (!task)
		return 0;
	model_count(model, task, -1);
	task->verdict = verdict_of(event);
	task->running = false;
	task->phase = PR_PHASE_DONE;
	model_count(model, task, 1);
	TAKE_TEXT(task->status, event, "status");
	TAKE_TEXT(task->validity, event, "validity");
	TAKE_TEXT(task->cause, event, "cause");
	TAKE_TEXT(task->charged_to, event, "charged_to");
	TAKE_TEXT(task->reason, event, "reason");
	TAKE_TEXT(task->episode, event, "episode");
	task->has_reward = json_object_object_get_ex(event, "reward", &reward) && model_reward(reward, &task->reward);
	task->violations = violations ? (unsigned)json_object_array_length(violations) : 0;
	if (take_number(&number, event, "refusals"))
		set_refusals(model, task, (uint64_t)number);
	if (take_number(&number, event, "spend_usd_micro"))
		set_spend(model, task, number);
	task->reserved_usd_micro = 0;
	task->wall_ms = number_or(event, "wall_ms", 0);
	task->limit_ms = task->processes = task->memory_bytes = task->output_bytes = 0;
	task->idle_ms = -1;
	fold_containment(task, event);
	return 1;
}

static void control_freeze(struct pr_model *model)
{
	model->frozen = true;
}

static void control_thaw(struct pr_model *model)
{
	model->frozen = false;
}

static void control_drain(struct pr_model *model)
{
	model->draining = true;
}

static void control_stop(struct pr_model *model)
{
	/* Of one task: its verdict says so. */
	if (!model->control.task[0])
		model->stopping = true;
}

static void control_start(struct pr_model *model)
{
	model->held = false;
	model->held_why[0] = '\0';
}

static int fold_control(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	static void (*const effects[PR_VERB_COUNT])(struct pr_model *) = {
		[PR_VERB_START] = control_start,
		[PR_VERB_FREEZE] = control_freeze,
		[PR_VERB_THAW] = control_thaw,
		[PR_VERB_DRAIN] = control_drain,
		[PR_VERB_STOP] = control_stop,
	};
	struct json_object *who = object_of(event, "who", json_type_object), *removed;
	const char *name = jsonc_text(event, "verb");
	int verb = pr_verb_from_name(name);
	int64_t was_removed = number_or(event, "removed", -1);

	/* `removed` is a number of boundaries, or whether all of them were. */
	if (json_object_object_get_ex(event, "removed", &removed) && json_object_is_type(removed, json_type_boolean))
		was_removed = json_object_get_boolean(removed);
	model->control.known = true;
	model->control.verb = verb < 0 ? -1 : verb;
	model->control.uid = number_or(who, "uid", -1);
	model->control.pid = number_or(who, "pid", -1);
	model_text(model->control.task, sizeof model->control.task, task ? task->id : NULL);
	model->control.us = us_of_ms(event, "ms", -1);
	model->control.processes = number_or(event, "processes", -1);
	model->control.runs = number_or(event, "runs", -1);
	model->control.killed = number_or(event, "killed", -1);
	model->control.remaining = number_or(event, "remaining", -1);
	model->control.removed = was_removed;
	if (verb >= 0)
		effects[verb](model);
	if (name && !strcmp(name, "hold")) {
		model->held = true;
		TAKE_TEXT(model->held_why, event, "reason");
	}
	return 1;
}

static int fold_closed(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	(void)model;
	if (!task)
		return 0;
	task->closed_known = true;
	task->killed = number_or(event, "killed", 0);
	task->remaining = number_or(event, "remaining", 0);
	task->closed_us = us_of_ms(event, "ms", 0);
	task->removed = false;
	take_truth(&task->removed, event, "removed");
	TAKE_TEXT(task->cleanup, event, "cleanup");
	fold_containment(task, event);
	return 1;
}

static int fold_finished(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	(void)task;
	model->finished = true;
	model->frozen = model->stopping = false;
	TAKE_TEXT(model->state, event, "state");
	TAKE_TEXT(model->head, event, "head");
	take_number(&model->wall_ms, event, "wall_ms");
	take_number(&model->spend_usd_micro, event, "spend_usd_micro");
	return 1;
}

static int fold_fault(struct pr_model *model, struct pr_task *task, struct json_object *event)
{
	(void)task;
	model->faults++;
	TAKE_TEXT(model->last_fault, event, "message");
	return 1;
}

/* Ephemeral: of tasks that run in the phase it speaks of, and no others. */
static int fold_progress(struct pr_model *model, struct pr_task *none, struct json_object *event)
{
	struct json_object *tasks = object_of(event, "tasks", json_type_array);

	(void)none;
	take_truth(&model->frozen, event, "frozen");
	for (size_t i = 0; tasks && i < json_object_array_length(tasks); i++) {
		struct json_object *from = json_object_array_get_idx(tasks, i);
		struct pr_task *task = pr_model_task(model, jsonc_text(from, "task"));
		if (!task || !task->running || pr_phase_from_name(jsonc_text(from, "phase")) != (int)task->phase)
			continue;
		take_number(&task->wall_ms, from, "wall_ms");
		take_number(&task->limit_ms, from, "limit_ms");
		take_number(&task->processes, from, "processes");
		take_number(&task->memory_bytes, from, "memory_bytes");
		take_number(&task->output_bytes, from, "output_bytes");
		task->idle_ms = number_or(from, "idle_ms", -1);
		fold_spend(model, task, from);
	}
	return 1;
}

static fold_function *const folds[PR_EVENT_COUNT] = {
	[PR_EVENT_ROUND_OPENED] = fold_opened,
	[PR_EVENT_PREFLIGHT_CHECK] = fold_check,
	[PR_EVENT_PREFLIGHT_VERDICT] = fold_preflight,
	[PR_EVENT_ROUND_GATE] = fold_gate,
	[PR_EVENT_ROUND_STARTED] = fold_started,
	[PR_EVENT_TASK_PHASE] = fold_phase,
	[PR_EVENT_REFUSAL] = fold_refusal,
	[PR_EVENT_SPEND_RESERVED] = fold_spend,
	[PR_EVENT_SPEND_SETTLED] = fold_spend,
	[PR_EVENT_TASK_OUTPUT_CUT] = fold_cut,
	[PR_EVENT_TASK_VERDICT] = fold_verdict,
	[PR_EVENT_CONTROL] = fold_control,
	[PR_EVENT_BOUNDARY_CLOSED] = fold_closed,
	[PR_EVENT_ROUND_FINISHED] = fold_finished,
	[PR_EVENT_FAULT] = fold_fault,
	[PR_EVENT_PROGRESS] = fold_progress,
};

static bool is_logged(int event)
{
	static const bool logged[] = {
#define X(identifier, name, is) [identifier] = is,
		PR_EVENTS(X)
#undef X
	};
	return event < 0 || logged[event];
}

int pr_model_apply(struct pr_model *model, struct json_object *event)
{
	struct pr_task *task = NULL;
	uint64_t seq;

	if (!json_object_is_type(event, json_type_object))
		return 0;
	int type = pr_event_from_name(jsonc_text(event, "type"));
	if (is_logged(type)) {
		if (jsonc_u64(event, "seq", &seq) < 0 || seq <= model->seq)
			return 0;
		model->seq = seq;
		TAKE_TEXT(model->head, event, "prev");
		take_number(&model->last_at_ms, event, "at");
		jsonc_i64(event, "mono", &model->last_mono_ns);
	}
	if (type < 0 || !folds[type])
		return 0;
	int r = type == PR_EVENT_PROGRESS ? 0 : model_add_task(model, jsonc_text(event, "task"), &task);
	return r < 0 ? r : folds[type](model, task, event);
}

void pr_model_release(struct pr_model *model)
{
	free(model->tasks);
	free(model->index_);
	*model = (struct pr_model)PR_MODEL_INIT;
}
