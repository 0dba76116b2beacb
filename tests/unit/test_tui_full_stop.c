/* The stop key, as a person presses it: what is sent, what is shown, and what happens where nobody answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

#include "tui/full/stopkey.h"

#define SECOND INT64_C(1000000000)

static void figures(struct stopkey *key, const char *verb, bool answer, const char *text)
{
	struct json_object *object = json_tokener_parse(text);
	stopkey_figures(key, verb, answer, object);
	json_object_put(object);
}

static void assert_words(const struct stopkey *key, const struct pr_model *model, const char *expected)
{
	char words[1200];
	enum role role;
	const char *keys;
	stopkey_words(key, model, "smoke-1", words, sizeof words - 100, &role, &keys);
	if (keys[0])
		snprintf(words + strlen(words), 100, "   %s", keys);
	if (!strstr(words, expected) || (!expected[0] && words[0]))
		fail_msg("\"%s\" does not say \"%s\"", words, expected);
}

static void test_freeze_ask_stop_proof(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	model.counts.tasks = 8;
	model.counts.done = 7;
	model.counts.stopped = 1;
	assert_words(&key, &model, "");
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_THERE, SECOND), STOP_DO_FREEZE);
	/* The first event only says that it was asked for. */
	figures(&key, "freeze", false, "{\"verb\":\"freeze\"}");
	assert_int_equal(key.stage, STOP_FREEZING);
	figures(&key, "freeze", false, "{\"verb\":\"freeze\",\"ms\":3.2,\"processes\":41,\"runs\":2}");
	model.frozen = true;
	assert_words(&key, &model, "FROZEN in 3.2 ms: 2 tasks, 41 processes stand still.   S stop the round   Esc thaw");
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_THERE, 100 * SECOND), STOP_DO_NOTHING);
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_THERE, 2 * SECOND), STOP_DO_STOP);
	figures(&key, "stop", true, "{\"ms\":9.0,\"killed\":41,\"remaining\":0,\"removed\":2}");
	assert_words(&key, &model, "STOPPED in 9.0 ms: 41 processes killed, 0 remaining, 2 boundaries removed. 6 of 8 tasks have verdicts; "
				   "resume: proctor run --resume smoke-1");
	/* The proof stays, whatever comes after. */
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_AWAY, 200 * SECOND), STOP_DO_NOTHING);
	assert_int_equal(key.stage, STOP_STOPPED);
}

static void test_escape_thaws(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	assert_int_equal(stopkey_escape(&key, &model, STOP_CORE_THERE), STOP_DO_NOTHING);
	stopkey_press(&key, &model, STOP_CORE_THERE, SECOND);
	assert_int_equal(stopkey_escape(&key, &model, STOP_CORE_THERE), STOP_DO_THAW);
	assert_int_equal(key.stage, STOP_NONE);
	/* What stands still already is not frozen again. */
	model.frozen = true;
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_THERE, SECOND), STOP_DO_NOTHING);
	assert_words(&key, &model, "S stop the round   Esc thaw");
	assert_int_equal(stopkey_escape(&key, &model, STOP_CORE_THERE), STOP_DO_THAW);
}

static void test_a_silent_core_is_stopped_without(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	stopkey_press(&key, &model, STOP_CORE_THERE, SECOND);
	assert_int_equal(stopkey_due_ns(&key), SECOND + STOPKEY_FREEZE_NS);
	stopkey_tick(&key, &model, STOP_CORE_THERE, SECOND + STOPKEY_FREEZE_NS);
	assert_words(&key, &model, "does not answer");
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_THERE, 5 * SECOND), STOP_DO_WORKER);
	struct json_object *proof = json_tokener_parse("{\"killed\":5,\"remaining\":0,\"removed\":1,\"ms\":12}");
	stopkey_worker_done(&key, 0, proof);
	json_object_put(proof);
	assert_words(&key, &model, "STOPPED in 12 ms: 5 processes killed, 0 remaining, 1 boundary removed, without the core.");
}

static void test_a_late_stop_goes_to_the_worker(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	model.frozen = true;
	stopkey_press(&key, &model, STOP_CORE_THERE, 0);
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_THERE, 0), STOP_DO_STOP);
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_THERE, STOPKEY_STOP_NS - 1), STOP_DO_NOTHING);
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_THERE, STOPKEY_STOP_NS), STOP_DO_WORKER);
	stopkey_worker_done(&key, 1, NULL);
	assert_words(&key, &model, "NOT STOPPED");
}

static void test_no_core_at_all(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_AWAY, 0), STOP_DO_NOTHING);
	assert_words(&key, &model, "S stop the round without it   Esc not now");
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_AWAY, 0), STOP_DO_WORKER);
}

static void test_a_refusal_is_said(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	stopkey_press(&key, &model, STOP_CORE_THERE, 0);
	stopkey_refused(&key, "freeze", "the log cannot be written");
	assert_words(&key, &model, "NOT STOPPED: freeze is refused: the log cannot be written");
}

/* What the key waits for is over with the core: its words do not stay. */
static void test_a_dead_core_ends_the_question(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	stopkey_press(&key, &model, STOP_CORE_THERE, 0);
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_DEAD, SECOND), STOP_DO_NOTHING);
	assert_int_equal(key.stage, STOP_NONE);
	stopkey_press(&key, &model, STOP_CORE_THERE, 0);
	figures(&key, "freeze", true, "{\"ms\":3.2,\"processes\":41,\"runs\":2}");
	model.frozen = true;
	stopkey_tick(&key, &model, STOP_CORE_THERE, SECOND);
	assert_words(&key, &model, "FROZEN");
	/* Cut off is not dead yet. */
	stopkey_tick(&key, &model, STOP_CORE_AWAY, SECOND);
	assert_words(&key, &model, "FROZEN");
	stopkey_tick(&key, &model, STOP_CORE_DEAD, SECOND);
	assert_words(&key, &model, "");
}

/* A core that was passed over and speaks again is not spoken ill of any more. */
static void test_a_core_that_comes_to_itself(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	stopkey_press(&key, &model, STOP_CORE_THERE, 0);
	stopkey_tick(&key, &model, STOP_CORE_THERE, STOPKEY_FREEZE_NS);
	assert_words(&key, &model, "the freeze waits for it.   S stop the round without it   Esc thaw");
	stopkey_press(&key, &model, STOP_CORE_THERE, 3 * SECOND);
	struct json_object *proof = json_tokener_parse("{\"killed\":5,\"remaining\":0,\"removed\":1,\"ms\":12}");
	stopkey_worker_done(&key, 0, proof);
	json_object_put(proof);
	key.core = 4711;
	assert_true(key.alone);
	assert_words(&key, &model, "Its core (pid 4711) is still there; kill -9 ends it");
	stopkey_heard(&key);
	assert_false(key.alone);
	char words[1024];
	enum role role;
	const char *keys;
	stopkey_words(&key, &model, "smoke-1", words, sizeof words, &role, &keys);
	assert_null(strstr(words, "4711"));
	assert_non_null(strstr(words, "STOPPED in 12 ms"));
}

/* Asked where no core was: once one is there, it is asked to freeze. */
static void test_a_core_that_is_there_again(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	stopkey_press(&key, &model, STOP_CORE_AWAY, 0);
	assert_words(&key, &model, "does not answer; the freeze waits for it.   S stop the round without it   Esc not now");
	stopkey_tick(&key, &model, STOP_CORE_AWAY, SECOND);
	assert_int_equal(key.stage, STOP_FROZEN);
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_THERE, SECOND), STOP_DO_FREEZE);
	assert_int_equal(key.stage, STOP_FREEZING);
	/* Not after all. */
	key = (struct stopkey)STOPKEY_INIT;
	stopkey_press(&key, &model, STOP_CORE_AWAY, 0);
	assert_int_equal(stopkey_escape(&key, &model, STOP_CORE_AWAY), STOP_DO_NOTHING);
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_THERE, SECOND), STOP_DO_NOTHING);
	assert_words(&key, &model, "");
}

static void worker_done(struct stopkey *key, const char *text)
{
	struct json_object *proof = json_tokener_parse(text);
	stopkey_worker_done(key, 0, proof);
	json_object_put(proof);
}

/* No key leads away from a proof, and it is the same afterwards. Where something remains, S tries again. */
static void test_a_proof_stays(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	static const char proof[] = "STOPPED in 12 ms: 5 processes killed, 0 remaining, 1 boundary removed, without the core.";
	stopkey_press(&key, &model, STOP_CORE_AWAY, 0);
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_AWAY, 0), STOP_DO_WORKER);
	worker_done(&key, "{\"killed\":5,\"remaining\":0,\"removed\":1,\"ms\":12}");
	key.core = 4711;
	static const enum stop_core cores[] = { STOP_CORE_AWAY, STOP_CORE_THERE, STOP_CORE_DEAD };
	for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
		assert_true(stopkey_is_proven(&key));
		assert_int_equal(stopkey_press(&key, &model, cores[i], SECOND), STOP_DO_NOTHING);
		assert_int_equal(stopkey_escape(&key, &model, cores[i]), STOP_DO_NOTHING);
		assert_int_equal(stopkey_tick(&key, &model, cores[i], 60 * SECOND), STOP_DO_NOTHING);
		assert_words(&key, &model, proof);
	}
	/* One that is dead is not said to be there. */
	assert_int_equal(key.core, 0);
	stopkey_resumed(&key);
	assert_words(&key, &model, "");
	stopkey_press(&key, &model, STOP_CORE_AWAY, 0);
	stopkey_press(&key, &model, STOP_CORE_AWAY, 0);
	worker_done(&key, "{\"killed\":5,\"remaining\":1,\"removed\":0,\"ms\":30000}");
	assert_false(stopkey_is_proven(&key));
	stopkey_press(&key, &model, STOP_CORE_AWAY, 0);
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_AWAY, 0), STOP_DO_WORKER);
}

/* S S before the core has answered: it has what is left of its time, counted from the first; a third S ends that at once. */
static void test_twice_to_a_silent_core(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	stopkey_press(&key, &model, STOP_CORE_THERE, SECOND);
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_THERE, 2 * SECOND), STOP_DO_STOP);
	assert_int_equal(stopkey_due_ns(&key), SECOND + STOPKEY_FREEZE_NS);
	struct stopkey impatient = key, answered = key;
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_THERE, SECOND + STOPKEY_FREEZE_NS - 1), STOP_DO_NOTHING);
	assert_int_equal(stopkey_tick(&key, &model, STOP_CORE_THERE, SECOND + STOPKEY_FREEZE_NS), STOP_DO_WORKER);
	assert_int_equal(stopkey_press(&impatient, &model, STOP_CORE_THERE, 2 * SECOND), STOP_DO_WORKER);
	/* A core that answers may take its time to stop. */
	figures(&answered, "freeze", true, "{\"ms\":3.2,\"processes\":41,\"runs\":2}");
	assert_int_equal(answered.stage, STOP_STOPPING);
	assert_int_equal(stopkey_due_ns(&answered), 2 * SECOND + STOPKEY_STOP_NS);
	assert_int_equal(stopkey_tick(&answered, &model, STOP_CORE_THERE, 2 * SECOND + STOPKEY_FREEZE_NS), STOP_DO_NOTHING);
}

/* Frozen and stopped by somebody else: the same figures; the first S here still only asks. */
static void test_what_another_does(void **state)
{
	(void)state;
	struct pr_model model = PR_MODEL_INIT;
	struct stopkey key = STOPKEY_INIT;
	char words[200];
	figures(&key, "freeze", false, "{\"verb\":\"freeze\",\"ms\":3.2,\"processes\":41,\"runs\":2}");
	model.frozen = true;
	assert_int_equal(key.stage, STOP_NONE);
	stopkey_frozen(&key, words, sizeof words);
	assert_string_equal(words, "FROZEN in 3.2 ms: 2 tasks, 41 processes stand still.");
	assert_int_equal(stopkey_press(&key, &model, STOP_CORE_THERE, SECOND), STOP_DO_NOTHING);
	assert_words(&key, &model, "FROZEN in 3.2 ms: 2 tasks, 41 processes stand still.   S stop the round   Esc thaw");
	model.frozen = false;
	stopkey_tick(&key, &model, STOP_CORE_THERE, SECOND);
	assert_false(key.figures);
	/* Of one task: not the round. */
	figures(&key, "stop", false, "{\"verb\":\"stop\",\"task\":\"one\",\"ms\":9.0,\"killed\":4,\"remaining\":0,\"removed\":true}");
	assert_int_equal(key.stage, STOP_NONE);
	figures(&key, "stop", false, "{\"verb\":\"stop\",\"ms\":9.0,\"killed\":41,\"remaining\":0,\"removed\":2}");
	assert_words(&key, &model, "STOPPED in 9.0 ms: 41 processes killed, 0 remaining, 2 boundaries removed.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_freeze_ask_stop_proof),
		cmocka_unit_test(test_escape_thaws),
		cmocka_unit_test(test_a_silent_core_is_stopped_without),
		cmocka_unit_test(test_a_late_stop_goes_to_the_worker),
		cmocka_unit_test(test_no_core_at_all),
		cmocka_unit_test(test_a_refusal_is_said),
		cmocka_unit_test(test_a_dead_core_ends_the_question),
		cmocka_unit_test(test_a_core_that_comes_to_itself),
		cmocka_unit_test(test_a_core_that_is_there_again),
		cmocka_unit_test(test_a_proof_stays),
		cmocka_unit_test(test_twice_to_a_silent_core),
		cmocka_unit_test(test_what_another_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
