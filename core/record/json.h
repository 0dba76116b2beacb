/*
 * JSON that identity can rest on: a strict reader (RFC 8259 and more, see below), and the tree it makes.
 *
 * json-c takes or bends duplicate keys, comments and number texts silently; this reader refuses, with a
 * typed fault and its place. Refused: duplicate keys, invalid UTF-8, lone surrogates, depth over 64,
 * integers outside -2^63 ... 2^64-1, doubles that overflow (1e400), NaN and Infinity, `1.`, `.5`, `+1`,
 * `007`, raw control characters in strings, a byte order mark, comments (unless asked for), trailing
 * commas, text after the value, input over the caller's limit, and more than JSON_VALUES values.
 *
 * Places: line and column count from 1; a column is in characters (Unicode code points; a tab is one).
 * A node of json_read() knows where its value begins; a member also where its key begins. Built nodes
 * (json_new_...) have line 0.
 *
 * Ownership: a node owns what is below it; json_free() frees the whole. json_get(), json_item() and
 * json_members() lend. json_set() and json_append() take their value over, also where they fail.
 *
 * A string is bytes and a length: "\u0000" may stand in it; bytes[length] is always NUL. Strings are
 * valid UTF-8 always. Nothing here depends on the locale.
 */
#ifndef CORE_RECORD_JSON_H
#define CORE_RECORD_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cleanup.h"
#include <proctor/error.h>

#define JSON_DEPTH 64		/* arrays and objects within one another */
#define JSON_VALUES 1000000	/* values of one text: a bound of ours on memory, some 100 bytes a value */

enum json_kind {
	JSON_NULL,
	JSON_BOOLEAN,
	JSON_INTEGER,		/* written without a fraction and an exponent */
	JSON_DOUBLE,		/* written with either */
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_member;

/* Read the fields through the accessors below; they are here so that a switch over `kind` is easy. */
struct json {
	enum json_kind kind;
	uint32_t line, column;		/* 0: built, not read */
	union {
		bool boolean;
		struct {
			bool negative;		/* never with magnitude 0 */
			uint64_t magnitude;
		} integer;
		double real;			/* finite */
		struct {
			char *bytes;
			size_t length;
		} string;
		struct {
			struct json **items;
			uint32_t count, room;
		} array;
		struct {
			struct json_member *members;	/* in the order written */
			uint32_t *sorted;		/* member numbers by key, code point order */
			uint32_t count, room;
		} object;
	};
};

struct json_member {
	char *key;			/* NUL at key[key_length]; may hold NULs before it */
	size_t key_length;
	uint32_t line, column;		/* of the key */
	struct json *value;
};

/* ------- reading ------- */

/* What is wrong. X(identifier, "words") */
#define JSON_FAULTS(X) \
	X(JSON_FAULT_NONE, "no fault") \
	X(JSON_FAULT_TOO_LONG, "the text is longer than allowed") \
	X(JSON_FAULT_TOO_MANY, "more than 1000000 values") \
	X(JSON_FAULT_MEMORY, "out of memory") \
	X(JSON_FAULT_BYTE_ORDER_MARK, "a byte order mark stands at the start") \
	X(JSON_FAULT_UTF8, "invalid UTF-8") \
	X(JSON_FAULT_END, "the text ends within a value") \
	X(JSON_FAULT_VALUE, "no JSON value begins here") \
	X(JSON_FAULT_NUMBER, "not a JSON number") \
	X(JSON_FAULT_INTEGER_RANGE, "the integer is outside -2^63 ... 2^64-1") \
	X(JSON_FAULT_DOUBLE_RANGE, "the number is too large for a double") \
	X(JSON_FAULT_CONTROL, "a raw control character stands in a string") \
	X(JSON_FAULT_ESCAPE, "not a JSON escape") \
	X(JSON_FAULT_SURROGATE, "a lone surrogate") \
	X(JSON_FAULT_KEY, "a key in double quotes is expected here") \
	X(JSON_FAULT_COLON, "a colon is expected here") \
	X(JSON_FAULT_COMMA, "a comma or the closing bracket is expected here") \
	X(JSON_FAULT_TRAILING_COMMA, "a comma stands before the closing bracket") \
	X(JSON_FAULT_DUPLICATE_KEY, "the key stands twice in one object") \
	X(JSON_FAULT_DEPTH, "more than 64 arrays and objects within one another") \
	X(JSON_FAULT_COMMENT, "comments are not allowed here") \
	X(JSON_FAULT_COMMENT_END, "the comment is not closed") \
	X(JSON_FAULT_AFTER, "text after the value")

enum json_fault_code {
#define X(identifier, words) identifier,
	JSON_FAULTS(X)
#undef X
	JSON_FAULT_COUNT
};

struct json_fault {
	enum json_fault_code code;
	uint32_t line, column;
};

const char *json_fault_words(enum json_fault_code code);

enum {
	JSON_COMMENTS = 1,	/* `//` to the end of the line and `/ * ... * /` (round files) */
};

/*
 * Reads one value. `limit` is the most bytes taken (0: none). Fails with -EBADMSG (the text is not what
 * it should be), -EFBIG (over the limit, or over JSON_VALUES), -ENOMEM; `ret_fault` (may be NULL) then says what and where.
 */
int json_read(const void *bytes, size_t length, size_t limit, unsigned flags, struct json **ret_value,
	      struct json_fault *ret_fault);

/* json_read() for callers with an error object: "NAME:LINE:COLUMN: words". `name` is text of ours. */
int json_read_named(const char *name, const void *bytes, size_t length, size_t limit, unsigned flags,
		    struct json **ret_value, struct pr_error *error);

/* ------- looking ------- */

/* All take NULL for `value` and then answer as for a value of another kind, so that lookups chain. */

/* The member's value, or NULL: no object, no such key. */
struct json *json_get(const struct json *object, const char *key);
struct json *json_get_n(const struct json *object, const char *key, size_t key_length);
/* The member itself (its key's place), or NULL. */
const struct json_member *json_find(const struct json *object, const char *key);

bool json_is(const struct json *value, enum json_kind kind);
/* "null", "boolean", "integer", "number", "string", "array", "object"; "nothing" for NULL. */
const char *json_kind_name(const struct json *value);

/* The number of items or members; 0 for another kind. */
size_t json_count(const struct json *value);
/* The n-th item of an array, else NULL. */
struct json *json_item(const struct json *array, size_t n);
/* The n-th member in the order written, else NULL. */
const struct json_member *json_member_at(const struct json *object, size_t n);
/* The n-th member in code point order of the keys, else NULL. */
const struct json_member *json_member_sorted(const struct json *object, size_t n);

/* The bytes of a string (ret_length may be NULL), else NULL. */
const char *json_string(const struct json *value, size_t *ret_length);
/* As json_string(), but NULL also where a NUL stands within: for what becomes a C string. */
const char *json_text(const struct json *value);
bool json_string_is(const struct json *value, const char *text);

/* -EINVAL: another kind; -ERANGE: an integer that does not fit. */
int json_int64(const struct json *value, int64_t *ret_number);
int json_uint64(const struct json *value, uint64_t *ret_number);
/* An integer or a double as a double. */
int json_double(const struct json *value, double *ret_number);
int json_boolean(const struct json *value, bool *ret_truth);

/* Same kind and same content (1 and 1.0 differ; 0.0 and -0.0 differ; order of members does not matter). */
bool json_equal(const struct json *one, const struct json *other);

/* ------- building ------- */

/* NULL: out of memory. json_new_string*: also where the bytes are no valid UTF-8 (errno EILSEQ). */
struct json *json_new_null(void);
struct json *json_new_boolean(bool truth);
struct json *json_new_int64(int64_t number);
struct json *json_new_uint64(uint64_t number);
struct json *json_new_double(double number);	/* NULL (errno EINVAL) unless finite */
struct json *json_new_string(const char *text);
struct json *json_new_string_n(const void *bytes, size_t length);
struct json *json_new_array(void);
struct json *json_new_object(void);
struct json *json_copy(const struct json *value);

/*
 * Sets a member; one that is there is replaced in its place. Takes `value` over in every case; where it
 * is NULL (a constructor that failed) the answer is -ENOMEM, so that building needs one check a line.
 */
int json_set(struct json *object, const char *key, struct json *value);
int json_set_n(struct json *object, const char *key, size_t key_length, struct json *value);
int json_append(struct json *array, struct json *value);
/* Removes and frees a member; false where there is none. */
bool json_remove(struct json *object, const char *key);

void json_free(struct json *value);

static inline void json_freep(struct json **value)
{
	json_free(*value);
}

#define _cleanup_json_ _cleanup_(json_freep)

#endif
