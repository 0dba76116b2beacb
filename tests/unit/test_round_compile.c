/* round.json says everything: read again it is the same round, without the file and the folder it came from. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/base/cleanup.h"
#include "core/base/io.h"
#include "core/round/compile.h"
#include "core/round/directory.h"
#include "core/round/file.h"

static const char text[] =
	"{\"round\": \"r\", \"kind\": \"baseline\", \"repeat\": 2, \"parallel\": 3, \"freeze_expires\": \"1h\", \"stricter\": true,\n"
	" \"agent\": {\"name\": \"n\\u00e4me\", \"command\": [\"./run.sh\", \"${prompt}\", \"\"], \"environment\": {\"B\": \"2\", \"A\": \"\"},\n"
	"            \"files\": {\".x/y\": \"run.sh\"}, \"allowed_exit_codes\": [0, 3, -9]},\n"
	" \"sandbox\": {\"read_only\": [\".\"], \"limits\": {\"cpus\": 0.5, \"memory\": \"64MiB\"}, \"own_ids\": \"allow\"},\n"
	" \"budget\": {\"wall_clock\": \"1500ms\", \"tests_wall_clock\": \"2s\", \"round_wall_clock\": \"1h\"},\n"
	" \"tasks\": [{\"id\": \"t\", \"directory\": \".\", \"prompt\": \"two\\nlines\", \"protect\": [\"a/**\"], \"scratch\": [\"b\"],\n"
	"   \"on_wall_clock\": \"error\", \"baseline_repeats\": 2, \"tests\": [{\"command\": [\"./run.sh\", \"x\"], \"baseline\": 1, \"patched\": [0, 2]}]}]}";

static void compile(const struct round_spec *spec, struct buffer *out)
{
	assert_int_equal(compile_round(spec, out), 0);
}

static void twice_is_the_same(void **state)
{
	char folder[] = "/tmp/round-compile.XXXXXX", path[128];
	struct round_spec spec = { 0 }, again = { 0 };
	struct faults faults = { .pool = &spec.pool }, more = { .pool = &again.pool };
	_cleanup_buffer_ struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	(void)state;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/run.sh", folder);
	assert_int_equal(io_replace_file(AT_FDCWD, path, "#!/bin/sh\n", 10, 0755, NULL), 0);
	snprintf(path, sizeof path, "%s/x.round.json", folder);
	assert_int_equal(io_replace_file(AT_FDCWD, path, text, strlen(text), 0644, NULL), 0);
	int r = round_file_read(path, 0, &spec, &faults, NULL);
	faults_print(&faults, path, stderr);
	assert_int_equal(r, 0);
	compile(&spec, &first);
	directory_remove(folder);

	char other[] = "/tmp/round-compile.XXXXXX";
	assert_non_null(mkdtemp(other));
	snprintf(path, sizeof path, "%s/round.json", other);
	assert_int_equal(io_replace_file(AT_FDCWD, path, first.data, first.length, 0600, NULL), 0);
	r = round_file_read(path, ROUND_FILE_COMPILED, &again, &more, NULL);
	faults_print(&more, path, stderr);
	assert_int_equal(r, 0);
	assert_int_equal(again.task_count, 2);
	assert_string_equal(again.sandbox.own_ids, "allow");
	assert_string_equal(again.tasks[1].id, "t#2");
	assert_string_equal(again.folder, folder);
	compile(&again, &second);
	assert_string_equal(first.data, second.data);
	directory_remove(other);
	pool_release(&spec.pool);
	pool_release(&again.pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(twice_is_the_same) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
