/* Lines from and to json-c, see jsonc.h. */
#include "core/record/jsonc.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/record/canonical.h"
#include "core/record/utf8.h"

static int write_text(const char *bytes, size_t length, struct buffer *out)
{
	return utf8_valid(bytes, length) ? canonical_string(bytes, length, out) : -EILSEQ;
}

static int write_value(struct json_object *value, unsigned depth, struct buffer *out);

static int write_integer(struct json_object *value, struct buffer *out)
{
	int64_t number = json_object_get_int64(value);

	/* json-c cuts what is above at INT64_MAX. */
	if (number == INT64_MAX)
		return buffer_printf(out, "%llu", (unsigned long long)json_object_get_uint64(value));
	return buffer_printf(out, "%lld", (long long)number);
}

static int write_double(struct json_object *value, struct buffer *out)
{
	char text[CANONICAL_DOUBLE];
	double number = json_object_get_double(value);

	return isfinite(number) ? buffer_add(out, text, canonical_double(number, text)) : -EINVAL;
}

static int write_array(struct json_object *array, unsigned depth, struct buffer *out)
{
	int r = buffer_add_byte(out, '[');

	for (size_t i = 0; i < json_object_array_length(array) && r >= 0; i++) {
		if (i)
			r = buffer_add_byte(out, ',');
		if (r >= 0)
			r = write_value(json_object_array_get_idx(array, i), depth, out);
	}
	return r < 0 ? r : buffer_add_byte(out, ']');
}

static int write_object(struct json_object *object, unsigned depth, struct buffer *out)
{
	int r = buffer_add_byte(out, '{');
	bool first = true;

	json_object_object_foreach(object, key, value) {
		if (!first && r >= 0)
			r = buffer_add_byte(out, ',');
		first = false;
		if (r >= 0)
			r = write_text(key, strlen(key), out);
		if (r >= 0)
			r = buffer_add_byte(out, ':');
		if (r >= 0)
			r = write_value(value, depth, out);
	}
	return r < 0 ? r : buffer_add_byte(out, '}');
}

static int write_value(struct json_object *value, unsigned depth, struct buffer *out)
{
	switch (json_object_get_type(value)) {
	case json_type_null:
		return buffer_add_text(out, "null");
	case json_type_boolean:
		return buffer_add_text(out, json_object_get_boolean(value) ? "true" : "false");
	case json_type_int:
		return write_integer(value, out);
	case json_type_double:
		return write_double(value, out);
	case json_type_string:
		return write_text(json_object_get_string(value), (size_t)json_object_get_string_len(value), out);
	case json_type_array:
		return depth < JSON_DEPTH ? write_array(value, depth + 1, out) : -ELOOP;
	case json_type_object:
		return depth < JSON_DEPTH ? write_object(value, depth + 1, out) : -ELOOP;
	}
	return -EINVAL;
}

int jsonc_write(struct json_object *object, struct buffer *out)
{
	return write_value(object, 0, out);
}

struct json_object *jsonc_read_object(const char *bytes, size_t length)
{
	if (length > INT32_MAX)
		return NULL;
	struct json_tokener *tokener = json_tokener_new_ex(JSON_DEPTH);
	if (!tokener)
		return NULL;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *object = json_tokener_parse_ex(tokener, bytes, (int)length);
	bool whole = json_tokener_get_error(tokener) == json_tokener_success &&
		     json_tokener_get_parse_end(tokener) == length;
	json_tokener_free(tokener);
	if (whole && json_object_is_type(object, json_type_object))
		return object;
	json_object_put(object);
	return NULL;
}

const char *jsonc_text(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
		return NULL;
	const char *text = json_object_get_string(value);
	return strlen(text) == (size_t)json_object_get_string_len(value) ? text : NULL;
}

int jsonc_u64(struct json_object *object, const char *key, uint64_t *ret_number)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_int))
		return -EINVAL;
	if (json_object_get_int64(value) < 0)
		return -ERANGE;
	*ret_number = json_object_get_uint64(value);
	return 0;
}

int jsonc_i64(struct json_object *object, const char *key, int64_t *ret_number)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_int))
		return -EINVAL;
	int64_t number = json_object_get_int64(value);
	if (number == INT64_MAX && json_object_get_uint64(value) != INT64_MAX)
		return -ERANGE;
	*ret_number = number;
	return 0;
}
