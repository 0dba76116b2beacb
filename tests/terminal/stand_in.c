/* A round without its core (stand_in.h). */
#include "tests/terminal/stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/record/jsonc.h"
#include "core/record/log.h"
#include "tests/support/scratch.h"

#include <proctor/model.h>
#include <proctor/wire.h>

#define CLIENTS 8
#define UNSENT_MAX ((size_t)256 << 10)	/* as the core has it: past this a watcher gets a snapshot later */
#define ROUND_NAME "demo-20260102-030405"

struct client {
	int fd;
	bool watches, behind;
	struct pr_lines lines;
	struct buffer unsent;
};

struct stand_in_core {
	char dir[400], socket[108];
	int listener;
	struct event_log *log;
	struct pr_model model;
	bool stopped;
	struct client clients[CLIENTS];
};

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "stand-in: %s: %s\n", what, strerror(errno));
	_exit(99);
}

static void drop(struct client *client)
{
	close(client->fd);
	pr_lines_release(&client->lines);
	buffer_release(&client->unsent);
	*client = (struct client){ .fd = -1, .lines = PR_LINES_INIT, .unsent = BUFFER_INIT };
}

static void flush(struct client *client)
{
	while (client->fd >= 0 && client->unsent.length > 0) {
		ssize_t n = send(client->fd, client->unsent.data, client->unsent.length, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			drop(client);
			return;
		}
		memmove(client->unsent.data, client->unsent.data + n, client->unsent.length - (size_t)n);
		client->unsent.length -= (size_t)n;
	}
}

static void say(struct client *client, const char *line, size_t length)
{
	if (client->fd < 0)
		return;
	/* A line that is longer than that, as the snapshot of a large round, goes alone. */
	if (client->unsent.length > 0 && client->unsent.length + length > UNSENT_MAX) {
		client->behind = true;
		return;
	}
	buffer_add(&client->unsent, line, length);
	flush(client);
}

static void say_all(struct stand_in_core *core, const char *line, size_t length)
{
	for (size_t i = 0; i < CLIENTS; i++)
		if (core->clients[i].watches && !core->clients[i].behind)
			say(&core->clients[i], line, length);
}

void stand_in_event(struct stand_in_core *core, const char *json)
{
	_cleanup_jsonc_ struct json_object *object = json_tokener_parse(json);
	struct pr_error error = { 0 };
	const char *line;
	size_t length;
	if (!object || log_append(core->log, object, &line, &length, &error) < 0) {
		fprintf(stderr, "stand-in: %s: %s\n", json, error.message);
		_exit(99);
	}
	pr_model_apply(&core->model, object);
	say_all(core, line, length);
}

void stand_in_eventf(struct stand_in_core *core, const char *format, ...)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	va_list arguments;
	va_start(arguments, format);
	buffer_vprintf(&text, format, arguments);
	va_end(arguments);
	stand_in_event(core, text.data);
}

void stand_in_say(struct stand_in_core *core, const char *json)
{
	_cleanup_jsonc_ struct json_object *object = json_tokener_parse(json);
	_cleanup_free_ char *line = NULL;
	size_t length;
	if (!object || pr_wire_object(object, &line, &length) < 0)
		fail(json);
	pr_model_apply(&core->model, object);
	say_all(core, line, length);
}

static void send_snapshot(struct stand_in_core *core, struct client *client)
{
	_cleanup_free_ char *line = NULL;
	size_t length;
	if (pr_wire_snapshot(&core->model, &line, &length) >= 0)
		say(client, line, length);
}

static void watch(struct stand_in_core *core, struct client *client, const struct pr_message *message)
{
	client->watches = true;
	send_snapshot(core, client);
	char path[512];
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	const char *old;
	size_t length;
	snprintf(path, sizeof path, "%s/events.jsonl", core->dir);
	if (!message->has_from || log_reader_open(path, &reader, NULL) < 0)
		return;
	for (uint64_t seq = 1; log_reader_next(reader, &old, &length, NULL) > 0; seq++) {
		_cleanup_buffer_ struct buffer whole = BUFFER_INIT;
		if (seq >= message->from && buffer_printf(&whole, "%s\n", old) >= 0)
			say(client, whole.data, whole.length);
	}
}

static void control(struct stand_in_core *core, const char *verb, const char *more)
{
	stand_in_eventf(core, "{\"type\":\"control\",\"verb\":\"%s\",\"who\":{\"uid\":0,\"pid\":1},\"task\":null%s}", verb, more);
}

static void command(struct stand_in_core *core, struct client *client, const struct pr_message *message)
{
	_cleanup_jsonc_ struct json_object *more = NULL;
	_cleanup_free_ char *line = NULL;
	size_t length;
	if (message->verb == PR_VERB_FREEZE) {
		control(core, "freeze", ",\"ms\":3.1,\"processes\":41,\"runs\":2");
		more = json_tokener_parse("{\"ms\":3.1,\"processes\":41,\"runs\":2,\"frozen\":true}");
	} else if (message->verb == PR_VERB_THAW) {
		control(core, "thaw", "");
	} else if (message->verb == PR_VERB_DRAIN) {
		control(core, "drain", "");
	} else if (message->verb == PR_VERB_STOP && !message->task) {
		control(core, "stop", ",\"ms\":9.2,\"killed\":41,\"remaining\":0,\"removed\":2");
		more = json_tokener_parse("{\"ms\":9.2,\"killed\":41,\"remaining\":0,\"removed\":2}");
		core->stopped = true;
	} else if (message->verb == PR_VERB_STOP) {
		stand_in_eventf(core, "{\"type\":\"control\",\"verb\":\"stop\",\"who\":{\"uid\":0,\"pid\":1},\"task\":\"%s\",\"ms\":1.2,"
				"\"killed\":4,\"remaining\":0,\"removed\":true}", message->task);
		more = json_tokener_parse("{\"ms\":1.2,\"killed\":4,\"remaining\":0,\"removed\":1}");
	}
	if (pr_wire_answer_ok(message->id, more, &line, &length) >= 0)
		say(client, line, length);
}

static void take(struct stand_in_core *core, struct client *client)
{
	char bytes[4096];
	ssize_t length = recv(client->fd, bytes, sizeof bytes, MSG_DONTWAIT);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (length <= 0) {
		drop(client);
		return;
	}
	const char *line;
	size_t line_length;
	pr_lines_feed(&client->lines, bytes, (size_t)length);
	while (client->fd >= 0 && pr_lines_next(&client->lines, &line, &line_length) > 0) {
		struct pr_message message;
		if (pr_wire_parse(line, line_length, &message, NULL) < 0)
			continue;
		if (message.type == PR_MESSAGE_WATCH)
			watch(core, client, &message);
		if (message.type == PR_MESSAGE_COMMAND)
			command(core, client, &message);
		pr_message_release(&message);
	}
}

static void welcome(struct stand_in_core *core)
{
	int fd = accept4(core->listener, NULL, NULL, SOCK_CLOEXEC);
	_cleanup_free_ char *line = NULL;
	size_t length;
	for (size_t i = 0; i < CLIENTS && fd >= 0; i++) {
		if (core->clients[i].fd >= 0)
			continue;
		core->clients[i].fd = fd;
		if (pr_wire_hello(ROUND_NAME, core->dir, log_seq(core->log), &line, &length) >= 0)
			say(&core->clients[i], line, length);
		return;
	}
	if (fd >= 0)
		close(fd);
}

static void serve_once(struct stand_in_core *core, int ms)
{
	struct pollfd wanted[CLIENTS + 1] = { [CLIENTS] = { .fd = core->listener, .events = POLLIN } };
	for (size_t i = 0; i < CLIENTS; i++)
		wanted[i] = (struct pollfd){ .fd = core->clients[i].fd,
					     .events = (short)(POLLIN | (core->clients[i].unsent.length ? POLLOUT : 0)) };
	if (poll(wanted, CLIENTS + 1, ms) <= 0)
		return;
	for (size_t i = 0; i < CLIENTS; i++) {
		if (wanted[i].revents & POLLOUT)
			flush(&core->clients[i]);
		if (wanted[i].revents & ~POLLOUT)
			take(core, &core->clients[i]);
		if (core->clients[i].behind && core->clients[i].unsent.length == 0) {
			core->clients[i].behind = false;
			send_snapshot(core, &core->clients[i]);
		}
	}
	if (wanted[CLIENTS].revents)
		welcome(core);
}

void stand_in_serve(struct stand_in_core *core, int ms)
{
	int64_t end = clock_mono_ns() + ms * NS_PER_MS, now;
	do {
		now = clock_mono_ns();
		serve_once(core, now < end ? (int)((end - now + NS_PER_MS - 1) / NS_PER_MS) : 0);
	} while (clock_mono_ns() < end);
}

bool stand_in_watched(struct stand_in_core *core, int timeout_ms)
{
	int64_t end = clock_mono_ns() + timeout_ms * NS_PER_MS;
	while (clock_mono_ns() < end) {
		for (size_t i = 0; i < CLIENTS; i++)
			if (core->clients[i].watches)
				return true;
		stand_in_serve(core, 20);
	}
	return false;
}

bool stand_in_frozen(const struct stand_in_core *core)
{
	return core->model.frozen;
}

bool stand_in_asked_to_stop(const struct stand_in_core *core)
{
	return core->stopped;
}

static void open_core(struct stand_in_core *core, const struct stand_in *round)
{
	struct pr_error error = { 0 };
	char path[512];
	snprintf(core->dir, sizeof core->dir, "%.300s/state/proctor/rounds/" ROUND_NAME, round->root);
	snprintf(path, sizeof path, "%s/lock", core->dir);
	scratch_write(path, 0600, "");
	int lock = open(path, O_RDWR | O_CLOEXEC);
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		fail(path);
	snprintf(path, sizeof path, "%s/events.jsonl", core->dir);
	if (log_open(path, &core->log, NULL, &error) < 0)
		fail(error.message);
	snprintf(core->socket, sizeof core->socket, "%.60s/run/proctor/" ROUND_NAME ".sock", round->root);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	memcpy(address.sun_path, core->socket, strlen(core->socket) + 1);
	core->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(core->listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(core->listener, 8) < 0)
		fail(core->socket);
	for (size_t i = 0; i < CLIENTS; i++)
		core->clients[i] = (struct client){ .fd = -1, .lines = PR_LINES_INIT, .unsent = BUFFER_INIT };
}

void stand_in_start(struct stand_in *round, void (*play)(struct stand_in_core *, void *), void *argument)
{
	char root[] = "/tmp/pw-XXXXXX";	/* short: a socket's path has 107 bytes */
	int ready[2];
	if (!mkdtemp(root) || pipe2(ready, O_CLOEXEC) < 0) {
		perror(root);
		exit(1);
	}
	*round = (struct stand_in){ .root = scratch_text("%s", root), .name = ROUND_NAME };
	round->texts[0] = scratch_text("XDG_STATE_HOME=%s/state", root);
	round->texts[1] = scratch_text("XDG_RUNTIME_DIR=%s/run", root);
	round->texts[2] = scratch_text("HOME=%s", root);
	round->texts[3] = scratch_text("XDG_CONFIG_HOME=%s/config", root);
	for (size_t i = 0; i < ELEMENTS(round->texts); i++)
		round->variables[i] = round->texts[i];
	_cleanup_free_ char *run = scratch_text("%s/run", root), *sockets = scratch_text("%s/run/proctor", root);
	mkdir(run, 0700);
	mkdir(sockets, 0700);
	fflush(NULL);
	round->pid = fork();
	if (round->pid == 0) {
		static struct stand_in_core core = { .listener = -1, .model = PR_MODEL_INIT };
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		open_core(&core, round);
		close(ready[0]);
		close(ready[1]);
		play(&core, argument);
		_exit(0);
	}
	close(ready[1]);
	char byte;
	while (read(ready[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(ready[0]);
}

void stand_in_stop(struct stand_in *round)
{
	if (round->pid > 0) {
		kill(round->pid, SIGKILL);
		while (waitpid(round->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (round->root)
		scratch_remove(round->root);
	free(round->root);
	for (size_t i = 0; i < ELEMENTS(round->texts); i++)
		free(round->texts[i]);
	*round = (struct stand_in){ .pid = -1 };
}

void stand_in_open_round(struct stand_in_core *core, int tasks, int parallel)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	buffer_printf(&text, "{\"type\":\"round.opened\",\"round\":\"" ROUND_NAME "\",\"name\":\"demo\",\"kind\":\"smoke\",\"dir\":\"%s\","
		      "\"version\":\"0\",\"tasks\":[", core->dir);
	for (int i = 1; i <= tasks; i++)
		buffer_printf(&text, "%s{\"task\":\"task-%03d\",\"source\":\"subject\"}", i > 1 ? "," : "", i);
	buffer_printf(&text, "],\"parallel\":%d,\"agent\":\"fix\",\"profile\":\"residency.confined-local.v1\",\"wall_clock_ms\":600000,"
		      "\"tests_wall_clock_ms\":120000,\"resumed\":false}", parallel);
	stand_in_event(core, text.data);
	stand_in_event(core, "{\"type\":\"preflight.check\",\"id\":\"kill boundary\",\"state\":\"ok\",\"tried\":\"born, killed, empty, "
		       "removed in 1.1 ms\",\"remedy\":null}");
	stand_in_event(core, "{\"type\":\"preflight.verdict\",\"ok\":1,\"warn\":0,\"fail\":0,\"unknown\":0}");
	stand_in_event(core, "{\"type\":\"round.gate\",\"state\":\"open\",\"by\":\"--yes\"}");
	stand_in_event(core, "{\"type\":\"round.started\"}");
}

void stand_in_run_task(struct stand_in_core *core, int task, const char *phase)
{
	for (int at = PR_PHASE_PREPARE; at < PR_PHASE_DONE; at++) {
		const char *name = pr_phase_name(at);
		stand_in_eventf(core, "{\"type\":\"task.phase\",\"task\":\"task-%03d\",\"phase\":\"%s\",\"state\":\"started\"}", task, name);
		if (strcmp(name, phase) == 0)
			return;
		stand_in_eventf(core, "{\"type\":\"task.phase\",\"task\":\"task-%03d\",\"phase\":\"%s\",\"state\":\"ended\",\"wall_ms\":40,"
				"\"termination\":\"exited\",\"exit_code\":0}", task, name);
	}
}

void stand_in_end_task(struct stand_in_core *core, int task, const char *verdict, const char *reason, int wall_ms)
{
	bool passed = strcmp(verdict, "pass") == 0, stopped = strcmp(verdict, "stopped") == 0;
	const char *status = passed || strcmp(verdict, "fail") == 0 ? "ok" : verdict;
	stand_in_eventf(core, "{\"type\":\"boundary.closed\",\"task\":\"task-%03d\",\"phase\":\"patched\",\"run\":%d,\"killed\":%d,"
			"\"remaining\":0,\"removed\":true,\"nested\":0,\"ms\":1.4,\"cleanup\":\"ok\"}", task, task, stopped ? 20 : 0);
	stand_in_eventf(core, "{\"type\":\"task.verdict\",\"task\":\"task-%03d\",\"status\":\"%s\",\"verdict\":\"%s\",\"validity\":\"valid\","
			"\"reward\":%s,\"cause\":\"none\",\"charged_to\":\"candidate\",\"reason\":\"%s\",\"violations\":[],"
			"\"episode\":null,\"refusals\":0,\"wall_ms\":%d,\"spend_usd_micro\":0}", task, status, verdict,
			passed ? "1.0" : "0.0", reason, wall_ms);
}

void stand_in_progress(struct stand_in_core *core, int first, int count, int64_t wall_ms)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	buffer_printf(&text, "{\"type\":\"progress\",\"frozen\":%s,\"tasks\":[", core->model.frozen ? "true" : "false");
	for (int i = 0; i < count; i++)
		buffer_printf(&text, "%s{\"task\":\"task-%03d\",\"phase\":\"agent\",\"wall_ms\":%lld,\"limit_ms\":600000,\"processes\":%d,"
			      "\"memory_bytes\":%lld,\"output_bytes\":%lld,\"idle_ms\":%lld}", i ? "," : "", first + i,
			      (long long)(wall_ms + 7000 * i), 3 + i, (long long)(41000000 + 1000 * (wall_ms % 7919)),
			      (long long)wall_ms * 3, (long long)(wall_ms % 5000));
	buffer_add_text(&text, "]}");
	stand_in_say(core, text.data);
}
