/* Safe text: nothing that steers, hides or is no text gets through, in any locale. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "core/base/cleanup.h"
#include "core/record/utf8.h"
#include <proctor/text.h>

static const struct {
	const char *bytes;
	size_t length;
	const char *ascii, *utf8;
	unsigned utf8_width;
} texts[] = {
	{ "plain text", 10, "plain text", "plain text", 10 },
	{ "", 0, "", "", 0 },
	{ "a\nb\tc\rd", 7, "a\\nb\\tc\\rd", "a\\nb\\tc\\rd", 10 },
	{ "\x1b[2J", 4, "\\x1b[2J", "\\x1b[2J", 7 },
	{ "a\0b", 3, "a\\x00b", "a\\x00b", 6 },
	{ "\x7f", 1, "\\x7f", "\\x7f", 4 },
	{ "\xff\xfe", 2, "\\xff\\xfe", "\\xff\\xfe", 8 },
	{ "\xc3", 1, "\\xc3", "\\xc3", 4 },
	{ "\xc0\xaf", 2, "\\xc0\\xaf", "\\xc0\\xaf", 8 },			/* overlong */
	{ "\xed\xa0\x80", 3, "\\xed\\xa0\\x80", "\\xed\\xa0\\x80", 12 },	/* surrogate */
	{ "\xc2\x9b""31m", 5, "\\u009b31m", "\\u009b31m", 9 },			/* C1: CSI */
	{ "\xe2\x80\xae", 3, "\\u202e", "\\u202e", 6 },				/* right-to-left override */
	{ "\xe2\x81\xa6", 3, "\\u2066", "\\u2066", 6 },				/* isolate */
	{ "\xd8\x9c", 2, "\\u061c", "\\u061c", 6 },				/* Arabic letter mark */
	{ "\xe2\x80\x8b", 3, "\\u200b", "\\u200b", 6 },				/* zero width space */
	{ "\xe2\x80\x8d", 3, "\\u200d", "\\u200d", 6 },				/* zero width joiner */
	{ "\xef\xbb\xbf", 3, "\\ufeff", "\\ufeff", 6 },
	{ "\xc2\xad", 2, "\\u00ad", "\\u00ad", 6 },				/* soft hyphen */
	{ "\xc2\xa0", 2, "\\u00a0", "\\u00a0", 6 },
	{ "\xe2\x80\xa8", 3, "\\u2028", "\\u2028", 6 },
	{ "\xe3\x85\xa4", 3, "\\u3164", "\\u3164", 6 },				/* Hangul filler */
	{ "e\xcc\x81", 3, "e\\u0301", "e\\u0301", 7 },				/* combining */
	{ "\xef\xb8\x8f", 3, "\\ufe0f", "\\ufe0f", 6 },
	{ "\xee\x80\x80", 3, "\\ue000", "\\ue000", 6 },				/* private use */
	{ "\xf3\xa0\x81\x81", 4, "\\U000e0041", "\\U000e0041", 10 },		/* tag */
	{ "\xf4\x8f\xbf\xbf", 4, "\\U0010ffff", "\\U0010ffff", 10 },
	{ "\xc3\xa9", 2, "\\u00e9", "\xc3\xa9", 1 },
	{ "\xe6\xbc\xa2", 3, "\\u6f22", "\xe6\xbc\xa2", 2 },			/* wide */
	{ "\xf0\x9f\x98\x80", 4, "\\U0001f600", "\xf0\x9f\x98\x80", 2 },
	{ "\\x1b", 4, "\\x1b", "\\x1b", 4 },					/* a backslash is itself */
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		struct pr_safe_text ascii, utf8;
		pr_safe_text_from(&ascii, texts[i].bytes, texts[i].length, 0, PR_CHARSET_ASCII);
		pr_safe_text_from(&utf8, texts[i].bytes, texts[i].length, 0, PR_CHARSET_UTF8);
		assert_string_equal(pr_safe_text_str(&ascii), texts[i].ascii);
		assert_int_equal(pr_safe_text_width(&ascii), strlen(texts[i].ascii));
		assert_string_equal(pr_safe_text_str(&utf8), texts[i].utf8);
		assert_int_equal(pr_safe_text_width(&utf8), texts[i].utf8_width);
		assert_int_equal(pr_safe_text_length(&utf8), strlen(texts[i].utf8));
		assert_false(pr_safe_text_cut(&utf8));
	}
}

static void test_locales(void **state)
{
	struct pr_safe_text text;

	(void)state;
	assert_non_null(setlocale(LC_ALL, "C"));
	pr_safe_text_from_str(&text, "caf\xc3\xa9", 0);
	assert_string_equal(pr_safe_text_str(&text), "caf\\u00e9");
	assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
	pr_safe_text_from_str(&text, "caf\xc3\xa9", 0);
	assert_string_equal(pr_safe_text_str(&text), "caf\xc3\xa9");
	assert_int_equal(pr_safe_text_width(&text), 4);
	pr_safe_text_from_str(&text, NULL, 0);
	assert_string_equal(pr_safe_text_str(&text), "");
	assert_non_null(setlocale(LC_ALL, "C"));
}

/* Every single character and byte: one line, printable, width as told, no change the second time. */
static void test_all_characters(void **state)
{
	(void)state;
	assert_non_null(setlocale(LC_ALL, "C.UTF-8"));
	for (uint32_t c = 0; c < 0x110000 + 0x80; c++) {
		char bytes[4];
		size_t length = 1;
		struct pr_safe_text once, twice;

		if (c >= 0x110000)
			bytes[0] = (char)(c - 0x110000 + 0x80);
		else if (c >= 0xd800 && c <= 0xdfff)
			continue;
		else
			length = utf8_encode(c, bytes);
		pr_safe_text_from(&once, bytes, length, 0, PR_CHARSET_LOCALE);
		unsigned width = 0;
		const char *at = pr_safe_text_str(&once), *end = at + pr_safe_text_length(&once);
		assert_true(at < end);
		while (at < end) {
			uint32_t seen = 0;
			size_t step = utf8_decode(at, (size_t)(end - at), &seen);
			assert_true(step > 0);
			assert_true(wcwidth((wchar_t)seen) > 0);
			assert_true(seen < 0x7f ? seen >= 0x20 : seen > 0xa0);
			width += (unsigned)wcwidth((wchar_t)seen);
			at += step;
		}
		assert_int_equal(width, pr_safe_text_width(&once));
		pr_safe_text_from(&twice, pr_safe_text_str(&once), pr_safe_text_length(&once), 0, PR_CHARSET_LOCALE);
		assert_string_equal(pr_safe_text_str(&once), pr_safe_text_str(&twice));
	}
	assert_non_null(setlocale(LC_ALL, "C"));
}

static void test_cut(void **state)
{
	static const struct {
		const char *bytes;
		unsigned max;
		const char *text;
		bool cut;
	} cuts[] = {
		{ "abcdef", 6, "abcdef", false }, { "abcdefg", 6, "abc...", true }, { "abcd", 3, "...", true },
		{ "abcd", 2, "..", true }, { "abcd", 1, ".", true }, { "a", 1, "a", false },
		{ "ab\x1b\x1b", 8, "ab...", true }, { "ab\x1b", 6, "ab\\x1b", false },
		{ "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 6, "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", false },
		{ "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 5, "\xe6\xbc\xa2...", true },
		{ "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 4, "...", true },
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cuts); i++) {
		struct pr_safe_text text;
		pr_safe_text_from(&text, cuts[i].bytes, strlen(cuts[i].bytes), cuts[i].max, PR_CHARSET_UTF8);
		assert_string_equal(pr_safe_text_str(&text), cuts[i].text);
		assert_int_equal(pr_safe_text_cut(&text), cuts[i].cut);
		assert_true(pr_safe_text_width(&text) <= cuts[i].max);
	}
}

static void test_floods_are_bounded(void **state)
{
	static char flood[1 << 20];
	struct pr_safe_text text;

	(void)state;
	for (size_t i = 0; i + 2 <= sizeof flood; i += 2)
		memcpy(flood + i, "\xcc\x81", 2);
	pr_safe_text_from(&text, flood, sizeof flood, 0, PR_CHARSET_UTF8);
	assert_true(pr_safe_text_cut(&text));
	assert_true(pr_safe_text_length(&text) < PR_SAFE_TEXT_BYTES);
	assert_int_equal(strlen(pr_safe_text_str(&text)), pr_safe_text_length(&text));
	assert_string_equal(pr_safe_text_str(&text) + pr_safe_text_length(&text) - 9, "\\u0301...");
	/* Exactly full, and one over. */
	memset(flood, 'x', sizeof flood);
	pr_safe_text_from(&text, flood, PR_SAFE_TEXT_BYTES - 1, 0, PR_CHARSET_UTF8);
	assert_false(pr_safe_text_cut(&text));
	assert_int_equal(pr_safe_text_length(&text), PR_SAFE_TEXT_BYTES - 1);
	pr_safe_text_from(&text, flood, PR_SAFE_TEXT_BYTES, 0, PR_CHARSET_UTF8);
	assert_true(pr_safe_text_cut(&text));
	assert_int_equal(pr_safe_text_length(&text), PR_SAFE_TEXT_BYTES - 1);
}

static void test_json(void **state)
{
	struct json_object *value = pr_safe_text_json("caf\xc3\xa9\xff\n", 7);

	(void)state;
	assert_string_equal(json_object_get_string(value), "caf\xc3\xa9\\xff\\n");
	json_object_put(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_locales),
		cmocka_unit_test(test_all_characters),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_floods_are_bounded),
		cmocka_unit_test(test_json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
