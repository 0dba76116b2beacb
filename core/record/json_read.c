/*
 * The strict reader of json.h. One pass over the bytes; memory is of the order of the input, recursion at
 * most JSON_DEPTH. Every refusal goes through fail_at(), which keeps the first fault and its place.
 */
#include "core/record/json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/record/json_tree.h"
#include "core/record/utf8.h"

struct reader {
	const char *text;
	size_t length, at;
	unsigned flags, depth, values;
	/* The place of `mark`, an offset that only moves forward: places are asked for in order. */
	size_t mark;
	uint32_t line, column;
	struct json_fault fault;
};

static const char *const fault_words[] = {
#define X(identifier, words) [identifier] = words,
	JSON_FAULTS(X)
#undef X
};

const char *json_fault_words(enum json_fault_code code)
{
	return (unsigned)code < JSON_FAULT_COUNT ? fault_words[code] : "unknown fault";
}

/* Moves the mark to `offset`, counting lines and characters on the way. */
static void place_at(struct reader *reader, size_t offset)
{
	for (; reader->mark < offset; reader->mark++) {
		unsigned char byte = (unsigned char)reader->text[reader->mark];
		if (byte == '\n') {
			reader->line++;
			reader->column = 1;
		} else if ((byte & 0xc0) != 0x80) {
			reader->column++;
		}
	}
}

static int fail_code(enum json_fault_code code)
{
	if (code == JSON_FAULT_MEMORY)
		return -ENOMEM;
	return code == JSON_FAULT_TOO_LONG || code == JSON_FAULT_TOO_MANY ? -EFBIG : -EBADMSG;
}

static int fail_at(struct reader *reader, size_t offset, enum json_fault_code code)
{
	place_at(reader, offset);
	reader->fault = (struct json_fault){ .code = code, .line = reader->line, .column = reader->column };
	return fail_code(code);
}

static int fail(struct reader *reader, enum json_fault_code code)
{
	return fail_at(reader, reader->at, code);
}

static int peek(const struct reader *reader)
{
	return reader->at < reader->length ? (unsigned char)reader->text[reader->at] : -1;
}

static bool looking_at(const struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	return reader->length - reader->at >= length && !memcmp(reader->text + reader->at, word, length);
}

/* Stands at "//" or at a slash and a star. */
static int skip_comment(struct reader *reader)
{
	size_t start = reader->at;
	bool block = reader->text[reader->at + 1] == '*';
	const char *close = block ? "*/" : "\n";

	for (reader->at += 2; reader->at < reader->length;) {
		if (looking_at(reader, close)) {
			reader->at += strlen(close);
			return 0;
		}
		uint32_t character;
		size_t step = utf8_decode(reader->text + reader->at, reader->length - reader->at, &character);
		if (!step)
			return fail(reader, JSON_FAULT_UTF8);
		reader->at += step;
	}
	return block ? fail_at(reader, start, JSON_FAULT_COMMENT_END) : 0;
}

static int skip_space(struct reader *reader)
{
	for (;;) {
		int byte = peek(reader);
		if (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
			reader->at++;
			continue;
		}
		if (!looking_at(reader, "//") && !looking_at(reader, "/*"))
			return 0;
		if (!(reader->flags & JSON_COMMENTS))
			return fail(reader, JSON_FAULT_COMMENT);
		int r = skip_comment(reader);
		if (r < 0)
			return r;
	}
}

/* ------- numbers ------- */

static size_t skip_digits(struct reader *reader)
{
	size_t start = reader->at;

	while (peek(reader) >= '0' && peek(reader) <= '9')
		reader->at++;
	return reader->at - start;
}

/* Moves over a number; `ret_integer` says whether it was written as one. */
static int scan_number(struct reader *reader, bool *ret_integer)
{
	*ret_integer = true;
	if (peek(reader) == '-')
		reader->at++;
	if (peek(reader) == '0') {
		reader->at++;
		if (peek(reader) >= '0' && peek(reader) <= '9')
			return -1;
	} else if (!skip_digits(reader)) {
		return -1;
	}
	if (peek(reader) == '.') {
		*ret_integer = false;
		reader->at++;
		if (!skip_digits(reader))
			return -1;
	}
	if (peek(reader) == 'e' || peek(reader) == 'E') {
		*ret_integer = false;
		reader->at++;
		if (peek(reader) == '+' || peek(reader) == '-')
			reader->at++;
		if (!skip_digits(reader))
			return -1;
	}
	return 0;
}

static bool parse_integer(const char *text, size_t length, struct json *value)
{
	bool negative = text[0] == '-';
	uint64_t magnitude = 0;

	for (size_t i = negative; i < length; i++) {
		unsigned digit = (unsigned)(text[i] - '0');
		if (magnitude > (UINT64_MAX - digit) / 10)
			return false;
		magnitude = magnitude * 10 + digit;
	}
	if (negative && magnitude > UINT64_C(1) << 63)
		return false;
	value->integer.negative = negative && magnitude; /* -0 is the integer 0 */
	value->integer.magnitude = magnitude;
	return true;
}

/* The text ends in a byte that no number goes on with: strtod needs an end, so it gets a copy. */
static int parse_double(const char *text, size_t length, double *ret_number)
{
	char small[64];
	_cleanup_free_ char *large = NULL;
	char *copy = small;

	if (length >= sizeof small) {
		copy = large = malloc(length + 1);
		if (!large)
			return -ENOMEM;
	}
	memcpy(copy, text, length);
	copy[length] = '\0';
	/* glibc hands out its static C locale for this: nothing is allocated, nothing can fail. */
	double number = strtod_l(copy, NULL, newlocale(LC_ALL_MASK, "C", (locale_t)0));
	if (!isfinite(number))
		return -ERANGE;
	*ret_number = number;
	return 0;
}

static int read_number(struct reader *reader, struct json *value)
{
	size_t start = reader->at;
	bool integer;

	if (scan_number(reader, &integer) < 0)
		return fail_at(reader, start, JSON_FAULT_NUMBER);
	const char *text = reader->text + start;
	size_t length = reader->at - start;
	if (integer) {
		value->kind = JSON_INTEGER;
		return parse_integer(text, length, value) ? 0 : fail_at(reader, start, JSON_FAULT_INTEGER_RANGE);
	}
	value->kind = JSON_DOUBLE;
	int r = parse_double(text, length, &value->real);
	if (r < 0)
		return fail_at(reader, start, r == -ENOMEM ? JSON_FAULT_MEMORY : JSON_FAULT_DOUBLE_RANGE);
	return 0;
}

/* ------- strings ------- */

/* Four hexadecimal digits at `at`, or -1. */
static int hex4(const struct reader *reader, size_t at)
{
	int value = 0;

	if (reader->length - at < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		char c = reader->text[at + i];
		int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			    c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* Stands at the backslash of \uXXXX. */
static int read_unicode_escape(struct reader *reader, struct buffer *out)
{
	size_t start = reader->at;
	int first = hex4(reader, start + 2);

	if (first < 0)
		return fail(reader, JSON_FAULT_ESCAPE);
	reader->at += 6;
	uint32_t character = (uint32_t)first;
	if (character >= 0xd800 && character <= 0xdfff) {
		int second = looking_at(reader, "\\u") ? hex4(reader, reader->at + 2) : -1;
		if (character >= 0xdc00 || second < 0xdc00 || second > 0xdfff)
			return fail_at(reader, start, JSON_FAULT_SURROGATE);
		character = 0x10000 + ((character - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
		reader->at += 6;
	}
	char bytes[4];
	size_t length = utf8_encode(character, bytes);
	return buffer_add(out, bytes, length) < 0 ? fail(reader, JSON_FAULT_MEMORY) : 0;
}

static int read_escape(struct reader *reader, struct buffer *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

	if (reader->at + 1 >= reader->length)
		return fail_at(reader, reader->length, JSON_FAULT_END);
	char letter = reader->text[reader->at + 1];
	if (letter == 'u')
		return read_unicode_escape(reader, out);
	const char *found = letter ? strchr(from, letter) : NULL;
	if (!found)
		return fail(reader, JSON_FAULT_ESCAPE);
	reader->at += 2;
	return buffer_add_byte(out, to[found - from]) < 0 ? fail(reader, JSON_FAULT_MEMORY) : 0;
}

/* Stands at the opening quote. The bytes are the caller's. */
static int read_string(struct reader *reader, char **ret_bytes, size_t *ret_length)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;

	if (buffer_add(&out, "", 0) < 0)
		return fail(reader, JSON_FAULT_MEMORY);
	for (reader->at++;;) {
		int byte = peek(reader);
		if (byte < 0)
			return fail(reader, JSON_FAULT_END);
		if (byte == '"')
			break;
		if (byte < 0x20)
			return fail(reader, JSON_FAULT_CONTROL);
		if (byte == '\\') {
			int r = read_escape(reader, &out);
			if (r < 0)
				return r;
			continue;
		}
		uint32_t character;
		size_t step = utf8_decode(reader->text + reader->at, reader->length - reader->at, &character);
		if (!step)
			return fail(reader, JSON_FAULT_UTF8);
		if (buffer_add(&out, reader->text + reader->at, step) < 0)
			return fail(reader, JSON_FAULT_MEMORY);
		reader->at += step;
	}
	reader->at++;
	*ret_length = out.length;
	char *bytes = buffer_take(&out), *exact = realloc(bytes, *ret_length + 1);
	*ret_bytes = exact ? exact : bytes;
	return 0;
}

/* ------- arrays and objects ------- */

static int read_value(struct reader *reader, struct json **ret_value);

/* After an item: 1 where another one follows, 0 at the closing bracket (moved over). */
static int next_item(struct reader *reader, char close)
{
	int r = skip_space(reader);

	if (r < 0)
		return r;
	if (peek(reader) == close) {
		reader->at++;
		return 0;
	}
	if (peek(reader) != ',')
		return fail(reader, peek(reader) < 0 ? JSON_FAULT_END : JSON_FAULT_COMMA);
	size_t comma = reader->at++;
	r = skip_space(reader);
	if (r < 0)
		return r;
	return peek(reader) == close ? fail_at(reader, comma, JSON_FAULT_TRAILING_COMMA) : 1;
}

/* Moves over the opening bracket: 1 where something stands before the closing one. */
static int open_bracket(struct reader *reader, char close)
{
	if (++reader->depth > JSON_DEPTH)
		return fail(reader, JSON_FAULT_DEPTH);
	reader->at++;
	int r = skip_space(reader);
	if (r < 0)
		return r;
	if (peek(reader) != close)
		return 1;
	reader->at++;
	return 0;
}

static int read_array(struct reader *reader, struct json *array)
{
	int r;

	for (r = open_bracket(reader, ']'); r > 0; r = next_item(reader, ']')) {
		struct json *item = NULL;
		r = read_value(reader, &item);
		if (r < 0)
			return r;
		if (json_append(array, item) < 0)
			return fail(reader, JSON_FAULT_MEMORY);
	}
	reader->depth--;
	return r;
}

static int read_member(struct reader *reader, struct json *object)
{
	_cleanup_free_ char *key = NULL;
	_cleanup_json_ struct json *value = NULL;
	size_t key_length;

	if (peek(reader) != '"')
		return fail(reader, peek(reader) < 0 ? JSON_FAULT_END : JSON_FAULT_KEY);
	place_at(reader, reader->at);
	uint32_t line = reader->line, column = reader->column;
	int r = read_string(reader, &key, &key_length);
	if (r < 0)
		return r;
	r = skip_space(reader);
	if (r < 0)
		return r;
	if (peek(reader) != ':')
		return fail(reader, peek(reader) < 0 ? JSON_FAULT_END : JSON_FAULT_COLON);
	reader->at++;
	r = skip_space(reader);
	if (r < 0)
		return r;
	r = read_value(reader, &value);
	if (r < 0)
		return r;
	if (json_put_last(object, key, key_length, value) < 0)
		return fail(reader, JSON_FAULT_MEMORY);
	take_ptr(key);
	take_ptr(value);
	struct json_member *member = &object->object.members[object->object.count - 1];
	member->line = line;
	member->column = column;
	return 0;
}

static int compare_members(const void *one, const void *other, void *members)
{
	const struct json_member *all = members, *a = &all[*(const uint32_t *)one], *b = &all[*(const uint32_t *)other];
	int order = json_key_compare(a->key, a->key_length, b->key, b->key_length);

	return order ? order : a < b ? -1 : a > b;
}

/* Sorts the index; of keys that stand twice the first repetition is the fault. */
static int index_members(struct reader *reader, struct json *object)
{
	struct json_member *members = object->object.members;
	uint32_t *sorted = object->object.sorted;
	size_t count = object->object.count;
	uint32_t twice = UINT32_MAX;

	if (count < 2)
		return 0;
	qsort_r(sorted, count, sizeof *sorted, compare_members, members);
	for (size_t i = 1; i < count; i++) {
		const struct json_member *a = &members[sorted[i - 1]], *b = &members[sorted[i]];
		if (!json_key_compare(a->key, a->key_length, b->key, b->key_length) && sorted[i] < twice)
			twice = sorted[i];
	}
	if (twice == UINT32_MAX)
		return 0;
	reader->fault = (struct json_fault){ JSON_FAULT_DUPLICATE_KEY, members[twice].line, members[twice].column };
	return -EBADMSG;
}

static int read_object(struct reader *reader, struct json *object)
{
	int r;

	for (r = open_bracket(reader, '}'); r > 0; r = next_item(reader, '}')) {
		r = read_member(reader, object);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	reader->depth--;
	return index_members(reader, object);
}

static const struct {
	const char *word;
	enum json_kind kind;
	bool truth;
} literals[] = {
	{ "null", JSON_NULL, false },
	{ "true", JSON_BOOLEAN, true },
	{ "false", JSON_BOOLEAN, false },
};

static int read_literal(struct reader *reader, struct json *value)
{
	for (size_t i = 0; i < ELEMENTS(literals); i++) {
		if (!looking_at(reader, literals[i].word))
			continue;
		reader->at += strlen(literals[i].word);
		value->kind = literals[i].kind;
		if (value->kind == JSON_BOOLEAN)
			value->boolean = literals[i].truth;
		return 0;
	}
	return fail(reader, JSON_FAULT_VALUE);
}

static int read_value(struct reader *reader, struct json **ret_value)
{
	int byte = peek(reader), r;

	if (byte < 0)
		return fail(reader, JSON_FAULT_END);
	if (++reader->values > JSON_VALUES)
		return fail(reader, JSON_FAULT_TOO_MANY);
	_cleanup_json_ struct json *value = json_new_kind(JSON_NULL);
	if (!value)
		return fail(reader, JSON_FAULT_MEMORY);
	place_at(reader, reader->at);
	value->line = reader->line;
	value->column = reader->column;
	if (byte == '{' || byte == '[') {
		value->kind = byte == '{' ? JSON_OBJECT : JSON_ARRAY;
		r = byte == '{' ? read_object(reader, value) : read_array(reader, value);
	} else if (byte == '"') {
		char *bytes = NULL;
		size_t length = 0;
		r = read_string(reader, &bytes, &length);
		if (r >= 0) {
			value->kind = JSON_STRING;
			value->string.bytes = bytes;
			value->string.length = length;
		}
	} else if (byte == '-' || byte == '+' || byte == '.' || (byte >= '0' && byte <= '9')) {
		r = read_number(reader, value);
	} else {
		r = read_literal(reader, value);
	}
	if (r < 0)
		return r;
	*ret_value = take_ptr(value);
	return 0;
}

static int read_whole(struct reader *reader, struct json **ret_value)
{
	_cleanup_json_ struct json *value = NULL;

	if (looking_at(reader, "\xef\xbb\xbf"))
		return fail(reader, JSON_FAULT_BYTE_ORDER_MARK);
	int r = skip_space(reader);
	if (r < 0)
		return r;
	r = read_value(reader, &value);
	if (r < 0)
		return r;
	r = skip_space(reader);
	if (r < 0)
		return r;
	if (reader->at < reader->length)
		return fail(reader, JSON_FAULT_AFTER);
	*ret_value = take_ptr(value);
	return 0;
}

int json_read(const void *bytes, size_t length, size_t limit, unsigned flags, struct json **ret_value,
	      struct json_fault *ret_fault)
{
	struct reader reader = { .text = bytes ? bytes : "", .length = length, .flags = flags, .line = 1, .column = 1 };
	int r = limit && length > limit ? fail(&reader, JSON_FAULT_TOO_LONG) : read_whole(&reader, ret_value);

	if (ret_fault)
		*ret_fault = reader.fault;
	return r;
}

int json_read_named(const char *name, const void *bytes, size_t length, size_t limit, unsigned flags,
		    struct json **ret_value, struct pr_error *error)
{
	struct json_fault fault;
	int r = json_read(bytes, length, limit, flags, ret_value, &fault);

	if (r < 0)
		pr_error_set(error, -r, "%s:%u:%u: %s", name, fault.line, fault.column, json_fault_words(fault.code));
	return r;
}
