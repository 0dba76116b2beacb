/* proctor start, freeze, thaw, drain, stop: one verb of the ladder, and the proof that it was done. */
#include "tui/command.h"

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "tui/launch.h"
#include "tui/link.h"
#include "tui/member.h"
#include "tui/notice.h"
#include "tui/output.h"
#include "tui/proof.h"
#include "tui/rounds.h"

/*
 * How long a core may take. A stop can rightly take longer (law K7 waits up to 30 s for a boundary to be empty),
 * and a second stop beside it does no harm: it is the same kill, by proctor-worker itself.
 */
static const struct {
	int64_t within_ns;
	bool has_figures;	/* the answer, or the control event, tells what was done */
	const char *next;	/* what the owner may do then; the round's name follows */
} verbs[PR_VERB_COUNT] = {
	[PR_VERB_START] = { 10 * NS_PER_S, false, "watch it: proctor watch" },
	[PR_VERB_FREEZE] = { 10 * NS_PER_S, true, "go on: proctor thaw" },
	[PR_VERB_THAW] = { 10 * NS_PER_S, false, "watch it: proctor watch" },
	[PR_VERB_DRAIN] = { 10 * NS_PER_S, false, "wait for its end: proctor wait" },
	[PR_VERB_STOP] = { 10 * NS_PER_S, true, "resume: proctor run --resume" },
};

struct control {
	enum pr_verb verb;
	const char *task;		/* NULL: the round */
	const struct round_place *place;
	struct link link;
	char id[PR_COMMAND_ID];
	struct json_object *answer;	/* our answer, once it came */
	struct json_object *figures;	/* what holds the figures: the answer or the event */
};

static void control_release(struct control *control)
{
	link_release(&control->link);
	json_object_put(control->answer);
	json_object_put(control->figures);
}

static int refused(const struct control *control, const struct pr_message *answer, struct pr_error *error)
{
	pr_error_set(error, EPERM, "round %s refuses %s%s%s: %s", control->place->name, pr_verb_name(control->verb),
			    control->task ? " of task " : "", control->task ? control->task : "",
			    answer->message ? answer->message : answer->code);
	if (answer->code && strcmp(answer->code, "no-such-task") == 0)
		pr_error_remedy(error, "proctor watch %s names its tasks", control->place->name);
	return -EPERM;
}

static int take_message(struct control *control, const struct pr_message *message, struct pr_error *error)
{
	bool ours = message->type == PR_MESSAGE_ANSWER && strcmp(message->id, control->id) == 0;
	if (ours && !message->ok)
		return refused(control, message, error);
	if (ours)
		control->answer = json_object_get(message->object);
	bool event = message->type == PR_MESSAGE_EVENT && message->event == PR_EVENT_CONTROL &&
		     strcmp(member_text_or(message->object, "verb", ""), pr_verb_name(control->verb)) == 0;
	if ((ours || event) && !control->figures && member_is_number(message->object, "ms"))
		control->figures = json_object_get(message->object);
	return 0;
}

static int silent(const struct control *control, struct pr_error *error)
{
	const char *name = control->place->name;
	long core = (long)control->link.core;
	if (control->link.ended) {
		pr_error_set(error, ECONNRESET, "the core of round %s went away before it answered", name);
		return pr_error_remedy(error, "proctor list shows what became of it");
	}
	pr_error_set(error, ETIMEDOUT, "the core of round %s (pid %ld) does not answer", name, core);
	return pr_error_remedy(error, "kill -9 %ld ends it, and all work of the round with it; proctor run --resume %s then goes on",
			       core, name);
}

/* Until the answer is there, and the figures where there are some. */
static int await(struct control *control, struct pr_error *error)
{
	int64_t until_ns = clock_mono_ns() + verbs[control->verb].within_ns;
	for (;;) {
		struct pr_message message;
		while (link_next(&control->link, &message, NULL, NULL) > 0) {
			int r = take_message(control, &message, error);
			pr_message_release(&message);
			if (r < 0)
				return r;
		}
		bool nothing_more = !verbs[control->verb].has_figures || member_true(control->answer, "already");
		if (control->answer && (control->figures || nothing_more))
			return 0;
		bool more = !control->link.ended && link_wait(&control->link, until_ns) != 0;
		/* Done, says the core; the figures are then in the log. */
		if (!more)
			return control->answer ? 0 : silent(control, error);
		link_fill(&control->link);
	}
}

static int print_proof(const struct control *control, struct pr_error *error)
{
	__attribute__((cleanup(output_release))) struct output output;
	struct line line;
	output_init(&output, STDOUT_FILENO);
	line_begin(&line, output_queue(&output));
	line_text(&line, control->place->name, 0);
	if (control->task) {
		line_add(&line, " ");
		line_text(&line, control->task, 0);
	}
	line_add(&line, ": ");
	line_done(&line, control->verb, control->figures ? control->figures : control->answer);
	/* A round of which one task was stopped goes on, and cannot be resumed before its end. */
	line_add(&line, "; %s ", control->task ? verbs[PR_VERB_START].next : verbs[control->verb].next);
	line_text(&line, control->place->name, 0);
	int r = line_end(&line);
	if (r >= 0)
		r = output_finish(&output);
	/* A reader that is gone does not undo what was done. */
	return r < 0 && r != -EPIPE ? pr_error_errno(error, -r, "printing what was done") : 0;
}

/* Nothing of it is there to be told anything: its state, and what can be done from there. */
static int does_not_run(const struct round_place *place, struct pr_error *error)
{
	struct pr_model model = PR_MODEL_INIT;
	char head[DIGEST_HEX];
	const char *state = "interrupted";
	bool whole = false;
	if (round_fold(place, &model, head, NULL) >= 0) {
		state = round_state_name(round_state_of(&model, false));
		whole = model.finished && model.counts.done - model.counts.stopped == model.counts.tasks;
	}
	pr_model_release(&model);
	pr_error_set(error, ESRCH, "round %s does not run: it is %s", place->name, state);
	return pr_error_remedy(error, "proctor %s %s %s", whole ? "watch" : "run --resume", place->name,
			       whole ? "shows what came of it" : "goes on with it");
}

static int open_link(struct control *control, struct pr_error *error)
{
	char path[128];
	if (!round_is_live(control->place))
		return does_not_run(control->place, error);
	int r = round_socket(control->place, path, sizeof path, error);
	if (r >= 0)
		r = link_open(&control->link, path, control->place->name, error);
	/* The figures may come as an event alone. */
	return r < 0 ? r : link_watch_from(&control->link, control->link.seq + 1, error);
}

static int ask_core(struct control *control, struct pr_error *error)
{
	int r = open_link(control, error);
	if (r >= 0)
		r = link_command(&control->link, control->id, control->verb, control->task, error);
	return r < 0 ? r : await(control, error);
}

/* The round ended in good order: nothing of it is left to stop. */
static bool is_over(const struct round_place *place)
{
	struct pr_model model = PR_MODEL_INIT;
	char head[DIGEST_HEX];
	bool over = round_fold(place, &model, head, NULL) >= 0 && model.finished && !round_is_live(place);
	pr_model_release(&model);
	return over;
}

/*
 * The stop that does not depend on a core: proctor-worker kills by the round's own record of its cgroup. `error`
 * holds why the core did not do it; it is told beside.
 */
static int stop_without_core(struct control *control, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer proof = BUFFER_INIT;
	notice("%s; stopping by proctor-worker", error->message);
	pid_t core = control->link.core;
	*error = (struct pr_error){ 0 };
	int r = launch_stop(control->place->dir, &proof, error);
	if (r != 0) {
		if (r > 0 && !error->code)
			pr_error_set(error, ECHILD, "proctor-worker could not stop round %s", control->place->name);
		return -error->code;
	}
	control->figures = jsonc_read_object(proof.data ? proof.data : "", proof.length);
	if (round_is_live(control->place) && core > 0)
		notice("its core (pid %ld) is still there; kill -9 %ld ends it", (long)core, (long)core);
	return 0;
}

static int control(const struct arguments *arguments, enum pr_verb verb, struct pr_error *error)
{
	struct round_place place;
	__attribute__((cleanup(control_release))) struct control control = {
		.verb = verb, .task = arguments->values[OPTION_TASK], .place = &place, .link = LINK_INIT,
	};
	snprintf(control.id, sizeof control.id, "%ld-%lld", (long)getpid(), (long long)clock_mono_ns());
	int r = rounds_resolve(arguments->words[0], &place, error);
	if (r < 0)
		return r;
	r = ask_core(&control, error);
	if (r < 0 && r != -EPERM && verb == PR_VERB_STOP && !control.task && !is_over(&place))
		r = stop_without_core(&control, error);
	if (r >= 0)
		r = print_proof(&control, error);
	if (r < 0)
		return r;
	return member_int(control.figures, "remaining") > 0 ? EXIT_FAULT : EXIT_DONE;
}

#define COMMAND(name, verb) \
	int command_##name(const struct arguments *arguments, struct pr_error *error) \
	{ \
		return control(arguments, verb, error); \
	}
COMMAND(start, PR_VERB_START)
COMMAND(freeze, PR_VERB_FREEZE)
COMMAND(thaw, PR_VERB_THAW)
COMMAND(drain, PR_VERB_DRAIN)
COMMAND(stop, PR_VERB_STOP)
#undef COMMAND
