/* The conformance vectors of this room: canonical, ids, commands, globs, writable, paths. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buffer.h"
#include "core/base/clock.h"
#include "core/base/digest.h"
#include "core/base/io.h"
#include "core/record/canonical.h"
#include "core/record/glob.h"
#include "core/record/identity.h"
#include "core/record/path.h"

static struct json *vectors;

static int setup(void **state)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	struct pr_error error;

	(void)state;
	if (io_read_file(AT_FDCWD, PROCTOR_SOURCE "/tests/vectors/vectors.json", 1 << 24, &text) < 0)
		return -1;
	return json_read_named("vectors.json", text.data, text.length, 0, 0, &vectors, &error);
}

static int teardown(void **state)
{
	(void)state;
	json_free(vectors);
	return 0;
}

/* The family, which must have at least `least` vectors, so that a lost file does not pass. */
static const struct json *family(const char *name, size_t least)
{
	const struct json *vector = json_get(vectors, name);

	assert_true(json_count(vector) >= least);
	return vector;
}

static void base64(const char *text, struct buffer *out)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, held = 0;

	for (; *text && *text != '='; text++) {
		bits = bits << 6 | (unsigned)(strchr(digits, *text) - digits);
		held += 6;
		if (held >= 8) {
			held -= 8;
			buffer_add_byte(out, (char)(bits >> held & 0xff));
		}
	}
}

static void test_canonical(void **state)
{
	const struct json *list = family("canonical", 58);
	size_t refused = 0;

	(void)state;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *vector = json_item(list, i);
		_cleanup_buffer_ struct buffer text = BUFFER_INIT, out = BUFFER_INIT;
		_cleanup_json_ struct json *value = NULL;
		struct json_fault fault;
		size_t length;

		if (json_get(vector, "base64"))
			base64(json_text(json_get(vector, "base64")), &text);
		else if (json_string(json_get(vector, "text"), &length))
			buffer_add(&text, json_string(json_get(vector, "text"), NULL), length);
		int r = json_read(text.data, text.length, 0, 0, &value, &fault);
		if (json_get(vector, "refused")) {
			if (r != -EBADMSG || fault.code == JSON_FAULT_NONE)
				fail_msg("canonical[%zu] was not refused", i);
			refused++;
			continue;
		}
		if (r < 0)
			fail_msg("canonical[%zu]: %s", i, json_fault_words(fault.code));
		assert_int_equal(canonical_write(value, &out), 0);
		const char *right = json_string(json_get(vector, "canonical"), &length);
		if (length != out.length || memcmp(right, out.data, length))
			fail_msg("canonical[%zu]: %s, not %s", i, out.data, right);
		char hex[DIGEST_HEX];
		digest_bytes(out.data, out.length, hex);
		assert_string_equal(hex, json_text(json_get(vector, "sha256")));
		/* The canonical form is its own canonical form. */
		_cleanup_json_ struct json *again = NULL;
		_cleanup_buffer_ struct buffer twice = BUFFER_INIT;
		assert_int_equal(json_read(out.data, out.length, 0, 0, &again, NULL), 0);
		assert_true(json_equal(value, again));
		assert_int_equal(canonical_write(again, &twice), 0);
		assert_string_equal(out.data, twice.data);
	}
	assert_true(refused >= 25);
}

static enum identity identity_from(const char *kind)
{
	for (unsigned i = 0; i < IDENTITY_COUNT; i++)
		if (!strcmp(identity_kind((enum identity)i), kind))
			return (enum identity)i;
	fail_msg("no identity %s", kind);
	return IDENTITY_COUNT;
}

static void test_ids(void **state)
{
	const struct json *list = family("ids", 20);

	(void)state;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *vector = json_item(list, i);
		enum identity identity = identity_from(json_text(json_get(vector, "kind")));
		_cleanup_json_ struct json *object = json_copy(json_get(vector, "object"));
		char id[IDENTITY_SIZE];
		struct pr_error error;

		assert_int_equal(identity_of(identity, object, id, &error), 0);
		if (strcmp(id, json_text(json_get(vector, "id"))))
			fail_msg("ids[%zu]: %s", i, id);
		assert_true(identity_well_formed(identity, id));
		/* Sealed, it checks; with its own member in it the id stays; changed, it does not check. */
		assert_int_equal(identity_seal(identity, object, NULL, &error), 0);
		assert_int_equal(identity_check(identity, object, &error), 0);
		assert_int_equal(json_set(object, identity_member(identity), json_new_string("snap-0")), 0);
		assert_int_equal(identity_check(identity, object, &error), -EBADMSG);
	}
}

static void test_ids_move_with_what_counts_alone(void **state)
{
	static const char trace[] = "{\"trace_version\":\"v\",\"events\":[{\"command\":[],\"cwd\":\".\",\"exit_code\":0}]}";
	static const char beside[] = "{\"trace_version\":\"v\",\"host\":1,\"events\":[{\"command\":[],\"cwd\":\".\",\"exit_code\":0,\"pid\":3}]}";
	static const char limits[] = "{\"trace_version\":\"v\",\"events\":[{\"command\":[],\"cwd\":\".\",\"exit_code\":0,"
				     "\"execution_limits_version\":\"traaviis.execution-limits.v1\"}]}";
	static const char *const texts[] = { trace, beside, limits };
	char ids[3][IDENTITY_SIZE];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		_cleanup_json_ struct json *value = NULL;
		assert_int_equal(json_read(texts[i], strlen(texts[i]), 0, 0, &value, NULL), 0);
		assert_int_equal(identity_of(IDENTITY_TRACE, value, ids[i], NULL), 0);
	}
	assert_string_equal(ids[0], ids[1]);
	assert_string_not_equal(ids[0], ids[2]);
}

static void test_ids_refuse(void **state)
{
	static const struct {
		enum identity identity;
		const char *text;
	} bad[] = {
		{ IDENTITY_SNAPSHOT, "[]" },
		{ IDENTITY_EPISODE, "null" },
		{ IDENTITY_PATCH, "{\"patch_version\":\"v\"}" },
		{ IDENTITY_PATCH, "{\"diff\":1}" },
		{ IDENTITY_TRACE, "{\"events\":[]}" },
		{ IDENTITY_TRACE, "{\"trace_version\":\"v\"}" },
		{ IDENTITY_TRACE, "{\"trace_version\":\"v\",\"events\":{}}" },
		{ IDENTITY_TRACE, "{\"trace_version\":\"v\",\"events\":[1]}" },
		{ IDENTITY_COMMAND, "{}" },
		{ IDENTITY_COMMAND, "{\"tool\":1}" },
		{ IDENTITY_COMMAND, "{\"tool\":\"x\",\"args\":\"y\"}" },
		{ IDENTITY_COMMAND, "{\"tool\":\"x\",\"args\":[1]}" },
		{ IDENTITY_COMMAND, "{\"tool\":\"x\",\"cwd\":null}" },
		{ IDENTITY_COMMAND, "{\"argv\":\"x\"}" },
		{ IDENTITY_COMMAND, "{\"argv\":[\"a\\u0000b\"]}" },
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		_cleanup_json_ struct json *value = NULL;
		char id[IDENTITY_SIZE] = "kept";
		struct pr_error error = { 0 };
		assert_int_equal(json_read(bad[i].text, strlen(bad[i].text), 0, 0, &value, NULL), 0);
		if (identity_of(bad[i].identity, value, id, &error) != -EBADMSG)
			fail_msg("%s has the id %s", bad[i].text, id);
		assert_true(error.message[0]);
		assert_string_equal(id, "kept");
	}
}

static void test_commands(void **state)
{
	const struct json *list = family("commands", 5);

	(void)state;
	for (size_t i = 0; i < json_count(list); i++) {
		char id[IDENTITY_SIZE];
		assert_int_equal(identity_of(IDENTITY_COMMAND, json_get(json_item(list, i), "command"), id, NULL), 0);
		assert_string_equal(id, json_text(json_get(json_item(list, i), "id")));
	}
	assert_string_equal(identity_token("/usr/bin/python3"), "python3");
	assert_string_equal(identity_token("bin/python3"), "bin/python3");
	assert_string_equal(identity_token("/usr/bin/"), "");
}

static void test_globs(void **state)
{
	const struct json *list = family("globs", 53);

	(void)state;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *vector = json_item(list, i);
		const char *pattern = json_text(json_get(vector, "pattern")), *path = json_text(json_get(vector, "path"));
		bool right = false;

		assert_int_equal(json_boolean(json_get(vector, "match"), &right), 0);
		if (glob_match(pattern, path) != right)
			fail_msg("glob %s against %s", pattern, path);
	}
}

/* Beyond the vectors: answers of Python 3.11's fnmatchcase. */
static void test_globs_more(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool match;
	} more[] = {
		{ "", "", true }, { "", "a", false }, { "*", "", true }, { "?", "", false },
		{ "[a-]", "-", true }, { "[-a]", "-", true }, { "[a-c-e]", "-", true }, { "[a-c-e]", "d", false },
		{ "[!a-c]", "b", false }, { "[!a-c]", "d", true }, { "[c-a]", "b", false }, { "[!c-a]", "b", true },
		{ "[b-a!x]", "q", true }, { "[b-a!x]", "x", false }, { "[]-a]", "^", true }, { "[!]", "[!]", true },
		{ "[", "[", true }, { "[!", "[!", true }, { "[]", "[]", true }, { "a[", "a[", true },
		{ "?", "\xc3\xa9", true }, { "??", "\xc3\xa9", false }, { "[\xc3\xa0-\xc3\xaa]", "\xc3\xa9", true },
		{ "?", "\xff", true }, { "[!a]", "\xff", true }, { "\xff", "\xff", true }, { "\xff", "\xfe", false },
		{ "a*b", "a\n/b", true }, { "?", "\n", true }, { "*a*b*c*", "xxaxxbxxcxx", true },
		{ "*a*b*c*", "xxaxxcxxbxx", false }, { "A", "a", false }, { "[\\]", "\\", true }, { "\\a", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(more); i++)
		if (glob_match(more[i].pattern, more[i].path) != more[i].match)
			fail_msg("glob %s against %s", more[i].pattern, more[i].path);
}

/* What takes a backtracking matcher forever is done at once. */
static void test_glob_does_not_explode(void **state)
{
	char pattern[401], path[4001];

	(void)state;
	for (size_t i = 0; i < 400; i += 2)
		memcpy(pattern + i, "*a", 2);
	memcpy(pattern + 398, "*b", 3);
	memset(path, 'a', 4000);
	path[4000] = '\0';
	int64_t start = clock_mono_ns();
	assert_false(glob_match(pattern, path));
	assert_true(clock_mono_ns() - start < NS_PER_S);
}

static void test_writable(void **state)
{
	const struct json *list = family("writable", 21);

	(void)state;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *vector = json_item(list, i), *patterns = json_get(vector, "patterns");
		const char *texts[8];
		bool right = false;

		assert_true(json_count(patterns) <= 8);
		for (size_t p = 0; p < json_count(patterns); p++)
			texts[p] = json_text(json_item(patterns, p));
		assert_int_equal(json_boolean(json_get(vector, "ok"), &right), 0);
		if (path_writable(texts, json_count(patterns), json_text(json_get(vector, "path"))) != right)
			fail_msg("writable[%zu]", i);
	}
}

static void test_paths(void **state)
{
	const struct json *list = family("paths", 29);

	(void)state;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json *result = json_get(json_item(list, i), "result");
		size_t length;
		const char *path = json_string(json_get(json_item(list, i), "path"), &length);
		char normal[256];

		enum path_fault fault = path_normalise(path, length, normal, length + 1);
		if ((fault != PATH_FAULT_NONE) != (json_get(result, "refused") != NULL))
			fail_msg("paths[%zu]: %s", i, path_fault_words(fault));
		if (fault == PATH_FAULT_NONE) {
			assert_string_equal(normal, json_text(json_get(result, "path")));
			assert_true(path_is_normal(normal));
			assert_int_equal(path_is_normal(path), !strcmp(path, normal));
		}
	}
}

static void test_path_faults(void **state)
{
	static const struct {
		const char *path;
		size_t length;
		enum path_fault fault;
	} bad[] = {
		{ "a\0b", 3, PATH_FAULT_NUL }, { "\0", 1, PATH_FAULT_NUL }, { "/a", 2, PATH_FAULT_ABSOLUTE },
		{ "\\a", 2, PATH_FAULT_ABSOLUTE }, { "C:", 2, PATH_FAULT_DRIVE }, { "\xc3\xa9:x", 4, PATH_FAULT_DRIVE },
		{ "\xff:x", 3, PATH_FAULT_DRIVE }, { "::", 2, PATH_FAULT_DRIVE }, { "a\\..\\b", 6, PATH_FAULT_PARENT },
		{ "", 0, PATH_FAULT_EMPTY }, { ".//.", 4, PATH_FAULT_EMPTY }, { "abcdefgh", 8, PATH_FAULT_LONG },
	};
	char normal[8];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bad); i++)
		assert_int_equal(path_normalise(bad[i].path, bad[i].length, normal, sizeof normal), bad[i].fault);
	assert_int_equal(path_normalise("abcdefg", 7, normal, sizeof normal), PATH_FAULT_NONE);
	static const char *const not_normal[] = { "", "/", "/a", "a/", "a//b", ".", "./a", "a/.", "..", "a/../b", "a\\b", "c:x" };
	for (size_t i = 0; i < ELEMENTS(not_normal); i++)
		assert_false(path_is_normal(not_normal[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_ids_move_with_what_counts_alone),
		cmocka_unit_test(test_ids_refuse),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_globs_more),
		cmocka_unit_test(test_glob_does_not_explode),
		cmocka_unit_test(test_writable),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_path_faults),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
