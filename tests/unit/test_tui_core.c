/*
 * A core for the tests of the front: it keeps a log and serves the wire as the real one does, and what it does is
 * the text of the "round file", a line a step:
 *
 *     {"type":...}     an event: into the log, then to the watchers
 *     hidden {...}     into the log alone: what a slow watcher misses
 *     gate             waits for `start` or `stop`, unless --yes was given
 *     hold             waits for `stop`, or for the end of the --attached descriptor
 *     pause            waits until somebody watches
 *     die              ends without a word
 *     mute             takes no connection and waits until it is killed (it is, with its test)
 *     refuse WORDS     prints WORDS and exits 2; must be the first line
 *
 * Built under the name proctor-core, and as proctor-worker, whose --stop it plays; the front finds both beside itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <json-c/json.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/base/place.h"
#include "core/record/jsonc.h"
#include "core/record/log.h"

#include <proctor/model.h>
#include <proctor/wire.h>

#define CLIENTS 8
#define LIFE_S 60	/* no test lasts as long; a core that outlives its test ends by itself */

struct client {
	int fd;
	bool watches;
	struct pr_lines lines;
};

static struct core {
	char name[64], dir[512], socket[108];
	int listener, attached;
	struct event_log *log;
	struct pr_model model;
	struct client clients[CLIENTS];
	bool start, stop;	/* what clients asked for */
} core = { .listener = -1, .attached = -1, .model = PR_MODEL_INIT };

_Noreturn static void fail(const char *what)
{
	fprintf(stderr, "the fake core: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void say(struct client *client, char *line, size_t length)
{
	if (io_write_all(client->fd, line, length) < 0)
		client->watches = false;
	free(line);
}

static void event(const char *text, bool hidden)
{
	_cleanup_jsonc_ struct json_object *object = json_tokener_parse(text);
	struct pr_error error = { 0 };
	const char *line;
	size_t length;
	if (!object || log_append(core.log, object, &line, &length, &error) < 0) {
		fprintf(stderr, "the fake core: %s: %s\n", text, error.message);
		exit(99);
	}
	pr_model_apply(&core.model, object);
	for (size_t i = 0; i < CLIENTS && !hidden; i++)
		if (core.clients[i].watches)
			say(&core.clients[i], strndup(line, length), length);
}

/* A freeze is told of by its event, a stop by its answer: the front must take both. */
static void command(struct client *client, const struct pr_message *message)
{
	char *line;
	size_t length;
	if (message->task && strcmp(message->task, "nobody") == 0) {
		if (pr_wire_answer_refused(message->id, "no-task", "there is no such task", &line, &length) >= 0)
			say(client, line, length);
		return;
	}
	_cleanup_jsonc_ struct json_object *more = NULL;
	core.start |= message->verb == PR_VERB_START;
	core.stop |= message->verb == PR_VERB_STOP && !message->task;
	if (message->verb == PR_VERB_FREEZE)
		event("{\"type\":\"control\",\"verb\":\"freeze\",\"who\":{\"uid\":0,\"pid\":1},\"task\":null,\"ms\":2.5,"
		      "\"processes\":41,\"runs\":2}", false);
	if (message->verb == PR_VERB_STOP)
		more = json_tokener_parse("{\"ms\":9,\"killed\":41,\"remaining\":0,\"removed\":2}");
	if (pr_wire_answer_ok(message->id, more, &line, &length) >= 0)
		say(client, line, length);
}

static void watch(struct client *client, const struct pr_message *message)
{
	char *line;
	size_t length;
	client->watches = true;
	if (pr_wire_snapshot(&core.model, &line, &length) >= 0)
		say(client, line, length);
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	char path[600];
	const char *old;
	snprintf(path, sizeof path, "%s/events.jsonl", core.dir);
	if (log_reader_open(path, &reader, NULL) < 0)
		fail(path);
	for (uint64_t seq = 1; log_reader_next(reader, &old, &length, NULL) > 0; seq++) {
		struct buffer whole = BUFFER_INIT;
		if (seq < message->from)
			continue;
		buffer_printf(&whole, "%s\n", old);
		length = whole.length;
		say(client, buffer_take(&whole), length);
	}
}

static void take(struct client *client)
{
	char bytes[4096];
	ssize_t length = read(client->fd, bytes, sizeof bytes);
	if (length <= 0) {
		close(client->fd);
		pr_lines_release(&client->lines);
		*client = (struct client){ .fd = -1, .lines = PR_LINES_INIT };
		return;
	}
	const char *line;
	size_t line_length;
	pr_lines_feed(&client->lines, bytes, (size_t)length);
	while (pr_lines_next(&client->lines, &line, &line_length) > 0) {
		struct pr_message message;
		if (pr_wire_parse(line, line_length, &message, NULL) < 0)
			continue;
		if (message.type == PR_MESSAGE_WATCH)
			watch(client, &message);
		if (message.type == PR_MESSAGE_COMMAND)
			command(client, &message);
		pr_message_release(&message);
	}
}

static void welcome(void)
{
	int fd = accept4(core.listener, NULL, NULL, SOCK_CLOEXEC);
	char *line;
	size_t length;
	for (size_t i = 0; i < CLIENTS && fd >= 0; i++) {
		if (core.clients[i].fd >= 0)
			continue;
		core.clients[i].fd = fd;
		if (pr_wire_hello(core.name, core.dir, log_seq(core.log), &line, &length) >= 0)
			say(&core.clients[i], line, length);
		return;
	}
}

static bool watched(void)
{
	for (size_t i = 0; i < CLIENTS; i++)
		if (core.clients[i].watches)
			return true;
	return false;
}

static void serve(int ms)
{
	struct pollfd wanted[CLIENTS + 2] = {
		[CLIENTS] = { .fd = core.listener, .events = POLLIN },
		[CLIENTS + 1] = { .fd = core.attached, .events = POLLIN },
	};
	for (size_t i = 0; i < CLIENTS; i++)
		wanted[i] = (struct pollfd){ .fd = core.clients[i].fd, .events = POLLIN };
	if (poll(wanted, CLIENTS + 2, ms) < 0)
		return;
	for (size_t i = 0; i < CLIENTS; i++)
		if (wanted[i].revents)
			take(&core.clients[i]);
	if (wanted[CLIENTS].revents)
		welcome();
	core.stop |= wanted[CLIENTS + 1].revents != 0;
}

_Noreturn static void finish_stopped(void)
{
	event("{\"type\":\"control\",\"verb\":\"stop\",\"who\":{\"uid\":0,\"pid\":1},\"task\":null,\"ms\":9,\"killed\":41,"
	      "\"remaining\":0,\"removed\":2}", false);
	event("{\"type\":\"round.finished\",\"state\":\"stopped\",\"tasks\":1,\"pass\":0,\"fail\":0,\"invalid\":0,\"error\":0,"
	      "\"stopped\":1,\"spend_usd_micro\":0,\"wall_ms\":10,\"head\":\"\"}", false);
	serve(0);
	exit(0);
}

static void step(const char *line, bool yes)
{
	if (line[0] == '{')
		event(line, false);
	else if (strncmp(line, "hidden ", 7) == 0)
		event(line + 7, true);
	else if (strcmp(line, "die") == 0)
		_exit(9);
	while (strcmp(line, "pause") == 0 && !watched())
		serve(-1);
	while (strcmp(line, "mute") == 0)
		pause();
	while (strcmp(line, "gate") == 0 && !yes && !core.start && !core.stop)
		serve(-1);
	while (strcmp(line, "hold") == 0 && !core.stop)
		serve(-1);
	if (core.stop)
		finish_stopped();
}

static void open_round(bool resumes, const char *word)
{
	char parent[400], path[600];
	struct pr_error error = { 0 };
	snprintf(core.name, sizeof core.name, "%s", resumes ? word : "fake-20260102-030405");
	if (place_rounds(parent, sizeof parent, &error) < 0)
		fail(error.message);
	snprintf(core.dir, sizeof core.dir, "%.400s/%.63s", parent, core.name);
	mkdir(core.dir, 0700);
	snprintf(path, sizeof path, "%s/lock", core.dir);
	int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
		fail(path);
	snprintf(path, sizeof path, "%s/events.jsonl", core.dir);
	if (log_open(path, &core.log, NULL, &error) < 0)
		fail(error.message);

	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (place_sockets(parent, 64, &error) < 0)
		fail(error.message);
	snprintf(core.socket, sizeof core.socket, "%.60s/%.40s.sock", parent, core.name);
	memcpy(address.sun_path, core.socket, strlen(core.socket) + 1);
	unlink(core.socket);
	core.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(core.listener, (struct sockaddr *)&address, sizeof address) < 0 || listen(core.listener, 8) < 0)
		fail(core.socket);
	for (size_t i = 0; i < CLIENTS; i++)
		core.clients[i] = (struct client){ .fd = -1, .lines = PR_LINES_INIT };
}

static void announce(int fd)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;
	buffer_printf(&line, "{\"round\":\"%s\",\"dir\":\"%s\",\"socket\":\"%s\"}\n", core.name, core.dir, core.socket);
	io_write_all(fd, line.data, line.length);
	close(fd);
}

int main(int argc, char *argv[])
{
	const char *file = NULL;
	int fd = -1;
	bool yes = false, nobody = false, resumes = false;
	signal(SIGPIPE, SIG_IGN);
	alarm(LIFE_S);
	if (argc == 3 && strcmp(argv[1], "--stop") == 0) {
		printf("{\"killed\":7,\"remaining\":%d,\"removed\":1,\"ms\":4}\n", getenv("FAKE_WORKER_LEAVES") ? 2 : 0);
		return 0;
	}
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--yes") == 0)
			yes = true;
		else if (strcmp(argv[i], "--nobody") == 0)
			nobody = true;
		else if (strcmp(argv[i], "--announce") == 0)
			fd = atoi(argv[++i]);
		else if (strcmp(argv[i], "--attached") == 0)
			core.attached = atoi(argv[++i]);
		else if (strcmp(argv[i], "--resume") == 0)
			resumes = true;
		else
			file = argv[i];
	}
	_cleanup_buffer_ struct buffer script = BUFFER_INIT;
	/* A resumed round goes on by the script that the environment names. */
	const char *path = resumes ? getenv("FAKE_CORE_RESUME") : file;
	if (!path || io_read_file(AT_FDCWD, path, 1 << 20, &script) < 0)
		fail(path ? path : "no script");
	if (strncmp(script.data, "refuse ", 7) == 0) {
		fprintf(stderr, "%s", script.data + 7);
		return 2;
	}
	if (strcmp(argv[1], "check") == 0)
		return 0;
	if (nobody && strstr(script.data, "\"waiting\"")) {
		fprintf(stderr, "the fake core: nobody to ask; proctor run FILE --yes\n");
		return 2;
	}
	open_round(resumes, file);
	setsid();
	announce(fd);
	for (char *line = script.data, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		step(line, yes);
		serve(0);
	}
	return 0;
}
