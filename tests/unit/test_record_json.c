/* The strict reader and the tree: what is refused and where, what is read, what is built. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buffer.h"
#include "core/record/canonical.h"
#include "core/record/json.h"

static struct json *read_text(const char *text, unsigned flags)
{
	struct json *value = NULL;
	struct json_fault fault;

	if (json_read(text, strlen(text), 0, flags, &value, &fault) < 0)
		fail_msg("%s: %s at %u:%u", text, json_fault_words(fault.code), fault.line, fault.column);
	return value;
}

/* One row a refusal: the text, the fault, its place. */
static const struct {
	const char *text;
	enum json_fault_code code;
	uint32_t line, column;
} refusals[] = {
	{ "", JSON_FAULT_END, 1, 1 },
	{ " \n ", JSON_FAULT_END, 2, 2 },
	{ "{\"a\":1,\n \"b\":2,\n  \"a\":3}", JSON_FAULT_DUPLICATE_KEY, 3, 3 },
	{ "{\"\\u0061\":1,\"a\":1}", JSON_FAULT_DUPLICATE_KEY, 1, 13 },
	{ "{\"c\":1,\"b\":1,\"b\":2,\"c\":2}", JSON_FAULT_DUPLICATE_KEY, 1, 14 },
	{ "[\"\xff\"]", JSON_FAULT_UTF8, 1, 3 },
	{ "[\"\xc0\xaf\"]", JSON_FAULT_UTF8, 1, 3 },
	{ "[\"\xed\xa0\x80\"]", JSON_FAULT_UTF8, 1, 3 },
	{ "[\"\xf4\x90\x80\x80\"]", JSON_FAULT_UTF8, 1, 3 },
	{ "[\"\xe0\x80\xaf\"]", JSON_FAULT_UTF8, 1, 3 },
	{ "[\"\xf0\x80\x80\xaf\"]", JSON_FAULT_UTF8, 1, 3 },
	{ "[\"\xf8\x88\x80\x80\x80\"]", JSON_FAULT_UTF8, 1, 3 },
	{ "[\"\xe2\x82\"]", JSON_FAULT_UTF8, 1, 3 },
	{ "[\"\\ud800\"]", JSON_FAULT_SURROGATE, 1, 3 },
	{ "[\"\\udc00\"]", JSON_FAULT_SURROGATE, 1, 3 },
	{ "[\"\\ud800\\u0041\"]", JSON_FAULT_SURROGATE, 1, 3 },
	{ "[\"\\ud800\\ud800\"]", JSON_FAULT_SURROGATE, 1, 3 },
	{ "[\"\\udc00\\udc00\"]", JSON_FAULT_SURROGATE, 1, 3 },
	{ "[\"\\ud83dx\"]", JSON_FAULT_SURROGATE, 1, 3 },
	{ "[\"\\u12g4\"]", JSON_FAULT_ESCAPE, 1, 3 },
	{ "[\"\\u12", JSON_FAULT_ESCAPE, 1, 3 },
	{ "[\"\\x41\"]", JSON_FAULT_ESCAPE, 1, 3 },
	{ "[\"a\\", JSON_FAULT_END, 1, 5 },
	{ "[\"a\tb\"]", JSON_FAULT_CONTROL, 1, 4 },
	{ "[\"a\nb\"]", JSON_FAULT_CONTROL, 1, 4 },
	{ "[\"\x1f\"]", JSON_FAULT_CONTROL, 1, 3 },
	{ "[18446744073709551616]", JSON_FAULT_INTEGER_RANGE, 1, 2 },
	{ "[-9223372036854775809]", JSON_FAULT_INTEGER_RANGE, 1, 2 },
	{ "[99999999999999999999999999]", JSON_FAULT_INTEGER_RANGE, 1, 2 },
	{ "[1e400]", JSON_FAULT_DOUBLE_RANGE, 1, 2 },
	{ "[-1e400]", JSON_FAULT_DOUBLE_RANGE, 1, 2 },
	{ "[NaN]", JSON_FAULT_VALUE, 1, 2 },
	{ "[Infinity]", JSON_FAULT_VALUE, 1, 2 },
	{ "[-Infinity]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[1.]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[.5]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[+1]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[007]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[-]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[1e]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[1e+]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[1.e5]", JSON_FAULT_NUMBER, 1, 2 },
	{ "[0x10]", JSON_FAULT_COMMA, 1, 3 },
	{ "[1 2]", JSON_FAULT_COMMA, 1, 4 },
	{ "[1,]", JSON_FAULT_TRAILING_COMMA, 1, 3 },
	{ "{\"a\":1,}", JSON_FAULT_TRAILING_COMMA, 1, 7 },
	{ "[,1]", JSON_FAULT_VALUE, 1, 2 },
	{ "{'a':1}", JSON_FAULT_KEY, 1, 2 },
	{ "{a:1}", JSON_FAULT_KEY, 1, 2 },
	{ "{1:1}", JSON_FAULT_KEY, 1, 2 },
	{ "{\"a\" 1}", JSON_FAULT_COLON, 1, 6 },
	{ "{\"a\":}", JSON_FAULT_VALUE, 1, 6 },
	{ "{\"a\":1]", JSON_FAULT_COMMA, 1, 7 },
	{ "[1}", JSON_FAULT_COMMA, 1, 3 },
	{ "[", JSON_FAULT_END, 1, 2 },
	{ "{", JSON_FAULT_END, 1, 2 },
	{ "{\"a\"", JSON_FAULT_END, 1, 5 },
	{ "[\"a", JSON_FAULT_END, 1, 4 },
	{ "[1] x", JSON_FAULT_AFTER, 1, 5 },
	{ "[1][2]", JSON_FAULT_AFTER, 1, 4 },
	{ "\xef\xbb\xbf[1]", JSON_FAULT_BYTE_ORDER_MARK, 1, 1 },
	{ "// c\n1", JSON_FAULT_COMMENT, 1, 1 },
	{ "[1, /* c */ 2]", JSON_FAULT_COMMENT, 1, 5 },
	{ "tru", JSON_FAULT_VALUE, 1, 1 },
	{ "[True]", JSON_FAULT_VALUE, 1, 2 },
	{ "truex", JSON_FAULT_AFTER, 1, 5 },
	{ "\v1", JSON_FAULT_VALUE, 1, 1 },
	{ "\xc2\xa0""1", JSON_FAULT_VALUE, 1, 1 },
	/* A column is a character: the two-byte one before counts once. */
	{ "[\"\xc3\xa9\",x]", JSON_FAULT_VALUE, 1, 6 },
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(refusals); i++) {
		struct json *value = (struct json *)-1;
		struct json_fault fault;
		int r = json_read(refusals[i].text, strlen(refusals[i].text), 0, 0, &value, &fault);

		if (r != -EBADMSG || fault.code != refusals[i].code || fault.line != refusals[i].line ||
		    fault.column != refusals[i].column)
			fail_msg("%s: %d, %s at %u:%u", refusals[i].text, r, json_fault_words(fault.code), fault.line,
				 fault.column);
		assert_ptr_equal(value, (struct json *)-1);
	}
}

static void test_nul_is_refused_raw_and_read_escaped(void **state)
{
	struct json_fault fault;
	_cleanup_json_ struct json *value = NULL;
	size_t length;

	(void)state;
	assert_int_equal(json_read("[\"a\0b\"]", 7, 0, 0, &value, &fault), -EBADMSG);
	assert_int_equal(fault.code, JSON_FAULT_CONTROL);
	assert_int_equal(json_read("1\0", 2, 0, 0, &value, &fault), -EBADMSG);
	assert_int_equal(fault.code, JSON_FAULT_AFTER);
	value = read_text("\"a\\u0000b\"", 0);
	assert_memory_equal(json_string(value, &length), "a\0b", 4);
	assert_int_equal(length, 3);
	assert_null(json_text(value));
	assert_false(json_string_is(value, "a"));
}

static void test_depth(void **state)
{
	char text[200];
	struct json *value = NULL;
	struct json_fault fault;

	(void)state;
	memset(text, '[', 64);
	memset(text + 64, ']', 64);
	assert_int_equal(json_read(text, 128, 0, 0, &value, &fault), 0);
	json_free(value);
	memset(text, '[', 65);
	memset(text + 65, ']', 65);
	assert_int_equal(json_read(text, 130, 0, 0, &value, &fault), -EBADMSG);
	assert_int_equal(fault.code, JSON_FAULT_DEPTH);
	assert_int_equal(fault.column, 65);
	/* Siblings are not depth. */
	value = read_text("[[],[],[],{\"a\":[]},{\"a\":{}}]", 0);
	assert_int_equal(json_count(value), 5);
	json_free(value);
}

static void test_bounds(void **state)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	struct json *value = NULL;
	struct json_fault fault;

	(void)state;
	assert_int_equal(json_read("[1,2]", 5, 4, 0, &value, &fault), -EFBIG);
	assert_int_equal(fault.code, JSON_FAULT_TOO_LONG);
	assert_int_equal(json_read("[1,2]", 5, 5, 0, &value, &fault), 0);
	json_free(value);
	buffer_add_byte(&text, '[');
	for (unsigned i = 0; i < JSON_VALUES; i++)
		buffer_add(&text, "0,", 2);
	buffer_add(&text, "0]", 2);
	assert_int_equal(json_read(text.data, text.length, 0, 0, &value, &fault), -EFBIG);
	assert_int_equal(fault.code, JSON_FAULT_TOO_MANY);
}

static void test_comments(void **state)
{
	_cleanup_json_ struct json *value = NULL;
	struct json_fault fault;
	static const char text[] = "// first\n{ /* a\n b */ \"k\": // why\n 1, \"u\": \"http://x\" /**/ } // end";

	(void)state;
	value = read_text(text, JSON_COMMENTS);
	assert_int_equal(json_find(value, "k")->line, 3);
	assert_int_equal(json_find(value, "k")->column, 7);
	assert_int_equal(json_get(value, "k")->line, 4);
	assert_int_equal(json_get(value, "k")->column, 2);
	assert_true(json_string_is(json_get(value, "u"), "http://x"));
	static const struct {
		const char *text;
		enum json_fault_code code;
		uint32_t column;
	} bad[] = {
		{ "1 /* open", JSON_FAULT_COMMENT_END, 3 },
		{ "1 /*/", JSON_FAULT_COMMENT_END, 3 },
		{ "1 # no", JSON_FAULT_AFTER, 3 },
		{ "1 / 2", JSON_FAULT_AFTER, 3 },
		{ "1 // \xff", JSON_FAULT_UTF8, 6 },
		{ "[1,/* */]", JSON_FAULT_TRAILING_COMMA, 3 },
	};
	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		struct json *none;
		assert_int_equal(json_read(bad[i].text, strlen(bad[i].text), 0, JSON_COMMENTS, &none, &fault), -EBADMSG);
		assert_int_equal(fault.code, bad[i].code);
		assert_int_equal(fault.column, bad[i].column);
	}
}

static void test_places(void **state)
{
	_cleanup_json_ struct json *value = read_text("{\n\t\"a\": [1,\r\n  {\"b\": true}],\n\"\xc3\xa9\": null}", 0);
	const struct json *inner = json_item(json_get(value, "a"), 1);

	(void)state;
	assert_int_equal(json_find(value, "a")->line, 2);
	assert_int_equal(json_find(value, "a")->column, 2);
	assert_int_equal(json_get(value, "a")->column, 7);
	assert_int_equal(inner->line, 3);
	assert_int_equal(inner->column, 3);
	assert_int_equal(json_get(inner, "b")->column, 9);
	assert_int_equal(json_get(value, "\xc3\xa9")->column, 6);
}

static void test_named_error(void **state)
{
	struct json *value;
	struct pr_error error;

	(void)state;
	assert_int_equal(json_read_named("smoke.round.json", "{\n \"a\" 1}", 9, 0, 0, &value, &error), -EBADMSG);
	assert_string_equal(error.message, "smoke.round.json:2:6: a colon is expected here");
}

static void test_numbers(void **state)
{
	_cleanup_json_ struct json *value =
		read_text("[0,-0,-9223372036854775808,9223372036854775807,18446744073709551615,1.0,-0.0,1E2,5e-324,1e-400]", 0);
	int64_t i;
	uint64_t u;
	double d;

	(void)state;
	assert_int_equal(json_int64(json_item(value, 1), &i), 0);
	assert_int_equal(i, 0);
	assert_int_equal(json_int64(json_item(value, 2), &i), 0);
	assert_true(i == INT64_MIN);
	assert_int_equal(json_uint64(json_item(value, 2), &u), -ERANGE);
	assert_int_equal(json_int64(json_item(value, 3), &i), 0);
	assert_true(i == INT64_MAX);
	assert_int_equal(json_int64(json_item(value, 4), &i), -ERANGE);
	assert_int_equal(json_uint64(json_item(value, 4), &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(json_int64(json_item(value, 5), &i), -EINVAL);
	assert_true(json_is(json_item(value, 5), JSON_DOUBLE));
	assert_true(json_is(json_item(value, 7), JSON_DOUBLE));
	assert_int_equal(json_double(json_item(value, 6), &d), 0);
	assert_true(d == 0 && signbit(d));
	assert_int_equal(json_double(json_item(value, 2), &d), 0);
	assert_true(d == -9223372036854775808.0);
	assert_int_equal(json_double(json_item(value, 9), &d), 0);
	assert_true(d == 0);
}

/* A locale with a decimal comma must change nothing. */
static void test_locale(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;
	static const char *const commas[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8" };
	bool found = false;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(commas) && !found; i++)
		found = setlocale(LC_ALL, commas[i]) != NULL;
	_cleanup_json_ struct json *value = read_text("[1.5,0.1]", 0);
	int r = canonical_write(value, &out);
	setlocale(LC_ALL, "C");
	assert_int_equal(r, 0);
	assert_string_equal(out.data, "[1.5,0.1]");
	if (!found)
		print_message("no locale with a decimal comma on this host: read and written in C alone\n");
}

static void test_accessors_chain(void **state)
{
	_cleanup_json_ struct json *value = read_text("{\"b\":{\"c\":[\"x\"]},\"a\":1}", 0);
	bool truth = true;

	(void)state;
	assert_string_equal(json_text(json_item(json_get(json_get(value, "b"), "c"), 0)), "x");
	assert_null(json_text(json_item(json_get(json_get(value, "no"), "c"), 0)));
	assert_null(json_item(json_get(value, "b"), 0));
	assert_int_equal(json_count(NULL), 0);
	assert_string_equal(json_kind_name(NULL), "nothing");
	assert_string_equal(json_kind_name(value), "object");
	assert_int_equal(json_boolean(json_get(value, "a"), &truth), -EINVAL);
	assert_true(truth);
	assert_string_equal(json_member_at(value, 0)->key, "b");
	assert_string_equal(json_member_sorted(value, 0)->key, "a");
	assert_null(json_member_at(value, 2));
}

static void test_building(void **state)
{
	_cleanup_json_ struct json *object = json_new_object();
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;

	(void)state;
	assert_int_equal(json_set(object, "z", json_new_int64(INT64_MIN)), 0);
	assert_int_equal(json_set(object, "a", json_new_array()), 0);
	assert_int_equal(json_set(object, "m", json_new_double(1)), 0);
	assert_int_equal(json_append(json_get(object, "a"), json_new_string("\n\"")), 0);
	assert_int_equal(json_set(object, "z", json_new_boolean(true)), 0);
	assert_int_equal(json_count(object), 3);
	assert_int_equal(canonical_write(object, &out), 0);
	assert_string_equal(out.data, "{\"a\":[\"\\n\\\"\"],\"m\":1.0,\"z\":true}");
	assert_true(json_remove(object, "a"));
	assert_false(json_remove(object, "a"));
	assert_string_equal(json_member_at(object, 0)->key, "z");
	assert_non_null(json_get(object, "m"));
	assert_non_null(json_get(object, "z"));
	assert_null(json_new_double(NAN));
	assert_null(json_new_double(INFINITY));
	assert_null(json_new_string("\xff"));
	assert_int_equal(json_set(object, "x", NULL), -ENOMEM);
	assert_int_equal(json_set(object, "\xff", json_new_null()), -EINVAL);
	assert_int_equal(json_append(object, json_new_null()), -EINVAL);
}

static void test_many_members(void **state)
{
	_cleanup_json_ struct json *object = json_new_object();
	char key[16];

	(void)state;
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(key, sizeof key, "%u", (i * 7919u) % 5000u);
		assert_int_equal(json_set(object, key, json_new_uint64(i)), 0);
	}
	assert_int_equal(json_count(object), 5000);
	for (size_t i = 1; i < 5000; i++)
		assert_true(strcmp(json_member_sorted(object, i - 1)->key, json_member_sorted(object, i)->key) < 0);
	for (unsigned i = 0; i < 5000; i += 2) {
		snprintf(key, sizeof key, "%u", i);
		assert_true(json_remove(object, key));
	}
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(key, sizeof key, "%u", i);
		assert_true(!json_get(object, key) == !(i % 2));
	}
}

static void test_copy_and_equal(void **state)
{
	_cleanup_json_ struct json *one = read_text("{\"a\":[1,1.0,\"x\\u0000y\",null,true],\"b\":{\"c\":-5}}", 0);
	_cleanup_json_ struct json *copy = json_copy(one);
	static const char *const others[] = {
		"{\"a\":[1,1,\"x\\u0000y\",null,true],\"b\":{\"c\":-5}}", "{\"a\":[1,1.0,\"x\\u0000z\",null,true],\"b\":{\"c\":-5}}",
		"{\"a\":[1,1.0,\"x\\u0000y\",null,true],\"b\":{\"c\":5}}", "{\"a\":[1,1.0,\"x\\u0000y\",null,true],\"b\":{\"d\":-5}}",
		"{\"a\":[1,1.0,\"x\\u0000y\",null],\"b\":{\"c\":-5}}", "{\"a\":[1,1.0,\"x\\u0000y\",null,false],\"b\":{\"c\":-5}}",
		"null",
	};

	(void)state;
	assert_true(json_equal(one, copy));
	assert_int_equal(json_get(copy, "b")->column, json_get(one, "b")->column);
	_cleanup_json_ struct json *turned = read_text("{\"b\":{\"c\":-5},\"a\":[1,1.0,\"x\\u0000y\",null,true]}", 0);
	assert_true(json_equal(one, turned));
	for (size_t i = 0; i < ELEMENTS(others); i++) {
		_cleanup_json_ struct json *other = read_text(others[i], 0);
		assert_false(json_equal(one, other));
	}
}

static void test_canonical_depth(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT;

	(void)state;
	/* The innermost is once an array, once an object. */
	for (unsigned round = 0; round < 2; round++) {
		struct json *value = round ? json_new_object() : json_new_array();

		for (unsigned i = 1; i < 64; i++) {
			struct json *outer = json_new_array();
			assert_int_equal(json_append(outer, value), 0);
			value = outer;
		}
		assert_int_equal(canonical_write(value, &out), 0);
		struct json *outer = json_new_object();
		assert_int_equal(json_set(outer, "a", value), 0);
		assert_int_equal(canonical_write(outer, &out), -ELOOP);
		json_free(outer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_nul_is_refused_raw_and_read_escaped),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_comments),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_named_error),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_locale),
		cmocka_unit_test(test_accessors_chain),
		cmocka_unit_test(test_building),
		cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_copy_and_equal),
		cmocka_unit_test(test_canonical_depth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
