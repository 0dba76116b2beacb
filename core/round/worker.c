/* Starting and talking to proctor-worker (worker.h). It owns the socket; nothing else reads or writes it. */
#include "core/round/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/base/place.h"

#define SERVE_FD 3
#define MESSAGES_A_TURN 64

struct worker_pending {
	struct worker_pending *next;
	size_t length, fd_count;
	int fds[WORKER_FDS];
	char bytes[];
};

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

static void on_worker_exit(uv_process_t *process, int64_t status, int signal)
{
	/* Into core.log: what the owner is to know the round tells. */
	const struct worker *worker = process->data;
	if (signal != 0)
		dprintf(worker->stderr_fd, "proctor-core: the worker (pid %d) was ended by signal %d\n", (int)process->pid, signal);
	else if (status != 0)
		dprintf(worker->stderr_fd, "proctor-core: the worker (pid %d) exited with %lld\n", (int)process->pid, (long long)status);
	uv_close((uv_handle_t *)process, free_handle);
}

static void drop_pending(struct worker *worker)
{
	while (worker->first) {
		struct worker_pending *next = worker->first->next;
		for (size_t i = 0; i < worker->first->fd_count; i++)
			close(worker->first->fds[i]);
		free(worker->first);
		worker->first = next;
	}
	worker->last = &worker->first;
}

void worker_stop(struct worker *worker)
{
	if (!worker->poll)
		return;
	uv_poll_stop(worker->poll);
	uv_close((uv_handle_t *)worker->poll, free_handle);
	worker->poll = NULL;
	cleanup_close(&worker->socket);
	worker->socket = -1;
	worker->ready = false;
	drop_pending(worker);
	/* Reaped by on_worker_exit where the loop still runs; a core that ends does not wait for that. */
	if (worker->process)
		uv_unref((uv_handle_t *)worker->process);
	worker->process = NULL;
}

static void die(struct worker *worker, const char *why)
{
	worker_stop(worker);
	worker->died(worker->context, why);
}

static void take_message(struct worker *worker, const char *bytes)
{
	struct json_object *message = json_tokener_parse(bytes);
	const char *event = json_object_get_string(json_object_object_get(message, "event"));
	if (!event) {
		json_object_put(message);
		die(worker, "the worker said something that is no message");
		return;
	}
	if (strcmp(event, "ready") == 0)
		worker->ready = true;
	worker->event(worker->context, event, message);
	json_object_put(message);
}

static void receive(struct worker *worker)
{
	static char bytes[WORKER_MESSAGE + 1];

	/* The handlers may stop this worker: `poll` tells. */
	uv_poll_t *poll = worker->poll;
	for (int i = 0; i < MESSAGES_A_TURN && worker->poll == poll; i++) {
		int fds[IO_MESSAGE_FDS];
		size_t fd_count = 0;
		ssize_t n = io_receive_message(worker->socket, bytes, WORKER_MESSAGE, fds, &fd_count);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			die(worker, n == 0 ? "the worker died" : "the worker's socket failed");
			return;
		}
		for (size_t k = 0; k < fd_count; k++)
			close(fds[k]);	/* the protocol has none in this direction */
		bytes[n] = '\0';
		take_message(worker, bytes);
	}
}

static void on_socket(uv_poll_t *poll, int status, int events);

static void watch(struct worker *worker)
{
	uv_poll_start(worker->poll, UV_READABLE | (worker->first ? UV_WRITABLE : 0), on_socket);
}

static void flush_pending(struct worker *worker)
{
	while (worker->first) {
		struct worker_pending *pending = worker->first;
		int r = io_send_message(worker->socket, pending->bytes, pending->length, pending->fds, pending->fd_count);
		if (r == -EAGAIN || r == -ENOBUFS)
			break;
		/* Another failure is a dead worker; its end of file says so next. */
		for (size_t i = 0; i < pending->fd_count; i++)
			close(pending->fds[i]);
		worker->first = pending->next;
		if (!worker->first)
			worker->last = &worker->first;
		free(pending);
	}
	watch(worker);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
	struct worker *worker = poll->data;
	if (status < 0) {
		die(worker, "the worker's socket failed");
		return;
	}
	if (events & UV_WRITABLE)
		flush_pending(worker);
	if (events & UV_READABLE)
		receive(worker);
}

static int spawn(struct worker *worker, const char *path, int its_end, struct pr_error *error)
{
	char serve[] = "--serve", own_ids[] = "--allow-own-ids", number[8];
	char *arguments[] = { (char *)path, serve, number, worker->allow_own_ids ? own_ids : NULL, NULL };
	uv_stdio_container_t stdio[SERVE_FD + 1] = {
		{ .flags = UV_IGNORE },
		{ .flags = UV_INHERIT_FD, .data.fd = worker->stderr_fd },
		{ .flags = UV_INHERIT_FD, .data.fd = worker->stderr_fd },
		{ .flags = UV_INHERIT_FD, .data.fd = its_end },
	};
	uv_process_options_t options = {
		.file = path, .args = arguments, .exit_cb = on_worker_exit, .stdio = stdio, .stdio_count = ELEMENTS(stdio),
	};

	snprintf(number, sizeof number, "%d", SERVE_FD);
	worker->process = calloc(1, sizeof *worker->process);
	if (!worker->process)
		return pr_error_errno(error, ENOMEM, "starting %s", path);
	worker->process->data = worker;
	int r = uv_spawn(worker->loop, worker->process, &options);
	if (r < 0) {
		uv_close((uv_handle_t *)worker->process, free_handle);
		worker->process = NULL;
		return pr_error_errno(error, -r, "starting %s", path);
	}
	return 0;
}

int worker_start(struct worker *worker, struct pr_error *error)
{
	char path[PATH_MAX];
	int pair[2];

	worker->socket = -1;
	worker->ready = false;
	worker->last = &worker->first;
	int r = place_program("proctor-worker", path, sizeof path, error);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return pr_error_errno(error, errno, "making the worker's socket");
	_cleanup_close_ int ours = pair[0], its = pair[1];
	worker->poll = calloc(1, sizeof *worker->poll);
	if (!worker->poll)
		return pr_error_errno(error, ENOMEM, "starting the worker");
	(void)io_set_nonblocking(ours, true);
	r = uv_poll_init(worker->loop, worker->poll, ours);
	if (r < 0) {
		free(worker->poll);
		worker->poll = NULL;
		return pr_error_errno(error, -r, "watching the worker's socket");
	}
	worker->poll->data = worker;
	worker->socket = take_fd(&ours);
	r = spawn(worker, path, its, error);
	if (r < 0) {
		worker_stop(worker);
		return r;
	}
	watch(worker);
	return 0;
}

static int keep_pending(struct worker *worker, const char *text, size_t length, const int *fds, size_t fd_count,
			struct pr_error *error)
{
	struct worker_pending *pending = calloc(1, sizeof *pending + length);
	if (!pending)
		return pr_error_errno(error, ENOMEM, "asking the worker");
	memcpy(pending->bytes, text, length);
	pending->length = length;
	for (size_t i = 0; i < fd_count; i++) {
		int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (copy < 0) {
			int r = pr_error_errno(error, errno, "keeping a descriptor for the worker");
			while (pending->fd_count > 0)
				close(pending->fds[--pending->fd_count]);
			free(pending);
			return r;
		}
		pending->fds[pending->fd_count++] = copy;
	}
	*worker->last = pending;
	worker->last = &pending->next;
	watch(worker);
	return 0;
}

int worker_send(struct worker *worker, struct json_object *message, const int *fds, size_t fd_count,
		struct pr_error *error)
{
	const char *text = message ? json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN) : NULL;
	int r;

	if (!text)
		r = pr_error_errno(error, ENOMEM, "asking the worker");
	else if (!worker->poll)
		r = pr_error_set(error, EPIPE, "no worker is alive");
	else if (fd_count > WORKER_FDS || strlen(text) > WORKER_MESSAGE)
		r = pr_error_set(error, EMSGSIZE, "a message to the worker is too long");
	else {
		r = worker->first ? -EAGAIN : io_send_message(worker->socket, text, strlen(text), fds, fd_count);
		if (r == -EAGAIN || r == -ENOBUFS)
			r = keep_pending(worker, text, strlen(text), fds, fd_count, error);
		else if (r < 0)
			pr_error_errno(error, -r, "asking the worker");
	}
	json_object_put(message);
	return r;
}

int worker_tell(struct worker *worker, const char *op, uint64_t run)
{
	struct json_object *message = json_object_new_object();
	if (!message)
		return -ENOMEM;
	json_object_object_add(message, "op", json_object_new_string(op));
	if (run != 0)
		json_object_object_add(message, "run", json_object_new_int64((int64_t)run));
	return worker_send(worker, message, NULL, 0, NULL);
}
