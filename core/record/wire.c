/* The wire of proctor/wire.h: framing, builders, one parser. No socket is opened or read here. */
#include <proctor/wire.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <proctor/model.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/record/jsonc.h"

/* ------- framing ------- */

void pr_lines_release(struct pr_lines *lines)
{
	free(lines->data_);
	*lines = (struct pr_lines)PR_LINES_INIT;
}

int pr_lines_feed(struct pr_lines *lines, const void *bytes, size_t length)
{
	if (lines->broken_)
		return -EPROTO;
	if (lines->start_) {
		memmove(lines->data_, lines->data_ + lines->start_, lines->length_ - lines->start_);
		lines->length_ -= lines->start_;
		lines->scanned_ -= lines->start_;
		lines->start_ = 0;
	}
	if (length > SIZE_MAX / 4 - lines->length_)
		return -ENOMEM;
	if (lines->length_ + length > lines->room_) {
		size_t room = lines->room_ ? lines->room_ : 4096;
		while (room < lines->length_ + length)
			room *= 2;
		char *data = realloc(lines->data_, room);
		if (!data)
			return -ENOMEM;
		lines->data_ = data;
		lines->room_ = room;
	}
	if (length)
		memcpy(lines->data_ + lines->length_, bytes, length);
	lines->length_ += length;
	/* Of whole lines pr_lines_next() will see to it; a torn one must not grow without end. */
	if (lines->length_ > PR_WIRE_LINE && !memrchr(lines->data_, '\n', lines->length_)) {
		lines->broken_ = true;
		return -EPROTO;
	}
	return 0;
}

int pr_lines_next(struct pr_lines *lines, const char **ret_line, size_t *ret_length)
{
	if (lines->broken_)
		return -EPROTO;
	char *end = lines->length_ > lines->scanned_ ?
		memchr(lines->data_ + lines->scanned_, '\n', lines->length_ - lines->scanned_) : NULL;
	size_t length = (end ? (size_t)(end - lines->data_) + 1 : lines->length_) - lines->start_;
	if (length > PR_WIRE_LINE || (!end && length == PR_WIRE_LINE)) {
		lines->broken_ = true;
		return -EPROTO;
	}
	if (!end) {
		lines->scanned_ = lines->length_;
		return 0;
	}
	*end = '\0';
	*ret_line = lines->data_ + lines->start_;
	*ret_length = length - 1;
	lines->start_ += length;
	lines->scanned_ = lines->start_;
	return 1;
}

/* ------- parsing ------- */

static const char *const message_names[] = {
#define X(identifier, name) [identifier] = name,
	PR_MESSAGES(X)
#undef X
};

static bool is_id(const char *id)
{
	return id && *id && strlen(id) <= PR_COMMAND_ID;
}

/* Each fills in its members; the name of the first that does not fit, or NULL. */

static const char *parse_hello(struct pr_message *message)
{
	int64_t protocol;

	if (jsonc_i64(message->object, "protocol", &protocol) < 0 || protocol < 0 || protocol > INT32_MAX)
		return "protocol";
	message->protocol = (int)protocol;
	message->round = jsonc_text(message->object, "round");
	message->dir = jsonc_text(message->object, "dir");
	if (!message->round)
		return "round";
	return jsonc_u64(message->object, "seq", &message->seq) < 0 ? "seq" : NULL;
}

static const char *parse_watch(struct pr_message *message)
{
	message->has_from = json_object_object_get_ex(message->object, "from", NULL);
	return message->has_from && jsonc_u64(message->object, "from", &message->from) < 0 ? "from" : NULL;
}

static const char *parse_snapshot(struct pr_message *message)
{
	if (!json_object_object_get_ex(message->object, "model", &message->model) ||
	    !json_object_is_type(message->model, json_type_object))
		return "model";
	return jsonc_u64(message->object, "seq", &message->seq) < 0 ? "seq" : NULL;
}

static const char *parse_command(struct pr_message *message)
{
	struct json_object *task;

	message->id = jsonc_text(message->object, "id");
	message->verb_name = jsonc_text(message->object, "verb");
	message->verb = pr_verb_from_name(message->verb_name);
	message->task = jsonc_text(message->object, "task");
	if (!is_id(message->id))
		return "id";
	if (!message->verb_name)
		return "verb";
	/* A task that is no text must not widen a command to the whole round. */
	return json_object_object_get_ex(message->object, "task", &task) && task && !message->task ? "task" : NULL;
}

static const char *parse_answer(struct pr_message *message)
{
	struct json_object *ok;

	message->id = jsonc_text(message->object, "id");
	message->code = jsonc_text(message->object, "code");
	message->message = jsonc_text(message->object, "message");
	if (!is_id(message->id))
		return "id";
	if (!json_object_object_get_ex(message->object, "ok", &ok) || !json_object_is_type(ok, json_type_boolean))
		return "ok";
	message->ok = json_object_get_boolean(ok);
	return !message->ok && !message->code ? "code" : NULL;
}

static const char *(*const parsers[])(struct pr_message *) = {
	[PR_MESSAGE_HELLO] = parse_hello,
	[PR_MESSAGE_WATCH] = parse_watch,
	[PR_MESSAGE_SNAPSHOT] = parse_snapshot,
	[PR_MESSAGE_COMMAND] = parse_command,
	[PR_MESSAGE_ANSWER] = parse_answer,
};

int pr_wire_parse(const char *line, size_t length, struct pr_message *ret_message, struct pr_error *error)
{
	struct pr_message message = { .type = PR_MESSAGE_EVENT, .verb = -EINVAL, .event = -EINVAL };
	_cleanup_jsonc_ struct json_object *object = jsonc_read_object(line, length);

	if (!object)
		return pr_error_set(error, EBADMSG, "reading a message: it is no JSON object");
	const char *type = jsonc_text(object, "type");
	if (!type)
		return pr_error_set(error, EBADMSG, "reading a message: it has no type");
	message.object = object;
	for (size_t i = 0; i < ELEMENTS(message_names); i++) {
		if (strcmp(type, message_names[i]))
			continue;
		message.type = (enum pr_message_type)i;
		const char *missing = parsers[i](&message);
		if (missing)
			return pr_error_set(error, EBADMSG, "reading a message: `%s` of a %s is missing or not what it should be",
					    missing, message_names[i]);
	}
	if (message.type == PR_MESSAGE_EVENT) {
		message.event = pr_event_from_name(type);
		jsonc_u64(object, "seq", &message.seq);
	}
	*ret_message = message;
	take_ptr(object);
	return 0;
}

void pr_message_release(struct pr_message *message)
{
	json_object_put(message->object);
	*message = (struct pr_message){ .type = PR_MESSAGE_EVENT, .verb = -EINVAL, .event = -EINVAL };
}

/* ------- building ------- */

int pr_wire_object(struct json_object *object, char **ret_line, size_t *ret_length)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT;

	if (!json_object_is_type(object, json_type_object))
		return -EINVAL;
	buffer_init(&line, PR_WIRE_LINE);
	int r = jsonc_write(object, &line);
	if (r >= 0)
		r = buffer_add_byte(&line, '\n');
	if (r < 0)
		return r == -E2BIG ? -EMSGSIZE : r == -ENOMEM ? r : -EINVAL;
	*ret_length = line.length;
	*ret_line = buffer_take(&line);
	return 0;
}

static struct json_object *message_new(enum pr_message_type type)
{
	_cleanup_jsonc_ struct json_object *object = json_object_new_object();
	struct json_object *name = json_object_new_string(message_names[type]);

	if (!object || !name || json_object_object_add(object, "type", name) < 0) {
		json_object_put(name);
		return NULL;
	}
	return take_ptr(object);
}

/* Takes the value over. */
static int put(struct json_object *object, const char *key, struct json_object *value)
{
	if (object && value && json_object_object_add(object, key, value) >= 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

int pr_wire_hello(const char *round, const char *dir, uint64_t seq, char **ret_line, size_t *ret_length)
{
	_cleanup_jsonc_ struct json_object *object = message_new(PR_MESSAGE_HELLO);

	if (put(object, "protocol", json_object_new_int(PR_PROTOCOL)) < 0 ||
	    put(object, "round", json_object_new_string(round)) < 0 ||
	    put(object, "dir", json_object_new_string(dir)) < 0 || put(object, "seq", json_object_new_uint64(seq)) < 0)
		return -ENOMEM;
	return pr_wire_object(object, ret_line, ret_length);
}

int pr_wire_watch(char **ret_line, size_t *ret_length)
{
	_cleanup_jsonc_ struct json_object *object = message_new(PR_MESSAGE_WATCH);

	return object ? pr_wire_object(object, ret_line, ret_length) : -ENOMEM;
}

int pr_wire_watch_from(uint64_t from, char **ret_line, size_t *ret_length)
{
	_cleanup_jsonc_ struct json_object *object = message_new(PR_MESSAGE_WATCH);

	if (put(object, "from", json_object_new_uint64(from)) < 0)
		return -ENOMEM;
	return pr_wire_object(object, ret_line, ret_length);
}

int pr_wire_snapshot(const struct pr_model *model, char **ret_line, size_t *ret_length)
{
	static const size_t prose[] = { PR_LINE, 64, 0 };
	int r = -EMSGSIZE;

	for (size_t i = 0; i < ELEMENTS(prose) && r == -EMSGSIZE; i++) {
		_cleanup_jsonc_ struct json_object *object = message_new(PR_MESSAGE_SNAPSHOT);
		if (put(object, "seq", json_object_new_uint64(model->seq)) < 0 ||
		    put(object, "model", pr_model_to_json(model, prose[i])) < 0)
			return -ENOMEM;
		r = pr_wire_object(object, ret_line, ret_length);
	}
	return r;
}

int pr_wire_command(const char *id, enum pr_verb verb, const char *task, char **ret_line, size_t *ret_length)
{
	_cleanup_jsonc_ struct json_object *object = message_new(PR_MESSAGE_COMMAND);

	if (!is_id(id) || (unsigned)verb >= PR_VERB_COUNT)
		return -EINVAL;
	if (put(object, "id", json_object_new_string(id)) < 0 ||
	    put(object, "verb", json_object_new_string(pr_verb_name(verb))) < 0 ||
	    (task && put(object, "task", json_object_new_string(task)) < 0))
		return -ENOMEM;
	return pr_wire_object(object, ret_line, ret_length);
}

static struct json_object *answer_new(const char *id, bool ok)
{
	_cleanup_jsonc_ struct json_object *object = message_new(PR_MESSAGE_ANSWER);

	if (put(object, "id", json_object_new_string(id)) < 0 || put(object, "ok", json_object_new_boolean(ok)) < 0)
		return NULL;
	return take_ptr(object);
}

int pr_wire_answer_ok(const char *id, struct json_object *more, char **ret_line, size_t *ret_length)
{
	if (!is_id(id) || (more && !json_object_is_type(more, json_type_object)))
		return -EINVAL;
	_cleanup_jsonc_ struct json_object *object = answer_new(id, true);
	if (!object)
		return -ENOMEM;
	if (more) {
		json_object_object_foreach(more, key, value) {
			/* The answer's own members are not the caller's to change. */
			if (!json_object_object_get_ex(object, key, NULL) &&
			    json_object_object_add(object, key, json_object_get(value)) < 0)
				return -ENOMEM;
		}
	}
	return pr_wire_object(object, ret_line, ret_length);
}

int pr_wire_answer_refused(const char *id, const char *code, const char *message, char **ret_line, size_t *ret_length)
{
	if (!is_id(id))
		return -EINVAL;
	_cleanup_jsonc_ struct json_object *object = answer_new(id, false);
	if (put(object, "code", json_object_new_string(code)) < 0 ||
	    put(object, "message", json_object_new_string(message)) < 0)
		return -ENOMEM;
	return pr_wire_object(object, ret_line, ret_length);
}
