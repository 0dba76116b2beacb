/*
 * Output is capped while it is read (E6): what is over is read and dropped, and a holder of the pipe keeps
 * nobody. Built twice: with guard switches the cap is also taken out, and the same check must then fail.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/io.h"
#include "core/round/directory.h"
#include "core/round/output.h"

static char folder[] = "/tmp/round-output.XXXXXX";
static int dirfd_;
static unsigned overs;

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	dirfd_ = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0;
}

static int tear_down(void **state)
{
	(void)state;
	close(dirfd_);
	directory_remove(folder);
	return 0;
}

struct flood {
	int fd;
	size_t bytes;
};

static void *write_flood(void *argument)
{
	const struct flood *flood = argument;
	_cleanup_free_ char *chunk = malloc(65536);
	memset(chunk, 'x', 65536);
	for (size_t left = flood->bytes; left > 0;) {
		size_t n = left < 65536 ? left : 65536;
		if (io_write_all(flood->fd, chunk, n) < 0)
			break;
		left -= n;
	}
	close(flood->fd);
	return NULL;
}

static void on_over(struct output *output)
{
	(void)output;
	overs++;
}

static off_t file_size(void)
{
	struct stat status;
	assert_int_equal(fstatat(dirfd_, "out", &status, 0), 0);
	return status.st_size;
}

/* Runs a writer of so many bytes through an output with that cap. */
static void pour(struct output *output, size_t bytes, uint64_t limit)
{
	uv_loop_t loop;
	struct flood flood = { .bytes = bytes };
	pthread_t thread;

	*output = (struct output){ .pipe = -1, .file = -1, .over = on_over };
	overs = 0;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(output_start(output, &loop, dirfd_, "out", limit, &flood.fd, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, write_flood, &flood), 0);
	/* The poll handle is closed at the pipe's end, and with it the loop has nothing left. */
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	output_end(output);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void under_the_cap_all_of_it_is_kept(void **state)
{
	struct output output;
	char digest[DIGEST_TAGGED], expected[DIGEST_TAGGED];
	_cleanup_free_ char *bytes = malloc(100000);
	(void)state;
	pour(&output, 100000, 100000);
	assert_false(output.cut);
	assert_int_equal(overs, 0);
	assert_int_equal(file_size(), 100000);
	memset(bytes, 'x', 100000);
	digest_bytes_tagged(bytes, 100000, expected);
	output_digest(&output, digest);
	assert_string_equal(digest, expected);
}

static void over_the_cap_the_rest_is_dropped(void **state)
{
	struct output output;
	struct rusage before, after;
	(void)state;
#ifdef PROCTOR_TEST_BUILD
	/* The deletion probe: without the guard the file grows past the cap. */
	if (getenv("PROCTOR_WITHOUT")) {
		pour(&output, 300000, 100000);
		assert_int_equal(file_size(), 300000);
		digest_free(output.digest);
		return;
	}
#endif
	assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
	pour(&output, (size_t)256 << 20, 100000);
	assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
	assert_true(output.cut);
	assert_int_equal(overs, 1);
	assert_int_equal(output.kept, 100000);
	assert_true(output.seen == UINT64_C(256) << 20);
	assert_int_equal(file_size(), 100000);
	assert_true(after.ru_maxrss - before.ru_maxrss < 4096);	/* KiB, for 256 MiB poured */
	digest_free(output.digest);
}

static void a_holder_of_the_pipe_keeps_nobody(void **state)
{
	struct output output = { .pipe = -1, .file = -1 };
	uv_loop_t loop;
	int writer;
	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(output_start(&output, &loop, dirfd_, "out", 1000, &writer, NULL), 0);
	assert_int_equal(io_write_all(writer, "last words", 10), 0);
	int64_t from = clock_mono_ns();
	output_end(&output);	/* `writer` is still open */
	assert_true(clock_mono_ns() - from < NS_PER_S);
	assert_int_equal(output.kept, 10);
	assert_int_equal(file_size(), 10);
	char tail[OUTPUT_TAIL];
	assert_int_equal(output_tail(&output, tail), 10);
	assert_memory_equal(tail, "last words", 10);
	output_end(&output);
	close(writer);
	digest_free(output.digest);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
}

static void the_tail_is_the_last_bytes(void **state)
{
	struct output output;
	char tail[OUTPUT_TAIL];
	(void)state;
	pour(&output, 5000, 100);
	assert_int_equal(output_tail(&output, tail), OUTPUT_TAIL);
	digest_free(output.digest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(under_the_cap_all_of_it_is_kept),
		cmocka_unit_test(over_the_cap_the_rest_is_dropped),
		cmocka_unit_test(a_holder_of_the_pipe_keeps_nobody),
		cmocka_unit_test(the_tail_is_the_last_bytes),
	};
#ifdef PROCTOR_TEST_BUILD
	setenv("PROCTOR_WITHOUT", "output-cap", 1);
	const struct CMUnitTest probe[] = { cmocka_unit_test(over_the_cap_the_rest_is_dropped) };
	return cmocka_run_group_tests(probe, set_up, tear_down);
#endif
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
