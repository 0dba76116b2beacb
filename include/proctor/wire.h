/*
 * The wire between a core and its watchers: JSON lines over an AF_UNIX stream (docs/architecture.md, Wire).
 *
 *     server   hello, then (after watch) snapshot, events, progress, tail; answer to each command
 *     client   watch, command
 *
 * Both sides read with struct pr_lines, which bounds a line at PR_WIRE_LINE bytes: a longer one ends the
 * connection. Builders make whole lines, line feed included; pr_wire_parse() reads one.
 */
#ifndef PROCTOR_WIRE_H
#define PROCTOR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <proctor/error.h>
#include <proctor/event.h>

struct json_object;
struct pr_model;

#define PR_PROTOCOL 1
#define PR_WIRE_LINE ((size_t)1048576)	/* bytes, line feed included */
#define PR_COMMAND_ID 64		/* most bytes of a command's id */

/* ------- framing ------- */

/* An incremental reader of lines. `struct pr_lines lines = PR_LINES_INIT;` ... pr_lines_release(). */
struct pr_lines {
	char *data_;
	size_t start_, length_, scanned_, room_;
	bool broken_;
};

#define PR_LINES_INIT { NULL, 0, 0, 0, 0, false }

void pr_lines_release(struct pr_lines *lines);

/* Adds bytes as they came. -EPROTO: a line over PR_WIRE_LINE (end the connection); -ENOMEM. */
int pr_lines_feed(struct pr_lines *lines, const void *bytes, size_t length);

/* 1: the next whole line, without its line feed, NUL-terminated, lent until the next call of either; 0: none yet; -EPROTO. */
int pr_lines_next(struct pr_lines *lines, const char **ret_line, size_t *ret_length);

/* ------- messages ------- */

/* What came. X(identifier, "type") */
#define PR_MESSAGES(X) \
	X(PR_MESSAGE_HELLO, "hello") \
	X(PR_MESSAGE_WATCH, "watch") \
	X(PR_MESSAGE_SNAPSHOT, "snapshot") \
	X(PR_MESSAGE_COMMAND, "command") \
	X(PR_MESSAGE_ANSWER, "answer")

enum pr_message_type {
#define X(identifier, name) identifier,
	PR_MESSAGES(X)
#undef X
	PR_MESSAGE_EVENT,	/* every other type: an event of the log, progress, tail, or one we do not know */
};

struct pr_message {
	enum pr_message_type type;
	struct json_object *object;	/* the whole; owned by the message */
	/* Strings are lent by `object`, NULL where they do not stand. */
	int protocol;			/* hello */
	const char *round, *dir;	/* hello */
	uint64_t seq;			/* hello, snapshot; events of the log (else 0) */
	bool has_from;			/* watch */
	uint64_t from;			/* watch */
	struct json_object *model;	/* snapshot; lent: pr_model_from_json() */
	const char *id;			/* command, answer: 1 ... PR_COMMAND_ID bytes */
	int verb;			/* command: enum pr_verb, or -EINVAL for a word that is none */
	const char *verb_name;		/* command: as it came (untrusted) */
	const char *task;		/* command; NULL: the round */
	bool ok;			/* answer */
	const char *code, *message;	/* answer, where not ok */
	int event;			/* event: enum pr_event, or -EINVAL for a type we do not know */
};

/* -EBADMSG: no JSON object, no type, or a member that its type needs is missing or of the wrong kind; `ret_message` is then untouched. */
int pr_wire_parse(const char *line, size_t length, struct pr_message *ret_message, struct pr_error *error);
void pr_message_release(struct pr_message *message);

/*
 * Builders. 0 and a heap line (the caller's; line feed and NUL at its end) of `*ret_length` bytes, or
 * -ENOMEM, -EMSGSIZE (over PR_WIRE_LINE), -EINVAL (an argument that the parser would refuse).
 */
int pr_wire_hello(const char *round, const char *dir, uint64_t seq, char **ret_line, size_t *ret_length);
int pr_wire_watch(char **ret_line, size_t *ret_length);
int pr_wire_watch_from(uint64_t from, char **ret_line, size_t *ret_length);
/* A model too large for a line is said with shorter reasons rather than not at all. */
int pr_wire_snapshot(const struct pr_model *model, char **ret_line, size_t *ret_length);
/* `task` NULL: the round. */
int pr_wire_command(const char *id, enum pr_verb verb, const char *task, char **ret_line, size_t *ret_length);
/* `more` (may be NULL, stays the caller's): an object whose members stand beside the answer's own. */
int pr_wire_answer_ok(const char *id, struct json_object *more, char **ret_line, size_t *ret_length);
int pr_wire_answer_refused(const char *id, const char *code, const char *message, char **ret_line, size_t *ret_length);
/* Any object as a line: progress, tail. */
int pr_wire_object(struct json_object *object, char **ret_line, size_t *ret_length);

#endif
