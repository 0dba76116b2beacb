/*
 * The state machine of a task (task.h): prepare, agent, collect, and the way to the verdict; the tests are in
 * task_tests.c, what is written about it in task_record.c. Runs in the loop; slow work goes to libuv's threads.
 */
#include "core/round/task.h"

#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/round/substitute.h"
#include <proctor/text.h>

#define COLLECT_LIMIT_NS (120 * NS_PER_S)

static void release_record(struct run_record *record)
{
	json_object_put(record->containment);
	record->containment = NULL;
}

static void release_set(struct set_record *set)
{
	for (size_t i = 0; i < set->count; i++)
		release_record(&set->runs[i]);
	free(set->runs);
	free(set->tests);
	*set = (struct set_record){ 0 };
}

void task_init(struct task *task, struct engine *engine, size_t number)
{
	*task = (struct task){ .engine = engine, .number = number, .spec = &engine->spec.tasks[number], .dirfd = -1 };
	task->subject = subject_of(&engine->subjects, number);
	task->evidence = (struct evidence){ .agent_fd = -1, .subject_fd = -1, .patched_fd = -1, .pipe = -1, .wake = -1 };
}

void task_release(struct task *task)
{
	evidence_release(&task->evidence);
	cleanup_close(&task->dirfd);
	task->dirfd = -1;
	release_record(&task->agent);
	release_set(&task->baseline);
	release_set(&task->patched);
	json_object_put(task->result);
	task->result = NULL;
}

/* ------- steps and work ------- */

void task_step(struct task *task, void (*step)(struct task *task))
{
	if (task->interruption != INTERRUPTED_NOT)
		task_finish(task);
	else if (task->engine->frozen || !worker_alive(&task->engine->worker))
		task->pending = step;
	else
		step(task);
}

void task_resume(struct task *task)
{
	void (*step)(struct task *) = task->pending;
	if (!step)
		return;
	task->pending = NULL;
	task_step(task, step);
}

static void in_thread(uv_work_t *work)
{
	struct task *task = work->data;
	task->work_result = task->work_call(task);
}

static void after_thread(uv_work_t *work, int status)
{
	struct task *task = work->data;
	if (status < 0)
		task->work_result = status;
	task->working = false;
	task->then(task);
}

void task_work(struct task *task, int (*call)(struct task *task), void (*then)(struct task *task))
{
	task->work.data = task;
	task->work_call = call;
	task->then = then;
	task->working = true;
	int r = uv_queue_work(task->engine->loop, &task->work, in_thread, after_thread);
	if (r < 0) {
		task->working = false;
		task_host_failed(task, uv_strerror(r));
	}
}

void task_host_failed(struct task *task, const char *words)
{
	task_interrupt(task, INTERRUPTED_BY_HOST, words);
}

void task_interrupt(struct task *task, enum verdict_interruption by, const char *words)
{
	if (task->state == TASK_DONE || task->finishing)
		return;
	if (task->interruption == INTERRUPTED_NOT) {
		task->interruption = by;
		snprintf(task->interruption_words, sizeof task->interruption_words, "%s", words ? words : "");
	}
	task->pending = NULL;
	if (task->run)
		run_kill(task->run, KILL_STOP);
	task_finish(task);
}

/* ------- phases ------- */

void task_phase_started(struct task *task, enum pr_phase phase)
{
	struct json_object *event = journal_event(PR_EVENT_TASK_PHASE);
	task->phase = phase;
	task->phase_ns = engine_clock_ns(task->engine);
	set_text(event, "task", task->spec->id);
	set_text(event, "phase", pr_phase_name(phase));
	set_text(event, "state", "started");
	(void)journal_write(&task->engine->journal, event);
}

void task_phase_ended(struct task *task, const struct run_facts *facts)
{
	struct json_object *event = journal_event(PR_EVENT_TASK_PHASE);
	int code;
	set_text(event, "task", task->spec->id);
	set_text(event, "phase", pr_phase_name(task->phase));
	set_text(event, "state", "ended");
	set_number(event, "wall_ms", (engine_clock_ns(task->engine) - task->phase_ns) / NS_PER_MS);
	set_text(event, "termination", facts ? run_outcome_name(facts->outcome) : NULL);
	if (facts && run_exit_code(facts, &code))
		set_number(event, "exit_code", code);
	else
		set_value(event, "exit_code", NULL);
	(void)journal_write(&task->engine->journal, event);
}

void task_release_kept(struct task *task)
{
	if (task->kept_run)
		(void)worker_tell(&task->engine->worker, "release", task->kept_run);
	task->kept_run = 0;
}

static void count_closed(struct task *task, const struct run *run)
{
	if (run->killed_for != KILL_STOP)
		return;
	task->killed += run->killed;
	task->remaining += run->facts.remaining;
	task->removed += run->removed;
	task->close_ms += run->close_ms;
}

void task_take_run(struct task *task, struct run *run, struct run_record *record)
{
	record->facts = run->facts;
	snprintf(record->why, sizeof record->why, "%s", run->why);
	record->wall_ms = run_wall_ms(run);
	record->number = run->number;
	record->containment = json_object_get(run->containment);
	for (int i = 0; i < RUN_STREAMS && run->has_output; i++)
		output_digest(&run->output[i], record->digest[i]);
	task->refusals += run->facts.forks_refused + run->memory_refused;
	count_closed(task, run);
	task->run = NULL;
	run_free(run);
}

/* ------- prepare ------- */

static int prepare_work(struct task *task)
{
	return evidence_prepare(&task->evidence);
}

static void begin_agent(struct task *task);

static void prepared(struct task *task)
{
	task_phase_ended(task, NULL);
	if (task->work_result < 0)
		task_host_failed(task, task->evidence.error.message);
	else
		task_step(task, begin_agent);
}

static int make_directory(struct task *task, struct pr_error *error)
{
	char path[256];
	snprintf(path, sizeof path, "tasks/%s", task->spec->id);
	if (mkdirat(task->engine->directory.fd, path, 0700) < 0 && errno != EEXIST)
		return pr_error_errno(error, errno, "making the directory %s", path);
	task->dirfd = openat(task->engine->directory.fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (task->dirfd < 0)
		return pr_error_errno(error, errno, "opening the directory %s", path);
	int r = evidence_init(&task->evidence, task->engine->store, task->spec, task->subject,
			      &task->engine->spec.sandbox.limits, task->dirfd);
	return r < 0 ? pr_error_errno(error, -r, "starting task %s", task->spec->id) : 0;
}

void task_start(struct task *task)
{
	struct pr_error error = { 0 };
	task->state = TASK_RUNNING;
	task->begun_ns = engine_clock_ns(task->engine);
	task_phase_started(task, PR_PHASE_PREPARE);
	if (!task_may_go_on(task))
		return;
	if (make_directory(task, &error) < 0)
		task_host_failed(task, error.message);
	else
		task_work(task, prepare_work, prepared);
}

/* ------- agent ------- */

struct json_object *task_run_spec(struct task *task, const char *bind)
{
	const struct sandbox_spec *sandbox = &task->engine->spec.sandbox;
	struct json_object *spec = json_object_new_object(), *binds = json_object_new_array();
	struct json_object *limits = json_object_new_object();

	for (size_t i = 0; binds && i < sandbox->read_only.count; i++)
		json_object_array_add(binds, json_object_new_string(sandbox->read_only.items[i]));
	if (binds && bind)
		json_object_array_add(binds, json_object_new_string(bind));
	set_number(limits, "memory", (int64_t)sandbox->limits.memory_bytes);
	set_number(limits, "processes", (int64_t)sandbox->limits.processes);
	set_double(limits, "cpus", sandbox->limits.cpus);
	set_number(limits, "workspace", (int64_t)sandbox->limits.workspace_bytes);
	set_number(limits, "inodes", (int64_t)sandbox->limits.inodes);
	set_text(spec, "cwd", ".");
	set_text(spec, "root", sandbox->root);
	set_text(spec, "profile", sandbox->profile);
	set_value(spec, "read_only", binds);
	set_value(spec, "limits", limits);
	return spec;
}

static struct json_object *substituted(const char *text, const struct task_spec *spec)
{
	_cleanup_buffer_ struct buffer whole = BUFFER_INIT;
	if (substitute(text, spec, &whole) < 0)
		return NULL;
	return json_object_new_string(whole.data ? whole.data : "");
}

static struct json_object *agent_spec(struct task *task)
{
	const struct agent_spec *agent = &task->spec->agent;
	struct json_object *spec = task_run_spec(task, agent->bind);
	struct json_object *argv = json_object_new_array(), *environment = json_object_new_object();

	for (size_t i = 0; argv && i < agent->command.count; i++)
		json_object_array_add(argv, substituted(agent->command.items[i], task->spec));
	for (size_t i = 0; i < agent->environment.count; i++)
		set_value(environment, agent->environment.items[i].key, substituted(agent->environment.items[i].value, task->spec));
	set_value(spec, "argv", argv);
	set_value(spec, "environment", environment);
	return spec;
}

static void begin_collect(struct task *task);

static void agent_done(struct run *run)
{
	struct task *task = run->context;
	bool workspace = run->has_workspace;

	task_take_run(task, run, &task->agent);
	task->agent.facts.why = task->agent.why[0] ? task->agent.why : NULL;
	task->agent_ran = true;
	task->kept_run = workspace ? task->agent.number : 0;
	task_phase_ended(task, &task->agent.facts);
	/* What survives its boundary may still write: then there is nothing to collect, and the verdict is certain (K4). */
	if (!workspace || task->agent.facts.outcome == RUN_NOT_EXECUTED || task->agent.facts.remaining > 0)
		task_finish(task);
	else
		task_step(task, begin_collect);
}

static void begin_agent(struct task *task)
{
	struct pr_error error = { 0 };
	struct evidence *evidence = &task->evidence;
	task_phase_started(task, PR_PHASE_AGENT);
	if (!task_may_go_on(task))
		return;
	_cleanup_close_ int subject = evidence_stream(evidence->agent_fd >= 0 ? evidence->agent_fd : evidence->subject_fd);
	struct run_request request = {
		.task = task->spec->id, .phase = PR_PHASE_AGENT, .spec = agent_spec(task), .subject_fd = subject,
		.limit_ns = task->spec->budget.wall_clock_ns, .dirfd = task->dirfd, .name = "agent",
		.done = agent_done, .context = task,
	};
	if (run_command(task->engine, &request, &task->run, &error) < 0)
		task_host_failed(task, error.message);
}

/* ------- collect ------- */

static int collect_work(struct task *task)
{
	return evidence_collect(&task->evidence);
}

static int patch_work(struct task *task)
{
	return evidence_patch(&task->evidence);
}

static void patched(struct task *task)
{
	task_phase_ended(task, NULL);
	if (task->work_result < 0) {
		task_host_failed(task, task->evidence.error.message);
		return;
	}
	struct task_facts facts;
	task_facts(task, &facts);
	/* The verdict is certain: nothing that ran now could change it. */
	if (verdict_tampered(&facts))
		task_finish(task);
	else
		task_step(task, task_begin_baseline);
}

static void make_patch(struct task *task)
{
	task_work(task, patch_work, patched);
}

/* Both ends have ended: the collector's boundary, and the thread that read its stream. */
static void collected(struct task *task)
{
	if (task->run || task->working)
		return;
	task->collecting = false;
	task_release_kept(task);
	if (task->work_result < 0 || task->evidence.outcome == COLLECTION_BROKEN) {
		task_phase_ended(task, NULL);
		task_host_failed(task, task->evidence.error.message[0] ? task->evidence.error.message
				 : "the workspace could not be collected");
	} else if (task->evidence.outcome == COLLECTION_VIOLATION) {
		task_phase_ended(task, NULL);
		task_finish(task);
	} else {
		task_step(task, make_patch);
	}
}

static void collector_done(struct run *run)
{
	struct task *task = run->context;
	/* No writer is left: the thread takes what the pipe holds and ends. */
	(void)eventfd_write(task->evidence.wake, 1);
	if (run->facts.outcome == RUN_LOST && !task->evidence.error.message[0] && !task->working)
		pr_error_set(&task->evidence.error, EIO, "the workspace could not be collected: %s", run->why);
	count_closed(task, run);
	task->run = NULL;
	run_free(run);
	collected(task);
}

static struct json_object *collect_spec(struct task *task)
{
	struct json_object *spec = json_object_new_object(), *scratch = json_object_new_array();
	for (size_t i = 0; scratch && i < task->spec->scratch.count; i++)
		json_object_array_add(scratch, json_object_new_string(task->spec->scratch.items[i]));
	set_value(spec, "scratch", scratch);
	return spec;
}

static void begin_collect(struct task *task)
{
	struct pr_error error = { 0 };
	int ends[2];
	task_phase_started(task, PR_PHASE_COLLECT);
	if (!task_may_go_on(task))
		return;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		task_host_failed(task, "no descriptors are left for the collector's pipe");
		return;
	}
	_cleanup_close_ int write_end = ends[1];
	task->evidence.pipe = ends[0];
	struct run_request request = {
		.task = task->spec->id, .phase = PR_PHASE_COLLECT, .spec = collect_spec(task), .subject_fd = -1,
		.limit_ns = COLLECT_LIMIT_NS, .of = task->kept_run, .stream_fd = write_end, .done = collector_done,
		.context = task,
	};
	if (run_collect(task->engine, &request, &task->run, &error) < 0) {
		task_host_failed(task, error.message);
		return;
	}
	task->collecting = true;
	task_work(task, collect_work, collected);
}

/* ------- the end ------- */

static int write_result(struct task *task)
{
	const char *text = json_object_to_json_string_ext(task->result, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text || task->dirfd < 0)
		return 0;
	return io_replace_file(task->dirfd, "result.json", text, strlen(text), 0600, &task->evidence.error);
}

static void conclude(struct task *task)
{
	if (task->work_result < 0)
		fprintf(stderr, "proctor-core: %s\n", task->evidence.error.message);
	task->state = TASK_DONE;
	task->phase = PR_PHASE_DONE;
	(void)journal_write(&task->engine->journal, task_verdict_event(task));
	/* One that never started decides nothing; round.finished makes it durable. */
	if (task->begun_ns)
		(void)journal_sync(&task->engine->journal);
	task->finished(task);
}

void task_finish(struct task *task)
{
	struct task_facts facts;

	if (task->finishing)
		return;
	if (task->run) {
		/* An interruption's: it comes back here when the run is closed. */
		run_kill(task->run, KILL_STOP);
		return;
	}
	if (task->working)
		return;
	task->finishing = true;
	task_release_kept(task);
	task_facts(task, &facts);
	verdict_decide(&facts, &task->verdict);
	task->wall_ms = task->begun_ns ? (engine_clock_ns(task->engine) - task->begun_ns) / NS_PER_MS : 0;
	task->work_result = 0;
	if (task->state == TASK_QUEUED) {
		conclude(task);
		return;
	}
	task->result = task_result(task);
	task_work(task, write_result, conclude);
}

struct json_object *task_progress(const struct task *task)
{
	if (task->state != TASK_RUNNING)
		return NULL;
	struct json_object *object = json_object_new_object();
	const struct run *run = task->run;
	int64_t now = engine_clock_ns(task->engine);
	int64_t last = 0;
	uint64_t bytes = 0;

	for (int i = 0; run && run->has_output && i < RUN_STREAMS; i++) {
		bytes += run->output[i].seen;
		last = run->output[i].last_ns > last ? run->output[i].last_ns : last;
	}
	set_text(object, "task", task->spec->id);
	set_text(object, "phase", pr_phase_name(task->phase));
	set_number(object, "wall_ms", run ? run_wall_ms(run) : (now - task->phase_ns) / NS_PER_MS);
	set_number(object, "limit_ms", run ? run->limit_ns / NS_PER_MS : 0);
	set_number(object, "processes", run ? (int64_t)run->processes : 0);
	set_number(object, "memory_bytes", run ? (int64_t)run->memory_bytes : 0);
	set_number(object, "output_bytes", (int64_t)bytes);
	set_number(object, "idle_ms", last > 0 ? (clock_mono_ns() - last) / NS_PER_MS : run ? run_wall_ms(run) : 0);
	return object;
}
