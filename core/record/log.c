/*
 * The event log, see log.h. Only the live core writes (it holds the round's lock); anyone may read.
 * Nothing but log_append() and the repair in log_open() changes a log.
 */
#include "core/record/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/record/json.h"
#include "core/record/jsonc.h"
#include <proctor/event.h>

#define CHUNK ((size_t)65536)
#define NO_HEAD "0000000000000000000000000000000000000000000000000000000000000000"

struct event_log {
	int fd;
	uint64_t seq, bytes;
	char head[DIGEST_HEX];
	bool unsynced, broken;
	struct buffer line;
};

/* ------- reading ------- */

struct log_reader {
	int fd;
	uint64_t offset;	/* in the file, of data[start] */
	size_t start, scanned;
	struct buffer data;
};

static int open_log(const char *path, int flags, struct pr_error *error)
{
	struct stat status;
	_cleanup_close_ int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0)
		return pr_error_errno(error, errno, "opening the log %s", path);
	if (fstat(fd, &status) < 0)
		return pr_error_errno(error, errno, "opening the log %s", path);
	if (!S_ISREG(status.st_mode))
		return pr_error_set(error, EINVAL, "opening the log %s: it is no regular file", path);
	return take_fd(&fd);
}

int log_reader_open(const char *path, struct log_reader **ret_reader, struct pr_error *error)
{
	_cleanup_close_ int fd = open_log(path, O_RDONLY, error);

	if (fd < 0)
		return fd;
	struct log_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return pr_error_set(error, ENOMEM, "opening the log %s: out of memory", path);
	reader->fd = take_fd(&fd);
	*ret_reader = reader;
	return 0;
}

void log_reader_close(struct log_reader *reader)
{
	if (!reader)
		return;
	close(reader->fd);
	buffer_release(&reader->data);
	free(reader);
}

/* Reads on. 1: more bytes; 0: end of file. */
static int reader_fill(struct log_reader *reader, struct pr_error *error)
{
	reader->offset += reader->start;
	reader->scanned -= reader->start;
	buffer_consume(&reader->data, reader->start);
	reader->start = 0;
	if (buffer_reserve(&reader->data, CHUNK) < 0)
		return pr_error_set(error, ENOMEM, "reading the log: out of memory");
	ssize_t n;
	do
		n = pread(reader->fd, reader->data.data + reader->data.length, CHUNK,
			  (off_t)(reader->offset + reader->data.length));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return pr_error_errno(error, errno, "reading the log");
	reader->data.length += (size_t)n;
	return n > 0;
}

int log_reader_next(struct log_reader *reader, const char **ret_line, size_t *ret_length, struct pr_error *error)
{
	for (;;) {
		struct buffer *data = &reader->data;
		char *end = data->length > reader->scanned ?
			memchr(data->data + reader->scanned, '\n', data->length - reader->scanned) : NULL;
		size_t length = (end ? (size_t)(end - data->data) + 1 : data->length) - reader->start;
		if (length > LOG_LINE)
			return pr_error_set(error, EMSGSIZE, "reading the log: a line is longer than %zu bytes", LOG_LINE);
		if (end) {
			*end = '\0';
			*ret_line = data->data + reader->start;
			*ret_length = length - 1;
			reader->start += length;
			reader->scanned = reader->start;
			return 1;
		}
		reader->scanned = data->length;
		int r = reader_fill(reader, error);
		if (r > 0)
			continue;
		/* A torn tail is not kept: the writer may cut it back and write something else in its place. */
		buffer_clear(&reader->data);
		reader->scanned = 0;
		return r;
	}
}

/* ------- the chain ------- */

/* -EBADMSG unless the line is the event `seq` that follows the line with digest `prev`. */
static int check_line(const char *line, size_t length, uint64_t seq, const char *prev, struct pr_error *error)
{
	_cleanup_json_ struct json *event = NULL;
	struct json_fault fault;
	uint64_t own;

	int r = json_read(line, length, 0, 0, &event, &fault);
	if (r == -ENOMEM)
		return pr_error_set(error, ENOMEM, "reading the log: out of memory");
	if (r < 0)
		return pr_error_set(error, EBADMSG, "line %llu of the log, column %u: %s", (unsigned long long)seq,
				    fault.column, json_fault_words(fault.code));
	if (json_uint64(json_get(event, "seq"), &own) < 0 || own != seq)
		return pr_error_set(error, EBADMSG, "line %llu of the log: its seq is not %llu", (unsigned long long)seq,
				    (unsigned long long)seq);
	if (!json_string_is(json_get(event, "prev"), prev))
		return pr_error_set(error, EBADMSG, "line %llu of the log: its prev is not the digest of the line before",
				    (unsigned long long)seq);
	return 0;
}

static int verify_chain(struct log_reader *reader, struct log_verdict *ret_verdict, struct pr_error *error)
{
	struct log_verdict verdict = { .head = NO_HEAD };
	struct stat status;
	const char *line;
	size_t length;
	int r;

	while ((r = log_reader_next(reader, &line, &length, error)) > 0) {
		r = check_line(line, length, verdict.lines + 1, verdict.head, error);
		if (r < 0)
			return r;
		digest_bytes(line, length, verdict.head);
		verdict.lines++;
		verdict.bytes += length + 1;
	}
	if (r == -EMSGSIZE)
		return pr_error_set(error, EBADMSG, "line %llu of the log is longer than %zu bytes",
				    (unsigned long long)verdict.lines + 1, LOG_LINE);
	if (r < 0)
		return r;
	if (fstat(reader->fd, &status) < 0)
		return pr_error_errno(error, errno, "reading the log");
	if ((uint64_t)status.st_size > verdict.bytes)
		verdict.torn_bytes = (uint64_t)status.st_size - verdict.bytes;
	*ret_verdict = verdict;
	return 0;
}

int log_verify(const char *path, struct log_verdict *ret_verdict, struct pr_error *error)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	int r = log_reader_open(path, &reader, error);

	return r < 0 ? r : verify_chain(reader, ret_verdict, error);
}

/* ------- writing ------- */

/* So that the name of a new log survives a crash of the machine too. */
static int sync_directory(const char *path, struct pr_error *error)
{
	char copy[PATH_MAX];

	if ((size_t)snprintf(copy, sizeof copy, "%s", path) >= sizeof copy)
		return pr_error_errno(error, ENAMETOOLONG, "opening the log %s", path);
	_cleanup_close_ int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return pr_error_errno(error, errno, "syncing the directory of the log %s", path);
	return 0;
}

int log_open(const char *path, struct event_log **ret_log, uint64_t *ret_torn_bytes, struct pr_error *error)
{
	_cleanup_close_ int fd = open_log(path, O_RDWR | O_CREAT | O_APPEND, error);
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	struct log_verdict verdict;

	if (fd < 0)
		return fd;
	int r = log_reader_open(path, &reader, error);
	if (r >= 0)
		r = verify_chain(reader, &verdict, error);
	if (r < 0)
		return r;
	if (verdict.torn_bytes && (ftruncate(fd, (off_t)verdict.bytes) < 0 || fdatasync(fd) < 0))
		return pr_error_errno(error, errno, "repairing the torn last line of the log %s", path);
	r = verdict.lines ? 0 : sync_directory(path, error);
	if (r < 0)
		return r;
	struct event_log *journal = calloc(1, sizeof *journal);
	if (!journal)
		return pr_error_set(error, ENOMEM, "opening the log %s: out of memory", path);
	buffer_init(&journal->line, LOG_LINE);
	journal->fd = take_fd(&fd);
	journal->seq = verdict.lines;
	journal->bytes = verdict.bytes;
	memcpy(journal->head, verdict.head, sizeof journal->head);
	if (ret_torn_bytes)
		*ret_torn_bytes = verdict.torn_bytes;
	*ret_log = journal;
	return 0;
}

void log_close(struct event_log *journal)
{
	if (!journal)
		return;
	close(journal->fd);
	buffer_release(&journal->line);
	free(journal);
}

uint64_t log_seq(const struct event_log *journal)
{
	return journal->seq;
}

const char *log_head(const struct event_log *journal)
{
	return journal->head;
}

/* The members that every event has, in the order in which they stand first on a line. */
static const char *const first_keys[] = { "seq", "prev", "at", "mono", "type" };

static bool is_first_key(const char *key)
{
	for (size_t i = 0; i < ELEMENTS(first_keys); i++)
		if (!strcmp(key, first_keys[i]))
			return true;
	return false;
}

/* Sets the chain's members in `event`. */
static int stamp(const struct event_log *journal, struct json_object *event)
{
	struct json_object *stamps[] = {
		json_object_new_uint64(journal->seq + 1),
		json_object_new_string(journal->head),
		json_object_new_int64(clock_wall_ms()),
		json_object_new_int64(clock_mono_ns()),
	};
	int r = 0;

	for (size_t i = 0; i < ELEMENTS(stamps); i++) {
		if (!stamps[i] || json_object_object_add(event, first_keys[i], stamps[i]) < 0) {
			json_object_put(stamps[i]);
			r = -ENOMEM;
		}
	}
	return r;
}

/* A view of the event with the chain's members in front; the values are shared. */
static struct json_object *in_order(struct json_object *event)
{
	_cleanup_jsonc_ struct json_object *view = json_object_new_object();
	struct json_object *found;

	if (!view)
		return NULL;
	for (size_t i = 0; i < ELEMENTS(first_keys); i++)
		if (json_object_object_get_ex(event, first_keys[i], &found) &&
		    json_object_object_add(view, first_keys[i], json_object_get(found)) < 0)
			return NULL;
	json_object_object_foreach(event, key, value) {
		if (!is_first_key(key) && json_object_object_add(view, key, json_object_get(value)) < 0)
			return NULL;
	}
	return take_ptr(view);
}

static int make_line(struct event_log *journal, struct json_object *event, struct pr_error *error)
{
	const char *type = jsonc_text(event, "type");
	int known = pr_event_from_name(type);

	if (known < 0 || known == PR_EVENT_PROGRESS || known == PR_EVENT_TAIL)
		return pr_error_set(error, EINVAL, "writing the log: `%s` is no type of a logged event", type ? type : "");
	_cleanup_jsonc_ struct json_object *view = stamp(journal, event) < 0 ? NULL : in_order(event);
	if (!view)
		return pr_error_set(error, ENOMEM, "writing the log: out of memory");
	buffer_clear(&journal->line);
	int r = jsonc_write(view, &journal->line);
	if (r >= 0)
		r = buffer_add_byte(&journal->line, '\n');
	if (r == -E2BIG)
		return pr_error_set(error, EMSGSIZE, "writing the log: an event `%s` is longer than %zu bytes", type, LOG_LINE);
	if (r == -ENOMEM)
		return pr_error_set(error, ENOMEM, "writing the log: out of memory");
	if (r < 0)
		return pr_error_set(error, EINVAL, "writing the log: an event `%s` is no strict JSON (%s)", type,
				    strerrorname_np(-r));
	return 0;
}

/* One write(2), whole or not at all: what fell short is cut off again. */
static int write_line(struct event_log *journal, struct pr_error *error)
{
	ssize_t n;

	do
		n = write(journal->fd, journal->line.data, journal->line.length);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)journal->line.length)
		return 0;
	/* A regular file takes less than asked for where the disk is full. */
	int code = n < 0 ? errno : ENOSPC;
	if (n > 0 && ftruncate(journal->fd, (off_t)journal->bytes) < 0)
		journal->broken = true;
	return pr_error_errno(error, code, "writing the log");
}

int log_append(struct event_log *journal, struct json_object *event, const char **ret_line, size_t *ret_length,
	       struct pr_error *error)
{
	if (journal->broken)
		return pr_error_set(error, EIO, "writing the log: an earlier write could not be taken back");
	int r = make_line(journal, event, error);
	if (r >= 0)
		r = write_line(journal, error);
	if (r < 0)
		return r;
	journal->seq++;
	journal->bytes += journal->line.length;
	journal->unsynced = true;
	digest_bytes(journal->line.data, journal->line.length - 1, journal->head);
	if (ret_line)
		*ret_line = journal->line.data;
	if (ret_length)
		*ret_length = journal->line.length;
	return 0;
}

int log_sync(struct event_log *journal, struct pr_error *error)
{
	if (!journal->unsynced)
		return 0;
	if (fdatasync(journal->fd) < 0)
		return pr_error_errno(error, errno, "syncing the log");
	journal->unsynced = false;
	return 0;
}
