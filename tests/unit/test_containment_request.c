/* The worker's reader: every member checked, nothing of a bad request taken. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/io.h"
#include "core/containment/request.h"

static void reads_requests(void **state)
{
	static const struct {
		const char *text;
		int op;		/* -1: refused */
		uint64_t run, of;
	} cases[] = {
		{ "{\"op\":\"run\",\"run\":7}", OP_RUN, 7, 0 },
		{ "{\"op\":\"collect\",\"run\":8,\"of\":7}", OP_COLLECT, 8, 7 },
		{ "{\"op\":\"freeze\"}", OP_FREEZE, 0, 0 },
		{ "{\"op\":\"run\"}", -1, 0, 0 },
		{ "{\"op\":\"run\",\"run\":0}", -1, 0, 0 },
		{ "{\"op\":\"run\",\"run\":-1}", -1, 0, 0 },
		{ "{\"op\":\"run\",\"run\":\"7\"}", -1, 0, 0 },
		{ "{\"op\":\"run\",\"run\":1.5}", -1, 0, 0 },
		{ "{\"op\":\"collect\",\"run\":8}", -1, 0, 0 },
		{ "{\"op\":\"dance\",\"run\":8}", -1, 0, 0 },
		{ "{\"op\":null}", -1, 0, 0 },
		{ "{}", -1, 0, 0 },
		{ "[]", -1, 0, 0 },
		{ "", -1, 0, 0 },
		{ "{\"op\":\"run\",\"run\":7", -1, 0, 0 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct request request = { .op = OP_COUNT };
		struct pr_error error = { 0 };
		int r = request_read(cases[i].text, strlen(cases[i].text), &request, &error);
		if (cases[i].op < 0 ? r >= 0 || !error.message[0]
				    : r < 0 || (int)request.op != cases[i].op || request.run != cases[i].run || request.of != cases[i].of)
			fail_msg("%s: %d, op %d, run %lu (%s)", cases[i].text, r, (int)request.op, (unsigned long)request.run, error.message);
	}
}

static int read_spec(const char *text, bool collect, struct run_request *run, uint64_t *of, struct pr_error *error)
{
	_cleanup_close_ int fd = io_sealed_memfd("spec", text, strlen(text));
	assert_true(fd >= 0);
	return spec_read(fd, collect, run, of, error);
}

static void reads_a_whole_spec(void **state)
{
	struct run_request run = { .stream = -1 };
	struct pr_error error = { 0 };
	uint64_t of = 0;
	(void)state;
	assert_int_equal(read_spec("{\"argv\":[\"sh\",\"-c\",\"x\"],\"environment\":{\"A\":\"b=c\",\"E\":\"\"},\"cwd\":\"d\","
				   "\"read_only\":[\"/opt/a\"],\"workspace_of\":3,\"limits\":{\"memory\":5,\"processes\":6,"
				   "\"cpus\":1.5,\"workspace\":7,\"inodes\":8}}", false, &run, &of, &error), 0);
	assert_string_equal(run.argv[2], "x");
	assert_null(run.argv[3]);
	assert_string_equal(run.environment[0], "A=b=c");
	assert_string_equal(run.environment[1], "E=");
	assert_null(run.environment[2]);
	assert_string_equal(run.directory, "d");
	assert_string_equal(run.root, "host");
	assert_int_equal(run.read_only_count, 1);
	assert_int_equal(of, 3);
	assert_int_equal(run.limits.memory_bytes, 5);
	assert_int_equal(run.limits.processes, 6);
	assert_true(run.limits.cpus == 1.5);
	assert_int_equal(run.workspace_bytes, 7);
	assert_int_equal(run.workspace_inodes, 8);
	spec_release(&run);
}

static void refuses_bad_specs(void **state)
{
	static const char *const bad[] = {
		"", "[]", "{}", "{\"argv\":[]}", "{\"argv\":[\"\"]}", "{\"argv\":\"sh\"}", "{\"argv\":[1]}", "{\"argv\":[\"a\\u0000b\"]}",
		"{\"argv\":[\"a\"],\"environment\":[]}", "{\"argv\":[\"a\"],\"environment\":{\"A=B\":\"c\"}}",
		"{\"argv\":[\"a\"],\"environment\":{\"A\":1}}", "{\"argv\":[\"a\"],\"cwd\":1}", "{\"argv\":[\"a\"],\"read_only\":{}}",
		"{\"argv\":[\"a\"],\"limits\":[]}", "{\"argv\":[\"a\"],\"limits\":{\"memory\":-1}}",
		"{\"argv\":[\"a\"],\"limits\":{\"workspace\":0}}", "{\"argv\":[\"a\"],\"limits\":{\"inodes\":0}}",
		"{\"argv\":[\"a\"],\"limits\":{\"cpus\":-1}}", "{\"argv\":[\"a\"],\"limits\":{\"cpus\":1e9}}",
		"{\"argv\":[\"a\"],\"workspace_of\":\"x\"}",
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct run_request run = { .stream = -1 };
		struct pr_error error = { 0 };
		uint64_t of = 0;
		if (read_spec(bad[i], false, &run, &of, &error) >= 0 || !error.message[0])
			fail_msg("taken: %s", bad[i]);
		spec_release(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_requests), cmocka_unit_test(reads_a_whole_spec), cmocka_unit_test(refuses_bad_specs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
