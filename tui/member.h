/* Members of parsed events, with what to take where one is absent or of another type. All are borrowed. */
#ifndef TUI_MEMBER_H
#define TUI_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/record/jsonc.h"

static inline struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;
	if (json_object_is_type(object, json_type_object))
		json_object_object_get_ex(object, key, &value);
	return value;
}

static inline const char *member_text_or(struct json_object *object, const char *key, const char *otherwise)
{
	const char *text = jsonc_text(object, key);
	return text ? text : otherwise;
}

static inline bool member_is_number(struct json_object *object, const char *key)
{
	struct json_object *value = member(object, key);
	return json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
}

static inline int64_t member_int(struct json_object *object, const char *key)
{
	return member_is_number(object, key) ? json_object_get_int64(member(object, key)) : 0;
}

static inline double member_double(struct json_object *object, const char *key)
{
	return member_is_number(object, key) ? json_object_get_double(member(object, key)) : 0;
}

static inline bool member_true(struct json_object *object, const char *key)
{
	struct json_object *value = member(object, key);
	return json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);
}

#endif
