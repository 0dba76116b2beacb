/* The control socket (control.h). It decides nothing: commands go to round.c. */
#include "core/round/control.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "core/base/cleanup.h"
#include "core/record/log.h"

#define BACKLOG 16
#define READ_BYTES 65536
#define ANSWER_WAITERS 8

struct watcher {
	struct watcher *next;
	struct control *control;
	uv_pipe_t pipe;
	struct pr_lines lines;
	uid_t uid;
	pid_t pid;
	bool watching;
	bool behind;			/* lines were left out; a snapshot follows when it has read the rest */
	bool closing;
	struct log_reader *reader;	/* catching up from `from`; NULL: live */
	uint64_t reader_seq, from;
};

/* One remembered command. */
struct control_answer {
	char id[PR_COMMAND_ID + 1];
	int verb;
	char task[PR_TASK_ID];
	char *line;			/* NULL: not answered yet */
	size_t length;
	struct watcher *waiters[ANSWER_WAITERS];
	size_t waiter_count;
};

struct write_request {
	uv_write_t request;
	struct watcher *watcher;
	char bytes[];
};

/* ------- watchers ------- */

static void forget(struct watcher *watcher)
{
	struct control *control = watcher->control;
	for (size_t i = 0; i < CONTROL_ANSWERS; i++) {
		struct control_answer *answer = control->answers[i];
		for (size_t k = 0; answer && k < answer->waiter_count; k++)
			if (answer->waiters[k] == watcher)
				answer->waiters[k] = NULL;
	}
	for (struct watcher **at = &control->watchers; *at; at = &(*at)->next)
		if (*at == watcher) {
			*at = watcher->next;
			control->watcher_count--;
			break;
		}
}

static void on_closed(uv_handle_t *handle)
{
	struct watcher *watcher = handle->data;
	pr_lines_release(&watcher->lines);
	log_reader_close(watcher->reader);
	free(watcher);
}

static void close_watcher(struct watcher *watcher)
{
	if (watcher->closing)
		return;
	bool watching = watcher->watching;
	watcher->closing = true;
	watcher->watching = false;
	forget(watcher);
	uv_close((uv_handle_t *)&watcher->pipe, on_closed);
	if (watching && watcher->control->watching)
		watcher->control->watching(watcher->control->context);
}

static size_t unsent(const struct watcher *watcher)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&watcher->pipe);
}

static void catch_up(struct watcher *watcher);

static void on_written(uv_write_t *request, int status)
{
	struct watcher *watcher = ((struct write_request *)request)->watcher;
	free(request);
	if (status < 0)
		close_watcher(watcher);
	else if (!watcher->closing)
		catch_up(watcher);
}

static void send_line(struct watcher *watcher, const char *line, size_t length)
{
	if (watcher->closing)
		return;
	struct write_request *request = malloc(sizeof *request + length);
	if (!request) {
		close_watcher(watcher);
		return;
	}
	memcpy(request->bytes, line, length);
	request->watcher = watcher;
	uv_buf_t buffer = uv_buf_init(request->bytes, (unsigned)length);
	if (uv_write(&request->request, (uv_stream_t *)&watcher->pipe, &buffer, 1, on_written) < 0) {
		free(request);
		close_watcher(watcher);
	}
}

static void send_snapshot(struct watcher *watcher)
{
	_cleanup_free_ char *line = NULL;
	size_t length;
	if (pr_wire_snapshot(&watcher->control->journal->model, &line, &length) < 0)
		close_watcher(watcher);
	else
		send_line(watcher, line, length);
}

/* The next lines of the log for one that asked from an earlier event on; live when it has them all. */
static void read_on(struct watcher *watcher)
{
	while (watcher->reader && !watcher->closing && unsent(watcher) < CONTROL_UNSENT / 4) {
		const char *line;
		size_t length;
		int r = log_reader_next(watcher->reader, &line, &length, NULL);
		if (r < 0) {
			close_watcher(watcher);
			return;
		}
		if (r == 0) {
			log_reader_close(watcher->reader);
			watcher->reader = NULL;
			return;
		}
		/* Events are numbered from 1 without a gap: the n-th line is event n. */
		if (++watcher->reader_seq < watcher->from)
			continue;
		_cleanup_free_ char *whole = malloc(length + 1);
		if (!whole) {
			close_watcher(watcher);
			return;
		}
		memcpy(whole, line, length);
		whole[length] = '\n';
		send_line(watcher, whole, length + 1);
	}
}

static void catch_up(struct watcher *watcher)
{
	if (watcher->reader) {
		read_on(watcher);
	} else if (watcher->behind && unsent(watcher) == 0) {
		watcher->behind = false;
		send_snapshot(watcher);
	}
}

static void begin_watching(struct watcher *watcher, bool has_from, uint64_t from)
{
	struct control *control = watcher->control;
	send_snapshot(watcher);
	if (has_from) {
		char path[PATH_MAX + 32];
		snprintf(path, sizeof path, "%s/events.jsonl", control->directory->path);
		log_reader_close(watcher->reader);
		watcher->reader = NULL;
		watcher->reader_seq = 0;
		watcher->from = from;
		if (log_reader_open(path, &watcher->reader, NULL) < 0)
			close_watcher(watcher);
	}
	if (watcher->closing)
		return;
	watcher->watching = true;
	watcher->behind = false;
	read_on(watcher);
	if (control->watching)
		control->watching(control->context);
}

/* ------- commands and answers ------- */

static struct control_answer *find_answer(struct control *control, const char *id)
{
	for (size_t i = 0; i < CONTROL_ANSWERS; i++)
		if (control->answers[i] && strcmp(control->answers[i]->id, id) == 0)
			return control->answers[i];
	return NULL;
}

static void free_answer(struct control_answer *answer)
{
	if (answer)
		free(answer->line);
	free(answer);
}

/* The oldest answered one makes room; NULL where all wait, which is a flood. */
static struct control_answer *new_answer(struct control *control)
{
	for (size_t i = 0; i < CONTROL_ANSWERS; i++) {
		struct control_answer **at = &control->answers[control->next_answer++ % CONTROL_ANSWERS];
		if (*at && !(*at)->line)
			continue;
		free_answer(*at);
		*at = calloc(1, sizeof **at);
		return *at;
	}
	return NULL;
}

static void refuse_now(struct watcher *watcher, const char *id, const char *code, const char *message)
{
	_cleanup_free_ char *line = NULL;
	size_t length;
	if (pr_wire_answer_refused(id, code, message, &line, &length) >= 0)
		send_line(watcher, line, length);
}

static void take_command(struct watcher *watcher, const struct pr_message *message)
{
	struct control *control = watcher->control;
	const char *task = message->task ? message->task : "";

	if (message->verb < 0) {
		refuse_now(watcher, message->id, "unknown-verb", "no such verb; start, freeze, thaw, drain and stop are known");
		return;
	}
	struct control_answer *answer = find_answer(control, message->id);
	if (answer && (answer->verb != message->verb || strncmp(answer->task, task, sizeof answer->task - 1) != 0)) {
		refuse_now(watcher, message->id, "id-used", "this id was another command's");
		return;
	}
	if (answer) {
		if (answer->line)
			send_line(watcher, answer->line, answer->length);
		else if (answer->waiter_count < ANSWER_WAITERS)
			answer->waiters[answer->waiter_count++] = watcher;
		return;
	}
	answer = new_answer(control);
	if (!answer) {
		refuse_now(watcher, message->id, "busy", "too many commands wait for their answers");
		return;
	}
	snprintf(answer->id, sizeof answer->id, "%s", message->id);
	snprintf(answer->task, sizeof answer->task, "%s", task);
	answer->verb = message->verb;
	answer->waiters[answer->waiter_count++] = watcher;
	struct control_command command = { .id = answer->id, .verb = message->verb, .task = message->task,
		.uid = watcher->uid, .pid = watcher->pid };
	control->command(control->context, &command);
}

static void give_answer(struct control *control, const char *id, char *line, size_t length)
{
	struct control_answer *answer = find_answer(control, id);
	if (!answer || answer->line) {
		free(line);
		return;
	}
	answer->line = line;
	answer->length = length;
	for (size_t i = 0; i < answer->waiter_count; i++)
		if (answer->waiters[i])
			send_line(answer->waiters[i], line, length);
	answer->waiter_count = 0;
}

void control_answer(struct control *control, const char *id, struct json_object *more)
{
	char *line;
	size_t length;
	if (id && id[0] && pr_wire_answer_ok(id, more, &line, &length) >= 0)
		give_answer(control, id, line, length);
}

void control_refuse(struct control *control, const char *id, const char *code, const char *message)
{
	char *line;
	size_t length;
	if (id && id[0] && pr_wire_answer_refused(id, code, message, &line, &length) >= 0)
		give_answer(control, id, line, length);
}

/* ------- reading ------- */

static void take_line(struct watcher *watcher, const char *line, size_t length)
{
	struct pr_message message;
	if (pr_wire_parse(line, length, &message, NULL) < 0) {
		close_watcher(watcher);
		return;
	}
	if (message.type == PR_MESSAGE_WATCH)
		begin_watching(watcher, message.has_from, message.from);
	else if (message.type == PR_MESSAGE_COMMAND)
		take_command(watcher, &message);
	pr_message_release(&message);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buffer)
{
	static char bytes[READ_BYTES];	/* one loop, and each read is taken before the next */
	(void)handle;
	(void)suggested;
	*ret_buffer = uv_buf_init(bytes, sizeof bytes);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	struct watcher *watcher = stream->data;
	const char *line;
	size_t length;
	int r;

	if (n < 0 || pr_lines_feed(&watcher->lines, buffer->base, (size_t)n) < 0) {
		close_watcher(watcher);
		return;
	}
	while (!watcher->closing && (r = pr_lines_next(&watcher->lines, &line, &length)) != 0) {
		if (r < 0) {
			close_watcher(watcher);
			return;
		}
		take_line(watcher, line, length);
	}
}

static bool may_enter(struct watcher *watcher)
{
	struct ucred peer;
	socklen_t size = sizeof peer;
	uv_os_fd_t fd;
	if (uv_fileno((uv_handle_t *)&watcher->pipe, &fd) < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	watcher->uid = peer.uid;
	watcher->pid = peer.pid;
	return peer.uid == geteuid() || peer.uid == 0;
}

static void on_connection(uv_stream_t *server, int status)
{
	struct control *control = server->data;
	if (status < 0)
		return;
	struct watcher *watcher = calloc(1, sizeof *watcher);
	if (!watcher)
		return;
	watcher->control = control;
	watcher->lines = (struct pr_lines)PR_LINES_INIT;
	uv_pipe_init(control->loop, &watcher->pipe, 0);
	watcher->pipe.data = watcher;
	watcher->next = control->watchers;
	control->watchers = watcher;
	control->watcher_count++;
	if (uv_accept(server, (uv_stream_t *)&watcher->pipe) < 0 || !may_enter(watcher) ||
	    control->watcher_count > CONTROL_WATCHERS) {
		close_watcher(watcher);
		return;
	}
	_cleanup_free_ char *line = NULL;
	size_t length;
	if (pr_wire_hello(control->directory->name, control->directory->path, log_seq(control->journal->log), &line, &length) < 0) {
		close_watcher(watcher);
		return;
	}
	send_line(watcher, line, length);
	if (!watcher->closing)
		uv_read_start((uv_stream_t *)&watcher->pipe, on_room, on_read);
}

/* ------- outside ------- */

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

int control_start(struct control *control, const char *path, struct pr_error *error)
{
	control->server = calloc(1, sizeof *control->server);
	if (!control->server)
		return pr_error_errno(error, ENOMEM, "binding the control socket %s", path);
	uv_pipe_init(control->loop, control->server, 0);
	control->server->data = control;
	/* Only a core that holds the round's lock comes here: what stands there is a dead one's. */
	unlink(path);
	mode_t mask = umask(0177);
	int r = uv_pipe_bind(control->server, path);
	umask(mask);
	if (r >= 0)
		r = uv_listen((uv_stream_t *)control->server, BACKLOG, on_connection);
	if (r < 0) {
		uv_close((uv_handle_t *)control->server, free_handle);
		control->server = NULL;
		return pr_error_errno(error, -r, "binding the control socket %s", path);
	}
	snprintf(control->path, sizeof control->path, "%s", path);
	return 0;
}

void control_unlink(struct control *control)
{
	if (control->path[0])
		unlink(control->path);
	control->path[0] = '\0';
	if (control->server)
		uv_close((uv_handle_t *)control->server, free_handle);
	control->server = NULL;
}

void control_stop(struct control *control)
{
	control_unlink(control);
	control->watching = NULL;
	while (control->watchers)
		close_watcher(control->watchers);
	for (size_t i = 0; i < CONTROL_ANSWERS; i++) {
		free_answer(control->answers[i]);
		control->answers[i] = NULL;
	}
}

void control_line(struct control *control, const char *line, size_t length)
{
	for (struct watcher *watcher = control->watchers, *next; watcher; watcher = next) {
		next = watcher->next;
		/* One that catches up finds the line in the log. */
		if (!watcher->watching || watcher->behind || watcher->reader)
			continue;
		if (unsent(watcher) > CONTROL_UNSENT)
			watcher->behind = true;
		else
			send_line(watcher, line, length);
	}
}

void control_ephemeral(struct control *control, struct json_object *object)
{
	_cleanup_free_ char *line = NULL;
	size_t length;
	if (!control_watched(control) || pr_wire_object(object, &line, &length) < 0)
		return;
	for (struct watcher *watcher = control->watchers, *next; watcher; watcher = next) {
		next = watcher->next;
		if (watcher->watching && !watcher->behind && !watcher->reader && unsent(watcher) < CONTROL_UNSENT / 4)
			send_line(watcher, line, length);
	}
}

bool control_watched(const struct control *control)
{
	for (const struct watcher *watcher = control->watchers; watcher; watcher = watcher->next)
		if (watcher->watching)
			return true;
	return false;
}

bool control_drained(const struct control *control)
{
	for (const struct watcher *watcher = control->watchers; watcher; watcher = watcher->next)
		if (unsent(watcher) > 0 || watcher->reader || watcher->behind)
			return false;
	return true;
}
