/* The loop of serve.h. Single-threaded; it blocks in poll(), and in a birth until the child's exec. */
#include "core/containment/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "core/base/clock.h"
#include "core/base/guard.h"
#include "core/base/io.h"
#include "core/containment/facts.h"
#include "core/containment/protocol.h"
#include "core/containment/request.h"
#include "core/containment/spare.h"

#define FREEZE_WAIT_NS (2 * NS_PER_S)
#define IDLE_NS (5 * NS_PER_MS)	/* with nothing to do for so long, the worker prepares what comes next */
#define TICK_NS NS_PER_S	/* the sleep where memory for the descriptors is short */

struct message {
	struct message *next;
	size_t length;
	char text[];
};

struct loop {
	struct worker *worker;
	int socket;
	struct message *unsent, **unsent_end;	/* what a core that does not read has not taken yet, in order */
	int signals;
	struct run *runs;	/* live and kept ones */
	bool ending;		/* the peer is gone, or we were told to end */
	bool stopping;
	int64_t stop_since_ns;
	unsigned stop_killed, stop_remaining, stop_removed;
};

/* --- what we say ------------------------------------------------------------------------------------ */

static void queue_message(struct loop *loop, const char *text, size_t length)
{
	struct message *message = malloc(sizeof *message + length);
	/* Without a word kept for the core it would wait for ever: then it had better see us go. */
	if (!message) {
		loop->ending = true;
		return;
	}
	message->next = NULL;
	message->length = length;
	memcpy(message->text, text, length);
	*loop->unsent_end = message;
	loop->unsent_end = &message->next;
}

/* Sends what waits, as far as the socket takes it. A peer that is gone is seen by the loop. */
static void flush(struct loop *loop)
{
	while (loop->unsent) {
		struct message *message = loop->unsent;
		if (io_send_message(loop->socket, message->text, message->length, NULL, 0) == -EAGAIN && !loop->ending)
			return;
		loop->unsent = message->next;
		if (!loop->unsent)
			loop->unsent_end = &loop->unsent;
		free(message);
	}
}

/* Takes the object. A slow core loses nothing and holds nothing up: kills and births go on. */
static void say(struct loop *loop, struct json_object *message)
{
	const char *text = json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN);
	size_t length = strlen(text);
	if (loop->unsent || io_send_message(loop->socket, text, length, NULL, 0) == -EAGAIN)
		queue_message(loop, text, length);
	json_object_put(message);
}

static struct json_object *event(const char *name)
{
	struct json_object *message = json_object_new_object();
	json_object_object_add(message, "event", json_object_new_string(name));
	return message;
}

static struct json_object *event_of(const char *name, const struct run *run)
{
	struct json_object *message = event(name);
	json_object_object_add(message, "run", json_object_new_uint64(run->number));
	return message;
}

static void add_count(struct json_object *message, const char *key, uint64_t count)
{
	json_object_object_add(message, key, json_object_new_uint64(count));
}

static void say_failed(struct loop *loop, const struct request *request, const struct pr_error *error)
{
	struct json_object *message = event("failed");
	json_object_object_add(message, "op", json_object_new_string(request ? worker_op_name(request->op) : ""));
	add_count(message, "run", request ? request->run : 0);
	json_object_object_add(message, "message", json_object_new_string(error->message));
	say(loop, message);
}

static void say_closed(struct loop *loop, const struct run *run)
{
	struct json_object *message = event_of("closed", run);
	struct json_object *refused = json_object_new_object();
	json_object_object_add(message, "outcome", json_object_new_string(run_outcome_name(run->outcome)));
	json_object_object_add(message, "code", json_object_new_int(run->code));
	json_object_object_add(message, "signal", json_object_new_int(run->signal));
	json_object_object_add(message, "errno", json_object_new_int(run->error));
	json_object_object_add(message, "stage", json_object_new_string(run->stage));
	add_count(message, "killed", run->killed);
	add_count(message, "remaining", run->remaining);
	json_object_object_add(message, "removed", json_object_new_boolean(run->removed));
	add_count(message, "nested", run->nested);
	json_object_object_add(message, "ms", json_object_new_double(run->closing_ms));
	add_count(refused, "processes", run->counts.pids_refused);
	add_count(refused, "memory", run->counts.memory_refused);
	json_object_object_add(message, "refused", refused);
	add_count(message, "oom_kills", run->counts.oom_kills);
	add_count(message, "host_oom_kills", run->counts.host_oom_kills);
	json_object_object_add(message, "containment", facts_containment(loop->worker, run->remaining, run->trusted));
	say(loop, message);
}

static void say_ready(struct loop *loop, unsigned swept)
{
	const struct worker *worker = loop->worker;
	struct json_object *message = event("ready");
	struct json_object *v1 = json_object_new_array();
	for (int i = 0; i < RESOURCE_COUNT; i++)
		if (worker->tree.generation[i] == GENERATION_V1)
			json_object_array_add(v1, json_object_new_string(worker->tree.v1[i].path));
	json_object_object_add(message, "protocol", json_object_new_int(WORKER_PROTOCOL));
	json_object_object_add(message, "pid", json_object_new_int(getpid()));
	json_object_object_add(message, "cgroup", json_object_new_string(worker->tree.path));
	json_object_object_add(message, "v1", v1);
	json_object_object_add(message, "containment", facts_containment(worker, 0, false));
	json_object_object_add(message, "landlock_abi", json_object_new_int(worker->landlock_abi));
	json_object_object_add(message, "limits", facts_limits(worker));
	add_count(message, "id_pairs", worker->ids.pairs);
	add_count(message, "swept", swept);
	json_object_object_add(message, "tried", facts_tried(worker, swept));
	say(loop, message);
}

void serve_refusal(int socket, const struct pr_error *error)
{
	struct json_object *message = event("refused");
	json_object_object_add(message, "code", json_object_new_string("no-boundary"));
	json_object_object_add(message, "message", json_object_new_string(error->message));
	json_object_object_add(message, "remedy", error->remedy[0] ? json_object_new_string(error->remedy) : NULL);
	const char *text = json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN);
	io_send_message(socket, text, strlen(text), NULL, 0);
	json_object_put(message);
}

/* --- runs ------------------------------------------------------------------------------------------- */

static struct run *find_run(const struct loop *loop, uint64_t number)
{
	for (struct run *run = loop->runs; run; run = run->next)
		if (run->number == number)
			return run;
	return NULL;
}

static void forget(struct loop *loop, struct run *gone)
{
	for (struct run **at = &loop->runs; *at; at = &(*at)->next)
		if (*at == gone) {
			*at = gone->next;
			run_free(loop->worker, gone);
			return;
		}
}

static bool is_live(const struct run *run)
{
	return run->state != RUN_CLOSED;
}

/* Tells what changed; a closed run that leaves no workspace behind is forgotten at once. */
static void tell_changes(struct loop *loop, struct run *run)
{
	bool began = run->state == RUN_RUNNING || (run->outcome == OUTCOME_EXITED && run->kind == BIRTH_RUN) ||
		     run->outcome == OUTCOME_SIGNALLED;
	if (began && !run->started_told && run->kind == BIRTH_RUN) {
		run->started_told = true;
		say(loop, event_of("started", run));
	}
	if (run->started_told && run->state >= RUN_CLOSING && !run->exited_told &&
	    (run->outcome == OUTCOME_EXITED || run->outcome == OUTCOME_SIGNALLED)) {
		run->exited_told = true;
		say(loop, event_of("exited", run));
	}
	if (run->state != RUN_CLOSED)
		return;
	say_closed(loop, run);
	run_let_go(run);
	if (loop->stopping) {
		loop->stop_killed += run->killed;
		loop->stop_remaining += run->remaining;
		loop->stop_removed += run->removed;
	}
	if (run->workspace < 0)
		forget(loop, run);
}

static void step_all(struct loop *loop)
{
	for (struct run *run = loop->runs, *next; run; run = next) {
		next = run->next;
		if (is_live(run) && run_step(loop->worker, run))
			tell_changes(loop, run);
	}
}

static void close_all(struct loop *loop)
{
	/* Frozen first: no birth slips between the kills of two leaves. A frozen cgroup dies like any other. */
	cgroup_freeze(loop->worker->tree.parent, true);
	for (struct run *run = loop->runs; run; run = run->next)
		run_close(loop->worker, run);
}

/* --- requests --------------------------------------------------------------------------------------- */

/*
 * The run whose workspace is asked for must be closed, and empty by the kernel's word: no survivor of it may write there
 * meanwhile (K4).
 */
static int find_workspace(const struct loop *loop, uint64_t number, struct run **ret_run, struct pr_error *error)
{
	struct run *run = number ? find_run(loop, number) : NULL;
	*ret_run = run;
	if (number && (!run || run->workspace < 0))
		return pr_error_set(error, ENOENT, "run %" PRIu64 " has no workspace that is kept", number);
	if (run && (is_live(run) || run->remaining > 0) && guard_holds(GUARD_COLLECT_EMPTY))
		return pr_error_set(error, EBUSY, "run %" PRIu64 " has processes that live: its workspace may still change", number);
	return 0;
}

static int start(struct loop *loop, const struct request *request, const int *fds, size_t count, struct pr_error *error)
{
	bool collect = request->op == OP_COLLECT;
	struct run_request wanted = { .number = request->run, .kind = collect ? BIRTH_COLLECTOR : BIRTH_RUN,
				      .output = { -1, -1 }, .stream = -1 };
	struct run *run;
	uint64_t of;

	if (collect ? count != 2 : count < 3 || count > 4)
		return pr_error_set(error, EBADMSG, "%s came with %zu descriptors", worker_op_name(request->op), count);
	if (loop->worker->frozen)
		return pr_error_set(error, EBUSY, "the round is frozen");
	if (loop->stopping || loop->ending)
		return pr_error_set(error, EBUSY, "the round is being stopped");
	if (find_run(loop, request->run))
		return pr_error_set(error, EEXIST, "run %" PRIu64 " was there already", request->run);
	if (collect) {
		wanted.stream = fds[WORKER_FD_COLLECT_STREAM];
	} else {
		wanted.output[0] = fds[WORKER_FD_STDOUT];
		wanted.output[1] = fds[WORKER_FD_STDERR];
		wanted.stream = count == 4 ? fds[WORKER_FD_SUBJECT] : -1;
	}
	int r = spec_read(fds[WORKER_FD_SPEC], collect, &wanted, &of, error);
	if (r == 0)
		r = find_workspace(loop, collect ? request->of : of, &wanted.of, error);
	if (r == 0)
		r = run_start(loop->worker, &wanted, &run, error);
	spec_release(&wanted);
	if (r < 0)
		return r;
	run->next = loop->runs;
	loop->runs = run;
	return 0;
}

static void freeze(struct loop *loop)
{
	struct worker *worker = loop->worker;
	int64_t begin = clock_mono_ns();
	_cleanup_close_ int events = cgroup_open_events(worker->tree.parent);
	int r = cgroup_freeze(worker->tree.parent, true);
	if (r == 0 && events >= 0)
		r = cgroup_wait_frozen(events, FREEZE_WAIT_NS);
	worker->frozen = true;

	struct json_object *message = event("frozen");
	json_object_object_add(message, "ms", json_object_new_double((double)(clock_mono_ns() - begin) / NS_PER_MS));
	unsigned processes = cgroup_count(worker->tree.parent), inits = worker->live + spare_count(worker);
	/* Our own inits stand still too, but they are not what the owner asks about. */
	add_count(message, "processes", processes > inits ? processes - inits : 0);
	add_count(message, "runs", worker->live);
	/* An empty parent never says frozen: there is nothing to stand still. */
	json_object_object_add(message, "frozen", json_object_new_boolean(r == 0 || processes == 0));
	say(loop, message);
}

static void thaw(struct loop *loop)
{
	cgroup_freeze(loop->worker->tree.parent, false);
	loop->worker->frozen = false;
	say(loop, event("thawed"));
}

static void stop(struct loop *loop)
{
	if (loop->stopping)
		return;
	loop->stopping = true;
	loop->stop_since_ns = clock_mono_ns();
	loop->stop_killed = loop->stop_remaining = loop->stop_removed = 0;
	close_all(loop);
}

static void finish_stop(struct loop *loop)
{
	struct worker *worker = loop->worker;
	if (!loop->stopping || worker->live > 0)
		return;
	loop->stopping = false;
	worker->frozen = false;
	loop->stop_remaining += !spare_drop(worker);
	cgroup_freeze(worker->tree.parent, false);
	struct json_object *message = event("stopped");
	json_object_object_add(message, "ms",
			       json_object_new_double((double)(clock_mono_ns() - loop->stop_since_ns) / NS_PER_MS));
	add_count(message, "killed", loop->stop_killed);
	add_count(message, "remaining", loop->stop_remaining);
	add_count(message, "removed", loop->stop_removed);
	say(loop, message);
}

static void sample(struct loop *loop)
{
	struct json_object *message = event("sample");
	struct json_object *list = json_object_new_array();
	for (struct run *run = loop->runs; run; run = run->next) {
		if (run->state != RUN_STARTING && run->state != RUN_RUNNING)
			continue;
		struct json_object *one = json_object_new_object();
		struct cgroup_counts counts;
		unsigned processes = cgroup_count(run->leaf.fd);
		cgroup_leaf_counts(&loop->worker->tree, &run->leaf, &counts);
		add_count(one, "run", run->number);
		add_count(one, "processes", processes > 0 ? processes - 1 : 0);
		add_count(one, "memory", counts.memory_bytes);
		json_object_array_add(list, one);
	}
	json_object_object_add(message, "runs", list);
	say(loop, message);
}

static int handle(struct loop *loop, const struct request *request, const int *fds, size_t count, struct pr_error *error)
{
	struct run *run;
	switch (request->op) {
	case OP_RUN:
	case OP_COLLECT:
		return start(loop, request, fds, count, error);
	case OP_KILL:
		run = find_run(loop, request->run);
		/* A run that is closed already was told: the kill that crossed that message is no fault. */
		if (run && is_live(run)) {
			run->kill_asked = true;
			run_close(loop->worker, run);
		}
		return 0;
	case OP_RELEASE:
		run = find_run(loop, request->run);
		if (run && is_live(run))
			return pr_error_set(error, EBUSY, "run %" PRIu64 " is not closed", request->run);
		if (run)
			forget(loop, run);
		return 0;
	case OP_FREEZE:
		freeze(loop);
		return 0;
	case OP_THAW:
		thaw(loop);
		return 0;
	case OP_STOP:
		stop(loop);
		return 0;
	case OP_SAMPLE:
		sample(loop);
		return 0;
	case OP_COUNT:
		break;
	}
	return -EINVAL;
}

static void read_requests(struct loop *loop)
{
	static char text[WORKER_MESSAGE_MAX];
	int fds[IO_MESSAGE_FDS];
	size_t count;
	ssize_t n;

	while ((n = io_receive_message(loop->socket, text, sizeof text, fds, &count)) > 0) {
		struct request request = { .op = OP_SAMPLE };
		struct pr_error error = { 0 };
		int r = request_read(text, (size_t)n, &request, &error);
		bool known = r == 0;
		if (r == 0)
			r = handle(loop, &request, fds, count, &error);
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
		if (r < 0)
			say_failed(loop, known ? &request : NULL, &error);
	}
	if (n != -EAGAIN)
		loop->ending = true;
}

/* --- the loop --------------------------------------------------------------------------------------- */

static size_t gather(const struct loop *loop, struct pollfd **fds, size_t *allocated)
{
	size_t need = 2 + 3 * (size_t)loop->worker->live;
	if (need > *allocated) {
		struct pollfd *more = realloc(*fds, 2 * need * sizeof **fds);
		if (!more)
			return 0;
		*fds = more;
		*allocated = 2 * need;
	}
	size_t count = 0;
	short wanted = loop->unsent ? POLLIN | POLLOUT : POLLIN;
	(*fds)[count++] = (struct pollfd){ .fd = loop->ending ? -1 : loop->socket, .events = wanted };
	(*fds)[count++] = (struct pollfd){ .fd = loop->ending ? -1 : loop->signals, .events = POLLIN };
	for (const struct run *run = loop->runs; run; run = run->next)
		if (is_live(run))
			count += run_poll(run, *fds + count);
	return count;
}

static int open_signals(struct pr_error *error)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? pr_error_errno(error, errno, "waiting for signals") : fd;
}

static bool spare_is_wanted(const struct loop *loop)
{
	return !loop->stopping && !loop->ending && spare_is_due(loop->worker);
}

/*
 * The shortest sleep that a run asks for, and none over a tick while deadlines run. True where nothing came and there is
 * time to prepare a boundary: not before, or those who wait for a run's end would wait for that too.
 */
static bool wait_for(struct loop *loop, struct pollfd *fds, size_t count)
{
	int64_t wait = INT64_MAX;
	for (struct run *run = loop->runs; run; run = run->next) {
		int64_t one = run_wait_ns(run);
		wait = one < wait ? one : wait;
	}
	if (count == 0 && wait > TICK_NS)
		wait = TICK_NS;
	if (wait < 0)
		wait = 0;
	bool spare = wait > IDLE_NS && spare_is_wanted(loop);
	if (spare)
		wait = IDLE_NS;
	struct timespec time = { .tv_sec = wait / NS_PER_S, .tv_nsec = wait % NS_PER_S };
	return ppoll(fds, count, wait == INT64_MAX ? NULL : &time, NULL) == 0 && spare;
}

int serve(struct worker *worker, int socket, unsigned swept, struct pr_error *error)
{
	struct loop loop = { .worker = worker, .socket = socket };
	struct pollfd *fds = NULL;
	size_t allocated = 0;
	bool closed_all = false;

	loop.unsent_end = &loop.unsent;
	loop.signals = open_signals(error);
	if (loop.signals < 0)
		return loop.signals;
	io_set_nonblocking(socket, true);
	say_ready(&loop, swept);
	while (!loop.ending || worker->live > 0) {
		size_t count = gather(&loop, &fds, &allocated);
		bool idle = wait_for(&loop, fds, count);
		flush(&loop);
		if (!loop.ending && count > 0 && fds[0].revents & (POLLIN | POLLHUP | POLLERR))
			read_requests(&loop);
		if (!loop.ending && count > 0 && fds[1].revents)
			loop.ending = true;
		if (loop.ending && !closed_all) {
			close_all(&loop);
			closed_all = true;
		}
		step_all(&loop);
		finish_stop(&loop);
		if (idle && spare_is_wanted(&loop))
			spare_prepare(worker);
	}
	spare_drop(worker);
	flush(&loop);
	while (loop.runs)
		forget(&loop, loop.runs);
	free(fds);
	close(loop.signals);
	return 0;
}
