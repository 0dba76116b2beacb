/* The tree bears no marks of unfinished work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tests/house/sources.h"

/* In halves, so that this file does not bear them. */
static const char *const MARKS[] = { "TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK" };

static const char *const PLACES[] = { "include", "core", "tui", "tests", "docs", "themes", "CMakeLists.txt",
				      "CMakePresets.json", "README.md", ".ci/run" };

static bool part_of_a_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* A mark is a word of its own: mkdtemp's six letters are none. */
static int count_marks(const char *text, unsigned *ret_line)
{
	int count = 0;
	for (size_t i = 0; i < ELEMENTS(MARKS); i++) {
		size_t length = strlen(MARKS[i]);
		for (const char *at = text; (at = strstr(at, MARKS[i])); at += length) {
			if ((at > text && part_of_a_word(at[-1])) || part_of_a_word(at[length]))
				continue;
			*ret_line = 1;
			for (const char *c = text; c < at; c++)
				*ret_line += *c == '\n';
			count++;
		}
	}
	return count;
}

static void test_no_marks(void **state)
{
	(void)state;
	struct sources sources = { 0 };
	for (size_t i = 0; i < ELEMENTS(PLACES); i++)
		sources_read(&sources, PLACES[i], NULL);
	int marked = 0;
	for (size_t i = 0; i < sources.count; i++) {
		unsigned line;
		if (count_marks(sources.files[i].text, &line)) {
			print_error("%s:%u bears a mark of unfinished work\n", sources.files[i].path, line);
			marked++;
		}
	}
	assert_true(sources.count > 30);
	sources_release(&sources);
	assert_int_equal(marked, 0);
}

static void test_marks_are_found(void **state)
{
	(void)state;
	unsigned line;
	assert_int_equal(count_marks("a\n/* TO" "DO: later */", &line), 1);
	assert_int_equal(line, 2);
	assert_int_equal(count_marks("// X" "XX", &line), 1);
	assert_int_equal(count_marks("mkdtemp(\"/tmp/nameX" "XXXXX\")", &line), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_marks),
		cmocka_unit_test(test_marks_are_found),
	};
	return cmocka_run_group_tests_name("marks", tests, NULL, NULL);
}
