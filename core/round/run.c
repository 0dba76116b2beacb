/*
 * Runs (run.h): requests to the worker, wall clocks, outputs, and what `closed` says. Every boundary that is
 * closed is logged here, once, whatever it was for.
 */
#include "core/round/run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/containment/protocol.h"
#include "core/record/jsonc.h"
#include "core/workspace/limits.h"
#include <proctor/text.h>

/* From the request to the command's exec: unpacking a subject of E1's size takes seconds at most. */
#define SETUP_LIMIT_NS (60 * NS_PER_S)

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

int64_t run_wall_ms(const struct run *run)
{
	int64_t from = run->started_ns ? run->started_ns : run->asked_ns;
	int64_t to = run->ended_ns ? run->ended_ns : engine_clock_ns(run->engine);
	return (to - from) / NS_PER_MS;
}

/* ------- the wall clock ------- */

static void arm(struct run *run);

static void on_timer(uv_timer_t *timer)
{
	struct run *run = timer->data;
	int64_t limit = run->started ? run->limit_ns : SETUP_LIMIT_NS;
	int64_t from = run->started ? run->started_ns : run->asked_ns;
	/* libuv's clock is in whole milliseconds: early by less than one. */
	if (engine_clock_ns(run->engine) - from < limit)
		arm(run);
	else
		run_kill(run, run->started ? KILL_CLOCK : KILL_SETUP);
}

static void arm(struct run *run)
{
	int64_t limit = run->started ? run->limit_ns : SETUP_LIMIT_NS;
	int64_t from = run->started ? run->started_ns : run->asked_ns;
	int64_t left = limit - (engine_clock_ns(run->engine) - from);

	if (!run->timer || run->engine->frozen || run->exited || run->killed_for != KILL_NOT)
		return;
	uv_update_time(run->engine->loop);
	uv_timer_start(run->timer, on_timer, left > 0 ? (uint64_t)((left + NS_PER_MS - 1) / NS_PER_MS) : 0, 0);
}

void runs_freeze(struct engine *engine)
{
	for (struct run *run = engine->runs; run; run = run->next)
		if (run->timer)
			uv_timer_stop(run->timer);
}

void runs_thaw(struct engine *engine)
{
	for (struct run *run = engine->runs; run; run = run->next)
		arm(run);
}

/* ------- ending ------- */

void run_kill(struct run *run, enum run_kill_reason reason)
{
	if (run->killed_for != KILL_NOT || run->closed)
		return;
	run->killed_for = reason;
	if (run->timer)
		uv_timer_stop(run->timer);
	/* Where the worker is gone, runs_lost() ends the run. */
	(void)worker_tell(&run->engine->worker, "kill", run->number);
}

void run_mark_stopped(struct run *run)
{
	if (run->killed_for == KILL_NOT)
		run->killed_for = KILL_STOP;
	if (run->timer)
		uv_timer_stop(run->timer);
}

void run_free(struct run *run)
{
	if (!run)
		return;
	for (struct run **at = &run->engine->runs; *at; at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			break;
		}
	if (run->has_output)
		for (int i = 0; i < RUN_STREAMS; i++) {
			output_end(&run->output[i]);
			digest_free(run->output[i].digest);
		}
	if (run->timer)
		uv_close((uv_handle_t *)run->timer, free_handle);
	json_object_put(run->containment);
	free(run);
}

static void finish(struct run *run)
{
	run->closed = true;
	for (struct run **at = &run->engine->runs; *at; at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			break;
		}
	if (run->timer)
		uv_timer_stop(run->timer);
	if (!run->ended_ns)
		run->ended_ns = engine_clock_ns(run->engine);
	for (int i = 0; run->has_output && i < RUN_STREAMS; i++)
		output_end(&run->output[i]);
	if (run->has_output) {
		run->facts.stdout_cut = run->output[RUN_STDOUT].cut;
		run->facts.stderr_cut = run->output[RUN_STDERR].cut;
		int failed = run->output[RUN_STDOUT].failed ? run->output[RUN_STDOUT].failed : run->output[RUN_STDERR].failed;
		if (failed) {
			run->facts.outcome = RUN_LOST;
			snprintf(run->why, sizeof run->why, "its output could not be written: %s", strerror(failed));
		}
	}
	run->facts.why = run->why[0] ? run->why : NULL;
	run->done(run);
}

static void lose(struct run *run, const char *why)
{
	run->facts.outcome = RUN_LOST;
	snprintf(run->why, sizeof run->why, "%s", why);
	finish(run);
}

void runs_lost(struct engine *engine, const char *why)
{
	while (engine->runs)
		lose(engine->runs, why);
}

/* ------- starting ------- */

static void on_over(struct output *output)
{
	struct run *run = output->context;
	if (output->failed) {
		run_kill(run, KILL_OUTPUT);
		return;
	}
	struct json_object *event = journal_event(PR_EVENT_TASK_OUTPUT_CUT);
	set_text(event, "task", run->task);
	set_text(event, "phase", pr_phase_name(run->phase));
	set_text(event, "stream", output == &run->output[RUN_STDOUT] ? "stdout" : "stderr");
	set_number(event, "limit_bytes", (int64_t)output->limit);
	(void)journal_write(&run->engine->journal, event);
	run_kill(run, KILL_OUTPUT);
}

static struct run *new_run(struct engine *engine, const struct run_request *request)
{
	struct run *run = calloc(1, sizeof *run);
	if (!run)
		return NULL;
	run->timer = calloc(1, sizeof *run->timer);
	if (!run->timer) {
		free(run);
		return NULL;
	}
	uv_timer_init(engine->loop, run->timer);
	run->timer->data = run;
	run->engine = engine;
	run->number = ++engine->last_run;
	run->task = request->task;
	run->phase = request->phase;
	run->done = request->done;
	run->context = request->context;
	run->limit_ns = request->limit_ns;
	run->asked_ns = engine_clock_ns(engine);
	for (int i = 0; i < RUN_STREAMS; i++)
		run->output[i] = (struct output){ .pipe = -1, .file = -1, .over = on_over, .context = run };
	return run;
}

static int make_spec(struct json_object *spec, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	buffer_init(&text, WORKER_SPEC_MAX);
	int fd = spec ? jsonc_write(spec, &text) : -ENOMEM;
	if (fd >= 0)
		fd = io_sealed_memfd("spec", text.data, text.length);
	return fd < 0 ? pr_error_errno(error, -fd, "writing the spec of a run") : fd;
}

static struct json_object *request_message(const char *op, const struct run *run, uint64_t of)
{
	struct json_object *message = json_object_new_object();
	set_text(message, "op", op);
	set_number(message, "run", (int64_t)run->number);
	if (of)
		set_number(message, "of", (int64_t)of);
	return message;
}

static void go_live(struct run *run)
{
	run->next = run->engine->runs;
	run->engine->runs = run;
	arm(run);
}

static int start_outputs(struct run *run, const struct run_request *request, int *ret_fds, struct pr_error *error)
{
	static const char *const suffixes[] = { [RUN_STDOUT] = "stdout", [RUN_STDERR] = "stderr" };
	run->has_output = true;
	for (int i = 0; i < RUN_STREAMS; i++) {
		char name[128];
		snprintf(name, sizeof name, "%s.%s", request->name, suffixes[i]);
		int r = output_start(&run->output[i], run->engine->loop, request->dirfd, name, OUTPUT_BYTES, &ret_fds[i], error);
		if (r < 0)
			return r;
	}
	return 0;
}

int run_command(struct engine *engine, const struct run_request *request, struct run **ret_run, struct pr_error *error)
{
	_cleanup_close_ int spec = -1, out = -1, err = -1;
	int write_ends[RUN_STREAMS] = { -1, -1 };
	struct run *run = new_run(engine, request);

	int r = run ? make_spec(request->spec, error) : pr_error_errno(error, ENOMEM, "starting a run");
	json_object_put(request->spec);
	if (r >= 0) {
		spec = r;
		r = start_outputs(run, request, write_ends, error);
		out = write_ends[RUN_STDOUT];
		err = write_ends[RUN_STDERR];
	}
	if (r >= 0) {
		const int fds[] = { [WORKER_FD_SPEC] = spec, [WORKER_FD_STDOUT] = out, [WORKER_FD_STDERR] = err,
				    [WORKER_FD_SUBJECT] = request->subject_fd };
		r = worker_send(&engine->worker, request_message("run", run, 0), fds,
				request->subject_fd >= 0 ? 4 : 3, error);
	}
	if (r < 0) {
		run_free(run);
		return r;
	}
	go_live(run);
	*ret_run = run;
	return 0;
}

int run_collect(struct engine *engine, const struct run_request *request, struct run **ret_run, struct pr_error *error)
{
	_cleanup_close_ int spec = -1;
	struct run *run = new_run(engine, request);

	int r = run ? make_spec(request->spec, error) : pr_error_errno(error, ENOMEM, "starting a collection");
	json_object_put(request->spec);
	if (r >= 0) {
		spec = r;
		const int fds[] = { [WORKER_FD_COLLECT_SPEC] = spec, [WORKER_FD_COLLECT_STREAM] = request->stream_fd };
		r = worker_send(&engine->worker, request_message("collect", run, request->of), fds, 2, error);
	}
	if (r < 0) {
		run_free(run);
		return r;
	}
	go_live(run);
	*ret_run = run;
	return 0;
}

/* ------- what the worker says ------- */

static uint64_t number_of(struct json_object *message, const char *key)
{
	uint64_t number = 0;
	(void)jsonc_u64(message, key, &number);
	return number;
}

static void read_outcome(struct run *run, struct json_object *message)
{
	const char *outcome = jsonc_text(message, "outcome");
	struct run_facts *facts = &run->facts;
	outcome = outcome ? outcome : "lost";

	if (strcmp(outcome, "exited") == 0) {
		facts->outcome = RUN_EXITED;
		facts->code = (int)number_of(message, "code");
	} else if (strcmp(outcome, "signalled") == 0) {
		facts->outcome = RUN_SIGNALLED;
		facts->code = (int)number_of(message, "signal");
	} else if (strcmp(outcome, "exec_failed") == 0) {
		facts->outcome = RUN_NOT_EXECUTED;
		facts->code = (int)number_of(message, "errno");
	} else if (strcmp(outcome, "killed") == 0 && run->killed_for != KILL_SETUP) {
		facts->outcome = run->killed_for == KILL_CLOCK ? RUN_TIMED_OUT : RUN_KILLED;
	} else {
		struct pr_safe_text stage;
		facts->outcome = RUN_LOST;
		pr_safe_text_from_str(&stage, jsonc_text(message, "stage"), 80);
		if (strcmp(outcome, "setup_failed") == 0)
			snprintf(run->why, sizeof run->why, "the boundary could not be made: %s: %s", pr_safe_text_str(&stage),
				 strerror((int)number_of(message, "errno")));
		else
			snprintf(run->why, sizeof run->why, "%s", run->killed_for == KILL_SETUP
				 ? "it was not started within a minute" : "its supervisor inside the boundary died");
	}
}

/* Memory ran out above the boundary, not in it: what the kernel ended then is the host's loss. */
static void charge_host(struct run *run, struct json_object *message)
{
	struct run_facts *facts = &run->facts;
	bool killed = facts->outcome == RUN_LOST || (facts->outcome == RUN_SIGNALLED && facts->code == SIGKILL);
	if (number_of(message, "host_oom_kills") == 0 || !killed)
		return;
	facts->outcome = RUN_LOST;
	snprintf(run->why, sizeof run->why, "the host ran out of memory, or a cgroup above the boundary did, and the kernel killed it");
}

/* Journal: boundary.closed. */
static void log_closed(struct run *run, struct json_object *message)
{
	struct json_object *event = journal_event(PR_EVENT_BOUNDARY_CLOSED);
	char left[80] = "ok";

	if (run->facts.remaining > 0)
		snprintf(left, sizeof left, "%llu processes remain", (unsigned long long)run->facts.remaining);
	else if (!run->removed)
		snprintf(left, sizeof left, "the cgroup was not removed");
	set_text(event, "task", run->task);
	set_text(event, "phase", pr_phase_name(run->phase));
	set_number(event, "run", (int64_t)run->number);
	set_number(event, "killed", (int64_t)run->killed);
	set_number(event, "remaining", (int64_t)run->facts.remaining);
	set_truth(event, "removed", run->removed);
	set_number(event, "nested", (int64_t)number_of(message, "nested"));
	set_ms(event, "ms", run->close_ms);
	set_text(event, "cleanup", left);
	set_value(event, "process_containment", json_object_get(run->containment));
	(void)journal_write(&run->engine->journal, event);
}

static void log_refusal(struct run *run, const char *what, const char *object, const char *errno_name, uint64_t count)
{
	if (count == 0)
		return;
	struct json_object *event = journal_event(PR_EVENT_REFUSAL);
	set_text(event, "task", run->task);
	set_text(event, "phase", pr_phase_name(run->phase));
	set_text(event, "layer", "limits");
	set_text(event, "what", what);
	set_text(event, "object", object);
	set_text(event, "program", NULL);
	set_text(event, "ancestry", NULL);
	set_text(event, "errno", errno_name);
	set_number(event, "count", (int64_t)count);
	/* The kernel counts without a clock: within the run is all that is known. */
	set_number(event, "first_ms", 0);
	set_number(event, "last_ms", run_wall_ms(run));
	set_text(event, "certainty", "recorded");
	(void)journal_write(&run->engine->journal, event);
}

static void on_closed(struct run *run, struct json_object *message)
{
	struct json_object *refused = json_object_object_get(message, "refused");
	struct json_object *containment = json_object_object_get(message, "containment");

	run->ended_ns = run->ended_ns ? run->ended_ns : engine_clock_ns(run->engine);
	read_outcome(run, message);
	charge_host(run, message);
	run->killed = number_of(message, "killed");
	run->facts.remaining = number_of(message, "remaining");
	run->removed = json_object_get_boolean(json_object_object_get(message, "removed"));
	run->close_ms = json_object_get_double(json_object_object_get(message, "ms"));
	run->facts.oom_kills = number_of(message, "oom_kills");
	run->facts.forks_refused = number_of(refused, "processes");
	run->memory_refused = number_of(refused, "memory");
	if (run->memory_refused < run->facts.oom_kills)
		run->memory_refused = run->facts.oom_kills;
	run->containment = json_object_is_type(containment, json_type_object) ? json_object_get(containment) : NULL;
	run->has_workspace = run->facts.outcome != RUN_LOST || run->facts.oom_kills > 0;
	log_closed(run, message);
	log_refusal(run, "fork", "processes", "EAGAIN", run->facts.forks_refused);
	log_refusal(run, "allocate", "memory", "ENOMEM", run->memory_refused);
	finish(run);
}

static void on_failed(struct run *run, struct json_object *message)
{
	const char *op = jsonc_text(message, "op"), *words = jsonc_text(message, "message");
	if (op && (strcmp(op, "run") == 0 || strcmp(op, "collect") == 0))
		lose(run, words ? words : "the worker did not take the request");
}

static void on_started(struct run *run, struct json_object *message)
{
	(void)message;
	run->started = true;
	run->started_ns = engine_clock_ns(run->engine);
	arm(run);
}

static void on_exited(struct run *run, struct json_object *message)
{
	(void)message;
	run->exited = true;
	run->ended_ns = engine_clock_ns(run->engine);
	if (run->timer)
		uv_timer_stop(run->timer);
}

static struct run *find(struct engine *engine, uint64_t number)
{
	for (struct run *run = engine->runs; run; run = run->next)
		if (run->number == number)
			return run;
	return NULL;
}

static void on_sample(struct engine *engine, struct json_object *message)
{
	struct json_object *runs = json_object_object_get(message, "runs");
	size_t count = json_object_is_type(runs, json_type_array) ? json_object_array_length(runs) : 0;
	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(runs, i);
		struct run *run = find(engine, number_of(item, "run"));
		if (!run)
			continue;
		run->processes = number_of(item, "processes");
		run->memory_bytes = number_of(item, "memory");
	}
}

bool runs_event(struct engine *engine, const char *event, struct json_object *message)
{
	static const struct {
		const char *event;
		void (*take)(struct run *run, struct json_object *message);
	} events[] = {
		{ "started", on_started }, { "exited", on_exited }, { "closed", on_closed }, { "failed", on_failed },
	};

	if (strcmp(event, "sample") == 0) {
		on_sample(engine, message);
		return true;
	}
	struct run *run = find(engine, number_of(message, "run"));
	for (size_t i = 0; run && i < ELEMENTS(events); i++)
		if (strcmp(event, events[i].event) == 0) {
			events[i].take(run, message);
			return true;
		}
	return false;
}
