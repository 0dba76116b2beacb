/*
 * The tree of json.h: looking, building, freeing. The reader is in json_read.c.
 *
 * An object keeps its members in the order written, and beside them their numbers sorted by key, so that
 * lookups cost a binary search and the canonical form needs no sorting. Byte order of UTF-8 is code point
 * order. Recursion is bounded by JSON_DEPTH for what was read; what is built is ours.
 */
#include "core/record/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/record/json_tree.h"
#include "core/record/utf8.h"

static const char *const kind_names[] = {
	[JSON_NULL] = "null",
	[JSON_BOOLEAN] = "boolean",
	[JSON_INTEGER] = "integer",
	[JSON_DOUBLE] = "number",
	[JSON_STRING] = "string",
	[JSON_ARRAY] = "array",
	[JSON_OBJECT] = "object",
};

/* ------- looking ------- */

bool json_is(const struct json *value, enum json_kind kind)
{
	return value && value->kind == kind;
}

const char *json_kind_name(const struct json *value)
{
	return value ? kind_names[value->kind] : "nothing";
}

int json_key_compare(const char *one, size_t one_length, const char *other, size_t other_length)
{
	size_t shorter = one_length < other_length ? one_length : other_length;
	int order = shorter ? memcmp(one, other, shorter) : 0;

	if (order)
		return order;
	return one_length < other_length ? -1 : one_length > other_length;
}

/* The place in `sorted` where the key is, or where it would go. */
static size_t sorted_place(const struct json *object, const char *key, size_t key_length, bool *ret_found)
{
	size_t low = 0, high = object->object.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct json_member *member = &object->object.members[object->object.sorted[middle]];
		int order = json_key_compare(member->key, member->key_length, key, key_length);

		if (!order) {
			*ret_found = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_found = false;
	return low;
}

static struct json_member *member_of(const struct json *object, const char *key, size_t key_length)
{
	bool found;

	if (!json_is(object, JSON_OBJECT))
		return NULL;
	size_t place = sorted_place(object, key, key_length, &found);
	return found ? &object->object.members[object->object.sorted[place]] : NULL;
}

struct json *json_get_n(const struct json *object, const char *key, size_t key_length)
{
	const struct json_member *member = member_of(object, key, key_length);

	return member ? member->value : NULL;
}

struct json *json_get(const struct json *object, const char *key)
{
	return json_get_n(object, key, strlen(key));
}

const struct json_member *json_find(const struct json *object, const char *key)
{
	return member_of(object, key, strlen(key));
}

size_t json_count(const struct json *value)
{
	if (json_is(value, JSON_ARRAY))
		return value->array.count;
	return json_is(value, JSON_OBJECT) ? value->object.count : 0;
}

struct json *json_item(const struct json *array, size_t n)
{
	return json_is(array, JSON_ARRAY) && n < array->array.count ? array->array.items[n] : NULL;
}

const struct json_member *json_member_at(const struct json *object, size_t n)
{
	return json_is(object, JSON_OBJECT) && n < object->object.count ? &object->object.members[n] : NULL;
}

const struct json_member *json_member_sorted(const struct json *object, size_t n)
{
	if (!json_is(object, JSON_OBJECT) || n >= object->object.count)
		return NULL;
	return &object->object.members[object->object.sorted[n]];
}

const char *json_string(const struct json *value, size_t *ret_length)
{
	if (!json_is(value, JSON_STRING))
		return NULL;
	if (ret_length)
		*ret_length = value->string.length;
	return value->string.bytes;
}

const char *json_text(const struct json *value)
{
	if (!json_is(value, JSON_STRING) || strlen(value->string.bytes) != value->string.length)
		return NULL;
	return value->string.bytes;
}

bool json_string_is(const struct json *value, const char *text)
{
	return json_is(value, JSON_STRING) && value->string.length == strlen(text) &&
	       !memcmp(value->string.bytes, text, value->string.length);
}

int json_int64(const struct json *value, int64_t *ret_number)
{
	if (!json_is(value, JSON_INTEGER))
		return -EINVAL;
	uint64_t magnitude = value->integer.magnitude;
	if (value->integer.negative) {
		/* The reader has magnitudes up to 2^63 only here. */
		*ret_number = magnitude == UINT64_C(1) << 63 ? INT64_MIN : -(int64_t)magnitude;
		return 0;
	}
	if (magnitude > INT64_MAX)
		return -ERANGE;
	*ret_number = (int64_t)magnitude;
	return 0;
}

int json_uint64(const struct json *value, uint64_t *ret_number)
{
	if (!json_is(value, JSON_INTEGER))
		return -EINVAL;
	if (value->integer.negative)
		return -ERANGE;
	*ret_number = value->integer.magnitude;
	return 0;
}

int json_double(const struct json *value, double *ret_number)
{
	if (json_is(value, JSON_DOUBLE)) {
		*ret_number = value->real;
		return 0;
	}
	if (!json_is(value, JSON_INTEGER))
		return -EINVAL;
	*ret_number = (double)value->integer.magnitude;
	if (value->integer.negative)
		*ret_number = -*ret_number;
	return 0;
}

int json_boolean(const struct json *value, bool *ret_truth)
{
	if (!json_is(value, JSON_BOOLEAN))
		return -EINVAL;
	*ret_truth = value->boolean;
	return 0;
}

static bool arrays_equal(const struct json *one, const struct json *other)
{
	for (size_t i = 0; i < one->array.count; i++)
		if (!json_equal(one->array.items[i], other->array.items[i]))
			return false;
	return true;
}

static bool objects_equal(const struct json *one, const struct json *other)
{
	for (size_t i = 0; i < one->object.count; i++) {
		const struct json_member *a = json_member_sorted(one, i), *b = json_member_sorted(other, i);
		if (json_key_compare(a->key, a->key_length, b->key, b->key_length) || !json_equal(a->value, b->value))
			return false;
	}
	return true;
}

bool json_equal(const struct json *one, const struct json *other)
{
	if (!one || !other || one->kind != other->kind || json_count(one) != json_count(other))
		return one == other;
	switch (one->kind) {
	case JSON_NULL:
		return true;
	case JSON_BOOLEAN:
		return one->boolean == other->boolean;
	case JSON_INTEGER:
		return one->integer.negative == other->integer.negative &&
		       one->integer.magnitude == other->integer.magnitude;
	case JSON_DOUBLE:
		return !memcmp(&one->real, &other->real, sizeof one->real);
	case JSON_STRING:
		return one->string.length == other->string.length &&
		       !memcmp(one->string.bytes, other->string.bytes, one->string.length);
	case JSON_ARRAY:
		return arrays_equal(one, other);
	case JSON_OBJECT:
		return objects_equal(one, other);
	}
	return false;
}

/* ------- building ------- */

struct json *json_new_kind(enum json_kind kind)
{
	struct json *value = calloc(1, sizeof *value);

	if (value)
		value->kind = kind;
	return value;
}

struct json *json_new_null(void)
{
	return json_new_kind(JSON_NULL);
}

struct json *json_new_boolean(bool truth)
{
	struct json *value = json_new_kind(JSON_BOOLEAN);

	if (value)
		value->boolean = truth;
	return value;
}

struct json *json_new_uint64(uint64_t number)
{
	struct json *value = json_new_kind(JSON_INTEGER);

	if (value)
		value->integer.magnitude = number;
	return value;
}

struct json *json_new_int64(int64_t number)
{
	struct json *value = json_new_uint64(number < 0 ? -(uint64_t)number : (uint64_t)number);

	if (value)
		value->integer.negative = number < 0;
	return value;
}

struct json *json_new_double(double number)
{
	if (!isfinite(number)) {
		errno = EINVAL;
		return NULL;
	}
	struct json *value = json_new_kind(JSON_DOUBLE);
	if (value)
		value->real = number;
	return value;
}

struct json *json_new_string_n(const void *bytes, size_t length)
{
	if (!utf8_valid(bytes, length)) {
		errno = EILSEQ;
		return NULL;
	}
	struct json *value = json_new_kind(JSON_STRING);
	if (!value)
		return NULL;
	value->string.bytes = malloc(length + 1);
	if (!value->string.bytes) {
		free(value);
		return NULL;
	}
	if (length)
		memcpy(value->string.bytes, bytes, length);
	value->string.bytes[length] = '\0';
	value->string.length = length;
	return value;
}

struct json *json_new_string(const char *text)
{
	return json_new_string_n(text, strlen(text));
}

struct json *json_new_array(void)
{
	return json_new_kind(JSON_ARRAY);
}

struct json *json_new_object(void)
{
	return json_new_kind(JSON_OBJECT);
}

struct json *json_copy(const struct json *value)
{
	_cleanup_json_ struct json *copy = NULL;

	if (!value)
		return NULL;
	if (value->kind == JSON_STRING) {
		copy = json_new_string_n(value->string.bytes, value->string.length);
	} else if (value->kind == JSON_ARRAY || value->kind == JSON_OBJECT) {
		copy = json_new_kind(value->kind);
	} else {
		copy = malloc(sizeof *copy);
		if (copy)
			*copy = *value;
	}
	if (!copy)
		return NULL;
	copy->line = value->line;
	copy->column = value->column;
	for (size_t i = 0; i < json_count(value); i++) {
		if (value->kind == JSON_ARRAY) {
			if (json_append(copy, json_copy(value->array.items[i])) < 0)
				return NULL;
			continue;
		}
		const struct json_member *from = &value->object.members[i];
		if (json_set_n(copy, from->key, from->key_length, json_copy(from->value)) < 0)
			return NULL;
		struct json_member *to = &copy->object.members[i];
		to->line = from->line;
		to->column = from->column;
	}
	return take_ptr(copy);
}

static int object_grow(struct json *object)
{
	if (object->object.count < object->object.room)
		return 0;
	if (object->object.room > UINT32_MAX / 2)
		return -ENOMEM;
	uint32_t room = object->object.room ? object->object.room * 2 : 4;
	struct json_member *members = reallocarray(object->object.members, room, sizeof *members);
	if (!members)
		return -ENOMEM;
	object->object.members = members;
	uint32_t *sorted = reallocarray(object->object.sorted, room, sizeof *sorted);
	if (!sorted)
		return -ENOMEM;
	object->object.sorted = sorted;
	object->object.room = room;
	return 0;
}

int json_put_last(struct json *object, char *key, size_t key_length, struct json *value)
{
	int r = object_grow(object);

	if (r < 0)
		return r;
	uint32_t n = object->object.count++;
	object->object.members[n] = (struct json_member){ .key = key, .key_length = key_length, .value = value };
	object->object.sorted[n] = n;
	return 0;
}

int json_set_n(struct json *object, const char *key, size_t key_length, struct json *value)
{
	_cleanup_json_ struct json *owned = value;
	bool found;

	if (!owned)
		return -ENOMEM;
	if (!json_is(object, JSON_OBJECT) || !utf8_valid(key, key_length))
		return -EINVAL;
	size_t place = sorted_place(object, key, key_length, &found);
	if (found) {
		struct json_member *member = &object->object.members[object->object.sorted[place]];
		json_free(member->value);
		member->value = take_ptr(owned);
		return 0;
	}
	_cleanup_free_ char *copy = malloc(key_length + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, key, key_length);
	copy[key_length] = '\0';
	int r = json_put_last(object, copy, key_length, owned);
	if (r < 0)
		return r;
	take_ptr(copy);
	take_ptr(owned);
	uint32_t n = object->object.count - 1, *sorted = object->object.sorted;
	memmove(sorted + place + 1, sorted + place, (n - place) * sizeof *sorted);
	sorted[place] = n;
	return 0;
}

int json_set(struct json *object, const char *key, struct json *value)
{
	return json_set_n(object, key, strlen(key), value);
}

int json_append(struct json *array, struct json *value)
{
	_cleanup_json_ struct json *owned = value;

	if (!owned)
		return -ENOMEM;
	if (!json_is(array, JSON_ARRAY))
		return -EINVAL;
	if (array->array.count == array->array.room) {
		if (array->array.room > UINT32_MAX / 2)
			return -ENOMEM;
		uint32_t room = array->array.room ? array->array.room * 2 : 4;
		struct json **items = reallocarray(array->array.items, room, sizeof *items);
		if (!items)
			return -ENOMEM;
		array->array.items = items;
		array->array.room = room;
	}
	array->array.items[array->array.count++] = take_ptr(owned);
	return 0;
}

bool json_remove(struct json *object, const char *key)
{
	bool found;

	if (!json_is(object, JSON_OBJECT))
		return false;
	size_t place = sorted_place(object, key, strlen(key), &found);
	if (!found)
		return false;
	struct json_member *members = object->object.members;
	uint32_t *sorted = object->object.sorted, n = sorted[place];
	size_t after = --object->object.count;
	free(members[n].key);
	json_free(members[n].value);
	memmove(members + n, members + n + 1, (after - n) * sizeof *members);
	memmove(sorted + place, sorted + place + 1, (after - place) * sizeof *sorted);
	for (size_t i = 0; i < after; i++)
		if (sorted[i] > n)
			sorted[i]--;
	return true;
}

void json_free(struct json *value)
{
	if (!value)
		return;
	if (value->kind == JSON_STRING)
		free(value->string.bytes);
	if (value->kind == JSON_ARRAY) {
		for (size_t i = 0; i < value->array.count; i++)
			json_free(value->array.items[i]);
		free(value->array.items);
	}
	if (value->kind == JSON_OBJECT) {
		for (size_t i = 0; i < value->object.count; i++) {
			free(value->object.members[i].key);
			json_free(value->object.members[i].value);
		}
		free(value->object.members);
		free(value->object.sorted);
	}
	free(value);
}
