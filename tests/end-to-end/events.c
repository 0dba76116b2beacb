/* Events read back (events.h). */
#include "tests/end-to-end/events.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/digest.h"

static const char ZEROS[] = "0000000000000000000000000000000000000000000000000000000000000000";

struct events events_read(const char *text)
{
	struct events events = { 0 };
	_cleanup_free_ char *copy = strdup(text);
	char *lines = copy;
	for (char *line; lines && (line = strsep(&lines, "\n"));) {
		if (!line[0])
			continue;
		struct json_object *object = json_tokener_parse(line);
		if (!object || !json_object_is_type(object, json_type_object)) {
			json_object_put(object);
			events.broken++;
			continue;
		}
		struct json_object **list = reallocarray(events.list, events.count + 1, sizeof *list);
		if (!list)
			abort();
		events.list = list;
		list[events.count++] = object;
	}
	return events;
}

void events_release(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		json_object_put(events->list[i]);
	free(events->list);
	*events = (struct events){ 0 };
}

struct json_object *member(struct json_object *object, const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	char *names = copy;
	for (char *name; object && (name = strsep(&names, "."));)
		if (!json_object_object_get_ex(object, name, &object))
			return NULL;
	return object;
}

const char *member_text(struct json_object *object, const char *name)
{
	struct json_object *found = member(object, name);
	return found && json_object_is_type(found, json_type_string) ? json_object_get_string(found) : "";
}

int64_t member_number(struct json_object *object, const char *name, int64_t absent)
{
	struct json_object *found = member(object, name);
	return found ? json_object_get_int64(found) : absent;
}

bool member_null(struct json_object *object, const char *name)
{
	return !member(object, name);
}

static bool matches(struct json_object *event, const char *type, const char *task)
{
	return strcmp(member_text(event, "type"), type) == 0 && (!task || strcmp(member_text(event, "task"), task) == 0);
}

struct json_object *events_find(const struct events *events, const char *type, const char *task, size_t from)
{
	for (size_t i = from; i < events->count; i++)
		if (matches(events->list[i], type, task))
			return events->list[i];
	return NULL;
}

size_t events_count(const struct events *events, const char *type, const char *task)
{
	size_t count = 0;
	for (size_t i = 0; i < events->count; i++)
		count += matches(events->list[i], type, task);
	return count;
}

size_t chain_check(const char *log, size_t *ret_lines)
{
	char previous[DIGEST_HEX];
	memcpy(previous, ZEROS, sizeof previous);
	size_t number = 0;
	while (*log) {
		const char *end = strchr(log, '\n');
		number++;
		if (!end)
			return number;
		_cleanup_free_ char *line = strndup(log, (size_t)(end - log));
		struct json_object *object = line ? json_tokener_parse(line) : NULL;
		bool right = object && strcmp(member_text(object, "prev"), previous) == 0 &&
			     member_number(object, "seq", -1) == (int64_t)number;
		json_object_put(object);
		if (!right)
			return number;
		digest_bytes(log, (size_t)(end - log), previous);
		log = end + 1;
	}
	if (ret_lines)
		*ret_lines = number;
	return 0;
}

void chain_head(const char *log, char ret_hex[65])
{
	size_t length = strlen(log);
	memcpy(ret_hex, ZEROS, sizeof ZEROS);
	if (!length)
		return;
	const char *end = log + length - (log[length - 1] == '\n');
	const char *start = end;
	while (start > log && start[-1] != '\n')
		start--;
	digest_bytes(start, (size_t)(end - start), ret_hex);
}
