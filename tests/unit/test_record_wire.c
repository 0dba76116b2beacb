/* The wire: lines whole whatever the pieces they come in, bounded, and messages read as they were written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <json-c/json.h>

#include "core/base/cleanup.h"
#include "core/record/jsonc.h"
#include <proctor/model.h>
#include <proctor/wire.h>

#define _cleanup_lines_ _cleanup_(pr_lines_release)
#define _cleanup_message_ _cleanup_(pr_message_release)

static void test_framing_in_every_split(void **state)
{
	static const char text[] = "one\n\ntwo three\nfour\n";
	static const char *const right[] = { "one", "", "two three", "four" };

	(void)state;
	for (size_t step = 1; step < sizeof text; step++) {
		_cleanup_lines_ struct pr_lines lines = PR_LINES_INIT;
		const char *line;
		size_t length, seen = 0;

		for (size_t at = 0; at < sizeof text - 1; at += step) {
			size_t n = sizeof text - 1 - at < step ? sizeof text - 1 - at : step;
			assert_int_equal(pr_lines_feed(&lines, text + at, n), 0);
			while (pr_lines_next(&lines, &line, &length) > 0) {
				assert_string_equal(line, right[seen++]);
				assert_int_equal(length, strlen(line));
			}
		}
		assert_int_equal(seen, 4);
	}
}

static void test_framing_bound(void **state)
{
	char *large = malloc(PR_WIRE_LINE + 1);
	const char *line;
	size_t length;

	(void)state;
	memset(large, 'x', PR_WIRE_LINE + 1);
	{	/* The longest line. */
		_cleanup_lines_ struct pr_lines lines = PR_LINES_INIT;
		large[PR_WIRE_LINE - 1] = '\n';
		assert_int_equal(pr_lines_feed(&lines, large, PR_WIRE_LINE), 0);
		assert_int_equal(pr_lines_next(&lines, &line, &length), 1);
		assert_int_equal(length, PR_WIRE_LINE - 1);
		large[PR_WIRE_LINE - 1] = 'x';
	}
	{	/* One more, at once. */
		_cleanup_lines_ struct pr_lines lines = PR_LINES_INIT;
		large[PR_WIRE_LINE] = '\n';
		assert_int_equal(pr_lines_feed(&lines, large, PR_WIRE_LINE + 1), 0);
		assert_int_equal(pr_lines_next(&lines, &line, &length), -EPROTO);
		assert_int_equal(pr_lines_next(&lines, &line, &length), -EPROTO);
		assert_int_equal(pr_lines_feed(&lines, "x\n", 2), -EPROTO);
	}
	{	/* Without end, in pieces: it ends before it has grown. */
		_cleanup_lines_ struct pr_lines lines = PR_LINES_INIT;
		size_t fed = 0;
		int r = 0;
		while (r >= 0 && fed < 4 * PR_WIRE_LINE) {
			r = pr_lines_feed(&lines, large, 65536);
			if (r >= 0)
				r = pr_lines_next(&lines, &line, &length);
			fed += 65536;
		}
		assert_int_equal(r, -EPROTO);
		assert_true(fed <= PR_WIRE_LINE + 65536);
	}
	{	/* After whole lines. */
		_cleanup_lines_ struct pr_lines lines = PR_LINES_INIT;
		assert_int_equal(pr_lines_feed(&lines, "a\n", 2), 0);
		assert_int_equal(pr_lines_feed(&lines, large, PR_WIRE_LINE), 0);
		assert_int_equal(pr_lines_next(&lines, &line, &length), 1);
		assert_int_equal(pr_lines_next(&lines, &line, &length), -EPROTO);
	}
	free(large);
}

/* The message in a line that a builder made. */
static struct pr_message parse_built(int r, char *line, size_t length)
{
	struct pr_message message = { 0 };
	struct pr_error error = { 0 };

	assert_int_equal(r, 0);
	assert_int_equal(strlen(line), length);
	assert_int_equal(line[length - 1], '\n');
	if (pr_wire_parse(line, length - 1, &message, &error) < 0)
		fail_msg("%s: %s", line, error.message);
	free(line);
	return message;
}

static void test_messages(void **state)
{
	struct pr_message m;
	size_t n;
	char *line;

	(void)state;
	int r = pr_wire_hello("smoke-1", "/rounds/smoke-1", UINT64_C(1) << 63, &line, &n);
	assert_string_equal(line, "{\"type\":\"hello\",\"protocol\":1,\"round\":\"smoke-1\",\"dir\":\"/rounds/smoke-1\","
				  "\"seq\":9223372036854775808}\n");
	m = parse_built(r, line, n);
	assert_int_equal(m.type, PR_MESSAGE_HELLO);
	assert_int_equal(m.protocol, PR_PROTOCOL);
	assert_string_equal(m.round, "smoke-1");
	assert_string_equal(m.dir, "/rounds/smoke-1");
	assert_true(m.seq == UINT64_C(1) << 63);
	pr_message_release(&m);

	r = pr_wire_watch(&line, &n);
	m = parse_built(r, line, n);
	assert_int_equal(m.type, PR_MESSAGE_WATCH);
	assert_false(m.has_from);
	pr_message_release(&m);

	r = pr_wire_watch_from(0, &line, &n);
	m = parse_built(r, line, n);
	assert_true(m.has_from && m.from == 0);
	pr_message_release(&m);

	r = pr_wire_command("c-1", PR_VERB_STOP, "clamp", &line, &n);
	m = parse_built(r, line, n);
	assert_int_equal(m.type, PR_MESSAGE_COMMAND);
	assert_string_equal(m.id, "c-1");
	assert_int_equal(m.verb, PR_VERB_STOP);
	assert_string_equal(m.task, "clamp");
	pr_message_release(&m);

	r = pr_wire_command("c-2", PR_VERB_FREEZE, NULL, &line, &n);
	m = parse_built(r, line, n);
	assert_null(m.task);
	pr_message_release(&m);

	_cleanup_jsonc_ struct json_object *more = jsonc_read_object("{\"ms\":1.5,\"ok\":false,\"id\":\"x\"}", 30);
	assert_non_null(more);
	r = pr_wire_answer_ok("c-2", more, &line, &n);
	assert_string_equal(line, "{\"type\":\"answer\",\"id\":\"c-2\",\"ok\":true,\"ms\":1.5}\n");
	m = parse_built(r, line, n);
	assert_true(m.ok);
	assert_string_equal(m.id, "c-2");
	pr_message_release(&m);

	r = pr_wire_answer_refused("c-3", "not-now", "the round is over", &line, &n);
	m = parse_built(r, line, n);
	assert_false(m.ok);
	assert_string_equal(m.code, "not-now");
	assert_string_equal(m.message, "the round is over");
	pr_message_release(&m);

	static const char event[] = "{\"seq\":12,\"type\":\"fault\"}";
	assert_int_equal(pr_wire_parse(event, strlen(event), &m, NULL), 0);
	assert_int_equal(m.type, PR_MESSAGE_EVENT);
	assert_int_equal(m.event, PR_EVENT_FAULT);
	assert_int_equal(m.seq, 12);
	pr_message_release(&m);
	static const char later[] = "{\"type\":\"of a later version\"}";
	assert_int_equal(pr_wire_parse(later, strlen(later), &m, NULL), 0);
	assert_int_equal(m.type, PR_MESSAGE_EVENT);
	assert_int_equal(m.event, -EINVAL);
	pr_message_release(&m);
}

static void test_bad_messages(void **state)
{
	static const char *const bad[] = {
		"", "[]", "1", "null", "{", "{} x", "{\"type\":1}", "{\"a\":1}", "{\"type\":\"watch\\u0000\"}", "{\"type\":\"\xff\"}",
		"{'type':'watch'}",
		"{\"type\":\"hello\"}", "{\"type\":\"hello\",\"protocol\":\"1\",\"round\":\"x\",\"seq\":1}",
		"{\"type\":\"hello\",\"protocol\":1,\"seq\":1}", "{\"type\":\"hello\",\"protocol\":1,\"round\":\"x\",\"seq\":-1}",
		"{\"type\":\"hello\",\"protocol\":99999999999,\"round\":\"x\",\"seq\":1}",
		"{\"type\":\"watch\",\"from\":-1}", "{\"type\":\"watch\",\"from\":\"1\"}", "{\"type\":\"watch\",\"from\":1.0}",
		"{\"type\":\"watch\",\"from\":null}",
		"{\"type\":\"snapshot\",\"seq\":1}", "{\"type\":\"snapshot\",\"seq\":1,\"model\":[]}", "{\"type\":\"snapshot\",\"model\":{}}",
		"{\"type\":\"command\",\"verb\":\"stop\"}", "{\"type\":\"command\",\"id\":\"\",\"verb\":\"stop\"}",
		"{\"type\":\"command\",\"id\":1,\"verb\":\"stop\"}", "{\"type\":\"command\",\"id\":\"a\"}",
		"{\"type\":\"command\",\"id\":\"a\",\"verb\":\"stop\",\"task\":1}",
		"{\"type\":\"command\",\"id\":\"a\",\"verb\":\"stop\",\"task\":\"a\\u0000\"}",
		"{\"type\":\"command\",\"id\":\"0123456789012345678901234567890123456789012345678901234567890123x\",\"verb\":\"stop\"}",
		"{\"type\":\"answer\",\"ok\":true}", "{\"type\":\"answer\",\"id\":\"a\"}", "{\"type\":\"answer\",\"id\":\"a\",\"ok\":1}",
		"{\"type\":\"answer\",\"id\":\"a\",\"ok\":false}",
	};
	struct pr_message message = { .type = PR_MESSAGE_ANSWER };
	struct pr_error error;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(bad); i++) {
		if (pr_wire_parse(bad[i], strlen(bad[i]), &message, &error) != -EBADMSG)
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(message.type, PR_MESSAGE_ANSWER);
		assert_null(message.object);
	}
	/* Null for a task is the round; a verb that is none is left to the server to answer. */
	static const char odd[] = "{\"type\":\"command\",\"id\":\"a\",\"verb\":\"explode\",\"task\":null}";
	assert_int_equal(pr_wire_parse(odd, strlen(odd), &message, &error), 0);
	assert_int_equal(message.verb, -EINVAL);
	assert_string_equal(message.verb_name, "explode");
	assert_null(message.task);
	pr_message_release(&message);
}

static void test_bad_arguments(void **state)
{
	char id[PR_COMMAND_ID + 2], *line = NULL;
	size_t n;

	(void)state;
	memset(id, 'x', sizeof id - 1);
	id[sizeof id - 1] = '\0';
	assert_int_equal(pr_wire_command(id, PR_VERB_STOP, NULL, &line, &n), -EINVAL);
	assert_int_equal(pr_wire_command("", PR_VERB_STOP, NULL, &line, &n), -EINVAL);
	assert_int_equal(pr_wire_command("a", PR_VERB_COUNT, NULL, &line, &n), -EINVAL);
	assert_int_equal(pr_wire_command("a", PR_VERB_STOP, "\xff", &line, &n), -EINVAL);
	assert_int_equal(pr_wire_answer_ok(NULL, NULL, &line, &n), -EINVAL);
	assert_int_equal(pr_wire_answer_refused("", "c", "m", &line, &n), -EINVAL);
	assert_int_equal(pr_wire_object(NULL, &line, &n), -EINVAL);
	assert_null(line);
}

/* The largest round fits into one line, with shorter prose. */
static void test_large_snapshot(void **state)
{
	struct pr_model model = PR_MODEL_INIT, read = PR_MODEL_INIT;
	char text[2048], reason[250], *line;
	size_t n;

	(void)state;
	memset(reason, 'r', sizeof reason - 1);
	reason[sizeof reason - 1] = '\0';
	for (unsigned i = 0; i < PR_MODEL_TASKS; i++) {
		snprintf(text, sizeof text, "{\"seq\":%u,\"type\":\"task.verdict\",\"task\":\"a-task-with-a-long-name-%u\",\"status\":\"invalid\","
			 "\"verdict\":\"invalid\",\"validity\":\"invalid\",\"reward\":0.0,\"cause\":\"symlink\",\"charged_to\":\"candidate\","
			 "\"reason\":\"%s\",\"episode\":\"episode-%064u\",\"refusals\":12,\"wall_ms\":123456,\"spend_usd_micro\":123456,"
			 "\"process_containment\":{\"profile\":\"proctor.confined.v1\",\"enforced\":true}}", i + 1, i, reason, i);
		_cleanup_jsonc_ struct json_object *event = jsonc_read_object(text, strlen(text));
		assert_int_equal(pr_model_apply(&model, event), 1);
	}
	int r = pr_wire_snapshot(&model, &line, &n);
	assert_int_equal(r, 0);
	assert_true(n <= PR_WIRE_LINE);
	_cleanup_message_ struct pr_message message = parse_built(r, line, n);
	assert_int_equal(message.type, PR_MESSAGE_SNAPSHOT);
	assert_int_equal(message.seq, PR_MODEL_TASKS);
	assert_int_equal(pr_model_from_json(message.model, &read, NULL), 0);
	assert_memory_equal(&read.counts, &model.counts, sizeof read.counts);
	assert_int_equal(read.refusals, model.refusals);
	assert_int_equal(read.tasks[4000].verdict, PR_VERDICT_INVALID);
	pr_model_release(&model);
	pr_model_release(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_framing_in_every_split),
		cmocka_unit_test(test_framing_bound),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_bad_messages),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_large_snapshot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
