/* The log: well formed whatever happens to it, and a change anywhere in it is seen. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "core/base/buffer.h"
#include "core/base/io.h"
#include "core/record/json.h"
#include "core/record/jsonc.h"
#include "core/record/log.h"

static char directory[] = "/tmp/record-log-XXXXXX", path[64];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof path, "%s/events.jsonl", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static int fresh(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static int append(struct event_log *journal, const char *text, struct pr_error *error)
{
	_cleanup_jsonc_ struct json_object *event = jsonc_read_object(text, strlen(text));

	assert_non_null(event);
	return log_append(journal, event, NULL, NULL, error);
}

static void write_three(void)
{
	_cleanup_log_ struct event_log *journal = NULL;
	uint64_t torn = 9;

	assert_int_equal(log_open(path, &journal, &torn, NULL), 0);
	assert_int_equal(torn, 0);
	assert_int_equal(append(journal, "{\"type\":\"round.opened\",\"round\":\"x\"}", NULL), 0);
	assert_int_equal(append(journal, "{\"type\":\"task.verdict\",\"reward\":0.55}", NULL), 0);
	assert_int_equal(append(journal, "{\"type\":\"round.finished\"}", NULL), 0);
	assert_int_equal(log_sync(journal, NULL), 0);
	assert_int_equal(log_seq(journal), 3);
}

static void slurp(struct buffer *text)
{
	buffer_clear(text);
	assert_int_equal(io_read_file(AT_FDCWD, path, 1 << 24, text), 0);
}

static void spill(const void *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, bytes, length), 0);
	close(fd);
}

static void test_chain(void **state)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	char prev[DIGEST_HEX];
	const char *line;
	size_t length;
	struct stat status;
	struct log_verdict verdict;

	(void)state;
	write_three();
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	memset(prev, '0', 64);
	prev[64] = '\0';
	assert_int_equal(log_reader_open(path, &reader, NULL), 0);
	for (uint64_t seq = 1; seq <= 3; seq++) {
		_cleanup_json_ struct json *event = NULL;
		static const char *const first[] = { "seq", "prev", "at", "mono", "type" };
		uint64_t number;

		assert_int_equal(log_reader_next(reader, &line, &length, NULL), 1);
		assert_int_equal(json_read(line, length, 0, 0, &event, NULL), 0);
		for (size_t i = 0; i < 5; i++)
			assert_string_equal(json_member_at(event, i)->key, first[i]);
		assert_int_equal(json_uint64(json_get(event, "seq"), &number), 0);
		assert_int_equal(number, seq);
		assert_string_equal(json_text(json_get(event, "prev")), prev);
		digest_bytes(line, length, prev);
		if (seq == 2)
			assert_non_null(strstr(line, "\"reward\":0.55}"));
	}
	assert_int_equal(log_reader_next(reader, &line, &length, NULL), 0);
	assert_int_equal(log_verify(path, &verdict, NULL), 0);
	assert_int_equal(verdict.lines, 3);
	assert_int_equal(verdict.bytes, status.st_size);
	assert_string_equal(verdict.head, prev);
}

static void test_append_stamps_the_event(void **state)
{
	_cleanup_log_ struct event_log *journal = NULL;
	_cleanup_jsonc_ struct json_object *event = jsonc_read_object("{\"x\":1,\"type\":\"fault\",\"seq\":99}", 31);
	const char *line;
	size_t length;
	uint64_t seq;

	(void)state;
	assert_int_equal(log_open(path, &journal, NULL, NULL), 0);
	assert_int_equal(log_append(journal, event, &line, &length, NULL), 0);
	assert_int_equal(jsonc_u64(event, "seq", &seq), 0);
	assert_int_equal(seq, 1);
	assert_int_equal(line[length - 1], '\n');
	assert_int_equal(strncmp(line, "{\"seq\":1,\"prev\":\"000", 20), 0);
	assert_string_equal(line + length - 8, ",\"x\":1}\n");
}

static void test_refused_events_leave_no_trace(void **state)
{
	_cleanup_log_ struct event_log *journal = NULL;
	_cleanup_buffer_ struct buffer before = BUFFER_INIT, after = BUFFER_INIT;
	struct pr_error error;

	(void)state;
	write_three();
	slurp(&before);
	assert_int_equal(log_open(path, &journal, NULL, NULL), 0);
	static const char *const bad[] = {
		"{}", "{\"type\":\"no.such\"}", "{\"type\":1}", "{\"type\":\"progress\"}", "{\"type\":\"tail\"}",
		"{\"type\":\"fault\\u0000\"}",
	};
	for (size_t i = 0; i < ELEMENTS(bad); i++)
		assert_int_equal(append(journal, bad[i], &error), -EINVAL);
	_cleanup_jsonc_ struct json_object *event = json_object_new_object();
	json_object_object_add(event, "type", json_object_new_string("fault"));
	json_object_object_add(event, "x", json_object_new_double(0.0 / 0.0));
	assert_int_equal(log_append(journal, event, NULL, NULL, &error), -EINVAL);
	json_object_object_add(event, "x", json_object_new_string("\xff"));
	assert_int_equal(log_append(journal, event, NULL, NULL, &error), -EINVAL);
	char *large = malloc(LOG_LINE + 1);
	memset(large, 'x', LOG_LINE);
	large[LOG_LINE] = '\0';
	json_object_object_add(event, "x", json_object_new_string(large));
	assert_int_equal(log_append(journal, event, NULL, NULL, &error), -EMSGSIZE);
	free(large);
	slurp(&after);
	assert_string_equal(before.data, after.data);
	assert_int_equal(append(journal, "{\"type\":\"fault\"}", &error), 0);
	assert_int_equal(log_seq(journal), 4);
}

/* Every length at which a crash may leave the file: the whole lines stand, the torn one goes, writing goes on. */
static void test_torn_anywhere(void **state)
{
	_cleanup_buffer_ struct buffer whole = BUFFER_INIT;

	(void)state;
	write_three();
	slurp(&whole);
	for (size_t cut = 0; cut <= whole.length; cut++) {
		_cleanup_log_ struct event_log *journal = NULL;
		struct log_verdict verdict;
		uint64_t torn = 0, lines = 0;
		size_t last = 0;

		for (size_t i = 0; i < cut; i++) {
			if (whole.data[i] == '\n') {
				lines++;
				last = i + 1;
			}
		}
		spill(whole.data, cut);
		assert_int_equal(log_verify(path, &verdict, NULL), 0);
		assert_int_equal(verdict.torn_bytes, cut - last);
		assert_int_equal(log_open(path, &journal, &torn, NULL), 0);
		assert_int_equal(torn, cut - last);
		assert_int_equal(log_seq(journal), lines);
		assert_int_equal(append(journal, "{\"type\":\"fault\"}", NULL), 0);
		assert_int_equal(log_verify(path, &verdict, NULL), 0);
		assert_int_equal(verdict.lines, lines + 1);
		assert_int_equal(verdict.torn_bytes, 0);
		assert_string_equal(verdict.head, log_head(journal));
	}
}

/* A changed byte anywhere but in the last line breaks the chain at that line or the next. */
static void test_tampering(void **state)
{
	_cleanup_buffer_ struct buffer whole = BUFFER_INIT;
	struct pr_error error;
	struct log_verdict verdict;

	(void)state;
	write_three();
	slurp(&whole);
	char *last = memrchr(whole.data, '\n', whole.length - 1);
	for (char *at = whole.data; at <= last; at++) {
		char kept = *at;
		*at ^= 1;
		spill(whole.data, whole.length);
		if (log_verify(path, &verdict, &error) != -EBADMSG)
			fail_msg("byte %zu changed, and nobody saw it", (size_t)(at - whole.data));
		struct event_log *journal = NULL;
		assert_int_equal(log_open(path, &journal, NULL, &error), -EBADMSG);
		assert_non_null(strstr(error.message, "line "));
		*at = kept;
	}
	/* A chain of right digests and a number left out. */
	static const char forged[] = "{\"seq\":2,\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\"}\n";
	spill(forged, sizeof forged - 1);
	assert_int_equal(log_verify(path, &verdict, &error), -EBADMSG);
	assert_non_null(strstr(error.message, "seq"));
	/* A line taken out in front. */
	char *second = strchr(whole.data, '\n') + 1;
	spill(second, whole.length - (size_t)(second - whole.data));
	assert_int_equal(log_verify(path, &verdict, &error), -EBADMSG);
	assert_non_null(strstr(error.message, "line 1 "));
}

static void test_full_disk(void **state)
{
	_cleanup_log_ struct event_log *journal = NULL;
	_cleanup_buffer_ struct buffer before = BUFFER_INIT, after = BUFFER_INIT;
	struct rlimit limit, kept;
	struct log_verdict verdict;
	struct pr_error error;

	(void)state;
	write_three();
	slurp(&before);
	assert_int_equal(log_open(path, &journal, NULL, NULL), 0);
	/* A file size limit gives what a full disk gives: a short write, then none at all. */
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
	for (rlim_t room = 0; room < 40; room += 13) {
		limit = (struct rlimit){ .rlim_cur = before.length + room, .rlim_max = kept.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		int r = append(journal, "{\"type\":\"fault\",\"message\":\"x\"}", &error);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
		assert_int_equal(r, room ? -ENOSPC : -EFBIG);
		assert_int_equal(log_seq(journal), 3);
		slurp(&after);
		assert_string_equal(before.data, after.data);
	}
	/* There is room again. */
	assert_int_equal(append(journal, "{\"type\":\"fault\",\"message\":\"x\"}", &error), 0);
	assert_int_equal(log_verify(path, &verdict, NULL), 0);
	assert_int_equal(verdict.lines, 4);
}

static void test_reader_beside_a_writer(void **state)
{
	_cleanup_log_ struct event_log *journal = NULL;
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	const char *line;
	size_t length;

	(void)state;
	assert_int_equal(log_open(path, &journal, NULL, NULL), 0);
	assert_int_equal(log_reader_open(path, &reader, NULL), 0);
	for (unsigned i = 0; i < 3000; i++) {
		assert_int_equal(append(journal, "{\"type\":\"refusal\",\"what\":\"connect\"}", NULL), 0);
		if (i % 7)
			continue;
		while (log_reader_next(reader, &line, &length, NULL) > 0)
			;
	}
	assert_int_equal(log_reader_next(reader, &line, &length, NULL), 1);
	/* Half a line is no line; once it is whole it is. */
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	while (log_reader_next(reader, &line, &length, NULL) > 0)
		;
	assert_int_equal(io_write_all(fd, "{\"half\":", 8), 0);
	assert_int_equal(log_reader_next(reader, &line, &length, NULL), 0);
	assert_int_equal(io_write_all(fd, "1}\n", 3), 0);
	assert_int_equal(log_reader_next(reader, &line, &length, NULL), 1);
	assert_string_equal(line, "{\"half\":1}");
	/* Half a line that the writer takes back, and another one in its place. */
	struct stat status;
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(io_write_all(fd, "{\"taken back\":", 14), 0);
	assert_int_equal(log_reader_next(reader, &line, &length, NULL), 0);
	assert_int_equal(ftruncate(fd, status.st_size), 0);
	assert_int_equal(io_write_all(fd, "{\"in its place\":1}\n", 19), 0);
	assert_int_equal(log_reader_next(reader, &line, &length, NULL), 1);
	assert_string_equal(line, "{\"in its place\":1}");
	close(fd);
}

static void test_long_lines(void **state)
{
	_cleanup_log_reader_ struct log_reader *reader = NULL;
	struct event_log *journal = NULL;
	struct pr_error error;
	const char *line;
	size_t length;
	char *large = malloc(LOG_LINE + 2);

	(void)state;
	memset(large, 'x', LOG_LINE + 1);
	large[LOG_LINE - 1] = '\n';
	spill(large, LOG_LINE);
	assert_int_equal(log_reader_open(path, &reader, NULL), 0);
	assert_int_equal(log_reader_next(reader, &line, &length, NULL), 1);
	assert_int_equal(length, LOG_LINE - 1);
	large[LOG_LINE - 1] = 'x';
	large[LOG_LINE] = '\n';
	spill(large, LOG_LINE + 1);
	struct log_reader *other = NULL;
	assert_int_equal(log_reader_open(path, &other, NULL), 0);
	assert_int_equal(log_reader_next(other, &line, &length, NULL), -EMSGSIZE);
	log_reader_close(other);
	assert_int_equal(log_open(path, &journal, NULL, &error), -EBADMSG);
	free(large);
}

static void test_what_is_no_log(void **state)
{
	struct event_log *journal = NULL;
	struct pr_error error;

	(void)state;
	assert_int_equal(log_open(directory, &journal, NULL, &error), -EISDIR);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(log_open(path, &journal, NULL, &error), -ELOOP);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(log_open(path, &journal, NULL, &error), -EINVAL);
	unlink(path);
	struct log_reader *reader = NULL;
	assert_int_equal(log_reader_open(path, &reader, &error), -ENOENT);
	spill("not json\n", 9);
	assert_int_equal(log_open(path, &journal, NULL, &error), -EBADMSG);
	assert_null(journal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_chain, fresh),
		cmocka_unit_test_setup(test_append_stamps_the_event, fresh),
		cmocka_unit_test_setup(test_refused_events_leave_no_trace, fresh),
		cmocka_unit_test_setup(test_torn_anywhere, fresh),
		cmocka_unit_test_setup(test_tampering, fresh),
		cmocka_unit_test_setup(test_full_disk, fresh),
		cmocka_unit_test_setup(test_reader_beside_a_writer, fresh),
		cmocka_unit_test_setup(test_long_lines, fresh),
		cmocka_unit_test_setup(test_what_is_no_log, fresh),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
