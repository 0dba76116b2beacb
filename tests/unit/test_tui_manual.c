/* The manual pages and docs/commands.md hold what the tables of commands and options hold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tests/support/scratch.h"
#include "tui/command.h"

static char *page(const char *name)
{
	_cleanup_free_ char *path = scratch_text(PROCTOR_SOURCE "/docs/man/%s.1", name);
	char *text = scratch_read(path);
	if (!text)
		fail_msg("no manual page %s", path);
	return text;
}

/* The lines between ".Sh SYNOPSIS" and the next section, as command_synopsis() writes them. */
static void read_synopsis(const char *text, char *ret_synopsis, size_t size)
{
	static const struct {
		const char *macro, *before, *after;
	} macros[] = { { ".Nm ", "", "" }, { ".Op ", " [", "]" }, { ".Ar ", " ", "" } };
	const char *line = strstr(text, "\n.Sh SYNOPSIS\n");
	ret_synopsis[0] = '\0';
	assert_non_null(line);
	for (line += strlen("\n.Sh SYNOPSIS\n"); strncmp(line, ".Sh", 3) != 0; line = strchr(line, '\n') + 1) {
		size_t i = 0, used = strlen(ret_synopsis);
		while (i < ELEMENTS(macros) && strncmp(line, macros[i].macro, 4) != 0)
			i++;
		assert_int_not_equal(i, ELEMENTS(macros));
		char words[256] = "";
		for (const char *at = line + 4; *at != '\n'; at += strcspn(at, " \n"), at += *at == ' ') {
			size_t length = strcspn(at, " \n");
			bool flag = length == 2 && memcmp(at, "Fl", 2) == 0, argument = length == 2 && memcmp(at, "Ar", 2) == 0;
			size_t w = strlen(words);
			if (flag)
				snprintf(words + w, sizeof words - w, "%s-", w ? " " : "");
			else if (!argument)
				snprintf(words + w, sizeof words - w, "%s%.*s", w && words[w - 1] != '-' ? " " : "", (int)length, at);
		}
		snprintf(ret_synopsis + used, size - used, "%s%s%s", macros[i].before, words, macros[i].after);
	}
}

static void test_synopses(void **state)
{
	(void)state;
	for (size_t i = 0; i < command_count; i++) {
		_cleanup_free_ char *name = scratch_text("proctor-%s", command_table[i].name);
		_cleanup_free_ char *text = page(name);
		_cleanup_buffer_ struct buffer want = BUFFER_INIT;
		char have[1024];
		assert_true(command_synopsis(&command_table[i], &want) >= 0);
		read_synopsis(text, have, sizeof have);
		assert_string_equal(have, want.data);
	}
}

/* "-y, --yes" as mdoc(7) has it. */
static void option_item(enum option option, char *ret_line, size_t size)
{
	const struct option_entry *entry = &option_table[option];
	char letter[16] = "";
	if (entry->letter)
		snprintf(letter, sizeof letter, "%c , Fl ", entry->letter);
	snprintf(ret_line, size, "\n.It Fl %s-%s%s%s\n", letter, entry->name, entry->argument ? " Ar " : "",
		 entry->argument ? entry->argument : "");
}

static void test_options(void **state)
{
	(void)state;
	char line[256];
	for (size_t i = 0; i < command_count; i++) {
		_cleanup_free_ char *name = scratch_text("proctor-%s", command_table[i].name);
		_cleanup_free_ char *text = page(name);
		for (enum option option = 0; option < OPTION_COUNT; option++) {
			bool takes = (command_table[i].options | OPTION_BIT(OPTION_HELP)) & OPTION_BIT(option);
			option_item(option, line, sizeof line);
			if ((strstr(text, line) != NULL) != takes)
				fail_msg("%s: %s%s", name, takes ? "lacks" : "has", line);
		}
	}
	_cleanup_free_ char *text = page("proctor");
	option_item(OPTION_VERSION, line, sizeof line);
	assert_non_null(strstr(text, line));
}

static void test_commands_are_listed(void **state)
{
	(void)state;
	_cleanup_free_ char *text = page("proctor");
	_cleanup_free_ char *reference = scratch_read(PROCTOR_SOURCE "/docs/commands.md");
	_cleanup_free_ char *readme = scratch_read(PROCTOR_SOURCE "/README.md");
	assert_non_null(reference);
	assert_non_null(readme);
	for (size_t i = 0; i < command_count; i++) {
		_cleanup_free_ char *item = scratch_text("\n.It Xr proctor-%s 1\n", command_table[i].name);
		_cleanup_buffer_ struct buffer synopsis = BUFFER_INIT;
		_cleanup_free_ char *row = scratch_text("proctor %s", command_table[i].name);
		assert_true(command_synopsis(&command_table[i], &synopsis) >= 0);
		if (!strstr(text, item))
			fail_msg("proctor.1 lacks %s", command_table[i].name);
		if (!strstr(reference, synopsis.data))
			fail_msg("docs/commands.md lacks: %s", synopsis.data);
		if (!strstr(readme, row))
			fail_msg("README.md lacks: %s", row);
	}
}

static void test_exit_codes_are_told(void **state)
{
	(void)state;
	_cleanup_free_ char *text = page("proctor");
#define X(identifier, number, meaning) assert_non_null(strstr(text, "\n.It " #number "\n"));
	EXITS(X)
#undef X
	/* A command's page tells those that it can end with, and no others. */
	for (size_t i = 0; i < command_count; i++) {
		_cleanup_free_ char *name = scratch_text("proctor-%s", command_table[i].name);
		_cleanup_free_ char *own = page(name);
#define X(identifier, number, meaning) \
		if ((strstr(own, "\n.It " #number "\n") != NULL) != command_exits_with(&command_table[i], identifier)) \
			fail_msg("%s: exit code %d", name, number);
		EXITS(X)
#undef X
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_synopses),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_commands_are_listed),
		cmocka_unit_test(test_exit_codes_are_told),
	};
	return cmocka_run_group_tests_name("tui_manual", tests, NULL, NULL);
}
