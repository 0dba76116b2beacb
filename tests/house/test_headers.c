/* Each header compiles alone, and twice in one file, with gcc and with clang where it is installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "tests/house/sources.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

static char *scratch;

/* As it is included: the public ones by <>, the rooms' by their path from the root. */
static char *including(const char *path)
{
	const char *public = "include/";
	if (strncmp(path, public, strlen(public)) == 0)
		return scratch_text("#include <%s>\n#include <%s>\n", path + strlen(public), path + strlen(public));
	return scratch_text("#include \"%s\"\n#include \"%s\"\n", path, path);
}

static bool compiles(const char *compiler, const char *text)
{
	_cleanup_free_ char *file = scratch_text("%s/alone.c", scratch);
	assert_int_equal(scratch_write(file, 0644, text), 0);
	/* A shell splits the list of include directories, which the build made. */
	static const char command[] =
		"exec \"$0\" -std=gnu17 -fsyntax-only -D_GNU_SOURCE -Wall -Wextra -Wformat=2 -Wvla -Wswitch-enum -Wshadow "
		"-Wstrict-prototypes -Wmissing-prototypes -Werror -I. -Iinclude " HOUSE_INCLUDES "-include core/base/banned.h \"$1\"";
	const char *const argv[] = { "sh", "-c", command, compiler, file, NULL };
	_cleanup_process_ struct process process = PROCESS_INIT;
	int code = process_run(&process, &(struct process_start){ .argv = argv, .directory = PROCTOR_SOURCE }, 60000);
	if (code != 0)
		print_error("%s", process.error.data);
	return code == 0;
}

static bool installed(const char *compiler)
{
	const char *const argv[] = { compiler, "--version", NULL };
	_cleanup_process_ struct process process = PROCESS_INIT;
	return process_run(&process, &(struct process_start){ .argv = argv }, 20000) == 0;
}

static void compile_all(const char *compiler)
{
	if (!installed(compiler))
		skip_test("%s is not installed: headers were not compiled with it", compiler);
	static const char *const endings[] = { ".h", NULL };
	struct sources headers = { 0 };
	sources_read(&headers, "include/proctor", endings);
	sources_read(&headers, "core", endings);
	sources_read(&headers, "tui", endings);
	int failed = 0;
	for (size_t i = 0; i < headers.count; i++) {
		_cleanup_free_ char *text = including(headers.files[i].path);
		if (!compiles(compiler, text)) {
			print_error("%s does not compile alone\n", headers.files[i].path);
			failed++;
		}
	}
	assert_true(headers.count > 10);
	sources_release(&headers);
	assert_int_equal(failed, 0);
}

static void test_headers_with_the_build_compiler(void **state)
{
	(void)state;
	compile_all(HOUSE_COMPILER);
}

static void test_headers_with_clang(void **state)
{
	(void)state;
	compile_all("clang");
}

/* The test can fail: a header that leans on another one's includes does not compile. */
static void test_a_header_that_leans_is_red(void **state)
{
	(void)state;
	assert_true(compiles(HOUSE_COMPILER, "#include <stdint.h>\nuint64_t f(void);\n"));
	print_message("what follows is meant to fail\n");
	assert_false(compiles(HOUSE_COMPILER, "struct sockaddr_un name;\n"));
}

static int set_up(void **state)
{
	(void)state;
	scratch = scratch_directory("headers");
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
		cmocka_unit_test(test_headers_with_the_build_compiler),
		cmocka_unit_test(test_headers_with_clang),
		cmocka_unit_test(test_a_header_that_leans_is_red),
	};
	return cmocka_run_group_tests_name("headers", tests, set_up, tear_down);
}
