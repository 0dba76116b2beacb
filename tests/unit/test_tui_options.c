/* Arguments: what parses, what is refused and with which hint, and the nearest names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tui/command.h"
#include "tui/display.h"
#include "tui/nearest.h"

static const unsigned ALL = (1u << OPTION_COUNT) - 1;

#define PARSE(arguments, error, allowed, ...) \
	option_parse((int)ELEMENTS(((char *[]){ __VA_ARGS__ })), (char *[]){ __VA_ARGS__ }, allowed, 2, arguments, error)

static void test_every_option_parses(void **state)
{
	(void)state;
	for (enum option option = 0; option < OPTION_COUNT; option++) {
		const struct option_entry *entry = &option_table[option];
		struct arguments arguments = { 0 };
		char with_value[64], bare[64], letter[3] = { '-', entry->letter, '\0' };
		snprintf(bare, sizeof bare, "--%s", entry->name);
		snprintf(with_value, sizeof with_value, "--%s=value", entry->name);
		if (entry->argument) {
			assert_int_equal(PARSE(&arguments, NULL, ALL, bare, "value"), 0);
			assert_string_equal(arguments.values[option], "value");
			assert_int_equal(PARSE(&arguments, NULL, ALL, with_value), 0);
			assert_string_equal(arguments.values[option], "value");
			/* Without its argument it is refused. */
			assert_true(PARSE(&arguments, NULL, ALL, bare) < 0);
		} else {
			assert_int_equal(PARSE(&arguments, NULL, ALL, bare), 0);
			assert_true(PARSE(&arguments, NULL, ALL, with_value) < 0);
			assert_true(!entry->letter || PARSE(&arguments, NULL, ALL, letter) == 0);
		}
		assert_true(argument_given(&arguments, option));
		/* A command that does not take it refuses it. */
		assert_true(PARSE(&arguments, NULL, ALL & ~OPTION_BIT(option), bare, "value") < 0);
	}
}

static void test_words_and_options_mix(void **state)
{
	(void)state;
	struct arguments arguments;
	assert_int_equal(PARSE(&arguments, NULL, ALL, "one", "-yd", "--task", "t", "--", "--two"), 0);
	assert_int_equal(arguments.word_count, 2);
	assert_string_equal(arguments.words[0], "one");
	assert_string_equal(arguments.words[1], "--two");
	assert_true(argument_given(&arguments, OPTION_YES) && argument_given(&arguments, OPTION_DETACH));
	assert_string_equal(arguments.values[OPTION_TASK], "t");
	assert_int_equal(PARSE(&arguments, NULL, ALL, "-tclamp", "-"), 0);
	assert_string_equal(arguments.values[OPTION_TASK], "clamp");
	assert_string_equal(arguments.words[0], "-");
}

/* What is refused leaves the result alone. */
static void test_refusals_name_the_nearest(void **state)
{
	(void)state;
	struct arguments arguments = { .word_count = 77 };
	struct pr_error error = { 0 };
	assert_true(PARSE(&arguments, &error, ALL, "--atached") < 0);
	assert_string_equal(error.remedy, "--attached");
	error = (struct pr_error){ 0 };
	assert_true(PARSE(&arguments, &error, ALL, "--zzzzzz") < 0);
	assert_string_equal(error.remedy, "");
	assert_true(PARSE(&arguments, &error, ALL, "-q") < 0);
	assert_true(PARSE(&arguments, &error, ALL, "a", "b", "c") < 0);
	assert_int_equal(arguments.word_count, 77);
}

static void test_commands(void **state)
{
	(void)state;
	const char *nearest = NULL;
	for (size_t i = 0; i < command_count; i++) {
		assert_ptr_equal(command_find(command_table[i].name, NULL), &command_table[i]);
		assert_non_null(command_table[i].function);
	}
	assert_null(command_find("freze", &nearest));
	assert_string_equal(nearest, "freeze");
	assert_null(command_find("zzz", &nearest));
	assert_null(nearest);
}

/* Every page fits on a terminal of 80 columns but for its synopsis, and names all that the command takes. */
static void test_help_pages(void **state)
{
	(void)state;
	for (size_t i = 0; i < command_count; i++) {
		_cleanup_buffer_ struct buffer page = BUFFER_INIT;
		assert_true(command_help(&command_table[i], &page) >= 0);
		assert_non_null(strstr(page.data, "\nExamples:\n  proctor "));
		for (enum option option = 0; option < OPTION_COUNT; option++) {
			char line[64];
			snprintf(line, sizeof line, " --%s", option_table[option].name);
			if (command_table[i].options & OPTION_BIT(option))
				assert_non_null(strstr(page.data, line));
		}
		for (const char *line = strchr(page.data, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
			assert_in_range(strcspn(line + 1, "\n"), 0, 92);
	}
}

static void test_displays(void **state)
{
	(void)state;
	enum display_mode mode = DISPLAY_NONE;
	struct pr_error error = { 0 };
	assert_int_equal(display_from_name(NULL, &mode, NULL), 0);
	assert_int_equal(mode, DISPLAY_PLAIN);
	assert_int_equal(display_from_name("json", &mode, NULL), 0);
	assert_int_equal(mode, DISPLAY_JSON);
	assert_true(display_from_name("jsn", &mode, &error) < 0);
	assert_string_equal(error.remedy, "--display json");
}

static void test_nearest(void **state)
{
	(void)state;
	static const struct {
		const char *given, *candidate;
		bool near;
	} cases[] = {
		{ "wathc", "watch", true },	/* two swapped */
		{ "lst", "list", true },	/* one less */
		{ "waits", "wait", true },	/* one more */
		{ "det", "detach", true },	/* its beginning */
		{ "run", "list", false },
		{ "", "list", false },
		{ "stop", "stop", true },
	};
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct nearest nearest = NEAREST_INIT;
		nearest_offer(&nearest, cases[i].given, cases[i].candidate);
		assert_int_equal(nearest.name != NULL, cases[i].near);
	}
	char longest[200];
	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	struct nearest nearest = NEAREST_INIT;
	nearest_offer(&nearest, longest, longest);
	assert_null(nearest.name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_option_parses),
		cmocka_unit_test(test_words_and_options_mix),
		cmocka_unit_test(test_refusals_name_the_nearest),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_help_pages),
		cmocka_unit_test(test_displays),
		cmocka_unit_test(test_nearest),
	};
	return cmocka_run_group_tests_name("tui_options", tests, NULL, NULL);
}
