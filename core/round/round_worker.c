/*
 * What the worker says to the round: that it is ready or refuses, its answers to freeze, thaw and stop; and
 * what follows when it dies: its runs are lost, and another is started, within bounds.
 */
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/base/place.h"
#include "core/record/jsonc.h"
#include "core/round/round.h"
#include <proctor/text.h>

/* boundary.json: enough for `proctor-worker --stop ROUND` where this core no longer answers. */
static void write_boundary(struct round *round, struct json_object *ready)
{
	static const char *const keys[] = { "pid", "cgroup", "v1" };
	struct json_object *object = json_object_new_object();
	struct pr_error error = { 0 };
	uint64_t pid = 0, start = 0;

	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		struct json_object *value;
		if (json_object_object_get_ex(ready, keys[i], &value))
			set_value(object, keys[i], json_object_get(value));
	}
	if (jsonc_u64(ready, "pid", &pid) == 0 && place_start_time((pid_t)pid, &start) == 0)
		set_number(object, "start", (int64_t)start);
	set_number(object, "core_pid", getpid());
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text && io_replace_file(round->engine.directory.fd, "boundary.json", text, strlen(text), 0600, &error) < 0)
		round_fault(round, "boundary.json", "host", error.message);
	json_object_put(object);
}

/* Journal: what the worker tried, as checks. Returns how many of each state, in the verdict's order. */
static void log_checks(struct round *round, struct json_object *message)
{
	static const char *const states[] = { "ok", "warn", "FAIL", "unknown" };
	static const char *const totals[] = { "ok", "warn", "fail", "unknown" };
	int64_t counts[ELEMENTS(states)] = { 0 };
	struct json_object *tried = json_object_object_get(message, "tried");
	size_t count = json_object_is_type(tried, json_type_array) ? json_object_array_length(tried) : 0;

	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(tried, i);
		struct json_object *event = journal_event(PR_EVENT_PREFLIGHT_CHECK);
		const char *state = jsonc_text(item, "state");
		size_t s = 0;
		while (s < ELEMENTS(states) - 1 && (!state || strcmp(state, states[s]) != 0))
			s++;
		counts[s]++;
		set_text(event, "id", jsonc_text(item, "id"));
		set_text(event, "state", states[s]);
		set_text(event, "tried", jsonc_text(item, "tried"));
		set_text(event, "remedy", jsonc_text(item, "remedy"));
		(void)journal_write(&round->engine.journal, event);
	}
	if (strcmp(round->engine.spec.sandbox.profile, PROFILE_TRUSTED) == 0) {
		struct json_object *check = journal_event(PR_EVENT_PREFLIGHT_CHECK);
		counts[1]++;
		set_text(check, "id", "profile");
		set_text(check, "state", states[1]);
		set_text(check, "tried", PROFILE_TRUSTED ", as the round asks: the kill boundary and the clock, no layers");
		set_text(check, "remedy", "leave the profile out where the agent is not to be trusted");
		(void)journal_write(&round->engine.journal, check);
	}
	struct json_object *event = journal_event(PR_EVENT_PREFLIGHT_VERDICT);
	for (size_t i = 0; i < ELEMENTS(totals); i++)
		set_number(event, totals[i], counts[i]);
	(void)journal_write(&round->engine.journal, event);
}

/*
 * Each task at a time has a pair of user ids of its own, and so has the boundary that is prepared for the next run: better
 * said now than as an error of the host's in the night.
 */
static bool has_ids(struct round *round, struct json_object *ready)
{
	unsigned parallel = round->engine.spec.parallel;
	uint64_t pairs = 0;
	if (jsonc_u64(ready, "id_pairs", &pairs) < 0 || pairs > parallel)
		return true;
	pr_error_set(&round->refusal, ERANGE, "no boundary: %u tasks at a time need %u subordinate user ids, and /etc/subuid and /etc/subgid give "
		     "%llu", parallel, 2 * parallel + 2, 2 * (unsigned long long)pairs);
	pr_error_remedy(&round->refusal, "\"parallel\": %llu in the round file, or a larger range: as root, usermod --add-subuids "
			"200000-265535 --add-subgids 200000-265535 USER", pairs > 1 ? (unsigned long long)pairs - 1 : 1);
	return false;
}

static void on_ready(struct round *round, struct json_object *message)
{
	bool first = round->boundary == BOUNDARY_AWAITED;
	if (first && !has_ids(round, message)) {
		round->boundary = BOUNDARY_REFUSED;
		worker_stop(&round->engine.worker);
		round_refused(round);
		round_finish_if_done(round);
		return;
	}
	round->boundary = BOUNDARY_READY;
	write_boundary(round, message);
	if (first) {
		log_checks(round, message);
		return;
	}
	/* The round stays frozen until told; what froze died with the last worker. */
	if (round->engine.frozen)
		(void)worker_tell(&round->engine.worker, "freeze", 0);
	round_resume_tasks(round);
	round_dispatch(round);
}

static void safe_copy(char *to, size_t size, const char *text)
{
	struct pr_safe_text safe;
	pr_safe_text_from(&safe, text ? text : "", text ? strlen(text) : 0, 400, PR_CHARSET_UTF8);
	snprintf(to, size, "%s", pr_safe_text_str(&safe));
}

/* No boundary, no run (K14). */
static void on_refused(struct round *round, struct json_object *message)
{
	bool first = round->boundary == BOUNDARY_AWAITED;
	const char *words = jsonc_text(message, "message"), *remedy = jsonc_text(message, "remedy");

	safe_copy(round->refusal.message, sizeof round->refusal.message, words ? words : "no boundary can be established on this host");
	safe_copy(round->refusal.remedy, sizeof round->refusal.remedy, remedy);
	round->refusal.code = ENOTSUP;
	round->boundary = BOUNDARY_REFUSED;
	if (json_object_object_get(message, "tried"))
		log_checks(round, message);
	round_refused(round);
	if (!first)
		round_interrupt(round, INTERRUPTED_BEFORE_START, "not started: no boundary can be established any more", false);
	round_finish_if_done(round);
}

static void on_failed(struct round *round, struct json_object *message)
{
	const char *op = jsonc_text(message, "op"), *words = jsonc_text(message, "message");
	round_request_failed(round, op ? op : "", words ? words : "the worker gave no reason");
}

static void send_progress(struct round *round)
{
	struct json_object *object = journal_event(PR_EVENT_PROGRESS), *tasks = json_object_new_array();
	for (size_t i = 0; i < round->count && tasks; i++) {
		struct json_object *one = task_progress(&round->tasks[i]);
		if (one)
			json_object_array_add(tasks, one);
	}
	set_value(object, "tasks", tasks);
	set_truth(object, "frozen", round->engine.frozen);
	control_ephemeral(&round->control, object);
	json_object_put(object);
}

static void send_tails(struct round *round)
{
	for (struct run *run = round->engine.runs; run; run = run->next)
		for (int i = 0; i < RUN_STREAMS && run->has_output; i++) {
			struct output *output = &run->output[i];
			char bytes[OUTPUT_TAIL];
			if (output->seen == output->tail_shown)
				continue;
			output->tail_shown = output->seen;
			struct json_object *object = journal_event(PR_EVENT_TAIL);
			set_text(object, "task", run->task);
			set_text(object, "phase", pr_phase_name(run->phase));
			set_text(object, "stream", i == RUN_STDOUT ? "stdout" : "stderr");
			set_value(object, "text", pr_safe_text_json(bytes, output_tail(output, bytes)));
			control_ephemeral(&round->control, object);
			json_object_put(object);
		}
}

void round_on_worker(void *context, const char *event, struct json_object *message)
{
	struct round *round = context;
	bool about_run = runs_event(&round->engine, event, message);

	if (strcmp(event, "sample") == 0) {
		send_progress(round);
		send_tails(round);
	} else if (about_run) {
		return;
	} else if (strcmp(event, "ready") == 0) {
		on_ready(round, message);
	} else if (strcmp(event, "refused") == 0) {
		on_refused(round, message);
	} else if (strcmp(event, "frozen") == 0) {
		round_frozen(round, message);
	} else if (strcmp(event, "thawed") == 0) {
		round_thawed(round);
	} else if (strcmp(event, "stopped") == 0) {
		round_stopped_figures(round, message);
	} else if (strcmp(event, "failed") == 0) {
		on_failed(round, message);
	}
}

int round_start_worker(struct round *round, struct pr_error *error)
{
	struct worker *worker = &round->engine.worker;
	*worker = (struct worker){ .loop = &round->loop, .event = round_on_worker, .died = round_on_worker_death,
		.context = round, .stderr_fd = round->log_fd, .allow_own_ids = round->engine.spec.sandbox.own_ids != NULL };
	return worker_start(worker, error);
}

/* Deaths within the window, this one included. */
static size_t count_death(struct round *round)
{
	int64_t now = clock_mono_ns();
	size_t recent = 0;
	round->deaths[round->death_count++ % ROUND_WORKER_DEATHS] = now;
	for (size_t i = 0; i < ROUND_WORKER_DEATHS; i++)
		recent += round->deaths[i] != 0 && now - round->deaths[i] < ROUND_WORKER_DEATHS_NS;
	return recent;
}

void round_on_worker_death(void *context, const char *why)
{
	struct round *round = context;
	struct pr_error error = { 0 };

	if (round->boundary == BOUNDARY_AWAITED) {
		pr_error_set(&round->refusal, EPIPE, "no boundary can be established: %s before it was ready", why);
		round->boundary = BOUNDARY_REFUSED;
		round_refused(round);
		return;
	}
	if (round->finished || round->boundary == BOUNDARY_REFUSED) {
		runs_lost(&round->engine, why);
		return;
	}
	round_fault(round, "worker", "host", why);
	bool again = !round->stopping && count_death(round) < ROUND_WORKER_DEATHS;
	runs_lost(&round->engine, why);
	if (round->freezes.under_way)
		round_frozen(round, NULL);
	if (round->thaws.under_way)
		round_thawed(round);
	if (round->stopping) {
		round_stopped_figures(round, NULL);
		return;
	}
	if (again && round_start_worker(round, &error) >= 0)
		return;
	round_fault(round, "worker", "host", again ? error.message : "the worker died too often: no other is started");
	round->boundary = BOUNDARY_REFUSED;
	round->failing = true;
	round_interrupt(round, INTERRUPTED_BEFORE_START, "not started: the worker died too often", true);
	round_finish_if_done(round);
}
