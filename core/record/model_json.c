/*
 * Snapshots of the model, see proctor/model.h. One table a struct says each member's name, kind and place;
 * writing and reading both walk it, so that they cannot drift apart. A member at its first value is left out.
 */
#include <proctor/model.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/record/jsonc.h"
#include "core/record/model_parts.h"

enum field_kind {
	FIELD_TEXT,
	FIELD_PROSE,		/* a text that may be cut shorter in a snapshot */
	FIELD_BOOL,
	FIELD_NUMBER,		/* int64_t, 0 at first */
	FIELD_NUMBER_OR_NONE,	/* int64_t, -1 at first */
	FIELD_SIGNED,		/* int64_t, any */
	FIELD_COUNT,		/* uint64_t */
	FIELD_REAL,
	FIELD_ENUM,		/* an enum's value as an integer, below `size` */
};

struct field {
	const char *name;
	enum field_kind kind;
	size_t offset, size;	/* size: of a text; of an enum how many values it has */
	bool detail;		/* left out of a brief snapshot */
};

#define TEXT(type, member) { #member, FIELD_TEXT, offsetof(type, member), sizeof((type *)0)->member, false }
#define DETAIL_TEXT(type, member) { #member, FIELD_TEXT, offsetof(type, member), sizeof((type *)0)->member, true }
#define PROSE(type, member) { #member, FIELD_PROSE, offsetof(type, member), sizeof((type *)0)->member, false }
#define FIELD(type, kind, member) { #member, kind, offsetof(type, member), 0, false }
#define DETAIL(type, kind, member) { #member, kind, offsetof(type, member), 0, true }
#define ENUM(type, member, count) { #member, FIELD_ENUM, offsetof(type, member), count, false }

#define M struct pr_model
static const struct field model_fields[] = {
	FIELD(M, FIELD_COUNT, seq), TEXT(M, head), TEXT(M, round), TEXT(M, name), TEXT(M, kind), TEXT(M, dir),
	TEXT(M, version), PROSE(M, agent), TEXT(M, profile), FIELD(M, FIELD_NUMBER, parallel),
	FIELD(M, FIELD_NUMBER, wall_clock_ms), FIELD(M, FIELD_NUMBER, tests_wall_clock_ms), FIELD(M, FIELD_NUMBER, longest_ms),
	FIELD(M, FIELD_BOOL, resumed),
	FIELD(M, FIELD_NUMBER, opened_at_ms), FIELD(M, FIELD_NUMBER, started_at_ms), FIELD(M, FIELD_NUMBER, last_at_ms),
	FIELD(M, FIELD_SIGNED, started_mono_ns), FIELD(M, FIELD_SIGNED, last_mono_ns),
	FIELD(M, FIELD_BOOL, preflight.known), FIELD(M, FIELD_NUMBER, preflight.ok), FIELD(M, FIELD_NUMBER, preflight.warn),
	FIELD(M, FIELD_NUMBER, preflight.fail), FIELD(M, FIELD_NUMBER, preflight.unknown),
	ENUM(M, gate, PR_GATE_OPEN + 1), TEXT(M, gate_by), FIELD(M, FIELD_BOOL, started), FIELD(M, FIELD_BOOL, frozen),
	FIELD(M, FIELD_BOOL, draining), FIELD(M, FIELD_BOOL, held), FIELD(M, FIELD_BOOL, stopping), PROSE(M, held_why),
	FIELD(M, FIELD_BOOL, finished), TEXT(M, state), FIELD(M, FIELD_NUMBER, wall_ms),
	FIELD(M, FIELD_NUMBER, spend_usd_micro), FIELD(M, FIELD_COUNT, refusals), FIELD(M, FIELD_COUNT, faults),
	PROSE(M, last_fault),
};

/* Told where control.known is. control.verb goes by its name. */
static const struct field control_fields[] = {
	FIELD(M, FIELD_NUMBER_OR_NONE, control.uid), FIELD(M, FIELD_NUMBER_OR_NONE, control.pid), TEXT(M, control.task),
	FIELD(M, FIELD_NUMBER_OR_NONE, control.us), FIELD(M, FIELD_NUMBER_OR_NONE, control.processes),
	FIELD(M, FIELD_NUMBER_OR_NONE, control.runs), FIELD(M, FIELD_NUMBER_OR_NONE, control.killed),
	FIELD(M, FIELD_NUMBER_OR_NONE, control.remaining), FIELD(M, FIELD_NUMBER_OR_NONE, control.removed),
};
#undef M

#define T struct pr_task
static const struct field task_fields[] = {
	TEXT(T, id), PROSE(T, source), ENUM(T, phase, PR_PHASE_COUNT), FIELD(T, FIELD_BOOL, running),
	ENUM(T, verdict, PR_VERDICT_COUNT), TEXT(T, status), DETAIL_TEXT(T, validity), FIELD(T, FIELD_BOOL, has_reward),
	FIELD(T, FIELD_REAL, reward), TEXT(T, cause), TEXT(T, charged_to), PROSE(T, reason), DETAIL_TEXT(T, episode),
	FIELD(T, FIELD_COUNT, refusals), DETAIL(T, FIELD_BOOL, stdout_cut), DETAIL(T, FIELD_BOOL, stderr_cut),
	FIELD(T, FIELD_NUMBER, spend_usd_micro), FIELD(T, FIELD_NUMBER, reserved_usd_micro),
	FIELD(T, FIELD_NUMBER, wall_ms), FIELD(T, FIELD_NUMBER, limit_ms), FIELD(T, FIELD_NUMBER, processes),
	FIELD(T, FIELD_NUMBER, memory_bytes), FIELD(T, FIELD_NUMBER, output_bytes), FIELD(T, FIELD_NUMBER_OR_NONE, idle_ms),
	DETAIL(T, FIELD_BOOL, closed_known), DETAIL(T, FIELD_NUMBER, killed), DETAIL(T, FIELD_NUMBER, remaining),
	DETAIL(T, FIELD_NUMBER, closed_us), DETAIL(T, FIELD_BOOL, removed), DETAIL_TEXT(T, cleanup),
};
#undef T

#define R struct pr_phase_record
static const struct field phase_fields[] = {
	FIELD(R, FIELD_NUMBER, wall_ms), TEXT(R, termination), FIELD(R, FIELD_BOOL, has_exit_code),
	FIELD(R, FIELD_SIGNED, exit_code),
};
#undef R

static const char *const phase_states[] = {
	[PR_PHASE_NOT_YET] = "not yet",
	[PR_PHASE_RUNNING] = "running",
	[PR_PHASE_ENDED] = "ended",
};

/* ------- process_containment, in the form of docs/events.md ------- */

#define C struct pr_containment
static const struct {
	const char *name;
	size_t offset;
} truths[] = {
	{ "enforced", offsetof(C, enforced) },
	{ "kill_boundary_enforced", offsetof(C, kill_boundary_enforced) },
	{ "control_plane_isolated", offsetof(C, control_plane_isolated) },
	{ "resource_controllers_enforced", offsetof(C, resource_controllers_enforced) },
	{ "cleanup_closed", offsetof(C, cleanup_closed) },
	{ "certifiable", offsetof(C, certifiable) },
};
#undef C

static void join_reasons(struct pr_containment *containment, struct json_object *from)
{
	struct json_object *reasons;
	char joined[PR_LINE * 2] = "";
	size_t used = 0;

	if (!json_object_object_get_ex(from, "uncertifiable_reasons", &reasons) ||
	    !json_object_is_type(reasons, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(reasons) && used < PR_LINE; i++) {
		struct json_object *reason = json_object_array_get_idx(reasons, i);
		if (json_object_is_type(reason, json_type_string))
			used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%.200s", used ? ", " : "",
						 json_object_get_string(reason));
	}
	model_text(containment->why_not, sizeof containment->why_not, joined);
}

void model_containment(struct pr_containment *containment, struct json_object *from)
{
	struct json_object *value;
	int64_t remaining;

	*containment = (struct pr_containment){ .known = true, .remaining_processes = -1 };
	model_text(containment->profile, sizeof containment->profile, jsonc_text(from, "profile"));
	for (size_t i = 0; i < ELEMENTS(truths); i++)
		if (json_object_object_get_ex(from, truths[i].name, &value) && json_object_is_type(value, json_type_boolean))
			*(enum pr_truth *)((char *)containment + truths[i].offset) =
				json_object_get_boolean(value) ? PR_TRUE : PR_FALSE;
	if (jsonc_i64(from, "remaining_processes", &remaining) >= 0 && remaining >= 0)
		containment->remaining_processes = remaining;
	join_reasons(containment, from);
}

bool model_reward(struct json_object *value, double *ret_reward)
{
	if (!json_object_is_type(value, json_type_double) && !json_object_is_type(value, json_type_int))
		return false;
	double reward = json_object_get_double(value);
	if (!isfinite(reward))
		return false;
	*ret_reward = reward;
	return true;
}

/* ------- writing ------- */

/* Takes the value over. -ENOMEM also where it could not be made. */
static int put(struct json_object *object, const char *name, struct json_object *value)
{
	if (value && json_object_object_add(object, name, value) >= 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

static int put_text(struct json_object *object, const char *name, const char *text, size_t most)
{
	char cut[1024];

	if (!*text || !most)
		return 0;
	model_text(cut, most < sizeof cut ? most : sizeof cut, text);
	return put(object, name, json_object_new_string(cut));
}

static int put_number(struct json_object *object, const char *name, int64_t number, int64_t first)
{
	return number == first ? 0 : put(object, name, json_object_new_int64(number));
}

static int put_field(struct json_object *object, const struct field *field, const void *base, size_t prose)
{
	const void *at = (const char *)base + field->offset;
	unsigned value = 0;

	switch (field->kind) {
	case FIELD_TEXT:
		return put_text(object, field->name, at, field->size);
	case FIELD_PROSE:
		return put_text(object, field->name, at, prose < field->size ? prose : field->size);
	case FIELD_BOOL:
		return *(const bool *)at ? put(object, field->name, json_object_new_boolean(true)) : 0;
	case FIELD_NUMBER:
	case FIELD_SIGNED:
		return put_number(object, field->name, *(const int64_t *)at, 0);
	case FIELD_NUMBER_OR_NONE:
		return put_number(object, field->name, *(const int64_t *)at, -1);
	case FIELD_COUNT:
		return *(const uint64_t *)at ? put(object, field->name, json_object_new_uint64(*(const uint64_t *)at)) : 0;
	case FIELD_REAL:
		return *(const double *)at != 0 ? put(object, field->name, json_object_new_double(*(const double *)at)) : 0;
	case FIELD_ENUM:
		memcpy(&value, at, sizeof value);
		return value ? put(object, field->name, json_object_new_int64(value)) : 0;
	}
	return 0;
}

static int put_fields(struct json_object *object, const struct field *fields, size_t count, const void *base,
		      size_t prose, bool brief)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		if (!brief || !fields[i].detail)
			r = put_field(object, &fields[i], base, prose);
	return r;
}

static int put_phases(struct json_object *object, const struct pr_task *task)
{
	_cleanup_jsonc_ struct json_object *phases = json_object_new_object();

	for (unsigned i = 0; i < PR_PHASE_COUNT; i++) {
		const struct pr_phase_record *record = &task->phases[i];
		if (record->state == PR_PHASE_NOT_YET)
			continue;
		_cleanup_jsonc_ struct json_object *phase = json_object_new_object();
		if (!phases || !phase || put(phase, "state", json_object_new_string(phase_states[record->state])) < 0 ||
		    put_fields(phase, phase_fields, ELEMENTS(phase_fields), record, PR_LINE, false) < 0 ||
		    put(phases, pr_phase_name((enum pr_phase)i), json_object_get(phase)) < 0)
			return -ENOMEM;
	}
	if (!phases)
		return -ENOMEM;
	return json_object_object_length(phases) ? put(object, "phases", take_ptr(phases)) : 0;
}

static struct json_object *truth_json(enum pr_truth truth)
{
	return truth == PR_UNKNOWN ? json_object_new_string("unknown") : json_object_new_boolean(truth == PR_TRUE);
}

static int put_containment(struct json_object *object, const struct pr_containment *containment, size_t prose)
{
	_cleanup_jsonc_ struct json_object *out = json_object_new_object(), *reasons = json_object_new_array();
	int r = out && reasons ? 0 : -ENOMEM;

	if (!containment->known || r < 0)
		return r;
	r = put_text(out, "profile", containment->profile, sizeof containment->profile);
	for (size_t i = 0; i < ELEMENTS(truths) && r >= 0; i++)
		r = put(out, truths[i].name, truth_json(*(const enum pr_truth *)((const char *)containment + truths[i].offset)));
	if (r >= 0)
		r = put_number(out, "remaining_processes", containment->remaining_processes, -1);
	if (r >= 0 && containment->why_not[0] && prose) {
		char why[PR_LINE];
		model_text(why, prose < sizeof why ? prose : sizeof why, containment->why_not);
		struct json_object *reason = json_object_new_string(why);
		if (!reason || json_object_array_add(reasons, reason) < 0)
			return -ENOMEM;
		r = put(out, "uncertifiable_reasons", take_ptr(reasons));
	}
	return r < 0 ? r : put(object, "process_containment", take_ptr(out));
}

static struct json_object *task_json(const struct pr_task *task, size_t prose)
{
	_cleanup_jsonc_ struct json_object *object = json_object_new_object();
	bool brief = !prose;

	if (!object || put_fields(object, task_fields, ELEMENTS(task_fields), task, prose, brief) < 0)
		return NULL;
	if (task->violations && put(object, "violations", json_object_new_int64(task->violations)) < 0)
		return NULL;
	if (!brief && (put_phases(object, task) < 0 || put_containment(object, &task->containment, prose) < 0))
		return NULL;
	return take_ptr(object);
}

static int put_control(struct json_object *object, const struct pr_model *model)
{
	_cleanup_jsonc_ struct json_object *control = json_object_new_object();

	if (!control)
		return -ENOMEM;
	if (!model->control.known)
		return 0;
	if (model->control.verb >= 0 &&
	    put(control, "verb", json_object_new_string(pr_verb_name((enum pr_verb)model->control.verb))) < 0)
		return -ENOMEM;
	if (put_fields(control, control_fields, ELEMENTS(control_fields), model, PR_LINE, false) < 0)
		return -ENOMEM;
	return put(object, "control", take_ptr(control));
}

struct json_object *pr_model_to_json(const struct pr_model *model, size_t reason_bytes)
{
	_cleanup_jsonc_ struct json_object *object = json_object_new_object(), *tasks = json_object_new_array();

	if (!object || !tasks || put_control(object, model) < 0 ||
	    put_fields(object, model_fields, ELEMENTS(model_fields), model, reason_bytes, !reason_bytes) < 0)
		return NULL;
	for (uint32_t i = 0; i < model->counts.tasks; i++) {
		struct json_object *task = task_json(&model->tasks[i], reason_bytes);
		if (!task || json_object_array_add(tasks, task) < 0) {
			json_object_put(task);
			return NULL;
		}
	}
	return put(object, "tasks", take_ptr(tasks)) < 0 ? NULL : take_ptr(object);
}

/* ------- reading ------- */

static void get_number(int64_t *field, struct json_object *from, const char *name, bool negative)
{
	int64_t number;

	if (jsonc_i64(from, name, &number) < 0)
		return;
	if (negative || (number >= 0 && number <= MODEL_NUMBER))
		*field = number;
}

static void get_field(const struct field *field, void *base, struct json_object *from)
{
	void *at = (char *)base + field->offset;
	struct json_object *value;
	uint64_t number;

	if (!json_object_object_get_ex(from, field->name, &value))
		return;
	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_PROSE:
		model_text(at, field->size, jsonc_text(from, field->name));
		break;
	case FIELD_BOOL:
		*(bool *)at = json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
		break;
	case FIELD_NUMBER:
	case FIELD_NUMBER_OR_NONE:
		get_number(at, from, field->name, false);
		break;
	case FIELD_SIGNED:
		get_number(at, from, field->name, true);
		break;
	case FIELD_COUNT:
		jsonc_u64(from, field->name, at);
		break;
	case FIELD_REAL:
		model_reward(value, at);
		break;
	case FIELD_ENUM:
		if (jsonc_u64(from, field->name, &number) >= 0 && number < field->size)
			memcpy(at, &(unsigned){ (unsigned)number }, sizeof(unsigned));
		break;
	}
}

static void get_fields(const struct field *fields, size_t count, void *base, struct json_object *from)
{
	for (size_t i = 0; i < count; i++)
		get_field(&fields[i], base, from);
}

static void get_phases(struct pr_task *task, struct json_object *from)
{
	struct json_object *phases, *phase;

	if (!json_object_object_get_ex(from, "phases", &phases))
		return;
	for (unsigned i = 0; i < PR_PHASE_COUNT; i++) {
		if (!json_object_object_get_ex(phases, pr_phase_name((enum pr_phase)i), &phase))
			continue;
		const char *state = jsonc_text(phase, "state");
		for (unsigned s = 0; state && s < ELEMENTS(phase_states); s++)
			if (!strcmp(state, phase_states[s]))
				task->phases[i].state = s;
		get_fields(phase_fields, ELEMENTS(phase_fields), &task->phases[i], phase);
	}
}

static int get_task(struct pr_model *model, struct json_object *from)
{
	struct json_object *containment;
	struct pr_task *task;
	int64_t violations;

	int r = model_add_task(model, jsonc_text(from, "id"), &task);
	if (r < 0 || !task)
		return r;
	model_count(model, task, -1);
	get_fields(task_fields + 1, ELEMENTS(task_fields) - 1, task, from);	/* the id is there */
	/* The counts rest on these three. */
	if (task->verdict != PR_VERDICT_NONE) {
		task->running = false;
		task->phase = PR_PHASE_DONE;
	} else if (task->phase == PR_PHASE_DONE) {
		task->phase = PR_PHASE_QUEUED;
	}
	model_count(model, task, 1);
	if (jsonc_i64(from, "violations", &violations) >= 0 && violations >= 0 && violations <= INT32_MAX)
		task->violations = (unsigned)violations;
	get_phases(task, from);
	if (json_object_object_get_ex(from, "process_containment", &containment) &&
	    json_object_is_type(containment, json_type_object))
		model_containment(&task->containment, containment);
	return 0;
}

static void get_control(struct pr_model *model, struct json_object *from)
{
	struct json_object *control;

	if (!json_object_object_get_ex(from, "control", &control) || !json_object_is_type(control, json_type_object))
		return;
	int verb = pr_verb_from_name(jsonc_text(control, "verb"));
	model->control.known = true;
	model->control.verb = verb < 0 ? -1 : verb;
	model->control.uid = model->control.pid = model->control.us = model->control.processes = -1;
	model->control.runs = model->control.killed = model->control.remaining = model->control.removed = -1;
	get_fields(control_fields, ELEMENTS(control_fields), model, control);
}

int pr_model_from_json(struct json_object *object, struct pr_model *ret_model, struct pr_error *error)
{
	struct pr_model model = PR_MODEL_INIT;
	struct json_object *tasks;

	if (!json_object_is_type(object, json_type_object))
		return pr_error_set(error, EBADMSG, "reading a snapshot: the model is no object");
	get_fields(model_fields, ELEMENTS(model_fields), &model, object);
	get_control(&model, object);
	size_t count = json_object_object_get_ex(object, "tasks", &tasks) && json_object_is_type(tasks, json_type_array) ?
		       json_object_array_length(tasks) : 0;
	for (size_t i = 0; i < count; i++) {
		if (get_task(&model, json_object_array_get_idx(tasks, i)) < 0) {
			pr_model_release(&model);
			return pr_error_set(error, ENOMEM, "reading a snapshot: out of memory");
		}
	}
	*ret_model = model;
	return 0;
}
