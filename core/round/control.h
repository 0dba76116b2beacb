/*
 * The control socket of a round (docs/architecture.md, "Wire"): watchers and their commands.
 *
 * Only the owner's uid, or root, is served. No watcher is ever waited for: past CONTROL_UNSENT bytes that it has
 * not read, lines are left out for it, and once it reads again it gets a new snapshot. A command's id is
 * remembered with its answer, so that repeating one is harmless.
 */
#ifndef CORE_ROUND_CONTROL_H
#define CORE_ROUND_CONTROL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "core/round/directory.h"
#include "core/round/journal.h"
#include <proctor/wire.h>

#define CONTROL_UNSENT ((size_t)262144)
#define CONTROL_WATCHERS 64
#define CONTROL_ANSWERS 256	/* ids that are remembered; the oldest answered one makes room */

struct watcher;
struct control_answer;

struct control_command {
	const char *id;		/* to answer by */
	int verb;		/* enum pr_verb */
	const char *task;	/* NULL: the round */
	uid_t uid;
	pid_t pid;
};

struct control {
	uv_loop_t *loop;
	const struct journal *journal;
	const struct round_directory *directory;
	/* To be answered at once or later, exactly once. */
	void (*command)(void *context, const struct control_command *command);
	void (*watching)(void *context);	/* somebody began or ceased to watch */
	void *context;

	uv_pipe_t *server;
	char path[128];
	struct watcher *watchers;
	size_t watcher_count;
	struct control_answer *answers[CONTROL_ANSWERS];
	size_t next_answer;
};

/* Zero the struct and set the first members beforehand. Binds and listens; the socket is 0600. */
int control_start(struct control *control, const char *path, struct pr_error *error);
/* Removes the socket and takes no one new. Those who watch are served on until control_stop(). */
void control_unlink(struct control *control);
void control_stop(struct control *control);

/* A line of the log, just written. */
void control_line(struct control *control, const char *line, size_t length);
/* progress, tail: to watchers that keep up. The object stays the caller's. */
void control_ephemeral(struct control *control, struct json_object *object);
bool control_watched(const struct control *control);
/* Everything that was sent has been taken. */
bool control_drained(const struct control *control);

/* `more` may be NULL; it stays the caller's. */
void control_answer(struct control *control, const char *id, struct json_object *more);
void control_refuse(struct control *control, const char *id, const char *code, const char *message);

#endif
