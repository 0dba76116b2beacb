/* The events that a command printed or a log holds: JSON, one object a line. */
#ifndef TESTS_END_TO_END_EVENTS_H
#define TESTS_END_TO_END_EVENTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct events {
	struct json_object **list;
	size_t count;
	size_t broken;		/* lines that are no JSON object */
};

struct events events_read(const char *text);
void events_release(struct events *events);

/* The first one, from index `from` on, of this type and (unless NULL) with this member "task". NULL: none. */
struct json_object *events_find(const struct events *events, const char *type, const char *task, size_t from);
size_t events_count(const struct events *events, const char *type, const char *task);

/* Members; "" and `absent` stand in for what is not there or null. A path of names is "a.b". */
const char *member_text(struct json_object *object, const char *name);
int64_t member_number(struct json_object *object, const char *name, int64_t absent);
bool member_null(struct json_object *object, const char *name);	/* absent or null */
struct json_object *member(struct json_object *object, const char *path);

/*
 * Follows the hash chain of a log: seq from 1, prev the SHA-256 of the line before (64 zeros for the first). 0,
 * or the number of the first line that is wrong. `ret_events` (may be NULL) is how many lines there are.
 */
size_t chain_check(const char *log, size_t *ret_lines);

/* The head of a log: the digest of its last line. */
void chain_head(const char *log, char ret_hex[65]);

#endif
