/*
 * The event log (events.jsonl): append-only, one JSON object a line, each line bound to the one before.
 *
 *     {"seq":1,"prev":"000...0","at":ms,"mono":ns,"type":"round.opened",...}\n
 *     {"seq":2,"prev":sha256(line 1 without \n),...}\n
 *
 * It is the truth of a round; everything else is a fold over it. One writer (the live core, which holds
 * the round's lock); readers at any time, since a line is there whole or, at the very end, torn.
 * A line is at most LOG_LINE bytes, its line feed included, and strict JSON (json.h).
 *
 * log_open() verifies the whole chain and repairs a torn last line (bytes after the last line feed are
 * cut off: that event was never acted on, since an act follows its line). log_append() is one write(2);
 * where it fails or falls short (a full disk), the file is cut back to what it was, so that it stays well
 * formed, and the event did not happen: the caller must not do what it announced.
 */
#ifndef CORE_RECORD_LOG_H
#define CORE_RECORD_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/cleanup.h"
#include "core/base/digest.h"
#include <proctor/error.h>

struct json_object;

#define LOG_LINE ((size_t)1048576)

struct event_log;

/*
 * Opens or creates (0600) `path`. `ret_torn_bytes` (may be NULL): how many bytes of a torn last line were
 * cut off; say it where it is not 0. -EBADMSG: the chain is broken, the message names the line.
 */
int log_open(const char *path, struct event_log **ret_log, uint64_t *ret_torn_bytes, struct pr_error *error);
void log_close(struct event_log *journal);

/*
 * Appends one event. `event` is an object with at least "type" (a logged type's name); seq, prev, at and
 * mono are set in it, so that it can go straight into pr_model_apply(). The caller keeps its reference.
 * `ret_line`, `ret_length` (may be NULL): the line with its line feed, lent until the next append.
 * -EINVAL: no such type, or not strict JSON (NaN, invalid UTF-8); -EMSGSIZE: over LOG_LINE; else the
 * errno of write(2). After a failure to cut back the log refuses every append with -EIO.
 */
int log_append(struct event_log *journal, struct json_object *event, const char **ret_line, size_t *ret_length,
	       struct pr_error *error);

/* Makes what was appended durable (fdatasync(2)); returns at once where nothing was appended since. */
int log_sync(struct event_log *journal, struct pr_error *error);

uint64_t log_seq(const struct event_log *journal);	/* of the last event; 0: none */
const char *log_head(const struct event_log *journal);	/* digest of the last line; 64 zeros: none */

/* ------- reading, beside a writer or not ------- */

struct log_reader;

int log_reader_open(const char *path, struct log_reader **ret_reader, struct pr_error *error);
void log_reader_close(struct log_reader *reader);

/*
 * The next line without its line feed, NUL-terminated, lent until the next call. 1: a line; 0: no whole
 * line (yet: call again when there may be more); -EMSGSIZE: a line over LOG_LINE; else an errno.
 * The chain is not checked: that is log_verify()'s.
 */
int log_reader_next(struct log_reader *reader, const char **ret_line, size_t *ret_length, struct pr_error *error);

/* What log_verify() saw. */
struct log_verdict {
	uint64_t lines;			/* whole lines that hold */
	uint64_t bytes;			/* of these */
	uint64_t torn_bytes;		/* after the last line feed */
	char head[DIGEST_HEX];		/* digest of the last of them; zeros where there is none */
};

/* Checks the chain of a log without changing it. -EBADMSG names the first line that does not hold. */
int log_verify(const char *path, struct log_verdict *ret_verdict, struct pr_error *error);

static inline void log_closep(struct event_log **journal)
{
	log_close(*journal);
}

static inline void log_reader_closep(struct log_reader **reader)
{
	log_reader_close(*reader);
}

#define _cleanup_log_ _cleanup_(log_closep)
#define _cleanup_log_reader_ _cleanup_(log_reader_closep)

#endif
