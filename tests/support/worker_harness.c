/*
 * The worker's other end (worker_harness.h). One socket, a list of events that no one took yet, and the
 * pipes of live runs; one poll loop serves them all.
 */
#include "tests/support/worker_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/io.h"

#define MESSAGE_BYTES 65536
#define DEFAULT_READY_MS 20000
#define DEFAULT_OUTPUT_BYTES ((size_t)64 << 20)
#define WORKER_FD 3		/* the descriptor that the worker is told of */

struct run {
	int number;
	int fds[2];		/* read ends of standard output and error; -1: at the end, or the caller's */
	struct buffer texts[2];
	size_t limit;
	struct run_result result;
	struct run *next;
};

struct event {
	struct json_object *object;
	bool taken;
	struct event *next;
};

struct worker {
	pid_t pid;
	int socket;
	bool gone;		/* the socket is at its end */
	bool reaped;
	int status;
	int last_run;
	struct json_object *ready, *refused;
	struct event *events, **last_event;
	struct run *runs;
};

const char *event_text(struct json_object *event, const char *name)
{
	struct json_object *member;
	if (!event || !json_object_object_get_ex(event, name, &member) || !json_object_is_type(member, json_type_string))
		return "";
	return json_object_get_string(member);
}

int64_t event_number(struct json_object *event, const char *name)
{
	struct json_object *member;
	if (!event || !json_object_object_get_ex(event, name, &member) || !member)
		return -1;
	return json_object_get_int64(member);
}

static void set_variables(const struct worker_start *how)
{
	if (how->without)
		setenv("PROCTOR_WITHOUT", how->without, 1);
	for (const char *const *pair = how->environment; pair && *pair; pair++) {
		char *copy = strdup(*pair);
		char *value = copy ? strchr(copy, '=') : NULL;
		if (value) {
			*value++ = '\0';
			setenv(copy, value, 1);
		}
		free(copy);
	}
}

static pid_t execute(const struct worker_start *how, const char *program, int ours, int theirs)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	close(ours);
	int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (empty < 0 || dup2(empty, 0) < 0)
		_exit(125);
	if (theirs == WORKER_FD)
		fcntl(theirs, F_SETFD, 0);
	else if (dup2(theirs, WORKER_FD) < 0)
		_exit(125);
	set_variables(how);
	char number[16];
	snprintf(number, sizeof number, "%d", WORKER_FD);
	execl(program, program, "--serve", number, (char *)NULL);
	fprintf(stderr, "worker harness: %s: %s\n", program, strerror(errno));
	_exit(127);
}

static void reap(struct worker *worker, int options)
{
	if (!worker->reaped && waitpid(worker->pid, &worker->status, options) == worker->pid)
		worker->reaped = true;
}

static void keep_event(struct worker *worker, struct json_object *object)
{
	struct event *event = calloc(1, sizeof *event);
	if (!event) {
		json_object_put(object);
		return;
	}
	event->object = object;
	*worker->last_event = event;
	worker->last_event = &event->next;
}

/* Takes all messages that are there. */
static void receive(struct worker *worker)
{
	static char bytes[MESSAGE_BYTES + 1];
	while (!worker->gone) {
		int fds[IO_MESSAGE_FDS];
		size_t fd_count = 0;
		ssize_t length = io_receive_message(worker->socket, bytes, MESSAGE_BYTES, fds, &fd_count);
		for (size_t i = 0; length >= 0 && i < fd_count; i++)
			close(fds[i]);
		if (length == -EAGAIN)
			return;
		if (length <= 0) {
			worker->gone = true;
			return;
		}
		bytes[length] = '\0';
		struct json_object *object = json_tokener_parse(bytes);
		if (object)
			keep_event(worker, object);
		else
			fprintf(stderr, "worker harness: no JSON: %s\n", bytes);
	}
}

static void read_pipe(struct run *run, int which)
{
	char bytes[65536];
	for (;;) {
		ssize_t n = read(run->fds[which], bytes, sizeof bytes);
		if (n > 0) {
			struct buffer *text = &run->texts[which];
			size_t room = run->limit > text->length ? run->limit - text->length : 0;
			buffer_add(text, bytes, (size_t)n < room ? (size_t)n : room);
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		close(run->fds[which]);
		run->fds[which] = -1;
		return;
	}
}

/* One turn of the loop: at most `ms` until something comes, then all that is there. */
static void turn(struct worker *worker, int ms)
{
	enum { POLLED = 1 + 2 * 512 };
	static struct pollfd fds[POLLED];
	nfds_t count = 0;
	if (!worker->gone)
		fds[count++] = (struct pollfd){ .fd = worker->socket, .events = POLLIN };
	for (struct run *run = worker->runs; run; run = run->next)
		for (int i = 0; i < 2; i++)
			if (run->fds[i] >= 0 && count < POLLED)
				fds[count++] = (struct pollfd){ .fd = run->fds[i], .events = POLLIN };
	if (poll(fds, count, ms) <= 0)
		return;
	receive(worker);
	for (struct run *run = worker->runs; run; run = run->next)
		for (int i = 0; i < 2; i++)
			if (run->fds[i] >= 0)
				read_pipe(run, i);
}

static struct json_object *take_event(struct worker *worker, const char *name, int run)
{
	for (struct event *event = worker->events; event; event = event->next) {
		if (event->taken || strcmp(event_text(event->object, "event"), name) != 0)
			continue;
		if (run != 0 && event_number(event->object, "run") != run)
			continue;
		event->taken = true;
		return event->object;
	}
	return NULL;
}

/* Milliseconds until `end`, rounded up, never less than 0. */
static int left_ms(int64_t end)
{
	int64_t left = end - clock_mono_ns();
	return left <= 0 ? 0 : (int)((left + NS_PER_MS - 1) / NS_PER_MS);
}

/* A guest without KVM is many times slower: PROCTOR_TEST_PATIENCE=N takes N times as long. */
static int64_t patience(void)
{
	const char *text = getenv("PROCTOR_TEST_PATIENCE");
	int64_t times = text ? atoll(text) : 1;
	return times > 0 && times <= 100 ? times : 1;
}

struct json_object *worker_await(struct worker *worker, const char *name, int run, int timeout_ms)
{
	int64_t end = clock_mono_ns() + patience() * timeout_ms * NS_PER_MS;
	for (;;) {
		struct json_object *event = take_event(worker, name, run);
		if (event)
			return event;
		int left = left_ms(end);
		if (worker->gone || left == 0)
			return NULL;
		turn(worker, left);
	}
}

struct worker *worker_start(const struct worker_start *how)
{
	const char *program = how->program;
	if (!program)
		program = how->without ? PROCTOR_BUILD "/tests/guarded/proctor-worker" : PROCTOR_BUILD "/proctor-worker";
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return NULL;
	struct worker *worker = calloc(1, sizeof *worker);
	if (worker)
		worker->pid = execute(how, program, pair[0], pair[1]);
	close(pair[1]);
	if (!worker || worker->pid < 0) {
		close(pair[0]);
		free(worker);
		return NULL;
	}
	worker->socket = pair[0];
	worker->last_event = &worker->events;
	io_set_nonblocking(worker->socket, true);

	int64_t end = clock_mono_ns() + patience() * (how->ready_ms ? how->ready_ms : DEFAULT_READY_MS) * NS_PER_MS;
	for (;;) {
		worker->ready = take_event(worker, "ready", 0);
		worker->refused = worker->ready ? NULL : take_event(worker, "refused", 0);
		if (worker->ready || worker->refused)
			return worker;
		if (worker->gone || left_ms(end) == 0)
			break;
		turn(worker, left_ms(end));
	}
	fprintf(stderr, "worker harness: %s said neither ready nor refused\n", program);
	worker_free(worker);
	return NULL;
}

pid_t worker_pid(const struct worker *worker)
{
	return worker->pid;
}

struct json_object *worker_ready(const struct worker *worker)
{
	return worker->ready;
}

struct json_object *worker_refused(const struct worker *worker)
{
	return worker->refused;
}

int worker_close(struct worker *worker, int timeout_ms)
{
	if (worker->socket >= 0) {
		receive(worker);
		close(worker->socket);
		worker->socket = -1;
		worker->gone = true;
	}
	int64_t end = clock_mono_ns() + patience() * timeout_ms * NS_PER_MS;
	for (;;) {
		reap(worker, WNOHANG);
		if (worker->reaped)
			return WIFEXITED(worker->status) ? WEXITSTATUS(worker->status) : 128 + WTERMSIG(worker->status);
		if (left_ms(end) == 0)
			return -ETIMEDOUT;
		turn(worker, 5);
		clock_sleep_ns(NS_PER_MS);
	}
}

void worker_kill(struct worker *worker)
{
	if (!worker->reaped)
		kill(worker->pid, SIGKILL);
	reap(worker, 0);
}

static void free_run(struct run *run)
{
	for (int i = 0; i < 2; i++) {
		cleanup_close(&run->fds[i]);
		buffer_release(&run->texts[i]);
	}
	free(run);
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	if (worker_close(worker, 60000) == -ETIMEDOUT) {
		fprintf(stderr, "worker harness: the worker did not end after its socket closed\n");
		worker_kill(worker);
	}
	while (worker->runs) {
		struct run *next = worker->runs->next;
		free_run(worker->runs);
		worker->runs = next;
	}
	while (worker->events) {
		struct event *next = worker->events->next;
		json_object_put(worker->events->object);
		free(worker->events);
		worker->events = next;
	}
	free(worker);
}

int worker_send(struct worker *worker, const char *json, const int *fds, size_t fd_count)
{
	for (;;) {
		int r = io_send_message(worker->socket, json, strlen(json), fds, fd_count);
		if (r != -EAGAIN)
			return r;
		/* The worker is busy; what it says meanwhile must not block it in turn. */
		struct pollfd writable = { .fd = worker->socket, .events = POLLIN | POLLOUT };
		poll(&writable, 1, 1000);
		turn(worker, 0);
		if (worker->gone)
			return -EPIPE;
	}
}

int worker_send_op(struct worker *worker, const char *op, int run)
{
	char text[128];
	if (run)
		snprintf(text, sizeof text, "{\"op\":\"%s\",\"run\":%d}", op, run);
	else
		snprintf(text, sizeof text, "{\"op\":\"%s\"}", op);
	return worker_send(worker, text, NULL, 0);
}

static struct json_object *strings(const char *const *list)
{
	struct json_object *array = json_object_new_array();
	for (; list && *list; list++)
		json_object_array_add(array, json_object_new_string(*list));
	return array;
}

static struct json_object *pairs(const char *const *list)
{
	struct json_object *object = json_object_new_object();
	for (; list && *list; list++) {
		char *name = strdup(*list);
		char *value = name ? strchr(name, '=') : NULL;
		if (value) {
			*value++ = '\0';
			json_object_object_add(object, name, json_object_new_string(value));
		}
		free(name);
	}
	return object;
}

static struct json_object *spec_object(const struct run_spec *spec)
{
	struct json_object *object = json_object_new_object();
	json_object_object_add(object, "argv", strings(spec->argv));
	json_object_object_add(object, "environment", pairs(spec->environment));
	json_object_object_add(object, "cwd", json_object_new_string(spec->cwd ? spec->cwd : "."));
	json_object_object_add(object, "root", json_object_new_string(spec->root ? spec->root : "host"));
	json_object_object_add(object, "read_only", strings(spec->read_only));
	if (spec->workspace_of)
		json_object_object_add(object, "workspace_of", json_object_new_int(spec->workspace_of));

	struct json_object *limits = json_object_new_object();
	uint64_t memory = spec->memory_bytes ? spec->memory_bytes : UINT64_C(2) << 30;
	uint64_t workspace = spec->workspace_bytes ? spec->workspace_bytes : UINT64_C(1) << 30;
	json_object_object_add(limits, "memory", json_object_new_int64((int64_t)memory));
	json_object_object_add(limits, "processes", json_object_new_int(spec->processes ? spec->processes : 256));
	json_object_object_add(limits, "cpus", json_object_new_double(spec->cpus > 0 ? spec->cpus : 1));
	json_object_object_add(limits, "workspace", json_object_new_int64((int64_t)workspace));
	json_object_object_add(limits, "inodes", json_object_new_int64((int64_t)(spec->inodes ? spec->inodes : 200000)));
	json_object_object_add(object, "limits", limits);
	return object;
}

/* The object as a sealed memfd; the object is consumed. */
static int spec_fd(struct json_object *object)
{
	const char *text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
	int fd = io_sealed_memfd("spec", text, strlen(text));
	json_object_put(object);
	return fd;
}

static struct run *new_run(struct worker *worker, size_t limit)
{
	struct run *run = calloc(1, sizeof *run);
	if (!run)
		return NULL;
	run->number = ++worker->last_run;
	run->fds[0] = run->fds[1] = -1;
	run->limit = limit ? limit : DEFAULT_OUTPUT_BYTES;
	buffer_init(&run->texts[0], 0);
	buffer_init(&run->texts[1], 0);
	/* So that a reader finds an empty text rather than NULL. */
	if (buffer_add_text(&run->texts[0], "") < 0 || buffer_add_text(&run->texts[1], "") < 0) {
		free_run(run);
		return NULL;
	}
	run->next = worker->runs;
	worker->runs = run;
	return run;
}

static struct run *find_run(struct worker *worker, int number)
{
	struct run *run = worker->runs;
	while (run && run->number != number)
		run = run->next;
	return run;
}

/* A pipe whose read end the run keeps; returns the write end. */
static int run_pipe(struct run *run, int which)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	run->fds[which] = fds[0];
	return fds[1];
}

int worker_run(struct worker *worker, const struct run_spec *spec)
{
	struct run *run = new_run(worker, spec->output_limit);
	if (!run)
		return -ENOMEM;
	_cleanup_close_ int specification = spec_fd(spec_object(spec));
	_cleanup_close_ int output = spec->output_fd > 0 ? -1 : run_pipe(run, 0);
	_cleanup_close_ int error = spec->error_fd > 0 ? -1 : run_pipe(run, 1);
	int fds[4] = { specification, spec->output_fd > 0 ? spec->output_fd : output,
		       spec->error_fd > 0 ? spec->error_fd : error, spec->subject_fd };
	for (int i = 0; i < 3; i++)
		if (fds[i] < 0)
			return fds[i];

	char text[64];
	snprintf(text, sizeof text, "{\"op\":\"run\",\"run\":%d}", run->number);
	int r = worker_send(worker, text, fds, spec->subject_fd > 0 ? 4 : 3);
	return r < 0 ? r : run->number;
}

int worker_collect(struct worker *worker, int of, const char *const *scratch)
{
	struct run *run = new_run(worker, 0);
	if (!run)
		return -ENOMEM;
	struct json_object *object = json_object_new_object();
	json_object_object_add(object, "scratch", strings(scratch));
	_cleanup_close_ int specification = spec_fd(object);
	_cleanup_close_ int stream = run_pipe(run, 0);
	if (specification < 0 || stream < 0)
		return specification < 0 ? specification : stream;
	char text[96];
	snprintf(text, sizeof text, "{\"op\":\"collect\",\"run\":%d,\"of\":%d}", run->number, of);
	int r = worker_send(worker, text, (const int[]){ specification, stream }, 2);
	return r < 0 ? r : run->number;
}

static void fill_result(struct run *run, struct json_object *event, bool failed)
{
	struct json_object *member;
	run->result.closed = true;
	run->result.event = event;
	run->result.outcome = failed ? "failed" : event_text(event, "outcome");
	run->result.code = (int)event_number(event, "code");
	run->result.signal = (int)event_number(event, "signal");
	run->result.error = (int)event_number(event, "errno");
	run->result.killed = (int)event_number(event, "killed");
	run->result.remaining = (int)event_number(event, "remaining");
	run->result.removed = json_object_object_get_ex(event, "removed", &member) && json_object_get_boolean(member);
	run->result.ms = json_object_object_get_ex(event, "ms", &member) ? json_object_get_double(member) : -1;
}

const struct run_result *worker_finish(struct worker *worker, int number, int timeout_ms)
{
	static char no_bytes[1];
	static const struct buffer no_text = { .data = no_bytes };
	static const struct run_result nothing = { .outcome = "", .output = &no_text, .error_output = &no_text };
	struct run *run = find_run(worker, number);
	if (!run)
		return &nothing;
	run->result.run = number;
	run->result.outcome = run->result.outcome ? run->result.outcome : "";
	run->result.output = &run->texts[0];
	run->result.error_output = &run->texts[1];

	int64_t end = clock_mono_ns() + patience() * timeout_ms * NS_PER_MS;
	while (!run->result.closed) {
		struct json_object *event = take_event(worker, "closed", number);
		struct json_object *failed = event ? NULL : take_event(worker, "failed", number);
		if (event || failed) {
			fill_result(run, event ? event : failed, !event);
			break;
		}
		if (worker->gone || left_ms(end) == 0)
			return &run->result;
		turn(worker, left_ms(end));
	}
	/* No writer is left after `closed`: what the pipes hold is all of it, and their end comes without waiting. */
	for (int i = 0; i < 2; i++)
		if (run->fds[i] >= 0)
			read_pipe(run, i);
	return &run->result;
}

bool worker_await_output(struct worker *worker, int number, const char *text, int timeout_ms)
{
	int64_t end = clock_mono_ns() + patience() * timeout_ms * NS_PER_MS;
	for (;;) {
		struct run *run = find_run(worker, number);
		if (!run)
			return false;
		if (memmem(run->texts[0].data, run->texts[0].length, text, strlen(text)))
			return true;
		if (left_ms(end) == 0 || (worker->gone && run->fds[0] < 0))
			return false;
		turn(worker, left_ms(end));
	}
}

void worker_release_run(struct worker *worker, int number)
{
	worker_send_op(worker, "release", number);
	for (struct run **at = &worker->runs; *at; at = &(*at)->next) {
		if ((*at)->number != number)
			continue;
		struct run *run = *at;
		*at = run->next;
		free_run(run);
		break;
	}
	/* Events of a run that is forgotten, and so of no use to anyone: a benchmark makes thousands of them. */
	for (struct event **at = &worker->events; *at;) {
		struct event *event = *at;
		if (event_number(event->object, "run") != number) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		json_object_put(event->object);
		free(event);
	}
	worker->last_event = &worker->events;
	while (*worker->last_event)
		worker->last_event = &(*worker->last_event)->next;
}

int worker_run_once(struct worker *worker, const struct run_spec *spec, int timeout_ms)
{
	int number = worker_run(worker, spec);
	if (number < 0)
		return number;
	const struct run_result *result = worker_finish(worker, number, timeout_ms);
	int r = 0;
	if (!result->closed)
		r = -ETIMEDOUT;
	else if (strcmp(result->outcome, "exited") != 0 || result->code != 0)
		r = -ECHILD;
	worker_release_run(worker, number);
	return r;
}
