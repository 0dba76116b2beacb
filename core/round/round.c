/*
 * The life of a round (round.h): setting up, the gate, dispatch, finish. Everything that may take long is in
 * libuv's threads or in other processes; this loop only decides and writes down.
 */
#include "core/round/round.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/base/place.h"
#include "core/record/jsonc.h"
#include <proctor/text.h>

#define TICK_MS 1000
#define READY_LIMIT_NS (60 * NS_PER_S)
#define FLUSH_LIMIT_NS (2 * NS_PER_S)
#define FLUSH_TURN_MS 10
#define SOCKET_PATH 108		/* of sun_path, its NUL included, unix(7) */
#define DESCRIPTORS_A_TASK 24

/* ------- what is written about the round ------- */

static void write_fault(struct round *round, const char *what, const char *charged_to, const char *message, const char *remedy)
{
	struct json_object *event = journal_event(PR_EVENT_FAULT);
	set_text(event, "what", what);
	set_value(event, "message", pr_safe_text_json(message, strlen(message)));
	set_text(event, "charged_to", charged_to);
	if (remedy[0])
		set_value(event, "remedy", pr_safe_text_json(remedy, strlen(remedy)));
	/* core.log, not standard error: what a start refuses is told there by main.c, once. */
	dprintf(round->log_fd, "proctor-core: %s: %s\n", what, message);
	(void)journal_write(&round->engine.journal, event);
}

void round_fault(struct round *round, const char *what, const char *charged_to, const char *message)
{
	write_fault(round, what, charged_to, message, "");
}

void round_refused(struct round *round)
{
	write_fault(round, "no-boundary", "host", round->refusal.message, round->refusal.remedy);
}

/*
 * How long the commands of a round may take together where each uses up its clock. Tasks are taken in order by
 * whichever place is free first; with none depending on another, one that ends early never makes the last end later.
 */
static int64_t longest_ns(const struct round_spec *spec)
{
	int64_t busy[SPEC_PARALLEL_MAX] = { 0 }, longest = 0;
	size_t places = spec->parallel < SPEC_PARALLEL_MAX ? spec->parallel : SPEC_PARALLEL_MAX;
	for (size_t i = 0; i < spec->task_count; i++) {
		const struct task_spec *task = &spec->tasks[i];
		size_t first = 0;
		for (size_t k = 1; k < places; k++)
			if (busy[k] < busy[first])
				first = k;
		busy[first] += task->budget.wall_clock_ns +
			       (int64_t)(task->test_count * (task->baseline_repeats + 1)) * task->budget.tests_wall_clock_ns;
		if (busy[first] > longest)
			longest = busy[first];
	}
	return spec->round_wall_clock_ns > 0 && spec->round_wall_clock_ns < longest ? spec->round_wall_clock_ns : longest;
}

static void write_opened(struct round *round)
{
	const struct round_spec *spec = &round->engine.spec;
	struct json_object *event = journal_event(PR_EVENT_ROUND_OPENED), *tasks = json_object_new_array();

	for (size_t i = 0; i < spec->task_count && tasks; i++) {
		struct json_object *one = json_object_new_object();
		set_text(one, "task", spec->tasks[i].id);
		set_text(one, "source", spec->tasks[i].source);
		json_object_array_add(tasks, one);
	}
	set_text(event, "round", round->engine.directory.name);
	set_text(event, "name", spec->name);
	set_text(event, "kind", spec->kind == ROUND_BASELINE ? "baseline" : "smoke");
	set_text(event, "dir", round->engine.directory.path);
	set_text(event, "version", PROCTOR_VERSION);
	set_value(event, "tasks", tasks);
	set_number(event, "parallel", spec->parallel);
	set_text(event, "agent", spec->agent.name);
	set_text(event, "profile", spec->sandbox.profile);
	set_number(event, "wall_clock_ms", spec->budget.wall_clock_ns / NS_PER_MS);
	set_number(event, "tests_wall_clock_ms", spec->budget.tests_wall_clock_ns / NS_PER_MS);
	set_number(event, "longest_ms", longest_ns(spec) / NS_PER_MS);
	set_truth(event, "resumed", round->options.resumed);
	(void)journal_write(&round->engine.journal, event);
}

static void write_gate(struct round *round, const char *state, const char *by)
{
	struct json_object *event = journal_event(PR_EVENT_ROUND_GATE);
	set_text(event, "state", state);
	set_text(event, "by", by);
	(void)journal_write(&round->engine.journal, event);
}

static const char *final_state(const struct round *round)
{
	if (round->boundary == BOUNDARY_REFUSED && round->started_ns == 0 && !round->stopping)
		return "refused";
	/* Not its owner's doing: the disk, or a worker that died too often. */
	if (round->failing && !round->stopping)
		return "failed";
	if (round->stopping || round->over_limit)
		return "stopped";
	return round->draining ? "drained" : "finished";
}

static void write_finished(struct round *round)
{
	struct engine *engine = &round->engine;
	const struct pr_counts *counts = &engine->journal.model.counts;
	struct json_object *event = journal_event(PR_EVENT_ROUND_FINISHED);

	set_text(event, "state", final_state(round));
	set_number(event, "tasks", counts->tasks);
	set_number(event, "pass", counts->pass);
	set_number(event, "fail", counts->fail);
	set_number(event, "invalid", counts->invalid);
	set_number(event, "error", counts->error);
	set_number(event, "stopped", counts->stopped);
	set_number(event, "spend_usd_micro", 0);
	set_number(event, "wall_ms", (engine_clock_ns(engine) - round->opened_ns) / NS_PER_MS);
	set_text(event, "head", log_head(engine->journal.log));
	(void)journal_write(&engine->journal, event);
	(void)journal_sync(&engine->journal);
}

/* ------- finish ------- */

static void end_loop(uv_timer_t *timer)
{
	struct round *round = timer->data;
	/* Half a moment for watchers to take the last lines; then they find them in the log. */
	if (!control_drained(&round->control) &&
	    clock_mono_ns() - round->engine.frozen_since_ns < FLUSH_LIMIT_NS) {
		uv_timer_start(timer, end_loop, FLUSH_TURN_MS, 0);
		return;
	}
	uv_stop(&round->loop);
}

void round_finish_if_done(struct round *round)
{
	bool refused = round->boundary == BOUNDARY_REFUSED && round->started_ns == 0 && !round->stopping;
	if (round->finished || round->running > 0 || (round->done < round->count && !refused) || round->stops.under_way)
		return;
	round->finished = true;
	round_forget_deferred(round);
	write_finished(round);
	control_unlink(&round->control);
	(void)unlinkat(round->engine.directory.fd, "socket", 0);
	worker_stop(&round->engine.worker);
	uv_timer_stop(&round->tick);
	uv_timer_stop(&round->clock);
	uv_timer_stop(&round->expiry);
	round->engine.frozen_since_ns = clock_mono_ns();
	uv_timer_start(&round->later, end_loop, 0, 0);
}

/* ------- dispatch ------- */

void round_resume_tasks(struct round *round)
{
	for (size_t i = 0; i < round->count; i++)
		task_resume(&round->tasks[i]);
}

void round_dispatch(struct round *round)
{
	struct engine *engine = &round->engine;
	while (round->gate_open && !engine->frozen && worker_alive(&engine->worker) && !round->draining && !round->stopping &&
	       !round->over_limit && !round->held && !round->failing && !engine->journal.broken &&
	       round->running < engine->spec.parallel) {
		while (round->next < round->count && round->tasks[round->next].state != TASK_QUEUED)
			round->next++;
		if (round->next == round->count)
			break;
		round->running++;
		task_start(&round->tasks[round->next++]);
	}
	round_tick_update(round);
}

void round_interrupt(struct round *round, enum verdict_interruption by, const char *words, bool running)
{
	for (size_t i = 0; i < round->count; i++) {
		struct task *task = &round->tasks[i];
		if (task->state == TASK_QUEUED)
			task_interrupt(task, by, words ? words : "not started: the round was stopped");
	}
	for (size_t i = 0; running && i < round->count; i++) {
		struct task *task = &round->tasks[i];
		if (task->state == TASK_RUNNING)
			task_interrupt(task, by == INTERRUPTED_BEFORE_START ? INTERRUPTED_BY_HOST : by,
				       by == INTERRUPTED_BY_OWNER ? NULL : words);
	}
}

static bool is_not_the_candidates(enum attribution event)
{
	const struct attribution_row *row = attribution_row(event);
	return row->status == STATUS_ERROR && (row->charged == CHARGED_HOST || row->charged == CHARGED_FIXTURE ||
					       row->charged == CHARGED_PROVIDER);
}

/* A night is not to be lost on one fault that meets every task. */
static void count_error(struct round *round, const struct task *task)
{
	enum attribution event = task->verdict.event;
	if (!is_not_the_candidates(event)) {
		round->equal_errors = 0;
		return;
	}
	round->equal_errors = event == round->last_error ? round->equal_errors + 1 : 1;
	round->last_error = event;
	if (round->equal_errors < ROUND_EQUAL_ERRORS || round->held || round->done == round->count)
		return;
	struct who who = { geteuid(), getpid() };
	struct json_object *control = round_control_event("hold", &who, NULL);
	char why[400];
	snprintf(why, sizeof why, "%u equal errors in a row, charged to %s: %.120s; go on: proctor start %s", round->equal_errors,
		 task->verdict.charged_to ? task->verdict.charged_to : "nobody", task->verdict.reason, round->engine.directory.name);
	set_value(control, "why", pr_safe_text_json(why, strlen(why)));
	round->held = journal_write(&round->engine.journal, control) >= 0;
}

static void on_later(uv_timer_t *timer);

static void on_task_finished(struct task *task)
{
	struct round *round = task->context;
	round->done++;
	if (task->begun_ns) {
		round->running--;
		count_error(round, task);
	}
	round_task_stopped(round, task);
	task_release(task);
	/* From a turn of its own: a task may end in the middle of somebody's walk over all of them. */
	uv_timer_start(&round->later, on_later, 0, 0);
}

/* ------- timers ------- */

static void on_later(uv_timer_t *timer)
{
	struct round *round = timer->data;
	if (round->finished) {
		end_loop(timer);
		return;
	}
	if (round->engine.journal.broken && !round->failing && !round->finished) {
		round->failing = true;
		round_fault(round, "disk", "host", "the round's directory cannot be written any more: the round ends");
		round_interrupt(round, INTERRUPTED_BEFORE_START, "the round's directory cannot be written any more", true);
	}
	round_dispatch(round);
	round_finish_if_done(round);
}

static void on_journal_failed(void *context, const struct pr_error *error)
{
	struct round *round = context;
	(void)error;	/* it is in core.log */
	uv_timer_start(&round->later, on_later, 0, 0);
}

static void on_tick(uv_timer_t *timer)
{
	struct round *round = timer->data;
	(void)worker_tell(&round->engine.worker, "sample", 0);
}

/* Once a second, while something runs and somebody looks; else the core sleeps. */
void round_tick_update(struct round *round)
{
	bool wanted = round->running > 0 && !round->finished && control_watched(&round->control);
	bool active = uv_is_active((uv_handle_t *)&round->tick);
	if (wanted && !active)
		uv_timer_start(&round->tick, on_tick, 0, TICK_MS);
	else if (!wanted && active)
		uv_timer_stop(&round->tick);
}

static void on_watching(void *context)
{
	round_tick_update(context);
}

static void on_round_clock(uv_timer_t *timer)
{
	struct round *round = timer->data;
	int64_t left = round->engine.spec.round_wall_clock_ns - (engine_clock_ns(&round->engine) - round->started_ns);
	if (round->finished || round->stopping)
		return;
	if (left > 0) {
		/* Frozen in between: the rest is still to come, and a look a second is enough. */
		uint64_t ms = (uint64_t)((left + NS_PER_MS - 1) / NS_PER_MS);
		uv_timer_start(timer, on_round_clock, round->engine.frozen && ms < TICK_MS ? TICK_MS : ms, 0);
		return;
	}
	round->over_limit = true;
	round_fault(round, "round_limit", "owner", "the round's wall clock is used up: what runs is stopped, the rest is not started");
	round_interrupt(round, INTERRUPTED_BY_ROUND_LIMIT, "the round's wall clock was used up", true);
}

void round_open_gate(struct round *round, const char *by)
{
	round->gate_open = true;
	write_gate(round, "open", by);
	(void)journal_write(&round->engine.journal, journal_event(PR_EVENT_ROUND_STARTED));
	round->started_ns = engine_clock_ns(&round->engine);
	if (round->engine.spec.round_wall_clock_ns > 0)
		uv_timer_start(&round->clock, on_round_clock,
			       (uint64_t)(round->engine.spec.round_wall_clock_ns / NS_PER_MS), 0);
	round_dispatch(round);
	round_finish_if_done(round);
}

/* ------- setting up ------- */

static void on_line(void *context, const char *line, size_t length)
{
	struct round *round = context;
	control_line(&round->control, line, length);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct who who = { geteuid(), getpid() };
	(void)number;
	round_stop(handle->data, &who, NULL);
}

static void on_attached(uv_poll_t *poll, int status, int events)
{
	struct round *round = poll->data;
	struct who who = { geteuid(), getpid() };
	char bytes[256];
	(void)events;
	ssize_t n = status < 0 ? 0 : read(round->options.attached_fd, bytes, sizeof bytes);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	uv_poll_stop(poll);
	round_stop(round, &who, NULL);
}

static int watch_attached(struct round *round, struct pr_error *error)
{
	int fd = round->options.attached_fd;
	if (fd < 0)
		return 0;
	int r = io_set_nonblocking(fd, true);
	if (r >= 0)
		r = uv_poll_init(&round->loop, &round->attached, fd);
	if (r < 0)
		return pr_error_errno(error, -r, "watching descriptor %d of --attached", fd);
	round->attached.data = round;
	round->attached_watched = true;
	uv_poll_start(&round->attached, UV_READABLE | UV_DISCONNECT, on_attached);
	return 0;
}

static void start_signals(struct round *round)
{
	static const int numbers[] = { SIGTERM, SIGINT };
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (size_t i = 0; i < ELEMENTS(numbers); i++) {
		uv_signal_init(&round->loop, &round->signals[i]);
		round->signals[i].data = round;
		uv_signal_start(&round->signals[i], on_signal, numbers[i]);
	}
}

/* Threads for every task's slow work, and descriptors for its pipes. */
static void take_resources(const struct round *round)
{
	char threads[16];
	struct rlimit limit;
	rlim_t wanted = 256 + (rlim_t)DESCRIPTORS_A_TASK * round->engine.spec.parallel;

	snprintf(threads, sizeof threads, "%u", round->engine.spec.parallel + 3);
	setenv("UV_THREADPOOL_SIZE", threads, 1);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted) {
		limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int make_tasks(struct round *round, struct pr_error *error)
{
	struct engine *engine = &round->engine;
	round->count = engine->spec.task_count;
	round->tasks = calloc(round->count, sizeof round->tasks[0]);
	round->task_stops = calloc(round->count, sizeof round->task_stops[0]);
	if (!round->tasks || !round->task_stops)
		return pr_error_errno(error, ENOMEM, "making %zu tasks", round->count);
	for (size_t i = 0; i < round->count; i++) {
		struct task *task = &round->tasks[i];
		const struct pr_task *known = pr_model_task(&engine->journal.model, engine->spec.tasks[i].id);
		task_init(task, engine, i);
		task->finished = on_task_finished;
		task->context = round;
		/* A verdict stands; what was stopped or never finished runs again. */
		if (known && known->verdict != PR_VERDICT_NONE && known->verdict != PR_VERDICT_STOPPED) {
			task->state = TASK_DONE;
			round->done++;
		}
	}
	return 0;
}

static void leave_terminal(struct round *round)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	fflush(NULL);
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		close(null);
	}
	(void)dup2(round->log_fd, STDOUT_FILENO);
	(void)dup2(round->log_fd, STDERR_FILENO);
}

static int announce(struct round *round, struct pr_error *error)
{
	_cleanup_jsonc_ struct json_object *object = json_object_new_object();
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	int fd = round->options.announce_fd >= 0 ? round->options.announce_fd : STDOUT_FILENO;

	set_text(object, "round", round->engine.directory.name);
	set_text(object, "dir", round->engine.directory.path);
	set_text(object, "socket", round->socket_path);
	int r = jsonc_write(object, &line);
	if (r >= 0)
		r = buffer_add_byte(&line, '\n');
	if (r < 0)
		return pr_error_errno(error, -r, "announcing the round");
	/* A front that is gone already changes nothing: the round is there to be watched. */
	(void)io_write_all(fd, line.data, line.length);
	if (round->options.announce_fd >= 0) {
		close(round->options.announce_fd);
		leave_terminal(round);
	}
	return 0;
}

static int open_core_log(struct round *round, struct pr_error *error)
{
	round->log_fd = openat(round->engine.directory.fd, "core.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	return round->log_fd < 0 ? pr_error_errno(error, errno, "creating core.log") : 0;
}

static int bind_control(struct round *round, struct pr_error *error)
{
	char directory[PATH_MAX];
	const struct round_directory *own = &round->engine.directory;
	(void)unlinkat(own->fd, "socket", 0);
	int r = place_sockets(directory, sizeof directory, error);
	if (r >= 0) {
		if ((size_t)snprintf(round->socket_path, sizeof round->socket_path, "%s/%s.sock", directory, own->name) >=
		    sizeof round->socket_path)
			return pr_error_errno(error, ENAMETOOLONG, "the control socket in %s", directory);
		/* Whoever looks from another session has another XDG_RUNTIME_DIR, and finds the socket by this link. */
		if (symlinkat(round->socket_path, own->fd, "socket") < 0)
			return pr_error_errno(error, errno, "making %s/socket", own->path);
	} else if (strlen(own->path) + sizeof "/socket" <= SOCKET_PATH) {
		/* No place for sockets can be written: it stands in the round's own directory, where its path is short enough. */
		snprintf(round->socket_path, sizeof round->socket_path, "%.*s/socket", SOCKET_PATH, own->path);
		*error = (struct pr_error){ 0 };
	} else {
		return r;
	}
	round->control = (struct control){ .loop = &round->loop, .journal = &round->engine.journal,
		.directory = &round->engine.directory, .command = round_command, .watching = on_watching, .context = round };
	return control_start(&round->control, round->socket_path, error);
}

static int set_up(struct round *round, struct pr_error *error)
{
	uv_timer_t *const timers[] = { &round->tick, &round->clock, &round->expiry, &round->later };

	take_resources(round);
	int r = uv_loop_init(&round->loop);
	if (r < 0)
		return pr_error_errno(error, -r, "starting the loop");
	round->engine.loop = &round->loop;
	for (size_t i = 0; i < ELEMENTS(timers); i++) {
		uv_timer_init(&round->loop, timers[i]);
		timers[i]->data = round;
	}
	r = open_core_log(round, error);
	if (r >= 0)
		r = journal_open(&round->engine.journal, &round->engine.directory, error);
	if (r >= 0)
		r = make_tasks(round, error);
	if (r >= 0)
		r = bind_control(round, error);
	if (r >= 0)
		r = watch_attached(round, error);
	if (r < 0)
		return r;
	round->engine.journal.line = on_line;
	round->engine.journal.failed = on_journal_failed;
	round->engine.journal.context = round;
	round->opened_ns = engine_clock_ns(&round->engine);
	start_signals(round);
	/* The worker is born into the session that the round will live in. */
	if (round->options.announce_fd >= 0)
		(void)setsid();
	write_opened(round);
	return round->engine.journal.broken ? pr_error_set(error, EIO, "the round's log cannot be written") : 0;
}

/* So that the loop below looks at its clock. */
static void on_wake(uv_timer_t *timer)
{
	(void)timer;
}

/* The worker says whether there is a boundary; nothing else happens until it has. */
static void await_boundary(struct round *round)
{
	struct pr_error error = { 0 };
	int64_t until = clock_mono_ns() + READY_LIMIT_NS;

	if (round_start_worker(round, &error) < 0) {
		round->refusal = error;
		round->boundary = BOUNDARY_REFUSED;
		round_refused(round);
		return;
	}
	uv_timer_start(&round->clock, on_wake, TICK_MS, TICK_MS);
	while (round->boundary == BOUNDARY_AWAITED && !round->stopping) {
		uv_run(&round->loop, UV_RUN_ONCE);
		if (clock_mono_ns() < until || round->boundary != BOUNDARY_AWAITED)
			continue;
		pr_error_set(&round->refusal, ETIMEDOUT, "no boundary can be established: the worker was not ready within a minute");
		round->boundary = BOUNDARY_REFUSED;
		round_refused(round);
	}
	uv_timer_stop(&round->clock);
}

static int serve(struct round *round, struct pr_error *error)
{
	await_boundary(round);
	if (round->boundary == BOUNDARY_REFUSED) {
		round_finish_if_done(round);
		*error = round->refusal;
		return EXIT_REFUSED;
	}
	int r = announce(round, error);
	if (r < 0)
		return r;
	bool smoke = round->engine.spec.kind == ROUND_SMOKE;
	if (!smoke || round->options.yes)
		round_open_gate(round, smoke || round->options.yes ? "--yes" : "baseline");
	else if (!round->stopping)
		write_gate(round, "waiting", NULL);
	if (!round->finished || uv_is_active((uv_handle_t *)&round->later))
		uv_run(&round->loop, UV_RUN_DEFAULT);
	if (round->failing)
		return EXIT_REFUSED;	/* it could not judge; the log and core.log say why */
	return strcmp(final_state(round), "stopped") == 0 ? EXIT_STOPPED : EXIT_FINE;
}

static void tear_down(struct round *round)
{
	control_stop(&round->control);
	worker_stop(&round->engine.worker);
	for (size_t i = 0; i < round->count; i++)
		task_release(&round->tasks[i]);
	free(round->tasks);
	free(round->task_stops);
	journal_release(&round->engine.journal);
	subjects_release(&round->engine.subjects);
	store_free(round->engine.store);
	cleanup_close(&round->log_fd);
	round->log_fd = -1;
	/* Last, with every descriptor given back that it may need: there may be few. */
	if (round->stillborn && !round->options.resumed)
		directory_remove(round->engine.directory.path);
	directory_release(&round->engine.directory);
	pool_release(&round->engine.spec.pool);
}

int round_serve(struct engine *engine, const struct round_options *options, struct pr_error *error)
{
	struct round *round = calloc(1, sizeof *round);
	if (!round)
		return pr_error_errno(error, ENOMEM, "starting a round");
	round->engine = *engine;
	round->options = *options;
	round->log_fd = -1;
	int r = set_up(round, error);
	round->stillborn = r < 0;
	if (r >= 0)
		r = serve(round, error);
	tear_down(round);
	/* The loop's handles are part of `round`, and the process ends: neither is freed. */
	return r;
}
