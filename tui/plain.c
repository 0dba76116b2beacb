/*
 * Plain mode: a table of renderers, one an event type. A type without one is shown by its name and its
 * text, so that nothing that a later core says is lost.
 */
#include "tui/plain.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/digest.h"
#include "tui/member.h"
#include "tui/proof.h"

#define SUBJECT_WIDTH 12	/* least columns of what a line is about: a task's name, "round", "preflight" */
#define SUBJECT_WIDEST 24	/* most of them; a longer name moves its own lines alone */
#define NAME_WIDTH 200		/* of a name, a path, an object */
#define SHORT_PHASE_MS 1000
#define PROSE_WIDTH 600		/* of a reason, of what was tried */

struct rendering {
	struct plain *plain;
	struct json_object *event;
	const char *text;		/* the event as it stands in the log */
	size_t text_length;
	const struct pr_model *model;
	struct buffer *out;
	struct line line;
	int status;
};

/* Every task's name is known from the first event on: the columns stand. */
static unsigned subject_width(const struct pr_model *model)
{
	size_t width = SUBJECT_WIDTH;
	for (uint32_t i = 0; i < model->counts.tasks; i++) {
		size_t length = strlen(model->tasks[i].id);
		if (length > width && length <= SUBJECT_WIDEST)
			width = length;
	}
	return (unsigned)width;
}

static void begin(struct rendering *r, const char *subject)
{
	int64_t seconds = r->plain->now_ns / NS_PER_S;
	line_begin(&r->line, r->out);
	line_add(&r->line, "%02" PRId64 ":%02" PRId64 "  ", seconds / 60, seconds % 60);
	line_column(&r->line, subject, r->plain->subject_width);
	line_add(&r->line, " ");
}

static void end(struct rendering *r)
{
	int status = line_end(&r->line);
	if (status < 0)
		r->status = status;
}

static const char *text(const struct rendering *r, const char *key)
{
	return member_text_or(r->event, key, "");
}

/* Starts a line about the event's task, or about the round where it has none; with its phase, where it has one. */
static void begin_task(struct rendering *r)
{
	begin(r, member_text_or(r->event, "task", "round"));
	if (jsonc_text(r->event, "phase")) {
		line_text(&r->line, text(r, "phase"), NAME_WIDTH);
		line_add(&r->line, " ");
	}
}

static void opened(struct rendering *r)
{
	const struct pr_model *model = r->model;
	begin(r, "round");
	line_text(&r->line, text(r, "round"), NAME_WIDTH);
	line_add(&r->line, member_true(r->event, "resumed") ? " resumed (" : " opened (");
	line_text(&r->line, text(r, "kind"), NAME_WIDTH);
	line_add(&r->line, "): ");
	line_count(&r->line, model->counts.tasks, "task", "tasks");
	if (model->counts.done > 0)
		line_add(&r->line, ", %u with a verdict that stands", model->counts.done);
	line_add(&r->line, ", %" PRId64 " at a time, agent ", model->parallel);
	line_text(&r->line, text(r, "agent"), NAME_WIDTH);
	line_add(&r->line, "; at most ");
	line_duration(&r->line, model->wall_clock_ms);
	line_add(&r->line, " for the agent and ");
	line_duration(&r->line, model->tests_wall_clock_ms);
	line_add(&r->line, " for each test");
	end(r);
}

static void check(struct rendering *r)
{
	begin(r, "preflight");
	line_column(&r->line, text(r, "state"), 7);
	line_add(&r->line, " ");
	line_text(&r->line, text(r, "id"), NAME_WIDTH);
	line_add(&r->line, ": ");
	line_text(&r->line, text(r, "tried"), PROSE_WIDTH);
	if (text(r, "remedy")[0]) {
		line_add(&r->line, "; try: ");
		line_text(&r->line, text(r, "remedy"), PROSE_WIDTH);
	}
	end(r);
}

static void preflight(struct rendering *r)
{
	int64_t failed = member_int(r->event, "fail");
	begin(r, "preflight");
	line_add(&r->line, "%" PRId64 " ok, %" PRId64 " warn, %" PRId64 " FAIL, %" PRId64 " unknown",
		 member_int(r->event, "ok"), member_int(r->event, "warn"), failed, member_int(r->event, "unknown"));
	if (failed > 0)
		line_add(&r->line, ": the round cannot start");
	end(r);
}

static void gate(struct rendering *r)
{
	begin(r, "round");
	if (strcmp(text(r, "state"), "open") == 0 && strcmp(text(r, "by"), "baseline") == 0) {
		line_add(&r->line, "gate open: a baseline round does not ask");
	} else if (strcmp(text(r, "state"), "open") == 0) {
		line_add(&r->line, "gate open, by ");
		line_text(&r->line, text(r, "by"), NAME_WIDTH);
	} else {
		line_add(&r->line, "waits for its owner at the gate: proctor start ");
		line_text(&r->line, r->model->round, NAME_WIDTH);
	}
	end(r);
}

static void started(struct rendering *r)
{
	begin(r, "round");
	line_add(&r->line, "started");
	end(r);
}

/* How a phase ended, for people. */
static const struct {
	const char *termination, *words;
	bool with_code;
} terminations[] = {
	{ "exited", "exited", true },
	{ "signalled", "ended by a signal", true },
	{ "timed_out", "TIMED OUT", false },
	{ "killed", "killed", false },
	{ "not_executed", "NOT EXECUTED", false },
	{ "limited", "ended at its limit", false },
};

static void phase(struct rendering *r)
{
	const char *termination = text(r, "termination");
	/* What no command ran in and took no time: the next phase's start says that it is over. */
	if (strcmp(text(r, "state"), "ended") == 0 && !termination[0] && member_int(r->event, "wall_ms") < SHORT_PHASE_MS)
		return;
	begin_task(r);
	if (strcmp(text(r, "state"), "ended") != 0) {
		line_add(&r->line, "started");
		end(r);
		return;
	}
	line_add(&r->line, "ended after ");
	line_duration(&r->line, member_int(r->event, "wall_ms"));
	size_t i = 0;
	while (i < ELEMENTS(terminations) && strcmp(terminations[i].termination, termination) != 0)
		i++;
	if (termination[0])
		line_add(&r->line, ": ");
	if (i == ELEMENTS(terminations))
		line_text(&r->line, termination, NAME_WIDTH);
	else
		line_add(&r->line, "%s", terminations[i].words);
	if (i < ELEMENTS(terminations) && terminations[i].with_code && member_is_number(r->event, "exit_code"))
		line_add(&r->line, " %" PRId64, member_int(r->event, "exit_code"));
	end(r);
}

static void output_cut(struct rendering *r)
{
	begin_task(r);
	line_text(&r->line, text(r, "stream"), NAME_WIDTH);
	line_add(&r->line, " over its cap of ");
	line_size(&r->line, member_int(r->event, "limit_bytes"));
	line_add(&r->line, ": what came after is not kept");
	end(r);
}

/* A number is named as errno(3) has it. */
static void errno_name(struct rendering *r)
{
	const char *name = jsonc_text(r->event, "errno");
	if (!name && member_int(r->event, "errno") > 0 && member_int(r->event, "errno") < 4096)
		name = strerrorname_np((int)member_int(r->event, "errno"));
	if (!name)
		return;
	line_add(&r->line, ", ");
	line_text(&r->line, name, NAME_WIDTH);
}

static void refusal(struct rendering *r)
{
	begin_task(r);
	line_text(&r->line, text(r, "what"), NAME_WIDTH);
	line_add(&r->line, " refused by ");
	line_text(&r->line, text(r, "layer"), NAME_WIDTH);
	line_add(&r->line, ": ");
	line_text(&r->line, text(r, "object"), NAME_WIDTH);
	errno_name(r);
	line_add(&r->line, ", at least ");
	line_count(&r->line, member_int(r->event, "count"), "time", "times");
	if (text(r, "program")[0]) {
		line_add(&r->line, ", by ");
		line_text(&r->line, text(r, "program"), NAME_WIDTH);
	}
	line_add(&r->line, " (");
	line_text(&r->line, text(r, "certainty"), NAME_WIDTH);
	line_add(&r->line, ")");
	end(r);
}

/* What did not pass stands out without colour. */
static const char *const verdict_words[PR_VERDICT_COUNT] = {
	[PR_VERDICT_NONE] = "-",
	[PR_VERDICT_PASS] = "pass",
	[PR_VERDICT_FAIL] = "FAIL",
	[PR_VERDICT_INVALID] = "INVALID",
	[PR_VERDICT_ERROR] = "ERROR",
	[PR_VERDICT_STOPPED] = "STOPPED",
};

/* "FAIL 0.25: why; charged to candidate". */
static void verdict_words_of(struct rendering *r, const struct pr_task *task)
{
	line_add(&r->line, "%s", verdict_words[task->verdict]);
	if (task->has_reward)
		line_add(&r->line, task->reward == (double)(int64_t)task->reward ? " %.1f" : " %.6g", task->reward);
	if (task->verdict == PR_VERDICT_PASS)
		return;
	line_add(&r->line, ": ");
	line_text(&r->line, task->reason[0] ? task->reason : task->cause[0] ? task->cause : "no reason told", PROSE_WIDTH);
	if (task->charged_to[0] && strcmp(task->charged_to, "-") != 0) {
		line_add(&r->line, "; charged to ");
		line_text(&r->line, task->charged_to, NAME_WIDTH);
	}
}

static const struct pr_task *task_of(const struct rendering *r)
{
	for (uint32_t i = 0; i < r->model->counts.tasks; i++)
		if (strcmp(r->model->tasks[i].id, text(r, "task")) == 0)
			return &r->model->tasks[i];
	return NULL;
}

static void verdict(struct rendering *r)
{
	static const struct pr_task unknown = { .verdict = PR_VERDICT_NONE };
	const struct pr_task *task = task_of(r);
	begin_task(r);
	verdict_words_of(r, task ? task : &unknown);
	if (member_int(r->event, "wall_ms") > 0) {
		line_add(&r->line, "; took ");
		line_duration(&r->line, member_int(r->event, "wall_ms"));
	}
	if (member_int(r->event, "spend_usd_micro") > 0) {
		line_add(&r->line, ", ");
		line_money(&r->line, member_int(r->event, "spend_usd_micro"));
	}
	if (member_int(r->event, "refusals") > 0) {
		line_add(&r->line, ", at least ");
		line_count(&r->line, member_int(r->event, "refusals"), "refusal", "refusals");
	}
	if (text(r, "episode")[0]) {
		line_add(&r->line, ", ");
		line_text(&r->line, text(r, "episode"), NAME_WIDTH);
	}
	end(r);
}

static bool is_ok(const char *cleanup)
{
	return !cleanup[0] || strcmp(cleanup, "ok") == 0;
}

static void boundary(struct rendering *r)
{
	int64_t remaining = member_int(r->event, "remaining");
	/* Its run ended by itself and left nothing: the line of the phase's end says all there is. */
	if (remaining == 0 && member_int(r->event, "killed") == 0 && member_int(r->event, "nested") == 0 &&
	    member_true(r->event, "removed") && is_ok(text(r, "cleanup")))
		return;
	begin_task(r);
	line_add(&r->line, "%s", remaining ? "boundary NOT EMPTY: " : "boundary empty: ");
	line_add(&r->line, "%" PRId64 " killed, %" PRId64 " remaining, %s, ", member_int(r->event, "killed"), remaining,
		 member_true(r->event, "removed") ? "removed" : "NOT removed");
	line_ms(&r->line, member_double(r->event, "ms"));
	if (member_int(r->event, "nested") > 0)
		line_add(&r->line, ", %" PRId64 " nested cgroups", member_int(r->event, "nested"));
	if (!is_ok(text(r, "cleanup"))) {
		line_add(&r->line, "; left: ");
		line_text(&r->line, text(r, "cleanup"), PROSE_WIDTH);
	}
	end(r);
}

static void control(struct rendering *r)
{
	int verb = pr_verb_from_name(text(r, "verb"));
	struct json_object *who = member(r->event, "who");
	begin_task(r);
	bool held = strcmp(text(r, "verb"), "hold") == 0;
	if (held)
		line_add(&r->line, "HELD");
	else if (verb < 0)
		line_text(&r->line, text(r, "verb"), NAME_WIDTH);
	else
		line_done(&r->line, (enum pr_verb)verb, r->event);
	if (text(r, "why")[0]) {
		line_add(&r->line, ": ");
		line_text(&r->line, text(r, "why"), PROSE_WIDTH);
	}
	/* Held by the core itself, which nobody asked. */
	if (member_is_number(who, "uid") && !held)
		line_add(&r->line, " (by uid %" PRId64 ", pid %" PRId64 ")", member_int(who, "uid"), member_int(who, "pid"));
	end(r);
}

/* "no boundary: ..." begins with the words of "no-boundary". */
static bool begins_with_words(const char *message, const char *id)
{
	for (; *id; id++, message++)
		if (*message != *id && !(*id == '-' && *message == ' '))
			return false;
	return true;
}

static void fault(struct rendering *r)
{
	begin_task(r);
	line_add(&r->line, "FAULT ");
	if (!begins_with_words(text(r, "message"), text(r, "what"))) {
		line_text(&r->line, text(r, "what"), NAME_WIDTH);
		line_add(&r->line, ": ");
	}
	line_text(&r->line, text(r, "message"), PROSE_WIDTH);
	if (text(r, "charged_to")[0]) {
		line_add(&r->line, "; charged to ");
		line_text(&r->line, text(r, "charged_to"), NAME_WIDTH);
	}
	if (text(r, "remedy")[0]) {
		line_add(&r->line, "; try: ");
		line_text(&r->line, text(r, "remedy"), PROSE_WIDTH);
	}
	end(r);
}

/* What there is to look into: not what passed, nor what its owner stopped. */
static void summary_tasks(struct rendering *r)
{
	for (uint32_t i = 0; i < r->model->counts.tasks; i++) {
		const struct pr_task *task = &r->model->tasks[i];
		if (task->verdict == PR_VERDICT_PASS || task->verdict == PR_VERDICT_STOPPED)
			continue;
		begin(r, "summary");
		line_text(&r->line, task->id, NAME_WIDTH);
		line_add(&r->line, " ");
		if (task->verdict == PR_VERDICT_NONE)
			line_add(&r->line, "has no verdict");
		else
			verdict_words_of(r, task);
		end(r);
	}
}

static void summary_refusals(struct rendering *r)
{
	int64_t refusals = 0, with = 0;
	for (uint32_t i = 0; i < r->model->counts.tasks; i++) {
		refusals += (int64_t)r->model->tasks[i].refusals;
		with += r->model->tasks[i].refusals > 0;
	}
	if (refusals == 0)
		return;
	begin(r, "summary");
	line_count(&r->line, refusals, "refusal", "refusals");
	line_add(&r->line, ", at least, in %" PRId64 " of ", with);
	line_count(&r->line, r->model->counts.tasks, "task", "tasks");
	end(r);
}

static void summary(struct rendering *r)
{
	static const enum pr_verdict order[] = {
		PR_VERDICT_PASS, PR_VERDICT_FAIL, PR_VERDICT_INVALID, PR_VERDICT_ERROR, PR_VERDICT_STOPPED,
	};
	/* Nothing ran: that no task has a verdict goes without saying. */
	if (strcmp(text(r, "state"), "refused") != 0)
		summary_tasks(r);
	begin(r, "summary");
	line_count(&r->line, member_int(r->event, "tasks"), "task", "tasks");
	for (size_t i = 0; i < ELEMENTS(order); i++)
		line_add(&r->line, "%s%" PRId64 " %s", i ? ", " : ": ", member_int(r->event, pr_verdict_name(order[i])),
			 pr_verdict_name(order[i]));
	if (member_int(r->event, "spend_usd_micro") > 0) {
		line_add(&r->line, "; spend ");
		line_money(&r->line, member_int(r->event, "spend_usd_micro"));
	}
	end(r);
	summary_refusals(r);
	begin(r, "summary");
	line_add(&r->line, "evidence: ");
	line_text(&r->line, r->model->dir, 0);
	end(r);
	char head[DIGEST_HEX];
	digest_bytes(r->text, r->text_length, head);
	begin(r, "summary");
	line_add(&r->line, "log head: %s, event %" PRIu64, head, r->model->seq);
	end(r);
}

static void finished(struct rendering *r)
{
	static const char *const states[][2] = {
		{ "finished", "finished" }, { "drained", "DRAINED" }, { "refused", "REFUSED" },
		{ "failed", "FAILED" },
	};
	const char *words = "STOPPED";
	for (size_t i = 0; i < ELEMENTS(states); i++)
		if (strcmp(text(r, "state"), states[i][0]) == 0)
			words = states[i][1];
	begin(r, "round");
	line_add(&r->line, "%s after ", words);
	line_duration(&r->line, member_int(r->event, "wall_ms"));
	end(r);
	summary(r);
	/* All have a verdict that stands. */
	if (r->model->counts.done - r->model->counts.stopped == r->model->counts.tasks)
		return;
	begin(r, "summary");
	line_add(&r->line, "resume: proctor run --resume ");
	line_text(&r->line, r->model->round, NAME_WIDTH);
	end(r);
}

static void other(struct rendering *r)
{
	begin_task(r);
	line_text(&r->line, text(r, "type"), NAME_WIDTH);
	line_add(&r->line, ": ");
	line_text(&r->line, r->text, PROSE_WIDTH);
	end(r);
}

static void (*const renderers[PR_EVENT_COUNT])(struct rendering *r) = {
	[PR_EVENT_ROUND_OPENED] = opened,
	[PR_EVENT_PREFLIGHT_CHECK] = check,
	[PR_EVENT_PREFLIGHT_VERDICT] = preflight,
	[PR_EVENT_ROUND_GATE] = gate,
	[PR_EVENT_ROUND_STARTED] = started,
	[PR_EVENT_TASK_PHASE] = phase,
	[PR_EVENT_TASK_OUTPUT_CUT] = output_cut,
	[PR_EVENT_REFUSAL] = refusal,
	[PR_EVENT_TASK_VERDICT] = verdict,
	[PR_EVENT_BOUNDARY_CLOSED] = boundary,
	[PR_EVENT_CONTROL] = control,
	[PR_EVENT_FAULT] = fault,
	[PR_EVENT_ROUND_FINISHED] = finished,
};

static void tick(struct plain *plain, const struct pr_message *event)
{
	int64_t mono_ns = member_int(event->object, "mono");
	/* Another core, and perhaps another boot: its monotonic clock says nothing about the last one's. */
	if (event->event == PR_EVENT_ROUND_OPENED) {
		plain->base_ns = mono_ns;
		plain->before_ns = plain->now_ns;
	}
	if (mono_ns >= plain->base_ns)
		plain->now_ns = plain->before_ns + (mono_ns - plain->base_ns);
}

int plain_event(struct plain *plain, const struct pr_message *event, const char *line, size_t length,
		const struct pr_model *model, struct buffer *out)
{
	struct rendering rendering = { .plain = plain, .event = event->object, .text = line, .text_length = length,
				       .model = model, .out = out };
	bool known = event->event >= 0 && event->event < PR_EVENT_COUNT;
	tick(plain, event);
	if (event->event == PR_EVENT_ROUND_OPENED || plain->subject_width == 0)
		plain->subject_width = subject_width(model);
	if (event->seq <= plain->quiet_until)
		return 0;
	(known && renderers[event->event] ? renderers[event->event] : other)(&rendering);
	return rendering.status;
}
