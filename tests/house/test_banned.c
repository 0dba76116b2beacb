/* The calls of core/base/banned.h do not compile; what they are replaced by does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

static char *scratch;

static const char *const BANNED_STATEMENTS[] = {
	"strcpy(a, b);", "strcat(a, b);", "sprintf(a, \"%s\", b);", "vsprintf(a, b, c);", "gets(a);",
	"strncpy(a, b, 3);", "strtok(a, b);", "system(a);", "popen(a, b);", "rand();", "alloca(3);",
};

static int compile(const char *statement, char *ret_errors, size_t size)
{
	_cleanup_free_ char *file = scratch_text("%s/banned.c", scratch);
	_cleanup_free_ char *text = scratch_text("#include <alloca.h>\n#include <stdarg.h>\n#include <stdio.h>\n"
						 "#include <stdlib.h>\n#include <string.h>\n"
						 "void f(char *a, char *b, va_list c);\n"
						 "void f(char *a, char *b, va_list c) { (void)a; (void)b; (void)c; %s }\n", statement);
	assert_int_equal(scratch_write(file, 0644, text), 0);
	const char *const argv[] = { HOUSE_COMPILER, "-std=gnu17", "-D_GNU_SOURCE", "-fsyntax-only", "-I.",
				     "-Werror=implicit-function-declaration", "-include", "core/base/banned.h", file, NULL };
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = process_run(&process, &(struct process_start){ .argv = argv, .directory = PROCTOR_SOURCE }, 60000);
	snprintf(ret_errors, size, "%s", process.error.data);
	return code;
}

static void test_banned_calls_do_not_compile(void **state)
{
	(void)state;
	for (size_t i = 0; i < ELEMENTS(BANNED_STATEMENTS); i++) {
		char errors[4096];
		if (compile(BANNED_STATEMENTS[i], errors, sizeof errors) == 0)
			fail_msg("compiles: %s", BANNED_STATEMENTS[i]);
		/* For that reason and no other. */
		if (!strstr(errors, "this_project_does_not_call_"))
			fail_msg("%s: %s", BANNED_STATEMENTS[i], errors);
	}
}

static void test_their_replacements_compile(void **state)
{
	(void)state;
	char errors[4096];
	if (compile("snprintf(a, 3, \"%s\", b); memcpy(a, b, 3);", errors, sizeof errors) != 0)
		fail_msg("%s", errors);
}

static int set_up(void **state)
{
	(void)state;
	scratch = scratch_directory("banned");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	scratch_remove(scratch);
	free(scratch);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_banned_calls_do_not_compile),
		cmocka_unit_test(test_their_replacements_compile),
	};
	return cmocka_run_group_tests_name("banned", tests, set_up, tear_down);
}
