/*
 * Replays the corpora of tests/fuzz (json, events, lines), each as it stands and changed by a generator with
 * a fixed seed. Nothing may crash, leak or hang, and what is taken must hold what its reader promises.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "core/base/buffer.h"
#include "core/base/io.h"
#include "core/record/canonical.h"
#include "core/record/glob.h"
#include "core/record/jsonc.h"
#include "core/record/path.h"
#include <proctor/model.h>
#include <proctor/text.h>
#include <proctor/wire.h>

#define CHANGES 1500	/* of each file */

static uint64_t generator = 88172645463325252u;

static uint64_t next_random(void)
{
	generator ^= generator << 13;
	generator ^= generator >> 7;
	generator ^= generator << 17;
	return generator;
}

/* What is read has a canonical form, which reads back equal; json-c's side agrees that it is JSON. */
static void try_json(const char *bytes, size_t length)
{
	for (unsigned flags = 0; flags <= JSON_COMMENTS; flags++) {
		_cleanup_json_ struct json *value = NULL, *again = NULL;
		_cleanup_buffer_ struct buffer out = BUFFER_INIT;
		struct json_fault fault;

		if (json_read(bytes, length, 0, flags, &value, &fault) < 0) {
			assert_int_not_equal(fault.code, JSON_FAULT_NONE);
			assert_true(fault.line >= 1 && fault.column >= 1);
			continue;
		}
		assert_int_equal(canonical_write(value, &out), 0);
		assert_int_equal(json_read(out.data, out.length, 0, 0, &again, NULL), 0);
		assert_true(json_equal(value, again));
		if (json_is(value, JSON_OBJECT)) {
			_cleanup_jsonc_ struct json_object *other = jsonc_read_object(out.data, out.length);
			assert_non_null(other);
		}
	}
}

static void try_event(const char *bytes, size_t length)
{
	static struct pr_model model;
	_cleanup_jsonc_ struct json_object *event = jsonc_read_object(bytes, length);
	struct pr_model read = PR_MODEL_INIT;

	if (!event)
		return;
	assert_true(pr_model_apply(&model, event) >= 0);
	const struct pr_counts *c = &model.counts;
	assert_int_equal(c->queued + c->running + c->done, c->tasks);
	assert_int_equal(c->pass + c->fail + c->invalid + c->error + c->stopped, c->done);
	_cleanup_jsonc_ struct json_object *snapshot = pr_model_to_json(&model, PR_LINE);
	assert_non_null(snapshot);
	assert_int_equal(pr_model_from_json(snapshot, &read, NULL), 0);
	assert_memory_equal(&read.counts, c, sizeof *c);
	pr_model_release(&read);
	if (pr_model_from_json(event, &read, NULL) == 0)
		pr_model_release(&read);
	/* seq must not stand in the way of the next one. */
	model.seq = 0;
	if (model.counts.tasks > 200)
		pr_model_release(&model);
}

static void try_lines(const char *bytes, size_t length)
{
	struct pr_lines lines = PR_LINES_INIT;
	struct pr_message message;
	struct pr_safe_text text;
	const char *line;
	size_t n;

	for (size_t at = 0; at < length;) {
		size_t step = 1 + next_random() % 40;
		step = step < length - at ? step : length - at;
		assert_int_equal(pr_lines_feed(&lines, bytes + at, step), 0);
		at += step;
		while (pr_lines_next(&lines, &line, &n) > 0) {
			pr_safe_text_from(&text, line, n, 80, PR_CHARSET_ASCII);
			assert_true(pr_safe_text_width(&text) <= 80);
			for (const char *c = pr_safe_text_str(&text); *c; c++)
				assert_true(*c >= 0x20 && *c < 0x7f);
			if (pr_wire_parse(line, n, &message, NULL) < 0)
				continue;
			assert_non_null(message.object);
			pr_message_release(&message);
		}
	}
	pr_lines_release(&lines);
}

/* Halves as pattern and path: the walk ends, and a normal path stays as it is. */
static void try_globs(const char *bytes, size_t length)
{
	char pattern[64], path[64], normal[64], twice[64];
	size_t half = length / 2 < 63 ? length / 2 : 63;

	memcpy(pattern, bytes, half);
	memcpy(path, bytes + half, half);
	pattern[half] = path[half] = '\0';
	glob_match(pattern, path);
	assert_true(glob_match("*", path));
	if (path_normalise(bytes, half, normal, sizeof normal) == PATH_FAULT_NONE) {
		assert_true(path_is_normal(normal));
		assert_int_equal(path_normalise(normal, strlen(normal), twice, sizeof twice), PATH_FAULT_NONE);
		assert_string_equal(normal, twice);
	}
}

static void change(struct buffer *text)
{
	static const char *const pieces[] = {
		"\"", "{", "}", "[", "]", ",", ":", "\\u", "\\ud800", "\n", "\xff", "null", "-", "1e9", "/*", "*/", "//", "18446744073709551615",
	};
	unsigned count = 1 + next_random() % 3;

	while (count-- && text->length) {
		size_t at = next_random() % text->length;
		const char *piece = pieces[next_random() % ELEMENTS(pieces)];
		size_t length = strlen(piece);

		switch (next_random() % 4) {
		case 0:
			text->data[at] = (char)next_random();
			break;
		case 1:
			memmove(text->data + at, text->data + at + 1, text->length - at);
			text->length--;
			break;
		case 2:
			text->length = at;
			text->data[at] = '\0';
			break;
		default:
			assert_int_equal(buffer_add(text, piece, length), 0);
			memmove(text->data + at + length, text->data + at, text->length - length - at);
			memcpy(text->data + at, piece, length);
		}
	}
}

static void replay(const char *corpus, void (*try)(const char *, size_t))
{
	char path[512];
	unsigned files = 0;

	snprintf(path, sizeof path, PROCTOR_SOURCE "/tests/fuzz/%s", corpus);
	_cleanup_closedir_ DIR *directory = opendir(path);
	assert_non_null(directory);
	for (struct dirent *entry; (entry = readdir(directory));) {
		_cleanup_buffer_ struct buffer whole = BUFFER_INIT;

		if (entry->d_name[0] == '.')
			continue;
		files++;
		assert_int_equal(io_read_file(dirfd(directory), entry->d_name, 1 << 20, &whole), 0);
		for (unsigned i = 0; i <= CHANGES; i++) {
			_cleanup_buffer_ struct buffer text = BUFFER_INIT;

			assert_int_equal(buffer_add(&text, whole.data, whole.length), 0);
			if (i)
				change(&text);
			try(text.data, text.length);
			try_globs(text.data, text.length);
		}
	}
	assert_true(files > 0);
}

static void test_json(void **state)
{
	(void)state;
	replay("json", try_json);
}

static void test_events(void **state)
{
	(void)state;
	replay("events", try_event);
	replay("events", try_json);
}

static void test_lines(void **state)
{
	(void)state;
	replay("lines", try_lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
