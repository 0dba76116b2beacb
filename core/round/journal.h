/*
 * The journal of a live round: the log, the fold over it, and whoever wants each line as it is written.
 *
 * Journal first: an event is written before the act that it announces; journal_write() answers whether it
 * stands, and where it does not, the act must not happen. A full disk is met once with the directory's
 * reserve (directory.h), so that a round can still end in order; `broken` tells that it was met.
 */
#ifndef CORE_ROUND_JOURNAL_H
#define CORE_ROUND_JOURNAL_H

#include <json-c/json.h>
#include <stdbool.h>

#include "core/record/log.h"
#include "core/round/directory.h"
#include <proctor/event.h>
#include <proctor/model.h>

struct journal {
	struct event_log *log;
	struct pr_model model;
	const struct round_directory *directory;
	void (*line)(void *context, const char *line, size_t length);	/* a line that stands, with its line feed */
	void (*failed)(void *context, const struct pr_error *error);	/* once: the directory cannot be written */
	void *context;
	bool broken;
};

/* Opens `events.jsonl` in the directory and folds what is there. `line` and `failed` are set by the caller afterwards. */
int journal_open(struct journal *journal, const struct round_directory *directory, struct pr_error *error);
void journal_release(struct journal *journal);

/* A new event of that type; NULL: out of memory, which every setter below and journal_write() take. */
struct json_object *journal_event(enum pr_event type);
/* Sets members; NULL text is null. The object may be NULL. */
void set_text(struct json_object *object, const char *key, const char *text);
void set_number(struct json_object *object, const char *key, int64_t number);
void set_double(struct json_object *object, const char *key, double number);
void set_truth(struct json_object *object, const char *key, bool truth);
/* Takes `value` over; NULL is null. */
void set_value(struct json_object *object, const char *key, struct json_object *value);
/* Milliseconds with microseconds as their fraction, as `ms` is written. */
void set_ms(struct json_object *object, const char *key, double ms);

/* Writes it, folds it, hands the line on. Takes the event over in every case. */
int journal_write(struct journal *journal, struct json_object *event);
/* Makes what was written durable. */
int journal_sync(struct journal *journal);

#endif
